"""A table in several blocks in memory; blocks can be lost and are made again."""

import numpy as np

from covey._core.search.block import ClassTarget, SearchBlock
from covey._core.search.rows import SearchRows
from covey.dask._blocks import ReplayLog


class Several(SearchRows):
    """The rows of a table that is searched, in blocks.

    Parameters
    ----------
    X, codes, weight
        As for `SearchBlock`, of the whole table.
    sizes : sequence of int
        How many rows each block has.
    n_classes : int
    lost : callable, optional
        ``lost(method, number)``: whether a block is gone when a method of it is called.
    target : callable
        ``target(codes, n_classes)`` gives the target of a block.
    """

    def __init__(self, X, codes, weight, sizes, n_classes, lost=None, target=ClassTarget):
        assert sum(sizes) == len(codes)
        ends = np.cumsum(sizes)
        self._made_of = [
            (X[stop - size : stop], codes[stop - size : stop], weight[stop - size : stop])
            for size, stop in zip(sizes, ends, strict=True)
        ]
        self._starts = ends - sizes
        self._target = target
        self.n_features = X.shape[1]
        self.n_classes = n_classes
        self.is_sparse = hasattr(X, "tocsr")
        self.like = np.zeros(0)
        self._lost = (lambda method, number: False) if lost is None else lost
        self.recipe = ReplayLog()
        self.n_lost = 0
        self.blocks = [self._made(number) for number in range(len(sizes))]

    def _made(self, number):
        start = int(self._starts[number])
        X, codes, weight = self._made_of[number]
        return SearchBlock(X, self._target(codes, self.n_classes), weight, start)

    def _each(self, method, *args):
        results = []
        for number in range(len(self.blocks)):
            if self._lost(method, number):
                self.n_lost += 1
                self.blocks[number] = self._made(number)
                for past, arguments in self.recipe.calls:
                    past(self.blocks[number], *arguments)
            results.append(method(self.blocks[number], *args))
        self.recipe.note(method, args)
        return results
