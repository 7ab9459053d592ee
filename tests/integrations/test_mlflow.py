"""mlflow keeps a flock and what was measured of it."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covey
from tests.integrations.conftest import small

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.sklearn")


@pytest.fixture
def tracking(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    yield
    mlflow.sklearn.autolog(disable=True)


@pytest.mark.parametrize("kind", ["classifier", "mixed", "regressor"])
def test_a_model_that_is_logged_comes_back(kind, request, tracking, classes, values):
    flock = request.getfixturevalue(kind)
    X = values[0] if kind == "regressor" else classes[0]
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(
            flock,
            name="flock",
            skops_trusted_types=covey.persistence.trusted_types(flock),
            input_example=X[:2],
            pip_requirements=["covey"],
        )
    again = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(again.predict(X), flock.predict(X))
    assert again.summary() == flock.summary()
    plain = mlflow.pyfunc.load_model(logged.model_uri)
    np.testing.assert_array_equal(np.ravel(plain.predict(X)), flock.predict(X))


def test_without_trusted_types_mlflow_names_those_that_are_missing(tracking, classifier):
    with (
        mlflow.start_run(),
        pytest.raises(mlflow.MlflowException, match="covey.members._flock.FlockClassifier"),
    ):
        mlflow.sklearn.log_model(classifier, name="flock", pip_requirements=["covey"])


def test_autolog_keeps_parameters_and_measures_of_a_pipeline(tracking, classes):
    mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
    with mlflow.start_run() as run:
        model = make_pipeline(StandardScaler(), small()).fit(*classes)
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.params["flockclassifier__effort"] == "fast"
    assert kept.metrics["training_accuracy_score"] == pytest.approx(model.score(*classes))
    assert kept.metrics["training_log_loss"] > 0


def runs():
    return mlflow.search_runs()


def test_autolog_keeps_nothing_of_a_flock_by_itself(tracking, classes):
    mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
    small().fit(*classes)
    assert not len(runs())


def test_autolog_takes_members_for_models_unless_they_are_in_a_pipeline(tracking, classes):
    mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
    X, y = classes
    flock = small(members=["linear", "extra_trees"], cv=2)
    make_pipeline(flock).fit(X, y)
    assert runs()["tags.estimator_name"].tolist() == ["Pipeline"]
    flock.fit(X, y)
    assert set(runs()["tags.estimator_name"][:-1]) == {"ExtraTreesClassifier"}
