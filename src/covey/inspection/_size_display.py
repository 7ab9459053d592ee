"""What more members bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covey._validation import check_number
from covey.fusers import Fuser, make_fuser
from covey.inspection._display import BLUE, GRAY, INK, ORANGE, Axes, Display


@dataclass(eq=False, kw_only=True)
class SizeDisplay(Display):
    """Accuracy against the number of members.

    Make one by `from_estimator`.

    Draw it to see whether more members still help; of a flock with gates the members of one group
    belong together.

    Parameters
    ----------
    fused : ndarray of shape (n_members,)
        Accuracy of the first member, the first two, ... under ``rule``.
    oracle : ndarray of shape (n_members,)
        The same if the right member were always picked.
    baseline : float
        Accuracy of a single model.
    rule : str
        The name of the rule.
    fitted_score : float or None
        Accuracy of the ensemble as it is, where its fuser is no fixed rule.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.SizeDisplay.from_estimator(flock, X, y)
    >>> display.fused.shape
    (3,)
    """

    fused: np.ndarray
    oracle: np.ndarray
    baseline: float
    rule: str = "fused"
    fitted_score: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        fuser: str | Fuser | None = None,
        baseline: float | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw how a fitted ensemble gains from its members.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score, best those that were not trained on.
        y : array-like of shape (n_samples,)
        fuser : str or Fuser, optional
            A fixed rule, such as "product". By default the ensemble's own if it is one, else
            "product", or "majority" for members without probabilities.
        baseline : float, optional
            The accuracy to compare with; by default that of the first member alone.
        sample_weight : array-like of shape (n_samples,), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        display : SizeDisplay
        """
        cls._check_flock(estimator)
        if baseline is not None:
            check_number(baseline, "baseline", low=0, high=1)
        own = estimator.fuser_
        fixed = _is_fixed(own)
        if fuser is None:
            # Only a FusionClassifier has members of other kinds.
            kind = getattr(estimator, "kind_", "probability")
            plain = "product" if kind in make_fuser("product").kinds else "majority"
            fuser = own if fixed else plain
        fused = estimator.staged_score(X, y, sample_weight, fuser=fuser)
        show_fitted = not fixed and not own.needs_y
        return cls(
            fused=fused,
            oracle=estimator.staged_score(X, y, sample_weight, fuser="oracle"),
            baseline=float(fused[0] if baseline is None else baseline),
            rule=fuser if isinstance(fuser, str) else type(fuser).__name__.lower(),
            fitted_score=estimator.score(X, y, sample_weight) if show_fitted else None,
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        sizes = np.arange(1, len(self.fused) + 1)
        mark = "o" if len(sizes) <= 30 else None
        ax.plot(sizes, self.oracle, color=GRAY, marker=mark, ms=4, label="oracle")
        ax.plot(sizes, self.fused, color=BLUE, marker=mark, ms=4, label=f"fused: {self.rule}")
        ax.axhline(self.baseline, color=INK, ls=":", lw=1.5, label="single model")
        if self.fitted_score is not None:
            ax.plot(
                sizes[-1:], [self.fitted_score], "D", color=ORANGE, ms=7, label="fused as fitted"
            )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="number of members K", ylabel="accuracy")
        ax.legend(fontsize=8, framealpha=0.9)
        self._set_title(ax, "what more members bring")


def _is_fixed(fuser: Fuser) -> bool:
    """Whether a fuser can fuse the first few members as well as all of them."""
    set_for_all = any(
        getattr(fuser, name) is not None for name in ("weights", "k") if name in fuser.get_params()
    )
    return not (fuser.learns or fuser.needs_y or set_for_all)
