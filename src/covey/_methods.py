"""Decorators of methods that keep the types of what they decorate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils import metaestimators

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of this name, which itself has no types."""
    return metaestimators.available_if(check)
