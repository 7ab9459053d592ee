"""Blocks of rows on a CUDA device, where eq. (9) is climbed by kernels of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device

from covey._core.algorithm1.rows import NONE, RowBlock
from covey._core.algorithm1.targets import ClassTarget
from covey._core.arrays import Array, IntArray, cuda_kernels, is_on_host, like

# Lists of candidates that are kept on a device; a matter of speed only.
_MOST_CANDIDATES = 256


class CudaRowBlock(RowBlock):
    """The same as `RowBlock` under the log-likelihood, in few passes over the rows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert isinstance(self._target, ClassTarget)
        self._kernels: Any = cuda_kernels(self.design.like)
        self._label = self._target.labels(self.design.like)
        self._intercept: Array = None  # of the outputs, which lack it
        self._candidates: dict[int, tuple[IntArray, Array]] = {}

    def evaluate(
        self, runs: IntArray, flipping: IntArray, theta: Array, intercept: Array
    ) -> tuple[Array]:
        """See `RowBlock`."""
        self._begin(runs, flipping)
        # Runs at equal distances are a view, whose rows the kernels would not find.
        self._weight = self._weight.contiguous()
        self._outputs = self._workspace.take("outputs", *theta.shape[:2], self.design.n_rows)
        self._intercept = self._workspace.take("intercept", *theta.shape[:2])
        self._intercept[...] = self.design.products(
            theta, intercept, self._of_candidates(flipping), self._outputs
        )
        positions = self._positions_of(flipping)
        return (
            self._kernels.won(
                self._outputs, self._intercept, self._weight, positions, self._label
            ),
        )

    def slopes(
        self, accepted: Any, active: IntArray | None, flipping: IntArray, change: Array | None
    ) -> tuple[Array, Array, Array]:
        """See `RowBlock`."""
        xp, n_evaluated = self._xp, len(self._runs)
        where = {"dtype": xp.int32, "device": device(self._outputs)}
        # Of the candidates evaluated last, the one that each run continues with.
        source = xp.arange(n_evaluated, **where)
        if len(self._flipping):
            second = n_evaluated + xp.arange(len(self._flipping), **where)
            if is_on_host(accepted):
                flags = np.zeros(len(self._flipping), dtype=bool)
                flags[accepted] = True
                accepted = like(self._outputs, flags, xp.bool)
            at = self._index(self._flipping)
            source[at] = xp.where(accepted, second, source[at])
        if active is not None and len(active) < n_evaluated:
            at = self._index(active)
            source, self._weight = source[at], self._weight[at, :].contiguous()
            self._runs = self._runs[active]
        n_runs, n_classes, n_rows = len(self._runs), self.n_classes, self.design.n_rows
        candidates = self._of_candidates(flipping)
        added, shift = self._outputs, self._intercept
        if len(flipping):
            added = self._scratch.take("added", n_classes, len(flipping), n_rows)
            assert change is not None
            nothing = xp.zeros_like(change[:, :, 0])
            shift = self.design.products(change, nothing, self._runs[flipping], added)
            source = xp.concat([source, source[self._index(flipping)]])
        residual = self._scratch.take("residual", n_classes, len(candidates), n_rows)
        objective, total = self._kernels.residual(
            self._outputs,
            self._intercept,
            source,
            added,
            shift,
            self._weight,
            self._positions_of(flipping),
            self._label,
            residual,
            n_runs,
        )
        return objective, *self.design.gradient(residual, candidates, total)

    def objective(self, accepted: Any, active: IntArray | None) -> tuple[Array]:
        """See `RowBlock`."""
        return self.slopes(accepted, active, NONE, None)[:1]

    def _positions_of(self, flipping: IntArray) -> Array:
        """The position of the run of each candidate, as the kernels want it."""
        known = self._candidates.get(id(flipping))
        if known is None or len(known[1]) != len(self._runs) + len(flipping):
            if len(self._candidates) > _MOST_CANDIDATES:
                self._candidates.clear()
            positions = np.concatenate([np.arange(len(self._runs)), flipping])
            known = flipping, like(self._base_weight, positions, self._xp.int32)
            # Kept, since a step that was recorded knows where it lies.
            self._candidates[id(flipping)] = known
        return known[1]
