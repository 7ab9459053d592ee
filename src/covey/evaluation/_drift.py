"""Counts of new rows beside what a model remembers of its own, and tests of their difference.

All that is known of new rows are counts in bins that the model's file holds, so that any number of
rows takes the same memory and none is kept. At the edges of the bins both distributions are known
exactly: the greatest distance there is at most that of Kolmogorov and Smirnov, never more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.tables._categories import as_series, category_words
from covey.tables._encoders import Dates, Encoder, NumberColumn
from covey.tables._kinds import as_kind, without_point
from covey.tables._seen_columns import SeenColumn

# Bins with fewer rows than this, or a smaller share of both tables, join their neighbors.
_FEWEST, _LEAST_SHARE = 5, 0.02
# How many values of a piece are tried in other units.
_TRIED = 2_000
# Conversions of a column: new values are factor * x + offset.
_PAIRS = (
    ("inches", "centimetres", 2.54, 0.0),
    ("feet", "metres", 0.3048, 0.0),
    ("pounds", "kilograms", 0.45359237, 0.0),
    ("miles", "kilometres", 1.609344, 0.0),
    ("Celsius", "Fahrenheit", 1.8, 32.0),
    ("Celsius", "Kelvin", 1.0, 273.15),
    ("minutes", "seconds", 60.0, 0.0),
)
_TENS = (10, 100, 1_000)
_UNITS: list[tuple[float, float, str]] = [
    *((ten, 0.0, f"about {ten:,} times those seen") for ten in _TENS),
    *((1 / ten, 0.0, f"about one {ten:,}th of those seen") for ten in _TENS),
    *((factor, more, f"as if {one} had become {other}") for one, other, factor, more in _PAIRS),
    *((1 / by, -more / by, f"as if {other} had become {one}") for one, other, by, more in _PAIRS),
    (-1.0, 0.0, "those seen with the other sign"),
]
_FACTORS, _OFFSETS = (np.array([unit[place] for unit in _UNITS])[:, None] for place in (0, 1))
# A column is in other units if it is this far from what was seen, and this near in other units.
# A factor of ten is rarely an accident, so that it may be farther.
_FAR, _NEAR, _NEAR_TENS = 0.4, 0.1, 0.25


class Spread:
    """Counts of numbers at, between and beyond known values, beside those of before.

    ``shares`` and ``below`` are the shares of numbers of before that are exactly each value, and
    that are below it; ``n_then`` is how many they are of.
    """

    def __init__(self, values: Any, shares: Any, below: Any, n_then: int) -> None:
        self.values, ends = values, np.stack([below, np.add(below, shares)]).T.ravel()
        self.then = np.diff(ends, prepend=0.0, append=1.0).clip(0.0) * n_then
        self.counts = np.zeros(len(self.then), dtype=np.int64)

    @classmethod
    def of(cls, numbers: np.ndarray) -> Spread:
        """Keep quantiles of numbers that were known before."""
        n, ordered = len(numbers), np.sort(numbers)
        values = np.unique(ordered[np.linspace(0, n - 1, 21).astype(np.intp)])
        left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        return cls(values, (right - left) / n, left / n, n)

    def cells(self, numbers: np.ndarray) -> np.ndarray:
        """Return the cell of each number: odd at a known value, even between two."""
        left, right = (np.searchsorted(self.values, numbers, side) for side in ("left", "right"))
        return left + right

    def add(self, numbers: np.ndarray) -> None:
        """Count numbers."""
        self.counts += np.bincount(self.cells(numbers), minlength=len(self.counts))

    def distance(self, counts: np.ndarray | None = None) -> float:
        """Return the greatest difference of the two distribution functions at known values."""
        return distance(self.then, self.counts if counts is None else counts)


class ColumnCounts:
    """Counts of the values of one column of new rows, beside what a model has seen of it."""

    def __init__(self, seen: SeenColumn, encoder: Encoder | None, n_rows: int) -> None:
        self.seen, self.encoder, self.n_then = seen, encoder, n_rows
        self.n_rows = self.n_present = self.n_unread = self.n_new = 0
        self.example: Any = None
        self.spread: Spread | None = None
        self.words: dict[str, int] = {}
        self.is_known = bool(n_rows and seen.shares)
        if self.is_known and seen.kind == "word":
            listed = [
                (value, share)
                for value, share in zip(seen.values, seen.shares, strict=True)
                if value is not None
            ]
            self.words = {str(without_point(value)): at for at, (value, _) in enumerate(listed)}
            shares = [share for _, share in listed]
            rest = max(0.0, 1.0 - seen.missing - sum(shares))
            self.then = np.array([*shares, rest]) * n_rows
            self.counts = np.zeros(len(self.then), dtype=np.int64)
        elif self.is_known:
            # Dates of one moment that are written in several ways are equal.
            values, first = np.unique(self._numbers(np.array(seen.values)), return_index=True)
            shares_of, below = (np.array(one)[first] for one in (seen.shares, seen.below))
            n_present = round(n_rows * (1.0 - seen.missing))
            self.spread = Spread(values, shares_of, below, n_present)
            self.tried = np.zeros((len(_UNITS), len(self.spread.counts)), dtype=np.int64)

    def _numbers(self, values: Any) -> np.ndarray:
        """Return values of a column as floats: numbers, or seconds since 1970."""
        import pandas as pd

        series = as_series(values)
        if self.seen.kind == "number":
            form = self.encoder.form if isinstance(self.encoder, NumberColumn) else None
            return np.asarray(as_kind(series, "number", form), dtype=np.float64)
        form = self.encoder.format if isinstance(self.encoder, Dates) else None
        if not pd.api.types.is_datetime64_any_dtype(series.dtype):
            series = as_kind(series, "date")
        times = pd.to_datetime(series, errors="coerce", utc=True, format=form or "mixed")
        seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
        return np.asarray(seconds, dtype=np.float64)

    def add(self, values: Any, examples: bool = True) -> None:
        """Count the values of some rows; ``examples`` may name one that is strange."""
        values = values if self.encoder is None else self.encoder.present(values)
        self.n_rows += len(values)
        if self.spread is None:
            present = [word for word in category_words(values) if word is not None]
            self.n_present += len(present)
            strange = self._new_words(present) if self.is_known else []
            self.n_new += len(strange)
        else:
            numbers = self._numbers(values)
            lost = np.flatnonzero(~np.isfinite(numbers))
            numbers = np.delete(numbers, lost)
            self.n_present += len(numbers)
            self.spread.add(numbers)
            left = category_words(as_series(values).iloc[lost]) if len(lost) else []
            strange = [word for word in left if word not in (None, "inf", "-inf")]
            self.n_unread += len(strange)
            if self.seen.kind == "number" and self.spread.distance() > _FAR:
                some = numbers[:: 1 + len(numbers) // _TRIED]
                cells = self.spread.cells((some - _OFFSETS) / _FACTORS)
                each = [np.bincount(own, minlength=self.tried.shape[1]) for own in cells]
                self.tried += np.array(each)
        if strange and examples and self.example is None:
            self.example = strange[0]

    def _new_words(self, present: list[str]) -> list[str]:
        """Count words, and return those that were never seen, as far as all are known."""
        other = len(self.words)
        places = [self.words.get(str(without_point(word)), other) for word in present]
        self.counts += np.bincount(places, minlength=other + 1)
        known = getattr(self.encoder, "known", None)
        if known is None and not self.seen.is_complete:
            return []
        every = set(known or ())
        pairs = zip(present, places, strict=True)
        return [word for word, place in pairs if place == other and word not in every]

    # -- what has changed -------------------------------------------------------------------------

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """The counts of before and now, in the same bins."""
        return (self if self.spread is None else self.spread).then, (
            self.counts if self.spread is None else self.spread.counts
        )

    @property
    def missing(self) -> float:
        """The share of rows without a value."""
        return 1.0 - self.n_present / max(1, self.n_rows)

    def tests(self, factor: float = 1.0) -> dict[str, tuple[float, float]]:
        """Return the p-value and the size of the difference for each kind of change.

        ``factor`` is the share of the rows that count, where others repeat them.
        """
        n_then, n_now, then = self.n_then, self.n_rows * factor, self.seen.missing
        found: dict[str, tuple[float, float]] = {}
        if n_then and then == then and n_now:
            p = two_shares(then * n_then, n_then, self.missing * n_now, n_now)
            found["gaps"] = p, abs(self.missing - then)
        odd = getattr(self.encoder, "odd", 0.0)
        kinds = ("written", self.n_unread, odd), ("new", self.n_new, self._share_of_new())
        for kind, count, share in kinds:
            if count:
                n = self.n_present + self.n_unread
                p = two_shares(share * n_then, n_then, count * factor, n * factor)
                found[kind] = p, count / n - share
        if self.is_known and self.n_present:
            before, now = self.both
            p = difference(before, now * factor, self.spread is not None)
            found["values"] = p, max(self.distance, self.stability)
        return found

    @property
    def distance(self) -> float:
        """The greatest distance of distribution functions, or that of the shares of words."""
        if not (self.is_known and self.n_present):
            return 0.0
        return distance(*self.both, self.spread is not None)

    @property
    def stability(self) -> float:
        """The population stability index, less what chance alone would make of it."""
        if not (self.is_known and self.n_present):
            return 0.0
        before, now = merged(*self.both, self.spread is not None)
        first, second = ((one + 0.5) / (one + 0.5).sum() for one in (before, now))
        index = float(np.sum((second - first) * np.log(second / first)))
        chance = (len(now) - 1) * (1 / max(1, before.sum()) + 1 / max(1, now.sum()))
        return max(0.0, index - chance)

    def _share_of_new(self) -> float:
        """Return about how many words were to be new anyway (Good and Turing)."""
        if self.spread is not None or not self.seen.is_complete:
            return float(max(0.0, 1.0 - sum(self.seen.shares)))
        once = sum(round(share * self.n_then) == 1 for share in self.seen.shares)
        return once / max(1, self.n_then)

    def unit(self) -> str | None:
        """Name the conversion after which new values are like those seen, if there is one."""
        if self.spread is None or self.distance <= _FAR or not self.tried.any():
            return None
        distances = [self.spread.distance(counts) for counts in self.tried]
        best = int(np.argmin(distances))
        near = _NEAR_TENS if best < 2 * len(_TENS) else _NEAR
        near = max(near, 1.36 / np.sqrt(self.tried[best].sum()))
        return _UNITS[best][2] if distances[best] < min(near, self.distance / 2) else None

    def beyond(self) -> float:
        """Return the share of dates later, or of numbers outside, of all that were seen."""
        if self.spread is None or not self.n_present:
            return 0.0
        counts = self.spread.counts
        n_beyond = counts[-1] + (counts[0] if self.seen.kind == "number" else 0)
        return float(n_beyond / self.n_present)


# -- tests ----------------------------------------------------------------------------------------


def distance(then: np.ndarray, now: np.ndarray, ordered: bool = True) -> float:
    """Return the greatest distance of two distribution functions, or the total variation."""
    gaps = then / max(1e-9, then.sum()) - now / max(1e-9, now.sum())
    return float(np.abs(np.cumsum(gaps)).max() if ordered else np.abs(gaps).sum() / 2)


def merged(then: np.ndarray, now: np.ndarray, ordered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Join bins with few rows: neighbors if bins are ordered, else all of them."""
    both, sizes = then + now, (then.sum(), now.sum())
    least = max(_LEAST_SHARE, _FEWEST / max(1e-9, min(sizes))) * sum(sizes)
    if ordered:
        bins, place, weight = np.zeros(len(both), dtype=np.intp), 0, 0.0
        for k, size in enumerate(both.tolist()):
            bins[k], weight = place, weight + size
            if weight >= least:
                place, weight = place + 1, 0.0
        bins = np.minimum(bins, max(0, place - 1))
    else:
        bins = np.where(both >= least, np.cumsum(both >= least), 0)
    first, second = (np.bincount(bins, one) for one in (then, now))
    kept = first + second > 0
    return first[kept], second[kept]


