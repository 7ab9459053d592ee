"""What turns a user's table into numbers: numbers, categories, text, dates and gaps."""

from covey.tables._encoders import (
    DATE_PARTS,
    ISO,
    SECONDS,
    TIME_UNITS,
    Categories,
    Dates,
    Encoder,
    Number,
    Text,
    zone_of,
)
from covey.tables._kinds import Column, look
from covey.tables._learning import learn_dates
from covey.tables._reading import Reading
from covey.tables._table_preparation import TablePreparation

__all__ = [
    "DATE_PARTS",
    "ISO",
    "SECONDS",
    "TIME_UNITS",
    "Categories",
    "Column",
    "Dates",
    "Encoder",
    "Number",
    "Reading",
    "TablePreparation",
    "Text",
    "learn_dates",
    "look",
    "zone_of",
]
