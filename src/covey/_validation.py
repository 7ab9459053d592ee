"""Checks of what users pass, each with one sentence that names the culprit."""

from __future__ import annotations

import re
import reprlib
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils import check_array, check_scalar
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from covey._core.limits import FAR
from covey._typing import Method

_being_fitted: set[int] = set()
_looking = threading.Lock()
# Whole numbers are a quantity if more than this differ, each in fewer rows on average.
_MOST_CLASSES, _FEWEST_ROWS = 30, 5
# The words by which NumPy and scikit-learn say that X holds text, dates or objects.
_NO_NUMBERS = re.compile(
    r"could not convert string|could not be promoted|must be a (real )?number"
)
_TABLES = "covey.FlockClassifier (FlockRegressor) takes text, dates and gaps of a data frame"


@contextmanager
def one_fit_at_once(estimator: Any) -> Iterator[None]:
    """Refuse to fit an object that another thread is fitting: they would mix their members.

    Meanwhile, underflow gives zero, whatever NumPy is told to do about it.
    """
    with _looking:
        if id(estimator) in _being_fitted:
            raise RuntimeError(
                f"This {type(estimator).__name__} is being fitted by another thread; let each "
                "thread fit a clone of its own."
            )
        _being_fitted.add(id(estimator))
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _being_fitted.discard(id(estimator))


def fitted_alone(fit: Method) -> Method:
    """Make a ``fit`` `one_fit_at_once`; warnings in it name its caller, one frame further up."""

    @wraps(fit)
    def guarded(self: Any, *args: Any, **given: Any) -> Any:
        with one_fit_at_once(self):
            return fit(self, *args, **given)

    return cast(Method, guarded)


def check_one_target(y: Any) -> None:
    """Refuse several columns of y, and say what accepts them; refuse rows without a value."""
    if type(getattr(getattr(y, "dtype", None), "na_value", None)).__name__ == "NAType":
        gaps = np.flatnonzero(y.isna())
        if len(gaps):
            raise ValueError(f"y has no value in row {gaps[0]}; drop the rows without one.")
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {tuple(shape)}; for several targets "
            "wrap the estimator in scikit-learn's MultiOutputClassifier or MultiOutputRegressor."
        )


def as_numbers(y: np.ndarray) -> np.ndarray:
    """Return the numbers to predict, (n,), as finite float64."""
    if y.dtype.kind in "mM":
        raise ValueError(f"y holds dates or times ({y.dtype}); give numbers, such as days.")
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y must hold numbers, got {reprlib.repr(y.tolist())}.") from None
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")


def check_number(
    value: Any,
    name: str,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: str = "both",
    whole: bool = False,
    finite: bool = True,
    or_none: bool = False,
) -> Any:
    """Check that a parameter is a number; bool is not one.

    ``closed`` ("both", "left", "right" or "neither") says which bounds are included.
    """
    if or_none and value is None:
        return None
    kind = Integral if whole else Real
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    check_scalar(value, name, kind, min_val=low, max_val=high, include_boundaries=closed)
    if np.isnan(value) or (finite and np.isinf(value)):
        raise ValueError(f"{name} must be a {'finite ' if finite else ''}number, got {value}.")
    return value


def check_choice(value: Any, name: str, choices: Iterable[str], *, or_none: bool = False) -> Any:
    """Check a parameter that must be one of a few strings."""
    is_right = (or_none and value is None) or (isinstance(value, str) and value in choices)
    if not is_right:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def check_flag(value: Any, name: str) -> None:
    """Check a parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_labels(y: Any) -> None:
    """Refuse numbers that cannot be classes, and labels that cannot be sorted."""
    with _of_one_type():
        labels = np.ravel(y)
        if labels.dtype == object and len({isinstance(label, str) for label in labels}) > 1:
            raise TypeError
        check_classification_targets(y)


def kind_of_target(y: Any) -> str:
    """Return scikit-learn's name for the kind of y: "binary", "continuous" and so on."""
    with _of_one_type():
        return type_of_target(y, input_name="y")


def holds_numbers(y: Any) -> bool:
    """Return whether y holds a quantity: fractions, or many whole numbers, each in few rows."""
    with warnings.catch_warnings():
        # A target with many classes is expected here, so that no warning is needed.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        if kind_of_target(y) == "continuous":
            return True
    y = np.asarray(y)
    if y.dtype.kind not in "iuf" or y.ndim != 1:
        return False
    n_values = len(np.unique(y))
    return n_values > _MOST_CLASSES and len(y) < _FEWEST_ROWS * n_values


