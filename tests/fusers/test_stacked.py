"""Fusers whose weights are learnt from held-out predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score, roc_auc_score

import covey
from covey import GreedySelection, LinearStacking, Predictions
from covey._core.search.selection import greedy_selection
from covey.utils.estimator_checks import FUSER_CHECKS

EVERY = [
    LinearStacking(),
    LinearStacking("log"),
    LinearStacking("log", uniform_penalty=0.1),
    LinearStacking(nonnegative=False),
    LinearStacking(sum_to_one=False),
    LinearStacking(nonnegative=False, sum_to_one=False, uniform_penalty=0.01),
    GreedySelection(),
    GreedySelection(3, replace=False),
]


def held_out(n_samples=200, seed=0):
    """A good member, a middling one, one that is wrong on purpose and one that guesses."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_samples)
    evidence = np.eye(3)[y][:, None] * np.array([3.0, 1.0, -2.0, 0.0])[:, None]
    values = np.exp(evidence + rng.normal(size=(n_samples, 4, 3)))
    return values / values.sum(axis=2, keepdims=True), y


def brier(fused, y):
    return ((fused - np.eye(3)[y]) ** 2).sum(axis=1).mean()


def log_loss(fused, y):
    return -np.log(fused[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("check", FUSER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_fuser_keeps_the_contract(fuser, check):
    check(fuser)


@pytest.mark.parametrize(
    ("fuser", "loss"), [(LinearStacking(), brier), (LinearStacking("log"), log_loss)]
)
def test_no_other_mixture_is_better_where_it_has_learnt(fuser, loss):
    P, y = held_out()
    best = loss(fuser.fit(P, y).fuse(P), y)
    for weights in np.random.default_rng(0).dirichlet(np.ones(4), 200):
        assert best <= loss(np.einsum("k,nkc->nc", weights, P), y) + 1e-12


@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_a_contrary_member_gets_no_say_for_its_opinion(fuser):
    P, y = held_out()
    P_new, y_new = held_out(seed=1)
    weights = fuser.fit(P, y).weights_
    assert weights.shape == (4,)
    assert weights.argmax() == 0
    assert weights[2] < 0.02
    mean = covey.fusers.Mean().fuse(P_new)
    assert brier(fuser.fuse(P_new), y_new) < brier(mean, y_new) - 0.05


def test_the_penalty_is_against_the_mean_loss_of_a_row():
    P, y = held_out()
    w = LinearStacking(nonnegative=False, uniform_penalty=0.3).fit(P, y).weights_
    errors = P - np.eye(3)[y][:, None]
    gram = np.einsum("nkc,njc->kj", errors, errors) / len(y) + 0.3 * np.eye(4)
    expected = np.linalg.solve(gram, np.ones(4))
    assert_allclose(w, expected / expected.sum(), atol=1e-10)


def test_a_large_penalty_is_the_mean_rule():
    P, y = held_out()
    for loss in ("squared", "log"):
        fused = LinearStacking(loss, uniform_penalty=1e9).fit(P, y).fuse(P)
        assert_allclose(fused, covey.fusers.Mean().fuse(P), atol=1e-6)


def test_greedy_selection_is_the_mathematics():
    P, y = held_out()
    weight = np.random.default_rng(0).uniform(size=len(y))
    fuser = GreedySelection(7, replace=False).fit(P, y, sample_weight=weight)
    true = P[np.arange(len(y)), :, y].T
    assert_array_equal(fuser.weights_, greedy_selection(true, weight, n_picks=7, replace=False))


def test_negative_sums_count_as_zero_and_importances_are_sizes():
    P, y = held_out()
    fuser = LinearStacking(nonnegative=False).fit(P, y)
    fuser.weights_ = np.array([1.2, 0.0, -0.8, 0.0])
    said = np.array([[[0.8, 0.1, 0.1], [1, 0, 0], [0.1, 0.8, 0.1], [1, 0, 0]]])
    sums = np.array([0.96 - 0.08, 0.0, 0.12 - 0.08])
    assert_allclose(fuser.fuse(said), [sums / sums.sum()])
    assert_allclose(fuser.importance(said), [[0.6, 0, 0.4, 0]])
    # Nothing positive is left: the mean of those who have spoken.
    P = Predictions(said, available=[[False, True, True, False]])
    assert_allclose(fuser.fuse(P), [[0.55, 0.4, 0.05]])
    assert_allclose(fuser.importance(P), [[0, 0, 1, 0]])


@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_members_that_have_not_spoken(fuser):
    P, y = held_out()
    available = np.random.default_rng(0).random((len(y), 4)) > 0.2
    available[:, 1] = False
    available[0] = False
    fuser.fit(Predictions(P, available=available), y)
    assert fuser.weights_[1] == 0
    assert fuser.weights_.argmax() == 0
    # Only a member without weight has spoken: it stands alone.
    alone = Predictions(P, available=np.tile([False, True, False, False], (len(y), 1)))
    assert_allclose(fuser.fuse(alone), P[:, 1])
    assert_allclose(fuser.importance(alone), np.tile([0, 1, 0, 0], (len(y), 1)))
    # What silent members would have said does not matter to what is learnt.
    weights = fuser.weights_
    loud = np.where(available[:, :, None], P, np.eye(3)[0])
    assert_allclose(fuser.fit(Predictions(loud, available=available), y).weights_, weights)


@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_nobody_has_ever_spoken(fuser):
    P, y = held_out()
    silent = Predictions(P, available=np.zeros((len(y), 4), dtype=bool))
    assert_allclose(fuser.fit(silent, y).weights_, 1 / 4)


@pytest.mark.parametrize("fuser", EVERY, ids=repr)
def test_weights_are_repetitions(fuser):
    P, y = held_out()
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = fuser.fit(P, y, sample_weight=times).weights_
    repeated = fuser.fit(np.repeat(P, times, axis=0), np.repeat(y, times)).weights_
    assert_allclose(weighted, repeated, atol=1e-7)


def test_votes_are_stacked_too():
    P, y = held_out()
    votes = P.argmax(axis=2)
    # A mean of few picks without weights can tie; all others follow the good member.
    for fuser in EVERY[:-1]:
        fused = fuser.fit(votes, y).fuse(votes)
        assert (fused.argmax(axis=1) == y).mean() >= (votes[:, 0] == y).mean() - 1e-9


def test_rules_have_names():
    P, _ = held_out()
    for rule in ("linear_stacking", "greedy_selection"):
        with pytest.raises(ValueError, match="learns how to fuse: fit it on held-out"):
            covey.fuse(P, rule)


def test_bad_input_gets_one_sentence():
    P, y = held_out()
    for fuser, message in (
        (LinearStacking("hinge"), "loss must be one of 'squared', 'log', got 'hinge'"),
        (LinearStacking(uniform_penalty=-1.0), "uniform_penalty == -1.0, must be >= 0"),
        (LinearStacking(uniform_penalty=np.nan), "uniform_penalty must be a finite number"),
        (LinearStacking("log", nonnegative=False), "needs nonnegative=True and sum_to_one=True"),
        (LinearStacking("log", sum_to_one=False), "needs nonnegative=True and sum_to_one=True"),
        (GreedySelection(0), "n_picks == 0, must be >= 1"),
    ):
        with pytest.raises(ValueError, match=message):
            fuser.fit(P, y)
    with pytest.raises(ValueError, match="LinearStacking learns how to fuse and needs y"):
        LinearStacking().fit(P)


# -- ensemble selection by any metric -----------------------------------------------------------


def literal_picks(P, y, score, n_picks):
    """Ensemble selection as it reads: add the member whose mean with those picked scores best."""
    picked, best, kept = [], -np.inf, []
    for _ in range(n_picks):
        scores = [score(y, P[:, [*picked, member]].mean(axis=1)) for member in range(P.shape[1])]
        picked.append(int(np.argmax(np.array(scores) >= max(scores) - 1e-12)))
        if max(scores) > best + 1e-9:
            best, kept = max(scores), list(picked)
    return np.bincount(kept, minlength=P.shape[1]) / len(kept)


SCORES = {
    "accuracy": lambda y, p: (p.argmax(axis=1) == y).mean(),
    "neg_log_loss": lambda y, p: np.log(p[np.arange(len(y)), y]).mean(),
    "roc_auc_ovr": lambda y, p: roc_auc_score(y, p, multi_class="ovr"),
    "f1_macro": lambda y, p: f1_score(y, p.argmax(axis=1), average="macro"),
}


@pytest.mark.parametrize("scoring", SCORES)
def test_greedy_selection_by_a_metric_is_its_literal_version(scoring):
    P, y = held_out(120)
    fuser = GreedySelection(8, scoring=scoring).fit(P, y)
    assert_allclose(fuser.weights_, literal_picks(P, y, SCORES[scoring], 8))
    if scoring == "neg_log_loss":
        assert_allclose(fuser.weights_, GreedySelection(8).fit(P, y).weights_)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "r2"])
def test_numbers_are_picked_by_any_metric(scoring):
    rng = np.random.default_rng(0)
    y = rng.standard_normal(80)
    P = (
        y[:, None]
        + rng.standard_normal((80, 5)) * [0.3, 0.3, 2.0, 0.5, 5.0]
        + [0, 0.2, 0, -0.4, 0]
    )

    def score(y, mean):
        absolute = scoring == "neg_mean_absolute_error"
        return -(np.abs(y - mean) if absolute else (y - mean) ** 2).mean()

    fuser = GreedySelection(12, scoring=scoring).fit(Predictions(P, kind="value"), y)
    assert_allclose(fuser.weights_, literal_picks(P, y, score, 12))
    fused = fuser.fuse(Predictions(P, kind="value"))
    assert_allclose(fused, P @ fuser.weights_)


def test_a_scorer_reads_labels_as_users_know_them_and_weights():
    P, codes = held_out(60)
    y = np.array(["ant", "bee", "cat"])[codes]
    weight = np.random.default_rng(0).integers(1, 4, 60)
    seen = []

    def scorer(model, X, y, sample_weight=None):
        seen.append((model.predict(X), y, sample_weight))
        return np.average(model.predict(X) == y, weights=sample_weight)

    named = Predictions(P, ["ant", "bee", "cat"])
    given = GreedySelection(5, scoring=scorer).fit(named, y, sample_weight=weight)
    by_name = GreedySelection(5, scoring="accuracy").fit(named, y, sample_weight=weight)
    assert_array_equal(given.weights_, by_name.weights_)
    assert set(seen[0][0]) <= {"ant", "bee", "cat"}
    assert_array_equal(seen[0][2], weight)
    # Rows of weight 0 are not there.
    some = GreedySelection(5, scoring="accuracy").fit(named, y, sample_weight=weight > 1)
    rows = np.flatnonzero(weight > 1)
    alone = GreedySelection(5, scoring="accuracy").fit(named.rows(rows), y[rows])
    assert_array_equal(some.weights_, alone.weights_)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("loudness", "'loudness' is not a valid scoring value"),
        (3, "scoring must be a name of scikit-learn's, a callable or None, got 3"),
        ("r2", "scoring cannot measure what members predict"),
        (lambda model, X, y: np.nan, "scoring gives nan"),
    ],
)
def test_bad_scorings_get_one_sentence(scoring, message):
    P, y = held_out(30)
    y = np.array(["ant", "bee", "cat"])[y]
    with pytest.raises(ValueError, match=message):
        GreedySelection(scoring=scoring).fit(Predictions(P, ["ant", "bee", "cat"]), y)
