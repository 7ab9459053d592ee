"""Checks of ensembles from files, beyond those that their fields declare."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from covey import _state as stored
from covey._plain_words import first_line
from covey._state import StateError, refuse
from covey.fusers import Fuser, Predictions


class OfTable:
    """The fields about their table that all fitted models have."""

    n_features_in_: Annotated[int, stored.Whole(1, 1 << 31, letter="F")]
    feature_names_in_: Annotated[np.ndarray, stored.FEATURE_NAMES]


_WHEN_TRIED = (ValueError, TypeError, IndexError, AttributeError, ArithmeticError)


def check_names(model: Any, member: Any) -> None:
    """Refuse two that are given the same table and know its columns by other names."""
    names, own = (getattr(one, "feature_names_in_", None) for one in (model, member))
    same = names is None or own is None or list(names) == own.tolist()
    refuse("members", "has a member that knows other columns.", same)


def check_member(model: Any, member: Any, n_features: int | None) -> None:
    """Refuse a member that does not predict the classes, or the numbers, of its ensemble."""
    classes = getattr(model, "classes_", None)
    if n_features is not None:
        check_names(model, member)
    proper = model._models.accepts(member)
    proper = proper and n_features in (None, getattr(member, "n_features_in_", -1))
    if classes is not None:
        own = getattr(member, "classes_", np.empty(0))
        same = len(own) and (own.dtype.kind in "OU") == (classes.dtype.kind in "OU")
        proper = proper and same and bool(np.isin(own, classes).all())
    refuse("members", "has a member that does not fit.", proper)


def check_fuser(
    fuser: Fuser, example_for: Callable[[Fuser], Predictions], n_features: int | None
) -> None:
    """Refuse a fuser that cannot fuse predictions like those of an example.

    It is tried on the example, beside a row of ``n_features`` zeros if their number is known, so
    that misfits are found now.
    """
    refuse("fuser", "is not fitted.", hasattr(fuser, "classes_"))
    try:
        example = example_for(fuser)
        fits = fuser.n_members_ == example.n_members and np.array_equal(
            fuser.classes_, example.classes
        )
        refuse("fuser", "fuses other members.", fits)
        if fuser.needs_y or (fuser.needs_X and n_features is None):
            return
        fused = fuser.fuse(example, None if n_features is None else np.zeros((1, n_features)))
    except StateError:
        raise
    except _WHEN_TRIED as error:
        refuse("fuser", f"does not fit its members: {error}")
    refuse("fuser", "does not give numbers.", np.isfinite(fused).all())


def try_row(model: Any, n_features: int | None = None) -> None:
    """Refuse a model that was put together and does not predict a row of zeros."""
    row = np.zeros((1, model.n_features_in_ if n_features is None else n_features))
    try:
        with warnings.catch_warnings():
            # This row has no names, even if the training rows had some.
            warnings.simplefilter("ignore")
            proba = hasattr(model, "predict_proba")
            predicted = model.predict_proba(row) if proba else model.predict(row)
    except _WHEN_TRIED as error:
        refuse("model", f"does not predict: {first_line(error)}")
    numbers = np.asarray(predicted)
    finite = numbers.dtype.kind != "f" or np.isfinite(numbers).all()
    refuse("model", "predicts no finite number.", finite)
    seen = getattr(model, "_seen_columns", None)
    if seen is not None and seen.gaps().any():
        # The rows that it remembers are those that explanations give it.
        rows = np.where(seen.gaps(), np.nan, 0.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model._answers(rows)
        except _WHEN_TRIED:
            refuse("seen_columns", "has a gap in a column in which the model takes none.")
