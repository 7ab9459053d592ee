"""What a report is asked about, checked before anything slow happens."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d

from covey.members import FusedClassifier

# How many unknown labels or missing columns a sentence names.
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """A flock, and rows to report on.

    Attributes
    ----------
    model : object
        As it was given.
    flock : FusedClassifier
        The model itself, or its last step.
    rows : array or data frame
        As they were given.
    seen : array or data frame
        What the flock sees of them, after the steps before it.
    codes : ndarray of shape (n_samples,)
        The true classes as positions in ``flock.classes_``.
    classes : list
        The labels as users know them.
    features : list of str
        The names of what the flock sees.
    steps : list of str
        What happens to rows before the flock.
    """

    model: object
    flock: FusedClassifier
    rows: object
    seen: object
    codes: np.ndarray
    classes: list
    features: list
    steps: list


def check_asked(model, X, y):
    """The flock and its rows, or one sentence that says what is wrong."""
    whole, before, flock = _taken_apart(model)
    if getattr(flock.fuser_, "needs_y", False):
        raise ValueError(
            "The oracle reads the true labels and predicts nothing that could be reported; "
            "fit the model with a fusion that can predict."
        )
    X, n_rows = _checked_rows(whole, X)
    labels = _labels_of(model, whole, flock)
    codes = _checked_labels(y, n_rows, labels)
    seen = X
    for _, step in before:
        seen = step.transform(seen)
    return ReportInputs(
        model,
        flock,
        X,
        seen,
        codes,
        labels,
        _feature_names(flock, before, seen),
        [type(step).__name__ for _, step in before],
    )


def _taken_apart(model):
    """What takes the rows as they are given, the steps before the flock, and the flock."""
    whole = model
    if not isinstance(model, FusedClassifier) and hasattr(model, "pipeline_"):
        whole = model.pipeline_
    steps = getattr(whole, "steps", None)
    before = []
    last = whole
    if steps is not None and not isinstance(whole, FusedClassifier):
        before = [(n, step) for n, step in steps[:-1] if step not in (None, "passthrough")]
        last = steps[-1][1]
    if not isinstance(last, FusedClassifier):
        raise TypeError(
            "model must be a fitted classifier of covey, such as SubsetEnsembleClassifier or "
            "FusionClassifier, or a pipeline that ends with one, got "
            f"{type(model).__name__}{'' if last is model else f' with {type(last).__name__}'}; "
            "wrap other classifiers in a FusionClassifier with prefit=True."
        )
    if not hasattr(last, "fuser_"):
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted; call fit before you report on it."
        )
    return whole, before, last


def _checked_rows(whole, X):
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
        missing = [str(column) for column in known if column not in present]
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


def _labels_of(model, whole, flock):
    """The classes as users know them: those of the outermost model that has as many."""
    for candidate in (model, whole):
        classes = getattr(candidate, "classes_", None)
        if classes is not None and len(classes) == len(flock.classes_):
            return np.asarray(classes).tolist()
    return flock.classes_.tolist()


def _checked_labels(y, n_rows, labels):
    """Positions of the true labels among those of the model."""
    y = column_or_1d(np.asarray(y))
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} labels, but X has {n_rows} rows; give one label a row.")
    given = y.tolist()
    if any(is_missing(label) for label in given):
        raise ValueError("y holds missing labels; leave out the rows without one.")
    place = {label: code for code, label in enumerate(labels)}
    unknown = sorted({repr(label) for label in given if label not in place})
    if unknown:
        raise ValueError(
            f"y holds {_some(unknown, quoted=True)}, which the model was not trained on; its "
            f"classes are {_some([repr(label) for label in labels], quoted=True)}."
        )
    return np.array([place[label] for label in given], dtype=np.intp)


def is_missing(value):
    """Whether a value stands for none: None, NaN, or what pandas has in their place."""
    if value is None:
        return True
    try:
        return bool(value != value)  # what is missing differs from itself
    except (TypeError, ValueError):
        # pandas.NA refuses to say; an array inside a cell is a value.
        return not hasattr(value, "__len__")


def _some(names, quoted=False):
    shown = [name if quoted else repr(name) for name in names[:_MOST_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _feature_names(flock, before, seen):
    names = getattr(flock, "feature_names_in_", None)
    if names is None and hasattr(seen, "columns"):
        names = seen.columns
    if names is None and before:
        names = _names_out(before)
    n_features = seen.shape[1]
    if names is None or len(names) != n_features:
        names = [f"x{place}" for place in range(n_features)]
    names = [str(name) for name in names]
    # Readers know columns, not the transformers that they went through.
    bare = [name.split("__", 1)[-1] for name in names]
    return bare if before and len(set(bare)) == len(bare) else names


def _names_out(before):
    """The names that the steps give to what they make; None where one cannot tell."""
    names = getattr(before[0][1], "feature_names_in_", None)
    for _, step in before:
        try:
            names = step.get_feature_names_out(names)
        except (AttributeError, ValueError, TypeError):
            return None
    return names
