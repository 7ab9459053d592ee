"""What turns a user's table into numbers: numbers, categories, text, dates and gaps."""

from covey._names import lazy_names

# Whoever reads the kind of a column only, as commands do first, waits for nothing else.
__all__, __getattr__, __dir__ = lazy_names("covey.tables")
