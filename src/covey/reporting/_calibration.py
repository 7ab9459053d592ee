"""The section about whether probabilities can be believed."""

from __future__ import annotations

import numpy as np

from covey._intervals import proportion_interval
from covey.reporting._class_facts import ClassFacts
from covey.reporting._drawing import Bin, reliability
from covey.reporting._words import count, described, percent

# The least confidence in the predicted class, by the number of classes; with more, about none.
_LEAST_CONFIDENCE = {2: 0.5, 3: 0.3, 4: 0.2, 5: 0.2}


def calibration(facts: ClassFacts) -> dict:
    """Whether its probabilities can be believed."""
    bins = binned(facts)
    drawing = reliability(
        "calibration-bins",
        bins,
        start=_LEAST_CONFIDENCE.get(facts.n_classes, 0.0),
        title="How often the model is right, against how sure it is",
        description=described(
            (f"sure {percent(b.confidence)}", f"right {percent(b.accuracy)} of {count(b.count)}")
            for b in bins
        ),
    )
    return {
        "drawing": drawing,
        "expected": float(facts.probabilities.max(axis=1).mean()),
        "gap": sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / facts.n_rows,
    }


def binned(facts: ClassFacts) -> list[Bin]:
    """Rows by the probability of the predicted class, in bins of even width."""
    confidence = facts.probabilities.max(axis=1)
    start = _LEAST_CONFIDENCE.get(facts.n_classes, 0.0)
    n_bins = 10 if start == 0.5 else round(10 * (1.0 - start))
    edges = np.round(np.linspace(start, 1.0, n_bins + 1), 12)
    of = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    bins = []
    for position in np.unique(of):
        rows = of == position
        found = proportion_interval(facts.right[rows].sum(), rows.sum())
        mean, start, end = confidence[rows].mean(), edges[position], edges[position + 1]
        bins.append(Bin(float(mean), *found, int(rows.sum()), float(start), float(end)))
    return bins
