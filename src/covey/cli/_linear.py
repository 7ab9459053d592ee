"""The linear model that flocks are compared with, tuned in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils.metaestimators import available_if

from covey._core.gating.penalty import penalties
from covey.evaluation._held_out import log_losses

# Stronger penalties than those of a gate, in units of its strongest: a single member of few rows
# and many columns may need them.
_STRONGER = (30.0, 10.0, 3.0, 1.0)


class TunedLinear(BaseEstimator):
    """A flock of one member whose penalty is chosen by rows held out.

    The gate of one member chooses among its penalties in one stack of fits. Where the strongest
    of them is best, stronger ones are tried too; where folds are given (``cv``), all are tried on
    these.

    Parameters
    ----------
    estimator : SubsetEnsembleClassifier or SubsetEnsembleRegressor
        Of one member, fused by a `Gate`.
    cv : int or list of pairs of arrays, default=5
    """

    def __init__(self, estimator: Any, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: np.ndarray) -> TunedLinear:
        """Choose the penalty and fit the member to all rows."""
        grid = penalties(len(y), numbers=is_regressor(self.estimator))
        strong = grid[0] * np.array(_STRONGER)
        if isinstance(self.cv, int):
            self.best_estimator_ = clone(self.estimator).fit(X, y)
            if self.best_estimator_.fuser_.alpha_ < 0.99 * grid[0]:
                return self
            grid = strong
        else:
            grid = np.append(strong, grid[1:])
        found = self._chosen(X, y, grid)
        if found is not None:
            self.best_estimator_ = found
        return self

    def _chosen(self, X: Any, y: np.ndarray, grid: np.ndarray) -> Any:
        """The model with the best penalty; None where rows are too few to tell."""
        from sklearn.model_selection import GridSearchCV

        scoring = None if is_regressor(self.estimator) else _log_likelihood
        search = GridSearchCV(
            self.estimator, {"fuser__alpha": grid.tolist()}, scoring=scoring, cv=self.cv
        )
        try:
            return search.fit(X, y).best_estimator_
        except ValueError:
            # A class of one row, which no fold can both fit on and hold out.
            if isinstance(self.cv, int):
                return None
            raise

    @property
    def classes_(self) -> np.ndarray:
        """The labels; a regressor has none."""
        return self.best_estimator_.classes_

    def predict(self, X: Any) -> np.ndarray:
        """What the model predicts."""
        return self.best_estimator_.predict(X)

    @available_if(lambda model: hasattr(model.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes."""
        return self.best_estimator_.predict_proba(X)


def _log_likelihood(estimator: Any, X: Any, y: np.ndarray) -> float:
    """The mean log-likelihood; unlike scikit-learn's, of rows that lack a class too."""
    return -float(log_losses(estimator.classes_, estimator.predict_proba(X), y).mean())
