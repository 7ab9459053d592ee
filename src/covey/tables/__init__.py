"""Readers that turn a user's table into numbers: numbers, categories, text, dates and gaps."""

from covey._names import lazy_names

# Code that only reads the kinds of columns, as commands do first, does not wait for the rest.
__all__, __getattr__, __dir__ = lazy_names("covey.tables")
