"""What scikit-learn does with any model: selects features, explains, calibrates."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.metrics import log_loss

from tests.integrations.conftest import small


def test_select_from_model_goes_by_the_importances(classes, classifier):
    X, y = classes
    selector = SelectFromModel(small(), threshold="median").fit(X, y)
    importances = classifier.feature_importances_
    np.testing.assert_array_equal(selector.get_support(), importances >= np.median(importances))
    fitted = SelectFromModel(classifier, prefit=True, max_features=2, threshold=-np.inf)
    top = X.columns[np.sort(np.argsort(-importances)[:2])]
    assert fitted.fit(X, y).get_feature_names_out().tolist() == top.tolist()


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_rfe_drops_noise_first(kind, request):
    X, y = request.getfixturevalue(kind)
    model = request.getfixturevalue({"classes": "classifier", "values": "regressor"}[kind])
    rng = np.random.default_rng(0)
    wide = X.assign(**{f"noise {k}": rng.normal(size=len(X)) for k in range(2)})
    selector = RFE(clone(model), n_features_to_select=3).fit(wide, y)
    kept = selector.get_feature_names_out()
    assert not {"noise 0", "noise 1"} & set(kept)
    assert selector.score(wide, y) == selector.estimator_.score(wide[kept], y)


def test_other_selectors_take_a_flock(classes):
    X, y = classes
    assert RFECV(small(), cv=2, min_features_to_select=3).fit(X, y).n_features_ >= 3
    forward = SequentialFeatureSelector(small(), n_features_to_select=1, cv=2).fit(X, y)
    assert forward.get_support().sum() == 1


def test_permutation_importance_of_a_column_that_is_not_used_is_zero(classes, classifier):
    X, y = classes
    found = permutation_importance(
        classifier, X, y, n_repeats=3, random_state=0, scoring="neg_log_loss"
    ).importances_mean
    unused = classifier.feature_importances_ == 0
    assert (found[unused] == 0).all()
    assert found.max() > 0.01


def test_partial_dependence_is_a_mean_of_predictions(classes, classifier, regressor, values):
    X, _ = classes
    found = partial_dependence(classifier, X, ["texture"], grid_resolution=5, kind="average")
    grid = found["grid_values"][0]
    wanted = [classifier.predict_proba(X.assign(texture=value))[:, 1].mean() for value in grid]
    np.testing.assert_allclose(found["average"][0], wanted)
    found = partial_dependence(regressor, values[0], [0], grid_resolution=3)
    assert np.isfinite(found["average"]).all()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    display = PartialDependenceDisplay.from_estimator(
        classifier, X, ["radius", ("radius", "texture")], grid_resolution=4
    )
    assert len(display.axes_.ravel()) == 2


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_classifier_cv_takes_a_flock(classes, classifier, method):
    X, y = classes
    folds = CalibratedClassifierCV(small(), method=method, cv=2).fit(X, y)
    fitted = CalibratedClassifierCV(FrozenEstimator(classifier), method=method).fit(X, y)
    for model in (folds, fitted):
        assert model.classes_.tolist() == ["ill", "well"]
        assert log_loss(y, model.predict_proba(X)) < 0.4
