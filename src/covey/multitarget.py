"""Several targets at once: a model for each, compared and fused on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from covey._blocks import as_table
from covey._core.search.folds import jointly_stratified
from covey._folds import check_cv_parameter, check_groups
from covey._models import classifies, fit_with, regresses
from covey._validation import check_sample_weight, fitted_alone
from covey.members import (
    Classifiers,
    FlockClassifier,
    FlockRegressor,
    Regressors,
    RoutesToEstimator,
)

Folds = list[tuple[np.ndarray, np.ndarray]]


def _fit_target(estimator: Any, parameters: Mapping[str, Any], X: Any, y: np.ndarray) -> Any:
    return fit_with(estimator, X, y, parameters)


def _as_array(y: Any) -> np.ndarray:
    try:
        return np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y must have as many targets in every row, but its rows differ in length."
        ) from error


def _each_has(method: str) -> Any:
    """Whether the model, fitted for each target or to be, has a method."""

    def check(self: Any) -> bool:
        for estimator in getattr(self, "estimators_", [self._estimator_to_fit()]):
            getattr(estimator, method)  # whose error says what is missing where
        return True

    return check


class _MultiTarget(RoutesToEstimator, MetaEstimatorMixin, BaseEstimator):
    """What both share."""

    # Weights are for the models.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fitted_alone
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Draw the folds, and fit a model for each target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the models as it is.
        y : array-like, sparse matrix or data frame of shape (n_samples, n_targets)
            A column a target: labels, 0 and 1 for several labels a row, or numbers. One axis is
            one target.
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the models.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together: no fold separates them.
        **metadata
            With scikit-learn's ``enable_metadata_routing``, whatever ``estimator`` requests; it
            then gets weights only if it requests them (``set_fit_request``).
        """
        self._check_parameters()
        X, names = as_table(X), getattr(y, "columns", None)
        targets, self._is_single = self._targets(y)
        check_consistent_length(X, *targets)
        validate_data(self, X, skip_check_array=True)
        n_rows = len(targets[0])
        weight = None if sample_weight is None else check_sample_weight(sample_weight, n_rows)
        parameters = self._parameters_of_estimator(weight, None, metadata)
        numbered = np.arange(len(targets))
        self.target_names_ = numbered if names is None else np.array(names, dtype=object)
        estimator = self._estimator_to_fit()
        if "cv" in estimator.get_params(deep=False) and self.cv is not None:
            used = np.ones(n_rows, dtype=bool) if weight is None else weight > 0
            estimator = clone(estimator).set_params(cv=self._folds(X, targets, used, groups))
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_target)(*self._model_of(estimator, target, name, parameters), X, target)
            for target, name in zip(targets, self.target_names_.tolist(), strict=True)
        )
        self._keep_classes()
        return self

    def _estimator_to_fit(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return self._default(random_state=self.random_state)

    def _check_parameters(self) -> None:
        if self.estimator is not None and not (
            self._accepts(self.estimator) and hasattr(self.estimator, "get_params")
        ):
            raise ValueError(f"estimator must be a {self._noun}, got {self.estimator!r}.")
        check_cv_parameter(self.cv)

    def _targets(self, y: Any) -> tuple[list[np.ndarray], bool]:
        """The targets, one a column, and whether y has a single axis."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if hasattr(y, "columns"):
            # Two columns of a frame of pandas may have one name.
            taken = [y.iloc[:, at] if hasattr(y, "iloc") else y[:, at] for at in range(y.shape[1])]
            targets, shape = [np.asarray(column) for column in taken], y.shape
        else:
            y = y.toarray() if issparse(y) else _as_array(y)
            targets, shape = [y] if y.ndim == 1 else list(y.T), y.shape
        if not shape[0]:
            raise ValueError("Found array with 0 sample(s), but at least 1 is required.")
        if not targets or any(target.ndim != 1 for target in targets):
            raise ValueError(
                f"y must have one axis for the rows and one for the targets, got {shape}."
            )
        return [self._check_target(target) for target in targets], len(shape) == 1

    def _model_of(
        self, estimator: Any, target: np.ndarray, name: Any, parameters: Mapping[str, Any]
    ) -> tuple[Any, Mapping[str, Any]]:
        """The model for a target, not fitted, and the parameters of its ``fit``."""
        return clone(estimator), parameters

    def _keep_classes(self) -> None:
        """Numbers have none."""

    def _folds(self, X: Any, targets: list[np.ndarray], used: np.ndarray, groups: Any) -> Any:
        """The folds that all models share; the estimator's own where there are none."""
        whole_number = isinstance(self.cv, Integral)
        y = self._coded(targets)
        groups = None if groups is None else check_groups(groups, len(y))
        if not whole_number:
            folds = list(check_cv(self.cv).split(X, y, groups))
        elif groups is not None:
            folds = list(GroupKFold(int(self.cv)).split(X, y, groups))
        else:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            folds = self._drawn_folds(y, used, int(self.cv), seed)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in folds if len(test)]
        # Of rows that are too few the estimator says so itself, if it needs folds at all.
        return folds or self._estimator_to_fit().cv

    # -- predict -----------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def predict(self, X: Any) -> np.ndarray:
        """What the models predict, (n_samples, n_targets), or (n_samples,) if y had one axis."""
        X = self._check_rows(X)
        predicted = [np.asarray(estimator.predict(X)) for estimator in self.estimators_]
        if self._is_single:
            return predicted[0]
        words = {column.dtype.kind in "OUS" for column in predicted}
        if len(words) > 1:  # numbers among words stay numbers
            predicted = [column.astype(object) for column in predicted]
        return np.stack(predicted, axis=1)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the models' own, where all have them."""
        check_is_fitted(self, "estimators_")
        return np.mean([one.feature_importances_ for one in self.estimators_], axis=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        estimator = self._estimator_to_fit()
        if hasattr(estimator, "__sklearn_tags__"):
            inner = get_tags(estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        tags.target_tags.multi_output = True
        tags.target_tags.required = True
        return tags


class MultiTargetClassifier(ClassifierMixin, _MultiTarget):
    """A classifier for each of several targets, all of them on the same folds.

    For several labels a row (a column of 0 and 1 for each) and for several targets of any classes.
    One flock, fusion or stack is fitted for each column of y. What these choose and learn by
    cross-validation, they do on folds that are drawn once for all, so that what they predict out
    of fold (``out_of_fold_``) is of the same rows.

    Take it for several labels or targets of the same rows. It does not use that targets depend on
    each other; scikit-learn's ``ClassifierChain`` does.

    Parameters
    ----------
    estimator : classifier, optional
        The model of each target; by default a `FlockClassifier`.
    cv : int, splitter, iterable or None, default=5
        The folds, which are given to ``estimator`` as its ``cv`` if it has that parameter. A
        number of folds keeps the frequencies of all classes of all targets, as far as can be
        [1]_; the only row of a class is held out by none. None leaves the estimator its own.
    n_jobs : int or None, default=None
        Processes that fit the models.
    random_state : int, RandomState instance or None, default=None
        For the folds and the default estimator.

    Attributes
    ----------
    estimators_ : list of classifiers
        One a target. Where one of several targets has one class alone, it is a
        `DummyClassifier`, and a warning says so.
    classes_ : list of ndarrays
        The classes of each target; an ndarray if y had one axis.
    target_names_ : ndarray of shape (n_targets,)
        The columns of y by name where it is a data frame, else by number.
    feature_importances_ : ndarray of shape (n_features,)
        The mean over the targets, where all models have them.
    n_features_in_, feature_names_in_ : as in scikit-learn

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas and I. Vlahavas, "On the stratification of multi-label data",
       ECML PKDD 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from covey import FlockClassifier
    >>> from covey.multitarget import MultiTargetClassifier
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> model = MultiTargetClassifier(FlockClassifier(effort="fast", random_state=0)).fit(X, Y)
    >>> model.predict(X[:2]).shape, len(model.predict_proba(X[:2]))
    ((2, 3), 3)
    """

    _default = FlockClassifier
    _accepts = staticmethod(classifies)
    _noun = "classifier"

    def _check_target(self, target: np.ndarray) -> np.ndarray:
        return Classifiers.check_target(target)

    def _coded(self, targets: list[np.ndarray]) -> np.ndarray:
        return np.stack([np.unique(one, return_inverse=True)[1] for one in targets], axis=1)

    def _model_of(
        self, estimator: Any, target: np.ndarray, name: Any, parameters: Mapping[str, Any]
    ) -> tuple[Any, Mapping[str, Any]]:
        if self._is_single or not (target == target[0]).all():
            return super()._model_of(estimator, target, name, parameters)
        warnings.warn(
            f"Target {name!r} is {target[:1].tolist()[0]!r} in every row, so that is what is "
            "predicted.",
            UserWarning,
            stacklevel=6,
        )
        return DummyClassifier(), {}

    def _drawn_folds(self, y: np.ndarray, used: np.ndarray, n_folds: int, seed: int) -> Folds:
        fold = jointly_stratified(y, used, n_folds, seed)
        numbers = range(n_folds)
        return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in numbers]

    def _keep_classes(self) -> None:
        classes = [estimator.classes_ for estimator in self.estimators_]
        self.classes_ = classes[0] if self._is_single else classes

    @available_if(_each_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes of each target, a list of (n_samples, n_classes).

        If y had one axis it is no list.
        """
        X = self._check_rows(X)
        probabilities = [estimator.predict_proba(X) for estimator in self.estimators_]
        return probabilities[0] if self._is_single else probabilities

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose targets are all predicted right."""
        check_is_fitted(self, "estimators_")
        targets, _ = self._targets(y)
        if len(targets) != len(self.estimators_):
            raise ValueError(
                f"y has {len(targets)} columns, but there are {len(self.estimators_)} targets."
            )
        predicted = self.predict(X).reshape(len(targets[0]), -1)
        right = [column == target for column, target in zip(predicted.T, targets, strict=True)]
        return float(np.average(np.all(right, axis=0), weights=sample_weight))


class MultiTargetRegressor(RegressorMixin, _MultiTarget):
    """A regressor for each of several targets, all of them on the same folds.

    The regressor's `MultiTargetClassifier`.

    Take it for several numbers of the same rows. It does not use that they depend on each other;
    scikit-learn's ``RegressorChain`` does.

    Parameters
    ----------
    estimator : regressor, optional
        The model of each target; by default a `FlockRegressor`.
    cv, n_jobs, random_state
        As for `MultiTargetClassifier`; a number of folds is drawn at random.

    Attributes
    ----------
    estimators_, target_names_, feature_importances_, n_features_in_, feature_names_in_
        As of `MultiTargetClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from covey import FusionRegressor
    >>> from covey.multitarget import MultiTargetRegressor
    >>> X, Y = make_regression(n_targets=2, random_state=0)
    >>> fusion = FusionRegressor([Ridge(), KNeighborsRegressor()], "linear_stacking")
    >>> MultiTargetRegressor(fusion).fit(X, Y).predict(X).shape
    (100, 2)
    """

    _default = FlockRegressor
    _accepts = staticmethod(regresses)
    _noun = "regressor"

    def _check_target(self, target: np.ndarray) -> np.ndarray:
        return Regressors.check_target(target)

    def _coded(self, targets: list[np.ndarray]) -> np.ndarray:
        return np.stack(targets, axis=1)

    def _drawn_folds(self, y: np.ndarray, used: np.ndarray, n_folds: int, seed: int) -> Folds:
        rows = np.flatnonzero(used)
        if len(rows) < 2:
            return []
        split = KFold(min(n_folds, len(rows)), shuffle=True, random_state=seed).split(rows)
        return [(rows[train], rows[test]) for train, test in split]
