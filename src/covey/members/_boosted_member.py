"""One stage of gradient boosting, as a model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags

from covey.members._sampled_member import FrozenMember


def staged(ensemble: BaseEstimator, method: str, X: Any) -> Iterator[np.ndarray]:
    """What an ensemble predicts after each stage."""
    for output in getattr(ensemble, method)(X):
        # scikit-learn gives the label of a single row without an axis for rows.
        yield np.atleast_1d(output)


class _Stage(FrozenMember):
    """A fitted ensemble after so many of its stages."""

    def __init__(self, ensemble: BaseEstimator, stage: int) -> None:
        self.ensemble = ensemble
        self.stage = stage

    @property
    def n_features_in_(self) -> int:
        """How many columns X must have."""
        return self.ensemble.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns of X, where they are known."""
        return self.ensemble.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.ensemble).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _staged(self, method: str, X: Any) -> np.ndarray:
        return next(islice(staged(self.ensemble, method, X), self.stage - 1, None))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """What is predicted after this stage."""
        return self._staged("staged_predict", X)


class StageClassifier(ClassifierMixin, _Stage):
    """A fitted gradient boosting classifier after so many of its stages.

    It stays as it is: like scikit-learn's ``FrozenEstimator``, ``fit`` changes nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from covey.members._boosted_member import StageClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> boosting = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    >>> StageClassifier(boosting, 1).predict_proba(X[:1]).round(1)
    array([[0.4, 0.3, 0.3]])
    """

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self.ensemble.classes_

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities after this stage, in the order of ``classes_``."""
        return self._staged("staged_predict_proba", X)


class StageRegressor(RegressorMixin, _Stage):
    """A fitted gradient boosting regressor after so many stages: see `StageClassifier`."""
