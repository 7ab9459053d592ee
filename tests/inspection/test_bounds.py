"""Bounds of votes and oracles, on populations whose every row is known."""

import math
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import covey
from covey import Predictions
from covey._core.inspection.bounds import binary_divergence
from covey.inspection import held_out_bound, oracle_bounds, oracle_interval, vote_bound

first_order_bound = partial(vote_bound, kind="first_order")
tandem_bound = partial(vote_bound, kind="tandem")
c_bound = partial(vote_bound, kind="c")

VOTES = [first_order_bound, tandem_bound, c_bound]
N_ENSEMBLES = 400


def population(rng, n_classes=2, n_rows=60, n_members=None):
    """Labels, truth and weights of a flock on all rows that there are, each equally likely.

    Members differ in accuracy, and err together on rows that are hard.
    """
    k = int(rng.integers(2, 9)) if n_members is None else n_members
    y = rng.integers(0, n_classes, n_rows)
    hardness = rng.beta(rng.uniform(0.2, 2), rng.uniform(1, 4), n_rows)
    wrong = rng.random((n_rows, k)) < hardness[:, None] * rng.uniform(0.3, 1.2, k)
    shift = rng.integers(1, n_classes, (n_rows, k))
    labels = np.where(wrong, (y[:, None] + shift) % n_classes, y[:, None])
    # All classes are known, whichever occur.
    return labels, y, rng.dirichlet(np.ones(k))


def predictions(labels, n_classes=2):
    return Predictions(labels, classes=np.arange(n_classes))


def vote_error(labels, y, weights, n_classes=2):
    shares = covey.fuse(predictions(labels, n_classes), "majority", weights)
    return (shares.argmax(axis=1) != y).mean()


# -- the formulas --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_formulas_hold_on_a_thousand_populations(n_classes):
    rng = np.random.default_rng(n_classes)
    useful = dict.fromkeys(VOTES, 0)
    for _ in range(N_ENSEMBLES):
        labels, y, weights = population(rng, n_classes)
        P = predictions(labels, n_classes)
        error = vote_error(labels, y, weights, n_classes)
        for bound in VOTES if n_classes == 2 else VOTES[:2]:
            value = bound(P, y, weights).value
            assert error <= value + 1e-12
            useful[bound] += value < 0.5
    assert useful[first_order_bound] > 100
    assert useful[tandem_bound] > 100
    assert useful[c_bound] > 100 or n_classes > 2


def test_formulas_by_hand():
    # Three members, four rows; right is 0. The weight that errs is 1/2, 1/4, 0 and 0.
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
    first, tandem, c = (bound(labels, [0, 0, 0, 0], [2, 1, 1]) for bound in VOTES)
    assert first.gibbs == pytest.approx(3 / 16)
    assert first.value == pytest.approx(3 / 8)
    assert tandem.tandem == pytest.approx(5 / 64)
    assert tandem.value == pytest.approx(5 / 16)
    # d = 2 (3/16 - 5/64) = 7/32; 1 - (5/8)^2 / (1 - 7/16) = 1 - 25/36.
    assert c.disagreement == pytest.approx(7 / 32)
    assert c.value == pytest.approx(11 / 36)


def test_disagreement_is_how_often_two_drawn_members_differ():
    labels, y, weights = population(np.random.default_rng(1))
    differ = (labels[:, :, None] != labels[:, None, :]).mean(axis=0)
    found = c_bound(predictions(labels), y, weights).disagreement
    assert found == pytest.approx(weights @ differ @ weights)


def test_c_bound_is_vacuous_for_members_no_better_than_a_coin():
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 1]])
    bound = c_bound(labels, [0, 0, 1, 1])
    assert bound.gibbs == 0.625
    assert bound.value == bound.guarantee == 1
    assert bound.vacuous


# -- guarantees ----------------------------------------------------------------------------------


def learned_weights(labels, y):
    """Weights that favour the members that were right on these very rows."""
    scores = -2.0 * (labels != y[:, None]).sum(axis=0)
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@pytest.mark.parametrize("learned", [True, False])
def test_a_guarantee_fails_in_five_of_a_hundred_at_most(learned):
    rng = np.random.default_rng(17)
    failures, useful = dict.fromkeys(VOTES, 0), dict.fromkeys(VOTES, 0)
    for _ in range(N_ENSEMBLES):
        labels, y, weights = population(rng)
        rows = rng.integers(0, len(y), 150)
        everything, sample, truth = predictions(labels), predictions(labels[rows]), y[rows]
        if learned:
            weights = learned_weights(labels[rows], truth)
        for bound in VOTES:
            found = bound(sample, truth, weights, learned=learned)
            # Sharper than the error of the vote: the formula's own value on the population.
            failures[bound] += found.guarantee < bound(everything, y, weights).value
            useful[bound] += not found.vacuous
            assert found.guarantee >= found.value
    assert max(failures.values()) <= 0.05 * N_ENSEMBLES
    assert min(useful.values()) > 0.1 * N_ENSEMBLES


