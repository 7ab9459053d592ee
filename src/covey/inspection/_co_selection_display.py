"""Which features members keep, and which together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from covey._validation import check_choice, check_number
from covey.inspection._display import GRAY, INK, MOST_NAMES, ORANGE, Axes, Display, checked_names

# Beyond so many features, cells have no room for their values.
_MOST_VALUES = 12


@dataclass(eq=False, kw_only=True)
class CoSelectionDisplay(Display):
    """Which features members keep, and which they keep together: a map of F of eq. (12).

    Make one by `from_estimator` or `from_matrix`.

    Draw it where members have subsets of their own; of more than some fifty features it is hard to
    read.

    Parameters
    ----------
    co_selection : ndarray of shape (n_features, n_features)
        F. Its diagonal holds the features' own frequencies.
    binary : ndarray of shape (n_features, n_features), bool
        F^bin of eq. (13).
    feature_names : list of str
    individual_threshold, cross_threshold : float or None
        T_indiv and T_cross; None where not known.
    tested : bool, default=False
        Whether tests, and not T_indiv, say which features are selected.

    Attributes
    ----------
    image_ : AxesImage
        What `plot` drew.

    Examples
    --------
    >>> import covey
    >>> from covey.inspection import CoSelectionDisplay
    >>> X, y = covey.make_quarter_circle(100, n_dummy_features=6, random_state=0)
    >>> selector = covey.SubsetSelector(random_state=0).fit(X, y)
    >>> CoSelectionDisplay.from_estimator(selector)  # doctest: +SKIP
    """

    co_selection: np.ndarray
    binary: np.ndarray
    feature_names: list[str]
    individual_threshold: float | None = None
    cross_threshold: float | None = None
    tested: bool = False

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw what a `SubsetSelector` found.

        Parameters
        ----------
        estimator : SubsetSelector
            Fitted.
        **options
            Those of `plot`.

        Returns
        -------
        display : CoSelectionDisplay
        """
        cls._require_matplotlib()
        if hasattr(estimator, "cross_threshold"):
            check_is_fitted(estimator, "co_selection_")
        if not hasattr(estimator, "co_selection_"):
            raise TypeError(
                f"estimator must be a fitted SubsetSelector, got {type(estimator).__name__}; "
                "give a matrix of your own to from_matrix."
            )
        names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        return cls(
            co_selection=estimator.co_selection_,
            binary=estimator.co_selection_binary_,
            feature_names=[str(name) for name in names],
            individual_threshold=estimator.individual_threshold_,
            cross_threshold=estimator.cross_threshold_,
            tested=estimator.individual_threshold_ is None,
        ).plot(**options)

    @classmethod
    def from_matrix(
        cls,
        co_selection: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        individual_threshold: float | None = None,
        cross_threshold: float | None = None,
        **options: Any,
    ) -> Self:
        """Draw a matrix of co-selection frequencies.

        Parameters
        ----------
        co_selection : array-like of shape (n_features, n_features)
            Symmetric, between 0 and 1.
        feature_names : sequence of str, optional
            Numbers by default.
        individual_threshold, cross_threshold : float, optional
            What diagonal and other entries must exceed to count as selected.
        **options
            Those of `plot`.

        Returns
        -------
        display : CoSelectionDisplay
        """
        cls._require_matplotlib()
        F = check_array(co_selection, dtype=np.float64, input_name="co_selection")
        if F.shape[0] != F.shape[1] or not np.allclose(F, F.T):
            raise ValueError(
                "co_selection must be symmetric, one row and one column a feature, got an array "
                f"of shape {F.shape}{'' if F.shape[0] != F.shape[1] else ' that is not'}."
            )
        if F.min() < 0 or F.max() > 1:
            raise ValueError(
                "co_selection must hold frequencies between 0 and 1, got values from "
                f"{F.min():g} to {F.max():g}; divide counts by the number of members."
            )
        names = range(len(F)) if feature_names is None else feature_names
        names = checked_names(names, len(F), "features", "feature_names")
        limits = {"individual_threshold": individual_threshold, "cross_threshold": cross_threshold}
        for name, value in limits.items():
            if value is not None:
                check_number(value, name, low=0, high=1)
        # No frequency exceeds 1: without a threshold nothing is selected.
        to_exceed = np.full_like(F, 1.0 if cross_threshold is None else cross_threshold)
        np.fill_diagonal(to_exceed, 1.0 if individual_threshold is None else individual_threshold)
        display = cls(co_selection=F, binary=to_exceed < F, feature_names=names, **limits)
        return display.plot(**options)

    def plot(
        self, ax: Axes | None = None, *, kind: str = "frequency", cmap: Any = "Blues"
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        kind : {"frequency", "pairs", "features"}, default="frequency"
            F itself; the pairs that are selected; or the features that are: Fig. 2 (a), (b)
            and (c) of the paper.
        cmap : str or Colormap, default="Blues"

        Returns
        -------
        self : CoSelectionDisplay
        """
        check_choice(kind, "kind", ("frequency", "pairs", "features"))
        for wanted, name in (("pairs", "cross_threshold"), ("features", "individual_threshold")):
            known = getattr(self, name) is not None or (wanted == "features" and self.tested)
            if kind == wanted and not known:
                raise ValueError(f"kind={kind!r} shows what exceeds {name}; give it.")
        ax = self._start(ax)
        F, n_features = self.co_selection, len(self.co_selection)
        on_diagonal = np.eye(n_features, dtype=bool)
        if kind == "frequency":
            shown = F
            title = "how often features are kept together"
        elif kind == "pairs":
            shown = self.binary & ~on_diagonal
            title = f"{shown.sum() // 2} pairs ($T_{{cross}}$ = {self.cross_threshold:.2f})"
        else:
            shown = self.binary & on_diagonal
            how = "by tests"
            if self.individual_threshold is not None:
                how = f"$T_{{indiv}}$ = {self.individual_threshold:.2f}"
            title = f"{shown.sum()} features ({how})"
        highest = max(float(F.max()), 1e-9) if kind == "frequency" else 1
        self.image_ = ax.imshow(shown.astype(float), cmap=cmap, vmin=0, vmax=highest)
        if kind == "frequency":
            self._write_values(ax, highest)
            self._add_bar(ax)
        elif n_features > MOST_NAMES:
            # A cell is then smaller than the eye can find.
            row, column = np.nonzero(shown)
            ax.scatter(
                column, row, s=14, marker="s", color=INK, linewidths=0, clip_on=False, zorder=3
            )
        self._name_axes(ax, shown)
        self._set_title(ax, title)
        return self

    def _write_values(self, ax: Axes, highest: float) -> None:
        if len(self.co_selection) > _MOST_VALUES:
            return
        for (row, column), value in np.ndenumerate(self.co_selection):
            ax.text(
                column,
                row,
                f"{value:.2f}".lstrip("0") if value < 1 else "1",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if value > 0.6 * highest else INK,
            )

    def _add_bar(self, ax: Axes) -> None:
        """A color bar on which the thresholds that are known are marked."""
        known = [
            (value, symbol, style, word)
            for value, symbol, style, word in (
                (self.individual_threshold, "indiv", "-", "line"),
                (self.cross_threshold, "cross", ":", "dots"),
            )
            if value is not None
        ]
        texts = [f"$T_{{{symbol}}}$ = {value:.2f} ({word})" for value, symbol, _, word in known]
        bar = self._add_color_bar(ax, self.image_, ", ".join(["frequency", *texts]))
        for value, _, style, _ in known:
            bar.ax.axhline(value, color=ORANGE, lw=2, ls=style)

    def _name_axes(self, ax: Axes, shown: np.ndarray) -> None:
        """Name all features, or of many those that stand out and have room."""
        n_features = len(shown)
        ticks = list(range(n_features))
        if n_features > MOST_NAMES:
            ticks = []
            for feature in np.argsort(-shown.sum(axis=1) - np.diag(self.co_selection)):
                if len(ticks) == 8 or not shown[feature].any():
                    break
                if all(abs(feature - other) > n_features / 14 for other in ticks):
                    ticks.append(int(feature))
            ticks.sort()
        names = [self.feature_names[feature] for feature in ticks]
        size = 8 if n_features <= _MOST_VALUES or n_features > MOST_NAMES else 6
        long = max(map(len, names), default=0) > 3
        ax.set_xticks(ticks, names, fontsize=size, rotation=90 if long else 0)
        ax.set_yticks(ticks, names, fontsize=size)
        ax.set(xlabel="feature", ylabel="feature")
        if n_features <= MOST_NAMES:
            edges = np.arange(n_features + 1) - 0.5
            ax.set_xticks(edges, minor=True)
            ax.set_yticks(edges, minor=True)
            ax.grid(which="minor", color="white", lw=1)
            ax.tick_params(which="minor", length=0)
        for spine in ax.spines.values():
            spine.set_color(GRAY)
