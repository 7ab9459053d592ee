"""The penalty that folds choose."""

import numpy as np
import pytest

from covey._core.design import Design
from covey._core.gating.gate import (
    ClassLikelihood,
    GatedObjective,
    GatedRows,
    ValueLikelihood,
    best_penalty,
    penalties,
)
from covey._core.lbfgs import minimise
from covey._core.losses import ValueLoss
from covey._core.softmax_linear import class_blocks


def problem(numbers, noise, n=120, d=3, n_folds=3):
    """Rows for folds: their shares, what they hold out, and the sums over them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    target = X[:, 0] + noise * rng.standard_normal(n)
    if numbers:
        likelihood = ValueLikelihood(target / target.std(), ValueLoss("squared"))
    else:
        y = (target > 0).astype(int)
        X = X[np.argsort(y, kind="stable")]
        likelihood = ClassLikelihood(class_blocks(np.bincount(y)))
    fold = rng.permutation(n) % n_folds
    weight = rng.uniform(0.5, 2.0, n)
    share = np.stack([np.where(fold != one, weight, 0.0) for one in range(n_folds)])
    held_out = np.stack([np.where(fold == one, weight, 0.0) for one in range(n_folds)])
    share /= share.sum(axis=1, keepdims=True)
    design = Design(np.ascontiguousarray(X.T))
    rows = GatedRows(design, [design], likelihood, share, "linear", held_out=held_out)
    shape = 2, likelihood.n_outputs, d, d
    n_parameters = 2 * (likelihood.n_outputs * (d + 1) + d + 1)
    start = 0.1 * rng.standard_normal((1, n_parameters))
    return rows, shape, start


def literal_losses(rows, shape, start, alphas, n_folds=3):
    """One penalty and one fold after the other."""
    losses = []
    for alpha in alphas:
        total = 0.0
        for fold in range(n_folds):
            of_fold = np.array([fold])
            objective = GatedObjective(
                lambda parts, runs, of=of_fold: rows.value_and_gradient(parts, of[runs]),
                np.array([alpha]),
                *shape,
                toward_mean=1.0,
            )
            found = minimise(objective, start, max_iter=100)
            (loss,) = rows.held_out_loss(objective.within(found.x, np.array([0])), of_fold)
            total += loss[0]
        losses.append(total)
    return np.array(losses)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("noise", [0.0, 3.0])
@pytest.mark.parametrize("n_rows", [1, 10**6])
def test_the_best_penalty_is_that_of_a_loop(numbers, noise, n_rows):
    rows, shape, start = problem(numbers, noise)
    alphas = penalties(120, numbers=numbers)
    chosen = best_penalty(
        rows.value_and_gradient,
        rows.held_out_loss,
        alphas,
        start,
        shape,
        n_folds=3,
        n_rows=n_rows,
        max_iter=100,
        toward_mean=1.0,
    )
    losses = literal_losses(rows, shape, start, alphas)
    assert chosen == alphas[losses.argmin()]
    # Noise wants a strong penalty, its absence a weak one.
    assert (chosen == alphas[0]) == (noise > 0)


def test_held_out_losses_are_those_of_the_rows():
    rows, shape, start = problem(False, 1.0)
    objective = GatedObjective(rows.value_and_gradient, np.ones(1), *shape)
    parts = objective.unpack(start)
    p = rows.predictions(parts, np.array([1]))[0]
    (loss,) = rows.held_out_loss(parts, np.array([1]))
    assert loss[0] == pytest.approx(-(rows.held_out[1] * np.log(p)).sum())


def test_penalties_fall_with_the_rows_beyond_500():
    few, many = penalties(100, numbers=False), penalties(16_000, numbers=False)
    assert few[0] == 0.03
    assert many == pytest.approx(few * (500 / 16_000) ** 0.8)
    assert penalties(500, numbers=True) == pytest.approx(10 * few)
