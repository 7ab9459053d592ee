"""One self-contained page about a fitted flock, and a model card."""

from covey.reporting._card import build_card
from covey.reporting._report import Report, build_report

__all__ = ["Report", "build_card", "build_report"]
