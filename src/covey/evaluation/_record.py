"""The record of an evaluation: plain data, which the model's file keeps and all pages render."""

from __future__ import annotations

import json
import math
import types
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from covey._intervals import Interval

Label = str | int | float | bool
# A record from a file may not be nested deeper, nor have longer lists or text.
_MOST_PARTS = 100_000
_UNKNOWN = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Score:
    """A model's measures on the rows held out, or their differences to those of another model.

    ``kind`` is "own", "simplest", "linear", "full" (the flock that a simple one is a part of),
    "free" (the flock without the constraints of this one),
    "promised" (of the same model, when it was fitted) or "other".
    """

    name: str
    kind: str
    measures: dict[str, Interval]
    seconds: float | None = None

    @property
    def main(self) -> Interval:
        """The accuracy, or R2."""
        return self.get("accuracy" if "accuracy" in self.measures else "r2")

    def get(self, measure: str) -> Interval:
        """Return a measure, NaN where it is not known."""
        return self.measures.get(measure, _UNKNOWN)


@dataclass(frozen=True)
class Sureness:
    """The rates of right predictions when sure and unsure; or the errors of numbers."""

    level: float = math.nan  # the probability from which it counts as sure
    share_sure: float = math.nan
    right_sure: float = math.nan
    right_unsure: float = math.nan
    expected: float = math.nan  # the mean probability of the most probable class
    right: Interval = _UNKNOWN  # how often that is the right one
    half: float = math.nan  # half of all predictions are off by less
    nine_of_ten: float = math.nan  # nine of ten of the rows held out are off by less
    largest: float = math.nan
    bias: Interval = _UNKNOWN  # how much too high on average


@dataclass(frozen=True)
class Effect:
    """The outcome for each value of a column: a curve of the model, and the data beside it."""

    kind: str  # "number", "date" or "category"
    outcome: Label | None  # the class whose probability it is, None for a number
    values: list[float]  # where on the axis; positions of categories
    labels: list[str]
    # The mean prediction, moved by the column alone among rows alike in the others: only its
    # differences are effects.
    model: list[float]
    said: list[float]  # the mean of what is predicted of the rows there
    data: list[float | None]  # the mean of what is true of them, None where they are few
    rows: list[float]  # the share of rows at each value, or in bins of even width
    typical: float  # the mean prediction of all rows
    missing: float | None = None  # the curve where the value is missing
    others: int = 0  # categories that are not shown
    said_missing: float | None = None  # the mean of what is predicted of rows without a value

    @property
    def spread(self) -> float:
        """The distance that the column alone moves the prediction."""
        return max(self.model) - min(self.model)


@dataclass(frozen=True)
class Column:
    """A column of the table: its values, its importance, and its effect."""

    name: str
    kind: str
    missing: int = 0
    note: str = ""
    spread: str = ""  # its values in a few words
    bins: list[int] = field(default_factory=list)  # how its numbers are spread
    share: float | None = None  # of the importance of all columns; the shares sum to one
    loss: Interval | None = None  # the rise of the loss if the column is not known
    points: float | None = None  # the fall of the accuracy, or R2, in this case
    together: list[str] = field(default_factory=list)  # columns that carry the same information
    effect: Effect | None = None


@dataclass(frozen=True)
class ClassErrors:
    """A class: how many rows it has, how many are found, and how many are predicted as it."""

    label: Label
    rows: int
    right: int
    said: int
    taken_for: Label | None = None


@dataclass(frozen=True)
class Part:
    """A part of the rows where errors are more frequent, or larger, than elsewhere."""

    column: str
    words: str  # "is between 0.5 and 0.9"
    rows: int
    error: float  # the share of rows that are wrong, or the mean error
    elsewhere: float


@dataclass(frozen=True)
class Bin:
    """Rows of about the same confidence, or about the same true value."""

    low: float
    high: float
    rows: int
    expected: float  # the mean confidence, or the mean prediction
    found: Interval  # the share that is right, or the mean error


@dataclass(frozen=True)
class Threshold:
    """The rows found, and the false alarms, for each threshold from which a class is called."""

    label: Label
    rows: int  # of the class
    others: int
    at: list[float]  # thresholds, rising
    found: list[int]
    false: list[int]
    chosen: int  # the position of the threshold that the model uses
    alarms: (
        int  # the threshold of two alarms for each row of the class, or of the model's decision
    )
    cost: list[float] = field(default_factory=list)  # of a row on average, if costs are known


