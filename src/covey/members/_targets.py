"""What is predicted: the classes and their weights, or values, standardized, and their loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from covey._core.losses import ValueLoss
from covey._validation import check_sample_weight
from covey.members._training_rows import TrainingRows

# -- classes ---------------------------------------------------------------------------------


def check_same_classes(classes: np.ndarray, known: np.ndarray) -> None:
    """Refuse to continue a fit with other classes than those of the first one."""
    if not np.array_equal(classes, known):
        raise ValueError(
            "warm_start continues with the classes of the first fit, "
            f"{known.tolist()}, but y holds {classes.tolist()}."
        )


def check_two_classes(name: str, classes: np.ndarray, largest_weights: np.ndarray) -> None:
    """Refuse data in which fewer than two classes have a weight above 0."""
    weighted = np.flatnonzero(largest_weights > 0)
    if len(weighted) < 2:
        counted = "" if len(classes) < 2 else " whose sample_weight and class_weight are above 0"
        raise ValueError(
            f"{name} needs samples of at least 2 classes in y{counted}, "
            f"got {len(weighted)} class: {classes[weighted].tolist()}."
        )


def class_factors(class_weight: Any, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What ``class_weight`` multiplies the weights of each class with, given their sums (C,)."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        used = weights > 0
        factors = np.zeros(len(classes))
        # Each class is given as one row, which weighs what all of its rows do.
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


def weighted_classes(
    class_weight: Any, classes: np.ndarray, weights: np.ndarray, largest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The factors of ``class_weight`` (C,), and the largest weight of each class with them."""
    factors = class_factors(class_weight, classes, weights)
    largest = largest * factors
    if largest.any():
        check_sample_weight(largest, len(largest), "class_weight times sample_weight")
    return factors, largest


# -- values ----------------------------------------------------------------------------------

VALUE_LOSSES = ("squared", "huber", "quantile")

# The median absolute deviation of a normal distribution is this share of its standard one.
_NORMAL_DEVIATION = 0.6744897501960817
# Rounds in which the scale of the residuals is found, and the threshold of their linear model, in
# units of that scale.
_SCALE_ROUNDS = 3
_SCALE_EPSILON = 1.35
# Residuals this small, in units of y's own spread, are as good as none.
_LEAST_SCALE = 1e-3
# The least share of a constant's loss that a linear model is taken to leave.
_LEAST_LEFT = 1e-4
# How far the corner of a quantile's loss is rounded, in units of the residuals' scale.
_BAND = 0.05
# Robust losses grow evenly far from 0, so that it does not matter how far an outlier lies; but it
# would swamp sums.
_FARTHEST = 1e6


def standardize_values(rows: TrainingRows, loss: str, quantile: float) -> tuple[float, float]:
    """Center and scale of y, by which the rows then standardize it."""
    center, deviation = rows.target_moments()
    if deviation == 0:
        center = rows.target_quantile(0.5)  # a mean of large numbers is off by rounding
    elif loss != "squared":
        # Outliers move means and deviations, and these losses are there to resist them.
        center = rows.target_quantile(quantile if loss == "quantile" else 0.5)
        middle = rows.target_quantile(0.5)
        spread = rows.target_quantile(0.5, middle) / _NORMAL_DEVIATION
        deviation = spread if spread > 0 else deviation
    scale = deviation if deviation > 0 else 1.0
    farthest = rows.standardize_target(center, scale, None if loss == "squared" else _FARTHEST)
    if not (farthest < 1e100 and scale < 1e300):
        raise ValueError(
            "y holds numbers too far apart, or too close, for floating point; rescale it, or "
            "drop what is out of range."
        )
    return float(center), float(scale)


def value_loss(
    rows: TrainingRows,
    mean: np.ndarray,
    scale: np.ndarray,
    loss: str,
    epsilon: float,
    quantile: float,
) -> ValueLoss:
    """The loss of a standardized y, in units of the scale of a linear model's residuals."""
    if loss == "squared":
        return ValueLoss("squared")
    noise = 1.0
    turn = epsilon if loss == "huber" else _SCALE_EPSILON
    for _ in range(_SCALE_ROUNDS):
        errors = rows.linear_errors(mean, scale, ValueLoss("huber", turn * noise))
        noise = max(errors.quantile(0.5) / _NORMAL_DEVIATION, _LEAST_SCALE)
    if loss == "huber":
        return ValueLoss("huber", epsilon * noise)
    return ValueLoss("quantile", quantile=float(quantile), band=_BAND * noise)


def share_left(
    rows: TrainingRows, mean: np.ndarray, scale: np.ndarray, n_usable: int, loss: ValueLoss
) -> float:
    """The share of a constant's loss that a linear model leaves, of rows not yet seen."""
    constant = rows.target_loss(loss)
    freedom = rows.n_weighted() - 1
    if constant == 0 or freedom <= n_usable:
        return 1.0
    left = rows.linear_errors(mean, scale, loss).loss(loss)
    # Each column explains a part of the noise by chance, as in an adjusted R^2.
    left *= freedom / (freedom - n_usable)
    return float(np.clip(left / constant, _LEAST_LEFT, 1.0))
