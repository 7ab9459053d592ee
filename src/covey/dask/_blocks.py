"""One block of rows, where it lies: what it can be asked, and what becomes of it.

A block is loaded, sorted by class, standardised, and from then on a `RowBlock` of Algorithm 1;
where a gate is learnt, it is loaded and from then on a `TableBlock` of a search.
Every answer is small: sums and maxima over the rows, from which those of the whole table follow.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from covey._blocks import ROWS_PER_BLOCK
from covey._core.algorithm1.rows import RowBlock
from covey._core.design import Design
from covey._core.random import Purpose, UniformRows
from covey._core.rows import call
from covey._core.softmax_linear import class_blocks, log_softmax
from covey.dask._scratch import SCRATCH
from covey.dask._search import TableBlock
from covey.fusers import Predictions
from covey.members._joint_subsets import SubsetEnsembleClassifier

# Columns that are worked on together: bounds the memory that copies of them need.
_FEATURES_AT_ONCE = 64

# A draw is a multiple of 2**-53; a round of counting settles so many of its bits.
DRAW_BITS = 53
BITS_PER_ROUND = 11


class Raw(NamedTuple):
    """Rows as they were given."""

    X: Any  # ndarray (n, D) of float64, or CSR
    labels: np.ndarray  # those of the block, sorted
    codes: np.ndarray  # (n,), positions among these
    weight: np.ndarray  # (n,)


class Part(NamedTuple):
    """Rows sorted by class."""

    columns: Any  # ndarray (D, n), or CSC of shape (n, D)
    counts: np.ndarray  # (C,)
    weight: np.ndarray  # (n,)


class Sorted(NamedTuple):
    """The rows that members are grown on, and those held out from them."""

    grown: Part
    held_out: Part | None


class Block:
    """Some rows of a table.

    Parameters
    ----------
    number : int
        Which block of the table this is.

    Attributes
    ----------
    data : Raw, Sorted or None
        Whoever asks puts it here first, and takes it away again: it may lie on disk meanwhile.
        None in a search, which has all of it.
    known : RowBlock, TableBlock or None
        What Algorithm 1 or a search knows of the rows; None before they are standardised or
        searched, and if there are none. If need be, it goes to disk too.
    """

    def __init__(self, number):
        self.number = number
        self.data = None
        self.known = None
        self._center = None
        self._scale = None

    @property
    def n_bytes_known(self):
        """How large what is known of the rows may become."""
        if self.known is None:
            return 0
        if isinstance(self.known, TableBlock):
            return self.known.n_bytes
        # Logits and the highest of them in two lanes, three kinds of weights.
        return 8 * len(self.data.grown.weight) * (2 * (self.known.n_classes + 1) + 3)

    def answer(self, question, args):
        """Call a method of this block, or of its `RowBlock`."""
        if question in _OWN:
            return getattr(self, question)(*args)
        if self.known is None:
            return None
        self.known.design = self._design(self.data.grown.columns)
        try:
            return getattr(self.known, question)(*args)
        finally:
            self.known.design = None

    # -- rows as they were given -----------------------------------------------------------

    def count_draws(self, classes, class_weight, seed, starts, shift, prefix, width):
        """How many rows of each class have which next bits in their draw.

        Parameters
        ----------
        classes, class_weight : arrays of shape (C,)
        seed : int
        starts : array
            The first row of every block of the table.
        shift : int
            How many bits come after those that are counted.
        prefix : array of shape (C,)
            The bits before; rows with other ones are not counted.
        width : int
            How many bits are counted.

        Returns
        -------
        counts : ndarray of shape (C, 2**width)
        """
        codes, used, draws = self._draws(classes, class_weight, seed, starts)
        bits = draws >> shift
        counted = used & (bits >> width == prefix[codes])
        size = 1 << width
        place = codes[counted] * size + (bits[counted] & (size - 1))
        return np.bincount(place, minlength=len(classes) * size).reshape(len(classes), size)

    def _codes(self, classes):
        return np.searchsorted(classes, self.data.labels)[self.data.codes]

    def _draws(self, classes, class_weight, seed, starts):
        codes = self._codes(classes)
        used = (self.data.weight > 0) & (class_weight[codes] > 0)
        draws = UniformRows(seed, Purpose.HOLD_OUT, 0, 0, 1).read(
            int(starts[self.number]), len(codes)
        )[:, 0]
        return codes, used, (draws * 2.0**DRAW_BITS).astype(np.int64)

    def sort(self, classes, class_weight, hold_out):
        """Sort the rows by class; ``hold_out`` is (seed, starts, highest draws), or None."""
        codes = self._codes(classes)
        weight = self.data.weight * class_weight[codes]
        held_out = np.zeros(len(codes), dtype=bool)
        if hold_out is not None:
            seed, starts, highest = hold_out
            _, used, draws = self._draws(classes, class_weight, seed, starts)
            held_out = used & (draws <= highest[codes])
        order = np.argsort(codes, kind="stable")
        X, n_classes = self.data.X, len(classes)
        grown = _part(X, codes, weight, order[~held_out[order]], n_classes)
        apart = None
        if hold_out is not None:
            apart = _part(X, codes, weight, order[held_out[order]], n_classes)
        self.data = Sorted(grown, apart)

    # -- a search --------------------------------------------------------------------------

    def search(self, classes, class_weight, starts, sparse):
        """Get ready for a search, or for a gate; ``sparse``: whether all blocks shall be so."""
        codes, X = self._codes(classes), self.data.X
        self.known = TableBlock(
            csr_array(X) if sparse and not hasattr(X, "tocsr") else X,
            codes,
            self.data.weight * class_weight[codes],
            int(starts[self.number]),
            len(classes),
        )
        self.data = None

    def searched(self, method, *args):
        """Call a method of the `TableBlock`."""
        return call(self.known, method, *args)

    # -- columns ---------------------------------------------------------------------------

    def extremes(self):
        """Largest size, largest and least value of columns, (3, D), and the weights' sum.

        Of rows that weigh something; the least with its sign changed, so that all are maxima.
        """
        columns, _, weight = self.data.grown
        used = weight > 0
        if not used.any():
            return None
        if hasattr(columns, "tocsc"):
            rows = columns.tocsr()[used]
            highest, least = (
                extreme(axis=0).toarray().ravel() for extreme in (rows.max, rows.min)
            )
        else:
            highest, least = np.empty(len(columns)), np.empty(len(columns))
            for which, part in _few_columns(columns, used):
                highest[which], least[which] = part.max(axis=1), part.min(axis=1)
        size = np.maximum(np.abs(highest), np.abs(least))
        return np.stack([size, highest, -least]), float(weight.sum())

    def first_moment(self, size, total):
        """``sum_m w_m x_m / size``, as a share of all weights: (D,)."""
        columns, _, weight = self.data.grown
        if hasattr(columns, "tocsc"):
            column, share, scaled = _entries(columns, weight, size, total)
            return np.bincount(column, share * scaled, minlength=len(size))
        used = weight > 0
        share, moment = weight[used] / total, np.zeros(len(size))
        for which, part in _few_columns(columns, used):
            moment[which] = (part / size[which, None]) @ share
        return moment

    def second_moment(self, size, total, center):
        """``sum_m w_m (x_m / size - center)^2``, as a share of all weights: (D,)."""
        columns, _, weight = self.data.grown
        if hasattr(columns, "tocsc"):
            column, share, scaled = _entries(columns, weight, size, total)
            squares = np.bincount(
                column, share * (scaled - center[column]) ** 2, minlength=len(size)
            )
            stored = np.bincount(column, share, minlength=len(size))
            return squares + np.maximum(weight.sum() / total - stored, 0.0) * center**2
        used = weight > 0
        share, moment = weight[used] / total, np.zeros(len(size))
        for which, part in _few_columns(columns, used):
            moment[which] = np.square(part / size[which, None] - center[which, None]) @ share
        return moment

    def standardise(self, mean, scale, ascent):
        """Centre and scale the columns, for good, and get ready for Algorithm 1."""
        grown, held_out = (self._standardised(part, mean, scale) for part in self.data)
        self.data = Sorted(grown, held_out)
        if len(grown.weight):
            design = self._design(grown.columns)
            blocks = class_blocks(grown.counts)
            self.known = RowBlock(design, blocks, grown.weight[None, :], ascent, SCRATCH)
            self.known.design = None

    def _standardised(self, part, mean, scale):
        if part is None:
            return None
        if hasattr(part.columns, "tocsc"):
            self._center, self._scale = mean[None, :], scale[None, :]
            return part
        columns = part.columns
        columns -= mean[:, None]
        columns /= scale[:, None]
        return part._replace(columns=columns)

    def _design(self, columns):
        return Design(columns, self._center, self._scale)

    # -- how many members fuse best --------------------------------------------------------

    def stages(self, classes, theta, intercept, fuser, held_out):
        """What rows that the first member, the first two, ... get right weigh, and all rows.

        Parameters
        ----------
        classes : array of shape (C,)
        theta : array of shape (C, K, D)
            Of standardised columns.
        intercept : array of shape (C, K)
        fuser : Fuser
        held_out : bool
            Whether it is the rows held out that count.

        Returns
        -------
        right : ndarray of shape (K,)
        whole : float
        """
        columns, counts, weight = self.data.held_out if held_out else self.data.grown
        codes = np.repeat(np.arange(len(classes)), counts)
        sparse = hasattr(columns, "tocsc")
        columns = columns.tocsr() if sparse else columns
        right, whole = np.zeros(theta.shape[1]), 0.0
        for start in range(0, len(weight), ROWS_PER_BLOCK):
            rows = slice(start, start + ROWS_PER_BLOCK)
            weighs = float(weight[rows].sum())
            if not weighs:
                continue
            design = self._design(columns[rows].tocsc() if sparse else columns[:, rows])
            everyone = np.arange(theta.shape[1])
            out = np.empty((*theta.shape[:2], design.n_rows))
            logs = log_softmax(design.logits(theta, intercept, everyone, out)).transpose(2, 1, 0)
            P = Predictions(np.exp(logs), classes, log_values=logs)
            # The local class knows how to count; it need not be fitted for that.
            scores = SubsetEnsembleClassifier()._stages(P, codes[rows], None, weight[rows], fuser)
            right += scores * weighs
            whole += weighs
        return right, whole


_OWN = (
    "count_draws",
    "sort",
    "search",
    "searched",
    "extremes",
    "first_moment",
    "second_moment",
    "standardise",
    "stages",
)


def _part(X, codes, weight, order, n_classes):
    """Some rows in the order given, features first."""
    if hasattr(X, "tocsr"):
        columns = X.tocsr()[order].tocsc()
        columns.sum_duplicates()
    else:
        columns = np.empty((X.shape[1], len(order)))
        for start in range(0, len(order), 1024):
            rows = slice(start, start + 1024)
            columns[:, rows] = X[order[rows]].T
    return Part(columns, np.bincount(codes[order], minlength=n_classes), weight[order])


def _few_columns(columns, used):
    """A few columns at a time, of the rows used."""
    for start in range(0, len(columns), _FEATURES_AT_ONCE):
        which = slice(start, start + _FEATURES_AT_ONCE)
        yield which, columns[which] if used.all() else columns[which][:, used]


def _entries(columns, weight, size, total):
    """Column, share of the weights and scaled value of each stored entry that counts."""
    column = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
    share = weight[columns.indices] / total
    counts = share > 0
    column = column[counts]
    return column, share[counts], columns.data[counts] / size[column]
