"""The one place that knows how a stack of runs is made inside covey."""

import numpy as np
from scipy import sparse

from covey._core.algorithm1.rows import TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.softmax_linear import class_blocks


def design_of(problem):
    """What the runs of a problem share: the design, and the rows of each class."""
    order = np.argsort(problem.y, kind="stable")
    blocks = class_blocks(np.bincount(problem.y, minlength=problem.n_classes))
    if sparse.issparse(problem.X):
        return Design(problem.X[order].tocsc()), blocks
    return Design(np.ascontiguousarray(problem.X[order].T)), blocks


def grow(shared, runs, n_steps, flip_probability):
    """Grow one member of each of these runs, side by side, in exactly ``n_steps`` steps.

    Parameters
    ----------
    shared : pair
        What `design_of` gave.
    runs : list of int
    n_steps : int
    flip_probability : float
        0: no flips.
    """
    design, blocks = shared
    ascent = TrainingSettings(
        # A number, and a small one: nothing but steps is timed, and none goes astray.
        learning_rate=0.1 / design.n_rows,
        tol=-np.inf,
        patience=None,
        max_iter=n_steps,
        init_scale=0.1,
        acceptance="greedy",
        temperature=0.01,
        fit_intercept=True,
    )
    trainer = StackTrainer(
        in_memory(design, blocks, np.ones((len(runs), design.n_rows)), ascent),
        ascent,
        seed=0,
        runs=runs,
        flip_probability=np.full(len(runs), flip_probability),
        unit_of_feature=np.arange(design.n_features),
        usable=np.ones(design.n_features, dtype=bool),
    )
    members = trainer.grow()
    if not (members.n_iter == n_steps).all():
        raise RuntimeError(f"runs ended after {members.n_iter} steps instead of {n_steps}")
    return members
