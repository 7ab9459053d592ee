"""A table of which each block of rows lies on some worker: what it is asked, and by whom."""

import uuid

import dask
import dask.array as da
import numpy as np

from covey._core.calls import name_of
from covey.dask._search import TableRecipe
from covey.dask._worker import Message

# How often blocks are loaded anew for one question.
_MOST_LOSSES = 10

# Calls after which a block is another; and those before them that no longer matter.
_LASTING = (
    "sort",
    "search",
    "standardise",
    "see",
    "boost",
    "weigh",
    "rescale",
    "evaluate",
    "slopes",
    "objective",
)
_OF_A_STEP = ("evaluate", "slopes", "objective")
_ENDED_BY = {
    "see": ("weigh", "rescale", *_OF_A_STEP),
    "weigh": ("weigh", "rescale", *_OF_A_STEP),
    "evaluate": _OF_A_STEP,
}


def is_dask(*collections):
    """Whether any of these is a Dask collection."""
    return any(dask.is_dask_collection(collection) for collection in collections)


def is_frame(collection):
    """Whether it is a Dask data frame."""
    return is_dask(collection) and hasattr(collection, "columns") and collection.ndim == 2


class Table:
    """Blocks of rows, and the messages that they have heard.

    Messages are numbered, and what they made of the blocks is remembered: a block that was lost
    with its worker is loaded from Dask's graph and told it all again.

    Parameters
    ----------
    place : Here or Cluster
    parts : list of tuples of Delayed
        X, y and weights (or None) of each block.
    names : array of str or None
        Of the columns.
    wants_digest : bool
        Whether to compute a digest of each block.

    Attributes
    ----------
    loaded : list of Loaded
        One a block, as they were first.
    """

    def __init__(self, place, parts, names, wants_digest):
        self._place = place
        self._parts = parts
        self._names = names
        self._fit = uuid.uuid4().hex
        self._owners = {}
        self._n_messages = 0
        self._n_shown = 0
        self._n_loads = 0
        self._queue = []
        self._past = []
        self._recipe = TableRecipe()
        try:
            self.loaded = self._load(range(len(parts)), wants_digest)
        except BaseException:
            # A block may be refused after others were kept.
            place.forget(self._fit)
            raise
        self._numbers = [number for number, known in enumerate(self.loaded) if known.n_rows]

    def show(self, part):
        """Let the dashboard show that a part of the fit is done."""
        self._n_shown += 1
        self._place.show(part, self._n_shown, self._fit)

    # -- ask -------------------------------------------------------------------------------

    def broadcast(self, question, *args):
        """Call a method of every block; it travels with the next question."""
        self._queue.append((name_of(question), args))

    def gather(self, question, *args):
        """Call a method of every block.

        Returns
        -------
        answers : list
            In the order of the blocks; those that have nothing to say are left out.
        """
        self.broadcast(question, *args)
        calls, self._queue = self._queue, []
        self._n_messages += 1
        said = self._said(calls)
        for call in calls:
            self._remember(*call)
        return [said[number] for number in self._numbers if said[number] is not None]

    def sum(self, question, *args):
        """Ask, and add up what the blocks answer, entry by entry."""
        answers = self.gather(question, *args)
        return tuple(_added(parts) for parts in zip(*answers, strict=True))

    def max(self, question, *args):
        """Ask, and keep the larger one of what the blocks answer."""
        return np.max(np.stack(self.gather(question, *args)), axis=0)

    def _said(self, calls):
        said, past = {}, None
        for _ in range(_MOST_LOSSES):
            missing = [number for number in self._numbers if number not in said]
            message = Message(self._fit, self._n_messages, calls, self._by_owner(missing), past)
            for number, (kind, value) in self._place.ask(message).items():
                if kind == "failed":
                    raise value
                if kind == "said":
                    said[number] = value
            lost = [number for number in missing if number not in said]
            if not lost:
                return said
            self._load(lost, wants_digest=False)
            past = self._what_happened()
        raise RuntimeError(
            f"Block {lost[0]} of X was lost {_MOST_LOSSES} times, each time with its worker; give "
            "the workers more memory, or X smaller blocks."
        )

    def _by_owner(self, numbers):
        by_owner = {}
        for number in numbers:
            by_owner.setdefault(self._owners[number], []).append(number)
        return by_owner

    def _load(self, numbers, wants_digest):
        blocks = [(number, self._parts[number]) for number in numbers]
        known = dict(self._place.load(blocks, self._n_loads, self._fit, self._names, wants_digest))
        self._n_loads += 1
        self._owners.update({number: known[number].address for number in known})
        return [known[number] for number in numbers]

    @property
    def starts(self):
        """The number of the first row of each block."""
        return np.cumsum([0] + [known.n_rows for known in self.loaded])[:-1]

    def _what_happened(self):
        """All that blocks must be told to be what those were that are lost."""
        searched = (("searched", (question, *args)) for question, args in self._recipe.calls)
        return [*self._past, *searched]

    def _remember(self, question, args):
        if question == "searched":
            self._recipe.note(args[0], args[1:])
            return
        if question not in _LASTING:
            return
        ended = _ENDED_BY.get(question, ())
        self._past = [call for call in self._past if call[0] not in ended]
        # The trainer goes on working on its arrays.
        self._past.append((question, _copied(args)))

    # -- end -------------------------------------------------------------------------------

    def close(self):
        """Drop the blocks, wherever they are."""
        self._place.forget(self._fit)
        self._place.close()