@dataclass(frozen=True)
class WrongRow:
    """A row that is wrong, and the columns that spoke for the answer and against it."""

    row: str
    said: str
    truth: str
    probability: float | None
    typical: float
    pushes: list[tuple[str, float]]


@dataclass(frozen=True)
class GroupErrors:
    """A group of rows and a model's errors there, with intervals that hold for all groups."""

    label: str
    rows: int
    right: Interval  # how often it is right, or how far off on average
    missed: Interval = _UNKNOWN  # of the rows of one of two classes, those that are not found
    false: Interval = _UNKNOWN  # of the other rows, those that are called this class
    expected: float = math.nan  # the mean chance of the class (or of the answer), or the mean said
    found: Interval = _UNKNOWN  # how often it is so, or the mean truth
    cost: Interval = _UNKNOWN  # of a row, if costs decide


@dataclass(frozen=True)
class Member:
    """A member of an ensemble."""

    name: str
    kind: str
    share: float  # of the decisions
    score: float  # accuracy, or root mean squared error, by itself
    n_columns: int | None
    looks_at: list[tuple[str, float]]
    decides: list[float]  # its share where each group is predicted


@dataclass(frozen=True)
class Members:
    """The members of an ensemble, those that decide most first."""

    shown: list[Member]
    number: int
    fusion: str  # how they are fused, in words
    evenly: bool
    groups: list[str]  # the groups of predictions: classes, or quarters of numbers
    flattered: bool  # whether they were fitted on the rows that measure them
    lost_without_gate: float | None = None
    lost_without_members: float | None = None
    apart: float | None = None  # share of rows where just one of two is right, or distance

    @property
    def looked_at(self) -> list[str]:
        """Return the features that members use, by their share in all decisions."""
        weights: dict[str, float] = {}
        for member in self.shown:
            for column, weight in member.looks_at:
                weights[column] = weights.get(column, 0.0) + member.share * weight
        return sorted(weights, key=lambda column: -weights[column])


@dataclass(frozen=True)
class Readable:
    """A version of a model with few terms: its accuracy, or R2, and that of the model itself."""

    terms: int
    value: float
    of_all: float


@dataclass(frozen=True)
class Remark:
    """Something that may mislead: its subject, the column, and a sentence."""

    about: str
    column: str
    sentence: str


