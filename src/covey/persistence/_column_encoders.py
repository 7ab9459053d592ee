"""What reads the columns of a table: numbers, categories, text and dates."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from covey.persistence._nodes import Node
from covey.persistence._refusals import damaged
from covey.persistence._writer import Writer, plain
from covey.tables._encoders import (
    DATE_PARTS,
    ISO,
    SECONDS,
    TIME_UNITS,
    Categories,
    Dates,
    Encoder,
    NumberColumn,
    Text,
    zone_of,
)
from covey.tables._numbers import NumberFormat

_LONGEST_GRAM = 20
# Each of strptime's directives at most once, and anything between them.
_DIRECTIVE = re.compile("%(.?)")
_DIRECTIVES = "YymbBdjaAHIpMSfzZ"
_LONGEST_FORMAT = 60
_LONGEST_UNIT = 20


def write_encoder(encoder: Encoder, out: Writer) -> dict[str, Any]:
    """What reads a column, as an object of the document."""
    if isinstance(encoder, Dates):
        return {
            "encoder": "dates",
            "format": encoder.format,
            "time_zone": encoder.time_zone,
            "unit": encoder.unit,
            "parts": list(encoder.parts),
        }
    if isinstance(encoder, Text):
        return {
            "encoder": "text",
            "n_grams": out.texts(encoder.n_grams),
            "lengths": plain(list(encoder.lengths)),
            "rarity": out.array(encoder.rarity),
            "directions": out.array(encoder.directions, "single"),
            "n_columns": int(encoder.n_columns),
            "scale": float(encoder.scale),
        }
    if isinstance(encoder, Categories):
        return {"encoder": "categories", "known": out.texts(encoder.known)}
    form = encoder.form
    return {
        "encoder": "number",
        "written": encoder.written,
        "format": None
        if form is None
        else {"decimal": form.decimal, "grouped": bool(form.grouped), "unit": form.unit},
    }


def read_encoder(node: Node) -> Encoder:
    """What reads a column."""
    with node:
        return _READERS[node.text("encoder", tuple(_READERS))](node)


def _read_number(node: Node) -> NumberColumn:
    written = node.flag("written")
    if node.none("format"):
        return NumberColumn(written)
    node.check(written, "format", "is of numbers that are not written.")
    with node.child("format") as part:
        unit = part.text("unit")
        part.check(len(unit) <= _LONGEST_UNIT, "unit", "is no unit.")
        return NumberColumn(
            True, NumberFormat(part.text("decimal", (".", ",")), part.flag("grouped"), unit)
        )


def _read_categories(node: Node) -> Categories:
    known = node.texts("known")
    node.check(len(set(known)) == len(known), "known", "has a category twice.")
    return Categories(tuple(known))


def _read_text(node: Node) -> Text:
    n_grams = node.texts("n_grams")
    node.check(n_grams and len(set(n_grams)) == len(n_grams), "n_grams", "are not different.")
    lengths = node.plain("lengths")
    proper = isinstance(lengths, list) and [type(length) for length in lengths] == [int, int]
    proper = proper and 1 <= lengths[0] <= lengths[1] <= _LONGEST_GRAM
    node.check(proper, "lengths", "are no lengths.")
    rarity = node.array("rarity", (len(n_grams),), low=0.0)
    directions = None
    if node.none("directions"):
        n_columns = node.whole("n_columns", 1, len(n_grams))
    else:
        n_columns = node.whole("n_columns", 1)
        directions = node.array(
            "directions", (n_columns, len(n_grams)), "single", high=1e10, low=-1e10
        )
    scale = np.float32(node.number("scale", 1e-30, 1e30))
    return Text(tuple(n_grams), tuple(lengths), rarity, directions, n_columns, scale)


def _read_dates(node: Node) -> Dates:
    form = None if node.none("format") else _checked_format(node)
    zone = None if node.none("time_zone") else node.text("time_zone")
    try:
        zone_of(zone)
    except ValueError as error:
        damaged(f"{node.where}.time_zone", f"is not known: {error}")
    parts = tuple(node.names("parts", (*DATE_PARTS, SECONDS)))
    order = [(*DATE_PARTS, SECONDS).index(part) for part in parts]
    node.check(parts and order == sorted(set(order)), "parts", "are not those of a date.")
    return Dates(form, zone, node.text("unit", TIME_UNITS), parts)


def _checked_format(node: Node) -> str:
    form = node.text("format")
    if form == ISO:
        return form
    used = _DIRECTIVE.findall(form)
    proper = len(form) <= _LONGEST_FORMAT and len(set(used)) == len(used)
    proper = proper and form.isprintable() and all(one and one in _DIRECTIVES for one in used)
    node.check(proper, "format", "is no format of dates.")
    import pandas as pd

    try:
        pd.to_datetime(pd.Series(["", "x"]), format=form, errors="coerce", utc="z" in used)
    except ValueError:
        damaged(f"{node.where}.format", "is no format of dates.")
    return form


_READERS = {
    "number": _read_number,
    "categories": _read_categories,
    "text": _read_text,
    "dates": _read_dates,
}
