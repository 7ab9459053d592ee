"""The members of boosting: AdaBoost's models, and the stages of gradient boosting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.utils import check_array

from covey._validation import check_number
from covey.fusers import (
    Fuser,
    LastStage,
    Majority,
    Predictions,
    WeightedMedian,
    encode_labels,
)
from covey.members._boosted_member import StageClassifier, StageRegressor, staged
from covey.members._ensemble_members import EnsembleMembers
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._given import Classifiers, Regressors
from covey.members._sampling import HoldingOut

_ADABOOST = (AdaBoostClassifier, AdaBoostRegressor)
BOOSTING = (
    *_ADABOOST,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)


class BoostedMembers(EnsembleMembers):
    """What members of both kinds have: see `BoostedClassifiers` and `BoostedRegressors`.

    A subclass of `EnsembleMembers` that also writes ``_stage``, ``_rule_of_weights`` and
    ``_start``.
    """

    def __init__(
        self,
        ensemble: BaseEstimator,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        unfitted: BaseEstimator | None,
        holding_out: HoldingOut | None = None,
        *,
        n_stages: int | None = None,
    ) -> None:
        super().__init__(ensemble, X, y, sample_weight, unfitted, holding_out)
        self._n_stages = n_stages
        self.stages = _stage_numbers(ensemble, n_stages)
        if self.stages is None:
            self.estimators = list(ensemble.estimators_)
            self.names = [f"member {k}" for k in range(1, len(self.estimators) + 1)]
            # Of a fit that stops early the rest is zeros.
            self.weights = ensemble.estimator_weights_[: len(self.estimators)]
        else:
            self.estimators = [self._stage(ensemble, int(stage)) for stage in self.stages]
            self.names = [f"stage {stage}" for stage in self.stages]
            self.weights = None

    def fuse(self, fuser: str | Fuser | None = None) -> FusedClassifier | FusedRegressor:
        """One model that fuses these members.

        Every member has seen every row, so a rule that learns needs rows that none has seen:
        ``validation_fraction`` of them (of each class) is held out, and the ensemble is **grown
        anew on the others**.

        Parameters
        ----------
        fuser : str, Fuser or None, default=None
            A name or an object of `covey.fusers`; for regressors one of numbers. None is the
            rule of the ensemble itself: AdaBoost's weighted vote or `WeightedMedian`, or the
            `LastStage` of gradient boosting.

        Returns
        -------
        fused : BoostedFusionClassifier or BoostedFusionRegressor
            Fitted. A copy of it that is fitted to other rows grows the ensemble on them.
        """
        return self._fuse(fuser, n_stages=self._n_stages)

    def _alike(self) -> Callable[..., BoostedMembers]:
        return partial(type(self), n_stages=self._n_stages)

    def _own_rule(self) -> Fuser:
        if self.stages is not None:
            return LastStage(self._start())
        return self._rule_of_weights(self.weights if self.weights.any() else None)

    def _predict(self, X: Any, kind: str) -> Predictions:
        return boosted_predictions(
            self._models, self.ensemble, self.estimators, self.names, self.stages, X, kind
        )


class BoostedClassifiers(BoostedMembers):
    """The members of a boosted classifier.

    `from_boosting` makes it.

    Attributes
    ----------
    ensemble : fitted AdaBoost-, GradientBoosting- or HistGradientBoostingClassifier
    estimators : list of classifiers
        AdaBoost's models as they are, or the stages of gradient boosting.
    names : list of str
    classes : ndarray of shape (n_classes,)
    kind : {"probability", "label"}
        What the members predict: labels, where they have no probabilities.
    stages : ndarray of shape (n_members,) or None
        After how many rounds of gradient boosting each member is; None for AdaBoost.
    weights : ndarray of shape (n_members,) or None
        AdaBoost's ``estimator_weights_``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from covey.members import from_boosting
    >>> X, y = load_wine(return_X_y=True)
    >>> members = from_boosting(AdaBoostClassifier(n_estimators=20, random_state=0), X, y)
    >>> members.predictions(X).values.shape
    (178, 20, 3)
    """

    _models = Classifiers
    _given_class = "FusionClassifier"

    @property
    def classes(self) -> np.ndarray:
        """The labels, as the ensemble orders them."""
        return self.ensemble.classes_

    @property
    def kind(self) -> str:
        """What the members predict."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators)
        return "probability" if every else "label"

    _stage = staticmethod(StageClassifier)
    _rule_of_weights = staticmethod(Majority)

    def _start(self) -> np.ndarray:
        """The weighted shares of the classes among the training rows."""
        codes = encode_labels(self._y, self.classes, "y holds")
        counts = np.bincount(codes, self._sample_weight, minlength=len(self.classes))
        return counts / counts.sum()


