"""One evaluation of a model: plain data, and the sentences about it."""

from covey.evaluation._evaluate import evaluate
from covey.evaluation._record import Evaluation

__all__ = [
    "Evaluation",
    "evaluate",
]
