"""shap: what is predicted is taken apart into parts that add up."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from covey import SubsetEnsembleClassifier
from tests.integrations.conftest import small

shap = pytest.importorskip("shap")


@pytest.mark.parametrize("kind", ["classifier", "mixed"])
def test_parts_of_probabilities_add_up(kind, request, classes):
    flock, (X, _) = request.getfixturevalue(kind), classes
    explainer = shap.Explainer(flock.predict_proba, X[:20])
    found = explainer(X[20:24])
    assert found.values.shape == (4, 5, 2)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, flock.predict_proba(X[20:24]), atol=1e-6)


def test_a_column_that_a_flock_does_not_read_has_no_part(regressor, values):
    X, _ = values
    found = shap.Explainer(regressor.predict, X[:20])(X[20:24])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, regressor.predict(X[20:24]), rtol=1e-6)
    unused = regressor.feature_importances_ == 0
    np.testing.assert_allclose(found.values[:, unused], 0, atol=1e-8)


@pytest.mark.parametrize("kind", ["classifier", "mixed"])
def test_a_flock_itself_is_explained_like_its_probabilities(kind, request, classes):
    flock, (X, _) = request.getfixturevalue(kind), classes
    found = shap.Explainer(flock, X[:20])(X[20:24])
    wanted = shap.Explainer(flock.predict_proba, X[:20])(X[20:24])
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-8)
    np.testing.assert_allclose(found.base_values, wanted.base_values, atol=1e-8)
    assert found.feature_names == list(X.columns)


def test_a_regressor_itself_is_explained_like_its_numbers(regressor, values):
    X, _ = values
    found = shap.Explainer(regressor, X[:20])(X[20:24])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, regressor.predict(X[20:24]), rtol=1e-6)


def test_a_flock_of_more_columns_than_can_be_tried_out_is_explained():
    X, y = load_breast_cancer(return_X_y=True)
    flock = small().fit(X[:200, :15], y[:200])
    found = shap.Explainer(flock, X[:20, :15], seed=0)(X[20:24, :15])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, flock.predict_proba(X[20:24, :15]), atol=1e-6)


def test_rows_with_gaps_are_explained(classes):
    X, y = classes
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    flock = small().fit(gaps, y)
    found = shap.Explainer(flock, gaps[:20])(gaps[20:24])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, flock.predict_proba(gaps[20:24]), atol=1e-6)


def test_a_flock_that_is_one_linear_model_is_explained_as_one(classes):
    X, y = classes
    flock = SubsetEnsembleClassifier(2, max_iter=20, random_state=0).fit(X, y)
    found = shap.Explainer(flock, X.to_numpy())(X.to_numpy()[:5])
    total = np.ravel(found.base_values) + found.values.reshape(5, 5).sum(axis=1)
    np.testing.assert_allclose(total, flock.decision_function(X[:5]), atol=1e-6)
