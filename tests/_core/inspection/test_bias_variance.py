"""The decompositions on plain arrays, against loops and numbers worked by hand."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.inspection.bias_variance import (
    domingos_terms,
    kohavi_wolpert_terms,
    squared_terms,
)

EXACT = {"rtol": 0, "atol": 1e-10}


# -- literal, slow -------------------------------------------------------------------------------


def literal_squared(predictions, target, noise):
    """The definitions as expectations over runs, one row at a time."""
    n_runs = len(predictions)
    rows = []
    for i in range(len(target)):
        values = [float(predictions[r][i]) for r in range(n_runs)]
        mean = sum(values) / n_runs
        rows.append(
            (
                sum((value - target[i]) ** 2 for value in values) / n_runs + noise[i],
                (mean - target[i]) ** 2,
                sum((value - mean) ** 2 for value in values) / n_runs,
            )
        )
    return np.array(rows).T


def literal_domingos(labels, p):
    """Every probability by counting over runs and classes, c1 and c2 with their conditions."""
    n_runs, n_classes = len(labels), p.shape[1]
    rows = []
    for i in range(len(p)):
        votes = [int(labels[r][i]) for r in range(n_runs)]
        count = Counter(votes)
        main = min(count, key=lambda c: (-count[c], c))
        best = min(range(n_classes), key=lambda c: (-p[i, c], c))
        loss = sum(p[i, c] for vote in votes for c in range(n_classes) if vote != c) / n_runs
        away = [vote for vote in votes if vote != main]
        V = len(away) / n_runs
        if main == best:
            c2 = 1.0
        else:
            c2 = -sum(vote == best for vote in away) / len(away) if away else 0.0
        N = sum(p[i, c] for c in range(n_classes) if c != best)
        off = [vote for vote in votes if vote != best]
        meet = sum(p[i, vote] for vote in off) / len(off) / N if off and N > 0 else 0.0
        c1 = (n_runs - len(off)) / n_runs - len(off) / n_runs * meet
        rows.append((loss, float(main != best), V, c2 * V, N, c1 * N))
    return np.array(rows).T


def literal_kohavi_wolpert(labels, p):
    n_runs, n_classes = len(labels), p.shape[1]
    rows = []
    for i in range(len(p)):
        q = [sum(labels[r][i] == c for r in range(n_runs)) / n_runs for c in range(n_classes)]
        rows.append(
            (
                sum(p[i, c] * q[d] for c in range(n_classes) for d in range(n_classes) if c != d),
                sum((p[i, c] - q[c]) ** 2 for c in range(n_classes)) / 2,
                (1 - sum(q[c] ** 2 for c in range(n_classes))) / 2,
                (1 - sum(p[i, c] ** 2 for c in range(n_classes))) / 2,
            )
        )
    return np.array(rows).T


# -- random problems -----------------------------------------------------------------------------


@st.composite
def votes(draw, max_classes=5, known=None):
    """Labels of a few runs, and class probabilities that may be certain."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, max_classes))
    n_runs, n_rows = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    labels = rng.integers(n_classes, size=(n_runs, n_rows))
    if draw(st.booleans()):  # rows that all runs agree on
        labels[:, 0] = labels[0, 0]
    if draw(st.booleans()) if known is None else known:
        p = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.1, 1.0, 10.0]))), n_rows)
    else:
        p = np.eye(n_classes)[rng.integers(n_classes, size=n_rows)]
    return labels, p


@st.composite
def numbers(draw, n_outputs=None):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_runs, n_rows = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    tail = () if n_outputs is None else (n_outputs,)
    shift = draw(st.sampled_from([0.0, 3.0]))
    predictions = shift + rng.standard_normal((n_runs, n_rows, *tail))
    return predictions, shift + rng.standard_normal((n_rows, *tail)), rng.random(n_rows)


