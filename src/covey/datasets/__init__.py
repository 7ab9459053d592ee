"""Data sets that covey makes itself."""

from covey.datasets._synthetic import make_quarter_circle

__all__ = ["make_quarter_circle"]
