"""What turns a user's table into numbers: numbers, categories, text, dates and gaps."""

from covey._names import lazy_names

# Whoever reads the kind of a column only, as commands do first, waits for nothing else.
__all__, __getattr__, __dir__ = lazy_names(
    "covey.tables",
    {
        "_encoders": "DATE_PARTS ISO SECONDS TIME_UNITS Categories Dates Encoder Text zone_of",
        "_kinds": "Column look",
        "_learning": "learn_dates",
        "_table_preparation": "TablePreparation",
    },
)
