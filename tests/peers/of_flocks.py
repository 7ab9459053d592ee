"""Flocks in the place of the models that scikit-learn's tests of feature selectors select by.

Each has the name and the parameters of the model whose place it takes, and fits a flock.
"""

from __future__ import annotations

import inspect
from typing import Any

from sklearn import ensemble, linear_model, svm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from covey import FlockClassifier, FlockRegressor
from tests.peers.standing_in import StandsIn


class _FlockInPlace(StandsIn, BaseEstimator):
    _kind: type = FlockRegressor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit a flock without a search."""
        # Most of the models that it stands in for have no use for a seed.
        seed = getattr(self, "random_state", None)
        flock = self._kind(effort="fast", n_estimators=2, random_state=0 if seed is None else seed)
        self.flock_ = flock.fit(X, y, sample_weight)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "flock_" or "flock_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if not hasattr(self.flock_, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.flock_, name)

    def predict(self, X: Any) -> Any:
        """What the flock predicts."""
        check_is_fitted(self, "flock_")
        return self.flock_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._kind()).input_tags
        return tags


class _Probabilities:
    _kind = FlockClassifier

    def predict_proba(self, X: Any) -> Any:
        """What the flock predicts."""
        check_is_fitted(self, "flock_")
        return self.flock_.predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Its scores."""
        check_is_fitted(self, "flock_")
        return self.flock_.decision_function(X)


def _in_place_of(model: type) -> type:
    """A class with the name and the parameters of a model."""
    signature = inspect.signature(model.__init__)

    def set_parameters(self: Any, *args: Any, **how: Any) -> None:
        given = signature.bind(self, *args, **how)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            setattr(self, name, value)

    set_parameters.__signature__ = signature  # type: ignore[attr-defined]
    bases: tuple[type, ...] = (RegressorMixin, _FlockInPlace)
    if is_classifier(model()):
        bases = (ClassifierMixin, _Probabilities, _FlockInPlace)
    return type(model.__name__, bases, {"__init__": set_parameters, "__module__": __name__})


LogisticRegression = _in_place_of(linear_model.LogisticRegression)
SGDClassifier = _in_place_of(linear_model.SGDClassifier)
LinearRegression = _in_place_of(linear_model.LinearRegression)
LinearSVC = _in_place_of(svm.LinearSVC)
SVC = _in_place_of(svm.SVC)
SVR = _in_place_of(svm.SVR)
LinearSVR = _in_place_of(svm.LinearSVR)
RandomForestClassifier = _in_place_of(ensemble.RandomForestClassifier)
HistGradientBoostingClassifier = _in_place_of(ensemble.HistGradientBoostingClassifier)
HistGradientBoostingRegressor = _in_place_of(ensemble.HistGradientBoostingRegressor)
