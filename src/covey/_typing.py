"""Types of scikit-learn's parts for type checkers, since it has none itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils import metaestimators

__all__ = ["Estimator", "Method", "available_if"]

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as Estimator
else:
    Estimator = object  # subclasses of a mixin are estimators, the mixin is not

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of this name, with the type of the decorated method."""
    return metaestimators.available_if(check)
