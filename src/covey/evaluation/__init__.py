"""One evaluation of a model, and the check of a model on new rows: plain data, and sentences."""

from covey.evaluation._checking import Check, check
from covey.evaluation._evaluate import evaluate
from covey.evaluation._record import Evaluation

__all__ = [
    "Check",
    "Evaluation",
    "check",
    "evaluate",
]
