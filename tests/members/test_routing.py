"""Metadata of a fit: what members, splitters, fusers and models on top request, they get."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import (
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
    LinearStacking,
    Stacking,
)

# What the fits of these models were given: of a model that is cloned, all copies write here.
RECORDS = {}


class Recording(BaseEstimator):
    """Remembers what each fit was given."""

    def __init__(self, name="member"):
        self.name = name

    def fit(self, X, y, sample_weight=None, metadata=None):
        given = {"rows": len(y), "sample_weight": sample_weight, "metadata": metadata}
        RECORDS.setdefault(self.name, []).append(given)
        self.model_ = self._model().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


class RecordingClassifier(ClassifierMixin, Recording):
    _model = GaussianNB

    @property
    def classes_(self):
        return self.model_.classes_

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class RecordingRegressor(RegressorMixin, Recording):
    _model = LinearRegression


PAIRS = [
    (FusionClassifier, RecordingClassifier),
    (FusionRegressor, RecordingRegressor),
    (GeneralStackingClassifier, RecordingClassifier),
    (GeneralStackingRegressor, RecordingRegressor),
]
both_tasks = pytest.mark.parametrize(("make", "member"), PAIRS, ids=lambda kind: kind.__name__)


@pytest.fixture(autouse=True)
def _routing():
    RECORDS.clear()
    with config_context(enable_metadata_routing=True):
        yield


def rows_for(make):
    load = load_iris if make.__name__.endswith("Classifier") else load_diabetes
    X, y = load(return_X_y=True)
    return X[::3], y[::3]


def weights_for(y):
    return 1.0 + np.arange(len(y))


def given(name, what):
    return [record[what] for record in RECORDS[name]]


# -- members -------------------------------------------------------------------------------------


@both_tasks
def test_what_is_no_weight_and_no_group_needs_routing(make, member):
    X, y = rows_for(make)
    with (
        config_context(enable_metadata_routing=False),
        pytest.raises(
            ValueError, match="metadata .* is only supported if enable_metadata_routing"
        ),
    ):
        make([("one", member())]).fit(X, y, metadata="a")


@both_tasks
def test_requests_can_be_read_before_fit(make, member):
    for estimators in ([("one", member())], [member()], [("one", "drop")], None):
        make(estimators).get_metadata_routing()
        with config_context(enable_metadata_routing=False):
            make(estimators).get_metadata_routing()
    assert not hasattr(make([("one", member())]), "set_fit_request")


@both_tasks
def test_weights_reach_the_members_that_request_them(make, member):
    X, y = rows_for(make)
    members = [
        ("with", member("with").set_fit_request(sample_weight=True)),
        ("without", member("without").set_fit_request(sample_weight=False)),
        ("dropped", "drop"),
    ]
    weight = weights_for(y)
    make(members, cv=3).fit(X, y, sample_weight=weight)
    assert given("without", "sample_weight") == [None] * len(RECORDS["without"])
    # On all rows and, where something is learnt, in folds: each time the weights of its rows.
    weights = given("with", "sample_weight")
    assert [len(part) for part in weights] == given("with", "rows")
    whole = [part for part in weights if len(part) == len(y)]
    assert_array_equal(whole, [weight])
    parts = [part for part in weights if len(part) < len(y)]
    assert len(parts) == (0 if make in (FusionClassifier, FusionRegressor) else 3)
    for part in parts:
        assert np.isin(part, weight).all()


@both_tasks
def test_a_member_whose_request_is_open_is_named(make, member):
    X, y = rows_for(make)
    model = make([("one", member())])
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight, metadata. are passed but"):
        model.fit(X, y, sample_weight=np.ones(len(y)), metadata="a")
    assert not RECORDS  # before anything is fitted


@both_tasks
def test_what_nobody_knows_is_refused(make, member):
    X, y = rows_for(make)
    with pytest.raises(TypeError, match=f"{make.__name__}.fit got unexpected argument.*'colour'"):
        make([("one", member())]).fit(X, y, colour="red")


@both_tasks
@pytest.mark.parametrize("cv", [3, KFold(3)])
def test_members_may_have_weights_of_their_own(make, member, cv):
    X, y = rows_for(make)
    first, second = weights_for(y), weights_for(y) + 1000
    members = [
        ("one", member("one").set_fit_request(sample_weight="first")),
        ("two", member("two").set_fit_request(sample_weight="second")),
    ]
    make(members, cv=cv).fit(X, y, first=first, second=second)
    assert all((part <= len(y)).all() for part in given("one", "sample_weight"))
    assert all((part > 1000).all() for part in given("two", "sample_weight"))


@both_tasks
def test_other_metadata_is_cut_where_it_has_an_entry_for_each_row(make, member):
    X, y = rows_for(make)
    fuser = {} if "Stacking" in make.__name__ else {"fuser": "linear_stacking"}
    members = [("one", member("one").set_fit_request(metadata=True))]
    model = make(members, cv=3, **fuser)
    model.fit(X, y, metadata="a word")
    assert set(given("one", "metadata")) == {"a word"}
    for make_list in (list, tuple, np.array):
        RECORDS.clear()
        clone(model).fit(X, y, metadata=make_list(range(len(y))))
        assert [len(part) for part in given("one", "metadata")] == given("one", "rows")
        assert len(RECORDS["one"]) == 4


@both_tasks
def test_without_metadata_routing_changes_nothing(make, member):
    X, y = rows_for(make)
    model = make([("one", member()), ("two", member())], cv=3)
    routed = clone(model).fit(X, y).predict(X)
    with config_context(enable_metadata_routing=False):
        assert_array_equal(model.fit(X, y).predict(X), routed)


def test_pipelines_route_to_their_steps():
    X, y = rows_for(FusionClassifier)
    weight = weights_for(y)
    steps = StandardScaler().set_fit_request(sample_weight=True), RecordingClassifier("last")
    steps[1].set_fit_request(sample_weight="other")
    fused = FusionClassifier([("pipe", make_pipeline(*steps))], "linear_stacking", cv=3)
    fused.fit(X, y, sample_weight=weight, other=weight + 1000)
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(fused.named_estimators_.pipe[0].mean_, mean)
    assert all((part > 1000).all() for part in given("last", "sample_weight"))


# -- folds ---------------------------------------------------------------------------------------


@both_tasks
def test_groups_reach_the_splitter(make, member):
    X, y = rows_for(make)
    groups = np.arange(len(y)) % 5
    fuser = {} if "Stacking" in make.__name__ else {"fuser": "linear_stacking"}

    def rows(cv, **more):
        RECORDS.clear()
        make([("one", member("one"))], cv=cv, **fuser).fit(X, y, **more)
        return given("one", "rows")

    of_group = [int((groups != g).sum()) for g in range(5)]
    assert sorted(rows(GroupKFold(5), groups=groups)) == sorted([*of_group, len(y)])
    # A number of folds divides no group, and groups are not needed.
    assert sorted(rows(5, groups=groups)) == sorted([*of_group, len(y)])
    assert len(rows(5)) == 6
    request = GroupKFold(5).set_split_request(groups="speakers")
    assert sorted(rows(request, speakers=groups)) == sorted([*of_group, len(y)])
    with pytest.raises(TypeError, match="unexpected argument.*'groups'"):
        rows(KFold(5), groups=groups)
    with pytest.raises(ValueError, match="cannot split these rows: The 'groups' parameter"):
        rows(GroupKFold(5))


def test_a_list_of_splits_is_read_once():
    X, y = rows_for(FusionClassifier)
    splits = ((train, test) for train, test in KFold(3, shuffle=True, random_state=0).split(X))
    fused = FusionClassifier([GaussianNB()], "linear_stacking", cv=splits)
    fused.get_metadata_routing()
    assert fused.fit(X, y).score(X, y) > 0.9


# -- what learns from members --------------------------------------------------------------------


def test_a_fuser_gets_the_weights_unless_it_is_told_otherwise():
    X, y = rows_for(FusionRegressor)
    weight = weights_for(y) ** 3
    # One member reads weights and ignores them, as somebody must want what is passed.
    members = [RecordingRegressor().set_fit_request(sample_weight=True), Ridge()]
    members[1].set_fit_request(sample_weight=False)

    def learnt(fuser, **more):
        return FusionRegressor(members, fuser, cv=3).fit(X, y, **more).fuser_.weights_

    weighted, plain = learnt("linear_stacking", sample_weight=weight), learnt("linear_stacking")
    assert_array_equal(learnt(LinearStacking(), sample_weight=weight), weighted)
    assert not np.allclose(weighted, plain)
    refusing = LinearStacking().set_fit_request(sample_weight=False)
    assert_array_equal(learnt(refusing, sample_weight=weight), plain)
    other = LinearStacking().set_fit_request(sample_weight="other")
    assert_array_equal(
        learnt(other, sample_weight=weight, other=weight[::-1]),
        learnt("linear_stacking", sample_weight=weight[::-1]),
    )


def test_a_fixed_rule_takes_no_weights():
    X, y = rows_for(FusionClassifier)
    with pytest.raises(TypeError, match="unexpected argument.*'sample_weight'"):
        FusionClassifier([KNeighborsClassifier()]).fit(X, y, sample_weight=np.ones(len(y)))


def test_members_that_are_fitted_already_request_nothing():
    X, y = rows_for(FusionRegressor)
    members = [Ridge().fit(X, y), LinearRegression().fit(X, y)]
    fused = FusionRegressor(members, "linear_stacking", prefit=True)
    weighted = fused.fit(X, y, sample_weight=weights_for(y)).fuser_.weights_
    with config_context(enable_metadata_routing=False):
        expected = clone(fused).set_params(estimators=members)
        assert_array_equal(
            expected.fit(X, y, sample_weight=weights_for(y)).fuser_.weights_, weighted
        )


@both_tasks
def test_a_model_on_top_gets_what_it_requests(make, member):
    X, y = rows_for(make)
    weight = weights_for(y)
    members = [("one", member("one").set_fit_request(sample_weight=False, metadata=False))]

    def stacked(final):
        if "Stacking" in make.__name__:
            return make(members, final, cv=3)
        return make(members, Stacking(final), cv=3)

    final = member("final").set_fit_request(sample_weight=True, metadata=True)
    stacked(final).fit(X, y, sample_weight=weight, metadata=list(range(len(y))))
    assert_array_equal(given("final", "sample_weight"), [weight])
    assert given("final", "metadata") == [list(range(len(y)))]
    RECORDS.clear()
    members[0][1].set_fit_request(sample_weight=True, metadata=True)
    final = member("final").set_fit_request(sample_weight=False, metadata=False)
    stacked(final).fit(X, y, sample_weight=weight, metadata="a")
    assert RECORDS["final"] == [{"rows": len(y), "sample_weight": None, "metadata": None}]
    RECORDS.clear()
    with pytest.raises(UnsetMetadataPassedError, match=f"not requested for {member.__name__}.fit"):
        stacked(member("final")).fit(X, y, sample_weight=weight)
    assert not RECORDS


def test_the_default_model_on_top_gets_the_weights():
    X, y = rows_for(GeneralStackingClassifier)
    weight = weights_for(y)
    members = [LogisticRegression(max_iter=500)]
    with config_context(enable_metadata_routing=False):
        expected = GeneralStackingClassifier(members, cv=3).fit(X, y, sample_weight=weight)
    members[0].set_fit_request(sample_weight=True)
    routed = GeneralStackingClassifier(members, cv=3).fit(X, y, sample_weight=weight)
    assert_array_equal(routed.predict_proba(X), expected.predict_proba(X))


def test_later_layers_and_transformers_get_what_they_request():
    X, y = rows_for(GeneralStackingRegressor)
    weight = weights_for(y)
    layers = [
        [("one", RecordingRegressor("one").set_fit_request(sample_weight=False))],
        [("two", RecordingRegressor("two").set_fit_request(sample_weight=True))],
    ]
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    stack = GeneralStackingRegressor(layers, features=scaler, cv=3)
    stack.fit(X, y, sample_weight=weight)
    assert given("one", "sample_weight") == [None] * 4
    assert [len(part) for part in given("two", "sample_weight")] == given("two", "rows")
    np.testing.assert_allclose(stack.features_.mean_, np.average(X, axis=0, weights=weight))


# -- inside of others ----------------------------------------------------------------------------


def test_a_search_routes_weights_and_groups_through_an_ensemble():
    X, y = rows_for(FusionClassifier)
    weight, groups = weights_for(y), np.arange(len(y)) // 5
    members = [
        ("one", RecordingClassifier("one").set_fit_request(sample_weight=True)),
        ("two", KNeighborsClassifier()),
    ]
    model = FusionClassifier(members, "linear_stacking", cv=2)
    model.set_score_request(sample_weight=False)
    search = GridSearchCV(model, {"two__n_neighbors": [1, 3]}, cv=GroupKFold(2))
    search.fit(X, y, sample_weight=weight, groups=groups)
    assert [len(part) for part in given("one", "sample_weight")] == given("one", "rows")
    # Groups of five rows are kept together by the folds of the search and of the ensemble.
    assert len(set(given("one", "rows"))) > 2
    assert all(rows % 5 == 0 for rows in given("one", "rows"))


def test_scores_may_be_weighted():
    X, y = rows_for(FusionClassifier)
    weight = weights_for(y)
    model = FusionClassifier([("bayes", GaussianNB().set_fit_request(sample_weight=False))])
    folds = KFold(3, shuffle=True, random_state=0)
    model.set_score_request(sample_weight=True)
    found = cross_validate(model, X, y, cv=folds, params={"sample_weight": weight})["test_score"]
    expected = [
        clone(model).fit(X[train], y[train]).score(X[test], y[test], weight[test])
        for train, test in folds.split(X)
    ]
    assert_array_equal(found, expected)


def test_an_ensemble_is_a_member_of_another():
    X, y = rows_for(FusionClassifier)
    inside = RecordingClassifier("in").set_fit_request(sample_weight=True, metadata=False)
    outside = RecordingClassifier("out").set_fit_request(sample_weight=False, metadata=True)
    outer = GeneralStackingClassifier([FusionClassifier([inside]), outside], cv=3)
    outer.fit(X, y, sample_weight=weights_for(y), metadata="a")
    assert [len(part) for part in given("in", "sample_weight")] == given("in", "rows")
    assert set(given("out", "metadata")) == {"a"}
