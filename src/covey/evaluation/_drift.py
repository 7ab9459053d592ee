"""Counts of new values beside what a model remembers of its own, and tests of their difference.

All that is known of new rows are counts in bins that the model's file holds, so that any number of
rows takes the same memory and none is kept. At the edges of the bins both distributions are known
exactly: the greatest distance there is at most that of Kolmogorov and Smirnov, never more.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from covey._number_words import cell, day, quoted, range_words, rough
from covey.tables._categories import as_series, category_words
from covey.tables._encoders import Categories, Dates, Encoder, NumberColumn
from covey.tables._kinds import as_kind, without_point
from covey.tables._seen_columns import SeenColumn

# The least difference that counts as a change, however sure it is: of a distribution (the distance
# or the stability index), of gaps, and of values that are new or cannot be read.
LEAST = {"values": 0.1, "gaps": 0.05, "unread": 0.01}
# Bins with fewer rows than this, or a smaller share of both tables, join their neighbors.
_FEWEST, _LEAST_SHARE = 5, 0.02
# Conversions: new values are factor * x + offset.
_PAIRS = (
    ("inches", "centimetres", 2.54, 0.0),
    ("feet", "metres", 0.3048, 0.0),
    ("pounds", "kilograms", 0.45359237, 0.0),
    ("miles", "kilometres", 1.609344, 0.0),
    ("Celsius", "Fahrenheit", 1.8, 32.0),
    ("Celsius", "Kelvin", 1.0, 273.15),
    ("minutes", "seconds", 60.0, 0.0),
)
_UNITS = [
    *((ten, 0.0, f"about {ten:,} times those seen") for ten in (10, 100, 1_000)),
    *((1 / ten, 0.0, f"about one {ten:,}th of those seen") for ten in (10, 100, 1_000)),
    *((factor, more, f"as if {one} had become {other}") for one, other, factor, more in _PAIRS),
    *((1 / by, -more / by, f"as if {other} had become {one}") for one, other, by, more in _PAIRS),
    (-1.0, 0.0, "those seen with the other sign"),
]
# Values are in other units if they are this far from those seen, and this near in other units (a
# factor of ten, the first six, is rarely an accident). So many of a piece are tried.
_FAR, _NEAR, _NEAR_TENS, _TRIED = 0.4, 0.1, 0.25, 2_000


class Bins:
    """Counts of values now beside those of before, in the same bins.

    Those of numbers are at, between and beyond ``values``; others have no order.
    """

    def __init__(self, then: Any, values: np.ndarray | None = None) -> None:
        self.then, self.values = np.asarray(then, dtype=np.float64), values
        self.now = np.zeros(len(self.then))

    @classmethod
    def of_numbers(cls, values: np.ndarray, shares: Any, below: Any, n_rows: float) -> Bins:
        """Make bins of known values, the shares that are exactly each, and that are below it."""
        ends = np.stack([below, np.add(below, shares)]).T.ravel()
        return cls(np.diff(ends, prepend=0.0, append=1.0).clip(0.0) * n_rows, values)

    def counts(self, numbers: np.ndarray) -> np.ndarray:
        """Count numbers: in odd bins at a known value, in even ones between two."""
        assert self.values is not None
        left, right = (np.searchsorted(self.values, numbers, side) for side in ("left", "right"))
        return np.bincount(left + right, minlength=len(self.then))

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of before and now."""
        return self.then / max(1e-9, self.then.sum()), self.now / max(1e-9, self.now.sum())

    def distance(self, now: np.ndarray | None = None) -> float:
        """Return the greatest distance of distribution functions, or the total variation."""
        now = self.now if now is None else now
        gaps = self.then / max(1e-9, self.then.sum()) - now / max(1e-9, now.sum())
        far = np.abs(gaps).sum() / 2 if self.values is None else np.abs(np.cumsum(gaps)).max()
        return float(far) if now.any() else 0.0

    def joined(self) -> np.ndarray:
        """Return a number for each bin: neighbors have the same one until they have rows."""
        both, sizes = self.then + self.now, (self.then.sum(), self.now.sum())
        least = max(_LEAST_SHARE, _FEWEST / max(1e-9, min(sizes))) * sum(sizes)
        numbers, place, weight = [], 0, 0.0
        for size in both.tolist():
            numbers.append(place)
            weight += size
            if weight >= least:
                place, weight = place + 1, 0.0
        return np.minimum(numbers, max(0, place - 1))

    def merged(self) -> np.ndarray:
        """Return the counts (2, n) in bins that are joined."""
        numbers = self.joined()
        return np.stack([np.bincount(numbers, one) for one in (self.then, self.now)])

    def stability(self) -> float:
        """Return the population stability index, less what chance alone would make of it."""
        table = self.merged() + 0.5
        before, now = table / table.sum(axis=1, keepdims=True)
        chance = (len(now) - 1) * sum(1 / max(1, one.sum()) for one in (self.then, self.now))
        return max(0.0, float((now - before) @ np.log(now / before)) - chance)

    def p_value(self, slack: float = 0.0) -> float:
        """Return the p-value of a difference: of a chi-square test.

        For numbers it is twice the lesser one of that and Kolmogorov and Smirnov's, which is never
        too small, since only edges of bins are compared; with some ``slack``, only a distance
        beyond it counts.
        """
        from scipy.stats import chi2_contingency, kstwobign

        n_then, n_now = self.then.sum(), self.now.sum()
        if min(n_then, n_now) <= 0:
            return 1.0
        table = self.merged()
        p = float(chi2_contingency(table, correction=False).pvalue) if table.shape[1] > 1 else 1.0
        if self.values is None:
            return p
        size = np.sqrt(n_then * n_now / (n_then + n_now))
        smirnov = float(kstwobign.sf(max(0.0, self.distance() - slack) * size))
        return smirnov if slack else min(1.0, 2 * min(p, smirnov))


