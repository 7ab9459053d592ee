"""Recording what a device does, and repeating it.

A step on a GPU is a hundred small kernels, and telling it of each takes Python longer than the
kernel itself. Where steps are always the same, a CUDA graph tells all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api_compat import is_torch_array

from covey._core.arrays import Array

# Steps taken before one is recorded: libraries set themselves up in the first ones.
_WARM_UP = 2


class CudaGraph:
    """Calls a function again and again, on a CUDA device by playing a recording."""

    def __init__(self, beside: Array) -> None:
        self._n_calls = 0
        self._graph: Any = None
        self._records = bool(is_torch_array(beside) and beside.is_cuda)

    def __call__(self, function: Callable[[], None]) -> None:
        """Once more.

        The function, without arguments or result, must be the same and do the same to the same
        arrays at every call, and read nothing back.
        """
        if self._graph is not None:
            self._graph.replay()
            return
        self._n_calls += 1
        if not self._records or self._n_calls <= _WARM_UP:
            function()
            return
        import torch

        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            function()
        self._graph = graph
        # What is recorded is not done.
        graph.replay()
