"""The first and the last section: what the model is for, and how to use it."""

from __future__ import annotations

import numpy as np

from covey._templates import Markup
from covey.reporting._facts import Facts
from covey.reporting._words import count, name, one_line

# How many classes are named.
_MOST_CLASSES = 20


def asked(facts: Facts) -> dict:
    """What the model is for, and what it is."""
    named = []
    if facts.task == "classification":
        counts = np.bincount(facts.y, minlength=facts.n_classes)
        named = [
            Markup("{} ({})").format(name(label), count(counts[code]))
            for code, label in enumerate(facts.classes[:_MOST_CLASSES])
        ]
        if facts.n_classes > len(named):
            named.append(f"{count(facts.n_classes - len(named))} more")
    # A flock of several kinds has found the weights of its mean.
    learnt = facts.flock.fuser_.learns or hasattr(facts.flock, "weights_")
    return {"classes": named, "fuser": facts.flock.fuser_, "learnt": learnt}


def use(facts: Facts) -> dict:
    """Lines of code that do what this page does."""
    flock, rows = facts.flock, facts.inputs.rows
    columns = getattr(rows, "columns", None)
    if columns is None:
        table = f"X_new with {rows.shape[1]} columns"
    else:
        some = [repr(one_line(c)) for c in list(columns)[:3]]
        more = ", ..." if len(columns) > 3 else ""
        table = f"X_new with the columns {', '.join(some)}{more}"
    bare = facts.inputs.model is flock
    return {"table": table, "bare": bare, "explains": bare and hasattr(flock, "explain")}
