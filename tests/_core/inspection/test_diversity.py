"""Measures of diversity: a literal version in loops, tables worked by hand, and the extremes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.inspection import diversity as core

# -- the literal version: loops over pairs, rows and classes, as the definitions read ------------


def literal_table(right, weight, j, k):
    """Shares of rows: both right, only j, only k, neither."""
    table = [[0.0, 0.0], [0.0, 0.0]]
    for row, w in zip(right, weight, strict=True):
        table[int(row[j])][int(row[k])] += w
    total = sum(weight)
    return [table[1][1] / total, table[1][0] / total, table[0][1] / total, table[0][0] / total]


def literal_undefined(a, b, c, d):
    if b + c == 0:
        return 1.0
    return -1.0 if a + d == 0 else 0.0


def literal_q(right, weight, j, k):
    a, b, c, d = literal_table(right, weight, j, k)
    below = a * d + b * c
    return (a * d - b * c) / below if below > 0 else literal_undefined(a, b, c, d)


def literal_correlation(right, weight, j, k):
    a, b, c, d = literal_table(right, weight, j, k)
    below = math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    return (a * d - b * c) / below if below > 0 else literal_undefined(a, b, c, d)


def literal_disagreement(right, weight, j, k):
    _, b, c, _ = literal_table(right, weight, j, k)
    return b + c


def literal_double_fault(right, weight, j, k):
    return literal_table(right, weight, j, k)[3]


def literal_label_kappa(labels, weight, j, k):
    total = sum(weight)
    classes = {int(label) for row in labels for label in row}
    observed = sum(w for row, w in zip(labels, weight, strict=True) if row[j] == row[k]) / total
    chance = 0.0
    for c in classes:
        share_j = sum(w for row, w in zip(labels, weight, strict=True) if row[j] == c) / total
        share_k = sum(w for row, w in zip(labels, weight, strict=True) if row[k] == c) / total
        chance += share_j * share_k
    return (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else 1.0


def literal_divergence(probabilities, weight, j, k):
    """Half of both directions, row after row."""
    total = 0.0
    for row, w in zip(probabilities, weight, strict=True):
        for one, other in ((row[j], row[k]), (row[k], row[j])):
            for p, q in zip(one, other, strict=True):
                p, q = max(p, 1e-12), max(q, 1e-12)
                total += w * p * math.log(p / q) / 2
    return total / sum(weight)


def literal_cross_correlation(probabilities, weight, j, k):
    total = 0.0
    for row, w in zip(probabilities, weight, strict=True):
        for p, q in zip(row[j], row[k], strict=True):
            total += w * p * q
    return total / sum(weight)


def literal_posterior_correlation(probabilities, weight, j, k):
    """The coefficient of correlation of all numbers, row by row and class by class."""
    x, y, w = [], [], []
    for row, v in zip(probabilities, weight, strict=True):
        for p, q in zip(row[j], row[k], strict=True):
            x.append(p)
            y.append(q)
            w.append(v)
    covariance = np.cov(x, y, aweights=w, ddof=0)
    flat = np.sqrt(np.diag(covariance)) < 1e-10
    if flat.any():
        return float(j == k or flat.all())
    return covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])


def literal_whole(right, weight):
    """Kuncheva and Whitaker's measures of the whole, from how many are right on each row."""
    n_members = len(right[0])
    total = sum(weight)
    mixed = halves = accuracy = any_fails = others_right = one = two = 0.0
    for row, w in zip(right, weight, strict=True):
        w /= total
        hits = int(sum(row))
        fails = n_members - hits
        mixed += w * hits * fails
        halves += w * min(hits, fails)
        accuracy += w * hits / n_members
        one += w * fails / n_members
        two += w * (fails / n_members) * ((fails - 1) / (n_members - 1))
        if fails:
            any_fails += w
            others_right += w * hits / (n_members - 1)
    spread = accuracy * (1 - accuracy)
    return {
        "interrater_kappa": 1 - mixed / (n_members * (n_members - 1) * spread)
        if spread > 1e-12
        else 1.0,
        "entropy": halves / (n_members - math.ceil(n_members / 2)),
        "kohavi_wolpert_variance": mixed / n_members**2,
        "generalized_diversity": 1 - two / one if one > 0 else 0.0,
        "coincident_failure_diversity": others_right / any_fails if any_fails > 0 else 0.0,
    }


def matrix_of(literal, said, weight):
    """A literal measure of all pairs."""
    members = range(np.shape(said)[1])
    return np.array([[literal(said, weight, j, k) for k in members] for j in members])


