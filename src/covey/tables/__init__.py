"""Models of whole tables: numbers, categories, text, dates and gaps, in the user's columns."""

from covey.tables._columns import Column, look
from covey.tables._models import TableClassifier, TableRegressor
from covey.tables._preparation import TablePreparation

__all__ = ["Column", "TableClassifier", "TablePreparation", "TableRegressor", "look"]