class ColumnCounts:
    """Counts of the values of one column of new rows, beside what a model has seen of it."""

    def __init__(self, seen: SeenColumn, encoder: Encoder | None, n_then: int) -> None:
        self.seen, self.encoder, self.n_then = seen, encoder, n_then
        self.n_rows = self.n_present = self.n_unread = 0
        self.example: str | None = None
        self.bins: Bins | None = None
        self.words: dict[str, int] = {}
        # Values that could not be read at the fit were gaps there; here they are told apart.
        self.odd = float(getattr(encoder, "odd", 0.0))
        self.missing_then = max(0.0, seen.missing - self.odd) / max(1e-9, 1.0 - self.odd)
        if not (n_then and seen.shares):
            return
        if seen.kind == "word":
            known = zip(seen.values, seen.shares, strict=True)
            shares = {str(without_point(one)): share for one, share in known if one is not None}
            self.words = {word: place for place, word in enumerate(shares)}
            rest = max(0.0, 1.0 - seen.missing - sum(shares.values()))
            self.bins = Bins(n_then * np.array([*shares.values(), rest]))
            # By Good and Turing, new words occur as often as those that were seen once.
            once = sum(round(share * n_then) == 1 for share in shares.values())
            self.odd = once / n_then if seen.is_complete else rest
        else:
            # Dates of one moment that are written in several ways are equal.
            values, first = np.unique(self._numbers(np.array(seen.values)), return_index=True)
            shares_of, below = (np.array(one)[first] for one in (seen.shares, seen.below))
            n_present = round(n_then * (1.0 - seen.missing))
            self.bins = Bins.of_numbers(values, shares_of, below, n_present)
            self.tried = np.zeros((len(_UNITS), len(self.bins.then)))

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
        if self.bins is None or self.seen.kind == "word":
            strange = self._add_words(category_words(values))
        else:
            numbers = self._numbers(values)
            lost = np.flatnonzero(~np.isfinite(numbers))
            numbers = np.delete(numbers, lost)
            self.bins.now += self.bins.counts(numbers)
            left = category_words(as_series(values).iloc[lost]) if len(lost) else []
            strange = Counter(word for word in left if word not in (None, "inf", "-inf"))
            self.n_present += len(numbers) + strange.total()
            if self.seen.kind == "number" and self.bins.distance() > _FAR:
                some = numbers[:: 1 + len(numbers) // _TRIED]
                for tried, (factor, offset, _) in zip(self.tried, _UNITS, strict=True):
                    tried += self.bins.counts((some - offset) / factor)
        self.n_unread += strange.total()
        if strange and examples and self.example is None:
            self.example = next(iter(strange))

    def _add_words(self, values: list[str | None]) -> Counter[str]:
        """Count words, and return those that were never seen, as far as all are known."""
        counts = Counter(word for word in values if word is not None)
        self.n_present += counts.total()
        strange: Counter[str] = Counter()
        if self.bins is None:
            return strange
        words, every = list(counts), None
        if isinstance(self.encoder, Categories):
            # Flags may be written in two ways.
            every = self.encoder.known
            codes = self.encoder.numbers(words)[:, 0]
            known = [every[int(code)] if code >= 0 else None for code in codes]
        else:
            known = [str(without_point(word)) for word in words]
        for word, same in zip(words, known, strict=True):
            place = self.words.get(str(same), -1)
            self.bins.now[place] += counts[word]
            if same is None or (every is None and place < 0 and self.seen.is_complete):
                strange[word] = counts[word]
        return strange

    # -- what has changed -------------------------------------------------------------------------

    @property
    def missing(self) -> float:
        """The share of rows without a value."""
        return 1.0 - self.n_present / max(1, self.n_rows)

    def tests(self) -> dict[str, tuple[float, float]]:
        """Return the p-value and the size of the difference for each kind of change."""
        n, there, then = self.n_rows, self.n_present, self.n_then
        found: dict[str, tuple[float, float]] = {}
        if then and n and self.missing_then == self.missing_then:
            p = two_shares(self.missing_then * then, then, n - there, n)
            found["gaps"] = p, abs(self.missing - self.missing_then)
        if self.n_unread:
            p = two_shares(self.odd * then, then, self.n_unread, there)
            found["unread"] = p, self.n_unread / there - self.odd
        if self.bins is not None and self.bins.now.any():
            found["values"] = self.bins.p_value(), max(self.bins.distance(), self.bins.stability())
        return found

    def unit(self) -> str | None:
        """Name the conversion after which new values are like those seen, if there is one."""
        if self.bins is None or self.bins.values is None or self.bins.distance() <= _FAR:
            return None
        distances = [self.bins.distance(one) if one.any() else 1.0 for one in self.tried]
        best = int(np.argmin(distances))
        near = max(
            _NEAR_TENS if best < 6 else _NEAR, 1.36 / max(1.0, self.tried[best].sum()) ** 0.5
        )
        return _UNITS[best][2] if distances[best] < min(near, self.bins.distance() / 2) else None

    def sentence(self, kinds: list[str]) -> str:
        """Say how the column has changed, by the kinds of change that are no chance."""
        like = "" if self.example is None else f", such as {quoted(self.example)}"
        unread = f"{rough(self.n_unread / max(1, self.n_present))} of its values "
        unread += f"were never seen{like}"
        if self.seen.kind != "word":
            seen = f" (at the fit {self.encoder.seen})" if self.encoder is not None else ""
            unread = unread.replace("were never seen", "cannot be read") + seen
        then = rough(self.missing_then)
        said = {
            "unread": unread,
            "gaps": f"{rough(self.missing)} of its values are missing, not {then}",
        }
        if "values" in kinds:
            said["values"] = self._other_values()
        told = "; ".join(said[kind] for kind in ("values", "unread", "gaps") if kind in kinds)
        return f"{self.seen.name}{'' if told.startswith(('is ', 'has ')) else ':'} {told}"

    def _other_values(self) -> str:
        assert self.bins is not None
        if unit := self.unit():
            return f"is in other units: its values are {unit}"
        (then, now), values = self.bins.shares(), self.bins.values
        if values is None:
            place = int(np.abs(now - then).argmax())
            word = [*map(quoted, self.words), "any other value"][place]
            return f"{word} is {rough(now[place])} of its values, not {rough(then[place])}"
        said = "has values that are spread in another way"
        if self.seen.kind != "number":
            ends = {"earlier": now[0], "later": now[-1]}
            side = max(ends, key=lambda one: ends[one])
            far = f"has {rough(ends[side])} of its dates {side} than all that were seen"
            return far if ends[side] >= 0.05 else said
        place, typical = int(np.searchsorted(np.cumsum(now), 0.5)), self.seen.typical
        middle = values[max(0, place - 1) // 2 : place // 2 + 1].mean()
        if cell(middle) != cell(typical) and 0 < place < len(now) - 1:
            said = f"has other values (typical about {cell(middle)}, not {cell(typical)})"
        far, ends = now[0] + now[-1], f"{cell(values[0])} to {cell(values[-1])}"
        return said if far < 0.05 else f"{said}; {rough(far)} are not within {ends}"

    def parts(self) -> list[tuple[str, float, float]]:
        """Return the parts of the values by name, and their shares at the fit and now."""
        if self.bins is None or not self.bins.now.any():
            return []
        values, place, table = self.bins.values, self.bins.joined(), self.bins.merged()
        cells = [np.flatnonzero(place == number) for number in range(table.shape[1])]
        if values is None:
            words = np.array([*self.words, "any other value"])
            names = [", ".join(words[own]) for own in cells]
        else:
            show = cell if self.seen.kind == "number" else lambda second: day(second / 86_400)
            edges = [np.nan, *values.tolist(), np.nan]
            ends = [(edges[(own[0] + 1) // 2], edges[own[-1] // 2 + 1]) for own in cells]
            names = [show(a) if a == b else range_words(a, b, show) for a, b in ends]
        then, now = table / table.sum(axis=1, keepdims=True)
        return list(zip(names, then.tolist(), now.tolist(), strict=True))


def two_shares(then: float, n_then: float, now: float, n_now: float) -> float:
    """Return the p-value of a difference of two shares, by Fisher's exact test."""
    from scipy.stats import fisher_exact

    cells = [max(0, round(cell)) for cell in (then, n_then - then, now, n_now - now)]
    return float(fisher_exact(np.reshape(cells, (2, 2))).pvalue)
