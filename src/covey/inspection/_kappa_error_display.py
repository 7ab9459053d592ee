"""How alike members are, and how wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covey._validation import check_sample_weight
from covey.inspection._display import BLUE, ORANGE, Axes, Display
from covey.inspection._diversity import complete_predictions, diversity


@dataclass(eq=False, kw_only=True)
class KappaErrorDisplay(Display):
    """Kappa-error diagram: how alike any two members are, and how often they err.

    Each point is a pair of members (Margineantu and Dietterich, 1997). Members that are both
    accurate and different would lie in the lower left corner. Make one by `from_estimator` or
    `from_predictions`.

    Draw it for ten to some hundred members; of three there are but three points.

    Parameters
    ----------
    kappa : ndarray of shape (n_pairs,)
        Cohen's kappa of the labels that the two give.
    error : ndarray of shape (n_pairs,)
        The mean of their error rates.
    pairs : ndarray of shape (n_pairs, 2)
        The positions of the two members.
    names : list of str

    Attributes
    ----------
    points_ : PathCollection
        What `plot` drew.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.KappaErrorDisplay.from_estimator(flock, X, y)
    >>> display.pairs.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """

    kappa: np.ndarray
    error: np.ndarray
    pairs: np.ndarray
    names: list[str]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, **options: Any) -> Self:
        """Draw the members of a fitted ensemble: `from_predictions` of X.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **options
            Those of `from_predictions`.

        Returns
        -------
        display : KappaErrorDisplay
        """
        cls._check_flock(estimator)
        P = estimator._predictions(estimator._check_rows(X))
        P.names = estimator._names()
        return cls.from_predictions(P, y, **options)

    @classmethod
    def from_predictions(
        cls,
        P: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw saved predictions.

        Parameters
        ----------
        P : Predictions, array, data frame, mapping or list
            Whatever `covey.fuse` takes.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        display : KappaErrorDisplay
        """
        cls._require_matplotlib()
        P = complete_predictions(P)
        found = diversity(P, y, measures="label_kappa", sample_weight=sample_weight)
        weight = check_sample_weight(sample_weight, P.n_samples)
        errors = weight @ (P.labels != P.encode(y)[:, None]) / weight.sum()
        first, second = np.triu_indices(P.n_members, 1)
        return cls(
            kappa=found.matrices["label_kappa"][first, second],
            error=(errors[first] + errors[second]) / 2,
            pairs=np.stack([first, second], axis=1),
            names=P.names,
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        self.points_ = ax.scatter(
            self.kappa, self.error, s=26, color=BLUE, alpha=0.6, linewidths=0, label="two members"
        )
        ax.plot([self.kappa.mean()], [self.error.mean()], "P", color=ORANGE, ms=9, label="mean")
        if len(self.pairs) <= 10:
            for x, y, (one, other) in zip(self.kappa, self.error, self.pairs, strict=True):
                ax.annotate(
                    f"{one + 1}-{other + 1}",
                    (x, y),
                    xytext=(4, 3),
                    textcoords="offset points",
                    fontsize=7,
                )
        ax.margins(0.12)
        ax.set(xlabel="kappa (1: always the same label)", ylabel="mean error of the two")
        ax.legend(fontsize=8, framealpha=0.9)
        self._set_title(ax, "alike, and how wrong: pairs of members")
