"""What all parts found, by experiment, data set and condition; and the statistics of runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from reproduction.data import HELD_OUT, Table

_MINUS = "\N{MINUS SIGN}"
# What a part finds: run, quantity and value.
Row = tuple[int, str, float]
FIELDS = ("experiment", "dataset", "condition", "run", "quantity", "value")


class Results:
    """Values of quantities over runs; ``rows`` are tuples in the order of `FIELDS`."""

    def __init__(self, rows: list[tuple]):
        self.rows = rows
        self._cases = {}
        for experiment, dataset, condition, run, quantity, value in rows:
            case = self._cases.setdefault((experiment, dataset, condition), {})
            case.setdefault(quantity, {})[run] = value

    @classmethod
    def of_parts(cls, parts: list[dict]) -> Results:
        return cls(
            [
                (part["experiment"], part["dataset"], part["condition"], run, quantity, value)
                for part in parts
                for run, quantity, value in part["rows"]
            ]
        )

    def cases(self) -> list[tuple[str, str, str]]:
        """Triples of experiment, data set and condition."""
        return list(self._cases)

    def datasets(self, experiment: str) -> list[str]:
        return list(dict.fromkeys(key[1] for key in self._cases if key[0] == experiment))

    def conditions(self, experiment: str, dataset: str) -> list[str]:
        return [key[2] for key in self._cases if key[:2] == (experiment, dataset)]

    def get(
        self,
        experiment: str,
        dataset: str,
        condition: str,
        quantity: str,
        runs: Collection[int] | None = None,
    ) -> np.ndarray:
        """The values over runs, in their order; only of some runs where they are given."""
        by_run = self._cases[experiment, dataset, condition].get(quantity, {})
        return np.array([by_run[run] for run in sorted(by_run) if runs is None or run in runs])

    def runs(self, experiment: str, dataset: str, condition: str, quantity: str) -> list[int]:
        return sorted(self._cases[experiment, dataset, condition].get(quantity, {}))

    def gain(
        self,
        experiment: str,
        dataset: str,
        condition: str,
        quantity: str,
        over: str = "baseline",
        runs: Collection[int] | None = None,
    ) -> np.ndarray:
        """Relative improvements over another quantity, in per cent, run by run.

        NaN where the other is zero, since nothing is relative to zero.
        """
        case = experiment, dataset, condition
        reached, base = self.get(*case, quantity, runs), self.get(*case, over, runs)
        return 100 * (reached / np.where(base == 0, np.nan, base) - 1)

    def text(self) -> str:
        """The table, as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([*row[:5], f"{row[5]:.10g}"] for row in self.rows)
        return out.getvalue()


# Half the width of an interval over splits that share rows is too small. Nadeau and Bengio
# (Inference for the generalization error, 2003) add test rows / training rows to 1 / runs. These
# are the paper's 10 % and 80 %; training sets that are thinned out share fewer rows than that.
OVERLAP = HELD_OUT / (1 - 2 * HELD_OUT)


def overlap(table: Table, by: str = "random") -> float:
    """Test rows / training rows, or speakers where these are split."""
    if by == "random":
        return OVERLAP
    speakers = len(np.unique(table.speakers))
    held = max(1, round(HELD_OUT * speakers))
    return held / (speakers - 2 * held)


class Interval(NamedTuple):
    """A mean over runs and half the width of its 95 % interval (Student's t).

    ``uncorrected`` is half the width if runs were independent, where they are splits that share
    rows and ``half`` is corrected for that.
    """

    mean: float
    half: float
    uncorrected: float | None = None

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    @property
    def known(self) -> bool:
        """Whether there were runs enough for an interval."""
        return bool(np.isfinite(self.mean) and np.isfinite(self.half))

    @property
    def sign(self) -> int:
        """1 or -1 where the interval excludes zero, else 0."""
        return int(self.low > 0) - int(self.high < 0)

    def text(self, digits: int = 1, signed: bool = False) -> str:
        if np.isnan(self.mean):
            return "not known"
        plus = "+" if signed else ""
        mean = 0.0 if abs(self.mean) < 0.5 * 10**-digits else self.mean
        half = ""
        if self.known:
            half = f" ± {self.half:.{digits}f}"
            if self.uncorrected is not None:
                half += f" ({self.uncorrected:.{digits}f})"
        return f"{mean:{plus}.{digits}f}{half}".replace("-", _MINUS)


def interval(values: ArrayLike, overlap: float = 0.0) -> Interval:
    """The interval of the mean of ``values``, without NaN; of two values it has no width.

    ``overlap`` is test rows / training rows where the runs are splits of the same rows, else 0.

    >>> interval([1.0, 2.0, 3.0]).text()
    '2.0 ± 2.5'
    >>> interval([1.0, 2.0, 3.0], overlap=1 / 8).text()
    '2.0 ± 2.9 (2.5)'
    """
    values = known_values(values)
    if len(values) < 3:
        return Interval(float(values.mean()) if len(values) else np.nan, np.nan)
    apart = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1)
    plain, half = (float(apart * np.sqrt(1 / len(values) + more)) for more in (0.0, overlap))
    return Interval(float(values.mean()), half, plain if overlap else None)


def known_values(values: ArrayLike) -> np.ndarray:
    """The values that are not NaN."""
    values = np.asarray(values, dtype=np.float64)
    return values[~np.isnan(values)]


def wilcoxon(values: ArrayLike) -> float:
    """Two-sided p of the signed-rank test that paired differences have no preferred sign.

    Wilcoxon's normal approximation, zeros left out and ties corrected for: differences of
    accuracies have many of both.
    """
    values = known_values(values)
    if not values.any():
        return 1.0
    return float(stats.wilcoxon(values[values != 0], method="approx").pvalue)
