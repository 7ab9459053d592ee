"""Models of tables, and what they make numbers of columns by."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from covey._table_models import TableClassifier, TableRegressor
from covey.evaluation import Evaluation
from covey.persistence._formats import estimator_format
from covey.persistence._nodes import Node
from covey.persistence._refusals import damaged
from covey.persistence._seen import read as read_seen
from covey.persistence._seen import write as write_seen
from covey.persistence._writer import Writer, plain
from covey.tables import (
    DATE_PARTS,
    ISO,
    SECONDS,
    TIME_UNITS,
    Categories,
    Dates,
    Encoder,
    TablePreparation,
    Text,
    zone_of,
)
from covey.tables._numbers import NumberFormat

_KINDS = ("number", "text", "date", "season")
_LONGEST_GRAM = 20
# Each of strptime's directives at most once, and anything between them.
_DIRECTIVE = re.compile("%(.?)")
_DIRECTIVES = "YymbBdjaAHIpMSfzZ"
_LONGEST_FORMAT = 60
_LONGEST_UNIT = 20


# -- columns --------------------------------------------------------------------------------------


def _write_encoder(encoder: Encoder, out: Writer) -> dict[str, Any]:
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
            "gaps": out.texts(encoder.gaps),
        }
    known = encoder.known
    return {
        "encoder": "categories",
        "known": out.texts([word for word in known if word is not None]),
        "gap": known.index(None) if None in known else None,
        "left_out": encoder.left_out,
        "gaps": out.texts(encoder.gaps),
    }


def _read_encoder(node: Node) -> Encoder:
    with node:
        kind = node.text("encoder", ("categories", "text", "dates"))
        return {"categories": _read_categories, "text": _read_text, "dates": _read_dates}[kind](
            node
        )


def _read_categories(node: Node) -> Categories:
    known: list[str | None] = list(node.texts("known"))
    node.check(len(set(known)) == len(known), "known", "has a category twice.")
    if not node.none("gap"):
        known.insert(node.whole("gap", 0, len(known)), None)
    node.check(known, "known", "is empty.")
    left_out = None if node.none("left_out") else node.whole("left_out", 0, len(known) - 1)
    return Categories(tuple(known), left_out, tuple(node.texts("gaps")))


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
    gaps = tuple(node.texts("gaps"))
    return Text(tuple(n_grams), tuple(lengths), rarity, directions, n_columns, scale, gaps)


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


# -- preparation ----------------------------------------------------------------------------------


def _write_preparation(preparation: TablePreparation, out: Writer) -> dict[str, Any]:
    names = list(preparation.kinds_)
    imputer, seen = preparation.imputer_, getattr(preparation, "_seen_columns", None)
    return {
        "columns": out.texts(names),
        "kinds": [preparation.kinds_[name] for name in names],
        "width": preparation._width,
        "encoders": [
            None
            if name not in preparation._encoders
            else _write_encoder(preparation._encoders[name], out)
            for name in names
        ],
        "made": out.array(np.array([name in preparation._outputs for name in names]), "flag"),
        "outputs": out.texts(
            [one for name in names for one in preparation._outputs.get(name, ())]
        ),
        "formats": [_write_format(preparation.number_formats_.get(name)) for name in names],
        "ranges": out.array(_ranges(preparation)),
        "medians": out.array(imputer.statistics_),
        "with_gaps": out.array(imputer.indicator_.features_, "whole"),
        "seen": None if seen is None else write_seen(seen, out),
    }


def _write_format(form: NumberFormat | None) -> dict[str, Any] | None:
    if form is None:
        return None
    return {"decimal": form.decimal, "grouped": bool(form.grouped), "unit": form.unit}


def _read_format(node: Node) -> NumberFormat:
    with node:
        unit = node.text("unit")
        node.check(len(unit) <= _LONGEST_UNIT, "unit", "is no unit.")
        return NumberFormat(node.text("decimal", (".", ",")), node.flag("grouped"), unit)


def _ranges(preparation: TablePreparation) -> np.ndarray:
    """The smallest and the largest number of each column of numbers, (n_numbers, 2)."""
    numbers = [name for name, kind in preparation.kinds_.items() if kind == "number"]
    ranges = [preparation.ranges_.get(name, (np.nan, np.nan)) for name in numbers]
    return np.array(ranges, dtype=np.float64).reshape(-1, 2)


def _read_numbers(preparation: TablePreparation, node: Node) -> None:
    """Formats and ranges of the columns of numbers, which files of former versions lack."""
    names = list(preparation.kinds_)
    numbers = [name for name, kind in preparation.kinds_.items() if kind == "number"]
    preparation.number_formats_, preparation.ranges_ = {}, {}
    if node.has("formats"):
        for name, part in zip(names, node.children("formats", len(names)), strict=True):
            if part is not None:
                node.check(name in numbers, "formats", "are not of numbers.")
                preparation.number_formats_[name] = _read_format(part)
    if node.has("ranges"):
        ranges = node.array("ranges", (len(numbers), 2), nan=True)
        node.check(~(ranges[:, 0] > ranges[:, 1]).any(), "ranges", "are no ranges.")
        preparation.ranges_ = {
            name: (low, high) for name, (low, high) in zip(numbers, ranges.tolist(), strict=True)
        }


def _read_preparation(preparation: TablePreparation, node: Node) -> None:
    names = node.texts("columns")
    node.check(names and len(set(names)) == len(names), "columns", "are not different.")
    kinds = node.names("kinds", _KINDS, len(names))
    preparation.kinds_ = dict(zip(names, kinds, strict=True))
    preparation.feature_names_in_ = np.array(names, dtype=object)
    preparation.n_features_in_ = len(names)
    preparation._width = None if node.none("width") else node.whole("width", 1)
    _read_numbers(preparation, node)
    made = node.array("made", (len(names),), "flag")
    encoders = node.children("encoders", len(names))
    preparation._encoders, widths = {}, {}
    for name, kind, part, has in zip(names, kinds, encoders, made.tolist(), strict=True):
        node.check((part is not None) == (has and kind != "number"), "encoders", "do not fit.")
        if part is not None:
            preparation._encoders[name] = _read_encoder(part)
        if has:
            encoder = preparation._encoders.get(name)
            widths[name] = 1 if encoder is None else encoder.n_columns
    width = sum(widths.values())
    node.check(width > 0, "made", "holds no column.")
    outputs = iter(node.texts("outputs", width))
    preparation._outputs = {
        name: [next(outputs) for _ in range(count)] for name, count in widths.items()
    }
    medians = node.array("medians", (width,))
    with_gaps = node.array("with_gaps", (None,), "whole", low=0, high=width - 1)
    node.check((np.diff(with_gaps) > 0).all(), "with_gaps", "is not in ascending order.")
    if not node.none("seen"):
        with node.child("seen") as inner:
            preparation._seen_columns, _ = read_seen(inner, preparation, {})
    preparation._set_imputer(medians, with_gaps)
    preparation._set_names()


# -- models ---------------------------------------------------------------------------------------


def _write_model(model: Any, out: Writer) -> dict[str, Any]:
    return {
        "preparation": out.model(model.preparation_),
        "estimator": out.model(model.estimator_),
        # What the command line keeps with a model: how good it is, and hashes of its rows.
        "evaluation": model.evaluation_.to_json() if hasattr(model, "evaluation_") else None,
        "seen": out.array(getattr(model, "seen_", None), "unsigned"),
    }


def _read_model(model: Any, node: Node) -> None:
    preparation, estimator = node.model("preparation"), node.model("estimator")
    fitted = isinstance(preparation, TablePreparation) and hasattr(preparation, "imputer_")
    node.check(fitted, "preparation", "is not fitted.")
    fits = is_classifier if isinstance(model, TableClassifier) else is_regressor
    width = getattr(estimator, "n_features_in_", None)
    proper = fits(estimator) and width == len(preparation.column_of_)
    node.check(proper, "estimator", "does not fit the preparation.")
    names = getattr(estimator, "feature_names_in_", None)
    proper = names is None or names.tolist() == preparation.get_feature_names_out().tolist()
    node.check(proper, "estimator", "has other columns.")
    known = node.plain("evaluation")
    if known is not None:
        node.check(isinstance(known, str), "evaluation", "is no text.")
        try:
            model.evaluation_ = Evaluation.from_json(known)
        except (ValueError, RecursionError):
            node.check(False, "evaluation", "is none.")
    if not node.none("seen"):
        model.seen_ = node.array("seen", (None,), "unsigned")
    model._set_fitted(preparation, estimator)


FORMATS = {
    "TablePreparation": estimator_format(
        TablePreparation, "imputer_", _write_preparation, _read_preparation
    ),
    **{
        cls.__name__: estimator_format(
            cls, "estimator_", _write_model, _read_model, models={"estimator": BaseEstimator}
        )
        for cls in (TableClassifier, TableRegressor)
    },
}
