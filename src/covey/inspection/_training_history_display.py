"""How members were grown."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from covey.inspection._display import (
    COLOURS,
    INK,
    Display,
    colours_of,
)


@dataclass(eq=False, kw_only=True)
class TrainingHistoryDisplay(Display):
    """How members were grown: weighted accuracy and subset size, step by step.

    Make one by `from_estimator`.

    Parameters
    ----------
    history : list of dict
        As in ``history_``, one for each member.

    Attributes
    ----------
    skipped : list of int
        Numbers (from 1) of members without a history, which were fitted alone.
    ax_, figure_
        Where it was drawn.
    axes_ : ndarray of two Axes
        The upper and the lower half of ``ax_``.
    """

    history: list

    @property
    def skipped(self):
        """Numbers (from 1) of the members that have no history."""
        return [number for number, past in enumerate(self.history, start=1) if not past]

    @classmethod
    def from_estimator(cls, estimator, *, relative=True, ax=None):
        """Draw the history of a fitted ensemble.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier or SubsetEnsembleRegressor
        relative, ax
            As for `plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
        """
        from covey.members import SubsetEnsembleClassifier, SubsetEnsembleRegressor

        cls._pyplot()
        if not isinstance(estimator, SubsetEnsembleClassifier | SubsetEnsembleRegressor):
            raise TypeError(
                "estimator must be a fitted SubsetEnsembleClassifier or SubsetEnsembleRegressor, "
                f"whose members are grown step by step, got {type(estimator).__name__}."
            )
        check_is_fitted(estimator, "fuser_")
        return cls(history=estimator.history_).plot(ax, relative=relative)

    def plot(self, ax=None, *, relative=True):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default; its place is shared by two.
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
        few = len(self.history) <= len(COLOURS)
        losses = any("weighted_loss" in past for past in self.history)
        quality = "weighted_loss" if losses else "weighted_accuracy"
        colours = colours_of(len(self.history))
        for number, (past, colour) in enumerate(zip(self.history, colours, strict=True), start=1):
            if not past:
                continue
            for half, quantity in ((upper, quality), (lower, "subset_size")):
                values = np.asarray(past[quantity])
                if relative and half is upper:
                    whole = values[0] if losses else values.max()
                    values = values / max(whole, np.finfo(np.float64).tiny)
                style = {"color": colour, "lw": 1.3, "label": f"member {number}"}
                if quantity == "subset_size":
                    style["drawstyle"] = "steps-post"
                half.plot(np.arange(len(values)), values, **style)
                half.plot(len(values) - 1, values[-1], "o", color=colour, ms=3)
        share = ("\n(share of start)" if losses else "\n(share of best)") if relative else ""
        upper.set_ylabel(quality.replace("_", " ") + share, fontsize=8)
        lower.set_ylabel("subset size", fontsize=8)
        lower.set_xlabel("step")
        lower.yaxis.get_major_locator().set_params(integer=True)
        lower.xaxis.get_major_locator().set_params(integer=True)
        lower.set_xlim(upper.get_xlim())
        upper.tick_params(labelbottom=False, labelsize=8)
        lower.tick_params(labelsize=8)
        if few:
            upper.legend(
                fontsize=7, loc="upper right" if losses else "lower right", framealpha=0.9, ncols=2
            )
        upper.set_title("how members were grown", fontsize=10, loc="left")
        if self.skipped:
            said = ", ".join(map(str, self.skipped))
            several = len(self.skipped) > 1
            lower.text(
                0.98,
                0.05,
                f"no history: member{'s' if several else ''} {said}, fitted alone",
                transform=lower.transAxes,
                ha="right",
                fontsize=7,
                color=INK,
            )
        return self
