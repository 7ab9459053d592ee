import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey._core.random import Purpose, UniformRows
from covey._folds import make_folds
from covey.fusers import Predictions
from covey.fusers._fixed import make_fuser
from covey.members._held_out import held_out_rows
from covey.rivals._subset_search import SubsetSearchClassifier, random_subsets
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS
from tests.rivals.test_searches import literal_evolve, literal_hill_climb

_SPLITS_ROWS = (
    "rows are held out by position to judge subsets, so a weight of 2 and a row given twice are "
    "not the same"
)


def climbing(**parameters):
    return SubsetSearchClassifier(
        **{"n_estimators": 2, "cv": 2, "max_passes": 1, "random_state": 0} | parameters
    )


def genetic(**parameters):
    return climbing(**{"search": "genetic", "population_size": 4, "n_generations": 2} | parameters)


SEARCHES = pytest.mark.parametrize("make", [climbing, genetic])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 6))
    X[:, :3] += 1.5 * np.eye(3)[y]
    return X, y


@parametrize_with_checks(
    [climbing(), genetic(estimator=GaussianNB(), fuser="majority")],
    expected_failed_checks=lambda rival: (
        {}
        if rival.search == "genetic"
        else dict.fromkeys(
            [
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ],
            _SPLITS_ROWS,
        )
    ),
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@SEARCHES
def test_own_contract_is_kept(make, check):
    check(make())


# -- the search ----------------------------------------------------------------------------------


class Counting(ClassifierMixin, BaseEstimator):
    """Bayes that counts its fits, on what columns and rows."""

    seen = []  # noqa: RUF012

    def fit(self, X, y):
        self.bayes_ = GaussianNB().fit(X, y)
        self.classes_ = self.bayes_.classes_
        self.seen.append(X.tobytes())
        return self

    def predict(self, X):
        return self.bayes_.predict(X)

    def predict_proba(self, X):
        return self.bayes_.predict_proba(X)


@SEARCHES
@pytest.mark.parametrize("max_fits", [None, 40])
def test_fits_are_counted_and_none_is_made_twice(table, make, max_fits):
    Counting.seen.clear()
    flock = make(
        estimator=Counting(),
        n_estimators=3,
        max_passes=5,
        n_generations=8,
        cv=3,
        max_fits=max_fits,
    ).fit(*table)
    assert flock.n_fits_ == len(Counting.seen) == len(set(Counting.seen))
    assert flock.search_complete_ == (max_fits is None)
    if max_fits is not None:
        assert flock.n_fits_ <= max_fits
    assert flock.history_[-1]["n_fits"] <= flock.n_fits_


@SEARCHES
def test_the_criterion_never_falls(table, make):
    gains = []
    for seed in range(4):
        flock = make(
            estimator=GaussianNB(),
            diversity_weight=0.4 * (seed % 2),
            n_estimators=3,
            max_passes=9,
            n_generations=9,
            random_state=seed,
        )
        criterion = [stage["criterion"] for stage in flock.fit(*table).history_]
        assert (np.diff(criterion) >= 0).all()
        gains.append(criterion[-1] - criterion[0])
    assert max(gains) > 0
    if make is climbing:
        accuracy = np.array([stage["accuracy"] for stage in climbing().fit(*table).history_])
        assert (np.diff(accuracy, axis=0) >= 0).all()


def judge_of(learner, X, y, weight, folds):
    """A judge that fits scikit-learn's models one after another."""

    held_out = np.concatenate([test for _, test in folds])

    @functools.cache
    def decided(mask):
        mask = np.array(mask)
        return np.concatenate(
            [
                clone(learner).fit(X[train][:, mask], y[train]).predict(X[test][:, mask])
                for train, test in folds
            ]
        )

    def judge(masks):
        decisions = np.array([decided(tuple(map(bool, mask))) for mask in masks])
        right = decisions == y[held_out]
        return right @ weight[held_out] / weight[held_out].sum(), decisions

    return judge, weight[held_out]


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_members_are_those_of_the_literal_search(table, alpha):
    X, y = table[0][:45, 1:], table[1][:45]
    learner = make_pipeline(StandardScaler(), KNeighborsClassifier())
    seed = int(np.random.RandomState(4).randint(2**31 - 1))
    folds = make_folds(3, X, y, np.ones(45), np.arange(3), groups=None, seed=seed, n_repeats=1)
    judge, weight = judge_of(learner, X, y, np.ones(45), folds)
    # The default learner is that of scikit-learn, where all rows weigh the same.
    given = {"n_estimators": 3, "cv": 3, "diversity_weight": alpha, "random_state": 4}
    climbed = climbing(**given, max_passes=2).fit(X, y)
    expected, _ = literal_hill_climb(
        judge, weight, random_subsets(seed, 3, 5), seed, alpha, "sum", 2
    )
    np.testing.assert_array_equal(climbed.support_, expected)
    if alpha == 0:
        evolved = genetic(**given, population_size=6, n_generations=4).fit(X, y)
        expected = literal_evolve(judge, random_subsets(seed, 6, 5), seed, 4)
        np.testing.assert_array_equal(evolved.support_, expected[:3])
    for mask, member in zip(climbed.support_, climbed.estimators_, strict=True):
        fresh = clone(learner).fit(X[:, mask], y)
        np.testing.assert_allclose(
            member.predict_proba(X[:, mask]), fresh.predict_proba(X[:, mask])
        )


def test_disagreement_makes_members_unlike(table):
    X, y = table
    unlike = [
        np.mean(np.ptp(flock.member_probabilities(X).argmax(axis=2), axis=1) > 0)
        for flock in (
            climbing(n_estimators=3, max_passes=5, diversity_weight=alpha).fit(X, y)
            for alpha in (0.0, 3.0)
        )
    ]
    assert unlike[1] > unlike[0]


@SEARCHES
def test_the_same_seed_gives_the_same_flock_with_any_number_of_jobs(table, make):
    X, y = table
    learner = DecisionTreeClassifier(max_features=1, max_depth=2)
    one, two, three, other = (
        make(estimator=learner, n_estimators=3, **given).fit(X, y)
        for given in ({}, {}, {"n_jobs": 2}, {"random_state": 1})
    )
    for twin in (two, three):
        np.testing.assert_array_equal(one.support_, twin.support_)
        np.testing.assert_array_equal(one.predict_proba(X), twin.predict_proba(X))
        assert one.n_fits_ == twin.n_fits_
    assert not np.array_equal(one.support_, other.support_)
    copy = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(copy.predict_proba(X), one.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_the_default_learner_searched_is_as_good_as_one_on_all_features(load):
    X, y = load(return_X_y=True)
    single = make_pipeline(StandardScaler(), KNeighborsClassifier())
    # Fewer folds and passes than by default: quicker, and not better.
    flock = SubsetSearchClassifier(cv=3, max_passes=1, random_state=0)
    folds = [(np.arange(len(y))[i::2], np.arange(len(y))[1 - i :: 2]) for i in range(2)]
    ours, theirs = (cross_val_score(model, X, y, cv=folds).mean() for model in (flock, single))
    # Within half a point: a row or two of a test fold.
    assert ours >= theirs - 0.005


# -- what goes in and what comes out --------------------------------------------------------------


def test_names_are_kept_and_subsets_are_by_name(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcdef"))
    flock = climbing().fit(frame, y)
    for mask, subset, member in zip(
        flock.support_, flock.feature_subsets_, flock.estimators_, strict=True
    ):
        assert subset.tolist() == frame.columns[mask].tolist()
        assert member.n_features_in_ == mask.sum()
    assert (
        climbing().fit(X, y).feature_subsets_[0].tolist()
        == np.flatnonzero(flock.support_[0]).tolist()
    )


def test_sparse_rows_give_the_members_of_dense_ones(table):
    X, y = np.where(np.abs(table[0]) > 0.4, table[0], 0.0), table[1]
    learner = LogisticRegression()
    dense = climbing(estimator=learner).fit(X, y)
    thin = climbing(estimator=learner).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.support_, thin.support_)
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(X), atol=1e-4)
    X = table[0]  # without ties
    own = climbing().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(own.predict_proba(X), climbing().fit(X, y).predict_proba(X))


def test_groups_are_never_split(table):
    X, y = table
    groups = np.repeat(np.arange(10), 9)
    rows = X[:, 0]

    class Watching(Counting):
        def predict(self, X):
            held_out.append(groups[np.isin(rows, X[:, 0])])
            return super().predict(X)

    held_out = []
    flock = climbing(estimator=Watching(), cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert flock.n_fits_
    for part in held_out:
        if len(part):
            assert (np.bincount(part)[np.unique(part)] == 9).all()
    assert sum(map(len, held_out)) > 100


def literally_held_out(codes, used, groups, order, fraction):
    """Groups one by one, in the order drawn, with lists of rows."""
    rows_of = {c: [i for i in range(len(codes)) if used[i] and codes[i] == c] for c in set(codes)}
    wanted, most = {}, {}
    for code, rows in rows_of.items():
        wanted[code] = min(max(1, round(fraction * len(rows))), max(len(rows) - 1, 0))
        most[code] = min(max(wanted[code], len(rows) // 2), max(len(rows) - 1, 0))
    held_out = set()
    for group in order:
        whole = {i for i in range(len(codes)) if used[i] and groups[i] == group}
        lacks = any(
            len(held_out & set(rows)) < wanted[code]
            for code, rows in rows_of.items()
            if whole & set(rows)
        )
        after = held_out | whole
        if lacks and all(len(after & set(rows)) <= most[code] for code, rows in rows_of.items()):
            held_out = after
    return np.array([i in held_out for i in range(len(codes))])


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_held_out_by_whole_groups_as_the_literal_rule_does(seed):
    rng = np.random.default_rng(seed)
    codes, groups = rng.integers(0, 3, 60), rng.integers(0, 12, 60)
    weight = rng.integers(0, 4, 60).astype(float)
    fraction = [0.1, 0.3][seed % 2]
    drawn = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, 60)[:, 0]
    groups = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(drawn[: groups.max() + 1])
    found = held_out_rows(codes, weight, fraction, seed, groups)
    used = weight > 0
    expected = literally_held_out(codes, used, groups, order, fraction)
    np.testing.assert_array_equal(found, expected)
    assert 0 < found.sum() < used.sum()
    assert not set(groups[found]) & set(groups[used & ~found])
    # Groups of one row each are no groups.
    np.testing.assert_array_equal(
        held_out_rows(codes, weight, fraction, seed, np.arange(60)),
        held_out_rows(codes, weight, fraction, seed),
    )


def test_no_group_is_both_grown_on_and_held_out(table):
    X, y = table
    groups = np.repeat(np.arange(15), 6)
    fitted = []

    class Watching(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            fitted.append(X)
            return super().fit(X, y, sample_weight)

    flock = climbing(estimator=Watching(), cv=3, fuser="linear_stacking").fit(X, y, groups=groups)
    assert flock.n_estimators_ >= 1
    # No two numbers of the table are the same, so any of them tells its row.
    seen = np.isin(X, np.concatenate([part.ravel() for part in fitted])).any(axis=1)
    assert 0 < (~seen).sum() <= 18
    assert not set(groups[seen]) & set(groups[~seen])


def test_groups_that_cannot_be_held_out_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="groups has no group that can be held out"):
        climbing(fuser="linear_stacking").fit(X, y, groups=np.zeros(90))


def test_labels_that_the_learner_names_are_those_of_y(table):
    X, y = table[0], np.minimum(table[1], 1)
    learner = LogisticRegression(class_weight={0: 1, 1: 5})
    plain = climbing(estimator=learner, diversity_weight=0.3).fit(X, y)
    for labels in (np.array(["a", "b"]), np.array([1, 2]), np.array([1, 0])):
        weights = dict(zip(labels.tolist(), (1, 5), strict=True))
        named = climbing(estimator=LogisticRegression(class_weight=weights), diversity_weight=0.3)
        named.fit(X, labels[y])
        np.testing.assert_array_equal(named.support_, plain.support_)
        np.testing.assert_array_equal(named.predict(X), labels[plain.predict(X)])
        for ours, theirs in zip(named.history_, plain.history_, strict=True):
            np.testing.assert_allclose(ours["accuracy"], theirs["accuracy"])


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_search_of_any_unit_beats_the_most_frequent_class(table, scale, form):
    X, y = table
    learnt = climbing().fit(form(X[:60] * scale), y[:60])
    assert learnt.score(form(X[60:] * scale), y[60:]) > 1.2 * np.bincount(y[60:]).max() / 30


def test_weights_reach_learner_and_criterion(table):
    X, y = table
    weight = np.where(y == 0, 50.0, 1.0)
    for learner in (None, GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        plain = climbing(estimator=learner).fit(X, y)
        heavy = climbing(estimator=learner).fit(X, y, sample_weight=weight)
        assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    with pytest.raises(TypeError, match="'KNeighborsClassifier' cannot be fitted with sample_w"):
        climbing(estimator=KNeighborsClassifier()).fit(X, y, sample_weight=weight)


def test_one_validation_part_costs_one_fit_a_subset(table):
    X, y = table
    part = StratifiedShuffleSplit(1, test_size=0.3, random_state=0)
    flock = climbing(cv=part, n_estimators=1).fit(X, y)
    # The start, each of six flips, and the member.
    assert flock.n_fits_ == 8
    assert np.isclose(flock.history_[0]["accuracy"] * 27 % 1, 0, atol=1e-9).all()


@pytest.mark.parametrize("fuser", ["mean", "majority", "product", "knora_e", "linear_stacking"])
def test_any_fuser_fuses(table, fuser):
    X, y = table
    flock = climbing(fuser=fuser).fit(X, y)
    rule = make_fuser(fuser)
    # A rule that learns does so from rows that no member has seen.
    held_out = np.zeros(90, dtype=bool)
    if rule.learns:
        held_out = held_out_rows(
            np.unique(y, return_inverse=True)[1], np.ones(90), 0.1, flock._seed
        )
    members = climbing().fit(X[~held_out], y[~held_out])
    P = Predictions(members.member_probabilities(X))
    if rule.learns:
        rule.fit(P.rows(held_out), y[held_out], X[held_out])
    np.testing.assert_allclose(flock.predict_proba(X), rule.fuse(P, X), atol=1e-12)
    assert flock.staged_score(X, y, fuser="majority").shape == (2,)


def test_members_without_probabilities_vote(table):
    X, y = table
    flock = climbing(estimator=RidgeClassifier(), fuser="majority").fit(X, y)
    assert set(np.unique(flock.member_probabilities(X))) == {0.0, 1.0}
    cast = [
        member.predict(X[:, mask])
        for member, mask in zip(flock.estimators_, flock.support_, strict=True)
    ]
    shares = (np.stack(cast, axis=1)[:, :, None] == np.arange(3)).mean(axis=1)
    np.testing.assert_allclose(flock.predict_proba(X), shares)


def test_one_feature_makes_members_of_one_subset(table):
    X, y = table
    for make in (climbing, genetic):
        flock = make(n_estimators=3).fit(X[:, :1], y)
        assert flock.support_.tolist() == [[True]] * 3
        assert flock.estimators_[0] is flock.estimators_[2]
        assert flock.n_fits_ == 3


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"estimator": LinearRegression()}, TypeError, "estimator must be a classifier"),
        ({"estimator": GaussianNB}, TypeError, "an object and not a class"),
        (
            {"estimator": RidgeClassifier(), "fuser": "product"},
            ValueError,
            "'RidgeClassifier' has no predict_proba",
        ),
        ({"diversity_weight": -0.1}, ValueError, "diversity_weight"),
        ({"diversity_weight": np.inf}, ValueError, "diversity_weight must be a finite number"),
        ({"population_size": 1}, ValueError, "population_size"),
        ({"n_estimators": 0}, ValueError, "n_estimators"),
        ({"search": "random"}, ValueError, "search must be one of 'hill_climbing', 'genetic'"),
        ({"acceptance": "any"}, ValueError, "acceptance must be one of"),
        ({"max_passes": 0}, ValueError, "max_passes"),
        ({"n_generations": 1.5}, TypeError, "n_generations"),
        ({"max_fits": 0}, ValueError, "max_fits"),
        ({"max_fits": 5}, ValueError, "max_fits=5 does not even pay for the start"),
        ({"cv": 1}, ValueError, "cv"),
        ({"fuser": "loudest"}, ValueError, "fuser must be one of"),
        (
            {"search": "genetic", "population_size": 4, "n_estimators": 5},
            ValueError,
            "n_estimators=5 members cannot be chosen from a population of population_size=4",
        ),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(table, parameters, error, words):
    with pytest.raises(error, match=words):
        climbing(**parameters).fit(*table)


def test_bad_data_are_refused_in_one_sentence(table):
    X, y = table
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        climbing().fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="No class has two rows"):
        climbing().fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="NaN in column 2"):
        climbing().fit(np.where(np.arange(6) == 2, np.nan, X), y)
    with pytest.raises(ValueError, match="groups must hold one entry"):
        climbing().fit(X, y, groups=[1, 2])


def test_uniform_weights_are_none_for_a_learner_without(table):
    X, y = table
    learner = KNeighborsClassifier()
    plain = climbing(estimator=learner).fit(X, y)
    tripled = climbing(estimator=learner).fit(X, y, sample_weight=np.full(90, 3.0))
    np.testing.assert_array_equal(plain.predict_proba(X), tripled.predict_proba(X))


def test_a_learner_that_sees_nothing_is_no_error(table):
    flock = climbing(estimator=DummyClassifier()).fit(*table)
    assert flock.search_complete_
    # No flip helps: one pass, and the starts stay.
    assert len(flock.history_) == 2
