"""The record of a check of a model on new rows: plain data, which all pages render."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from covey._intervals import Interval
from covey.evaluation._record import Label, plain_data

# The chance that labels alone are taken for a change where there is none.
CHANCE_OF_LABELS = 0.01
# Fewer rows show only large changes. More repeated rows than this are no independent rows.
FEW_ROWS, MANY_REPEATS = 100, 0.1


@dataclass(frozen=True)
class CheckedColumn:
    """A column of new rows beside what the model has seen of it.

    ``tests`` has for each kind of change (values, gaps, new, written, later) the p-value, adjusted
    for all tests of the table; ``then`` and ``now`` are shares of rows in the same bins.
    """

    name: str
    kind: str
    state: str  # "as before", "slight", "changed" or "unknown"
    sentence: str = ""
    unit: str | None = None
    tests: dict[str, float] = field(default_factory=dict)
    distance: float = 0.0
    stability: float = 0.0  # the population stability index
    missing_then: float = math.nan
    missing: float = math.nan
    share: float | None = None  # of the importance of all columns
    then: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Shift:
    """A share of something in the decisions: that of a member, or of rows in a class."""

    name: Label
    then: float
    now: float


@dataclass(frozen=True)
class Check:
    """A comparison of new rows with those that a model was fitted on, without these.

    `covey.check` makes it. It is plain data; the terminal, the page and JSON render it.

    Parameters
    ----------
    task : "classes" or "numbers"
    target : str
        The name of the predicted quantity; empty if it has none.
    n_rows, n_looked, n_labels : int
        How many new rows there are, how many were looked at, and how many have a truth.
    columns : list of CheckedColumn
        The columns of the model.
    members, classes : list of Shift
        The share of each member in the decisions, and of each class in what is predicted.
    sure_then, sure : float
        The mean probability of what is predicted, of rows held out at the fit, and now.
    before, expected, measured : Interval, optional
        The share of right predictions (or the mean error of numbers): of rows held out at the fit,
        to be expected of these rows, and found where the truth is given.
    surprise : float, optional
        The chance of a measured value this far from the expected one.
    changed : list of str
        The names of columns that have changed, and "who decides", "sureness", "decisions",
        "classes" and "accuracy" or "error" if those have. The model holds if there are none.
    sentences, remarks : list of str
        The findings in words, the summary first; and what they rest on.

    Examples
    --------
    >>> from covey.evaluation import Check
    >>> Check("classes", n_rows=40).holds
    True
    """

    task: str
    target: str = ""
    n_rows: int = 0
    n_looked: int = 0
    n_labels: int = 0
    columns: list[CheckedColumn] = field(default_factory=list)
    members: list[Shift] = field(default_factory=list)
    classes: list[Shift] = field(default_factory=list)
    sure_then: float = math.nan
    sure: float = math.nan
    before: Interval | None = None
    expected: Interval | None = None
    measured: Interval | None = None
    surprise: float | None = None
    changed: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing has changed more than by chance."""
        return not self.changed

    def as_dict(self) -> dict[str, Any]:
        """Return the record as dicts, lists, text and numbers; NaN becomes None."""
        return {"holds": self.holds, **plain_data(self)}

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_prometheus(self) -> str:
        """Return the main numbers in the text format of Prometheus."""
        found = {"holds": float(self.holds), "rows": self.n_rows}
        found |= {"changed": len(self.changed), "sureness": self.sure}
        for name in ("expected", "measured"):
            one = getattr(self, name)
            if one is not None:
                found |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        lines = [f"covey_check_{name} {value:.6g}" for name, value in found.items()]
        for one in self.columns:
            label = json.dumps(one.name, ensure_ascii=False)
            lines.append(f"covey_check_column_distance{{column={label}}} {one.distance:.6g}")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return "\n".join(self.sentences)
