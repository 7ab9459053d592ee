"""Members from ensembles that sample, bagging, random subspaces, forests, fused into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from covey._core.fusion.out_of_bag import mean_in_order
from covey.fusers import Fuser, Mean, Predictions, member_values
from covey.members._ensemble_fusion import EnsembleFusion
from covey.members._ensemble_members import members_from
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._given import Classifiers, Regressors
from covey.members._sampled_sources import (
    SampledClassifiers,
    SampledMembers,
    SampledRegressors,
    members_of,
)
from covey.members._sampling import (
    BAGGING,
    FORESTS,
    HoldingOut,
    as_array,
    leaves_rows_out,
)


def from_bagging(
    ensemble: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float = 0.2,
    random_state: Any = None,
) -> SampledMembers:
    """The members of a bagging ensemble, for fusers and measures.

    Bagging [1]_ samples rows, random subspaces [2]_ sample columns, and random patches [3]_
    sample both: all of them are scikit-learn's ``BaggingClassifier`` and ``BaggingRegressor``,
    over any base.

    Parameters
    ----------
    ensemble : BaggingClassifier or BaggingRegressor
        Or one of imbalanced-learn's: ``BalancedBaggingClassifier``, ``EasyEnsembleClassifier``,
        of which a member's bag is its balanced sample. If it is not fitted, a copy of it is
        fitted to X and y. If it is, it is used as it is, and X and y must be the rows that it
        was fitted on, in their order.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
        Passed to the ensemble's ``fit`` and to fusers that learn.
    validation_fraction : float, default=0.2
        The share of rows (of each class) that is held out for a fuser that learns, if no
        member leaves a row out itself: see `SampledClassifiers.fuse`.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and seeds an ensemble that has no ``random_state``.

    Returns
    -------
    members : SampledClassifiers or SampledRegressors

    References
    ----------
    .. [1] Breiman, "Bagging predictors", Machine Learning 24(2), 1996.
    .. [2] Ho, "The random subspace method for constructing decision forests", IEEE TPAMI
       20(8), 1998.
    .. [3] Louppe and Geurts, "Ensembles on random patches", ECML PKDD 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from covey.members import from_bagging
    >>> X, y = load_wine(return_X_y=True)
    >>> patches = BaggingClassifier(GaussianNB(), 30, max_features=0.4, random_state=0)
    >>> members = from_bagging(patches, X, y)
    >>> members.feature_mask.sum(axis=1)[:4]
    array([5, 5, 5, 5])
    >>> members.out_of_bag_score(by="majority") > 0.9
    True
    """
    holding_out = HoldingOut(validation_fraction, random_state)
    return members_from(members_of, ensemble, BAGGING, X, y, sample_weight, holding_out)


def from_forest(
    ensemble: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    validation_fraction: float = 0.2,
    random_state: Any = None,
) -> SampledMembers:
    """The trees of a random forest [1]_ or of extra trees [2]_, for fusers and measures.

    Parameters
    ----------
    ensemble : RandomForestClassifier, ExtraTreesClassifier or their regressors
        Or imbalanced-learn's ``BalancedRandomForestClassifier``, of which a tree's bag is its
        balanced sample. Fitted or not, as for `from_bagging`.
    X, y, sample_weight, validation_fraction, random_state
        As for `from_bagging`. Rows are held out if the trees are grown without bootstrap.

    Returns
    -------
    members : SampledClassifiers or SampledRegressors

    References
    ----------
    .. [1] Breiman, "Random forests", Machine Learning 45(1), 2001.
    .. [2] Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63(1),
       2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from covey.inspection import diversity
    >>> from covey.members import from_forest
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = from_forest(RandomForestClassifier(30, random_state=0), X[::2], y[::2])
    >>> trees.out_of_bag_score() > 0.95
    True
    >>> diversity(trees.predictions(X[1::2]), y[1::2])["double_fault"] < 0.1
    True
    >>> trees.fuse("majority").score(X[1::2], y[1::2]) > 0.95
    True
    """
    holding_out = HoldingOut(validation_fraction, random_state)
    return members_from(members_of, ensemble, FORESTS, X, y, sample_weight, holding_out)


# -- the fused models ------------------------------------------------------------------------


class _SampledFusion(EnsembleFusion):
    """What both kinds share."""

    _known = BAGGING + FORESTS

    def __init__(
        self,
        ensemble: BaseEstimator,
        fuser: str | Fuser = "mean",
        *,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.ensemble = ensemble
        self.fuser = fuser
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _make(self) -> Callable[..., SampledMembers]:
        return members_of

    def _leaves_rows_out(self, unfitted: BaseEstimator, n_rows: int) -> bool:
        return leaves_rows_out(unfitted, n_rows)

    def _as_members_take(self, X: Any) -> Any:
        """The rows as members take them, converted once for all."""
        return as_array(X, isinstance(self.ensemble_, FORESTS))

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        kind, classes = kind or self.kind_, getattr(self, "classes_", None)
        X = self._as_members_take(X)
        return self._models.predictions(self.estimators_, self._names(), X, kind, classes)

    def _fused(self, X: Any) -> np.ndarray:
        if not self._is_plain_mean():
            return super()._fused(X)
        P = self._predictions(X)
        mean = mean_in_order(P.values, P.available)
        if P.available is not None and P.kind != "value":
            # Where no member predicts, all classes are equal, as for every rule.
            mean[~P.available.any(axis=1)] = 1.0 / mean.shape[1]
        return mean[:, 0] if P.kind == "value" else mean

    def _is_plain_mean(self) -> bool:
        """Whether the members are fused as the ensemble itself does, to the last bit."""
        return type(self.fuser_) is Mean and self.fuser_.weights is None


class SampledFusionClassifier(_SampledFusion, FusedClassifier):
    """Grows an ensemble that samples, and fuses its members by any rule.

    A rule that learns does so from out-of-bag predictions, so nothing is fitted twice. Where
    every member sees every row (extra trees, random subspaces of all rows), it learns from
    rows that are held out, and the ensemble is grown on the others.

    Take it to fuse a forest or bagged models by a rule that learns, without rows of its own for
    that. For a plain vote or mean, the forest itself is faster.

    Parameters
    ----------
    ensemble : classifier
        scikit-learn's ``BaggingClassifier``, ``RandomForestClassifier`` or
        ``ExtraTreesClassifier``. A copy of it is fitted.
    fuser : str or Fuser, default="mean"
        How to fuse: a name or an object of `covey.fusers`. "mean" gives what the ensemble
        itself gives.
    validation_fraction : float, default=0.2
        The share of each class that is held out, where one has to be.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and seeds an ensemble that has no ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : classifier
        The fitted ensemble.
    estimators_ : list of SampledClassifier
        Its members; each takes the whole X.
    fuser_, kind_
        As of `FusionClassifier`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from covey import SampledFusionClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = ExtraTreesClassifier(20, random_state=0)
    >>> fused = SampledFusionClassifier(trees, "knora_e", random_state=0).fit(X[::2], y[::2])
    >>> fused.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _models = Classifiers

    def _member_values(self, X: Any) -> np.ndarray:
        """Probabilities if the members have them, whatever the fuser reads."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else None).values

    def _fused_log(self, X: Any) -> np.ndarray:
        if self._is_plain_mean():
            with np.errstate(divide="ignore"):
                return np.log(self._fused(X))
        return super()._fused_log(X)


class SampledFusionRegressor(_SampledFusion, FusedRegressor):
    """Grows an ensemble that samples, and fuses its members' numbers by any rule.

    The regressor's `SampledFusionClassifier`: a rule that learns does so from out-of-bag
    predictions, or from rows that are held out where every member sees every row.

    Take it to fuse a forest's or bagged numbers by a rule that learns. For a plain mean, the
    forest itself is faster.

    Parameters
    ----------
    ensemble : regressor
        scikit-learn's ``BaggingRegressor``, ``RandomForestRegressor`` or
        ``ExtraTreesRegressor``. A copy of it is fitted.
    fuser : str or Fuser, default="mean"
        How to fuse: "mean", "median", "trimmed_mean", "linear_stacking", "stacking" or "gate",
        or an object of `covey.fusers`. "mean" gives what the ensemble itself gives.
    validation_fraction, random_state
        As for `SampledFusionClassifier`.

    Attributes
    ----------
    ensemble_, estimators_, fuser_, n_features_in_, feature_names_in_
        As of `SampledFusionClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import BaggingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from covey import SampledFusionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> patches = BaggingRegressor(Ridge(0.01), 20, max_features=0.5, random_state=0)
    >>> stacked = SampledFusionRegressor(patches, "linear_stacking").fit(X[::2], y[::2])
    >>> plain = patches.fit(X[::2], y[::2])
    >>> stacked.score(X[1::2], y[1::2]) > plain.score(X[1::2], y[1::2])
    True
    """

    _models = Regressors

    def _member_values(self, X: Any) -> np.ndarray:
        return member_values(self.estimators_, self._names(), self._as_members_take(X))


SampledClassifiers._fused_by = SampledFusionClassifier
SampledRegressors._fused_by = SampledFusionRegressor
