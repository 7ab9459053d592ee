"""The members of ensembles that sample, with their bags."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from covey._blocks import take_rows
from covey._core.fusion.out_of_bag import (
    mean_in_order,
    median_of_available,
    outside_bags,
    votes_of_available,
    with_means_of_available,
)
from covey._validation import check_choice, check_sample_weight
from covey.fusers import Fuser, Predictions
from covey.members._ensemble_members import EnsembleMembers
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._given import Classifiers, Regressors
from covey.members._sampled_member import SampledClassifier, SampledRegressor
from covey.members._sampling import (
    FORESTS,
    HoldingOut,
    as_array,
    bags_of,
    balances,
)


class SampledMembers(EnsembleMembers):
    """What members of both kinds have: see `SampledClassifiers` and `SampledRegressors`.

    A subclass of `EnsembleMembers` that also sets ``_rules`` (how out-of-bag predictions are
    summarized) and writes ``_member`` and ``_score``.
    """

    def __init__(
        self,
        ensemble: BaseEstimator,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        unfitted: BaseEstimator | None,
        holding_out: HoldingOut | None = None,
    ) -> None:
        super().__init__(ensemble, X, y, sample_weight, unfitted, holding_out)
        self._is_forest = isinstance(ensemble, FORESTS)
        word = "tree" if self._is_forest else "member"
        self.names = [f"{word} {k}" for k in range(1, len(ensemble.estimators_) + 1)]
        self.bootstrap_rows = bags_of(ensemble, X.shape[0], sample_weight)
        self.out_of_bag = outside_bags(self.bootstrap_rows, X.shape[0])
        columns = [None] * len(self.names) if self._is_forest else ensemble.estimators_features_
        of_table = ensemble.n_features_in_, getattr(ensemble, "feature_names_in_", None)
        self.estimators = [
            self._member(member, used, *of_table)
            for member, used in zip(ensemble.estimators_, columns, strict=True)
        ]
        self.feature_mask = np.zeros((len(self.names), ensemble.n_features_in_), dtype=bool)
        for mask, member, used in zip(
            self.feature_mask, ensemble.estimators_, columns, strict=True
        ):
            # A tree marks its leaves by a negative number.
            mask[member.tree_.feature[member.tree_.feature >= 0] if used is None else used] = True
        self._out_of_bag_of_kind: dict[str, Predictions] = {}

    @abstractmethod
    def _member(self, member: Any, columns: Any, n_features: int, names: Any) -> Any:
        """A member of the ensemble as a model of the whole X."""

    @abstractmethod
    def _score(self, decided: np.ndarray, rows: np.ndarray, weight: np.ndarray | None) -> float:
        """How good decisions about some training rows are."""

    def out_of_bag_predictions(self) -> Predictions:
        """What members predict of the training rows outside their bags.

        ``available`` is True where a member was grown without the row.
        """
        self._check_outside()
        return self._out_of_bag(self.kind)

    def fuse(self, fuser: str | Fuser = "mean") -> FusedClassifier | FusedRegressor:
        """One model that fuses these members.

        A rule that learns does so from out-of-bag predictions: of each row it reads the members
        grown without it. (Rows in every bag are left out, with a warning.) `Gate`, "knop" and
        "meta_des" need every member's prediction; for them the mean of the members grown without
        the row replaces those of the others.

        Where every member has seen every row (extra trees, random subspaces of all rows; or every
        row of the rarest class, under balanced samples) a rule that learns needs rows that none
        has seen: ``validation_fraction`` of them (of each class) is held out, and the ensemble is
        **grown anew on the others**.

        Parameters
        ----------
        fuser : str or Fuser, default="mean"
            A name or an object of `covey.fusers`; for regressors one of numbers. "mean" gives
            what the ensemble itself gives.

        Returns
        -------
        fused : SampledFusionClassifier or SampledFusionRegressor
            Fitted. A copy of it that is fitted to other rows grows the ensemble on them.
        """
        return self._fuse(fuser)

    def out_of_bag_decision(self, by: str = "mean") -> np.ndarray:
        """What the members outside whose bags a row is decide together.

        Parameters
        ----------
        by : {"mean", "majority"} or, of regressors, {"mean", "median"}, default="mean"
            The mean of their numbers, or of their probabilities (of votes, where they have
            none): scikit-learn's ``oob_prediction_`` and ``oob_decision_function_``. Or shares
            of their votes, or the median of their numbers.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_classes) or, of regressors, (n_samples,)
            NaN in rows that are in every bag; a warning counts them.
        """
        check_choice(by, "by", self._rules)
        self._check_outside()
        self._rows_outside("have no out-of-bag decision (NaN)")
        return self._decide(by)

    def out_of_bag_score(self, by: str = "mean", sample_weight: ArrayLike | None = None) -> float:
        """Accuracy, or R^2, of the out-of-bag decision.

        Parameters
        ----------
        by : {"mean", "majority"} or, of regressors, {"mean", "median"}, default="mean"
            As for ``out_of_bag_decision``.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. By default all alike, also where the ensemble was fitted
            with weights, as in scikit-learn's ``oob_score_``.

        Returns
        -------
        score : float
            Rows that are in every bag are left out, with a warning. (scikit-learn's
            ``oob_score_`` counts them as decided for the first class, or as predicted 0.)
        """
        check_choice(by, "by", self._rules)
        self._check_outside()
        rows = self._rows_outside("are left out of the score")
        weight = sample_weight
        if weight is not None:
            weight = check_sample_weight(weight, len(rows))[rows]
        return float(self._score(self._decide(by)[rows], rows, weight))

    # -- shared by the methods above ---------------------------------------------------------

    def _leaves_enough_out(self) -> bool:
        """Whether a fuser can learn from rows outside bags.

        Balanced samples may all hold the rarest class whole, which would not be learnt of then.
        """
        outside = self.out_of_bag.any(axis=1)
        if self.classes is None or not balances(self.ensemble):
            return bool(outside.any())
        return len(np.unique(self._y[outside])) == len(self.classes)

    def _what_all_have_seen(self) -> str:
        return "every row of a class" if self.out_of_bag.any() else "every row"

    def _check_outside(self) -> None:
        if not self.out_of_bag.any():
            raise ValueError(
                "Every member has seen every row, so none is out of bag; grow the ensemble with "
                "bootstrap=True, or use rows that it was not fitted on."
            )

    def _rows_outside(self, consequence: str) -> np.ndarray:
        """Which rows are outside some member's bag, (n,); a warning counts the others."""
        outside = self.out_of_bag.any(axis=1)
        inside = len(outside) - int(outside.sum())
        if inside:
            warnings.warn(
                f"{inside} of {len(outside)} rows are in every member's bag and {consequence}; "
                "grow more members.",
                UserWarning,
                stacklevel=3,
            )
        return outside

    def _predict(self, X: Any, kind: str) -> Predictions:
        X = as_array(X, self._is_forest)
        return self._models.predictions(self.estimators, self.names, X, kind, self.classes)

    def _out_of_bag(self, kind: str) -> Predictions:
        if kind not in self._out_of_bag_of_kind:
            X = as_array(self._X, self._is_forest)
            width = 1 if self.classes is None else len(self.classes)
            values = np.zeros((*self.out_of_bag.shape, width))
            available = self.out_of_bag.copy()
            seen = np.ones((self.n_members, width), dtype=bool)
            for k in range(self.n_members):
                rows = np.flatnonzero(self.out_of_bag[:, k])
                if not len(rows):
                    continue
                one = slice(k, k + 1)
                P = self._models.predictions(
                    self.estimators[one], self.names[one], take_rows(X, rows), kind, self.classes
                )
                values[rows, k] = P.values[:, 0]
                if P.available is not None:
                    available[rows, k] = P.available[:, 0]
                if P.seen is not None:
                    seen[k] = P.seen[0]
            if kind == "label":
                values = self.classes[values.argmax(axis=2)]
            self._out_of_bag_of_kind[kind] = Predictions(
                values,
                self.classes,
                self.names,
                kind,
                available=available,
                seen=None if seen.all() else seen,
            )
        return self._out_of_bag_of_kind[kind]

    def _decide(self, by: str) -> np.ndarray:
        if by == "majority":
            # Votes are what members decide, which need not be their highest probability.
            labels = self._out_of_bag("label").labels
            return votes_of_available(labels, self.out_of_bag, len(self.classes))
        P = self._out_of_bag(self.kind)
        summarize = mean_in_order if by == "mean" else median_of_available
        decided = summarize(P.values, P.available)
        return decided[:, 0] if self.classes is None else decided

    def _teach(self, fuser: Fuser) -> Self:
        """Self, after the fuser has learnt from out-of-bag predictions what it has to."""
        if not fuser.learns:
            return super()._teach(fuser)
        kind = self._kind_for(fuser)
        rows = np.flatnonzero(self._rows_outside("teach the fuser nothing"))
        P = self._out_of_bag(kind).rows(rows)
        if fuser.needs_all_members:
            values = with_means_of_available(P.values, P.available)
            P = Predictions(values, P.classes, P.names, kind, seen=P.seen)
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        if weight is not None and not weight.any():
            of_which = "" if self.classes is None else " of each class"
            raise ValueError(
                f"{fuser.title} learns from out-of-bag rows, but all those{of_which} "
                "have sample_weight 0; grow more members, or take a rule that does not learn."
            )
        X = take_rows(self._X, rows) if fuser.needs_X else None
        fuser.fit(P, self._y[rows], X, weight)
        return self