# -- what the fast version gives for the same ----------------------------------------------------


def fast_pairs(right, weight):
    pairs = core.correctness_pairs(right, weight)
    return {
        literal_q: core.q_statistic(pairs),
        literal_correlation: core.correctness_correlation(pairs),
        literal_disagreement: core.disagreement(pairs),
        literal_double_fault: core.double_fault(pairs),
    }


def fast_kappa(labels, weight, n_classes):
    return core.label_kappa(
        core.same_label_weights(labels, weight, n_classes),
        core.label_weights(labels, weight, n_classes),
    )


def failure_shares(right, weight):
    return core.failure_weights(right, weight) / weight.sum()


WHOLE = {
    "interrater_kappa": core.interrater_kappa,
    "entropy": core.entropy,
    "kohavi_wolpert_variance": core.kohavi_wolpert_variance,
    "generalized_diversity": core.generalized_diversity,
    "coincident_failure_diversity": core.coincident_failure_diversity,
}


@st.composite
def flocks(draw):
    """Labels, posteriors, truth and weights of a few members; some always or never right."""
    n, k, c = draw(st.integers(1, 12)), draw(st.integers(2, 5)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = rng.integers(0, c, n)
    probabilities = rng.dirichlet(np.full(c, draw(st.sampled_from([0.05, 1.0]))), (n, k))
    if draw(st.booleans()):  # certainties: zeros and ones
        probabilities = np.eye(c)[probabilities.argmax(axis=2)]
    for member in range(k):
        habit = draw(st.sampled_from(["own", "own", "right", "wrong", "same", "even", "copy"]))
        if habit == "right":
            probabilities[:, member] = np.eye(c)[y]
        elif habit == "wrong":
            probabilities[:, member] = np.eye(c)[(y + 1) % c]
        elif habit == "same":
            probabilities[:, member] = np.eye(c)[0]
        elif habit == "even":
            probabilities[:, member] = 1 / c
        elif habit == "copy":
            probabilities[:, member] = probabilities[:, 0]
    weight = np.ones(n)
    if draw(st.booleans()):
        weight = rng.uniform(0.1, 3, n) * (rng.random(n) < 0.8)
        weight[0] = 1.0
    return probabilities, probabilities.argmax(axis=2), y, weight


@settings(max_examples=120)
@given(flocks())
def test_matrix_products_are_the_loops(flock):
    probabilities, labels, y, weight = flock
    n_classes = probabilities.shape[2]
    right = labels == y[:, None]
    for literal, fast in fast_pairs(right, weight).items():
        assert_allclose(fast, matrix_of(literal, right, weight), atol=1e-9, err_msg=str(literal))
        assert_array_equal(fast, fast.T)
    assert_allclose(
        fast_kappa(labels, weight, n_classes),
        matrix_of(literal_label_kappa, labels, weight),
        atol=1e-9,
    )
    total = weight.sum()
    assert_allclose(
        core.symmetric_divergence(core.posterior_log_products(probabilities, weight) / total),
        matrix_of(literal_divergence, probabilities, weight),
        atol=1e-9,
    )
    assert_allclose(
        core.posterior_products(probabilities, weight) / total,
        matrix_of(literal_cross_correlation, probabilities, weight),
        atol=1e-9,
    )
    centered = core.posterior_products(probabilities, weight, 1 / n_classes) / total
    assert_allclose(
        core.posterior_correlation(centered),
        matrix_of(literal_posterior_correlation, probabilities, weight),
        atol=1e-7,
    )
    expected = literal_whole(right, weight)
    failures = failure_shares(right, weight)
    for name, measure in WHOLE.items():
        assert measure(failures) == pytest.approx(expected[name], abs=1e-9), name


@settings(max_examples=60)
@given(flocks())
def test_measures_of_the_whole_are_tied_to_the_mean_disagreement(flock):
    # Kuncheva and Whitaker (2003): D = 2 K / (K - 1) KW, and kappa = 1 - D / (2 p (1 - p)).
    _, labels, y, weight = flock
    right = labels == y[:, None]
    k = right.shape[1]
    failures = failure_shares(right, weight)
    matrix = core.disagreement(core.correctness_pairs(right, weight))
    disagreement = matrix[np.triu_indices(len(matrix), 1)].mean()
    variance = core.kohavi_wolpert_variance(failures)
    assert disagreement == pytest.approx(2 * k / (k - 1) * variance, abs=1e-12)
    p = np.average(right.mean(axis=1), weights=weight)
    if 1e-9 < p < 1 - 1e-9:
        kappa = 1 - disagreement / (2 * p * (1 - p))
        assert core.interrater_kappa(failures) == pytest.approx(kappa, abs=1e-9)


# -- numbers worked by hand ----------------------------------------------------------------------


def rows_of(table):
    """Rows of two members that give the counts (both right, only first, only second, neither)."""
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    return np.array([kind for kind, n in zip(kinds, table, strict=True) for _ in range(n)])


@pytest.mark.parametrize(
    ("table", "q", "rho", "disagree", "fault"),
    [
        # ad - bc = 4*1 - 3*2 = -2, ad + bc = 10, marginals 7, 3, 6, 4 with product 504.
        ((4, 3, 2, 1), -0.2, -2 / math.sqrt(504), 0.5, 0.1),
        # Independent: 6*1 = 3*2; marginals 9, 3, 8, 4.
        ((6, 3, 2, 1), 0.0, 0.0, 5 / 12, 1 / 12),
        # 5*3 - 1*1 = 14 over 16; marginals 6, 4, 6, 4: sqrt(576) = 24.
        ((5, 1, 1, 3), 14 / 16, 14 / 24, 0.2, 0.3),
        # The same mistakes: b = c = 0.
        ((7, 0, 0, 3), 1.0, 1.0, 0.0, 0.3),
        # Each is right where the other is wrong: a = d = 0.
        ((0, 5, 5, 0), -1.0, -1.0, 1.0, 0.0),
        # 0/0: both always right; one right and one wrong throughout; one always right.
        ((4, 0, 0, 0), 1.0, 1.0, 0.0, 0.0),
        ((0, 4, 0, 0), -1.0, -1.0, 1.0, 0.0),
        ((3, 1, 0, 0), 0.0, 0.0, 0.25, 0.0),
        # One empty cell takes Q to its end, but not rho.
        # a=2, b=1, c=0, d=1: ad - bc = 2, marginals 3, 1, 2, 2 with product 12.
        ((2, 1, 0, 1), 1.0, 2 / math.sqrt(12), 0.25, 0.25),
    ],
)
def test_tables_of_two_members_worked_by_hand(table, q, rho, disagree, fault):
    right = rows_of(table)
    found = fast_pairs(right, np.ones(len(right)))
    expected = {
        literal_q: q,
        literal_correlation: rho,
        literal_disagreement: disagree,
        literal_double_fault: fault,
    }
    for measure, value in expected.items():
        assert found[measure][0, 1] == pytest.approx(value, abs=1e-12), measure
    # A member with itself: never apart, and a double fault where it errs.
    assert_array_equal(found[literal_disagreement].diagonal(), 0)
    assert_allclose(found[literal_double_fault].diagonal(), 1 - right.mean(axis=0), atol=1e-12)


def test_measures_of_the_whole_worked_by_hand():
    # Three members, five samples; 0, 1, 1, 2 and 3 of them fail.
    right = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    failures = failure_shares(right, np.ones(5))
    assert_allclose(failures, [0.2, 0.4, 0.2, 0.2])
    # min(l, 3 - l) is 0, 1, 1, 1, 0 over 3 - 2 = 1: mean 3/5.
    assert core.entropy(failures) == pytest.approx(3 / 5)
    # l (3 - l) is 0, 2, 2, 2, 0: mean 6/5, over 9.
    assert core.kohavi_wolpert_variance(failures) == pytest.approx(6 / 45)
    # p = 8/15: 1 - (6/5) / (3 * 2 * (8/15) * (7/15)) = 1 - (6/5) / (336/225) = 1 - 45/56.
    assert core.interrater_kappa(failures) == pytest.approx(11 / 56)
    # p(1) = (0.4 * 1 + 0.2 * 2 + 0.2 * 3) / 3 = 7/15; p(2) = (0.2 * 2 + 0.2 * 6) / 6 = 4/15.
    assert core.generalized_diversity(failures) == pytest.approx(1 - 4 / 7)
    # (0.4 * 2/2 + 0.2 * 1/2 + 0.2 * 0) / 0.8 = 0.5 / 0.8.
    assert core.coincident_failure_diversity(failures) == pytest.approx(5 / 8)


def test_label_kappa_worked_by_hand():
    # Of 10 labels 3 are "0" for both, 4 "1" for both: observed 0.7. The first says "0" 5 times
    # of 10, the second 4: chance 0.5 * 0.4 + 0.5 * 0.6 = 0.5. kappa = 0.2 / 0.5.
    labels = np.array([[0, 0]] * 3 + [[1, 1]] * 4 + [[0, 1]] * 2 + [[1, 0]])
    kappa = fast_kappa(labels, np.ones(10), 2)
    assert kappa[0, 1] == pytest.approx(0.4)
    assert_array_equal(kappa.diagonal(), 1)
    # What never agrees is at -1; what always does at 1, even where chance would agree as well.
    assert fast_kappa(np.array([[0, 1], [1, 0]]), np.ones(2), 2)[0, 1] == pytest.approx(-1)
    assert_array_equal(fast_kappa(np.array([[2, 2], [2, 2]]), np.ones(2), 3), np.ones((2, 2)))
    # One label against another throughout: chance gives no agreement either.
    assert fast_kappa(np.array([[0, 1], [0, 1]]), np.ones(2), 2)[0, 1] == pytest.approx(0)


def test_posterior_measures_worked_by_hand():
    p, q = [0.8, 0.2], [0.5, 0.5]
    probabilities = np.array([[p, q]])
    # (0.8 - 0.5) ln(0.8 / 0.5) + (0.2 - 0.5) ln(0.2 / 0.5), halved: 0.15 ln 4.
    logs = core.posterior_log_products(probabilities, np.ones(1))
    assert core.symmetric_divergence(logs)[0, 1] == pytest.approx(0.15 * math.log(4))
    assert core.posterior_products(probabilities, np.ones(1))[0, 1] == pytest.approx(0.5)
    # About 1/2 the first says +-0.3, -+0.1; the second +-0.1, +-0.2.
    # (0.03 - 0.02) / sqrt((0.09 + 0.01) (0.01 + 0.04)), each twice.
    both = np.array([[[0.8, 0.2], [0.6, 0.4]], [[0.4, 0.6], [0.7, 0.3]]])
    centered = core.posterior_products(both, np.ones(2), 0.5)
    assert core.posterior_correlation(centered)[0, 1] == pytest.approx(0.01 / math.sqrt(0.005))


# -- extremes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_members", [2, 3, 6])
def test_members_that_fail_together_are_not_diverse(n_members):
    right = np.repeat([[True], [False], [True]], n_members, axis=1)
    failures = failure_shares(right, np.ones(3))
    assert [measure(failures) for measure in WHOLE.values()] == pytest.approx([1, 0, 0, 0, 0])


@pytest.mark.parametrize("n_members", [2, 3, 6])
def test_members_that_fail_in_turn_are_as_diverse_as_can_be(n_members):
    right = ~np.eye(n_members, dtype=bool)
    failures = failure_shares(right, np.ones(n_members))
    assert core.generalized_diversity(failures) == pytest.approx(1)
    assert core.coincident_failure_diversity(failures) == pytest.approx(1)
    assert core.interrater_kappa(failures) == pytest.approx(-1 / (n_members - 1))


@pytest.mark.parametrize("n_members", [2, 3, 4, 5])
def test_entropy_is_one_where_every_sample_splits_the_members(n_members):
    right = np.array(
        [
            [member in chosen for member in range(n_members)]
            for chosen in itertools.combinations(range(n_members), n_members // 2)
        ]
    )
    failures = failure_shares(right, np.ones(len(right)))
    assert core.entropy(failures) == pytest.approx(1)


@pytest.mark.parametrize(("always", "double_fault"), [(True, 0.0), (False, 1.0)])
def test_what_cannot_be_told_has_a_finite_value(always, double_fault):
    right = np.full((4, 3), always)
    failures = failure_shares(right, np.ones(4))
    assert [measure(failures) for measure in WHOLE.values()] == [1, 0, 0, 0, 0]
    found = fast_pairs(right, np.ones(4))
    assert_array_equal(found[literal_q], np.ones((3, 3)))
    assert_array_equal(found[literal_correlation], np.ones((3, 3)))
    assert_array_equal(found[literal_double_fault], np.full((3, 3), double_fault))


def test_divergence_of_opposite_certainties_is_finite_and_stated():
    # Both directions cost log(1 / 1e-12) for the class that the other holds for impossible.
    probabilities = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    found = core.symmetric_divergence(core.posterior_log_products(probabilities, np.ones(1)))
    assert found[0, 1] == pytest.approx(12 * math.log(10), rel=1e-9)
    assert_array_equal(found.diagonal(), 0)
