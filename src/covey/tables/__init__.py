"""Models of whole tables: numbers, categories, text, dates and gaps, in the user's columns."""

from covey._kinds import Column, look
from covey.tables._encoders import (
    DATE_PARTS,
    ISO,
    SECONDS,
    TIME_UNITS,
    Categories,
    Dates,
    Encoder,
    Text,
    zone_of,
)
from covey.tables._learning import learn_dates
from covey.tables._models import TableClassifier, TableRegressor
from covey.tables._onnx import table_to_onnx
from covey.tables._preparation import TablePreparation

__all__ = [
    "DATE_PARTS",
    "ISO",
    "SECONDS",
    "TIME_UNITS",
    "Categories",
    "Column",
    "Dates",
    "Encoder",
    "TableClassifier",
    "TablePreparation",
    "TableRegressor",
    "Text",
    "learn_dates",
    "look",
    "table_to_onnx",
    "zone_of",
]
