"""Flocks of softmax-linear members, which predict classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import column_or_1d

from covey._core.algorithm1.settings import REWEIGHTINGS
from covey._core.losses import LOSSES, ClassLoss
from covey._core.search.families import CLASSIFICATION
from covey._core.softmax_linear import linear_logits, log_softmax
from covey._decisions import decided
from covey._devices import returned
from covey._state import Labels
from covey._validation import check_choice, check_number
from covey.fusers import Predictions, Product
from covey.fusers._gate import GatedGroups
from covey.members._ensemble import Ensemble, accepts_dask
from covey.members._linear_flock import LinearFlock
from covey.members._member import LinearMember
from covey.members._targets import check_same_classes, check_two_classes, weighted_classes
from covey.members._training_rows import TrainingRows

_MOST_FOR_NEWTON = 2000


class ClassFlock(LinearFlock, ClassifierMixin, BaseEstimator):
    """What `FlockClassifier` and `SubsetEnsembleClassifier` share."""

    classes_: Labels("C", 2)

    _numeric = False
    _task = CLASSIFICATION
    _learning_rates = ("auto", "constant", "newton")
    _linear_rule = "product"

    # -- fit -------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice(self._setting("loss"), "loss", LOSSES)
        check_number(self._setting("focal_gamma"), "focal_gamma", low=0)
        if self._setting("reweighting") is not None:
            check_choice(self._setting("reweighting"), "reweighting", REWEIGHTINGS)

    def _settings_of_task(self) -> dict[str, Any]:
        return {
            "fit_intercept": bool(self._setting("fit_intercept")),
            "loss": ClassLoss(self._setting("loss"), float(self._setting("focal_gamma"))),
            "reweighting": self._setting("reweighting"),
        }

    def _check_target(self, rows: TrainingRows, continued: bool) -> None:
        self._check_newton(rows.n_features)
        if continued:
            check_same_classes(rows.classes, self.classes_)
        largest = rows.largest_weights
        if self.class_weight is not None:
            factors, largest = weighted_classes(
                self.class_weight, rows.classes, rows.class_weights, largest
            )
            rows.set_class_weight(factors)
        check_two_classes(type(self).__name__, rows.classes, largest)
        self.classes_ = rows.classes

    def _check_newton(self, n_features: int) -> None:
        if self._setting("learning_rate") == "newton" and n_features > _MOST_FOR_NEWTON:
            raise ValueError(
                f"learning_rate='newton' keeps a matrix of all pairs of features, but X has "
                f"{n_features} of them, more than {_MOST_FOR_NEWTON}; use 'auto'."
            )

    def _failure(self, grown: Any) -> str | None:
        """How the training of a member failed, if it did."""
        past = grown.history[0].objective
        guess = ClassLoss(self.loss, self.focal_gamma).of_uniform_guess(len(self.classes_))
        uniform = -guess * float(grown.weight_sum[0])
        if past[-1] >= min(past[0], uniform):
            return None
        remedy = (
            "start closer to zero (init_scale), or rescale X"
            if self._setting("learning_rate") == "auto"
            else "use learning_rate='auto' or a smaller number"
        )
        return (
            "ended with an objective below that of their start and of a uniform guess: "
            f"learning_rate={self._setting('learning_rate')!r} overshoots; {remedy}."
        )

    def _known(self, y: Any) -> np.ndarray:
        """The codes of classes; others are refused."""
        y = column_or_1d(y)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        found = [codes.get(label, -1) for label in y.tolist()]
        if -1 in found:
            label = y.tolist()[found.index(-1)]
            raise ValueError(
                f"y holds the label {label!r}, which this {type(self).__name__} was not fitted "
                f"on; its classes are {', '.join(map(repr, codes))}."
            )
        return np.array(found, dtype=np.int64)

    # -- attributes ------------------------------------------------------------------------

    def _member(self, coef, intercept, support) -> LinearMember:
        return LinearMember(
            coef,
            intercept,
            self.classes_,
            support,
            getattr(self, "feature_names_in_", None),
            self.basis_,
            self.preparation_,
            self._column_scale,
        )

    def _is_linear(self) -> bool:
        return isinstance(self.fuser_, Product)

    def _difference(self) -> tuple[np.ndarray, np.ndarray]:
        """The one linear model, of two classes by their difference, as scikit-learn has it."""
        coef, intercept = self._as_one()
        if len(coef) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients, (1 or n_classes, n_features), of a flock that is one linear model."""
        return self._difference()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, (1 or n_classes,), of a flock that is one linear model."""
        return self._difference()[1]

    def _contrast(self) -> np.ndarray:
        # Softmax ignores what all classes share.
        return self.member_coef_ - self.member_coef_.mean(axis=1, keepdims=True)

    def to_sklearn(self) -> LogisticRegression:
        """The whole ensemble as a plain ``LogisticRegression``, which needs no covey.

        Only a flock with ``fuser="product"`` is one linear model. The parameters of the model
        are scikit-learn's defaults: to fit it again would give another model.

        Returns
        -------
        model : sklearn.linear_model.LogisticRegression
            Fitted; with the same probabilities of rows within what was seen.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from covey import SubsetEnsembleClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
        >>> flock.to_sklearn()
        LogisticRegression()
        """
        self.collapse()
        self._check_numbers_alone()
        model = LogisticRegression(fit_intercept=bool(self._setting("fit_intercept")))
        # Copies: what is done to one model is not done to the other.
        model.classes_ = self.classes_.copy()
        model.coef_, model.intercept_ = (part.copy() for part in self._difference())
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_.copy()
        model.n_iter_ = np.array([int(np.sum(self.n_iter_))], dtype=np.int32)
        return model

    # -- predict ---------------------------------------------------------------------------

    def _predictions(self, X: Any) -> Predictions:
        logs = log_softmax(self._outputs(X)).transpose(2, 1, 0)
        return Predictions(np.exp(logs), self.classes_, log_values=logs)

    def _example(self) -> Predictions:
        n_classes = len(self.classes_)
        even = np.full((1, self.n_estimators_, n_classes), 1.0 / n_classes)
        return Predictions(even, self.classes_)

    def _decision(self, probabilities: np.ndarray) -> tuple[dict[str, Any], int]:
        """A record of the most probable class, and its position."""
        code = int(probabilities.argmax())
        label = self.classes_[code : code + 1].tolist()[0]
        return {"prediction": label, "probability": float(probabilities[code])}, code

    def _decided(self, probabilities: np.ndarray) -> dict[str, Any]:
        """A record of the class that the flock predicts."""
        code = int(decided(self, probabilities[None])[0])
        label = self.classes_[code : code + 1].tolist()[0]
        return {"prediction": label, "probability": float(probabilities[code])}

    def _fused_log(self, X: Any) -> np.ndarray:
        if self._is_linear():
            return log_softmax(linear_logits(self.basis_.rows(X), *self._as_one())).T
        if isinstance(self.fuser_, GatedGroups):
            with np.errstate(divide="ignore"):
                return np.log(self._fused(X))
        return super()._fused_log(X)

    def _fused(self, X: Any) -> np.ndarray:
        if self._is_linear():
            return np.exp(self._fused_log(X))
        if isinstance(self.fuser_, GatedGroups):
            return self.fuser_.fuse_linear(X, self.member_coef_, self.member_intercept_)
        return super()._fused(X)

    @accepts_dask
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores whose softmax are the fused probabilities; for two classes the log-odds.

        Of a flock with ``fuser="product"``, which is one linear model, they are its logits: one
        product with X. Of others they are logarithms of probabilities. Shapes are as in
        scikit-learn: (n_samples,) for two classes, else (n_samples, n_classes).
        """
        if not (hasattr(self, "fuser_") and self._is_linear()):
            return super().decision_function(X)
        rows = self.basis_.rows(self._check_rows(X))
        coef, intercept = self._difference()
        # Classes first: sums along few classes are slow.
        scores = (rows @ coef.T).T if hasattr(rows, "tocsr") else coef @ rows.T
        scores += intercept[:, None]
        return returned(scores[0] if len(coef) == 1 else scores.T, X)

    predict = accepts_dask(Ensemble.predict)
    predict_proba = accepts_dask(Ensemble.predict_proba)
    predict_log_proba = accepts_dask(Ensemble.predict_log_proba)
    member_probabilities = accepts_dask(Ensemble.member_probabilities)
