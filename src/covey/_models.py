"""Fits of models of any kind on tables of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows
from covey._core.limits import FAR
from covey._plain_words import first_line


def fit_member(
    member: Any, name: str, X: Any, y: np.ndarray, sample_weight: np.ndarray | None
) -> Any:
    """Fit a model, with weights in the way that it accepts them, and return it."""
    return fit_with(member, X, y, weight_parameters(member, name, sample_weight))


def fit_with(member: Any, X: Any, y: np.ndarray, parameters: Mapping[str, Any]) -> Any:
    """Fit a model with parameters of its ``fit``, and return it."""
    with explaining(member, X, y):
        # The fit of a foreign model may return nothing.
        member.fit(X, y, **parameters)
    return member


def weight_parameters(
    member: Any, name: str, sample_weight: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the parameters of a model's ``fit`` that pass it weights."""
    if sample_weight is None or isinstance(member, FrozenEstimator):
        return {}
    routes = get_config()["enable_metadata_routing"] and isinstance(
        get_routing_for_object(member), MetadataRouter
    )
    if routes or has_fit_parameter(member, "sample_weight"):
        return {"sample_weight": sample_weight}
    if isinstance(member, Pipeline) and has_fit_parameter(member[-1], "sample_weight"):
        return {f"{member.steps[-1][0]}__sample_weight": sample_weight}
    raise TypeError(f"The member {name!r} cannot be fitted with sample_weight.")


def requesting_weights(part: Any, wants: bool = True) -> Any:
    """Return a part of covey's own model that requests weights, or none, for routed metadata."""
    if get_config()["enable_metadata_routing"]:
        part.set_fit_request(sample_weight=wants)
    return part


def fit_on_rows(
    member: Any,
    name: str,
    X: Any,
    y: np.ndarray,
    parameters: Mapping[str, Any],
    rows: np.ndarray,
    fold: int,
) -> Any:
    """Return a copy of a model, fitted on the training rows of a fold."""
    shown = parameters_of_rows(parameters, rows, len(y))
    try:
        return fit_with(clone(member), take_rows(X, rows), y[rows], shown)
    except ValueError as error:
        raise ValueError(
            f"The member {name!r} cannot be fitted on the rows of fold {fold}: {error}"
        ) from error
    except Exception as error:
        error.add_note(f"It was raised by the member {name!r}, fitted on the rows of fold {fold}.")
        raise


def parameters_of_rows(
    parameters: Mapping[str, Any], rows: np.ndarray, n_rows: int
) -> dict[str, Any]:
    """Return parameters of a ``fit`` for some of its rows; those with an entry per row are cut."""
    return {
        name: _entries_of_rows(value, rows) if _has_entries(value, n_rows) else value
        for name, value in parameters.items()
    }


def _has_entries(value: Any, number: int) -> bool:
    if isinstance(value, str | bytes | Mapping):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == number
    return isinstance(value, Sequence) and len(value) == number


def _entries_of_rows(value: Any, rows: np.ndarray) -> Any:
    return take_rows(value, rows) if hasattr(value, "shape") else [value[row] for row in rows]


def classifies(member: Any) -> bool:
    """Return whether an object can be a classifying member, from scikit-learn or elsewhere."""
    return _may_be(member, "classifier")


def regresses(member: Any) -> bool:
    """Return whether an object can be a member that predicts numbers."""
    return _may_be(member, "regressor")


def _may_be(member: Any, kind: str) -> bool:
    """Return whether an object predicts, and is of a kind or does not say which it is."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    if not hasattr(member, "__sklearn_tags__"):
        return True
    return get_tags(member).estimator_type in (None, kind)


def with_seeds(model: Any, numbers: Callable[[int], Any], *, unset: bool = False) -> Any:
    """Return a copy of a model with numbers for its random states, inner ones too.

    ``numbers(count)`` returns as many as there are, in the order of their names. With ``unset``,
    only states that are None are replaced.
    """
    model = clone(model)
    known = model.get_params() if hasattr(model, "get_params") else {}
    names = sorted(
        name
        for name, value in known.items()
        if name.rpartition("__")[2] == "random_state" and not (unset and value is not None)
    )
    if names:
        seeds = zip(names, numbers(len(names)), strict=True)
        model.set_params(**{name: int(seed) for name, seed in seeds})
    return model


# -- Messages for failures inside a model, which knows nothing of the table -------------------


@contextmanager
def explaining(model: Any, X: Any, y: Any = None) -> Iterator[None]:
    """Raise a sentence about the table for errors of NumPy and SciPy in this block.

    An error about NaN or infinity is explained, too, if the table has neither, but numbers that
    lead to them. A model's own messages are unchanged.
    """
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        inside = _is_from_inside(error)
        spoken_of = any(word in str(error) for word in ("contains NaN", "contains infinity"))
        if not inside and not spoken_of:
            raise
        culprit = _extreme(X) or _extreme(y, "y")
        if culprit is None and not inside:
            raise
        if culprit is None:
            culprit = f"{first_line(error)}; change its parameters, or leave it out."
        raise ValueError(f"{type(model).__name__} cannot work with this: {culprit}") from error


def _is_from_inside(error: BaseException) -> bool:
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return module.split(".")[0] in ("numpy", "scipy")


def _extreme(values: Any, name: str | None = None) -> str | None:
    """Return a phrase about the first column that is all too large or too small, if one is."""
    if hasattr(values, "select_dtypes"):
        values = values.select_dtypes("number")
    names = getattr(values, "columns", None)
    if hasattr(values, "tocsr"):
        known = values.data
        largest = abs(values).max(axis=0).toarray().ravel() if min(values.shape) else known[:0]
    else:
        try:
            known = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        if known.ndim not in (1, 2):
            return None
        largest = np.atleast_1d(np.abs(known).max(axis=0, initial=0.0))
    if not np.isfinite(known).all():
        return None
    too_small = (largest > 0) & (largest < 1 / FAR)
    extreme = np.flatnonzero((largest > FAR) | too_small)
    if not len(extreme):
        return None
    column = int(extreme[0])
    what = name or f"column {column if names is None else names[column]!r}"
    remedy = "multiply" if too_small[column] else "divide"
    return (
        f"{what} holds numbers up to {largest[column]:.3g}, whose squares floating point does not "
        f"hold; {remedy} it by a constant."
    )
