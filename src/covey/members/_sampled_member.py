"""One member of an ensemble that samples, as a model of the whole X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    validate_data,
)

from covey._blocks import as_table
from covey.members._sampling import as_array


class FrozenMember(BaseEstimator):
    """A fitted member of an ensemble, which stays as it is."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Do nothing: the member is fitted."""
        return self


class _OnColumns(FrozenMember):
    """A fitted member that picks its columns out of the whole X."""

    def __init__(
        self,
        estimator: Any,
        columns: ArrayLike | None,
        n_features: int,
        feature_names: ArrayLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.columns = columns
        self.n_features = n_features
        self.feature_names = feature_names

    @property
    def n_features_in_(self) -> int:
        """How many columns X must have."""
        return self.n_features

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns of X, where they are known."""
        if self.feature_names is None:
            raise AttributeError("This member was fitted on columns without names.")
        return self.feature_names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _view(self, X: Any) -> Any:
        """The columns that the member uses, without names: it was fitted without."""
        if not (isinstance(X, np.ndarray) or hasattr(X, "tocsr")):
            X = as_table(X)
            validate_data(self, X, reset=False, skip_check_array=True)
            X = as_array(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} columns, but this member was fitted where there were "
                f"{self.n_features}."
            )
        return X if self.columns is None else X[:, self.columns]


def _has(method: str) -> Callable:
    return available_if(lambda self: hasattr(self.estimator, method))


class SampledClassifier(ClassifierMixin, _OnColumns):
    """A fitted classifier of an ensemble that takes the whole X and the ensemble's labels.

    It was fitted on ``columns`` (None: all; one may occur twice) to the positions of ``classes``.
    It stays as it is: like scikit-learn's ``FrozenEstimator``, ``fit`` changes nothing.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey.members._sampled_member import SampledClassifier
    >>> stump = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> SampledClassifier(stump, [2], 3, classes=["no", "yes"]).predict([[5.0, 5.0, 0.9]])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self,
        estimator: Any,
        columns: ArrayLike | None,
        n_features: int,
        feature_names: ArrayLike | None = None,
        classes: ArrayLike = (),
    ) -> None:
        super().__init__(estimator, columns, n_features, feature_names)
        self.classes = classes

    def _labels(self, positions: ArrayLike) -> np.ndarray:
        return np.asarray(self.classes)[np.asarray(positions).astype(np.intp)]

    @property
    def classes_(self) -> np.ndarray:
        """The labels that the member has seen."""
        return self._labels(self.estimator.classes_)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The labels that the member decides on."""
        return self._labels(self.estimator.predict(self._view(X)))

    @_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities, in the order of ``classes_``."""
        return self.estimator.predict_proba(self._view(X))

    @_has("decision_function")
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores, in the order of ``classes_``."""
        return self.estimator.decision_function(self._view(X))


class SampledRegressor(RegressorMixin, _OnColumns):
    """A fitted regressor of an ensemble that takes the whole X: see `SampledClassifier`."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The member's values."""
        return self.estimator.predict(self._view(X))