def test_the_exact_guarantee_fails_nearly_as_often_as_it_may():
    rng = np.random.default_rng(23)
    failures = 0
    for _ in range(N_ENSEMBLES):
        labels, y, weights = population(rng)
        fused = covey.fuse(predictions(labels), "majority", weights).argmax(axis=1)
        rows = rng.integers(0, len(y), 300)
        bound = held_out_bound(y[rows], fused[rows])
        failures += bound.guarantee < (fused != y).mean()
    assert 0.02 * N_ENSEMBLES <= failures <= 0.05 * N_ENSEMBLES


@pytest.mark.parametrize("n_ensembles", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_oracle_intervals_hold_for_members_and_oracle(n_ensembles):
    rng = np.random.default_rng(29)
    outside = members_outside = useful = 0
    for _ in range(n_ensembles):
        labels, y, _ = population(rng)
        wrong = labels != y[:, None]
        rows = rng.integers(0, len(y), 100)
        found = oracle_interval(predictions(labels[rows]), y[rows])
        assert found.observed == wrong[rows].all(axis=1).mean()
        outside += not found.low <= wrong.all(axis=1).mean() <= found.high
        low, high = found.member_limits.T
        members_outside += not ((low <= wrong.mean(axis=0)) & (wrong.mean(axis=0) <= high)).all()
        useful += found.high < 0.5
    assert outside <= 0.05 * n_ensembles
    assert 0.005 * n_ensembles <= members_outside <= 0.05 * n_ensembles
    assert useful > 0.5 * n_ensembles


@pytest.mark.parametrize(
    ("bound", "error", "learned"),
    [
        (first_order_bound, 0.4, True),
        (tandem_bound, 0.25, True),
        (tandem_bound, 0.4, False),
        # The C-bound is the steeper the nearer the risk is to one half.
        (c_bound, 0.12, True),
        (c_bound, 0.2, False),
    ],
)
def test_with_ten_thousand_rows_a_guarantee_is_near_its_formula(bound, error, learned):
    rng = np.random.default_rng(31)
    for _ in range(20):
        wrong = rng.random((10_000, 7)) < error * rng.uniform(0.5, 1, 7)
        found = bound(predictions(wrong.astype(int)), np.zeros(10_000, int), learned=learned)
        assert found.value < found.guarantee < found.value + 0.05
        assert not found.vacuous
    exact = held_out_bound(n_errors=5000, n_samples=10_000)
    assert exact.value < exact.guarantee < exact.value + 0.01


def test_guarantees_are_what_the_theorems_say():
    labels, y, weights = population(np.random.default_rng(5), n_rows=400, n_members=4)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    n, delta = 400, 0.1
    price = float((weights * np.log(weights / prior)).sum())
    options = {"prior": prior, "confidence": 0.9}
    P = predictions(labels)

    first = first_order_bound(P, y, weights, **options)
    assert first.divergence == pytest.approx(price)
    budget = (price + math.log(2 * math.sqrt(n) / delta)) / n
    assert binary_divergence(first.gibbs, first.guarantee / 2) == pytest.approx(budget, abs=1e-9)

    tandem = tandem_bound(P, y, weights, **options)
    budget = (2 * price + math.log(2 * math.sqrt(n) / delta)) / n
    assert binary_divergence(tandem.tandem, tandem.guarantee / 4) == pytest.approx(
        budget, abs=1e-9
    )

    # Weights as multiples, and equal weights under an equal prior, whose divergence is none.
    assert first_order_bound(P, y, 10 * weights, **options).guarantee == pytest.approx(
        first.guarantee
    )
    equal = first_order_bound(P, y)
    assert equal.divergence == pytest.approx(0, abs=1e-12)
    assert first_order_bound(P, y, np.full(4, 3.0)) == equal

    # Set before the rows were seen: no price, and no 2 sqrt(n).
    fixed = tandem_bound(P, y, weights, learned=False)
    assert binary_divergence(fixed.tandem, fixed.guarantee / 4) == pytest.approx(
        math.log(20) / n, abs=1e-9
    )
    assert fixed.guarantee < tandem_bound(P, y, weights).guarantee


@pytest.mark.parametrize("learned", [True, False])
def test_the_guarantee_of_the_c_bound_is_the_largest_within_the_limits(learned):
    rng = np.random.default_rng(6)
    n = 500
    wrong = rng.random((n, 5)) < 0.15
    weights = np.array([0.3, 0.3, 0.2, 0.1, 0.1])
    found = c_bound(predictions(wrong.astype(int)), np.zeros(n, int), weights, learned=learned)
    price = float((weights * np.log(weights * 5)).sum())
    grid = np.linspace(1e-5, 1 - 1e-5, 20_001)

    def allowed(q, divergence):
        budget = (divergence + math.log(2 * math.sqrt(n) / 0.025)) / n
        if not learned:
            budget = math.log(3 / 0.05) / n
        return grid[q * np.log(q / grid) + (1 - q) * np.log((1 - q) / (1 - grid)) <= budget]

    gibbs, tandem = allowed(found.gibbs, price), allowed(found.tandem, 2 * price).max()
    expected = (1 - (1 - 2 * gibbs) ** 2 / (1 - 4 * gibbs + 4 * tandem)).max()
    assert found.guarantee == pytest.approx(expected, abs=1e-3)
    assert found.value < found.guarantee < 1


@pytest.mark.parametrize(
    ("n_errors", "n_samples"), [(4, 400), (28, 400), (120, 400), (700, 10_000)]
)
def test_counting_the_errors_of_a_vote_promises_more_than_what_its_members_do(n_errors, n_samples):
    """Even for members that suit the bounds: one of two errs where the vote does, else none."""
    P = np.zeros((n_samples, 2), dtype=int)
    P[: n_errors // 2, 0] = P[n_errors // 2 : n_errors, 1] = 1
    P, y = {"a": P[:, 0], "b": P[:, 1]}, np.zeros(n_samples, dtype=int)
    counted = held_out_bound(n_errors=n_errors, n_samples=n_samples).guarantee
    for kind in ("first_order", "tandem", "c"):
        bound = vote_bound(P, y, kind=kind, learned=False)
        assert bound.value == pytest.approx(n_errors / n_samples)
        assert bound.guarantee > counted


def test_more_confidence_costs_and_more_rows_pay():
    labels, y, weights = population(np.random.default_rng(8))
    P = predictions(labels)
    for bound in (first_order_bound, tandem_bound):
        assert bound(P, y, weights, confidence=0.99).guarantee > bound(P, y, weights).guarantee
        more = bound(predictions(np.tile(labels, (9, 1))), np.tile(y, 9), weights)
        assert more.guarantee < bound(P, y, weights).guarantee
        assert more.value == pytest.approx(bound(P, y, weights).value)


# -- oracle and held-out errors ------------------------------------------------------------------


def test_oracle_bounds_by_hand():
    # 1 - (0.2 + 0.3) = 0.5, and the better one's error.
    assert_allclose(oracle_bounds([0.8, 0.7]), (0.5, 0.7))
    assert oracle_bounds([0.1, 0.4, 0.2]) == (0, 0.1)
    assert oracle_bounds([0.3]) == pytest.approx((0.3, 0.3))
    assert oracle_bounds([1, 1]) == (1, 1)


def test_an_oracle_interval_is_bonferronis():
    wrong = np.zeros((50, 4), dtype=int)
    wrong[:, 0], wrong[:45, 1], wrong[:30, 2], wrong[5:, 3] = 1, 1, 1, 1
    found = oracle_interval(wrong, np.zeros(50, int), confidence=0.9)
    assert_allclose(found.member_errors, [1, 0.9, 0.6, 0.9])
    assert found.observed == 0.5
    for (low, high), n_errors in zip(found.member_limits, (50, 45, 30, 45), strict=True):
        exact = stats.binomtest(n_errors, 50).proportion_ci(1 - 0.1 / 4, "exact")
        assert_allclose((low, high), exact, atol=1e-9)
    # The first member is constant, and so none that an oracle chooses from.
    assert found.chosen_from.tolist() == [False, True, True, True]
    limits = found.member_limits
    assert found.low == pytest.approx(max(0, 1 - (1 - limits[1:, 0]).sum()))
    assert found.high == pytest.approx(limits[2, 1])


def test_constant_members_leave_the_oracle_as_it_is():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    first, second = np.where(rng.random((2, 60)) < 0.3, 1 - y, y)
    alone = oracle_interval([first, second], y)
    found = oracle_interval([np.zeros(60, int), first, np.ones(60, int), second], y)
    assert found.observed == alone.observed > 0
    assert found.chosen_from.tolist() == [False, True, False, True]
    # Where all are constant, the better one is all there is.
    found = oracle_interval([np.zeros(60, int), np.ones(60, int)], y)
    assert found.observed == min(y.mean(), 1 - y.mean())
    assert found.chosen_from.sum() == 1


def test_a_held_out_bound_takes_labels_or_counts():
    y, y_pred = ["a"] * 100, ["a"] * 92 + ["b"] * 8
    counted = held_out_bound(y, y_pred, confidence=0.9)
    assert counted == held_out_bound(n_errors=8, n_samples=100, confidence=0.9)
    assert counted.value == 0.08
    exact = stats.binomtest(8, 100).proportion_ci(0.8, "exact").high
    assert counted.guarantee == pytest.approx(exact)
    assert held_out_bound([0, 1], [1, 0]).vacuous
    # No error in 59 rows: 0.95 ** 59 is just below 5 %.
    assert held_out_bound(n_errors=0, n_samples=59).guarantee < 0.05


def test_probabilities_scores_and_labels_vote_alike():
    rng = np.random.default_rng(3)
    values, y = rng.dirichlet(np.ones(2), (40, 3)), rng.integers(0, 2, 40)
    expected = c_bound(values, y)
    assert c_bound(values.argmax(axis=2), y) == expected
    assert c_bound(Predictions(np.log(values), kind="score"), y) == expected
    assert_array_equal(
        oracle_interval(values, y).member_limits,
        oracle_interval(list(values.argmax(axis=2).T), y).member_limits,
    )


# -- bad input -----------------------------------------------------------------------------------

LABELS = np.array([[0, 1], [1, 1], [0, 0]])
Y = [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b(LABELS, Y, confidence=1), "confidence == 1, must be < 1"),
        (lambda b: b(LABELS, Y, confidence=0.0), "confidence == 0.0, must be > 0"),
        (lambda b: b(LABELS, Y, confidence=np.nan), "confidence"),
        (lambda b: b(LABELS, Y[:2]), "y must hold one label for each of the 3 samples"),
        (lambda b: b(LABELS, [0, 1, 5]), "y holds the label 5, .* none of the classes 0, 1"),
        (
            lambda b: b([[0.0, np.nan], [1.0, 0.0]], [0, 1]),
            "P lacks the prediction of 'member 1' for",
        ),
        (lambda b: b(LABELS[:0], []), "P holds no sample"),
    ],
)
@pytest.mark.parametrize("bound", [*VOTES, oracle_interval])
def test_bad_predictions_and_confidences_get_one_sentence(bound, call, message):
    with pytest.raises(ValueError, match=message):
        call(bound)


