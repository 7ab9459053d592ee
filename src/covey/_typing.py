"""What type checkers are told of scikit-learn, which itself has no types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils import metaestimators

__all__ = ["Estimator", "Method", "available_if"]

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as Estimator
else:
    Estimator = object  # a mixin's subclasses are estimators, and it is none

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of this name, with the type of what it decorates."""
    return metaestimators.available_if(check)
