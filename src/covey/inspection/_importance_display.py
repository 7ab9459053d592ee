"""Who decides, over the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from covey._validation import check_choice, check_one_each
from covey.inspection._display import COLORS, INK, MOST_NAMES, Axes, Display, checked_names


@dataclass(eq=False, kw_only=True)
class ImportanceDisplay(Display):
    """Who decides which rows: the members' importances over the data.

    Rows are sorted by predicted class, then by the member that counts most. Make one by
    `from_estimator` or `from_importance`.

    Draw it where weights depend on the row (a gate, dynamic selection); under equal weights all
    rows look alike.

    Parameters
    ----------
    importance : ndarray of shape (n_rows, n_members)
        In the order drawn.
    order : ndarray of shape (n_rows,)
        The rows of the data that they are.
    predictions : ndarray of shape (n_rows,) or None
        Predicted classes, in the order drawn.
    names : list of str

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.ImportanceDisplay.from_estimator(flock, X)
    >>> display.importance.shape
    (200, 3)
    """

    importance: np.ndarray
    order: np.ndarray
    predictions: np.ndarray | None
    names: list[str]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Draw who decides in a fitted ensemble.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        **options
            Those of `plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._check_flock(estimator, regressors=True, why_no_oracle="reads the true labels")
        return cls.from_importance(
            estimator.explain_fusion(X),
            predictions=estimator.predict(X) if is_classifier(estimator) else None,
            names=estimator._names(),
            **options,
        )

    @classmethod
    def from_importance(
        cls,
        importance: ArrayLike,
        *,
        predictions: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Draw what ``explain_fusion`` gave.

        Parameters
        ----------
        importance : array-like of shape (n_rows, n_members)
            Not negative.
        predictions : array-like of shape (n_rows,), optional
            Predicted classes, to sort by first.
        names : sequence of str, optional
            The members' names; a data frame has its own.
        **options
            Those of `plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._require_matplotlib()
        if names is None and hasattr(importance, "columns"):
            names = list(importance.columns)
        importance = check_array(importance, dtype=np.float64, input_name="importance")
        n_rows, n_members = importance.shape
        if importance.min() < 0:
            raise ValueError(f"importance must not be negative, got {importance.min():g}.")
        if names is None:
            names = [f"member {number}" for number in range(1, n_members + 1)]
        codes = np.zeros(n_rows, dtype=int)
        if predictions is not None:
            predictions = column_or_1d(predictions)
            check_one_each(
                predictions, n_rows, "predictions", "label for each of the {} rows of importance"
            )
            codes = np.unique(predictions, return_inverse=True)[1]
        order = np.lexsort((-importance.max(axis=1), importance.argmax(axis=1), codes))
        return cls(
            importance=importance[order],
            order=order,
            predictions=None if predictions is None else predictions[order],
            names=checked_names(names, n_members, "members"),
        ).plot(**options)

    def plot(self, ax: Axes | None = None, *, kind: str = "auto") -> Self:
        """Draw the importances.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        kind : {"auto", "stacked", "heatmap"}, default="auto"
            "auto" stacks up to eight members, for more there are not enough colors.

        Returns
        -------
        self : ImportanceDisplay
        """
        check_choice(kind, "kind", ("auto", "stacked", "heatmap"))
        ax = self._start(ax)
        if kind == "auto":
            kind = "stacked" if len(self.names) <= len(COLORS) else "heatmap"
        if kind == "stacked":
            self._stack(ax)
        else:
            self._color(ax)
        by = "dominant member"
        if self.predictions is not None:
            by = f"predicted class and {by}"
            self._mark_classes(ax, "white" if kind == "stacked" else INK)
        ax.set_xlabel(f"rows, by {by}")
        # The classes' names stand between title and axes.
        self._set_title(ax, "who decides", pad=6 if self.predictions is None else 18)
        return self

    def _stack(self, ax: Axes) -> None:
        n_rows, n_members = self.importance.shape
        # A row is a step of width one; its right edge needs a value too.
        heights = np.vstack([self.importance, self.importance[-1:]]).T
        ax.stackplot(
            np.arange(n_rows + 1),
            heights,
            step="post",
            colors=self._colors_of(n_members),
            labels=self.names,
            linewidth=0,
        )
        ax.set(xlim=(0, n_rows), ylim=(0, heights.sum(axis=0).max()), ylabel="importance")
        handles, labels = ax.get_legend_handles_labels()
        # The uppermost band is named first, and beside the bands, which fill the axes.
        ax.legend(
            handles[::-1],
            labels[::-1],
            fontsize=7,
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            handlelength=1,
        )

    def _color(self, ax: Axes) -> None:
        n_rows, n_members = self.importance.shape
        image = ax.imshow(
            self.importance.T,
            aspect="auto",
            cmap="Blues",
            vmin=0,
            interpolation="nearest",  # neighboring members have nothing in common
            extent=(0, n_rows, n_members - 0.5, -0.5),
        )
        step = -(-n_members // MOST_NAMES)
        ax.set_yticks(range(0, n_members, step), self.names[::step], fontsize=7)
        self._add_color_bar(ax, image, "importance")

    def _mark_classes(self, ax: Axes, color: str) -> None:
        n_rows = len(self.predictions)
        starts = np.flatnonzero(self.predictions[1:] != self.predictions[:-1]) + 1
        for start in starts:
            ax.axvline(start, color=color, lw=1.5)
        for start, end in pairwise([0, *starts, n_rows]):
            if end - start > 0.04 * n_rows:
                ax.text(
                    (start + end) / 2,
                    1.02,
                    f"→ {self.predictions[start]}",
                    transform=ax.get_xaxis_transform(),
                    ha="center",
                    fontsize=8,
                )
