"""Steps as long as the curvature allows in every direction, whatever the subset.

The Hessian of eq. (9) is at most ``(I - 11^T/C) / 2`` times ``G = sum_m w_m z_m z_m^T`` (Bohning
1992). With the inverse of that bound in the place of a learning rate every step still climbs, and
features that go together no longer slow each other down. A member needs the inverse on its subset
alone; where a flip is tried, the direction follows from the current inverse by the flipped
columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._core.arrays import BoolArray, FloatArray

# A step of up to twice the bound's still climbs; the bound is C / 2 times too careful where every
# class is as likely.
STRETCH = 1.5

# Added to the diagonal of G, as a share of it: columns may depend on each other.
_RIDGE = 1e-3


class Curvature:
    """The bound G of each run, and its inverse on subsets.

    ``gram`` is `gram_of` the rows under the user's weights, and ``usable`` the subset that members
    start from.
    """

    def __init__(self, gram: FloatArray, usable: BoolArray, fit_intercept: bool) -> None:
        diagonal = np.einsum("rdd->rd", gram)
        ridge = _RIDGE * np.maximum(diagonal, np.finfo(np.float64).tiny)
        self._gram = gram + ridge[:, :, None] * np.eye(gram.shape[1])
        self._usable = usable
        self._intercept = np.array([fit_intercept])
        # What members start from comes again with every one of them.
        self._first: list[FloatArray | None] = [None] * len(gram)
        self._known: list[tuple[bytes, FloatArray] | None] = [None] * len(gram)

    def inverse(self, run: int, support: BoolArray) -> FloatArray:
        """The inverse of G on a subset (D,), zero elsewhere.

        A function of the subset alone, however it was come by.
        """
        if self._first[run] is None:
            self._first[run] = self._inverted(run, self._usable)
        first, known = self._first[run], self._known[run]
        assert first is not None
        left_out = np.flatnonzero(self._usable & ~support)
        strange = bool((support & ~self._usable).any())
        if not len(left_out) and not strange:
            return first
        key = support.tobytes()
        if known is not None and known[0] == key:
            return known[1]
        if strange or 3 * len(left_out) > len(support):
            inverse = self._inverted(run, support)
        else:
            # What leaving columns out makes of an inverse: block inversion.
            inner = first[np.ix_(left_out, left_out)]
            inverse = first - first[:, left_out] @ np.linalg.solve(inner, first[left_out])
            inverse[left_out] = 0.0
            inverse[:, left_out] = 0.0
        self._known[run] = key, inverse
        return inverse

    def _inverted(self, run: int, support: BoolArray) -> FloatArray:
        # NumPy's and not SciPy's: two libraries of threads would wait for each other.
        inside = np.flatnonzero(np.append(support, self._intercept))
        inverse: FloatArray = np.zeros_like(self._gram[run])
        part = np.linalg.inv(self._gram[run][np.ix_(inside, inside)])
        inverse[np.ix_(inside, inside)] = (part + part.T) / 2.0
        return inverse

    def norm(self, run: int, vector: FloatArray) -> float:
        """``sqrt(v^T G v)``."""
        return float(np.sqrt(vector @ self._gram[run] @ vector))

    def direction(
        self, run: int, support: BoolArray, slope: FloatArray, flipped: BoolArray | None = None
    ) -> FloatArray:
        """``G^-1 slope`` (D + 1, C) on a subset (D,), or on the ``flipped`` one after a flip."""
        inverse, gram = self.inverse(run, support), self._gram[run]
        if flipped is None:
            return inverse @ slope
        taken_out = np.flatnonzero(support & ~flipped)
        taken_in = np.flatnonzero(flipped & ~support)
        stays = np.append(support & flipped, self._intercept)[:, None]

        def solved(right: FloatArray) -> FloatArray:
            """On what stays of the subset: block inversion."""
            x: FloatArray = inverse @ (right * stays)
            if len(taken_out):
                inner = inverse[np.ix_(taken_out, taken_out)]
                x -= inverse[:, taken_out] @ np.linalg.solve(inner, x[taken_out])
            return x

        if not len(taken_in):
            return solved(slope)
        across = solved(gram[:, taken_in])
        rest = gram[np.ix_(taken_in, taken_in)] - gram[taken_in] @ across
        new = np.linalg.solve(rest, slope[taken_in] - across.T @ slope)
        x = solved(slope) - across @ new
        x[taken_in] = new
        return x


def gram_of(columns: Any, weight: FloatArray, n_at_once: int = 4096) -> FloatArray:
    """``sum_m w_m z_m z_m^T`` of columns (D, n), or sparse (n, D), as (R, D + 1, D + 1).

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