def difference(then: np.ndarray, now: np.ndarray, ordered: bool, slack: float = 0.0) -> float:
    """Return the p-value of a difference of two distributions over the same bins.

    It is that of a chi-square test; where bins are ordered, twice the lesser one of that and
    Kolmogorov and Smirnov's, which is never too small, since only edges of bins are compared.
    With some ``slack``, only a distance beyond it counts.
    """
    from scipy.stats import chi2, kstwobign

    n_then, n_now = then.sum(), now.sum()
    if min(n_then, n_now) <= 0:
        return 1.0
    table, p = np.stack(merged(then, now, ordered)), 1.0
    if table.shape[1] > 1:
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        p = float(chi2.sf(((table - expected) ** 2 / expected).sum(), table.shape[1] - 1))
    if not ordered:
        return p
    gap = max(0.0, distance(then, now) - slack)
    smirnov = float(kstwobign.sf(gap * np.sqrt(n_then * n_now / (n_then + n_now))))
    return smirnov if slack else min(1.0, 2 * min(p, smirnov))


def two_shares(then: float, n_then: float, now: float, n_now: float) -> float:
    """Return the p-value of a difference of two shares, by Fisher's exact test."""
    from scipy.stats import fisher_exact

    cells = [max(0, round(cell)) for cell in (then, n_then - then, now, n_now - now)]
    return float(fisher_exact(np.reshape(cells, (2, 2))).pvalue)
