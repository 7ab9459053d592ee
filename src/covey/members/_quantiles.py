"""Several quantiles of a number: a flock for each, whose predictions never cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from covey import _state as stored
from covey._devices import to_numpy
from covey._validation import check_number, keep_parameters
from covey.members._ensemble import check_numbers
from covey.members._flock import FlockRegressor


class FlockQuantiles(MetaEstimatorMixin, BaseEstimator):
    """Several quantiles of a number, which never cross, by a `FlockRegressor` for each.

    Take it where the spread of a number depends on the row: bounds between two quantiles are then
    wide where it is wide, while those of `FlockRegressor.predict_interval` are equally wide
    everywhere. They hold as often as a model says, without a guarantee for new rows.

    The flocks are fitted one by one, and what they predict of a row is sorted (Chernozhukov,
    Fernandez-Val and Galichon 2010), which never raises the sum of the quantiles' losses.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.1, 0.5, 0.9)
        Shares of rows below each prediction, rising, above 0 and below 1.
    estimator : FlockRegressor or None, default=None
        A flock whose parameters all flocks have, but ``loss`` and ``quantile``.

    Attributes
    ----------
    estimators_ : list of FlockRegressor
        The flock of each quantile, to read and to explain.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockQuantiles, FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> flock = FlockRegressor(effort="fast", random_state=0)
    >>> low, middle, high = FlockQuantiles([0.1, 0.5, 0.9], flock).fit(X, y).predict(X).T
    >>> bool((low <= middle).all() and (middle <= high).all())
    True
    """

    estimator: Annotated[Any, stored.Parameter(FlockRegressor)]
    estimators_: Annotated[list[Any], stored.ListOf(stored.Model(FlockRegressor))]

    def __init__(
        self, quantiles: Sequence[float] = (0.1, 0.5, 0.9), estimator: Any = None
    ) -> None:
        keep_parameters(self, locals())

    def _restored(self) -> None:
        fitted = [hasattr(one, "model_") for one in self.estimators_]
        one_each = all(fitted) and len(fitted) == np.size(self.quantiles) > 0
        stored.refuse("estimators", "are not one for each quantile.", one_each)
        width = {one.n_features_in_ for one in self.estimators_}
        stored.refuse("estimators", "are not of the same columns.", len(width) == 1)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a flock for each quantile.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        """
        shares = np.ravel(self.quantiles)
        for share in shares.tolist():
            check_number(share, "quantiles", low=0, high=1, closed="neither")
        if not len(shares) or (np.diff(shares) <= 0).any():
            raise ValueError(f"quantiles must be one or more that rise, got {self.quantiles!r}.")
        flock = FlockRegressor() if self.estimator is None else self.estimator
        if not isinstance(flock, FlockRegressor):
            raise TypeError(f"estimator must be a FlockRegressor or None, got {flock!r}.")
        self.estimators_ = [
            clone(flock).set_params(loss="quantile", quantile=share).fit(X, y, sample_weight)
            for share in shares.tolist()
        ]
        return self

    @property
    def n_features_in_(self) -> int:
        """Return how many columns X must have."""
        check_is_fitted(self, "estimators_")
        return int(self.estimators_[0].n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns' names, where they are known."""
        return np.asarray(self.estimators_[0].feature_names_in_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the quantiles of each row, rising, of shape (n_samples, n_quantiles)."""
        check_is_fitted(self, "estimators_")
        return np.sort([to_numpy(one.predict(X)) for one in self.estimators_], axis=0).T

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean D2 of the quantiles' losses: 1 is best, 0 that of constants."""
        from sklearn.metrics import d2_pinball_score

        truth, weight = check_numbers(y), {"sample_weight": sample_weight}
        both = zip(np.ravel(self.quantiles).tolist(), self.predict(X).T, strict=True)
        return float(np.mean([d2_pinball_score(truth, f, alpha=q, **weight) for q, f in both]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = FlockRegressor().__sklearn_tags__()
        tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        return tags
