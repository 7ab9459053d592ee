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
    written = {"source": known.source, "weight": out.array(known.weight)}
    if flock._numeric:
        return {**written, "error": out.array(known.error)}
    label, probabilities = out.array(known.label, "whole"), out.array(known.probabilities)
    return {**written, "label": label, "probabilities": probabilities}


def read_calibration(flock: Any, node: Node) -> None:
    """Set the scores; files of before have none."""
    if not node.has("calibration") or node.none("calibration"):
        return
    with node.child("calibration") as inner:
        source = inner.text("source", _SOURCES)
        least = np.finfo(np.float64).tiny  # a row counts for more than nothing
        weight = inner.array("weight", (None,), low=least, high=_LARGEST_WEIGHT)
        shape = (len(weight),)
        inner.check(len(weight) > 0, "weight", "is none.")
        if flock._numeric:
            scores = {"error": inner.array("error", shape)}
        else:
            n_classes = len(flock.classes_)
            label = inner.array("label", shape, "whole", low=0, high=n_classes - 1)
            shape = (len(weight), n_classes)
            scores = {
                "label": label,
                "probabilities": inner.array("probabilities", shape, low=0, high=_ALMOST_ONE),
            }
    flock.calibration_ = Bunch(source=source, **scores, weight=weight)
