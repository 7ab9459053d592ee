"""One self-contained page about a fitted flock, and a model card."""

from covey.reporting._card import build_card
from covey.reporting._check_page import build_check_page
from covey.reporting._report import Report, build_report
from covey.reporting._row_page import build_row_page

__all__ = ["Report", "build_card", "build_check_page", "build_report", "build_row_page"]
