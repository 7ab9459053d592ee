"""Models of tables: groups of columns, reasons, any estimator."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockClassifier, FlockRegressor, TableClassifier, TableRegressor
from covey.persistence import load, save
from covey.tables import TablePreparation
from tests.cli.conftest import patients


@parametrize_with_checks(
    [
        TableClassifier(LogisticRegression()),
        TableRegressor(LinearRegression()),
        TablePreparation(),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def test_columns_of_one_variable_are_one_group_and_stay_together():
    table = patients().dropna(subset="outcome")
    model = TableClassifier(random_state=0).set_params(
        estimator=clone(TableClassifier(random_state=0)._default()).set_params(effort="fast")
    )
    model.fit(table.drop(columns="outcome"), table["outcome"])
    groups = model.preparation_.feature_groups_
    assert groups["town"] == [
        *("town = Köln", 'town = Paris, "Rive Gauche"', "town = Rome", "town is missing"),
    ]
    names = list(model.preparation_.get_feature_names_out())
    places = [names.index(name) for name in groups["town"]]
    kept = model.estimator_.support_[:, places]
    assert (kept.all(axis=1) | ~kept.any(axis=1)).all()
    importances = model.feature_importances_
    assert importances.shape == model.feature_names_in_.shape
    assert importances.sum() == pytest.approx(1)
    assert "patient_id" not in model.feature_names_in_


def mixed_rows(target="outcome"):
    table = patients(60).dropna(subset=target).drop(columns="visited")
    return table.drop(columns=target), table[target]


def test_reasons_are_what_each_member_adds_up():
    X, y = mixed_rows()
    model = TableClassifier(random_state=0).fit(X, y)
    flock = model.estimator_
    numbers = model.preparation_.transform(X)
    record = model.explain(X, top=50)[7]
    assert record["prediction"] == model.predict(X)[7]
    assert record["probability"] == pytest.approx(model.predict_proba(X)[7].max())
    importance = np.asarray(flock.explain_fusion(numbers))[7]
    named = [one["member"] - 1 for one in record["members"]]
    assert named[0] == importance.argmax()
    assert set(named) == set(np.flatnonzero(importance > 0.01)) | {importance.argmax()}
    for one in record["members"]:
        # The member's own logits of the row, against their average over the training rows.
        of_rows = flock.estimators_[one["member"] - 1].predict_log_proba(numbers)
        of_rows -= of_rows.mean(axis=1, keepdims=True)
        logits = np.vstack([of_rows[7], of_rows.mean(axis=0)])
        code = logits[0].argmax()
        assert one["weight"] == importance[one["member"] - 1]
        assert one["prediction"] == flock.classes_[code]
        pushes = [push for _, push in one["because"]]
        assert pushes == sorted(pushes, reverse=True)
        assert all(push > 0 for push in pushes)
        # What is not named pushed the other way.
        assert (logits[0] - logits[1])[code] - sum(pushes) <= 1e-9
        assert {name for name, _ in one["because"]} <= set(X.columns)


def test_reasons_of_numbers_add_up_to_the_difference_from_the_average():
    X, y = mixed_rows("age")
    model = TableRegressor(random_state=0).fit(X, y)
    numbers = model.preparation_.transform(X)
    record = model.explain(X, top=50)[7]
    assert record["prediction"] == pytest.approx(model.predict(X)[7])
    for one in record["members"]:
        member = model.estimator_.estimators_[one["member"] - 1]
        # The mean of a ramp is not the ramp of a mean.
        average = member.coef_ @ model.estimator_.model_.column_mean + member.intercept_
        assert one["prediction"] == pytest.approx(member.predict(numbers.iloc[[7]])[0])
        pushes = [push for _, push in one["because"]]
        assert sum(pushes) == pytest.approx(one["prediction"] - average)
        assert pushes == sorted(pushes, key=abs, reverse=True)


def test_fewer_members_are_named_on_request():
    X, y = mixed_rows()
    model = TableClassifier(random_state=0).fit(X, y)
    every, first = model.explain(X), model.explain(X, max_members=1)
    for one, other in zip(every, first, strict=True):
        assert other["members"] == one["members"][:1]


def test_any_estimator_fits_and_scikit_learn_s_manners_are_kept(tmp_path):
    table = patients().dropna(subset="outcome")
    X, y = table.drop(columns="outcome"), table["outcome"].to_numpy(dtype=str)
    model = TableClassifier(LogisticRegression(max_iter=2000))
    assert clone(model).get_params()["estimator__max_iter"] == 2000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 2)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X)
    )
    save(model, tmp_path / "model.covey")
    np.testing.assert_array_equal(
        load(tmp_path / "model.covey").predict_proba(X), model.predict_proba(X)
    )
    (record,) = model.explain(X.head(1))
    assert record["members"] == []
    assert record["because"] + record["against"]
    regressor = TableRegressor(LinearRegression()).fit(X.drop(columns="age"), X["clinic"])
    np.testing.assert_allclose(regressor.predict(X), X["clinic"])


def test_the_same_seed_gives_the_same_model_to_the_bit():
    table = patients(60).dropna(subset="outcome")
    X, y = table.drop(columns="outcome"), table["outcome"]
    one, other = (TableClassifier(random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_bad_tables_are_one_sentence():
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 5.0]}), ["x", "y", "x"]
    model = TableClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="lacks the column 'b', which the model needs"):
        model.predict(X[["a"]])
    with pytest.raises(ValueError, match="X has 3 rows and y has 2"):
        model.fit(X, y[:2])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        model.fit(X.set_axis(["a", "a"], axis=1), y)
    with pytest.raises(ValueError, match="nothing to learn"):
        model.fit(pd.DataFrame({"a": [1, 1, 1]}), y)
    with pytest.raises(ValueError, match="rows and columns"):
        model.fit(np.zeros(3), y)


def test_tables_have_sets_and_intervals_where_their_estimator_has():
    table = patients(90).dropna(subset=["outcome", "age"])
    X, y = table.drop(columns=["outcome", "age"]), table["outcome"].to_numpy(dtype=str)
    fast = FlockClassifier(effort="fast", random_state=0)
    model = TableClassifier(fast).fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
    prepared = model.preparation_.transform(X)
    np.testing.assert_array_equal(
        model.predict_set(X, 0.8, by_class=True),
        model.estimator_.predict_set(prepared, 0.8, by_class=True),
    )
    assert model.predict(X, reject=0.5).mask.any()
    assert model.rejection(accuracy=0.3).low >= 0.3
    numbers = TableRegressor(FlockRegressor(effort="fast", random_state=0))
    bounds = numbers.fit(X, table["age"]).calibrate(X, table["age"]).predict_interval(X, 0.5)
    assert bounds.shape == (len(X), 2)
    plain = TableClassifier(LogisticRegression(max_iter=2000)).fit(X[["clinic"]], y)
    assert not hasattr(plain, "predict_set")
    with pytest.raises(AttributeError, match="rejection"):
        plain.predict(X, reject=0.1)
    with pytest.raises(NotFittedError):
        TableClassifier().predict_set(X)


def test_a_table_model_shows_and_summarizes_its_flock_in_the_columns_of_the_table():
    table = patients().dropna(subset="outcome")
    X, y = table.drop(columns="outcome"), table["outcome"]
    model = TableClassifier(FlockClassifier(effort="fast", random_state=0)).fit(X, y)
    first, legend, *lines = model.summary().splitlines()
    n_columns = len(model.feature_names_in_)
    assert first.startswith("FlockClassifier: ")
    assert first.endswith(f"of {n_columns} columns")
    assert "columns (which class gains" in legend
    assert lines
    assert " = " not in model.summary()
    shown = model._repr_html_()
    assert "<th>columns</th>" in shown
    assert f"of {n_columns}</td>" in shown
    assert "<th>columns</th>" not in TableClassifier()._repr_html_()
    with pytest.raises(ValueError, match="no members to summarize"):
        TableClassifier(LogisticRegression()).fit(X[["clinic"]], y).summary()
