"""How members were grown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from covey.inspection._display import COLORS, INK, Axes, Display


@dataclass(eq=False, kw_only=True)
class TrainingHistoryDisplay(Display):
    """How members were grown: weighted accuracy and subset size, step by step.

    Make one by `from_estimator`.

    Draw it of a `SubsetEnsembleClassifier` or `SubsetEnsembleRegressor`, which grow member by
    member.

    Parameters
    ----------
    history : list of dict
        As in ``history_``, one for each member.

    Attributes
    ----------
    skipped : list of int
        Numbers (from 1) of members without a history, which were fitted alone.
    axes_ : ndarray of two Axes
        The upper and the lower half of ``ax_``.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.TrainingHistoryDisplay.from_estimator(flock)
    >>> len(display.history)
    3
    """

    history: list[dict[str, np.ndarray]]

    @property
    def skipped(self) -> list[int]:
        """Numbers (from 1) of the members that have no history."""
        return [number for number, past in enumerate(self.history, start=1) if not past]

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the history of a fitted ensemble.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FlockClassifier or their regressors
        **options
            Those of `plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
        """
        cls._require_matplotlib()
        if hasattr(estimator, "explain_fusion"):
            check_is_fitted(estimator, "fuser_")
        if not hasattr(estimator, "history_"):
            raise TypeError(
                "estimator must be a fitted ensemble such as SubsetEnsembleClassifier, whose "
                f"members are grown step by step, got {type(estimator).__name__}."
            )
        return cls(history=estimator.history_).plot(**options)

    def plot(self, ax: Axes | None = None, *, relative: bool = True) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default; two smaller ones are drawn inside.
        relative : bool, default=True
            Whether weighted accuracies are shown as shares of each member's best, and a
            regressor's weighted losses of those at its start. The weights of later members sum
            to less, and so do their accuracies and losses as they are.

        Returns
        -------
        self : TrainingHistoryDisplay
        """
        if len(self.skipped) == len(self.history):
            raise ValueError(
                "history holds nothing to draw: every member was fitted alone; fit with "
                "effort='fast', or without a search."
            )
        ax = self._start(ax)
        ax.set_axis_off()
        upper, lower = ax.inset_axes((0, 0.5, 1, 0.5)), ax.inset_axes((0, 0, 1, 0.44))
        self.axes_ = np.array([upper, lower])
        losses = any("weighted_loss" in past for past in self.history)
        quality = "weighted_loss" if losses else "weighted_accuracy"
        colors = self._colors_of(len(self.history))
        for number, (past, color) in enumerate(zip(self.history, colors, strict=True), start=1):
            if not past:
                continue
            for half, quantity in ((upper, quality), (lower, "subset_size")):
                values = np.asarray(past[quantity])
                if relative and half is upper:
                    whole = values[0] if losses else values.max()
                    values = values / max(whole, np.finfo(np.float64).tiny)
                style = {"color": color, "lw": 1.3, "label": f"member {number}"}
                if quantity == "subset_size":
                    style["drawstyle"] = "steps-post"
                half.plot(np.arange(len(values)), values, **style)
                half.plot(len(values) - 1, values[-1], "o", color=color, ms=3)
        share = ("\n(share of start)" if losses else "\n(share of best)") if relative else ""
        upper.set_ylabel(quality.replace("_", " ") + share, fontsize=8)
        lower.set_ylabel("subset size", fontsize=8)
        lower.set_xlabel("step")
        for axis in (lower.xaxis, lower.yaxis):
            axis.get_major_locator().set_params(integer=True)
        lower.set_xlim(upper.get_xlim())
        upper.tick_params(labelbottom=False, labelsize=8)
        lower.tick_params(labelsize=8)
        if len(self.history) <= len(COLORS):
            corner = "upper right" if losses else "lower right"
            upper.legend(fontsize=7, loc=corner, framealpha=0.9, ncols=2)
        self._set_title(upper, "how members were grown")
        if self.skipped:
            members = "members" if len(self.skipped) > 1 else "member"
            numbers = ", ".join(map(str, self.skipped))
            lower.text(
                0.98,
                0.05,
                f"no history: {members} {numbers}, fitted alone",
                transform=lower.transAxes,
                ha="right",
                fontsize=7,
                color=INK,
            )
        return self
