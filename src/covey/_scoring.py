"""scikit-learn's ``scoring`` of known predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer

# No class counts as surer than this to be impossible where logarithms are taken.
_FLOOR = 1e-6


def make_scorer(scoring: Any) -> Any:
    """Return the scorer of ``scoring``, called as scikit-learn's are; None stays None."""
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
    """Return the score of probabilities (n, C) of classes, or of numbers (n,), and a truth (n,).

    A scorer without weights counts all rows alike.
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
    """Known probabilities of classes, for a scorer of scikit-learn."""

    def __init__(self, probabilities: np.ndarray, classes: np.ndarray) -> None:
        self.probabilities = probabilities
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in order."""
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities."""
        return self.probabilities

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the logarithms of probabilities, or their difference for two classes."""
        logs = np.log(np.fmax(self.probabilities, _FLOOR))
        return logs[:, 1] - logs[:, 0] if len(self.classes) == 2 else logs

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        return self.classes[self.probabilities.argmax(axis=1)]


class FixedNumbers(RegressorMixin, BaseEstimator):
    """Known predictions of numbers, for a scorer of scikit-learn."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: the predictions are known."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the numbers."""
        return self.numbers

    def __sklearn_is_fitted__(self) -> bool:
        return True
