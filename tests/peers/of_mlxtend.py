"""Our equivalents of mlxtend's votes and stacks, under its names and with its parameters.

mlxtend names what it is given by its class, counts models of the same class, and lets parameters
of them be set by these names. What is fitted is ours.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.validation import check_is_fitted

from covey import (
    FusionClassifier,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)
from covey.fusers import Majority, Mean
from tests.peers.standing_in import StandsIn

__all__ = [
    "EnsembleVoteClassifier",
    "LogisticRegression",
    "NotFittedError",
    "StackingCVClassifier",
    "StackingCVRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "assert_raises",
]


class LogisticRegression(linear_model.LogisticRegression):
    """scikit-learn's of today, which has no ``multi_class``, as mlxtend's tests write it."""

    def __init__(
        self,
        C: float = 1.0,
        multi_class: str = "auto",
        solver: str = "lbfgs",
        random_state: Any = None,
    ) -> None:
        # Of more than two classes liblinear fits none any more.
        super().__init__(C=C, solver=solver, random_state=random_state)
        self.multi_class = multi_class

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """All classes at once."""
        given = self.solver
        self.solver = "lbfgs" if given == "liblinear" else given
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.solver = given


def assert_raises(kind: type, message: Any, function: Any, *args: Any, **how: Any) -> None:
    """See that an error of a kind is raised, whatever it says."""
    with pytest.raises(kind):
        function(*args, **how)


def _named(models: list[Any]) -> list[tuple[str, Any]]:
    names = [type(model).__name__.lower() for model in models]
    counts, seen, found = Counter(names), Counter(), []
    for name, model in zip(names, models, strict=True):
        seen[name] += 1
        found.append((f"{name}-{seen[name]}" if counts[name] > 1 else name, model))
    return found


class _Composed(StandsIn, BaseEstimator):
    """An ensemble of ours that is made in ``fit``, of the models in one of its parameters."""

    _listed = "classifiers"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its own parameters, and those of its models by their names."""
        found = super().get_params(deep=False)
        if not deep:
            return found
        on_top = {name: model for name, model in found.items() if name.startswith("meta_")}
        for name, model in [*_named(getattr(self, self._listed)), *on_top.items()]:
            found[name] = model
            found |= {f"{name}__{key}": one for key, one in model.get_params().items()}
        return found

    def set_params(self, **parameters: Any) -> Any:
        """Set its own first, then models by their names, then parameters of models."""
        own = set(super().get_params(deep=False))
        for name in sorted(parameters, key=lambda one: (one not in own, "__" in one)):
            value, models = parameters[name], _named(getattr(self, self._listed))
            first, _, rest = name.partition("__")
            if name in own:
                setattr(self, name, value)
            elif rest:
                dict(models, **super().get_params(deep=False))[first].set_params(**{rest: value})
            elif value is not None:
                kept = [value if one == name else model for one, model in models]
                setattr(self, self._listed, kept)
        return self

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """Fit what it stands for."""
        if not getattr(self, "use_clones", True):
            raise NotImplementedError("models are copied before they are fitted")
        how = {"sample_weight": sample_weight}
        if groups is not None:
            how["groups"] = groups
        self.model_ = self._made().fit(X, y, **how)
        return self

    def _fitted(self) -> Any:
        check_is_fitted(self, "model_")
        return self.model_

    def predict(self, X: Any) -> Any:
        """What it predicts."""
        return self._fitted().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How well."""
        return self._fitted().score(X, y, sample_weight)

    def predict_meta_features(self, X: Any) -> Any:
        """What the model on top sees."""
        return self._fitted().transform(X)

    @property
    def train_meta_features_(self) -> Any:
        """The same of the training rows, out of fold."""
        return self._fitted().out_of_fold_.columns


class _Classifies(ClassifierMixin, _Composed):
    def predict_proba(self, X: Any) -> Any:
        """Probabilities."""
        return self._fitted().predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Scores."""
        return self._fitted().decision_function(X)

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self._fitted().classes_


class EnsembleVoteClassifier(_Classifies):
    """Votes, or means."""

    _listed = "clfs"

    def __init__(
        self,
        clfs: Any,
        voting: str = "hard",
        weights: Any = None,
        verbose: int = 0,
        use_clones: bool = True,
        fit_base_estimators: bool = True,
    ) -> None:
        self.clfs = clfs
        self.voting = voting
        self.weights = weights
        self.verbose = verbose
        self.use_clones = use_clones
        self.fit_base_estimators = fit_base_estimators

    def _made(self) -> Any:
        rule = (Majority if self.voting == "hard" else Mean)(weights=self.weights)
        return FusionClassifier(_named(self.clfs), rule, prefit=not self.fit_base_estimators)


def _splitter(kind: type, cv: Any, shuffle: bool, seed: Any) -> Any:
    if not isinstance(cv, int):
        return cv
    return kind(cv, shuffle=shuffle, random_state=seed if shuffle else None)


