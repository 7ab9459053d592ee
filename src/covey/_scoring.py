"""scikit-learn's ``scoring`` of predictions that are known already."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer

# No class is surer than this to be impossible, where logarithms are taken.
_FLOOR = 1e-6


def make_scorer(scoring: Any) -> Any:
    """Tell what ``scoring`` stands for, called as scikit-learn's scorers are; None stays None."""
    if scoring is None or isinstance(scoring, str):
        return get_scorer(scoring)
    if not callable(scoring):
        raise ValueError(
            f"scoring must be a name of scikit-learn's, a callable or None, got {scoring!r}."
        )
    return check_scoring(FixedNumbers(np.empty(0)), scoring)


def known_score(
    scorer: Any,
    predicted: np.ndarray,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    weight: np.ndarray,
) -> float:
    """The score of probabilities (n, C) of classes, or of numbers (n,), beside the truth (n,).

    A scorer that takes no weights counts all rows alike.
    """
    known: Any = FixedNumbers(predicted)
    if classes is not None:
        known = KnownProbabilities(predicted, classes)
    try:
        score = float(_weighted(scorer, (known, X, truth), weight))
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"scoring cannot measure what members predict: {error}") from error
    if not np.isfinite(score):
        raise ValueError(
            f"scoring gives {score} for what members predict, who are weighted by it; give a "
            "scoring of finite numbers."
        )
    return score


def _weighted(scorer: Any, rows: tuple[Any, Any, np.ndarray], weight: np.ndarray) -> Any:
    if np.ptp(weight) > 0:
        try:
            return scorer(*rows, sample_weight=weight)
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
    return scorer(*rows)


class KnownProbabilities(ClassifierMixin, BaseEstimator):
    """Predictions that are known already, for a scorer of scikit-learn."""

    def __init__(self, probabilities: np.ndarray, classes: np.ndarray) -> None:
        self.probabilities = probabilities
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in order."""
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities."""
        return self.probabilities

    def decision_function(self, X: Any) -> np.ndarray:
        """Their logarithms, or the difference of those of two classes."""
        logs = np.log(np.fmax(self.probabilities, _FLOOR))
        return logs[:, 1] - logs[:, 0] if len(self.classes) == 2 else logs

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        return self.classes[self.probabilities.argmax(axis=1)]


class FixedNumbers(RegressorMixin, BaseEstimator):
    """The same for numbers."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is left to learn."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The numbers."""
        return self.numbers

    def __sklearn_is_fitted__(self) -> bool:
        return True
