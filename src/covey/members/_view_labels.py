"""Labels of which some are not known."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from covey._validation import check_labels


def labelled_rows(y: np.ndarray, unlabeled_label: Any) -> np.ndarray:
    """Which rows have a label, (n,) bool."""
    unlabelled = missing = missing_labels(y)
    if unlabeled_label is None or not _is_missing(unlabeled_label):
        if y.dtype.kind == "O" and missing.any():
            raise ValueError(
                f"y holds no label (None or NaN) in row {int(np.argmax(missing))}; give it "
                "one, or say unlabeled_label=float('nan') to learn from such rows without."
            )
        unlabelled = False if unlabeled_label is None else y == unlabeled_label
    # NumPy makes strings of numbers that stand among strings.
    other_kind = unlabeled_label is not None and not isinstance(unlabeled_label, str)
    if other_kind and str(unlabeled_label) in y[_strings(y)].tolist():
        raise ValueError(
            f"unlabeled_label={unlabeled_label!r} is no string, but y holds strings, "
            f"{str(unlabeled_label)!r} among them; use unlabeled_label={str(unlabeled_label)!r}."
        )
    labelled = ~np.broadcast_to(unlabelled, y.shape)
    if not labelled.any():
        raise ValueError(
            f"y holds no label at all: every entry is unlabeled_label={unlabeled_label!r}."
        )
    return labelled


def encode_known(
    y: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None, owner: str
) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the labels as positions in them, -1 where there is none."""
    labels = y[labelled]
    if all(isinstance(label, Number | np.generic) for label in labels):
        # Numbers that stood among None or NA are objects.
        labels = np.array(labels.tolist())
    check_labels(labels)
    classes, known = np.unique(labels, return_inverse=True)
    codes = np.full(len(y), -1)
    codes[labelled] = known
    counted = np.unique(known if weight is None else known[weight[labelled] > 0])
    if len(counted) < 2:
        weighted = "" if len(classes) < 2 else " whose sample_weight is above 0"
        raise ValueError(
            f"{owner} needs labelled samples of at least 2 classes in y"
            f"{weighted}, got {len(counted)} class: {classes[counted].tolist()}."
        )
    return classes, codes


def missing_labels(y: np.ndarray) -> np.ndarray:
    """Where y has no label."""
    if y.dtype.kind == "O":
        return np.array([_is_missing(label) for label in y], dtype=bool)
    return y != y


def _is_missing(label: Any) -> bool:
    """Whether it is None, NaN or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True  # pandas' NA compares to NA, which is neither true nor false


def _strings(y: np.ndarray) -> np.ndarray:
    """Where y is a string."""
    if y.dtype.kind == "O":
        return np.array([isinstance(label, str) for label in y], dtype=bool)
    return np.full(y.shape, y.dtype.kind == "U")
