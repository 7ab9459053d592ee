"""The model and the rows of a report, checked before anything slow happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d

from covey._judgement import Judgement
from covey._plain_words import plain_words

# How many unknown labels or missing columns a sentence names.
_MOST_NAMED = 3


class Details(NamedTuple):
    """The optional arguments of `build_report`."""

    title: str | None = None
    target: str | None = None
    task: str | None = None
    command: str | None = None
    caution: str | None = None
    baselines: list[dict] | None = None
    data_health: list[dict] | None = None


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """A flock, and rows to report on."""

    model: object  # as it was given
    whole: Any  # what takes the rows as they were given: the model, or its pipeline
    flock: Any  # the model itself, or its last step
    rows: Any  # as they were given
    seen: Any  # what the flock sees of them, after the steps before it
    y: np.ndarray  # the true classes as positions in ``flock.classes_``, or the true values
    classes: list | None  # the labels as users know them; None for a regressor
    features: list[str]  # the names of what the flock sees
    steps: list[str]  # what happens to rows before the flock
    row_names: Sequence[str]  # what the user calls each row
    # What models without these rows predict of them; None where the model itself was fitted
    # without them.
    judgement: Judgement | None = None

    def columns(self) -> list[str]:
        """The names of the columns as they were given, before any step."""
        if hasattr(self.rows, "columns"):
            return [str(column) for column in self.rows.columns]
        n_columns = self.rows.shape[1]
        return [f"x{position}" for position in range(n_columns)] if self.steps else self.features


def check_inputs(
    model: object,
    X: Any,
    y: Any,
    judgement: Judgement | None = None,
    row_names: Any = None,
) -> ReportInputs:
    """The flock and its rows, or one sentence that states what is wrong."""
    whole, before, flock = _taken_apart(model)
    if getattr(flock.fuser_, "needs_y", False):
        raise ValueError(
            "The oracle reads the true labels and predicts nothing that could be reported; "
            "fit the model with a fuser that can predict."
        )
    X, n_rows = _checked_rows(whole, X)
    if is_regressor(flock):
        classes, y = None, _checked_values(y, n_rows)
    else:
        classes = _labels_of(model, whole, flock)
        y = _checked_labels(y, n_rows, classes)
    if judgement is not None:
        _check_judgement(judgement, n_rows, classes)
        row_names = judgement.numbers if row_names is None else row_names
    names = _checked_row_names(row_names, X, n_rows)
    seen = X
    for _, step in before:
        seen = step.transform(seen)
    return ReportInputs(
        model,
        whole,
        flock,
        X,
        seen,
        y,
        classes,
        _feature_names(flock, before, seen),
        [type(step).__name__ for _, step in before],
        names,
        judgement,
    )


def _is_flock(model: object) -> bool:
    """Whether a model fuses members and shows how much each decides."""
    return hasattr(type(model), "explain_fusion")


def _taken_apart(model: Any) -> tuple[Any, list, Any]:
    """What takes the rows as they are given, the steps before the flock, and the flock."""
    whole = model
    if not _is_flock(model) and hasattr(model, "pipeline_"):
        whole = model.pipeline_
    before, last = [], whole
    if not _is_flock(whole) and getattr(whole, "steps", None) is not None:
        before = [(n, step) for n, step in whole.steps[:-1] if step not in (None, "passthrough")]
        last = whole.steps[-1][1]
    if not _is_flock(last):
        raise TypeError(
            "model must be a fitted ensemble of covey, such as FlockClassifier or "
            "FusionRegressor, or a pipeline that ends with one, got "
            f"{type(model).__name__}{'' if last is model else f' with {type(last).__name__}'}; "
            "wrap other models in a FusionClassifier or FusionRegressor with prefit=True."
        )
    if not hasattr(last, "fuser_"):
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted; call fit before you report on it."
        )
    return whole, before, last


def _checked_rows(whole: Any, X: Any) -> tuple[Any, int]:
    """The rows, and how many there are."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
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
            raise ValueError(
                f"X lacks the {'column' if len(missing) == 1 else 'columns'} {_some(missing)} "
                "that the model was fitted on; give all of its columns."
            )
    wanted = getattr(whole, "n_features_in_", None)
    if wanted is not None and columns is None and shape[1] != wanted:
        raise ValueError(
            f"X has {shape[1]} columns, but the model was fitted on {wanted}; give the same ones."
        )
    return X, shape[0]