class BoostedRegressors(BoostedMembers):
    """The members of a boosted regressor.

    `from_boosting` makes it.

    Attributes
    ----------
    ensemble : fitted AdaBoost-, GradientBoosting- or HistGradientBoostingRegressor
    estimators, names, stages, weights
        As of `BoostedClassifiers`.
    kind : "value"
        What the members predict.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from covey.members import from_boosting
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stages = from_boosting(HistGradientBoostingRegressor(max_iter=30), X, y, n_stages=3)
    >>> stages.names
    ['stage 10', 'stage 20', 'stage 30']
    """

    _models = Regressors
    _given_class = "FusionRegressor"
    kind = "value"

    _stage = staticmethod(StageRegressor)
    _rule_of_weights = staticmethod(WeightedMedian)

    def _start(self) -> float:
        """The weighted mean of the training rows."""
        return float(np.average(self._y, weights=self._sample_weight))


def boosted_members(ensemble: BaseEstimator, *data: Any, **how: Any) -> BoostedMembers:
    """The members of a fitted ensemble, of either kind."""
    kind = BoostedClassifiers if is_classifier(ensemble) else BoostedRegressors
    return kind(ensemble, *data, **how)


def boosted_predictions(
    models: type[Classifiers] | type[Regressors],
    ensemble: BaseEstimator,
    members: Sequence[Any],
    names: Sequence[str],
    stages: np.ndarray | None,
    X: Any,
    kind: str,
) -> Predictions:
    """What members of boosting predict of validated rows; stages, all of them in one pass."""
    classes = getattr(ensemble, "classes_", None)
    if stages is None:
        # As AdaBoost itself checks rows for its models.
        X = check_array(X, accept_sparse="csr", dtype=None)
        return models.predictions(members, names, X, kind, classes)
    method = "staged_predict" if kind in ("label", "value") else "staged_predict_proba"
    wanted = set(stages.tolist())
    passed = enumerate(staged(ensemble, method, X), start=1)
    values = np.stack([output for stage, output in passed if stage in wanted], axis=1)
    return Predictions(values, classes, names, kind)


def check_stages(ensemble: BaseEstimator, n_stages: int | None) -> None:
    """Refuse a number of stages that makes no sense."""
    if n_stages is None:
        return
    check_number(n_stages, "n_stages", low=1, whole=True)
    if isinstance(ensemble, _ADABOOST):
        raise ValueError(
            "n_stages chooses among the stages of gradient boosting, but the members of "
            f"{type(ensemble).__name__} are its models; leave n_stages out."
        )


def _stage_numbers(ensemble: BaseEstimator, n_stages: int | None) -> np.ndarray | None:
    """Which stages are members, evenly spaced up to the last; None if members are models."""
    if isinstance(ensemble, _ADABOOST):
        return None
    # Early stopping may have ended the fit.
    last = ensemble.n_iter_ if hasattr(ensemble, "n_iter_") else ensemble.n_estimators_
    number = last if n_stages is None else min(n_stages, last)
    return np.unique(np.round(np.linspace(last / number, last, number)).astype(np.int64))
