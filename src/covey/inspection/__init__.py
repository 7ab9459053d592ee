"""Inspection of models: the parts of their errors, and how their members differ."""

from covey._names import lazy_names

__all__, __getattr__, __dir__ = lazy_names("covey.inspection")
