"""A group penalty: ``strength * sum_b sqrt(size_b) |theta_b|``, b the pairs of member and feature.

The coefficients of one feature in the gate are a block too. The penalty is minimized by iterated
reweighting: ``|theta_b|`` is at most ``|theta_b|^2 / (2 s) + s / 2``, with equality where ``s`` is
``|theta_b|``, so that L-BFGS minimizes the likelihood with a ridge penalty of each block's own,
which is set anew every few iterations. A block whose length a proximal step makes zero is left
out. Then members and gate are refitted within the blocks that stay, without this penalty.
"""

import time

import numpy as np

from benchmarks.subsets.group import (
    EVERY_RUN,
    N_MEMBERS,
    objective_of,
    refined,
    unpacked,
    within,
)
from covey._core.lbfgs import minimise

# Iterations of L-BFGS before the first reweighting, between two, and after the last one.
FIRST = 20
BETWEEN = 5
LAST = 10
# Blocks shorter than this are reweighted as if they had this length.
SHORTEST = 1e-3


class Penalized:
    """The objective of the group's subsets with a ridge penalty of each block's own."""

    def __init__(self, rows, group, strength):
        self.objective = objective_of(rows, group)
        self._x = self.objective.pack(*group.parts())
        alone = np.eye(rows.features.n_units, dtype=bool)
        self._columns = rows.features.columns(alone).astype(float)  # (U, P)
        width = self._columns.sum(axis=1)
        self._price = strength * np.sqrt(width * (rows.n_classes - 1))
        self._gate_price = strength * np.sqrt(width * (N_MEMBERS - 1))
        # The likelihood's curvature along a block is at most half of its columns' squares.
        self._curvature = 0.5 * width + rows.alpha

    def lengths(self, x):
        """The lengths of members' blocks, (K, U), and of the gate's, (U,)."""
        theta, _, gate, _ = self.objective.unpack(x)
        members = np.sqrt(np.sum(theta[0] ** 2, axis=1) @ self._columns.T)
        return members, np.sqrt(np.sum(gate[0] ** 2, axis=0) @ self._columns.T)

    def greatest_strength(self):
        """The least strength at which all blocks of members vanish from here, if they are zero."""
        _, slope = self.objective(self._x, EVERY_RUN)
        members, _ = self.lengths(slope)
        return float((members / self._price).max())

    def reweighted(self, max_iter):
        """Some iterations with the weights of where the last ones ended."""
        members, gate = self.lengths(self._x)
        weight = self.objective.pack(
            np.repeat(self._weights(members, self._price)[None, :, None], self._n_classes, 2),
            np.zeros((1, N_MEMBERS, self._n_classes)),
            np.repeat(self._weights(gate, self._gate_price)[None, None], N_MEMBERS, 1),
            np.zeros((1, N_MEMBERS)),
        )

        def ridge(x, runs):
            value, slope = self.objective(x, runs)
            return value + 0.5 * np.sum(weight * x * x, axis=1), slope + weight * x

        self._x = minimise(ridge, self._x, max_iter=max_iter, tol=1e-4, memory=6).x

    @property
    def _n_classes(self):
        return self.objective.n_outputs

    def _weights(self, lengths, price):
        """The ridge penalties (..., P) of columns, by the lengths (..., U) of their blocks."""
        return (price / np.maximum(lengths, SHORTEST)) @ self._columns

    def kept(self, group):
        """The group here, and which blocks a proximal step leaves; as in `Group`."""
        _, slope = self.objective(self._x, EVERY_RUN)
        columns = self._curvature @ self._columns  # (P,)
        theta, intercept, gate, gate_intercept = self.objective.unpack(self._x)
        by_theta, _, by_gate, _ = self.objective.unpack(slope)
        ahead = self.objective.pack(
            theta - by_theta / columns, intercept, gate - by_gate / columns, gate_intercept
        )
        members, gates = self.lengths(ahead)
        here = unpacked(self.objective, self._x, group)
        return (
            here,
            group.kept & (members > self._price / self._curvature),
            group.gate_kept & (gates > self._gate_price / self._curvature),
        )


def penalty_path(rows, start, strengths, seconds):
    """Groups for rising penalties, each from where the last one ended, in so many CPU seconds.

    The first group has all features. ``strengths`` are shares of the one at which constant members
    stay constant. The path ends where no member has a feature left.
    """
    began = time.process_time()
    ends = began + seconds * np.arange(2, len(strengths) + 2) / (len(strengths) + 1)
    greatest = Penalized(rows, constant(rows, start), 1.0).greatest_strength()
    group = refined(rows, start, FIRST)
    yield group
    for strength, closes in zip(strengths, ends, strict=True):
        problem = Penalized(rows, group, strength * greatest)
        while True:
            before = time.process_time()
            problem.reweighted(BETWEEN)
            now = time.process_time()
            # Each iteration of the end takes as long as those that were just made.
            if now + (now - before) * (LAST + BETWEEN) / BETWEEN > closes:
                break
        group, kept, gate_kept = problem.kept(group)
        if not kept.any():
            return
        group = within(rows, group, kept, gate_kept)
        yield refined(rows, group, LAST)


def constant(rows, group):
    """Members that all predict the classes' shares, and an even gate."""
    shares = np.bincount(rows.y, minlength=rows.n_classes) / rows.n_rows
    return type(group)(
        np.zeros_like(group.theta),
        np.tile(np.log(shares), (N_MEMBERS, 1)),
        np.zeros_like(group.gate),
        np.zeros(N_MEMBERS),
        group.kept,
        group.gate_kept,
    )
