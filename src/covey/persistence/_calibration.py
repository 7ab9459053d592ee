"""How far off a flock was on rows that it was not fitted on: scores, and no rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covey.persistence._reading import Node
from covey.persistence._writing import Writer

_SOURCES = ("out of fold", "given rows")
# Sums over this many rows, of this much weight, are finite.
_LARGEST_WEIGHT = 1e12
# How far rounding may take a mean of probabilities beyond one.
_ALMOST_ONE = 1 + 1e-6


def write_calibration(flock: Any, out: Writer) -> dict[str, Any] | None:
    """The scores of a flock, if it has any."""
    known = getattr(flock, "calibration_", None)
    if known is None:
        return None
    columns = out.columns({name: known[name] for name in known if name != "source"})
    return {"source": known.source, "columns": columns}


def read_calibration(flock: Any, node: Node) -> None:
    """Set the scores; files of before have none."""
    if not node.has("calibration") or node.none("calibration"):
        return
    with node.child("calibration") as inner:
        source = inner.text("source", _SOURCES)
        columns = inner.columns("columns")
        values = {"error": "f"}
        classes = {"label": "i", "probability": "f", "top": "f", "right": "b"}
        wanted = {**(values if flock._numeric else classes), "weight": "f"}
        found = {name: column.dtype.kind for name, column in columns.items()}
        inner.check(found == wanted, "columns", "are not those of scores.")
        weight = columns["weight"]
        inner.check(len(weight) > 0 and _within(weight, 0, _LARGEST_WEIGHT), "weight", "is none.")
        inner.check(weight.min() > 0, "weight", "holds a number that is not above 0.")
        if flock._numeric:
            inner.check(np.isfinite(columns["error"]).all(), "error", "is not finite.")
        else:
            labels = columns["label"]
            known = _within(labels, 0, len(flock.classes_) - 1)
            inner.check(known, "label", "is no class.")
            for name in ("probability", "top"):
                inner.check(_within(columns[name], 0, _ALMOST_ONE), name, "is no probability.")
    flock.calibration_ = Bunch(source=source, **{name: columns[name] for name in wanted})


def _within(values: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers are in a range; NaN is in none."""
    return bool(((values >= low) & (values <= high)).all())
