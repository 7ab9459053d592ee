"""Columns whose numbers are too large or too small for the models that read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.tables._columns import label_of


def check_range(
    X: Any,
    feature_names: np.ndarray | None,
    *,
    smallest: float,
    largest: float,
    reader: str,
    columns: np.ndarray | None = None,
) -> None:
    """Refuse columns that a model would overflow on, or take for constant; NaN is passed over.

    A column is refused that holds more than ``largest``, or that varies, but holds nothing as
    large as ``smallest``. The message names the ``reader`` who cannot read such numbers.
    """
    if hasattr(X, "tocsr"):
        low, high = X.nanmin(axis=0).toarray().ravel(), X.nanmax(axis=0).toarray().ravel()
    else:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    checked = np.zeros(len(size), dtype=bool)
    checked[slice(None) if columns is None else columns] = True
    for broken, what, remedy in (
        (size > largest, "more than {} can read", "divide it by a constant"),
        (
            (high > low) & (size < smallest),
            "too little for {} to tell apart",
            "multiply it by a constant, or drop it",
        ),
    ):
        broken = broken & checked
        if broken.any():
            column = int(np.argmax(broken))
            raise ValueError(
                f"Column {label_of(column, feature_names)} holds numbers up to {size[column]:g}, "
                f"{what.format(reader)}; {remedy}."
            )
