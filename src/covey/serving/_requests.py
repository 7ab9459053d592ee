"""Requests as pydantic's models, made of the columns of one model, and answers."""

# Annotations are not postponed here: they are made of the model's columns.
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, FiniteFloat
from typing_extensions import TypedDict

from covey.serving._columns import Column, date_of, shown

_NOT_KNOWN = "null if it is not known"
_Text = Annotated[str, Field(max_length=10_000)]
# A category may be written as a number, as far as every reader of JSON counts: 1 is read as "1".
_Value = _Text | bool | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | None
_BODIES = {"'rows'": ", a list of rows", "'row'": ", one row as an object"}
_OF_BODIES = ("missing", "extra_forbidden")
_NUMBER = "a number"
_NOUNS = {"float_type": _NUMBER, "float_parsing": _NUMBER, "finite_number": "a finite number"}


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _LevelRequest(_Request):
    level: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = Field(
        None,
        description="How often the truth is to be in the set of classes, or between the bounds, "
        "such as 0.9; needs a model that knows how far off it is.",
    )


class Drawn(_Request):
    """Points that the effect of a column is to go through, on the probability of a class."""

    column: _Text
    label: _Value = None
    points: Annotated[
        list[tuple[FiniteFloat | _Text, FiniteFloat]], FailFast(), Field(max_length=200)
    ]


class EditRequest(_Request):
    """Corrections in their order, and the column whose effect is to be shown after them.

    The model with them may be saved, too.
    """

    corrections: Annotated[list[Drawn], FailFast(), Field(max_length=20)]
    column: _Text
    label: _Value = None
    save: bool = False


def requests_of(columns: Sequence[Column], max_rows: int) -> tuple[type[BaseModel], ...]:
    """Return the types of the bodies that a model's endpoints take.

    They are those to predict, to explain, to ask what if, and for the smallest change.
    """
    types = {one.name: _type_of(one) for one in columns}
    Row, Changes = TypedDict("Row", types), TypedDict("Changes", types, total=False)
    Row.__pydantic_config__ = ConfigDict(extra="ignore")
    Row.__doc__ = "A row: each column of the model; others are ignored."
    Changes.__pydantic_config__ = ConfigDict(extra="forbid")
    Changes.__doc__ = "Other values of some of the row's columns."

    class PredictRequest(_LevelRequest):
        """Rows to predict."""

        rows: Annotated[list[Row], FailFast(), Field(min_length=1, max_length=max_rows)]

    class ExplainRequest(_LevelRequest):
        """A row to explain; ``top`` is how many columns to name on either side, by default all."""

        row: Row
        top: Annotated[int, Field(ge=1, le=10_000)] | None = None

    class WhatIfRequest(_LevelRequest):
        """A row, and what is to be changed in it."""

        row: Row
        changes: Changes

    class SmallestChangeRequest(_Request):
        """A row whose answer is to change, by columns that are not fixed (such as an age).

        ``to`` is the class that is wanted, by default any other, or the number to reach.
        """

        row: Row
        fixed: Annotated[list[_Text], Field(max_length=len(types))] = []
        to: _Value = None

    return PredictRequest, ExplainRequest, WhatIfRequest, SmallestChangeRequest


def _type_of(one: Column) -> Any:
    """Return the type of a column's values, with their description in a schema."""
    said = f"A {one.kind}; {_NOT_KNOWN}."
    if one.low is not None and one.high is not None:
        said += f" Seen from {one.low} to {one.high}."
    kind: Any = FiniteFloat | None if one.kind == "number" else _Value
    if one.dates is not None:
        reads = BeforeValidator(partial(date_of, dates=one.dates))
        kind = Annotated[datetime, reads] | None
    examples: list[Any] = list(one.categories[:20]) or [one.typical]
    return Annotated[kind, Field(description=said, examples=examples)]


def sentence_of(error: RequestValidationError) -> str:
    """Say in one sentence the first thing that is wrong with a body."""
    first = error.errors()[0]
    kind, (_, *place), given, told = first["type"], first["loc"], first["input"], first["msg"]
    if kind == "json_invalid":
        return f"The body is not JSON that can be read: {first['ctx']['error'].lower()}."
    where = "The body"
    if len(place) > 1 and place[0] == "rows":
        where, place = f"Row {place[1] + 1}", place[2:]
    elif place[:1] in (["row"], ["changes"]) and (len(place) > 1 or kind not in _OF_BODIES):
        where, place = "The row", place[1:]
    in_row, known = where != "The body", f", or {_NOT_KNOWN}"
    if place[:1] == ["corrections"] and len(place) > 1:
        where, place, known = f"Correction {place[1] + 1}", place[2:], ""
    if not place:
        return f"{where} must be a JSON object, got {shown(given)}."
    name = shown(place[0])
    if kind == "missing":
        return (
            f"{where} lacks {name}{f'; give {_NOT_KNOWN}' if in_row else _BODIES.get(name, '')}."
        )
    if kind == "extra_forbidden":
        return f"{where} has {name}, which is not known here."
    if kind == "value_error":
        return f"{where}, column {name}: {told.removeprefix('Value error, ')}"
    if kind in _NOUNS or kind == "string_type":
        noun = _NOUNS.get(kind, "text")
        told = f"{shown(given)} is not {noun}; give {noun}{known}"
    else:
        told = f"{told[0].lower()}{told[1:]}, got {shown(given)}"
    return f"{where}, column {name}: {told}." if in_row else f"{place[0]}: {told}."


# -- answers ---------------------------------------------------------------------------------


class Failure(BaseModel):
    """The sentence that says why a request was refused."""

    error: str


class Prediction(BaseModel):
    """The answer for one row: a class, or a number.

    For a class there are its probability and those of all classes. With a level there is the set
    of classes, or there are the bounds, that hold the truth this often. Remarks name values that
    the model has not seen before.
    """

    prediction: Any
    probability: float | None = None
    probabilities: dict[str, float] | None = None
    set: list[Any] | None = None
    low: float | None = None
    high: float | None = None
    remarks: list[str]


class Predictions(BaseModel):
    """The answers for all rows of a request, in their order."""

    predictions: list[Prediction]
    level: float | None


class Reason(BaseModel):
    """A column that moves the answer, and by how much.

    ``typical`` is its value in the rows that the model was fitted on. ``push`` is a part of the
    probability of the predicted class, or of the number.
    """

    column: str
    value: Any
    typical: Any
    push: float


class Member(BaseModel):
    """A member of the flock, with its part in the answer for the row.

    ``because`` has the columns that moved it most, and by how much.
    """

    member: int
    name: str | None = None
    weight: float
    prediction: Any
    probability: float | None = None
    because: list[tuple[str, float]]


class Explanation(BaseModel):
    """The answer for a row, the reasons for and against it, and who decided.

    ``baseline`` is the mean probability, or number, of training rows; with all pushes and
    ``other``, the sum of all other columns, it is the answer. The strongest reasons and the most
    important members come first.
    """

    answer: Prediction
    baseline: float
    because: list[Reason]
    against: list[Reason]
    other: float
    members: list[Member]


class Comparison(BaseModel):
    """The answers before and after changes."""

    before: Prediction
    after: Prediction


class Change(BaseModel):
    """A column of a row that is to change, from a value to another."""

    column: str
    value: Any
    to: Any


class SmallestChange(BaseModel):
    """The smallest change of one column or two that changes the answer, and the answer then.

    If there is none, ``changes`` is null.
    """

    changes: list[Change] | None
    prediction: Any
    probability: float | None