def _labels_of(model: Any, whole: Any, flock: Any) -> list:
    """The classes as users know them: those of the outermost model that has as many."""
    for candidate in (model, whole):
        classes = getattr(candidate, "classes_", None)
        if classes is not None and len(classes) == len(flock.classes_):
            return np.asarray(classes).tolist()
    return flock.classes_.tolist()


def _checked_targets(y: Any, n_rows: int, what: str) -> np.ndarray:
    """One present target a row."""
    y = column_or_1d(np.asarray(y))
    if len(y) != n_rows:
        raise ValueError(
            f"y has {len(y)} {what}s, but X has {n_rows} rows; give one {what} a row."
        )
    if any(is_missing(value) for value in y.tolist()):
        raise ValueError(f"y holds missing {what}s; leave out the rows without one.")
    return y


def _checked_labels(y: Any, n_rows: int, labels: list) -> np.ndarray:
    """Positions of the true labels among those of the model."""
    given = _checked_targets(y, n_rows, "label").tolist()
    position = {label: code for code, label in enumerate(labels)}
    unknown = sorted({repr(label) for label in given if label not in position})
    if unknown:
        raise ValueError(
            f"y holds {_some(unknown)}, which the model was not trained on; its "
            f"classes are {_some([repr(label) for label in labels])}."
        )
    return np.array([position[label] for label in given], dtype=np.intp)


def _checked_values(y: Any, n_rows: int) -> np.ndarray:
    """The true values as finite numbers."""
    y = _checked_targets(y, n_rows, "value")
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError):
        y = np.array([np.nan])
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers, since the model predicts numbers.")
    return y


def _check_judgement(judgement: Judgement, n_rows: int, classes: list | None) -> None:
    """Refuse a judgement of other rows, or of other classes."""
    if len(judgement.y) != n_rows:
        raise ValueError(
            f"judgement is of {len(judgement.y)} rows, but X has {n_rows}; give the rows that it "
            "is of."
        )
    wanted = (n_rows,) if classes is None else (n_rows, len(classes))
    found = np.shape(judgement.predictions)
    if found != wanted:
        raise ValueError(
            f"judgement has predictions of shape {found}, but the model's are of shape {wanted}."
        )
    if not np.isfinite(judgement.predictions).all():
        raise ValueError("judgement holds predictions that are missing; leave these rows out.")


def _checked_row_names(row_names: Any, X: Any, n_rows: int) -> list[str]:
    """What users call their rows: as they say, as their frame's index has it, or by position."""
    if row_names is None:
        row_names = getattr(X, "index", range(n_rows))
    names = [str(name) for name in row_names]
    if len(names) != n_rows:
        raise ValueError(
            f"row_names has {len(names)} names, but X has {n_rows} rows; give one name a row."
        )
    return names


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or what pandas has instead."""
    if value is None:
        return True
    try:
        return bool(value != value)  # a missing value differs from itself
    except (TypeError, ValueError):
        # pandas.NA does not compare; an array inside a cell is a value.
        return not hasattr(value, "__len__")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _feature_names(flock: Any, before: list, seen: Any) -> list[str]:
    names = getattr(flock, "feature_names_in_", None)
    if names is None and hasattr(seen, "columns"):
        names = seen.columns
    if names is None and before:
        names = _names_out(before)
    n_features = seen.shape[1]
    if names is None or len(names) != n_features:
        names = [f"x{position}" for position in range(n_features)]
    names = [str(name) for name in names]
    # Readers know columns, not the transformers that they went through.
    bare = [plain_words(name.split("__", 1)[-1]) for name in names]
    return bare if before and len(set(bare)) == len(bare) else names


def _names_out(before: list) -> Any:
    """The names that the steps give to their output; None where a step gives none."""
    names = getattr(before[0][1], "feature_names_in_", None)
    for _, step in before:
        try:
            names = step.get_feature_names_out(names)
        except (AttributeError, ValueError, TypeError):
            return None
    return names
