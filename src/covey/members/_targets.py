"""The target of a model: classes and their weights, or standardized values, and their loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from covey._core.algorithm1.rows import REWEIGHTINGS
from covey._core.fusion.rules import settled
from covey._core.losses import LOSSES, POWERS, VALUE_LOSSES, ClassLoss, ValueLoss
from covey._core.search.plan import CLASSIFICATION, REGRESSION
from covey._core.softmax_linear import finite_exp, log_softmax
from covey._decisions import rare_class
from covey._state import Array, Labels, Number, Record
from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import Mean, Predictions, Product
from covey.fusers._predictions import encode_labels
from covey.members._calibrated import IntervalCalibration, SetCalibration
from covey.members._ensemble import (
    check_numbers,
    check_two_classes,
    held_within,
    range_of_numbers,
)
from covey.members._member import LinearMember, LinearRegressionMember
from covey.members._prepared_fit import PreparedFit
from covey.members._rows_in_memory import InMemoryRows

# -- classes ---------------------------------------------------------------------------------


def class_factors(class_weight: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the factor on the weights of each class, given their sums (C,)."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        used = weights > 0
        factors = np.zeros(len(classes))
        # Each class is given as one row that has the weight of all of its rows.
        factors[used] = compute_class_weight(
            class_weight, classes=classes[used], y=classes[used], sample_weight=weights[used]
        )
        return factors
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be 'balanced', a dict or None, got {class_weight!r}.")
    factors = np.asarray(
        compute_class_weight(class_weight, classes=classes, y=classes), dtype=float
    )
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}.")
    return factors


# -- values ----------------------------------------------------------------------------------

# The median absolute deviation of a normal distribution is this share of its standard one.
_NORMAL_DEVIATION = 0.6744897501960817
# Rounds that find the scale of the residuals, and the threshold of their linear model, in units of
# that scale.
_SCALE_ROUNDS = 3
_SCALE_EPSILON = 1.35
# Residuals this small, in units of y's own spread, count as none.
_LEAST_SCALE = 1e-3
# The least share of a constant's loss that a linear model is assumed to leave.
_LEAST_LEFT = 1e-4
# How far the corner of a quantile's loss is rounded, in units of the residuals' scale.
_BAND = 0.05
# The least share of the mean of y that counts as predicted where the logarithm does not exist.
_LEAST_RATE = 1e-12
# Robust losses grow evenly far from 0, so that the distance of an outlier does not matter; but it
# would dominate sums.
_FARTHEST = 1e6


# -- the target as flocks use it -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes that a model predicts: how they are weighed, learnt, fused and described."""

    classes: Annotated[np.ndarray, Labels("C", 2)]

    is_numeric = False
    task = CLASSIFICATION
    calibration = SetCalibration
    linear_fuser, linear_rule = Product, "product"

    @staticmethod
    def check_loss(flock: Any) -> None:
        """Refuse losses that members cannot climb."""
        check_choice(flock.loss, "loss", LOSSES)
        check_number(flock.focal_gamma, "focal_gamma", low=0)
        check_choice(flock.reweighting, "reweighting", REWEIGHTINGS, or_none=True)

    def growth(self, flock: Any) -> dict[str, Any]:
        """Return the settings of Algorithm 1 for classes."""
        return {
            "fit_intercept": bool(flock.fit_intercept),
            "loss": ClassLoss(flock.loss, float(flock.focal_gamma)),
            "reweighting": flock.reweighting,
        }

    @staticmethod
    def check_rows(flock: Any, rows: InMemoryRows, known: Classes | None) -> None:
        """Refuse classes that cannot be learnt, or that differ from the known ones; weigh them."""
        classes = np.asarray(rows.classes)
        if known is not None and not np.array_equal(classes, known.classes):
            raise ValueError(
                "warm_start continues with the classes of the first fit, "
                f"{known.classes.tolist()}, but y holds {classes.tolist()}."
            )
        largest = rows.largest_weights
        if flock.class_weight is not None:
            factors = class_factors(flock.class_weight, classes, rows.class_weights)
            largest = largest * factors
            if largest.any():
                check_sample_weight(largest, len(largest), "class_weight times sample_weight")
            rows.set_class_weight(factors)
        check_two_classes(type(flock).__name__, classes, largest)

    @classmethod
    def learnt(cls, fit: PreparedFit, known: Self | None) -> Self:
        """Return the classes as they are."""
        return cls(fit.rows.classes)

    def encoded(self, y: Any) -> np.ndarray:
        """Return the codes of classes; refuse others than these."""
        return encode_labels(column_or_1d(y), self.classes, "y holds")

    def failure(self, flock: Any, grown: Any) -> str | None:
        """Return how the training of a member failed, if it did."""
        past = grown.history[0].objective
        guess = ClassLoss(flock.loss, flock.focal_gamma).of_uniform_guess(len(self.classes))
        uniform = -guess * float(grown.weight_sum[0])
        if past[-1] >= min(past[0], uniform):
            return None
        remedy = (
            "start closer to zero (init_scale), or rescale X"
            if flock.learning_rate == "auto"
            else "use learning_rate='auto' or a smaller number"
        )
        return (
            "ended with an objective below that of their start and of a uniform guess: "
            f"learning_rate={flock.learning_rate!r} overshoots; {remedy}."
        )

    def in_units(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts in the units of the user."""
        return coef, intercept

    def member(
        self, coef: np.ndarray, intercept: np.ndarray, support: np.ndarray, **seen: Any
    ) -> LinearMember:
        """Return one linear model, (C, P), (C,) and (F,), as an estimator."""
        return LinearMember(coef, intercept, self.classes, support, **seen)

    def as_sklearn_has_it(
        self, coef: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one linear model, of two classes by their difference."""
        if len(coef) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    def plain_model(self, fit_intercept: bool, n_iter: int) -> LogisticRegression:
        """Return a model of scikit-learn's, without coefficients."""
        model = LogisticRegression(fit_intercept=fit_intercept)
        model.classes_ = self.classes.copy()
        model.n_iter_ = np.array([n_iter], dtype=np.int32)
        return model

    def contrast(self, coef: np.ndarray) -> np.ndarray:
        """Return members' coefficients (K, C, P) without the part that all classes share."""
        # A part that all classes share cancels in a softmax.
        return coef - coef.mean(axis=1, keepdims=True)

    def predictions(self, outputs: np.ndarray) -> Predictions:
        """Return the predictions of members whose linear functions are (C, K, n)."""
        logs = log_softmax(outputs).transpose(2, 1, 0)
        return Predictions(np.exp(logs), self.classes, log_values=logs)

    def example(self, n_members: int) -> Predictions:
        """Return predictions of one row by this many members, to check a fuser with."""
        n_classes = len(self.classes)
        even = np.full((1, n_members, n_classes), 1.0 / n_classes)
        return Predictions(even, self.classes)

    def of_one(self, outputs: np.ndarray) -> np.ndarray:
        """Return the predictions of one linear model whose outputs are (C, n)."""
        return np.exp(log_softmax(outputs).T)

    # The predictions (n, C) of fused gated groups, whose ties are exact.
    of_pool = staticmethod(settled)

    def bounded(self, fused: np.ndarray) -> np.ndarray:
        """Return fused predictions as they are."""
        return fused

    def decision(
        self, probabilities: np.ndarray, code: int | None = None
    ) -> tuple[dict[str, Any], int]:
        """Return a record of a class, the most probable one if none is named, and its code."""
        code = int(probabilities.argmax()) if code is None else code
        label = self.classes[code : code + 1].tolist()[0]
        return {"prediction": label, "probability": float(probabilities[code])}, code

    def held_out_score(self, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
        """Return the accuracy of predictions of some rows, or the area for a rare class."""
        codes = np.searchsorted(self.classes, y)
        rare = rare_class(np.bincount(codes, weight, len(self.classes)))
        if rare is None:
            return float(np.average(predicted.argmax(axis=1) == codes, weights=weight))
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(codes == rare, predicted[:, rare], sample_weight=weight))


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers that a model predicts, as `Classes` are those of a classifier.

    They are standardized by ``center`` and ``scale`` for the loss, and kept within ``range``.
    Where the loss is of logarithms of means, these have the center and the scale, and the
    exponential of what members and gates compute is predicted.
    """

    center: Annotated[float, Number()]
    scale: Annotated[float, Number(1e-200)]
    loss: Annotated[ValueLoss, Record(ValueLoss)]
    range: Annotated[np.ndarray, Array("2")]

    is_numeric = True
    task = REGRESSION
    calibration = IntervalCalibration
    linear_fuser, linear_rule = Mean, "mean"

    @staticmethod
    def check_loss(flock: Any) -> None:
        """Refuse losses that members cannot descend."""
        check_choice(flock.loss, "loss", VALUE_LOSSES)
        if flock.loss in POWERS and not hasattr(flock, "power"):
            raise ValueError(
                f"loss={flock.loss!r} is for the search of a FlockRegressor; Algorithm 1 takes "
                "'squared', 'huber' or 'quantile'."
            )
        check_number(flock.epsilon, "epsilon", low=1.0)
        if np.ndim(flock.quantile):
            raise ValueError(
                f"quantile is one share of the rows, got {flock.quantile!r}; for several take "
                "FlockQuantiles."
            )
        check_number(flock.quantile, "quantile", low=0, high=1, closed="neither")
        if flock.loss == "tweedie":
            check_number(flock.power, "power", low=1, high=2, closed="neither")

    def growth(self, flock: Any) -> dict[str, Any]:
        """Return the settings of Algorithm 1 for numbers.

        On its subset, a member is taken to the minimum of its loss.
        """
        alpha, finish = float(flock.alpha), int(flock.max_iter)
        return {"loss": self.loss, "alpha": alpha, "finish": finish}

    @staticmethod
    def check_rows(flock: Any, rows: InMemoryRows, known: Numbers | None) -> None:
        """Refuse rows from which nothing can be learnt."""
        if rows.n_weighted() < 2:
            raise ValueError(
                "sample_weight is above 0 for one row only; at least two are needed to learn from."
            )

    @classmethod
    def learnt(cls, fit: PreparedFit, known: Self | None) -> Self:
        """Standardize y and choose the loss in its units; a warm start keeps both."""
        rows = fit.rows
        if known is not None:
            rows.standardize_target(known.center, known.scale, None)
            center, scale, loss = known.center, known.scale, known.loss
        else:
            fit.learn_scale()
            center, scale = cls._center_and_scale(fit.flock, rows)
            loss = cls._loss(fit)
        rows.set_loss(loss)
        low, high = range_of_numbers(rows.n_weighted(), *rows.target_range())
        if known is not None:
            low, high = min(low, known.range[0]), max(high, known.range[1])
        return cls(center, scale, loss, np.array([low, high]))

    @staticmethod
    def _center_and_scale(flock: Any, rows: InMemoryRows) -> tuple[float, float]:
        """Return center and scale of y, by which the rows then standardize it."""
        if flock.loss in POWERS:
            return _log_of_mean(flock.loss, rows), 1.0
        center, deviation = rows.target_moments()
        if deviation == 0:
            center = rows.target_quantile(0.5)  # a mean of large numbers is off by rounding
        elif flock.loss != "squared":
            # Outliers move means and deviations, and these losses exist to resist them.
            center = rows.target_quantile(flock.quantile if flock.loss == "quantile" else 0.5)
            middle = rows.target_quantile(0.5)
            spread = rows.target_quantile(0.5, middle) / _NORMAL_DEVIATION
            deviation = spread if spread > 0 else deviation
        scale = deviation if deviation > 0 else 1.0
        nearest = None if flock.loss == "squared" else _FARTHEST
        farthest = rows.standardize_target(center, scale, nearest)
        if not (farthest < 1e100 and scale < 1e300):
            raise ValueError(
                "y holds numbers too far apart, or too close, for floating point; rescale it, or "
                "drop what is out of range."
            )
        return float(center), float(scale)

    @staticmethod
    def _loss(fit: PreparedFit) -> ValueLoss:
        """Return the loss of a standardized y, in units of a linear model's residuals."""
        flock = fit.flock
        if flock.loss == "squared":
            return ValueLoss("squared")
        if flock.loss in POWERS:
            return ValueLoss(flock.loss, float(POWERS[flock.loss] or flock.power))
        rows, mean, scale = _narrowed(fit)
        noise = 1.0
        turn = flock.epsilon if flock.loss == "huber" else _SCALE_EPSILON
        for _ in range(_SCALE_ROUNDS):
            errors = rows.linear_errors(mean, scale, ValueLoss("huber", turn * noise))
            noise = max(errors.quantile(0.5) / _NORMAL_DEVIATION, _LEAST_SCALE)
        if flock.loss == "huber":
            return ValueLoss("huber", flock.epsilon * noise)
        return ValueLoss("quantile", quantile=float(flock.quantile), band=_BAND * noise)

    def share_left(self, fit: PreparedFit) -> float:
        """Return the share of a constant's loss that a linear model leaves, of new rows."""
        rows, mean, scale = _narrowed(fit)
        loss, n_usable = self.loss, int(fit.scaling.usable.sum())
        constant = rows.target_loss(loss)
        freedom = rows.n_weighted() - 1
        if constant == 0 or freedom <= n_usable:
            return 1.0
        left = rows.linear_errors(mean, scale, loss).loss(loss)
        # Each column explains a part of the noise by chance, as in an adjusted R^2.
        left *= freedom / (freedom - n_usable)
        return float(np.clip(left / constant, _LEAST_LEFT, 1.0))

    @property
    def unit(self) -> float:
        """The deviation of y, or its mean where the loss predicts logarithms."""
        return float(np.exp(self.center)) if self.loss.is_log else self.scale

    def in_units_of_y(self, standardized: np.ndarray) -> np.ndarray:
        """Return numbers that were standardized."""
        return standardized * self.unit + (0.0 if self.loss.is_log else self.center)

    def losses(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the losses of predictions in the units of y."""
        if not self.loss.is_log:
            return self.loss.value((y - predicted) / self.scale)
        shares = np.maximum(predicted / self.unit, _LEAST_RATE)
        return self.loss.value(y / self.unit, np.log(shares))

    def encoded(self, y: Any) -> np.ndarray:
        """Return numbers, checked."""
        return check_numbers(y)

    def failure(self, flock: Any, grown: Any) -> str | None:
        """Return how the training of a member failed, if it did."""
        past = grown.history[0].objective
        if past[1:].min() > past[0]:
            return (
                "never got below the loss of their start, so that no subset was searched: "
                f"learning_rate={flock.learning_rate!r} overshoots; use learning_rate='auto' or a "
                "smaller number."
            )
        if not grown.converged[0]:
            return (
                f"did not converge in max_iter={flock.max_iter} iterations; use more, or an alpha "
                "above 0."
            )
        return None

    def in_units(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts, given for a standardized y, in the units of y."""
        return coef * self.scale, self.center + intercept * self.scale

    def member(
        self, coef: np.ndarray, intercept: np.ndarray, support: np.ndarray, **seen: Any
    ) -> LinearRegressionMember:
        """Return one linear model, (1, P), (1,) and (F,), as an estimator."""
        seen["log_link"] = self.loss.is_log
        return LinearRegressionMember(coef[0], float(intercept[0]), support, **seen)

    def as_sklearn_has_it(
        self, coef: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return one linear model, with one output."""
        return coef[0], float(intercept[0])

    def plain_model(self, fit_intercept: bool, n_iter: int) -> LinearRegression:
        """Return a model of scikit-learn's, without coefficients."""
        return LinearRegression()

    def contrast(self, coef: np.ndarray) -> np.ndarray:
        """Return members' coefficients (K, 1, P) as they are."""
        return coef

    def predictions(self, outputs: np.ndarray) -> Predictions:
        """Return the predictions of members whose linear functions are (1, K, n)."""
        return Predictions(self.of_one(outputs).T, kind="value")

    def example(self, n_members: int) -> Predictions:
        """Return predictions of one row by this many members, to check a fuser with."""
        return Predictions(np.zeros((1, n_members)), kind="value")

    def of_one(self, outputs: np.ndarray) -> np.ndarray:
        """Return the predictions of one linear model whose outputs are (1, n)."""
        return finite_exp(outputs[0]) if self.loss.is_log else outputs[0]

    def of_pool(self, fused: np.ndarray) -> np.ndarray:
        """Return predictions (n,) of fused gated groups, (n, 1), within their range."""
        return held_within(fused[:, 0], self.range)

    def bounded(self, fused: np.ndarray) -> np.ndarray:
        """Return fused predictions within the range of predicted numbers."""
        return held_within(fused, self.range)

    def decision(self, value: np.ndarray) -> tuple[dict[str, Any], int]:
        """Return a record of a number, and the position of its output."""
        return {"prediction": float(value)}, 0

    def held_out_score(self, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
        """Return R2 of predictions of some rows."""
        spread = weight @ np.square(y - np.average(y, weights=weight))
        return float(1.0 - weight @ np.square(y - predicted) / spread)


def unsuited(loss: str, least: float, most: float, y: str = "y") -> str | None:
    """Return for which numbers a loss is, if these are others; None if it takes them."""
    if most == 0 == least:
        return f"numbers of which some are above 0, but {y} holds zeros only."
    if least > 0 or (least == 0 and loss != "gamma"):
        return None
    wanted, other = ("from 0 on", "squared") if least < 0 else ("above 0", "tweedie")
    return f"numbers {wanted}, but {y} holds {least:g}; leave such rows out, or take {other!r}."


def _log_of_mean(loss: str, rows: InMemoryRows) -> float:
    """Return the logarithm of the mean of y, by which the rows then divide it."""
    if why := unsuited(loss, *rows.target_range()):
        raise ValueError(f"loss={loss!r} is for {why}")
    mean, _ = rows.target_moments()
    if not rows.standardize_target(0.0, mean, None) < 1e100:
        raise ValueError(
            "y holds numbers too far apart for floating point; rescale sample_weight."
        )
    return float(np.log(mean))


def _narrowed(fit: PreparedFit) -> tuple[InMemoryRows, np.ndarray, np.ndarray]:
    """Return the rows without columns of no use, and the means and deviations of the others."""
    rows, kept = fit.narrowed()
    return rows, fit.scaling.mean[kept], fit.scaling.scale[kept]