class StackingClassifier(_Classifies):
    """A stack of one layer."""

    cv: Any = 5

    def __init__(
        self,
        classifiers: Any,
        meta_classifier: Any,
        use_probas: bool = False,
        drop_proba_col: Any = None,
        average_probas: bool = False,
        verbose: int = 0,
        use_features_in_secondary: bool = False,
        store_train_meta_features: bool = False,
        use_clones: bool = True,
        fit_base_estimators: bool = True,
    ) -> None:
        self.classifiers = classifiers
        self.meta_classifier = meta_classifier
        self.use_probas = use_probas
        self.drop_proba_col = drop_proba_col
        self.average_probas = average_probas
        self.verbose = verbose
        self.use_features_in_secondary = use_features_in_secondary
        self.store_train_meta_features = store_train_meta_features
        self.use_clones = use_clones
        self.fit_base_estimators = fit_base_estimators

    def _folds(self) -> Any:
        return self.cv if getattr(self, "fit_base_estimators", True) else "prefit"

    def _made(self) -> Any:
        if self.drop_proba_col is not None or getattr(self, "average_probas", False):
            raise NotImplementedError("all columns of members are seen, and none is averaged")
        return GeneralStackingClassifier(
            _named(self.classifiers),
            clone(self.meta_classifier),
            outputs="probabilities" if self.use_probas else "one_hot",
            passthrough=self.use_features_in_secondary,
            cv=self._folds(),
        )


class StackingCVClassifier(StackingClassifier):
    """The same, with its folds."""

    def __init__(
        self,
        classifiers: Any,
        meta_classifier: Any,
        use_probas: bool = False,
        drop_proba_col: Any = None,
        cv: Any = 2,
        shuffle: bool = True,
        random_state: Any = None,
        stratify: bool = True,
        verbose: int = 0,
        use_features_in_secondary: bool = False,
        store_train_meta_features: bool = False,
        use_clones: bool = True,
        n_jobs: int | None = None,
        pre_dispatch: Any = "2*n_jobs",
    ) -> None:
        self.classifiers = classifiers
        self.meta_classifier = meta_classifier
        self.use_probas = use_probas
        self.drop_proba_col = drop_proba_col
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify
        self.verbose = verbose
        self.use_features_in_secondary = use_features_in_secondary
        self.store_train_meta_features = store_train_meta_features
        self.use_clones = use_clones
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch

    def _folds(self) -> Any:
        kind = StratifiedKFold if self.stratify else KFold
        return _splitter(kind, self.cv, self.shuffle, self.random_state)


class StackingRegressor(RegressorMixin, _Composed):
    """A stack of one layer."""

    _listed, cv = "regressors", 5

    def __init__(
        self,
        regressors: Any,
        meta_regressor: Any,
        verbose: int = 0,
        use_features_in_secondary: bool = False,
        store_train_meta_features: bool = False,
        refit: bool = True,
        multi_output: bool = False,
    ) -> None:
        self.regressors = regressors
        self.meta_regressor = meta_regressor
        self.verbose = verbose
        self.use_features_in_secondary = use_features_in_secondary
        self.store_train_meta_features = store_train_meta_features
        self.refit = refit
        self.multi_output = multi_output

    def _folds(self) -> Any:
        return self.cv if self.refit else "prefit"

    def _made(self) -> Any:
        stack = GeneralStackingRegressor(
            _named(self.regressors),
            clone(self.meta_regressor),
            passthrough=self.use_features_in_secondary,
            cv=self._folds(),
        )
        return MultiOutputRegressor(stack) if self.multi_output else stack

    @property
    def regr_(self) -> list[Any]:
        """The members."""
        return self._fitted().estimators_

    @property
    def meta_regr_(self) -> Any:
        """The model on top."""
        return self._fitted().fuser_.final_estimator_

    @property
    def coef_(self) -> np.ndarray:
        """Its coefficients."""
        return self.meta_regr_.coef_

    @property
    def intercept_(self) -> Any:
        """Its intercept."""
        return self.meta_regr_.intercept_


class StackingCVRegressor(StackingRegressor):
    """The same, with its folds."""

    def __init__(
        self,
        regressors: Any,
        meta_regressor: Any,
        cv: Any = 5,
        shuffle: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        refit: bool = True,
        use_features_in_secondary: bool = False,
        store_train_meta_features: bool = False,
        n_jobs: int | None = None,
        pre_dispatch: Any = "2*n_jobs",
        multi_output: bool = False,
    ) -> None:
        self.regressors = regressors
        self.meta_regressor = meta_regressor
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose
        self.refit = refit
        self.use_features_in_secondary = use_features_in_secondary
        self.store_train_meta_features = store_train_meta_features
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch
        self.multi_output = multi_output

    def _folds(self) -> Any:
        if not self.refit:
            return "prefit"
        return _splitter(KFold, self.cv, self.shuffle, self.random_state)