@given(numbers())
@settings(max_examples=100)
def test_squared_terms_are_the_literal_ones_and_add_up(problem):
    predictions, truth, noise = problem
    terms = squared_terms(predictions, truth, noise)
    loss, bias, variance = literal_squared(predictions, truth, noise)
    assert_allclose(terms.expected_loss, loss, **EXACT)
    assert_allclose(terms.bias, bias, **EXACT)
    assert_allclose(terms.variance, variance, **EXACT)
    assert_array_equal(terms.noise, noise)
    assert_allclose(terms.bias + terms.variance + terms.noise, terms.expected_loss, **EXACT)


@given(numbers())
@settings(max_examples=50)
def test_about_observed_targets_bias_with_noise_and_variance_are_the_mean_squared_error(problem):
    predictions, y, _ = problem
    terms = squared_terms(predictions, y)
    assert_array_equal(terms.noise, 0)
    mean_squared_error = ((predictions - y) ** 2).mean()
    assert_allclose((terms.bias + terms.variance).mean(), mean_squared_error, **EXACT)


@given(numbers(n_outputs=3))
@settings(max_examples=25)
def test_several_outputs_are_summed(problem):
    predictions, truth, noise = problem
    terms = squared_terms(predictions, truth, noise)
    parts = [squared_terms(predictions[:, :, c], truth[:, c]) for c in range(3)]
    assert_allclose(terms.bias, sum(part.bias for part in parts), **EXACT)
    assert_allclose(terms.variance, sum(part.variance for part in parts), **EXACT)
    assert_allclose(terms.bias + terms.variance + noise, terms.expected_loss, **EXACT)


@given(votes())
@settings(max_examples=200)
def test_domingos_terms_are_the_literal_ones_and_add_up(problem):
    labels, p = problem
    terms = domingos_terms(labels, p)
    loss, bias, variance, net, noise, noise_effect = literal_domingos(labels, p)
    assert_allclose(terms.expected_loss, loss, **EXACT)
    assert_array_equal(terms.bias, bias)
    assert_allclose(terms.variance, variance, **EXACT)
    assert_allclose(terms.net_variance, net, **EXACT)
    assert_allclose(terms.noise, noise, **EXACT)
    assert_allclose(terms.noise_effect, noise_effect, **EXACT)
    total = terms.noise_effect + terms.bias + terms.net_variance
    assert_allclose(total, terms.expected_loss, **EXACT)
    assert_allclose(terms.unbiased_variance + terms.biased_variance, terms.variance, **EXACT)


@given(votes(max_classes=2))
@settings(max_examples=100)
def test_domingos_factors_of_two_classes(problem):
    labels, p = problem
    terms = domingos_terms(labels, p)
    right = (labels == terms.best).mean(axis=0)
    B, V, N = terms.bias, terms.variance, terms.noise
    assert_allclose(terms.expected_loss, (2 * right - 1) * N + B + (1 - 2 * B) * V, **EXACT)
    assert_allclose(terms.net_variance, terms.unbiased_variance - terms.biased_variance, **EXACT)


@given(votes(known=False))
@settings(max_examples=100)
def test_without_noise_bias_and_net_variance_are_the_mean_zero_one_loss(problem):
    labels, p = problem
    terms = domingos_terms(labels, p)
    assert_array_equal(terms.noise, 0)
    assert_array_equal(terms.noise_effect, 0)
    zero_one = (labels != p.argmax(axis=1)).mean()
    assert_allclose((terms.bias + terms.net_variance).mean(), zero_one, **EXACT)
    assert (terms.net_variance[terms.bias == 1] <= 0).all()


@given(votes())
@settings(max_examples=100)
def test_kohavi_wolpert_terms_are_the_literal_ones_and_add_up(problem):
    labels, p = problem
    terms = kohavi_wolpert_terms(labels, p)
    loss, bias, variance, noise = literal_kohavi_wolpert(labels, p)
    assert_allclose(terms.expected_loss, loss, **EXACT)
    assert_allclose(terms.bias, bias, **EXACT)
    assert_allclose(terms.variance, variance, **EXACT)
    assert_allclose(terms.noise, noise, **EXACT)
    assert_allclose(terms.bias + terms.variance + terms.noise, terms.expected_loss, **EXACT)
    assert_allclose(terms.expected_loss, domingos_terms(labels, p).expected_loss, **EXACT)


# -- worked by hand ------------------------------------------------------------------------------


