"""What a step costs, by counts: products, copies of X and memory, not seconds."""

import inspect
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from covey import SubsetEnsembleClassifier
from covey._core.algorithm1.rows import in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.softmax_linear import class_blocks
from tests._core.algorithm1.test_trainer import PRINTED, problem, replaced, trainer


class Counted(Design):
    """Counts its products with the whole matrix, and the columns of the others."""

    def __init__(self, *args):
        super().__init__(*args)
        self.counts = Counter()

    def logits(self, theta, intercept, runs, out):
        self.counts["forward"] += 1
        self.counts["forward rows"] += theta.shape[0] * theta.shape[1]
        return super().logits(theta, intercept, runs, out)

    def gradient(self, residual, runs):
        self.counts["back"] += 1
        self.counts["back rows"] += residual.shape[0] * residual.shape[1]
        return super().gradient(residual, runs)

    def add_columns(self, logits, theta, which, run):
        self.counts["columns"] += len(which)
        super().add_columns(logits, theta, which, run)


@pytest.mark.parametrize("n_runs", [1, 5])
@pytest.mark.parametrize("flip_probability", [0.0, 0.2])
def test_a_step_multiplies_with_the_matrix_twice(n_runs, flip_probability):
    n_steps, n_classes = 30, 3
    X, y = problem(n_classes)
    settings = replaced(PRINTED, learning_rate=1e-3, tol=-np.inf, max_iter=n_steps)
    design = Counted(np.ascontiguousarray(X.T))
    grower = trainer(
        X,
        y,
        settings,
        runs=tuple(range(n_runs)),
        flip_probability=flip_probability,
        design=design,
    )
    grower.grow()
    # The start and what is noted of the member come once.
    assert design.counts["forward"] == n_steps + 2
    assert design.counts["back"] == n_steps
    lanes = n_runs * n_classes
    drawn = design.counts["back rows"] - n_steps * lanes
    assert design.counts["forward rows"] == (n_steps + 2) * lanes + drawn
    if flip_probability == 0:
        assert drawn == 0
        assert design.counts["columns"] == 0
    else:
        assert 0 < drawn <= n_steps * lanes
        # As many columns as were flipped, about: not all of them.
        assert design.counts["columns"] < 0.3 * n_steps * n_runs * X.shape[1]


def test_flips_that_are_not_drawn_cost_nothing():
    X, y = problem(2)
    settings = replaced(PRINTED, learning_rate=1e-3, tol=-np.inf, max_iter=100)
    design = Counted(np.ascontiguousarray(X.T))
    grower = trainer(X, y, settings, flip_probability=0.01, design=design)
    grower.grow()
    assert design.counts["back rows"] < 1.3 * 100 * 2, "9 % of steps draw a flip"


class Traced(Design):
    """Notes how many calls lie between a step and each of its products."""

    def noted(self):
        names = [frame.frame.f_code.co_qualname for frame in inspect.stack(0)[1:]]
        if "Step.__call__" in names:
            self.calls.append(names.index("Step.__call__"))

    def logits(self, *args):
        self.noted()
        return super().logits(*args)

    def gradient(self, *args):
        self.noted()
        return super().gradient(*args)


def test_from_a_step_to_its_product_there_are_three_calls():
    X, y = problem(3)
    design = Traced(np.ascontiguousarray(X.T))
    design.calls = []
    settings = replaced(PRINTED, learning_rate=1e-3, tol=-np.inf, max_iter=3)
    trainer(X, y, settings, flip_probability=0.2, design=design).grow()
    assert design.calls == [3] * 6


def big_table(n_rows, n_features, n_classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    return X, rng.integers(0, n_classes, n_rows)


def peak_of(function):
    """Bytes beyond what there was before, at the worst."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n_rows", [6_000, 90_000])
def test_steps_allocate_less_than_their_own_arrays(n_rows):
    n_classes, n_runs = 3, 2
    X, y = big_table(n_rows, 4, n_classes)
    columns, counts = np.ascontiguousarray(X[np.argsort(y)].T), np.bincount(y)
    settings = replaced(PRINTED, learning_rate=1e-5, tol=-np.inf, max_iter=3)
    rows = in_memory(Design(columns), class_blocks(counts), np.ones((n_runs, n_rows)), settings)
    grower = StackTrainer(
        rows,
        settings,
        seed=0,
        runs=[0, 1],
        flip_probability=np.full(n_runs, 0.5),
        unit_of_feature=np.arange(4),
        usable=np.ones(4, dtype=bool),
    )
    grower.grow()
    # Buffers are there by now; what comes beside them is a few numbers a row and run.
    assert peak_of(grower.grow) < 10 * n_runs * n_rows * 8


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes"), [(40_000, 60, 2), (150_000, 20, 3)]
)
def test_a_fit_copies_x_once(n_rows, n_features, n_classes):
    X, y = big_table(n_rows, n_features, n_classes)
    flock = SubsetEnsembleClassifier(
        n_estimators=2, max_iter=3, fuser="product", flip_probability=0.05, random_state=0
    )
    step = 2 * n_classes * 2 * n_rows * 8  # logits and slopes of both candidates
    assert peak_of(lambda: flock.fit(X, y)) < X.nbytes + 1.5 * step + 6_000_000


@pytest.mark.slow
def test_sparse_x_is_never_made_dense():
    rng = np.random.default_rng(0)
    X = sparse.random(2_000, 20_000, density=0.002, format="csr", random_state=0)
    y = rng.integers(0, 2, 2_000)
    flock = SubsetEnsembleClassifier(n_estimators=1, max_iter=3, fuser="product", random_state=0)
    assert peak_of(lambda: flock.fit(X, y)) < 0.1 * 2_000 * 20_000 * 8
