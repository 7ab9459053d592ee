"""One evaluation of a model: plain data, and the sentences that are made of it."""

from covey.evaluation._evaluate import evaluate
from covey.evaluation._record import Evaluation

__all__ = [
    "Evaluation",
    "evaluate",
]
