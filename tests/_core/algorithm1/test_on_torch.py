"""PyTorch runs the same lines as NumPy, on a GPU or, as here, on the CPU."""

import numpy as np
import pytest

from covey._core.algorithm1.rows import in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import as_slice
from covey._core.design import Design
from covey._core.losses import ClassLoss
from covey._core.softmax_linear import class_blocks
from tests._core.algorithm1.test_trainer import PRINTED, problem, replaced

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SETTINGS = {
    "printed": PRINTED,
    "patient": replaced(PRINTED, learning_rate="auto", patience=5),
    "all steps": replaced(PRINTED, tol=-np.inf),
    "all steps, costly features": replaced(PRINTED, tol=-np.inf, patience=3, subset_penalty=0.01),
    "annealed": replaced(PRINTED, acceptance="metropolis", tol=-np.inf),
    "exponential": replaced(
        PRINTED,
        loss=ClassLoss("exponential"),
        learning_rate="auto",
        reweighting="adaboost",
        patience=4,
    ),
    "exponential, all steps": replaced(
        PRINTED, loss=ClassLoss("exponential"), learning_rate="auto", tol=-np.inf
    ),
    "focal": replaced(PRINTED, loss=ClassLoss("focal"), reweighting="divergence", patience=4),
}


def grown(settings, to, *, scaled, flip_probability, n_members=3):
    X, y = problem(4)
    rng = np.random.default_rng(1)
    n_runs = len(flip_probability)
    arrays = (
        np.ascontiguousarray(X.T),
        rng.uniform(0.2, 3.0, (n_runs, len(X))),
        rng.standard_normal((n_runs, X.shape[1])),
        rng.uniform(0.5, 2.0, (n_runs, X.shape[1])),
    )
    columns, weight, center, scale = (to(array) for array in arrays)
    design = Design(columns, center, scale) if scaled else Design(columns)
    trainer = StackTrainer(
        in_memory(design, class_blocks(np.bincount(y)), weight, settings),
        settings,
        seed=3,
        runs=list(range(n_runs)),
        flip_probability=np.array(flip_probability),
        unit_of_feature=np.arange(X.shape[1]),
        usable=np.ones(X.shape[1], dtype=bool),
    )
    return [trainer.grow() for _ in range(n_members)]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("flip_probability", [(0.05, 0.0, 0.05), (0.1, 0.1), (0.0, 0.0)])
def test_torch_grows_the_members_that_numpy_grows(name, scaled, flip_probability):
    how = {"scaled": scaled, "flip_probability": flip_probability}
    here = grown(SETTINGS[name], np.asarray, **how)
    there = grown(SETTINGS[name], torch.asarray, **how)
    flips = 0
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(ours.support, theirs.support)
        np.testing.assert_array_equal(ours.n_iter, theirs.n_iter)
        np.testing.assert_allclose(ours.theta, theirs.theta.numpy(), atol=1e-10)
        np.testing.assert_allclose(ours.intercept, theirs.intercept.numpy(), atol=1e-10)
        np.testing.assert_allclose(ours.criterion, theirs.criterion)
        for past, other in zip(ours.history, theirs.history, strict=True):
            np.testing.assert_allclose(past.objective, other.objective)
            np.testing.assert_allclose(past.weighted_accuracy, other.weighted_accuracy)
            np.testing.assert_array_equal(past.subset_size, other.subset_size)
            np.testing.assert_array_equal(past.accepted_flip, other.accepted_flip)
            flips += past.accepted_flip.sum()
    assert (flips > 0) == any(flip_probability), "flips are taken, or there is nothing to compare"


def test_single_precision_stays_on_its_device_and_close():
    settings = replaced(PRINTED, tol=-np.inf, max_iter=20)
    how = {"scaled": True, "flip_probability": (0.0, 0.0), "n_members": 1}
    double = grown(settings, np.asarray, **how)[0]
    single = grown(settings, lambda x: torch.asarray(x, dtype=torch.float32), **how)[0]
    assert single.theta.dtype == torch.float32
    np.testing.assert_allclose(double.theta, single.theta.numpy(), atol=1e-4)


def test_positions_at_equal_distances_are_a_slice():
    for positions in ([0, 1, 2], [1, 3, 5, 7], [4, 9]):
        found = as_slice(np.array(positions))
        np.testing.assert_array_equal(np.arange(20)[found], positions)
    for positions in ([], [3], [0, 1, 3], [3, 2, 1], [2, 2]):
        assert as_slice(np.array(positions, dtype=int)) is None
