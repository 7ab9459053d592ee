"""A search, or a gate, over rows that lie in the blocks of a table."""

import numpy as np

from covey._core.algorithm1.rows import RowBlock
from covey._core.basis import Basis
from covey._core.gating.gate import GatedRows, softmax_first
from covey._core.rows import call
from covey._core.search.rows import GrowingRows, Kind, ReplayLog, SearchBlock
from covey.dask._scratch import SCRATCH
from covey.dask._spill import size_of
from covey.fusers._gate import GateFeatures
from covey.members._search import moments_by_sums

# What a `Gate` sees, where a search has the name of a basis.
_GATE = "gate"


class TableBlock(SearchBlock):
    """The rows of one block of a table, as a search knows them; and as a `Gate` sees them."""

    def begin(self, name, ascent):
        """See `SearchBlock`; blocks that are asked one after another share what they need."""
        self._growing[name] = RowBlock(
            self.designs[name], self.blocks, self.run_weight, ascent, SCRATCH
        )

    @property
    def n_bytes(self):
        """How large it may become, as far as it got."""
        n_runs, n_rows = self.run_weight.shape
        arrays = [self._X, self.run_weight, *self._share.values(), *self._said.values()]
        if self.is_sparse:
            arrays += [self._X] * len(self.designs)
        else:
            arrays += [design.like for design in self.designs.values()]
        # Logits and the highest of them in two lanes, three kinds of weights.
        of_a_run = 8 * n_rows * (2 * (self.n_classes + 1) + 3)
        return size_of(tuple(arrays)) + len(self._growing) * n_runs * of_a_run

    # -- a gate that is given --------------------------------------------------------------

    def look(self, sees):
        """Lay out what a gate sees."""
        self._looked = sees.designs(self._X)

    def of_squares(self, sees, method, *args):
        """What is said of the columns, of their squares; see `GateFeatures.squares`."""
        X, self._X = self._X, sees.squares(self._X.tocsc())
        try:
            return call(self, method, *args)
        finally:
            self._X = X

    def asked(self, sees, coef, intercept):
        """How much a gate asks each member, (K,), and what all rows weigh, (1,)."""
        gates = softmax_first(sees.logits(self._X, coef, intercept))
        return gates @ self.weight, np.array([self.weight.sum()])

    def _rows(self, kind):
        if kind.gate != _GATE:
            return super()._rows(kind)
        share = self._share[kind.folds, kind.single]
        return GatedRows(self.designs[kind.basis], self._looked, self.blocks, share, kind.pool)


class TableRecipe(ReplayLog):
    """What a `TableBlock` must be told again if it is made anew."""

    def note(self, method, args):
        """Take note of a call of all blocks."""
        if method is TableBlock.look:
            self.calls.append((method, args))
        else:
            super().note(method, args)


def changes(method, args):
    """Whether a block is another after this call, or need not be written down again."""
    recipe = TableRecipe()
    recipe.note(method, args)
    return bool(recipe.calls)


class SearchedRows:
    """The rows of a table, as a search asks them: `covey._core.search.rows.SearchRows`.

    Parameters
    ----------
    table : Table
        Freshly loaded.
    classes : ndarray of shape (C,)
    class_weight : ndarray of shape (C,)
    n_features : int
    """

    def __init__(self, table, classes, class_weight, n_features):
        self._table = table
        self.n_features = n_features
        self.n_classes = len(classes)
        self.is_sparse = any(known.is_sparse for known in table.loaded)
        self.like = np.empty(0)
        table.broadcast("search", classes, class_weight, table.starts, self.is_sparse)

    def broadcast(self, method, *args):
        """Call a method of every `TableBlock`."""
        self._table.broadcast("searched", method, *args)

    def sum(self, method, *args):
        """Call it, and add up what the blocks return, entry by entry."""
        return self._table.sum("searched", method, *args)

    def max(self, method, *args):
        """Call it, and take the maximum of what the blocks return."""
        return self._table.max("searched", method, *args)

    def gather(self, method, *args):
        """Call it; what each block returns."""
        return self._table.gather("searched", method, *args)


class _Squares:
    """The same of the squares of sparse columns, as far as `moments_by_sums` asks."""

    def __init__(self, rows, sees):
        self._rows, self._sees = rows, sees

    def sum(self, method, *args):
        return self._rows.sum(TableBlock.of_squares, self._sees, method, *args)

    def max(self, method, *args):
        return self._rows.max(TableBlock.of_squares, self._sees, method, *args)


def moments(rows):
    """Mean and deviation of the features of `SearchedRows`."""
    return moments_by_sums(rows, "features", Basis.plain(rows.n_features))[:2]


def rows_to_grow_on(rows, mean, scale, usable, ascent):
    """Get the rows ready for members to be grown on all of them."""
    rows.broadcast(
        SearchBlock.standardise, "features", Basis.plain(rows.n_features), mean, scale, usable
    )
    rows.broadcast(SearchBlock.split, [], 1)
    rows.broadcast(SearchBlock.begin, "features", ascent)
    return GrowingRows(rows, "features", rows.n_features, 1)


def refine(rows, gate, found, parts, classes, **how):
    """Fit a `Gate` together with members that were grown on these rows.

    Parameters
    ----------
    rows : SearchedRows
    gate : Gate
    found : (ndarray, ndarray)
        The `moments` of the features.
    parts : (ndarray, ndarray, ndarray)
        Theta, intercepts and subsets of the members.
    classes : ndarray of shape (C,)
    **how
        As for `Gate.refine_by_sums`.

    Returns
    -------
    refined : (ndarray, ndarray)
        Theta and intercepts.
    shares : ndarray of shape (K,)
        How much each member is asked.
    """
    sees = GateFeatures(gate.features == "quadratic", found)
    if sees.quadratic and rows.is_sparse:
        plain = Basis.plain(rows.n_features)
        sees.standardise_squares(*moments_by_sums(_Squares(rows, sees), "squares", plain)[:2])
    rows.broadcast(TableBlock.look, sees)
    rows.broadcast(
        SearchBlock.share, False, False, *rows.sum(SearchBlock.run_totals, False, False)
    )
    kind = Kind("features", _GATE, gate.pool, False, False)
    refined = gate.refine_by_sums(
        sees,
        lambda parts, runs: rows.sum(SearchBlock.gated, kind, runs, parts),
        *parts,
        classes,
        **how,
    )
    asked, weight = rows.sum(TableBlock.asked, sees, gate.coef_, gate.intercept_)
    return refined, asked / weight
