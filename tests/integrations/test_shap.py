"""shap: what is predicted is taken apart into parts that add up."""

import numpy as np
import pytest

from covey import SubsetEnsembleClassifier

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


def test_a_flock_itself_is_refused_by_a_sentence_and_no_wrong_parts(classifier, mixed, classes):
    for flock in (classifier, mixed):
        with pytest.raises(TypeError, match="is not callable and cannot be analyzed directly"):
            shap.Explainer(flock, classes[0])


def test_a_flock_that_is_one_linear_model_is_explained_as_one(classes):
    X, y = classes
    flock = SubsetEnsembleClassifier(2, max_iter=20, random_state=0).fit(X, y)
    found = shap.Explainer(flock, X.to_numpy())(X.to_numpy()[:5])
    total = np.ravel(found.base_values) + found.values.reshape(5, 5).sum(axis=1)
    np.testing.assert_allclose(total, flock.decision_function(X[:5]), atol=1e-6)
