"""Folds of rows for choices by cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedGroupKFold

from covey._core.gating.gate import N_FOLDS
from covey._core.search.folds import assigned_folds, drawn, possible_folds, ranked_classes
from covey._validation import check_number, check_one_each

# Rows to fit on and rows held out, fold by fold.
Folds = list[tuple[np.ndarray, np.ndarray]]


def check_cv_parameter(cv: Any) -> None:
    """Refuse anything but a number of folds, a splitter or a list of splits."""
    if isinstance(cv, str | bytes):
        raise ValueError(f"cv must be an int, a splitter or a list of splits, got {cv!r}.")
    if cv is None or hasattr(cv, "split") or np.iterable(cv):
        return
    check_number(cv, "cv", low=2, whole=True)


def make_folds(
    cv: Any,
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    *,
    groups: ArrayLike | None,
    seed: int,
    n_repeats: int,
    y: np.ndarray | None = None,
) -> Folds:
    """Make folds, as pairs of rows to fit on and rows held out.

    A number of folds is stratified by rows' own draws: exactly, except for classes of more than
    100,000 rows, which the draws themselves split. If a class has a single row, that row is in
    every fold's training part and held out by none, and a warning says so. ``cv=None`` is 5; rows
    of one group are held out together; a number of folds is drawn ``n_repeats`` times; a splitter
    is given ``y``, or the classes.
    """
    n_folds = 5 if cv is None else cv
    whole_number = isinstance(n_folds, int | np.integer)
    if groups is not None:
        groups = check_groups(groups, len(codes))
    if whole_number and groups is None:
        return _drawn_folds(int(n_folds), codes, weight, classes, seed, n_repeats)
    if whole_number and groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError("groups holds a single group, so no fold can hold one out.")
        splitter = StratifiedGroupKFold(
            min(int(n_folds), n_groups), shuffle=True, random_state=seed % (2**32)
        )
    else:
        splitter = cv if hasattr(cv, "split") else None
    with warnings.catch_warnings():
        # The consequences of a small class are checked below.
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
        # A number of folds is stratified by class; a target of numbers counts as one class.
        shown = classes[codes] if y is None or whole_number else y
        splits = cv if splitter is None else splitter.split(X, shown, groups)
        folds = [
            _checked_fold(fold, number, len(codes)) for number, fold in enumerate(splits, start=1)
        ]
    present = np.unique(codes[weight > 0])
    for number, (train, test) in enumerate(folds, start=1):
        if not weight[train].any():
            raise ValueError(f"Fold {number} of cv trains on no row that has a weight above 0.")
        absent = np.setdiff1d(present, codes[train][weight[train] > 0])
        if len(absent):
            cause = "groups" if groups is not None else "cv"
            raise ValueError(
                f"{cause} leaves fold {number} of {len(folds)} without class "
                f"{classes[absent[:1]].tolist()[0]!r} to train on; use fewer folds, or "
                f"{'groups that share it' if groups is not None else 'a stratified splitter'}."
            )
        if groups is not None and len(np.intersect1d(groups[train], groups[test])):
            raise ValueError(
                f"cv separates rows of one group in fold {number}; use a splitter that reads "
                "groups, such as GroupKFold, or a number of folds."
            )
        if not weight[test].any():
            raise ValueError(f"Fold {number} of cv holds out no row that has a weight above 0.")
    if not folds:
        raise ValueError("cv holds no fold at all (a generator can be used only once).")
    return folds


def penalty_folds(codes: np.ndarray, weight: np.ndarray, seed: int) -> Folds:
    """Return folds by which a penalty is chosen, as `make_folds` does; none where impossible.

    ``codes`` are the classes of the rows, all 0 for numbers.
    """
    counts = np.bincount(codes[weight > 0])
    if counts.max(initial=0) < 2:
        return []
    with warnings.catch_warnings():
        # The only row of a class is always fitted on, which matters to no penalty.
        warnings.simplefilter("ignore")
        return _drawn_folds(N_FOLDS, codes, weight, np.arange(len(counts)), seed, 1)


def check_groups(groups: ArrayLike, n_samples: int) -> np.ndarray:
    """Return groups as numbers, one per row."""
    groups = np.asarray(groups)
    check_one_each(groups, n_samples, "groups", "entry for each of the {} rows of X")
    try:
        return np.unique(groups, return_inverse=True)[1]
    except TypeError:
        raise ValueError("groups must hold numbers or strings, not both and not None.") from None


def _checked_fold(fold: Any, number: int, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one checked pair of row numbers that ``cv`` gave."""
    try:
        train, test = (np.asarray(rows) for rows in fold)
    except (TypeError, ValueError):
        raise ValueError(
            f"cv must give pairs of rows to train on and rows to hold out, but entry {number} is "
            f"{fold!r}."
        ) from None
    rows: list[np.ndarray] = []
    for part in (train, test):
        part = np.flatnonzero(part) if part.dtype == bool else part
        if part.ndim != 1 or not len(part) or not np.issubdtype(part.dtype, np.integer):
            raise ValueError(
                f"Fold {number} of cv must hold row numbers to train on and to hold out, at least "
                "one of each."
            )
        if part.min() < -n_samples or part.max() >= n_samples:
            raise ValueError(f"Fold {number} of cv names a row beyond the {n_samples} of X.")
        rows.append(part % n_samples)
    if len(np.intersect1d(rows[0], rows[1])):
        raise ValueError(f"Fold {number} of cv holds out rows that it also trains on.")
    return rows[0], rows[1]


def _drawn_folds(
    n_folds: int, codes: Any, weight: np.ndarray, classes: Any, seed: int, n_repeats: int
) -> Folds:
    used = weight > 0
    counts = np.bincount(codes[used], minlength=len(classes))
    n_folds = possible_folds(n_folds, counts, classes)
    known = drawn(0, codes, used, seed, n_repeats, ranked_classes(counts))
    return assigned_folds(counts, seed, n_folds, [known]).parts(0, codes, used)
