"""One evaluation of a model: plain data, and the sentences that are made of it."""

from covey.evaluation._evaluate import evaluate
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import (
    Bin,
    ClassErrors,
    Column,
    Difference,
    Effect,
    Evaluation,
    Member,
    Members,
    Part,
    Readable,
    Remark,
    Score,
    Sureness,
    Threshold,
    WrongRow,
)
from covey.evaluation._sentences import answers

__all__ = [
    "Bin",
    "ClassErrors",
    "Column",
    "Difference",
    "Effect",
    "Evaluation",
    "HeldOut",
    "Member",
    "Members",
    "Part",
    "Predicted",
    "Readable",
    "Remark",
    "Score",
    "Sureness",
    "Threshold",
    "WrongRow",
    "answers",
    "evaluate",
]
