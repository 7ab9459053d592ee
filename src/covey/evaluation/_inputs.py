"""The model and the rows of an evaluation, checked before anything slow happens."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from covey._blocks import frame_of_arrow
from covey._number_words import named
from covey._plain_words import plain_words
from covey._validation import check_one_each
from covey.inspection._mixing_rows import user_table

# How many unknown labels or missing columns a sentence names.
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Inputs:
    """A model, and the rows to evaluate it on."""

    model: Any  # takes the rows as they were given
    flock: Any  # the ensemble that it is, or ends with; None for other models
    X: Any  # the rows as they were given
    seen: Any  # the ensemble's own view of them
    y: np.ndarray | None
    classes: np.ndarray | None  # None for a regressor
    columns: list[str]  # of the user's table
    features: list[str]  # of the ensemble


def check_inputs(model: Any, X: Any, y: Any) -> Inputs:
    """Return the model and its rows, or raise one sentence that states what is wrong."""
    if not hasattr(model, "predict"):
        raise TypeError(
            f"model must be a fitted model with predict, got {type(model).__name__}; wrap what "
            "predicts otherwise in a FusionClassifier or FusionRegressor with prefit=True."
        )
    check_is_fitted(model)
    before, flock = _taken_apart(model)
    if getattr(getattr(flock, "fuser_", None), "needs_y", False):
        raise ValueError(
            "The oracle reads the true labels and predicts nothing that could be evaluated; fit "
            "the model with a fuser that can predict."
        )
    X, n_rows = _checked_rows(model, X)
    X = user_table(model, X) if hasattr(X, "columns") else X
    classes = None if is_regressor(model) else np.asarray(model.classes_)
    y = None if y is None else _checked_y(y, n_rows, classes)
    seen = X
    for _, step in before if flock is not None else ():
        seen = step.transform(seen)
    features = _feature_names(flock, before, seen)
    columns = features if not before else [f"x{place}" for place in range(X.shape[1])]
    if hasattr(X, "columns"):
        columns = [str(column) for column in X.columns]
    return Inputs(model, flock, X, seen, y, classes, columns, features)


def _is_flock(model: object) -> bool:
    """Return whether a model fuses members and shows how much each decides."""
    return hasattr(type(model), "explain_fusion")


def _taken_apart(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before an ensemble, and the ensemble; None if there is none."""
    whole = model
    if not _is_flock(model) and hasattr(model, "pipeline_"):
        whole = model.pipeline_
    if _is_flock(whole) or getattr(whole, "steps", None) is None:
        return [], whole if _is_flock(whole) else None
    before = [(n, step) for n, step in whole.steps[:-1] if step not in (None, "passthrough")]
    last = whole.steps[-1][1]
    return before, last if _is_flock(last) else None


def _checked_rows(whole: Any, X: Any) -> tuple[Any, int]:
    """Return the rows, and how many there are."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    X = frame_of_arrow(X)
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) != 2:
        got = type(X).__name__ if shape is None else f"an array of shape {shape}"
        raise ValueError(
            f"X must be a table, one row a sample and one column a feature, got {got}."
        )
    if shape[0] == 0:
        raise ValueError("X has no rows; give rows that the model was not trained on.")
    known = getattr(whole, "feature_names_in_", None)
    columns = list(X.columns) if hasattr(X, "columns") else None
    if known is not None and columns is not None:
        present = set(columns)
        missing = [repr(str(column)) for column in known if column not in present]
        if missing:
            what = "column" if len(missing) == 1 else "columns"
            raise ValueError(
                f"X lacks the {what} {named(missing, _MOST_NAMED)} that the model was fitted on; "
                "give all of its columns."
            )
    wanted = getattr(whole, "n_features_in_", None)
    if wanted is not None and columns is None and shape[1] != wanted:
        raise ValueError(
            f"X has {shape[1]} columns, but the model was fitted on {wanted}; give the same ones."
        )
    return X, shape[0]


def _checked_y(y: Any, n_rows: int, classes: np.ndarray | None) -> np.ndarray:
    """Return the true labels, all of them known to the model, or finite numbers; one per row."""
    import pandas as pd

    y, what = column_or_1d(np.asarray(y)), "value" if classes is None else "label"
    check_one_each(y, n_rows, "y", f"{what} for each of the {{}} rows of X")
    if pd.isna(y).any():
        raise ValueError(f"y holds missing {what}s; leave out the rows without one.")
    if classes is None:
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            y = np.array([np.nan])
        if not np.isfinite(y).all():
            raise ValueError("y must hold finite numbers, since the model predicts numbers.")
        return y
    known = dict.fromkeys(classes.tolist())
    unknown = sorted({repr(label) for label in y.tolist() if label not in known})
    if unknown:
        raise ValueError(
            f"y holds {named(unknown, _MOST_NAMED)}, which the model was not trained on; its "
            f"classes are {named([*map(repr, known)], _MOST_NAMED)}."
        )
    return y


def checked_row_names(row_names: Any, X: Any, n_rows: int) -> list[str]:
    """Return the names of rows: given ones, those of the frame's index, or their positions."""
    if row_names is None:
        row_names = getattr(X, "index", range(n_rows))
    names = [str(name) for name in row_names]
    return check_one_each(names, n_rows, "row_names", "name for each of the {} rows of X")


def _feature_names(flock: Any, before: list[Any], seen: Any) -> list[str]:
    names = getattr(flock, "feature_names_in_", None)
    if names is None and hasattr(seen, "columns"):
        names = seen.columns
    if names is None and before:
        with suppress(AttributeError, ValueError, TypeError):  # not every step knows them
            given = getattr(before[0][1], "feature_names_in_", None)
            names = Pipeline(before).get_feature_names_out(given)
    n_features = seen.shape[1]
    if names is None or len(names) != n_features:
        names = [f"x{position}" for position in range(n_features)]
    names = [str(name) for name in names]
    # Readers know columns, not the transformers that they went through.
    bare = [plain_words(name.split("__", 1)[-1]) for name in names]
    return bare if before and len(set(bare)) == len(bare) else names