def test_squared_loss_by_hand():
    # Row 0: mean 2, truth 1. Row 1: always 5, truth 5.
    predictions = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    terms = squared_terms(predictions, np.array([1.0, 5.0]), noise=0.25)
    assert_allclose(terms.bias, [1, 0])
    assert_allclose(terms.variance, [2 / 3, 0])
    assert_allclose(terms.noise, [0.25, 0.25])
    assert_allclose(terms.expected_loss, [(0 + 1 + 4) / 3 + 0.25, 0.25])


def test_a_large_mean_costs_no_digits():
    predictions = 1e9 + np.array([[-1.0], [1.0]])
    terms = squared_terms(predictions, np.array([1e9]))
    assert terms.variance[0] == terms.expected_loss[0] == 1.0
    assert terms.bias[0] == 0.0


def test_domingos_three_classes_by_hand():
    # Ten runs: six say 1, three say 0, one says 2. The truth is 0, so the main prediction is
    # wrong; of the four runs that leave it, three do so for the truth: c2 = -3/4.
    labels = np.array([1] * 6 + [0] * 3 + [2])[:, None]
    terms = domingos_terms(labels, np.array([[1.0, 0.0, 0.0]]))
    assert terms.main[0] == 1
    assert terms.best[0] == 0
    assert terms.bias[0] == 1
    assert_allclose(terms.variance, 0.4)
    assert_allclose(terms.net_variance, -0.75 * 0.4)
    assert_allclose(terms.expected_loss, 0.7)
    assert_allclose(terms.biased_variance, 0.4)
    assert terms.unbiased_variance[0] == 0


def test_domingos_noise_by_hand():
    # Two classes, P(y = 0) = 0.8; three of four runs say 0: c1 = 2 * 0.75 - 1.
    terms = domingos_terms(np.array([[0], [0], [0], [1]]), np.array([[0.8, 0.2]]))
    assert_allclose(terms.noise, 0.2)
    assert_allclose(terms.noise_effect, 0.5 * 0.2)
    assert_allclose(terms.net_variance, 0.25)
    assert_allclose(terms.expected_loss, 0.75 * 0.2 + 0.25 * 0.8)
    # A model that is always wrong gains from noise: it is right by accident, c1 = -1.
    terms = domingos_terms(np.array([[1], [1]]), np.array([[0.8, 0.2]]))
    assert_allclose(terms.noise_effect, -0.2)
    assert_allclose(terms.expected_loss, 0.8)


def test_kohavi_wolpert_by_hand():
    terms = kohavi_wolpert_terms(np.array([[0], [0], [0], [1]]), np.array([[0.8, 0.2]]))
    assert_allclose(terms.bias, 0.05**2)
    assert_allclose(terms.variance, (1 - 0.75**2 - 0.25**2) / 2)
    assert_allclose(terms.noise, (1 - 0.8**2 - 0.2**2) / 2)
    assert_allclose(terms.expected_loss, 0.35)


def test_ties_go_to_the_first_class_and_rounding_breaks_none():
    labels = np.array([[2, 2], [1, 1]])
    p = np.array([[0.0, 0.0, 1.0], [0.0, 0.5 - 1e-15, 0.5 + 1e-15]])
    terms = domingos_terms(labels, p)
    assert_array_equal(terms.main, [1, 1])
    assert_array_equal(terms.best, [2, 1])
    # Whichever way a tie goes, the terms add up.
    swapped = domingos_terms(2 - labels, p[:, ::-1])
    assert_allclose(swapped.expected_loss, terms.expected_loss, **EXACT)
    assert_allclose(swapped.bias + swapped.net_variance + swapped.noise_effect, [0.5, 0.5])


def test_an_unanimous_learner_has_no_variance():
    labels = np.repeat([[0, 1, 2]], 7, axis=0)
    p = np.eye(3)[[0, 2, 2]]
    for terms in (domingos_terms(labels, p), kohavi_wolpert_terms(labels, p)):
        assert_array_equal(terms.variance, 0)
        assert_array_equal(terms.bias, [0, 1, 0])
        assert_array_equal(terms.expected_loss, [0, 1, 0])
