"""The members of one ensemble, such as a forest, and how they are grown."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._blocks import as_table, take_rows
from covey._models import fit_with
from covey.fusers import Fuser, Predictions, encode_labels
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._sampling import (
    HoldingOut,
    check_ensemble,
    check_features,
    checked_rows,
    seeded,
)


class EnsembleMembers(metaclass=ABCMeta):
    """What members of any ensemble have.

    A subclass sets ``_models``, ``_given_class`` (the ensemble of models that are fitted
    already), ``kind`` (what members predict) and, once it exists, ``_fused_by`` (the estimator
    that fuses such members). Its constructor sets ``names`` and ``estimators``; it writes
    ``_predict``.
    """

    classes: np.ndarray | None = None
    names: list[str]
    estimators: list[Any]

    def __init__(
        self,
        ensemble: BaseEstimator,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        unfitted: BaseEstimator | None,
        holding_out: HoldingOut | None = None,
    ) -> None:
        self.ensemble = ensemble
        self._X, self._y, self._sample_weight = X, y, sample_weight
        self._unfitted, self._holding_out = unfitted, holding_out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.names)} members of {self.ensemble!r})"

    @abstractmethod
    def _predict(self, X: Any, kind: str) -> Predictions:
        """What the members predict of validated rows."""

    @property
    def n_members(self) -> int:
        """How many members there are."""
        return len(self.names)

    def predictions(self, X: ArrayLike) -> Predictions:
        """What every member predicts of new rows, as fusers and `covey.inspection` take it.

        These are probabilities where the members have them, else labels; of regressors numbers.
        """
        X = as_table(X)
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return self._predict(X, self.kind)

    def _fuse(
        self, fuser: str | Fuser | None, **parameters: Any
    ) -> FusedClassifier | FusedRegressor:
        """One model that fuses these members; None is the rule of the ensemble itself."""
        rule = self._own_rule() if fuser is None else self._models.make_fuser(fuser, "fuser")
        fused = self._fused_by(
            self.ensemble if self._unfitted is None else self._unfitted,
            fuser,
            validation_fraction=self._holding_out.fraction,
            random_state=self._holding_out.random_state,
            **parameters,
        )
        validate_data(fused, self._X, skip_check_array=True)
        fused._keep_seen(self._X, self._sample_weight)
        check_features(rule, self._X)
        if not rule.learns or self._leaves_enough_out():
            return fused._take(self._teach(rule), rule)
        if self._unfitted is None:
            raise ValueError(
                f"{type(rule).__name__} learns, but every member of the fitted ensemble has seen "
                f"{self._what_all_have_seen()}; give the ensemble unfitted, so that rows can be "
                f"held out, or use {self._given_class}(members.estimators, prefit=True) on rows "
                "that it has not seen."
            )
        data = self._X, self._y, self._sample_weight
        source = grown_without(self._alike(), self._unfitted, *data, self._holding_out, rule)
        return fused._take(source, rule)

    def _own_rule(self) -> Fuser:
        """The rule by which the ensemble itself decides."""
        return self._models.make_fuser("mean", "fuser")

    def _alike(self) -> Callable[..., EnsembleMembers]:
        """What makes members of another ensemble as these were made."""
        return type(self)

    def _leaves_enough_out(self) -> bool:
        """Whether a fuser can learn from rows that some members were grown without."""
        return False

    def _what_all_have_seen(self) -> str:
        return "every row"

    def _kind_for(self, fuser: Fuser) -> str:
        return self._models.kind_for(fuser, self.estimators, self.names)

    def _teach(self, fuser: Fuser) -> Self:
        """Self, after a fixed rule has been seen to suit the members."""
        fuser.fit(self._predict(take_rows(self._X, np.arange(1)), self._kind_for(fuser)))
        return self


def members_from(
    make: Callable[..., EnsembleMembers],
    ensemble: BaseEstimator,
    known: tuple[type, ...],
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    holding_out: HoldingOut,
) -> EnsembleMembers:
    """The members of an ensemble of the known kinds, or of a copy that is fitted here."""
    check_ensemble(ensemble, known)
    X, y, weight = checked_rows(X, y, sample_weight, is_classifier(ensemble))
    if not _is_fitted(ensemble):
        return grown(make, seeded(ensemble, holding_out.seed), X, y, weight, holding_out)
    if getattr(ensemble, "n_outputs_", 1) > 1:
        raise ValueError(
            f"The ensemble was fitted to {ensemble.n_outputs_} outputs; fit one for each."
        )
    validate_data(ensemble, X, reset=False, skip_check_array=True)
    if is_classifier(ensemble):
        encode_labels(y, ensemble.classes_, "y holds")
    return make(ensemble, X, y, weight, None, holding_out)


def _is_fitted(ensemble: BaseEstimator) -> bool:
    try:
        check_is_fitted(ensemble)
    except NotFittedError:
        return False
    return True


def grown(
    make: Callable[..., EnsembleMembers],
    unfitted: BaseEstimator,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    holding_out: HoldingOut | None = None,
) -> EnsembleMembers:
    """The members of a copy of the ensemble, fitted here."""
    weights = {} if weight is None else {"sample_weight": weight}
    ensemble = fit_with(clone(unfitted), X, y, weights)
    return make(ensemble, X, y, weight, unfitted, holding_out)


def grown_without(
    make: Callable[..., EnsembleMembers],
    unfitted: BaseEstimator,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    holding_out: HoldingOut,
    fuser: Fuser,
) -> EnsembleMembers:
    """Members grown without some rows, from which the fuser has then learnt."""
    others, held_out = holding_out.split(y if is_classifier(unfitted) else None, weight, len(y))
    weights = [None if weight is None else weight[rows] for rows in (others, held_out)]
    source = grown(make, unfitted, take_rows(X, others), y[others], weights[0])
    rows = take_rows(X, held_out)
    P = source._predict(rows, source._kind_for(fuser))
    fuser.fit(P, y[held_out], rows if fuser.needs_X else None, weights[1])
    return source
