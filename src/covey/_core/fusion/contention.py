"""Co-testing: which rows are worth a label, since views that should agree on them do not.

Shapes: ``n`` rows, ``V`` views, ``C`` classes. Muslea, Minton and Knoblock, "Active learning with
multiple views", JAIR 2006.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray


def contention_points(views: FloatArray, present: BoolArray) -> BoolArray:
    """Where views that a row has put it in different classes, (n,).

    ``views`` (n, V, C) are probabilities, ``present`` (n, V) says which views a row has.
    """
    labels = views.argmax(axis=2)
    lowest = np.where(present, labels, views.shape[2]).min(axis=1)
    highest = np.where(present, labels, -1).max(axis=1)
    found: BoolArray = highest > lowest
    return found


def surest_disagreement(views: FloatArray, present: BoolArray) -> FloatArray:
    """How sure the least sure view of each row is, (n,): "aggressive" co-testing asks the most.

    Two views that are both sure, of different things, cannot both be right: one of them learns
    much from the label.
    """
    sure = views.max(axis=2)
    found: FloatArray = np.where(present, sure, np.inf).min(axis=1)
    return np.where(np.isfinite(found), found, 0.0)


def evenest_disagreement(views: FloatArray, present: BoolArray) -> FloatArray:
    """Minus how much surer the surest view is than the least sure: "conservative" co-testing."""
    sure = views.max(axis=2)
    high = np.where(present, sure, -np.inf).max(axis=1)
    low = np.where(present, sure, np.inf).min(axis=1)
    apart = np.where(np.isfinite(high) & np.isfinite(low), high - low, np.inf)
    found: FloatArray = -apart
    return found


def in_order(points: BoolArray, priority: FloatArray, margin: FloatArray) -> IntArray:
    """All rows: contention points first, by falling priority, then others by rising margin (n,).

    Of equals the row of the lower number comes first.
    """
    first = np.flatnonzero(points)
    rest = np.flatnonzero(~points)
    first = first[np.argsort(-priority[first], kind="stable")]
    rest = rest[np.argsort(margin[rest], kind="stable")]
    return np.concatenate([first, rest])