@pytest.mark.parametrize("bound", VOTES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [0.5, -0.5]}, "weights must be finite, not negative and not all zero"),
        ({"weights": [0, 0]}, "weights must be finite, not negative and not all zero"),
        ({"weights": [np.nan, 1]}, "weights must be finite"),
        ({"weights": [1, 1, 1]}, "weights must hold one number for each of the 2 members"),
        ({"prior": [1, -1]}, "prior must be finite, not negative and not all zero"),
        ({"prior": [1]}, "prior must hold one number for each of the 2 members"),
        ({"prior": [1, 0]}, "prior gives no weight to 'member 2', but weights do"),
        ({"prior": [1, 1], "learned": False}, "prior is for weights that were learned"),
    ],
)
def test_bad_weights_get_one_sentence(bound, options, message):
    with pytest.raises(ValueError, match=message):
        bound(LABELS, Y, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: c_bound([[0, 1, 2], [1, 1, 0]], [0, 1, 2]), "kind='c' is for two classes.* 3"),
        (lambda: vote_bound(LABELS, Y, kind="second"), "kind must be one of 'tandem'"),
        (lambda: oracle_bounds([0.1, 1.2]), "errors must lie between 0 and 1, .* member 2 is 1.2"),
        (lambda: oracle_bounds([0.1, np.nan]), "errors must lie between 0 and 1, .* is nan"),
        (lambda: oracle_bounds([]), "errors must hold one number a member"),
        (lambda: oracle_bounds(0.1), "errors must hold one number a member"),
        (lambda: held_out_bound(Y), "needs y and y_pred, or else n_errors and n_samples"),
        (lambda: held_out_bound(n_errors=3), "needs y and y_pred, or else n_errors"),
        (lambda: held_out_bound(Y, Y, n_errors=3, n_samples=4), "needs y and y_pred, or else"),
        (lambda: held_out_bound(Y, Y[:2]), "y and y_pred must hold one label a sample"),
        (lambda: held_out_bound([], []), "y and y_pred must hold one label a sample"),
        (lambda: held_out_bound([0, np.nan], [0, 1]), "y holds NaN"),
        (lambda: held_out_bound([0, 1], [np.nan, 1]), "y_pred holds NaN"),
        (lambda: held_out_bound(n_errors=5, n_samples=4), "n_errors == 5, must be <= 4"),
        (lambda: held_out_bound(n_errors=0, n_samples=0), "n_samples == 0, must be >= 1"),
        (lambda: held_out_bound(Y, Y, confidence=1.5), "confidence == 1.5, must be < 1"),
    ],
)
def test_other_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
