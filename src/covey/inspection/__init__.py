"""Looks into models: what their errors are made of, and how their members differ."""

from covey._names import lazy_names

__all__, __getattr__, __dir__ = lazy_names("covey.inspection")
