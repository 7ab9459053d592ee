"""The errors of a flock on rows held out, on which sets, intervals and rejections are based."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from sklearn.utils import Bunch

from covey._core.quantiles import least_accuracy, upper_bound
from covey._state import Array, Index, OneOf, OrMissing
from covey._validation import check_number

OUT_OF_FOLD, GIVEN_ROWS = "out of fold", "given rows"
# The shares of rows left to a person that are compared where an accuracy is wanted.
_SHARES = np.arange(20) / 20
# How sure accuracies are by default.
CONFIDENCE = 0.95
# How far rounding may take a mean of probabilities beyond one.
_ALMOST_ONE = 1 + 1e-6
# Sums over this many rows, of this much weight, are finite.
_LARGEST_WEIGHT = 1e12


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """The probabilities of rows held out, in an order that reveals nothing about the rows."""

    source: Annotated[str, OneOf(OUT_OF_FOLD, GIVEN_ROWS)]
    label: Annotated[np.ndarray, Index("S", "C")]
    probabilities: Annotated[np.ndarray, Array("S C", 0.0, _ALMOST_ONE)]
    weight: Annotated[np.ndarray, Array("S", high=_LARGEST_WEIGHT, positive=True, fewest=1)]

    @classmethod
    def of(cls, source: str, codes: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> Self:
        """Keep the predictions of rows of these classes."""
        order = np.lexsort((weight, *predicted.T, codes))
        return cls(source, codes[order], predicted[order], weight[order])

    def bounds(self, level: float, by_class: bool) -> np.ndarray:
        """Return the score (n_classes,) up to which a class is in a set; infinite if always."""
        check_number(level, "level", low=0, high=1, closed="neither")
        scores = -self.probabilities[np.arange(len(self.label)), self.label]
        n_classes = self.probabilities.shape[1]
        if not by_class:
            return np.full(n_classes, upper_bound(scores, self.weight, level))
        of = [self.label == code for code in range(n_classes)]
        return np.array([upper_bound(scores[i], self.weight[i], level) for i in of])

    def always_in_sets(self, level: float, classes: np.ndarray) -> str | None:
        """Return a sentence about classes that are in all sets of this level; None if none is."""
        always = np.flatnonzero(np.isinf(self.bounds(level, True)))
        if not len(always):
            return None
        sizes = [f"{self.weight[self.label == code].sum():.0f}" for code in always]
        labels = list(map(repr, classes[always].tolist()))
        least = int(np.ceil(level / (1 - level) - 1e-9))
        few = ", ".join(f"{label} has {n}" for label, n in zip(labels[:3], sizes, strict=False))
        few += f" and {len(labels) - 3} more have too few" if len(labels) > 3 else ""
        return (
            f"A level of {level:g} needs {least:,} rows held out of a class; {few}, so every set "
            f"holds {'it' if len(labels) == 1 else 'them'}."
        )

    def rejection(
        self,
        answers: np.ndarray,
        reject: float | None,
        accuracy: float | None,
        confidence: float,
    ) -> Bunch:
        """Return the accuracy on the rows that are answered; ``answers`` (n,) are codes."""
        if (reject is None) == (accuracy is None):
            raise ValueError(
                "rejection takes a share of rows (reject=0.1) or an accuracy that is wanted of "
                "the others (accuracy=0.98): one of the two."
            )
        check_number(confidence, "confidence", low=0, high=1, closed="neither")
        right = answers == self.label
        if reject is not None:
            check_number(reject, "reject", low=0, high=1, closed="left")
            return self._without_the_least_sure(right, float(reject), 1.0 - confidence)
        check_number(accuracy, "accuracy", low=0, high=1, closed="neither")
        chance = (1.0 - confidence) / len(_SHARES)
        tried = [self._without_the_least_sure(right, share, chance) for share in _SHARES]
        for found in tried:
            if found.low >= accuracy:
                return found
        best = max(tried, key=lambda found: found.low)
        raise ValueError(
            f"accuracy={accuracy:g} cannot be promised: with a confidence of {confidence:g} the "
            f"most is {best.low:.3g}, for reject={best.reject:.2g}, by {self.weight.sum():.0f} "
            "rows held out; want less, or calibrate with more rows."
        )

    def _without_the_least_sure(self, right: np.ndarray, share: float, chance: float) -> Bunch:
        """Return the accuracy on the answered rows, if at most a share of them is left out."""
        top = self.probabilities.max(axis=1)
        tops, position = np.unique(top, return_inverse=True)
        weights = np.bincount(position, self.weight)
        # The weight below each of the probabilities that occur.
        below = np.append(0.0, np.cumsum(weights))[:-1] / weights.sum()
        first = np.flatnonzero(below <= share + 1e-12)[-1]
        answered = top >= tops[first]
        n_rows = self.weight[answered].sum()
        n_right = self.weight[answered & right].sum()
        return Bunch(
            reject=float(below[first]),
            threshold=float(tops[first]) if first else 0.0,
            accuracy=float(n_right / n_rows),
            low=least_accuracy(n_right, n_rows, chance),
        )


@dataclass(frozen=True, eq=False)
class IntervalCalibration:
    """The errors of numbers predicted of rows held out, sorted, and what was predicted."""

    source: Annotated[str, OneOf(OUT_OF_FOLD, GIVEN_ROWS)]
    error: Annotated[np.ndarray, Array("S")]
    weight: Annotated[np.ndarray, Array("S", high=_LARGEST_WEIGHT, positive=True, fewest=1)]
    predicted: Annotated[np.ndarray | None, OrMissing(Array("S"))] = None

    @classmethod
    def of(cls, source: str, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> Self:
        """Keep how far off predictions were."""
        error = y - predicted
        order = np.lexsort((predicted, weight, error))
        return cls(source, error[order], weight[order], predicted[order])

    def interval(self, level: float) -> tuple[float, float]:
        """Return how far below and above a prediction the bounds of a level are."""
        check_number(level, "level", low=0, high=1, closed="neither")
        side = (1.0 + level) / 2.0
        low = -upper_bound(-self.error, self.weight, side)
        return low, upper_bound(self.error, self.weight, side)
