"""The matrix that a stack of runs shares, with its centring and scaling.

A run sees the rows ``z = (x - center) / scale``. Nothing is materialised: with
``v = theta / scale``

    z @ theta      = x @ v - center @ v                                     (rank-one correction)
    z.T @ residual = (x.T @ residual - center * sum(residual)) / scale

so sparse matrices stay sparse, and runs with different scalings (the folds of a
cross-validation) still share one product with ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.arrays import Array, FloatArray, IntArray, is_on_host, like, namespace_of

# Centres and scales of runs that are kept on a device; a matter of speed only.
_MOST_KEPT = 16

# How many deviations a mean may be from zero so that single precision still tells them apart.
_FARTHEST = 1e3


class Design:
    """Products with a (row-scaled, never copied) matrix for a stack of runs.

    Dense columns are (D, n), *features first*, so that one column is contiguous; sparse ones are
    (n, D) in CSC format. Each run subtracts its ``center`` and divides by its ``scale``, (R, D) or
    (1, D).
    """

    def __init__(
        self, columns: Array, center: Array | None = None, scale: Array | None = None
    ) -> None:
        self._sparse = hasattr(columns, "tocsc")
        self._columns = columns
        self._center = center
        self._scale = scale
        self._kept: dict[tuple[int, bytes], Array] = {}
        # The runs' arrays must have this namespace, dtype and device.
        self.like: Array = columns.data if self._sparse else columns
        self.xp = namespace_of(self.like)
        n_features, n_rows = reversed(columns.shape) if self._sparse else columns.shape
        self.n_rows: int = n_rows
        self.n_features: int = n_features

    def in_single_precision(self) -> Design:
        """Return a copy of half the size, for results that are compared and not kept.

        If columns lie so far from zero that centering would lose their differences, return the
        design itself.
        """
        xp = self.xp
        if self._sparse and self._center is not None and self._scale is not None:
            # Scaled first: single precision has a smaller range.
            center = self._center / self._scale
            if self._scale.shape[0] > 1 or np.abs(center).max(initial=0.0) > _FARTHEST:
                return self
            columns = self._columns.multiply(1.0 / self._scale[0]).tocsc()
            return Design(columns.astype(np.float32), center.astype(np.float32))

        def single(array: Array | None) -> Array | None:
            return None if array is None else xp.astype(array, xp.float32)

        columns = self._columns.astype(np.float32) if self._sparse else single(self._columns)
        return Design(columns, single(self._center), single(self._scale))

    def in_double_precision(self) -> Design:
        """Return a copy of a dense design of single precision."""
        return self.sent(lambda array: self.xp.astype(array, self.xp.float64))

    def rows(self, which: slice) -> Design:
        """Return some rows; those of a dense design are not copied."""
        columns = self._columns[which] if self._sparse else self._columns[:, which]
        return Design(columns, self._center, self._scale)

    def only(self, columns: IntArray) -> Design:
        """Return some columns, rising, copied so that products with them take less time."""
        if len(columns) == self.n_features:
            return self
        of_matrix = self._columns[:, columns] if self._sparse else self._columns[columns, :]
        moments = (
            None if part is None else part[:, columns] for part in (self._center, self._scale)
        )
        return Design(of_matrix, *moments)

    def sent(self, send: Callable[[Array], Array]) -> Design:
        """Return this design with the arrays that ``send`` makes of its own."""
        parts = (self._columns, self._center, self._scale)
        return Design(*(None if part is None else send(part) for part in parts))

    @property
    def is_sparse(self) -> bool:
        """Return whether the matrix is sparse."""
        return self._sparse

    def _of_runs(self, array: Array, runs: IntArray) -> Array:
        """Return the centres or scales of some runs; those used last are kept on a device."""
        if array.shape[0] == 1:
            return array
        if is_on_host(array):
            return array[runs, :]
        key = id(array), runs.tobytes()
        if key not in self._kept:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = array[like(array, runs, self.xp.int64), :]
        return self._kept[key]

    def logits(self, theta: Array, intercept: Array, runs: IntArray, out: Array) -> Array:
        """Return ``z @ theta + intercept``, eq. (6) for a subset already in ``theta`` (C, R, D).

        ``runs`` are the positions of these runs in the stack; ``out`` (C, R, n) is filled and
        returned.
        """
        n_classes, n_runs, _ = theta.shape
        if self._scale is not None:
            theta = theta / self._of_runs(self._scale, runs)
        if self._center is not None:
            intercept = intercept - self.xp.sum(theta * self._of_runs(self._center, runs), axis=2)
        flat_theta = self.xp.reshape(theta, (n_classes * n_runs, self.n_features))
        flat_out = self.xp.reshape(out, (n_classes * n_runs, self.n_rows))
        if self._sparse:
            flat_out[...] = (self._columns @ flat_theta.T).T
        else:
            self.xp.matmul(flat_theta, self._columns, out=flat_out)
        out += intercept[:, :, None]
        return out

    def gradient(self, residual: Array, runs: IntArray) -> tuple[Array, Array]:
        """Return ``z.T @ residual`` of shape (C, R, D), and ``sum(residual)`` of shape (C, R)."""
        n_classes, n_runs, _ = residual.shape
        flat = self.xp.reshape(residual, (n_classes * n_runs, self.n_rows))
        total = self.xp.sum(residual, axis=2)
        product = (self._columns.T @ flat.T).T if self._sparse else flat @ self._columns.T
        slope = self.xp.reshape(product, (n_classes, n_runs, self.n_features))
        if self._center is not None:
            slope = slope - self._of_runs(self._center, runs) * total[:, :, None]
        if self._scale is not None:
            slope = slope / self._of_runs(self._scale, runs)
        return slope, total

    def gram(self, weight: Array) -> FloatArray:
        """Return ``sum_m w_m z_m z_m^T``, z with a last 1: (R, D + 1, D + 1), w of (R, n)."""
        gram = gram_of(self._columns, weight)
        runs = np.arange(gram.shape[0])

        def extended(array: Array, last: float) -> FloatArray:
            """Return the centers or scales of the runs, and that of the last 1."""
            of_runs = np.broadcast_to(self._of_runs(array, runs), (len(runs), self.n_features))
            return np.append(of_runs, np.full((len(runs), 1), last), axis=1)

        if self._center is not None:
            center = extended(self._center, 0.0)
            sums, total = gram[:, -1, :].copy(), gram[:, -1:, -1:]
            outer = sums[:, :, None] * center[:, None, :]
            gram -= outer + outer.transpose(0, 2, 1)
            gram += total * center[:, :, None] * center[:, None, :]
        if self._scale is not None:
            scale = extended(self._scale, 1.0)
            gram /= scale[:, :, None] * scale[:, None, :]
        return gram

    def add_columns(self, logits: Array, theta: Array, which: Any, run: int) -> None:
        """Add ``z[:, which] @ theta``, of one run, to its ``logits`` (C, n) in place.

        This is how the logits of a flipped subset follow from those of the current one.
        """
        xp = self.xp
        if self._scale is not None:
            theta = theta / self._scale[0 if self._scale.shape[0] == 1 else run, which]
        if self._center is not None:
            center = self._center[0 if self._center.shape[0] == 1 else run, which]
            logits -= xp.sum(theta * center, axis=1)[:, None]
        if self._sparse:
            logits += (self._columns[:, which] @ theta.T).T
        else:
            logits += theta @ self._columns[which, :]

    def add_flipped(self, logits: Array, change: Array, runs: IntArray) -> None:
        """Add ``z @ change`` (C, R, D) to ``logits`` (C, R, n) in place.

        ``change`` is zero except in the columns that a flip takes in or out.
        """
        if not is_on_host(self.like):
            # One product of all columns takes less time than many products of a few.
            out = self.xp.empty_like(logits)
            logits += self.logits(change, self.xp.zeros_like(change[:, :, 0]), runs, out)
            return
        for place, run in enumerate(runs):
            which = np.flatnonzero(change[:, place, :].any(axis=0))
            if len(which):
                self.add_columns(logits[:, place, :], change[:, place, which], which, int(run))


def sorted_columns(X: Any, order: IntArray) -> Any:
    """Return rows of a sparse matrix, all or some, in another order as CSC; copied once."""
    if len(order) < X.shape[0]:
        columns = X.tocsr()[order].tocsc()
        columns.sum_duplicates()
        return columns
    columns = X.tocsc(copy=True)
    place = np.empty(len(order), dtype=columns.indices.dtype)
    place[order] = np.arange(len(order))
    columns.indices = place[columns.indices]
    columns.has_sorted_indices = False
    columns.sum_duplicates()
    return columns


def gram_of(columns: Any, weight: FloatArray, n_at_once: int = 4096) -> FloatArray:
    """Return ``sum_m w_m z_m z_m^T`` of columns (D, n), or sparse (n, D), as (R, D + 1, D + 1).

    The last entry of every z is a 1.
    """
    if hasattr(columns, "tocsr"):
        rows = columns.tocsr()
        gram = np.empty((len(weight), rows.shape[1] + 1, rows.shape[1] + 1))
        for run, w in enumerate(weight):
            gram[run, :-1, :-1] = (rows.T @ rows.multiply(w[:, None]).tocsr()).toarray()
            gram[run, -1, :-1] = gram[run, :-1, -1] = rows.T @ w
            gram[run, -1, -1] = w.sum()
        return gram
    n_features, n_rows = columns.shape
    gram = np.zeros((len(weight), n_features + 1, n_features + 1))
    for start in range(0, n_rows, n_at_once):
        part = np.asarray(columns[:, start : start + n_at_once], dtype=np.float64)
        for run in range(len(weight)):
            w = weight[run, start : start + n_at_once]
            weighted = part * w
            gram[run, :-1, :-1] += weighted @ part.T
            gram[run, -1, :-1] += weighted.sum(axis=1)
            gram[run, -1, -1] += w.sum()
    gram[:, :-1, -1] = gram[:, -1, :-1]
    return gram
