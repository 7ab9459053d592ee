"""scikit-learn's own tests of metadata routing, and ensembles that use metadata themselves."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tests import test_metaestimators_metadata_routing as of_sklearn
from sklearn.tests.metadata_routing_common import ConsumingClassifier, _Registry

from covey import (
    CodeBookClassifier,
    FlockClassifier,
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
    MultiviewClassifier,
)
from covey.rivals import DecorateClassifier, SubsetSearchClassifier


def _of_one(kind, **how):
    """An ensemble of a list of members, as one of a single ``estimator``."""

    def make(estimator, **more):
        return kind([("estimator", estimator)], **how, **more)

    make.__name__ = kind.__name__
    return make


def _entry(kind, task, *, cv=False):
    entry = {
        "metaestimator": kind,
        "estimator_name": "estimator",
        "estimator": task,
        "X": of_sklearn.X,
        "y": of_sklearn.y,
        "estimator_routing_methods": ["fit"],
    }
    if cv:
        # Folds cut what they are given.
        entry |= {"cv_name": "cv", "cv_routing_methods": ["fit"], "preserves_metadata": "subset"}
    return entry


ENSEMBLES = [
    _entry(CodeBookClassifier, "classifier")
    | {
        "estimator_routing_methods": ["fit", "partial_fit"],
        "method_args": {"partial_fit": {"classes": of_sklearn.classes}},
    },
    _entry(_of_one(FusionClassifier, fuser="linear_stacking"), "classifier", cv=True),
    _entry(_of_one(FusionRegressor, fuser="linear_stacking"), "regressor", cv=True),
    _entry(_of_one(GeneralStackingClassifier), "classifier", cv=True),
    _entry(_of_one(GeneralStackingRegressor), "regressor", cv=True),
]
each = pytest.mark.parametrize(
    "entry", ENSEMBLES, ids=[entry["metaestimator"].__name__ for entry in ENSEMBLES]
)
TESTS = [
    "test_error_on_missing_requests_for_sub_estimator",
    "test_setting_request_on_sub_estimator_removes_error",
    "test_non_consuming_estimator_works",
    "test_metadata_is_routed_correctly_to_splitter",
]


@each
@pytest.mark.parametrize("name", TESTS)
@pytest.mark.filterwarnings("ignore")
def test_metadata_reaches_estimators_and_splitters_as_scikit_learn_tests_it(entry, name):
    getattr(of_sklearn, name)(entry)


# Here fusers and default models on top request weights, unless they are told otherwise.
@pytest.mark.parametrize("entry", [entry for entry in ENSEMBLES if "cv_name" not in entry])
def test_nothing_is_requested_by_default(entry):
    of_sklearn.test_default_request(entry)


# -- ensembles that use weights and groups themselves --------------------------------------------


CONSUMERS = {
    "FlockClassifier": lambda one: FlockClassifier(members=[("one", one)], cv=3),
    "MultiviewClassifier": lambda one: MultiviewClassifier(2, one),
    "DecorateClassifier": lambda one: DecorateClassifier(one, 1),
    "SubsetSearchClassifier": lambda one: SubsetSearchClassifier(one, 1, cv=3, max_passes=1),
}
X, y, GROUPS = of_sklearn.X, of_sklearn.y, of_sklearn.groups


@pytest.mark.parametrize("kind", CONSUMERS)
def test_an_ensemble_that_uses_weights_itself_hands_them_to_its_members(kind):
    registry, weight = _Registry(), of_sklearn.sample_weight
    with config_context(enable_metadata_routing=True):
        CONSUMERS[kind](ConsumingClassifier(registry)).fit(X, y, sample_weight=weight)
    assert registry
    for member in registry:
        (record,) = member._records["fit"]["fit"]
        assert np.isin(record["sample_weight"], weight).all()


@pytest.mark.parametrize("kind", ["FlockClassifier", "MultiviewClassifier"])
def test_default_members_take_weights_whether_metadata_is_routed_or_not(kind):
    make = {
        "FlockClassifier": lambda: FlockClassifier(members=["svm"], cv=2, random_state=0),
        "MultiviewClassifier": lambda: MultiviewClassifier(2, random_state=0),
    }[kind]
    weight = np.round(of_sklearn.sample_weight * 3)
    plain = make().fit(X, y, sample_weight=weight).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        routed = make().fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_array_equal(routed, plain)


def test_a_search_hands_weights_and_groups_to_a_flock_that_requests_them():
    weight = np.where(GROUPS < 5, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        flock = FlockClassifier(effort="fast").set_fit_request(sample_weight=True, groups=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=False)
        search = GridSearchCV(flock, {"n_estimators": [1]}, scoring=scorer, cv=GroupKFold(2))
        search.fit(X, y, sample_weight=weight, groups=GROUPS)
    alone = FlockClassifier(effort="fast", n_estimators=1).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(search.predict_proba(X), alone.predict_proba(X), atol=1e-5)
