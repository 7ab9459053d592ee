"""A picture of what members gain by differing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covey.inspection._ambiguity import Ambiguity, ambiguity
from covey.inspection._display import BLUE, INK, MOST_NAMES, ORANGE, Axes, Display


@dataclass
class AmbiguityDisplay(Display):
    """The losses of members, their mean, and how far below it the fusion is.

    Draw it to see what members gain by being different; `KappaErrorDisplay` shows which of them
    are.

    Parameters
    ----------
    measured : Ambiguity
        What `ambiguity` found.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import covey
    >>> X, y = load_wine(return_X_y=True)
    >>> flock = covey.SubsetEnsembleClassifier(3, flip_probability=0.2, random_state=0).fit(X, y)
    >>> display = covey.AmbiguityDisplay.from_estimator(flock, X, y)
    """

    measured: Ambiguity

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what the members of a fitted ensemble gain by differing.

        Parameters
        ----------
        estimator, X, y, sample_weight
            As for `ambiguity`.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : AmbiguityDisplay
        """
        cls._check_flock(estimator, regressors=True)
        return cls(ambiguity(estimator, X, y, sample_weight=sample_weight)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        found = self.measured
        # The heaviest above; where there are too many, the lightest are left out.
        order = np.argsort(-found.importance, kind="stable")[:MOST_NAMES]
        places = np.arange(len(order))
        shade = 0.25 + 0.75 * found.importance[order] / found.importance.max()
        bars = ax.barh(places, found.loss_of_members[order], color=BLUE, height=0.7)
        for bar, alpha in zip(bars, shade, strict=True):
            bar.set_alpha(alpha)
        ax.set_yticks(places, [found.names[k] for k in order], fontsize=8)
        ax.invert_yaxis()
        ax.axvline(found.member_loss, color=INK, ls=":", lw=1.5, label="members, by importance")
        ax.axvline(found.loss, color=ORANGE, lw=2, label="fused")
        ax.axvspan(found.loss, found.member_loss, color=ORANGE, alpha=0.12)
        ax.set_xlabel(
            f"loss: {found.member_loss:.3g} of members - {found.ambiguity:.3g} ambiguity = "
            f"{found.loss:.3g} fused"
        )
        ax.legend(fontsize=8, loc="lower right", framealpha=0.9)
        self._set_title(ax, "what members gain by differing")