class SampledClassifiers(SampledMembers):
    """Classifiers that were grown on samples of rows, of columns or of both.

    `from_bagging` and `from_forest` make it. A member's *bag* holds the rows that it was grown
    on; what it predicts of the others is as good as held out, so fusers can learn from it and
    no fold is needed.

    Attributes
    ----------
    ensemble : fitted BaggingClassifier, RandomForestClassifier or ExtraTreesClassifier
    estimators : list of SampledClassifier
        The members; each takes the whole X.
    names : list of str
    classes : ndarray of shape (n_classes,)
    kind : {"probability", "label"}
        What the members predict: labels, where they have no probabilities.
    feature_mask : ndarray of shape (n_members, n_features), bool
        The columns that each member may use; for the trees of a forest, those that their
        nodes split on.
    bootstrap_rows : list of n_members arrays
        The rows that each member was grown on; a row may be there twice.
    out_of_bag : ndarray of shape (n_samples, n_members), bool
        Which rows each member was grown without.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from covey.members import from_forest
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = from_forest(RandomForestClassifier(20, random_state=0), X[::2], y[::2])
    >>> trees.out_of_bag.shape, trees.out_of_bag_predictions().kind
    ((89, 20), 'probability')
    >>> fused = trees.fuse("meta_des")
    >>> fused.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _models = Classifiers
    _rules = ("mean", "majority")
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

    def _member(self, member: Any, columns: Any, n_features: int, names: Any) -> Any:
        return SampledClassifier(member, columns, n_features, names, self.classes)

    def _score(self, decided: np.ndarray, rows: np.ndarray, weight: np.ndarray | None) -> float:
        labels = self.classes[decided.argmax(axis=1)]
        return accuracy_score(self._y[rows], labels, sample_weight=weight)


class SampledRegressors(SampledMembers):
    """Regressors that were grown on samples of rows, of columns or of both.

    `from_bagging` and `from_forest` make it. Bags are as for `SampledClassifiers`.

    Attributes
    ----------
    ensemble : fitted BaggingRegressor, RandomForestRegressor or ExtraTreesRegressor
    estimators, names, feature_mask, bootstrap_rows, out_of_bag
        As of `SampledClassifiers`.
    kind : "value"
        What the members predict.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from covey.members import from_forest
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = from_forest(RandomForestRegressor(20, random_state=0), X, y)
    >>> trees.predictions(X[:3]).values[:, :, 0].shape
    (3, 20)
    >>> trees.out_of_bag_score(by="mean") > 0.3
    True
    """

    _models = Regressors
    _rules = ("mean", "median")
    _given_class = "FusionRegressor"
    kind = "value"

    def _member(self, member: Any, columns: Any, n_features: int, names: Any) -> Any:
        return SampledRegressor(member, columns, n_features, names)

    def _score(self, decided: np.ndarray, rows: np.ndarray, weight: np.ndarray | None) -> float:
        return r2_score(self._y[rows], decided, sample_weight=weight)


def members_of(ensemble: BaseEstimator, *data: Any) -> SampledMembers:
    """The members of a fitted ensemble, of either kind."""
    kind = SampledClassifiers if is_classifier(ensemble) else SampledRegressors
    return kind(ensemble, *data)
