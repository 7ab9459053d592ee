"""Members from boosting, fused into one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from covey.fusers import Fuser, LastStage, Predictions
from covey.members._boosted_sources import (
    BOOSTING,
    BoostedClassifiers,
    BoostedMembers,
    BoostedRegressors,
    boosted_members,
    boosted_predictions,
    check_stages,
)
from covey.members._ensemble_fusion import EnsembleFusion
from covey.members._ensemble_members import members_from
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._given import Classifiers, Regressors
from covey.members._sampling import HoldingOut, check_ensemble


def from_boosting(
    ensemble: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_stages: int | None = None,
    validation_fraction: float = 0.2,
    random_state: Any = None,
) -> BoostedMembers:
    """The members of boosting, for fusers and measures.

    *AdaBoost* [1]_ fits models to rows of changing weights, and lets them vote by weights of
    their own: the members are these models. A tree of *gradient boosting* [2]_ says nothing
    alone: it corrects a score by what the trees before it left. Its members are therefore the
    *stages*: the model after the first round, after the second, and so on up to all of them.

    Parameters
    ----------
    ensemble : AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier or \
their regressors
        Fitted or not, as for `from_bagging`.
    X, y, sample_weight, validation_fraction, random_state
        As for `from_bagging`. Every member sees every row, so a rule that learns gets rows that
        are held out.
    n_stages : int or None, default=None
        Of gradient boosting: how many stages are members, evenly spaced up to the last. None:
        all of them.

    Returns
    -------
    members : BoostedClassifiers or BoostedRegressors

    References
    ----------
    .. [1] Freund and Schapire, "A decision-theoretic generalization of on-line learning and an
       application to boosting", Journal of Computer and System Sciences 55(1), 1997.
    .. [2] Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
       Statistics 29(5), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
    >>> from covey.inspection import diversity
    >>> from covey.members import from_boosting
    >>> X, y = load_wine(return_X_y=True)
    >>> stumps = from_boosting(AdaBoostClassifier(random_state=0), X[::2], y[::2])
    >>> diversity(stumps.predictions(X[1::2]), y[1::2])["disagreement"] > 0.3
    True
    >>> stumps.fuse().score(X[1::2], y[1::2]) == stumps.ensemble.score(X[1::2], y[1::2])
    True
    >>> boosting = GradientBoostingClassifier(n_estimators=40, random_state=0)
    >>> fused = from_boosting(boosting, X[::2], y[::2], n_stages=4).fuse()
    >>> fused.staged_score(X[1::2], y[1::2]).round(1)
    array([0.9, 0.9, 0.9, 0.9])
    >>> fused.explain_fusion(X[1:2], as_frame=True).round(1)
       stage 10  stage 20  stage 30  stage 40
    0       0.7       0.2       0.1       0.0
    """
    check_ensemble(ensemble, BOOSTING)
    check_stages(ensemble, n_stages)
    make = partial(boosted_members, n_stages=n_stages)
    holding_out = HoldingOut(validation_fraction, random_state)
    return members_from(make, ensemble, BOOSTING, X, y, sample_weight, holding_out)


# -- the fused models ------------------------------------------------------------------------


class _BoostedFusion(EnsembleFusion):
    """What both kinds share."""

    _known = BOOSTING

    def __init__(
        self,
        ensemble: BaseEstimator,
        fuser: str | Fuser | None = None,
        *,
        n_stages: int | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.ensemble = ensemble
        self.fuser = fuser
        self.n_stages = n_stages
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _make(self) -> Callable[..., BoostedMembers]:
        check_stages(self.ensemble, self.n_stages)
        return partial(boosted_members, n_stages=self.n_stages)

    def _take(self, source: BoostedMembers, fuser: Fuser) -> Self:
        self.stages_ = source.stages
        return super()._take(source, fuser)

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        kind = kind or self.kind_
        of_members = self.estimators_, self._names(), self.stages_
        return boosted_predictions(self._models, self.ensemble_, *of_members, X, kind)


class BoostedFusionClassifier(_BoostedFusion, FusedClassifier):
    """Grows a boosted classifier, and fuses its members by any rule.

    The members are AdaBoost's models, or the stages of gradient boosting: see `from_boosting`. A
    rule that learns does so from rows that are held out, and the ensemble is grown on the others.

    Take it to see which stages decide, or to try another rule over them. To predict as the
    boosting itself does, the boosting alone is faster.

    Parameters
    ----------
    ensemble : classifier
        scikit-learn's ``AdaBoostClassifier``, ``GradientBoostingClassifier`` or
        ``HistGradientBoostingClassifier``. A copy of it is fitted.
    fuser : str, Fuser or None, default=None
        How to fuse: a name or an object of `covey.fusers`. None decides as the ensemble itself:
        by AdaBoost's weighted vote, or by the last stage.
    n_stages : int or None, default=None
        Of gradient boosting: how many stages are members, evenly spaced up to the last. None:
        all of them.
    validation_fraction, random_state
        As for `SampledFusionClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : classifier
        The fitted ensemble.
    estimators_ : list of classifiers
        Its members.
    stages_ : ndarray of shape (n_members,) or None
        After how many rounds of gradient boosting each member is; None for AdaBoost.
    fuser_, kind_
        As of `FusionClassifier`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from covey import BoostedFusionClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> stumps = AdaBoostClassifier(n_estimators=20, random_state=0)
    >>> fused = BoostedFusionClassifier(stumps, "majority").fit(X[::2], y[::2])
    >>> fused.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _models = Classifiers

    def _member_values(self, X: Any) -> np.ndarray:
        """Probabilities if the members have them, whatever the fuser reads."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else None).values

    def _fused(self, X: Any) -> np.ndarray:
        # The other stages need not be looked at.
        if isinstance(self.fuser_, LastStage):
            return self.ensemble_.predict_proba(X)
        return super()._fused(X)


class BoostedFusionRegressor(_BoostedFusion, FusedRegressor):
    """Grows a boosted regressor, and fuses its members' numbers by any rule.

    The regressor's `BoostedFusionClassifier`.

    Take it to see which stages moved a number, or to try another rule over them.

    Parameters
    ----------
    ensemble : regressor
        scikit-learn's ``AdaBoostRegressor``, ``GradientBoostingRegressor`` or
        ``HistGradientBoostingRegressor``. A copy of it is fitted.
    fuser : str, Fuser or None, default=None
        How to fuse: a name or an object of `covey.fusers` for numbers. None decides as the
        ensemble itself: by AdaBoost's weighted median, or by the last stage.
    n_stages, validation_fraction, random_state
        As for `BoostedFusionClassifier`.

    Attributes
    ----------
    ensemble_, estimators_, stages_, fuser_, n_features_in_, feature_names_in_
        As of `BoostedFusionClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from covey import BoostedFusionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(random_state=0)
    >>> mean = BoostedFusionRegressor(boosting, "mean").fit(X[::2], y[::2])
    >>> plain = boosting.fit(X[::2], y[::2])
    >>> mean.score(X[1::2], y[1::2]) > plain.score(X[1::2], y[1::2])
    True
    """

    _models = Regressors

    def _member_values(self, X: Any) -> np.ndarray:
        return self._predictions(X).values[:, :, 0]

    def _fused(self, X: Any) -> np.ndarray:
        if isinstance(self.fuser_, LastStage):
            return self.ensemble_.predict(X)
        return super()._fused(X)


BoostedClassifiers._fused_by = BoostedFusionClassifier
BoostedRegressors._fused_by = BoostedFusionRegressor