class TableRows:
    """The rows of a table, as a `StackTrainer` asks them: `covey._core.algorithm1.rows.Rows`.

    Parameters
    ----------
    table : Table
        Its blocks standardised.
    n_features, n_classes, n_runs : int
    """

    def __init__(self, table, n_features, n_classes, n_runs=1):
        self.broadcast, self.sum, self.max = table.broadcast, table.sum, table.max
        self.gather = table.gather
        self.n_features = n_features
        self.n_classes = n_classes
        self.n_runs = n_runs
        self.like = np.empty(0)


def _added(parts):
    # Always in the order of the blocks: the same sum, to the bit, whoever has them.
    whole = np.array(parts[0])
    for part in parts[1:]:
        whole = whole + part
    return whole


def _copied(value):
    if isinstance(value, tuple | list):
        return type(value)(_copied(part) for part in value)
    return value.copy() if isinstance(value, np.ndarray) else value


# -- blocks of the user's collections ------------------------------------------------------------


def delayed_blocks(X, y, sample_weight):
    """X, y and weights of each block of rows, as Delayed: blocks are those of X."""
    rows = _RowsOf(X)
    columns = [rows.of_X(), rows.matched(y, "y")]
    if sample_weight is None:
        columns.append([None] * len(columns[0]))
    else:
        columns.append(rows.matched(sample_weight, "sample_weight"))
    return list(zip(*columns, strict=True))


class _RowsOf:
    """The blocks of X, and how others are cut like them."""

    def __init__(self, X):
        if not is_frame(X):
            if X.ndim != 2 or np.isnan(X.shape[1]):
                raise ValueError(
                    f"X must have two dimensions, rows and a known number of columns, got shape "
                    f"{X.shape}."
                )
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        self._X = X
        self._lengths = None if is_frame(X) else X.chunks[0]

    def of_X(self):
        """The blocks of X itself."""
        blocks = self._X.to_delayed()
        return blocks if is_frame(self._X) else list(blocks[:, 0])

    def matched(self, other, name):
        """The blocks of y or weights."""
        n_blocks = self._X.npartitions if is_frame(self._X) else self._X.numblocks[0]
        if not is_dask(other):
            return self._cut(np.asarray(other), name)
        if getattr(other, "ndim", 1) != 1:
            raise ValueError(f"{name} must be 1D, got a collection of {other.ndim} dimensions.")
        is_array = isinstance(other, da.Array)
        known = is_array and not np.isnan(other.chunks[0]).any()
        unknown = self._lengths is None or np.isnan(self._lengths).any()
        here = other.numblocks[0] if is_array else other.npartitions
        if known and not unknown and other.chunks[0] == self._lengths:
            return list(other.to_delayed())
        if here == n_blocks and (unknown or not known):
            # Whether each is as long as that of X is seen where they are.
            return list(other.to_delayed())
        if not is_array:
            other = other.to_dask_array(lengths=True)
        elif not known:
            other = other.compute_chunk_sizes()
        lengths = self._known_lengths()
        self._check_length(other.shape[0], sum(lengths), name)
        return list(other.rechunk((lengths,)).to_delayed())

    def _cut(self, array, name):
        """The blocks of what lies here."""
        if array.ndim != 1:
            raise ValueError(f"{name} must be 1D, got an array of {array.ndim} dimensions.")
        lengths = self._known_lengths()
        self._check_length(len(array), sum(lengths), name)
        ends = np.cumsum(lengths)
        return [
            dask.delayed(array[end - length : end])
            for end, length in zip(ends, lengths, strict=True)
        ]

    def _known_lengths(self):
        if self._lengths is None:
            self._lengths = tuple(int(n) for n in self._X.map_partitions(len).compute())
        elif np.isnan(self._lengths).any():
            self._lengths = self._X.copy().compute_chunk_sizes().chunks[0]
        return self._lengths

    def _check_length(self, length, wanted, name):
        if length != wanted:
            raise ValueError(
                f"{name} has {length} entries, but X has {wanted} rows; give one a row."
            )
