"""Requests, checked by a schema that is made of the model's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    FiniteFloat,
    StringConstraints,
    ValidationError,
    create_model,
)
from pydantic import Field as Part

from covey.serving._fields import Field

LONGEST_TEXT = 10_000
_LONGEST_SHOWN = 40
_NOT_KNOWN = "null if it is not known"

# As far as every reader of JSON counts.
_Whole = Annotated[int, Part(ge=-(2**63), lt=2**63)]
_Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
# A category may be written as a number; the model reads 1 as "1".
_TYPES = {
    "number": FiniteFloat | None,
    "category": _Text | bool | _Whole | FiniteFloat | None,
    "text": _Text | bool | _Whole | FiniteFloat | None,
    "date": _Text | None,
}
_NOUNS = {
    "number": "a number",
    "category": "text",
    "text": "text",
    "date": "a date such as 2024-01-31 or 2024-01-31T14:00",
}


class BadRequestError(Exception):
    """A sentence for who has sent a request, and the status of the answer."""

    def __init__(self, sentence: str, status: int = 422, headers: dict[str, str] | None = None):
        super().__init__(sentence)
        self.status = status
        self.headers = headers or {}


class Requests:
    """The bodies that a model's endpoints take, as pydantic's models.

    Parameters
    ----------
    fields : sequence of Field
    max_rows : int
    """

    def __init__(self, fields: Sequence[Field], max_rows: int):
        self._fields = list(fields)
        self._kinds = {one.name: one.kind for one in fields}
        self._max_rows = max_rows
        parts = {
            # Names of columns are any text; those of attributes are not.
            f"column_{position}": (_TYPES[one.kind], Part(alias=one.name, **_words(one)))
            for position, one in enumerate(fields)
        }
        self._attributes = dict(zip(parts, self._kinds, strict=True))
        strict = ConfigDict(extra="forbid", protected_namespaces=())
        self.row = create_model(
            "Row",
            __config__=ConfigDict(extra="ignore", protected_namespaces=()),
            __doc__="A row: each column of the model; others are ignored.",
            **parts,
        )
        level = (
            Annotated[FiniteFloat, Part(gt=0, lt=1)] | None,
            Part(
                default=None,
                description="How often the truth is to be in the set of classes, or between "
                "the bounds, such as 0.9; needs a model that knows how far off it is.",
            ),
        )
        changes = create_model(
            "Changes",
            __config__=strict,
            __doc__="Other values of some of the row's columns.",
            **{
                name: (kind, Part(default=None, alias=part.alias, description=part.description))
                for name, (kind, part) in parts.items()
            },
        )
        self.predict = create_model(
            "PredictRequest",
            __config__=strict,
            __doc__="Rows to predict.",
            rows=(
                Annotated[list[self.row], FailFast(), Part(min_length=1, max_length=max_rows)],
                ...,
            ),
            level=level,
        )
        self.explain = create_model(
            "ExplainRequest",
            __config__=strict,
            __doc__="A row to explain.",
            row=(self.row, ...),
            top=(
                Annotated[int, Part(ge=1)] | None,
                Part(
                    default=None,
                    description="The most columns to name on either side; by default all that "
                    "count.",
                ),
            ),
            level=level,
        )
        self.what_if = create_model(
            "WhatIfRequest",
            __config__=strict,
            __doc__="A row, and what is to be changed in it.",
            row=(self.row, ...),
            changes=(changes, ...),
            level=level,
        )
        self.smallest_change = create_model(
            "SmallestChangeRequest",
            __config__=strict,
            __doc__="A row whose answer is to be another.",
            row=(self.row, ...),
            fixed=(
                Annotated[list[_Text], Part(max_length=len(self._fields))],
                Part(default=[], description="Columns that cannot change, such as an age."),
            ),
            to=(
                _Text | bool | _Whole | FiniteFloat | None,
                Part(
                    default=None,
                    description="The class that is wanted, by default any other; or the number "
                    "that the prediction is to reach.",
                ),
            ),
        )
        self.all = (self.predict, self.explain, self.what_if, self.smallest_change)

    def parse(self, kind: type[BaseModel], body: bytes) -> Any:
        """A body as one of these models, or a sentence about the first thing that is wrong."""
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise BadRequestError(self._sentence(error)) from None

    def values(self, row: Any) -> dict[str, Any]:
        """The values of a row by the names of its columns."""
        held = row.__dict__
        return {name: held[attribute] for attribute, name in self._attributes.items()}

    def given(self, changes: Any) -> dict[str, Any]:
        """The values that were given, by the names of their columns."""
        held = changes.__dict__
        return {self._attributes[one]: held[one] for one in changes.model_fields_set}

    def _sentence(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        kind, place, given = first["type"], first["loc"], first["input"]
        if kind == "json_invalid":
            reason = first["msg"].removeprefix("Invalid JSON: ")
            return f"The body is not JSON that can be read: {reason}."
        where, column = _where(place)
        if column is not None:
            return self._about_column(kind, where, column, given)
        if where and kind in ("model_type", "dict_type"):
            return f"{where} must be an object of columns and values, got {_shown(given)}."
        if place == ("rows",) and kind in ("too_long", "too_short"):
            return f"The request has {len(given):,} rows; give 1 to {self._max_rows:,} at a time."
        if not place:
            return f"The body must be a JSON object, got {_shown(given)}."
        name = ".".join(str(part) for part in place if not _is_branch(part))
        if kind == "missing":
            return f"The body lacks {name!r}."
        if kind == "extra_forbidden":
            return f"The body has {name!r}, which is not known here."
        return f"{name}: {first['msg'][0].lower()}{first['msg'][1:]}, got {_shown(given)}."

    def _about_column(self, kind: str, where: str, column: str, given: Any) -> str:
        if kind == "missing":
            return f"{where} lacks the column {column!r}; give {_NOT_KNOWN}."
        if kind == "extra_forbidden":
            return f"The model has no column {_shown(column)} that could be changed."
        noun = "a finite number" if kind == "finite_number" else _NOUNS[self._kinds[column]]
        if kind == "string_too_long":
            return (
                f"{where}, column {column!r}: text of {len(given):,} characters; the most is "
                f"{LONGEST_TEXT:,}."
            )
        return (
            f"{where}, column {column!r}: {_shown(given)} is not {noun}; give {noun}, or "
            f"{_NOT_KNOWN}."
        )


def _words(one: Field) -> dict[str, Any]:
    """What a schema says of a column."""
    said = {
        "number": "A number",
        "category": "A category; one that is not known to the model counts for nothing",
        "text": "Text",
        "date": "A date as in ISO 8601, with or without a time",
    }[one.kind]
    if one.low is not None and one.high is not None:
        said += f"; seen from {one.low} to {one.high}"
    said += "; null if it is not known."
    examples = one.categories[:20] or ([] if one.typical is None else [one.typical])
    return {"description": said, **({"examples": examples} if examples else {})}


def _where(place: Sequence[Any]) -> tuple[str, str | None]:
    """The row that a place lies in, if any, and the column."""
    if len(place) > 1 and place[0] == "rows":
        return f"Row {place[1] + 1}", place[2] if len(place) > 2 else None
    if place and place[0] in ("row", "changes"):
        return "The row", place[1] if len(place) > 1 else None
    return "", None


def _is_branch(part: Any) -> bool:
    """Whether a part of a place names one of the types that a value may have."""
    return isinstance(part, str) and ("[" in part or part in ("str", "int", "float", "bool"))


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