@dataclass(frozen=True)
class Evaluation:
    """All measures of a model on rows that it had not seen.

    `evaluate` makes it, the file of a model keeps it, and the terminal, the page, the served page
    and the model card render it and compute nothing of their own. It holds only numbers, text and
    lists; of single rows there are a few samples.

    Parameters
    ----------
    task : "classes" or "numbers"
    target : str
        The name of the predicted quantity; empty if it has none.
    classes : list
        The labels; empty for numbers.
    n_rows : int
        Rows that the model was fitted on; 0 if that is not known.
    n_held_out : int
        Rows that it is judged by.
    how : str
        How they were held out, in words.
    split : "chance", "groups", "time", "groups and time", "new rows", "search" or "none"
        What new rows must be like for the numbers to hold.
    scores : list of Score
        The model's own first, then those of others.
    differences : list of Score
        The differences to the measures of each of the others.
    pretended : Score, optional
        The measures that rows held out at random would have added, where rows are held out by
        group or time; its name says of which rows the scores are.
    verdict : str
        A word on how it compares with simpler models.
    rule : str
        How it decides, if it does not predict the most probable class.
    rare : label, optional
        The class with so few rows that it comes first.
    costs : list of list
        The cost for each true class (row) and predicted class, if it decides by costs.
    sureness, columns, by_class, confusion, parts, by_group, calibration, ranges, dots, thresholds
        How sure it is; the columns, the most important first, with the outcomes for their values;
        its errors by class and by true value; where they are frequent, and in each group of rows
        by columns that were asked for; how well probabilities
        hold; and the result of each threshold.
    wrong, n_wrong : list of WrongRow, int
        A few rows that it gets wrong, and how many there are.
    members, n_members, n_terms, readable
        Who decides, how much there is to read, and the price of a version that can be read.
    remarks, caution
        Notes that may mislead.

    Examples
    --------
    >>> from covey.evaluation import Evaluation
    >>> one = Evaluation("numbers", target="price", n_rows=40)
    >>> Evaluation.from_json(one.to_json()) == one
    True
    """

    task: str
    target: str = ""
    classes: list[Label] = field(default_factory=list)
    model: str = ""  # the name of its kind
    n_rows: int = 0
    n_held_out: int = 0
    how: str = ""
    split: str = "none"
    scores: list[Score] = field(default_factory=list)
    differences: list[Score] = field(default_factory=list)
    pretended: Score | None = None
    verdict: str = "unknown"
    rule: str = ""  # how it decides, if it does not predict the most probable class
    rare: Label | None = None  # the class with so few rows that it comes first
    costs: list[list[float]] = field(default_factory=list)
    sureness: Sureness | None = None
    columns: list[Column] = field(default_factory=list)  # the most important first
    by_class: list[ClassErrors] = field(default_factory=list)
    confusion: list[list[int]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    by_group: dict[str, list[GroupErrors]] = field(default_factory=dict)  # of each column
    calibration: list[Bin] = field(default_factory=list)
    ranges: list[Bin] = field(default_factory=list)  # errors by the true value
    dots: list[tuple[str, float, float]] = field(default_factory=list)  # row, truth, said
    thresholds: list[Threshold] = field(default_factory=list)
    wrong: list[WrongRow] = field(default_factory=list)
    n_wrong: int = 0
    members: Members | None = None
    n_members: int | None = None
    n_terms: int | None = None  # how much there is to read
    readable: Readable | None = None  # a version that can be read, if it costs less terms
    remarks: list[Remark] = field(default_factory=list)
    caution: str | None = None

    @property
    def own(self) -> Score | None:
        """The model's own score."""
        return self.score("own")

    def score(self, kind: str) -> Score | None:
        """Return the first score of a kind."""
        return next((one for one in self.scores if one.kind == kind), None)

    def difference(self, kind: str) -> Score | None:
        """Return the difference from the first model of a kind."""
        return next((one for one in self.differences if one.kind == kind), None)

    @property
    def called(self) -> Label | None:
        """Of two classes the one that is missed or a false alarm; None of more, and of numbers."""
        return self.thresholds[0].label if self.thresholds and len(self.classes) == 2 else None

    @property
    def used(self) -> list[Column]:
        """The columns that have an importance, the most important first."""
        return [one for one in self.columns if (one.share or 0.0) > 0]

    @property
    def calibration_error(self) -> float:
        """The mean gap between predicted chances and the frequencies that followed."""
        gaps = sum(one.rows * abs(one.found.value - one.expected) for one in self.calibration)
        return gaps / sum(one.rows for one in self.calibration)

    def without_rows(self) -> Evaluation:
        """Return the record without samples of single rows."""
        return replace(self, wrong=[], dots=[])

    def as_dict(self) -> dict[str, Any]:
        """Return the record as dicts, lists, text and numbers; NaN becomes None."""
        return plain_data(self)

    @classmethod
    def from_dict(cls, record: Any) -> Evaluation:
        """Make a record of a result of `as_dict`; ValueError if it is not one."""
        return _made(cls, record, "evaluation")

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        """Make a record of a result of `to_json`."""
        return cls.from_dict(json.loads(text))

    def __str__(self) -> str:
        from covey.evaluation._sentences import answers

        return "\n".join(f"{question} {' '.join(said)}" for question, said in answers(self))


def plain_data(value: Any) -> Any:
    """Return what JSON can hold: no records and arrays, and None for what is not a number."""
    if is_dataclass(value):
        return {one.name: plain_data(getattr(value, one.name)) for one in fields(value)}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(name): plain_data(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


_hints = cache(get_type_hints)


def _made(kind: Any, value: Any, where: str) -> Any:
    """Make a value of a type of plain data; ValueError names the place that does not fit."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for one in parts if value is not None or type(None) not in parts else (type(None),):
            try:
                return _made(one, value, where)
            except ValueError:
                continue
    elif kind is type(None) and value is None:
        return None
    elif kind is float and (value is None or type(value) in (int, float)):
        return math.nan if value is None else float(value)
    elif kind is Interval and isinstance(value, list) and len(value) == 3:
        return Interval(*(_made(float, one, where) for one in value))
    elif kind in (str, int, bool) and type(value) is kind:
        return value
    elif origin is list and isinstance(value, list) and len(value) <= _MOST_PARTS:
        return [_made(parts[0], one, where) for one in value]
    elif origin is tuple and isinstance(value, list) and len(value) == len(parts):
        return tuple(_made(one, part, where) for one, part in zip(parts, value, strict=True))
    elif origin is dict and isinstance(value, dict):
        return {
            _made(str, name, where): _made(parts[1], one, where) for name, one in value.items()
        }
    elif isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints = _hints(kind)
        if set(value) <= set(hints):
            made = {name: _made(hints[name], one, name) for name, one in value.items()}
            try:
                return kind(**made)
            except TypeError:
                pass
    raise ValueError(f"{where} is not as an evaluation has it.")
