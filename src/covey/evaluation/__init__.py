"""One evaluation of a model: plain data, and the sentences that are made of it."""

from covey.evaluation._evaluate import evaluate
from covey.evaluation._held_out import HeldOut
from covey.evaluation._record import Evaluation
from covey.evaluation._sentences import answers

__all__ = ["Evaluation", "HeldOut", "answers", "evaluate"]