@contextmanager
def _of_one_type() -> Iterator[None]:
    """Turn an error about labels that cannot be sorted into a sentence about y."""
    try:
        yield
    except TypeError:
        raise ValueError(
            "y holds labels of several types, such as None or numbers among text; make all of "
            "them text, and drop rows without a label."
        ) from None


def check_one_each(values: Any, number: int, name: str, what: str) -> Any:
    """Check that there is one entry for each of several things, named by ``what``."""
    if np.shape(values) != (number,):
        raise ValueError(
            f"{name} must hold one {what.format(number)}, got an array of shape "
            f"{np.shape(values)}."
        )
    return values


def check_sample_weight(
    sample_weight: ArrayLike | None, n_samples: int, name: str = "sample_weight"
) -> np.ndarray:
    """Return weights as a float64 array; None means ones.

    They must be finite and not negative, and not all of them zero.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, sample_weight)
    try:
        if np.asarray(sample_weight).dtype.kind in "OSU":
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold numbers, one a row, got {reprlib.repr(sample_weight)}."
        ) from None
    weight = check_array(
        sample_weight,
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    check_one_each(weight, n_samples, "sample_weight", "weight for each of the {} rows of X")
    if (weight < 0).any():
        entry = int(np.argmax(weight < 0))
        raise ValueError(
            f"sample_weight must not be negative, but entry {entry} is {weight[entry]:g}."
        )
    if not weight.any():
        raise ValueError("sample_weight is all zero; at least one row must have a weight above 0.")
    if not 1 / FAR < weight.max() < FAR:
        raise ValueError(
            f"{name} has a largest entry of {weight.max():g}, beyond what sums of floats "
            "bear; divide it by a constant."
        )
    return weight


@contextmanager
def naming_tables() -> Iterator[None]:
    """Let errors about text or dates in X say which models accept those."""
    try:
        yield
    except (ValueError, TypeError) as error:
        said = str(error).strip().partition("\n")[0]
        if not _NO_NUMBERS.search(said):
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{said.partition('. ')[0].rstrip('.')}; {_TABLES}.") from None


def holds_gaps(
    X: Any, feature_names: Sequence[str] | np.ndarray | None, *, allowed: bool = True
) -> bool:
    """Return whether X has NaN; refuses infinity, and NaN if not allowed, by its column."""
    numbers = X.data if hasattr(X, "tocsr") else X
    with np.errstate(over="ignore", invalid="ignore"):
        if get_config()["assume_finite"] or np.isfinite(numbers.sum()):
            return False
    gaps = np.isnan(numbers)
    broken = np.isinf(numbers) if allowed else gaps | np.isinf(numbers)
    if not broken.any():
        return bool(gaps.any())
    if hasattr(X, "tocsr"):
        entries = X.tocoo()
        row, column = (axis[np.argmax(broken)] for axis in (entries.row, entries.col))
        value = entries.data[np.argmax(broken)]
    else:
        row, column = np.argwhere(broken)[0]
        value = X[row, column]
    what = "NaN" if np.isnan(value) else "infinity"
    name = int(column) if feature_names is None else repr(feature_names[column])
    takes = "use" if what == "NaN" else "make it a gap (NaN) and use"
    raise ValueError(
        f"X holds {what} in column {name} (row {int(row)}); impute it, drop the row or column, or "
        f"{takes} covey.FlockClassifier (FlockRegressor), which takes gaps."
    )


def check_coefficients(
    coef: np.ndarray, features: np.ndarray, feature_names: Sequence[str] | np.ndarray | None
) -> None:
    """Refuse coefficients (K, C, P) of columns of these features that overflow."""
    overflown = ~np.isfinite(coef).all(axis=(0, 1))
    if overflown.any():
        column = int(features[np.argmax(overflown)])
        name = column if feature_names is None else repr(feature_names[column])
        raise ValueError(
            f"Column {name} varies too little for its coefficient to be a number; multiply it by "
            "a constant, or drop it."
        )


def check_column_names(X: Any) -> None:
    """Refuse a data frame without columns, or in which two of them have one name."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame, whose rows are not known yet; give X.collect().")
    columns = getattr(X, "columns", None)
    if columns is not None and not len(columns):
        raise ValueError("X has no columns; give at least one.")
    if columns is None or getattr(columns, "is_unique", True):
        return
    twice = columns[columns.duplicated()][0]
    raise ValueError(f"X has several columns named {twice!r}; give each a name of its own.")


def keep_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Set the parameters of an estimator as they are given to ``__init__``, as its locals."""
    for name in given.keys() - {"self"}:
        setattr(estimator, name, given[name])
