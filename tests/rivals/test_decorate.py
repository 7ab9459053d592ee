"""DECORATE: against a literal version of it, in its parts, and what it refuses."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey._core.random import Purpose, UniformRows, normals
from covey.rivals import DecorateClassifier
from covey.rivals._decorate import (
    SMALL_PROBABILITY,
    artificial_rows,
    inverted,
    opposed_labels,
)
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

X, y = load_iris(return_X_y=True)
STUMP = DecisionTreeClassifier(max_depth=1)
DRAWS_ROWS = (
    "there are as many artificial examples as rows, so a row given twice brings one more of "
    "them, and a weight of 2 does not"
)


@parametrize_with_checks(
    [
        DecorateClassifier(n_estimators=3, max_iter=4),
        DecorateClassifier(RidgeClassifier(), 2, max_iter=3, fuser="majority"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": DRAWS_ROWS,
    },
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("fuser", ["mean", "linear_stacking", "borda"])
def test_our_own_contract_is_kept(check, fuser):
    check(DecorateClassifier(STUMP, 3, fuser=fuser, random_state=0))


# -- the algorithm ---------------------------------------------------------------------------


def literal_decorate(X, y, base, n_estimators, max_iter, size, seed, nominal=()):
    """The algorithm, one row and one column at a time."""

    def chosen(uniform, probabilities):
        total = 0.0
        for place, probability in enumerate(probabilities):
            total += probability
            if uniform < total:
                return place
        return len(probabilities) - 1

    def ensemble(members, row):
        said = [member.predict_proba([row])[0] for member in members]
        return [sum(p[c] for p in said) / len(members) for c in range(n_classes)]

    def error(members):
        wrong = [
            int(np.argmax(ensemble(members, row))) != label
            for row, label in zip(X, y, strict=True)
        ]
        return sum(wrong) / len(y)

    def trained(rows, labels, trial):
        state = UniformRows(seed, Purpose.START, 3, trial, 1).read(0, 1)[0, 0]
        base.set_params(random_state=int(state * (2**31 - 1)))
        return type(base)(**base.get_params()).fit(rows, labels)

    n, n_features = X.shape
    n_classes = len(set(y))
    members = [trained(X, y, 0)]
    best = error(members)
    errors, accepted = [best], [True]
    trials = 1
    while len(members) < n_estimators and trials < max_iter:
        count = max(1, round(size * n))
        gauss = normals(seed, Purpose.START, 0, trials, (count, n_features))
        for_names = UniformRows(seed, Purpose.START, 1, trials, len(nominal)).read(0, count)
        for_labels = UniformRows(seed, Purpose.START, 2, trials, 1).read(0, count)
        rows, labels = [], []
        for i in range(count):
            row = []
            for j in range(n_features):
                column = X[:, j]
                if j in nominal:
                    values = sorted(set(column))
                    shares = [(sum(column == v) + 1) / (n + len(values)) for v in values]
                    row.append(values[chosen(for_names[i, nominal.index(j)], shares)])
                else:
                    row.append(column.mean() + column.std() * gauss[i, j])
            odds = [1 / max(p, 1e-6) for p in ensemble(members, row)]
            labels.append(chosen(for_labels[i, 0], [o / sum(odds) for o in odds]))
            rows.append(row)
        new = trained(np.vstack([X, rows]), np.concatenate([y, labels]), trials)
        now = error([*members, new])
        errors.append(now)
        accepted.append(now <= best)
        if now <= best:
            members.append(new)
            best = now
        trials += 1
    return members, errors, accepted


@pytest.mark.parametrize(
    ("depth", "nominal", "seed", "all_kept"),
    [(1, (), 0, False), (None, (), 0, True), (2, (1, 3), 2, False), (None, (1, 3), 3, True)],
)
def test_it_equals_a_literal_decorate(depth, nominal, seed, all_kept):
    rows = np.round(X[::5], 0 if nominal else 1)
    labels = y[::5]
    flock = DecorateClassifier(
        DecisionTreeClassifier(max_depth=depth),
        4,
        max_iter=8,
        artificial_size=0.5,
        categorical_features=nominal,
        random_state=seed,
    ).fit(rows, labels)
    members, errors, accepted = literal_decorate(
        rows, labels, DecisionTreeClassifier(max_depth=depth), 4, 8, 0.5, flock._seed, nominal
    )
    np.testing.assert_allclose(flock.errors_, errors)
    np.testing.assert_array_equal(flock.accepted_, accepted)
    assert flock.n_estimators_ == len(members)
    for ours, theirs in zip(flock.estimators_, members, strict=True):
        np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert all(accepted) == all_kept


def test_the_error_of_what_is_kept_never_rises_and_the_limits_hold():
    flock = DecorateClassifier(DecisionTreeClassifier(max_depth=2), 8, max_iter=12)
    flock.set_params(random_state=2).fit(X, y)
    kept = flock.errors_[flock.accepted_]
    assert (np.diff(kept) <= 1e-12).all()
    assert flock.accepted_[0]
    assert flock.accepted_.sum() == flock.n_estimators_ == len(flock.estimators_)
    assert flock.n_iter_ == len(flock.errors_) == 12
    assert flock.errors_[flock.accepted_][-1] == pytest.approx(1 - flock.score(X, y))
    rejected = np.flatnonzero(~flock.accepted_)
    assert len(rejected)
    for place in rejected:
        assert flock.errors_[place] > kept[flock.accepted_[:place].sum() - 1]


def test_one_iteration_is_the_base_learner():
    flock = DecorateClassifier(GaussianNB(), 5, max_iter=1).fit(X, y)
    expected = GaussianNB().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(flock.predict_proba(X), expected, atol=1e-12)


def test_members_differ_more_with_more_artificial_examples():
    def spread(size):
        flock = DecorateClassifier(n_estimators=6, artificial_size=size, random_state=0)
        return flock.fit(X[::5], y[::5]).member_probabilities(X).std(axis=1).mean()

    assert 0 < spread(0.1) < spread(1.0)


# -- artificial examples ---------------------------------------------------------------------


def test_artificial_columns_look_like_those_of_the_table():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(5, 2, 200), rng.choice([1.0, 4.0], 200, p=[0.9, 0.1])])
    weight = rng.random(200)
    drawn = artificial_rows(table, weight, [1], 7, 1, 40_000)
    mean = np.average(table[:, 0], weights=weight)
    spread = np.sqrt(np.average((table[:, 0] - mean) ** 2, weights=weight))
    assert drawn[:, 0].mean() == pytest.approx(mean, abs=0.05)
    assert drawn[:, 0].std() == pytest.approx(spread, abs=0.05)
    assert set(drawn[:, 1]) == {1.0, 4.0}
    share = weight @ (table[:, 1] == 4) / weight.sum()
    assert (drawn[:, 1] == 4).mean() == pytest.approx((200 * share + 1) / 202, abs=0.01)


def test_labels_are_drawn_inversely_to_what_is_predicted():
    said = np.tile([0.5, 0.3, 0.2], (60_000, 1))
    every = np.ones(3, dtype=bool)
    labels = opposed_labels(said, every, 0, 1)
    odds = 1 / said[0]
    np.testing.assert_allclose(np.bincount(labels) / len(said), odds / odds.sum(), atol=0.01)
    np.testing.assert_array_equal(labels, opposed_labels(said, every, 0, 1))
    assert (labels != opposed_labels(said, every, 0, 2)).any()


def test_a_probability_of_zero_is_small_and_a_class_without_rows_is_never_drawn():
    said = np.array([[1.0, 0.0, 0.0, 0.0]])
    certain = inverted(said, np.array([True, True, True, False]))[0]
    np.testing.assert_allclose(certain, [SMALL_PROBABILITY / 2, 0.5, 0.5, 0], atol=1e-6)
    assert certain[0] == pytest.approx(SMALL_PROBABILITY / 2, rel=1e-5)
    assert certain[3] == 0
    labels = opposed_labels(said.repeat(1000, axis=0), np.array([True, False, True, False]), 0, 1)
    assert set(labels) == {2}


# -- weights, seeds, fusion ------------------------------------------------------------------


def test_rows_without_weight_do_not_count():
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    weight[y == 2] = 0
    flock = DecorateClassifier(STUMP, 4, random_state=0)
    weighted = flock.fit(X, y, weight).predict_proba(X)
    assert not weighted[:, 2].any()
    removed = flock.fit(X[weight > 0], y[weight > 0]).predict_proba(X)
    np.testing.assert_array_equal(weighted[:, :2], removed)


def test_the_scale_of_the_weights_does_not_matter_to_trees():
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    flock = DecorateClassifier(STUMP, 4, random_state=0)
    first = flock.fit(X, y, weight).predict_proba(X)
    np.testing.assert_array_equal(flock.fit(X, y, 0.25 * weight).predict_proba(X), first)
    assert (flock.fit(X, y).predict_proba(X) != first).any()


def test_an_artificial_example_weighs_what_rows_of_its_class_do():
    given = []

    class Noted(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            given.append((y, sample_weight))
            return super().fit(X, y, sample_weight)

    weight = np.array([1.0, 2.0, 5.0])[y]
    DecorateClassifier(Noted(), 3, max_iter=3, random_state=0).fit(X, y, weight)
    assert [len(labels) for labels, _ in given] == [150, 300, 300]
    for labels, weights in given:
        np.testing.assert_allclose(weights, np.array([1.0, 2.0, 5.0])[labels])


def test_the_same_seed_gives_the_same_result():
    nested = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    for base in (None, nested):
        flock = DecorateClassifier(base, 4, random_state=1)
        first = flock.fit(X[::3], y[::3]).predict_proba(X)
        np.testing.assert_array_equal(flock.fit(X[::3], y[::3]).predict_proba(X), first)
        other = flock.set_params(random_state=2).fit(X[::3], y[::3]).predict_proba(X)
        assert (other != first).any()
    assert len({member[-1].random_state for member in flock.estimators_}) == 4


def test_voters_are_fused_by_votes():
    flock = DecorateClassifier(RidgeClassifier(), 3, fuser="majority", random_state=0).fit(X, y)
    assert flock.kind_ == "label"
    votes = np.stack([member.predict(X) for member in flock.estimators_], axis=1)
    np.testing.assert_array_equal(flock.member_probabilities(X).argmax(axis=2), votes)
    assert flock.score(X, y) >= RidgeClassifier().fit(X, y).score(X, y)


def test_columns_may_be_named():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    frame = frame.round()
    named = DecorateClassifier(
        n_estimators=3, categorical_features=["petal width (cm)"], random_state=0
    ).fit(frame, labels)
    numbered = DecorateClassifier(n_estimators=3, categorical_features=[3], random_state=0)
    np.testing.assert_array_equal(
        named.predict_proba(frame), numbered.fit(frame.to_numpy(), labels).predict_proba(X.round())
    )


# -- against bagging -------------------------------------------------------------------------


@pytest.mark.slow
def test_with_few_rows_it_is_at_least_as_good_as_bagging():
    X, y = load_breast_cancer(return_X_y=True)
    gains = []
    for number in range(12):
        order = np.random.default_rng(number).permutation(len(y))
        rows, test = order[:28], order[28:]
        models = (
            BaggingClassifier(n_estimators=10, random_state=number),
            DecorateClassifier(n_estimators=10, random_state=number),
        )
        bagging, decorate = (m.fit(X[rows], y[rows]).score(X[test], y[test]) for m in models)
        gains.append(decorate - bagging)
    assert np.mean(gains) >= 0


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"estimator": LinearRegression()}, TypeError, "estimator must be a classifier"),
        ({"estimator": GaussianNB}, TypeError, "estimator must be a classifier"),
        ({"estimator": "tree"}, TypeError, "estimator must be a classifier"),
        (
            {"estimator": RidgeClassifier(), "fuser": "product"},
            ValueError,
            "'RidgeClassifier' has no predict_proba",
        ),
        ({"n_estimators": 0}, ValueError, "n_estimators == 0, must be >= 1"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators must be an instance of int"),
        ({"max_iter": 0}, ValueError, "max_iter == 0, must be >= 1"),
        ({"artificial_size": 0.0}, ValueError, "artificial_size == 0.0, must be > 0"),
        ({"artificial_size": -1.0}, ValueError, "artificial_size == -1.0, must be > 0"),
        ({"artificial_size": 1e300}, ValueError, r"artificial_size == 1e\+300, must be <= 1000"),
        ({"categorical_features": [4]}, ValueError, "categorical_features names the column 4"),
        ({"categorical_features": ["a"]}, ValueError, "X has no column names"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        DecorateClassifier(**parameters).fit(X, y)


def test_bad_data_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        DecorateClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="leave groups out"):
        DecorateClassifier().fit(X, y, groups=y)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        DecorateClassifier().fit(X, y, -np.ones(len(y)))
    with pytest.raises(TypeError, match="X is sparse"):
        DecorateClassifier().fit(csr_array(X), y)
    flock = DecorateClassifier(KNeighborsClassifier(), 2).fit(X, y)
    with pytest.raises(TypeError, match="X is sparse"):
        flock.predict(csr_array(X))
    with pytest.raises(TypeError, match="'KNeighborsClassifier' cannot be fitted with sample_w"):
        flock.fit(X, y, np.arange(len(y)) + 1.0)
