"""The fused decision over two features, and each member's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from covey._validation import check_number, check_one_each
from covey.fusers import encode_labels
from covey.inspection._display import GRAY, INK, MARKERS, Axes, Display


@dataclass(eq=False, kw_only=True)
class DecisionRegionsDisplay(Display):
    """The regions of a fused decision on two features, and where each member is undecided.

    Make one by `from_estimator`.

    Draw it for models on two features; for more, see `ImportanceDisplay`.

    Parameters
    ----------
    x0, x1 : ndarrays of shape (resolution,)
        The grid.
    fused : ndarray of shape (resolution, resolution, n_classes)
        Logarithms of the fused probabilities; rows are along x1.
    members : ndarray of shape (resolution, resolution, n_members, n_classes)
        What each member predicts: logarithms of probabilities, or scores, or votes.
    classes : ndarray of shape (n_classes,)
    feature_names : list of str
    X : ndarray of shape (n_samples, 2)
    codes : ndarray of shape (n_samples,) or None
        The classes of X as positions.

    Attributes
    ----------
    regions_ : QuadMesh
        What `plot` drew.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.DecisionRegionsDisplay.from_estimator(flock, X, y, resolution=20)
    >>> display.fused.shape
    (20, 20, 2)
    """

    x0: np.ndarray
    x1: np.ndarray
    fused: np.ndarray
    members: np.ndarray
    classes: np.ndarray
    feature_names: list[str]
    X: np.ndarray
    codes: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        resolution: int = 200,
        margin: float = 0.08,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted ensemble of two features.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like or data frame of shape (n_samples, 2)
            The points to show; the axes reach as far as they do.
        y : array-like of shape (n_samples,), optional
            Their labels.
        resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.08
            How far the axes reach beyond the points, as a share of their range.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DecisionRegionsDisplay
        """
        cls._check_flock(estimator, why_no_oracle="has no regions of its own")
        check_number(resolution, "resolution", low=2, whole=True)
        check_number(margin, "margin", low=0)
        try:
            points = check_array(X, dtype=np.float64, input_name="X")
        except (TypeError, ValueError) as error:
            why = str(error).splitlines()[0]
            raise ValueError(f"X must hold finite numbers to be drawn on a plane: {why}") from None
        if points.shape[1] != 2:
            raise ValueError(
                f"X must have two features to be drawn on a plane, got {points.shape[1]}; fit "
                "the estimator on two of them."
            )
        codes = None
        if y is not None:
            labels = column_or_1d(y)
            check_one_each(labels, len(points), "y", "label for each of the {} rows of X")
            codes = encode_labels(labels, estimator.classes_, "y holds")
        low, high = points.min(axis=0), points.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        x0, x1 = (
            np.linspace(low[feature] - room[feature], high[feature] + room[feature], resolution)
            for feature in (0, 1)
        )
        columns = [axis.ravel() for axis in np.meshgrid(x0, x1)]
        named = hasattr(X, "columns")
        # A frame of the user's own kind, so that the estimator sees the names it knows.
        grid = type(X)(dict(zip(X.columns, columns, strict=True))) if named else np.c_[*columns]
        least = np.log(np.finfo(np.float64).tiny)
        fused = np.maximum(estimator.predict_log_proba(grid), least)
        P = estimator._predictions(estimator._check_rows(grid))
        members = P.log() if P.kind == "probability" else P.values
        shape = (resolution, resolution)
        names = list(X.columns) if named else getattr(estimator, "feature_names_in_", None)
        return cls(
            x0=x0,
            x1=x1,
            fused=fused.reshape(*shape, -1),
            members=members.reshape(*shape, *members.shape[1:]),
            classes=estimator.classes_,
            feature_names=["$x_1$", "$x_2$"] if names is None else [str(n) for n in names],
            X=points,
            codes=codes,
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import ListedColormap
        from matplotlib.lines import Line2D

        n_classes = len(self.classes)
        colors = self._colors_of(n_classes)
        self.regions_ = ax.pcolormesh(
            self.x0,
            self.x1,
            self.fused.argmax(axis=2),
            cmap=ListedColormap(colors),
            vmin=-0.5,
            vmax=n_classes - 0.5,
            alpha=0.22,
            shading="nearest",
            linewidth=0,
            rasterized=True,
        )
        for member in range(self.members.shape[2]):
            self._draw_ties(ax, self.members[:, :, member], colors=GRAY, linewidths=1)
        self._draw_ties(ax, self.fused, colors=INK, linewidths=2)
        handles = [
            Line2D([], [], color=INK, lw=2, label="fused"),
            Line2D([], [], color=GRAY, lw=1, label="members"),
        ]
        if self.codes is None:
            ax.scatter(*self.X.T, s=14, color=INK, alpha=0.6, linewidths=0)
        else:
            for code, (label, color) in enumerate(zip(self.classes, colors, strict=True)):
                handles.append(
                    ax.scatter(
                        *self.X[self.codes == code].T,
                        s=20,
                        color=color,
                        marker=MARKERS[code % len(MARKERS)],
                        edgecolors="white",
                        linewidths=0.4,
                        label=str(label),
                        zorder=3,
                    )
                )
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=self.x0[[0, -1]], ylim=self.x1[[0, -1]])
        ax.legend(handles=handles, fontsize=7, framealpha=0.9)
        self._set_title(ax, "the fused decision, and its members")

    def _draw_ties(self, ax: Axes, scores: np.ndarray, **style: Any) -> None:
        """Draw where the best class and the next one are equally good."""
        n_classes = scores.shape[2]
        # For two classes one line is enough.
        for code in range(1 if n_classes == 2 else 0, n_classes):
            lead = scores[:, :, code] - np.delete(scores, code, axis=2).max(axis=2)
            if lead.min() < 0 < lead.max():
                # Negative levels would be dashed by matplotlib; no side of a tie is negative.
                ax.contour(self.x0, self.x1, lead, levels=[0.0], linestyles="solid", **style)
