"""The objective of diverse maximum-entropy models, against its definition."""

import math

import numpy as np
import pytest

from covey._core.design import Design
from covey._core.softmax_linear import class_blocks
from covey.rivals._diverse_maxent import DiverseMaxEnt

N_CLASSES, N_FEATURES = 3, 2
CODES = [0, 0, 0, 1, 1, 2, 2, 2, 2]
MEASURES = ["kl", "cross_correlation"]


def problem(measure, *, weight=0.7, alpha=0.2, n_earlier=2):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((len(CODES), N_FEATURES))
    row_weight = rng.random(len(CODES)) + 0.5
    objective = DiverseMaxEnt(
        Design(np.ascontiguousarray(X.T)),
        class_blocks(np.bincount(CODES)),
        row_weight / row_weight.sum(),
        alpha=alpha,
        measure=measure,
        diversity_weight=weight,
    )
    earlier = [
        (rng.standard_normal((N_CLASSES, N_FEATURES)), rng.standard_normal(N_CLASSES))
        for _ in range(n_earlier)
    ]
    for member in earlier:
        objective.see(flat(*member))
    return objective, X, row_weight, earlier


def flat(theta, intercept):
    return np.concatenate([theta, intercept[:, None]], axis=1).reshape(1, -1)


def literal_posterior(row, theta, intercept):
    powers = [
        math.exp(sum(t * x for t, x in zip(theta[c], row, strict=True)) + intercept[c])
        for c in range(N_CLASSES)
    ]
    return [power / sum(powers) for power in powers]


def literal_terms(X, weight, earlier, theta, intercept, measure, alpha, diversity_weight):
    """Log-likelihood, diversity and J, as they are written."""
    likelihood = diversity = 0.0
    for row, code, w in zip(X, CODES, weight, strict=True):
        share = w / sum(weight)
        p = literal_posterior(row, theta, intercept)
        likelihood += share * math.log(p[code])
        for member in earlier:
            q = literal_posterior(row, *member)
            if measure == "kl":
                term = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
            else:
                term = -sum(a * b for a, b in zip(p, q, strict=True))
            diversity += share * term / len(earlier)
    penalty = alpha / 2 * sum(t**2 for t in theta.ravel())
    return likelihood, diversity, likelihood - penalty + diversity_weight * diversity


@pytest.mark.parametrize("n_earlier", [1, 3])
@pytest.mark.parametrize("measure", MEASURES)
def test_terms_equal_their_definition(measure, n_earlier):
    objective, X, weight, earlier = problem(measure, n_earlier=n_earlier)
    rng = np.random.default_rng(0)
    theta, intercept = rng.standard_normal((2, N_CLASSES, N_FEATURES)), rng.random((2, N_CLASSES))
    stack = np.concatenate([flat(theta[run], intercept[run]) for run in range(2)])
    likelihood, diversity, J, _ = objective.terms(stack)
    for run in range(2):
        expected = literal_terms(X, weight, earlier, theta[run], intercept[run], measure, 0.2, 0.7)
        np.testing.assert_allclose((likelihood[run], diversity[run], J[run]), expected, rtol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weight", [0.0, 0.5, 20.0])
def test_gradient_equals_central_differences(measure, weight):
    objective, *_ = problem(measure, weight=weight)
    x = np.random.default_rng(1).standard_normal((1, N_CLASSES * (N_FEATURES + 1)))
    gradient = objective.terms(x)[3][0]
    step = 1e-5
    for place in range(x.shape[1]):
        there, back = x.copy(), x.copy()
        there[0, place] += step
        back[0, place] -= step
        slope = (objective.terms(there)[2][0] - objective.terms(back)[2][0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("measure", MEASURES)
def test_diversity_is_bounded_however_certain_the_member(measure):
    objective, X, weight, earlier = problem(measure)
    bound = 0.0
    if measure == "kl":
        q = np.array([[literal_posterior(row, *member) for row in X] for member in earlier])
        bound = float((weight / weight.sum()) @ (-np.log(q).mean(axis=0)).max(axis=1))
    for scale in (1.0, 1e2, 1e4, 1e6):
        draws = np.random.default_rng(0).standard_normal((50, N_CLASSES * (N_FEATURES + 1)))
        diversity = objective.terms(scale * draws)[1]
        assert np.isfinite(diversity).all()
        assert (diversity <= bound + 1e-12).all()


def test_before_the_first_member_there_is_no_diversity():
    objective, *_ = problem("kl", n_earlier=0)
    member = objective.grow(np.zeros((1, 9)), max_iter=500, tol=1e-9)
    assert np.isnan(member.diversity)
    assert member.converged


@pytest.mark.parametrize("measure", MEASURES)
def test_a_member_that_equals_the_only_earlier_one_is_stationary_for_kl_alone(measure):
    objective, *_ = problem(measure, n_earlier=0)
    first = objective.grow(np.zeros((1, 9)), max_iter=500, tol=1e-10)
    objective.see(first.x)
    slope = np.abs(objective.terms(first.x)[3]).max()
    assert (slope < 1e-8) == (measure == "kl")


def test_the_highest_of_several_ends_is_kept():
    objective, *_ = problem("kl", weight=3.0)
    starts = 3 * np.random.default_rng(0).standard_normal((6, 9))
    ends = [objective.grow(start[None], max_iter=500, tol=1e-9) for start in starts]
    heights = [objective.terms(end.x)[2][0] for end in ends]
    together = objective.grow(starts, max_iter=500, tol=1e-9)
    assert objective.terms(together.x)[2][0] == pytest.approx(max(heights), abs=1e-7)
    assert max(heights) - min(heights) > 1e-3


def test_too_few_iterations_are_told():
    objective, *_ = problem("kl")
    assert not objective.grow(np.ones((1, 9)), max_iter=1, tol=1e-9).converged


def test_an_end_within_100_times_tol_counts_as_converged_and_tol_says_so():
    objective, *_ = problem("kl")
    seen = set()
    for max_iter in range(1, 60):
        member = objective.grow(np.ones((1, 9)), max_iter=max_iter, tol=1e-9)
        steepest = np.abs(objective.terms(member.x)[3]).max()
        assert member.converged == (steepest <= 100e-9)
        seen.add(int(steepest > 1e-9) + int(steepest > 100e-9))
    assert seen == {0, 1, 2}
    assert "100 times this" in DiverseMaxEnt.grow.__doc__
