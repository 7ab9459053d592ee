"""Fitting models of any kind on tables of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows


def fit_member(
    member: Any, name: str, X: Any, y: np.ndarray, sample_weight: np.ndarray | None
) -> Any:
    """Fit a model, with weights in the way that it takes them, and return it."""
    # The fit of a model from elsewhere may return nothing.
    member.fit(X, y, **_weight_parameters(member, name, sample_weight))
    return member


def _weight_parameters(
    member: Any, name: str, sample_weight: np.ndarray | None
) -> dict[str, np.ndarray]:
    """The parameters of a model's ``fit`` by which it gets weights."""
    if sample_weight is None or isinstance(member, FrozenEstimator):
        return {}
    if has_fit_parameter(member, "sample_weight"):
        return {"sample_weight": sample_weight}
    if isinstance(member, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return {"sample_weight": sample_weight}
        if has_fit_parameter(member[-1], "sample_weight"):
            return {f"{member.steps[-1][0]}__sample_weight": sample_weight}
    raise TypeError(f"The member {name!r} cannot be fitted with sample_weight.")


def fit_on_rows(
    member: Any,
    name: str,
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    rows: np.ndarray,
    fold: int,
) -> Any:
    """A copy of a model, fitted on the training rows of a fold."""
    weight = None if sample_weight is None else sample_weight[rows]
    try:
        return fit_member(clone(member), name, take_rows(X, rows), y[rows], weight)
    except ValueError as error:
        raise ValueError(
            f"The member {name!r} cannot be fitted on the rows of fold {fold}: {error}"
        ) from error


def classifies(member: Any) -> bool:
    """Whether an object can be a member; models from elsewhere need not be scikit-learn's."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_classifier(member) if hasattr(member, "__sklearn_tags__") else True


def regresses(member: Any) -> bool:
    """The same for regressors."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_regressor(member) if hasattr(member, "__sklearn_tags__") else True
