"""Flocks of linear members, which predict numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from covey._core.losses import ValueLoss
from covey._core.search.families import REGRESSION
from covey._core.softmax_linear import linear_logits
from covey._state import Number, Record
from covey._validation import check_choice, check_number
from covey.fusers import Mean, Predictions
from covey.fusers._gate import GatedGroups
from covey.members._ensemble import Ensemble, accepts_dask, check_numbers
from covey.members._linear_flock import LinearFlock
from covey.members._member import LinearRegressionMember
from covey.members._targets import VALUE_LOSSES, share_left, standardize_values, value_loss
from covey.members._training_rows import TrainingRows


class ValueFlock(LinearFlock, RegressorMixin, BaseEstimator):
    """What `FlockRegressor` and `SubsetEnsembleRegressor` share."""

    y_center_: Number()
    y_scale_: Number(1e-200)
    _value_loss: Record(ValueLoss)

    _sizes: ClassVar = {"C": 1}
    _numeric = True
    _task = REGRESSION
    _learning_rates = ("auto",)
    _linear_rule = "mean"
    fit_intercept = True
    scale_features = True

    # -- fit -------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice(self.loss, "loss", VALUE_LOSSES)
        check_number(self.epsilon, "epsilon", low=1.0)
        check_number(self.quantile, "quantile", low=0, high=1, closed="neither")

    def _settings_of_task(self) -> dict[str, Any]:
        return {"loss": self._value_loss, **self._optimizer()}

    def _check_target(self, rows: TrainingRows, continued: bool) -> None:
        if rows.n_weighted() < 2:
            raise ValueError(
                "sample_weight is above 0 for one row only; at least two are needed to learn from."
            )

    def _set_target(self, rows: TrainingRows, continued: bool) -> None:
        """Standardize y and choose the loss in its units; a warm start keeps both."""
        if continued:
            rows.standardize_target(self.y_center_, self.y_scale_, None)
            known = self.y_range_
        else:
            known = None
            self._set_scale(*rows.moments())
            self.y_center_, self.y_scale_ = standardize_values(rows, self.loss, self.quantile)
            narrow, kept = self._narrowed(rows)
            self._value_loss = value_loss(
                narrow,
                self.mean_[kept],
                self.scale_[kept],
                self.loss,
                self.epsilon,
                self.quantile,
            )
        rows.set_loss(self._value_loss)
        self._keep_y_range(*rows.target_range(), rows.n_weighted())
        if known is not None:
            low, high = zip(known, self.y_range_, strict=True)
            self.y_range_ = np.array([min(low), max(high)])

    def _share_left(self, rows: TrainingRows) -> float:
        """The share of a constant's loss that a linear model leaves."""
        narrow, kept = self._narrowed(rows)
        mean, scale = self.mean_[kept], self.scale_[kept]
        return share_left(narrow, mean, scale, int(self._usable.sum()), self._value_loss)

    def _failure(self, grown: Any) -> str | None:
        past = grown.history[0].objective
        if past[1:].min() > past[0]:
            return (
                "never got below the loss of their start, so that no subset was searched: "
                f"learning_rate={self.learning_rate!r} overshoots; use learning_rate='auto' or a "
                "smaller number."
            )
        if not grown.converged[0]:
            return (
                f"did not converge in max_iter={self.max_iter} iterations; use more, or an alpha "
                "above 0."
            )
        return None

    def _known(self, y: Any) -> np.ndarray:
        """Numbers, checked."""
        return check_numbers(y)

    # -- attributes ------------------------------------------------------------------------

    def _in_units_of_y(self, coef, intercept):
        return coef * self.y_scale_, self.y_center_ + intercept * self.y_scale_

    def _member(self, coef, intercept, support) -> LinearRegressionMember:
        return LinearRegressionMember(
            coef[0],
            float(intercept[0]),
            support,
            getattr(self, "feature_names_in_", None),
            self.basis_,
            self.preparation_,
            self._column_scale,
        )

    def _is_linear(self) -> bool:
        return isinstance(self.fuser_, Mean)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients, (n_features,), of a flock that is one linear model."""
        return self._as_one()[0][0]

    @property
    def intercept_(self) -> float:
        """The intercept of a flock that is one linear model."""
        return float(self._as_one()[1][0])

    def _contrast(self) -> np.ndarray:
        return self.member_coef_

    def to_sklearn(self) -> LinearRegression:
        """The whole ensemble as a plain ``LinearRegression``, which needs no covey.

        Only a flock with ``fuser="mean"`` is one linear model; the predictions are the same for
        rows within what was seen.
        """
        self.collapse()
        self._check_numbers_alone()
        model = LinearRegression()
        model.coef_, model.intercept_ = self.coef_, self.intercept_
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_.copy()
        return model

    # -- predict ---------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return [f"member {k}" for k in range(1, self.n_estimators_ + 1)]

    def _predictions(self, X: Any) -> Predictions:
        return Predictions(self._outputs(X)[0].T, names=self._names(), kind="value")

    def _example(self) -> Predictions:
        return Predictions(np.zeros((1, self.n_estimators_)), kind="value")

    def _decision(self, value: np.ndarray) -> tuple[dict[str, Any], int]:
        return {"prediction": float(value)}, 0

    def _decided(self, value: np.ndarray) -> dict[str, Any]:
        return self._decision(value)[0]

    def _fused(self, X: Any) -> np.ndarray:
        if self._is_linear():
            return self._bounded(linear_logits(self.basis_.rows(X), *self._as_one())[0])
        if isinstance(self.fuser_, GatedGroups):
            fused = self.fuser_.fuse_linear(X, self.member_coef_, self.member_intercept_)
            return self._bounded(fused[:, 0])
        return super()._fused(X)

    predict = accepts_dask(Ensemble.predict)
    member_predictions = accepts_dask(Ensemble.member_predictions)
