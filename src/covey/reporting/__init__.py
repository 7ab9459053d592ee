"""One self-contained page about a fitted flock."""

from covey.reporting._report import Report, build_report

__all__ = ["Report", "build_report"]
