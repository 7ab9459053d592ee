"""The floor under Algorithm 1: its matrix products and nothing else.

A step needs the logits, (C, D) @ (D, n), and the gradient, (C, n) @ (n, D); a step that drew a
flip needs both once more, for the runs that did. Same BLAS, precision and threads as covey,
results into arrays that are there already, X features first and contiguous.

The second pair is a product of its own here, as printed. Who joins it to the first may come out
below this floor's 1.
"""

import time

import numpy as np
from scipy import sparse


class Products:
    """The two products of a step, for stacks of up to ``n_runs`` runs."""

    def __init__(self, problem, n_runs):
        self._n_classes = problem.n_classes
        n_rows, self._n_features = problem.X.shape
        n_lines = self._n_classes * n_runs
        self._sparse = sparse.issparse(problem.X)
        rng = np.random.default_rng(0)
        self._theta = 0.1 * rng.standard_normal((n_lines, self._n_features))
        self._residual = rng.standard_normal((n_lines, n_rows))
        if self._sparse:
            # A sparse product wants its dense side rows first; it has no place for a result.
            self._theta = np.ascontiguousarray(self._theta.T)
            self._residual = np.ascontiguousarray(self._residual.T)
            # Which of the two formats is faster depends on the product and on how wide it is.
            by_row, by_column = problem.X.tocsr(), problem.X.tocsc()
            self._forward = _faster(by_row, by_column, self._theta)
            self._backward = _faster(by_row.T, by_column.T, self._residual)
        else:
            self._columns = np.ascontiguousarray(problem.X.T)
            self._logits = np.empty((n_lines, n_rows))
            self._slope = np.empty((n_lines, self._n_features))

    def pair(self, n_runs):
        n_lines = self._n_classes * n_runs
        if self._sparse:
            self._forward @ _first(self._theta, n_lines)
            self._backward @ _first(self._residual, n_lines)
            return
        np.matmul(self._theta[:n_lines], self._columns, out=self._logits[:n_lines])
        np.matmul(self._residual[:n_lines], self._columns.T, out=self._slope[:n_lines])

    def steps(self, n_steps, n_runs, flip_probability):
        """As many products as so many steps need; which runs flip is drawn, by a seed."""
        drawn = 1.0 - (1.0 - flip_probability) ** self._n_features
        moving = np.random.default_rng(1).binomial(n_runs, drawn, n_steps)
        for n_moving in moving:
            self.pair(n_runs)
            if n_moving:
                self.pair(n_moving)


def _faster(one, other, dense):
    """Of two formats of one matrix that with which the product takes less time."""

    def seconds(matrix):
        taken = []
        for _ in range(3):
            started = time.perf_counter()
            matrix @ dense
            taken.append(time.perf_counter() - started)
        return min(taken)

    return min(one, other, key=seconds)


def _first(array, n_columns):
    """So many columns of numbers, contiguous without a copy (which numbers does not matter)."""
    return array.reshape(-1)[: len(array) * n_columns].reshape(len(array), n_columns)
