"""Pictures of members: their training, their features, their similarity, their importances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from covey._core.limits import TINY
from covey._plain_words import first_line
from covey._validation import check_choice, check_number, check_one_each, check_sample_weight
from covey.fusers import Fuser
from covey.fusers._fixed import make_fuser
from covey.fusers._predictions import encode_labels
from covey.inspection._bias_variance import AUTHORS, BiasVariance
from covey.inspection._diversity import complete_predictions, diversity
from covey.inspection._fusion_loss import Ambiguity, ambiguity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # so that annotations need no matplotlib
    Axes = Any

BLUE, ORANGE, INK, PALE, GRAY = "#3b6ea5", "#d9822b", "#22272e", "#e9edf2", "#8a95a3"
COLORS = (BLUE, ORANGE, "#4f9d69", "#b5557a", "#7a6bb0", "#3aa0a8", "#a08a4b", GRAY)

_STYLE = {
    "font.size": 8,
    "legend.framealpha": 0.9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
}
# More names than this have no room along an axis.
MOST_NAMES = 30


class Display:
    """A picture that is made from results and drawn by `plot`."""

    ax_: Axes
    figure_: Any

    # Draws on the axes, with the options of the display's own `plot`.
    _draw: Callable[..., None]

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.

        Returns
        -------
        self : Display
            With ``ax_`` and ``figure_``, the axes and the figure that it was drawn on.
        """
        return self._plotted(ax)

    def _plotted(self, ax: Axes | None, **options: Any) -> Self:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                f"{type(self).__name__} draws and needs matplotlib: pip install matplotlib"
            ) from None
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        with plt.rc_context(_STYLE):
            self._draw(self.ax_, **options)
        return self

    @staticmethod
    def _check_flock(
        estimator: Any, *, regressors: bool = False, why_no_oracle: str | None = None
    ) -> None:
        """Refuse others than fitted ensembles; and the oracle, with a reason."""
        if not hasattr(estimator, "explain_fusion") or not (
            regressors or is_classifier(estimator)
        ):
            raise TypeError(
                "estimator must be a fitted ensemble of covey, such as FlockClassifier or "
                f"FusionClassifier, got {type(estimator).__name__}; wrap other models in a "
                "FusionClassifier with prefit=True."
            )
        check_is_fitted(estimator, "fuser_")
        if why_no_oracle is not None and estimator.fuser_.needs_y:
            raise ValueError(
                f"estimator is fused by the oracle, which {why_no_oracle}; fit it with another "
                "fuser."
            )


def add_color_bar(ax: Axes, image: Any, label: str) -> Any:
    """Add a bar beside the axes that shows the values of the image's colors."""
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return bar


def colors_of(number: int) -> list[Any]:
    """Return this many colors: those of `COLORS` if they are enough, else of a color map."""
    if number <= len(COLORS):
        return list(COLORS[:number])
    import matplotlib as mpl

    return [mpl.colormaps["turbo"](share) for share in np.linspace(0.05, 0.95, number)]


_MARKERS = "o^sDvP*X"
# With more features than this, cells of a map have no room for their values.
_MOST_VALUES = 12


@dataclass(eq=False, kw_only=True)
class CoSelectionDisplay(Display):
    """A map of the features that members keep, and keep together: F of eq. (12).

    Make one by `from_estimator`.

    Draw it if members have subsets of their own; with more than some fifty features it is hard to
    read.

    Parameters
    ----------
    selector : SubsetSelector
        Fitted.

    Attributes
    ----------
    image_ : AxesImage
        The drawn image.

    Examples
    --------
    >>> import covey
    >>> from covey.inspection import CoSelectionDisplay
    >>> X, y = covey.make_quarter_circle(100, n_dummy_features=6, random_state=0)
    >>> selector = covey.SubsetSelector(random_state=0).fit(X, y)
    >>> CoSelectionDisplay.from_estimator(selector)  # doctest: +SKIP
    """

    selector: Any

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the result of a `SubsetSelector`.

        Parameters
        ----------
        estimator : SubsetSelector
            Fitted.
        **options
            Parameters of `plot`.

        Returns
        -------
        display : CoSelectionDisplay
        """
        if hasattr(estimator, "cross_threshold"):
            check_is_fitted(estimator, "co_selection_")
        if not hasattr(estimator, "co_selection_"):
            raise TypeError(
                f"estimator must be a fitted SubsetSelector, got {type(estimator).__name__}."
            )
        return cls(selector=estimator).plot(**options)

    def plot(
        self, ax: Axes | None = None, *, kind: str = "frequency", cmap: Any = "Blues"
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        kind : {"frequency", "pairs", "features"}, default="frequency"
            F itself; the selected pairs; or the selected features: Fig. 2 (a), (b) and (c) of the
            paper.
        cmap : str or Colormap, default="Blues"

        Returns
        -------
        self : CoSelectionDisplay
        """
        check_choice(kind, "kind", ("frequency", "pairs", "features"))
        return self._plotted(ax, kind=kind, cmap=cmap)

    def _draw(self, ax: Axes, kind: str, cmap: Any) -> None:
        found = self.selector
        F, n_features = found.co_selection_, len(found.co_selection_)
        on_diagonal = np.eye(n_features, dtype=bool)
        if kind == "frequency":
            shown, highest = F, max(float(F.max()), 1e-9)
            title = "how often features are kept together"
        elif kind == "pairs":
            shown, highest = found.co_selection_binary_ & ~on_diagonal, 1
            title = f"{shown.sum() // 2} pairs ($T_{{cross}}$ = {found.cross_threshold_:.2f})"
        else:
            shown, highest = found.co_selection_binary_ & on_diagonal, 1
            limit = found.individual_threshold_
            how = "by tests" if limit is None else f"$T_{{indiv}}$ = {limit:.2f}"
            title = f"{shown.sum()} features ({how})"
        self.image_ = ax.imshow(shown.astype(float), cmap=cmap, vmin=0, vmax=highest)
        if kind == "frequency":
            if n_features <= _MOST_VALUES:
                for (row, column), value in np.ndenumerate(F):
                    words = f"{value:.2f}".lstrip("0") if value < 1 else "1"
                    color = "white" if value > 0.6 * highest else INK
                    style = {"ha": "center", "va": "center", "color": color}
                    ax.text(column, row, words, **style)
            self._add_bar(ax)
        elif n_features > MOST_NAMES:
            # A smaller cell would be invisible.
            marks = {"s": 14, "marker": "s", "color": INK, "linewidths": 0, "zorder": 3}
            ax.scatter(*np.nonzero(shown)[::-1], clip_on=False, **marks)
        self._name_axes(ax, shown)
        ax.set_title(title)

    def _add_bar(self, ax: Axes) -> None:
        """Add a color bar on which the known thresholds are marked."""
        marks = (
            (self.selector.individual_threshold_, "indiv", "-", "line"),
            (self.selector.cross_threshold_, "cross", ":", "dots"),
        )
        known = [mark for mark in marks if mark[0] is not None]
        texts = [f"$T_{{{symbol}}}$ = {value:.2f} ({word})" for value, symbol, _, word in known]
        bar = add_color_bar(ax, self.image_, ", ".join(["frequency", *texts]))
        for value, _, style, _ in known:
            bar.ax.axhline(value, color=ORANGE, lw=2, ls=style)

    def _name_axes(self, ax: Axes, shown: np.ndarray) -> None:
        """Name all features, or among many those that stand out and have room."""
        n_features = len(shown)
        ticks = list(range(n_features))
        if n_features > MOST_NAMES:
            ticks = []
            for feature in np.argsort(-shown.sum(axis=1) - np.diag(self.selector.co_selection_)):
                if len(ticks) == 8 or not shown[feature].any():
                    break
                if all(abs(feature - other) > n_features / 14 for other in ticks):
                    ticks.append(int(feature))
            ticks.sort()
        known = getattr(self.selector, "feature_names_in_", range(n_features))
        names = [str(known[feature]) for feature in ticks]
        size = 8 if n_features <= _MOST_VALUES or n_features > MOST_NAMES else 6
        long = max(map(len, names), default=0) > 3
        ax.set_xticks(ticks, names, fontsize=size, rotation=90 if long else 0)
        ax.set_yticks(ticks, names, fontsize=size)
        ax.set(xlabel="feature", ylabel="feature")
        if n_features <= MOST_NAMES:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_ticks(np.arange(n_features + 1) - 0.5, minor=True)
            ax.grid(which="minor", color="white", lw=1)
            ax.tick_params(which="minor", length=0)
        for spine in ax.spines.values():
            spine.set_color(GRAY)


@dataclass(eq=False, kw_only=True)
class TrainingHistoryDisplay(Display):
    """The growth of members: weighted accuracy and subset size, step by step.

    Make one by `from_estimator`.

    Draw it for a `SubsetEnsembleClassifier` or `SubsetEnsembleRegressor`, which grow member by
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
    >>> display = covey.inspection.TrainingHistoryDisplay.from_estimator(flock)
    >>> len(display.history)
    3
    """

    history: list[dict[str, np.ndarray]]

    @property
    def skipped(self) -> list[int]:
        """The numbers (from 1) of the members that have no history."""
        return [number for number, past in enumerate(self.history, start=1) if not past]

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the history of a fitted ensemble.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FlockClassifier or their regressors
        **options
            Parameters of `plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
        """
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
            regressor's weighted losses as shares of those at its start. The weights of later
            members have smaller sums, and so have their accuracies and losses.

        Returns
        -------
        self : TrainingHistoryDisplay
        """
        if len(self.skipped) == len(self.history):
            raise ValueError(
                "history holds nothing to draw: every member was fitted alone; fit with "
                "effort='fast', or without a search."
            )
        return self._plotted(ax, relative=relative)

    def _draw(self, ax: Axes, relative: bool) -> None:
        ax.set_axis_off()
        upper, lower = ax.inset_axes((0, 0.5, 1, 0.5)), ax.inset_axes((0, 0, 1, 0.44))
        self.axes_ = np.array([upper, lower])
        losses = any("weighted_loss" in past for past in self.history)
        quality = "weighted_loss" if losses else "weighted_accuracy"
        colors = colors_of(len(self.history))
        for number, (past, color) in enumerate(zip(self.history, colors, strict=True), start=1):
            if not past:
                continue
            values, sizes = np.asarray(past[quality]), np.asarray(past["subset_size"])
            if relative:
                whole = values[0] if losses else values.max()
                values = values / max(whole, np.finfo(np.float64).tiny)
            style = {"color": color, "lw": 1.3, "label": f"member {number}"}
            upper.plot(values, **style)
            lower.plot(sizes, **style, drawstyle="steps-post")
            for half, shown in ((upper, values), (lower, sizes)):
                half.plot(len(shown) - 1, shown[-1], "o", color=color, ms=3)
        share = ("\n(share of start)" if losses else "\n(share of best)") if relative else ""
        upper.set_ylabel(quality.replace("_", " ") + share)
        lower.set_ylabel("subset size")
        lower.set_xlabel("step")
        lower.locator_params(integer=True)
        lower.set_xlim(upper.get_xlim())
        upper.tick_params(labelbottom=False)
        if len(self.history) <= len(COLORS):
            upper.legend(loc=f"{'upper' if losses else 'lower'} right", ncols=2)
        upper.set_title("how members were grown")
        if self.skipped:
            members = "members" if len(self.skipped) > 1 else "member"
            words = f"no history: {members} {', '.join(map(str, self.skipped))}, fitted alone"
            style = {"ha": "right", "color": INK}
            lower.text(0.98, 0.05, words, transform=lower.transAxes, **style)


@dataclass(eq=False, kw_only=True)
class SizeDisplay(Display):
    """Accuracy against the number of members.

    Make one by `from_estimator`.

    Draw it to see whether more members still help; in a flock with gates the members of one group
    belong together.

    Parameters
    ----------
    fused : ndarray of shape (n_members,)
        Accuracy of the first member, the first two, ... under ``rule``.
    oracle : ndarray of shape (n_members,)
        The accuracies if the right member were always picked.
    baseline : float
        Accuracy of a single model.
    rule : str
        The name of the rule.
    fitted_score : float or None
        Accuracy of the ensemble itself, if its fuser is not a fixed rule.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.inspection.SizeDisplay.from_estimator(flock, X, y)
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
        """Draw the gain of a fitted ensemble from its members.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score, preferably rows that it was not trained on.
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
        check_number(baseline, "baseline", low=0, high=1, or_none=True)
        own = estimator.fuser_
        given = own.get_params()
        # A fixed rule fuses the first few members as well as all of them.
        set_for_all = any(given.get(name) is not None for name in ("weights", "k"))
        fixed = not (own.learns or own.needs_y or set_for_all)
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
        style = {"marker": "o" if len(sizes) <= 30 else None, "ms": 4}
        ax.plot(sizes, self.oracle, color=GRAY, label="oracle", **style)
        ax.plot(sizes, self.fused, color=BLUE, label=f"fused: {self.rule}", **style)
        ax.axhline(self.baseline, color=INK, ls=":", lw=1.5, label="single model")
        if self.fitted_score is not None:
            label = "fused as fitted"
            ax.plot(sizes[-1:], [self.fitted_score], "D", color=ORANGE, ms=7, label=label)
        ax.locator_params(axis="x", integer=True)
        ax.set(xlabel="number of members K", ylabel="accuracy")
        ax.legend()
        ax.set_title("what more members bring")


@dataclass(eq=False, kw_only=True)
class KappaErrorDisplay(Display):
    """A kappa-error diagram: how alike any two members are, and how often they err.

    Each point is a pair of members (Margineantu and Dietterich, 1997). Members that are both
    accurate and different would lie in the lower left corner. Make one by `from_estimator` or
    `from_predictions`.

    Draw it for ten to some hundred members; three members have only three points.

    Parameters
    ----------
    kappa : ndarray of shape (n_pairs,)
        Cohen's kappa of the two members' labels.
    error : ndarray of shape (n_pairs,)
        The mean of their error rates.
    pairs : ndarray of shape (n_pairs, 2)
        The positions of the two members.
    names : list of str

    Attributes
    ----------
    points_ : PathCollection
        The drawn points.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.inspection.KappaErrorDisplay.from_estimator(flock, X, y)
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
            Parameters of `from_predictions`.

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
        cls, P: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Draw saved predictions.

        Parameters
        ----------
        P : Predictions, array, data frame, mapping or list
            Any form that `covey.fuse` takes.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        **options
            Parameters of `plot`.

        Returns
        -------
        display : KappaErrorDisplay
        """
        P = complete_predictions(P)
        found = diversity(P, y, measures="label_kappa", sample_weight=sample_weight)
        weight = check_sample_weight(sample_weight, P.n_samples)
        errors = weight @ (P.labels != P.encode(y)[:, None]) / weight.sum()
        pairs = np.stack(np.triu_indices(P.n_members, 1), axis=1)
        kappa = found.matrices["label_kappa"][*pairs.T]
        error = errors[pairs].mean(axis=1)
        return cls(kappa=kappa, error=error, pairs=pairs, names=P.names).plot(**options)

    def _draw(self, ax: Axes) -> None:
        style = {"s": 26, "color": BLUE, "alpha": 0.6, "linewidths": 0}
        self.points_ = ax.scatter(self.kappa, self.error, label="two members", **style)
        ax.plot([self.kappa.mean()], [self.error.mean()], "P", color=ORANGE, ms=9, label="mean")
        if len(self.pairs) <= 10:
            for *point, (one, other) in zip(self.kappa, self.error, self.pairs, strict=True):
                shift = {"xytext": (4, 3), "textcoords": "offset points"}
                ax.annotate(f"{one + 1}-{other + 1}", point, **shift)
        ax.margins(0.12)
        ax.set(xlabel="kappa (1: always the same label)", ylabel="mean error of the two")
        ax.legend()
        ax.set_title("alike, and how wrong: pairs of members")


@dataclass(eq=False, kw_only=True)
class ImportanceDisplay(Display):
    """The members' importances over the data: who decides which rows.

    Rows are sorted by predicted class, then by the member that counts most. Make one by
    `from_estimator`.

    Draw it if weights depend on the row (a gate, dynamic selection); under equal weights all rows
    look alike.

    Parameters
    ----------
    importance : ndarray of shape (n_rows, n_members)
        In the order drawn.
    order : ndarray of shape (n_rows,)
        The positions of these rows in the data.
    predictions : ndarray of shape (n_rows,) or None
        Predicted classes, in the order drawn.
    names : list of str

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> display = covey.inspection.ImportanceDisplay.from_estimator(flock, X)
    >>> display.importance.shape
    (200, 3)
    """

    importance: np.ndarray
    order: np.ndarray
    predictions: np.ndarray | None
    names: list[str]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Draw the importances of a fitted ensemble's members.

        Parameters
        ----------
        estimator : FlockClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        **options
            Parameters of `plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._check_flock(estimator, regressors=True, why_no_oracle="reads the true labels")
        importance, predictions = estimator.explain_fusion(X), None
        codes = np.zeros(len(importance), dtype=int)
        if is_classifier(estimator):
            predictions = estimator.predict(X)
            codes = np.unique(predictions, return_inverse=True)[1]
        order = np.lexsort((-importance.max(axis=1), importance.argmax(axis=1), codes))
        return cls(
            importance=importance[order],
            order=order,
            predictions=None if predictions is None else predictions[order],
            names=estimator._names(),
        ).plot(**options)

    def plot(self, ax: Axes | None = None, *, kind: str = "auto") -> Self:
        """Draw the importances.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        kind : {"auto", "stacked", "heatmap"}, default="auto"
            "auto" stacks up to eight members, since there are not enough colors for more.

        Returns
        -------
        self : ImportanceDisplay
        """
        check_choice(kind, "kind", ("auto", "stacked", "heatmap"))
        return self._plotted(ax, kind=kind)

    def _draw(self, ax: Axes, kind: str) -> None:
        n_rows, n_members = self.importance.shape
        stacked = kind == "stacked" or (kind == "auto" and n_members <= len(COLORS))
        if stacked:
            # A row is a step of width one; its right edge needs a value too.
            heights = np.vstack([self.importance, self.importance[-1:]]).T
            style = {"step": "post", "colors": colors_of(n_members), "linewidth": 0}
            bands = ax.stackplot(np.arange(n_rows + 1), heights, labels=self.names, **style)
            ax.set(xlim=(0, n_rows), ylim=(0, heights.sum(axis=0).max()), ylabel="importance")
            # The uppermost band is named first, and beside the bands, which fill the axes.
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
            ax.legend(handles=bands[::-1], handlelength=1, **beside)
        else:
            # Neighboring members have nothing in common.
            style = {"aspect": "auto", "cmap": "Blues", "vmin": 0, "interpolation": "nearest"}
            whole = 0, n_rows, n_members - 0.5, -0.5
            image = ax.imshow(self.importance.T, extent=whole, **style)
            step = -(-n_members // MOST_NAMES)
            ax.set_yticks(range(0, n_members, step), self.names[::step])
            add_color_bar(ax, image, "importance")
        known = self.predictions
        if known is not None:
            starts = np.flatnonzero(known[1:] != known[:-1]) + 1
            for start in starts:
                ax.axvline(start, color="white" if stacked else INK, lw=1.5)
            for start, end in pairwise([0, *starts, n_rows]):
                if end - start > 0.04 * n_rows:
                    style = {"transform": ax.get_xaxis_transform(), "ha": "center"}
                    ax.text((start + end) / 2, 1.02, f"→ {known[start]}", **style)
        by = "predicted class and dominant member" if known is not None else "dominant member"
        ax.set_xlabel(f"rows, by {by}")
        # The classes' names stand between title and axes.
        ax.set_title("who decides", pad=6 if known is None else 18)


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
        The predictions of each member: logarithms of probabilities, or scores, or votes.
    classes : ndarray of shape (n_classes,)
    feature_names : list of str
    X : ndarray of shape (n_samples, 2)
    codes : ndarray of shape (n_samples,) or None
        The classes of X as positions.

    Attributes
    ----------
    regions_ : QuadMesh
        The drawn regions.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> from covey.inspection import DecisionRegionsDisplay
    >>> display = DecisionRegionsDisplay.from_estimator(flock, X, y, resolution=20)
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
        X: Any,
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
            raise ValueError(
                f"X must hold finite numbers to be drawn on a plane: {first_line(error)}."
            ) from None
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
        x0, x1 = np.linspace(low - room, high + room, resolution).T
        columns = [axis.ravel() for axis in np.meshgrid(x0, x1)]
        named = hasattr(X, "columns")
        # A frame of the user's own kind, so that the estimator finds the names it knows.
        grid = type(X)(dict(zip(X.columns, columns, strict=True))) if named else np.c_[*columns]
        fused = estimator.predict_log_proba(grid)
        P = estimator._predictions(estimator._check_rows(grid))
        members = P.log() if P.kind == "probability" else P.values
        shape = (resolution, resolution)
        names = list(X.columns) if named else getattr(estimator, "feature_names_in_", None)
        return cls(
            x0=x0,
            x1=x1,
            fused=np.maximum(fused, np.log(np.finfo(np.float64).tiny)).reshape(*shape, -1),
            members=members.reshape(*shape, *members.shape[1:]),
            classes=estimator.classes_,
            feature_names=["$x_1$", "$x_2$"] if names is None else [str(n) for n in names],
            X=points,
            codes=codes,
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import ListedColormap
        from matplotlib.lines import Line2D

        colors = colors_of(len(self.classes))
        scale = {"vmin": -0.5, "vmax": len(colors) - 0.5, "cmap": ListedColormap(colors)}
        style = {"alpha": 0.22, "shading": "nearest", "linewidth": 0, "rasterized": True}
        called = self.fused.argmax(axis=2)
        self.regions_ = ax.pcolormesh(self.x0, self.x1, called, **scale, **style)
        for member in range(self.members.shape[2]):
            self._draw_ties(ax, self.members[:, :, member], colors=GRAY, linewidths=1)
        self._draw_ties(ax, self.fused, colors=INK, linewidths=2)
        lines = (INK, 2, "fused"), (GRAY, 1, "members")
        handles = [Line2D([], [], color=one, lw=width, label=of) for one, width, of in lines]
        if self.codes is None:
            ax.scatter(*self.X.T, s=14, color=INK, alpha=0.6, linewidths=0)
        else:
            style = {"s": 20, "edgecolors": "white", "linewidths": 0.4, "zorder": 3}
            for code, (label, color) in enumerate(zip(self.classes, colors, strict=True)):
                style |= {"color": color, "marker": _MARKERS[code % len(_MARKERS)]}
                own = self.X[self.codes == code]
                handles.append(ax.scatter(*own.T, label=str(label), **style))
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=self.x0[[0, -1]], ylim=self.x1[[0, -1]])
        ax.legend(handles=handles)
        ax.set_title("the fused decision, and its members")

    def _draw_ties(self, ax: Axes, scores: np.ndarray, **style: Any) -> None:
        """Draw where the best class and the next one are equally good."""
        n_classes = scores.shape[2]
        # For two classes one line is enough.
        for code in range(1 if n_classes == 2 else 0, n_classes):
            lead = scores[:, :, code] - np.delete(scores, code, axis=2).max(axis=2)
            if lead.min() < 0 < lead.max():
                # Negative levels would be dashed by matplotlib; no side of a tie is negative.
                ax.contour(self.x0, self.x1, lead, levels=[0.0], linestyles="solid", **style)


# -- Pictures of the parts of errors, as bars and as darts, and of the gain of members ---------

# In the order in which the terms are stacked.
_TERMS = ("bias", "bias_and_noise", "variance", "net_variance", "noise", "noise_effect")
_N_RINGS = 4


@dataclass
class AmbiguityDisplay(Display):
    """The losses of members, their mean, and how far below it the fusion is.

    Draw it to see how much members gain by being different; `KappaErrorDisplay` shows which of
    them are.

    Parameters
    ----------
    measured : Ambiguity
        The result of `ambiguity`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import covey
    >>> X, y = load_wine(return_X_y=True)
    >>> flock = covey.SubsetEnsembleClassifier(3, flip_probability=0.2, random_state=0).fit(X, y)
    >>> display = covey.inspection.AmbiguityDisplay.from_estimator(flock, X, y)
    """

    measured: Ambiguity

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the gain of a fitted ensemble's members from their differences.

        Parameters
        ----------
        estimator, X, y
            As in `ambiguity`.
        ax : matplotlib Axes, optional
        **options
            Parameters of `ambiguity`.

        Returns
        -------
        display : AmbiguityDisplay
        """
        cls._check_flock(estimator, regressors=True)
        return cls(ambiguity(estimator, X, y, **options)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        found = self.measured
        # The heaviest above; if there are too many, the lightest are left out.
        order = np.argsort(-found.importance, kind="stable")[:MOST_NAMES]
        shade = 0.25 + 0.75 * found.importance[order] / found.importance.max()
        places = np.arange(len(order))
        bars = ax.barh(places, found.loss_of_members[order], color=BLUE, height=0.7)
        for bar, alpha in zip(bars, shade, strict=True):
            bar.set_alpha(alpha)
        ax.set_yticks(places, [found.names[k] for k in order])
        ax.invert_yaxis()
        ax.axvline(found.member_loss, color=INK, ls=":", lw=1.5, label="members, by importance")
        ax.axvline(found.loss, color=ORANGE, lw=2, label="fused")
        ax.axvspan(found.loss, found.member_loss, color=ORANGE, alpha=0.12)
        ax.set_xlabel(
            f"loss: {found.member_loss:.3g} of members - {found.ambiguity:.3g} ambiguity = "
            f"{found.loss:.3g} fused"
        )
        ax.legend(loc="lower right")
        ax.set_title("what members gain by differing")


@dataclass(eq=False, kw_only=True)
class BiasVarianceDisplay(Display):
    """The parts of the expected loss of one or several models, as bars.

    Parts above zero are stacked upwards, parts below zero (such as Domingos' net variance)
    downwards; together they are the expected loss, which is marked. Make one by `from_results`.

    Draw it to see whether a larger flock (variance) or a richer member (bias) would help.

    Parameters
    ----------
    results : dict of str to BiasVariance
        Results of `bias_variance`, by the models' names.

    Attributes
    ----------
    bars_ : dict of str to BarContainer
        The drawn bars.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import covey
    >>> def draw(rng):
    ...     X = rng.uniform(0, 1, (40, 1))
    ...     return X, np.sin(6 * X[:, 0]) + rng.normal(0, 0.1, 40)
    >>> test = np.array([[0.2], [0.8]])
    >>> deep = covey.inspection.bias_variance(
    ...     DecisionTreeRegressor(),
    ...     draw=draw,
    ...     X_test=test,
    ...     truth=lambda X: np.sin(6 * X[:, 0]),
    ...     n_runs=20,
    ...     random_state=0,
    ... )
    >>> display = covey.inspection.BiasVarianceDisplay.from_results({"deep tree": deep})
    >>> sorted(display.bars_)
    ['bias', 'variance']
    """

    results: dict[str, BiasVariance]

    @classmethod
    def from_results(cls, results: Any, *, ax: Axes | None = None) -> Self:
        """Draw results of `bias_variance`.

        Parameters
        ----------
        results : BiasVariance, or mapping from the models' names to them
            All of one loss and decomposition.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : BiasVarianceDisplay
        """
        results = _named(results)
        if len({(result.loss, result.decomposition) for result in results.values()}) > 1:
            raise ValueError(
                "results must share one loss and decomposition, or their bars do not compare; "
                "draw them apart."
            )
        return cls(results=results).plot(ax)

    def _draw(self, ax: Axes) -> None:
        results = list(self.results.values())
        places, losses = np.arange(len(results)), [result.expected_loss for result in results]
        above, below = np.zeros(len(places)), np.zeros(len(places))
        self.bars_ = {}
        for name in _TERMS:
            if not any(name in result.parts for result in results):
                continue
            values = np.array([result.parts.get(name, 0.0) for result in results])
            color = ORANGE if "variance" in name else BLUE if "bias" in name else "#b9c2cd"
            start, label = np.where(values < 0, below, above), name.replace("_", " ")
            self.bars_[name] = ax.bar(places, values, 0.6, bottom=start, color=color, label=label)
            above += np.maximum(values, 0)
            below += np.minimum(values, 0)
        ax.hlines(losses, places - 0.38, places + 0.38, color=INK, lw=2, label="expected loss")
        for place, value, top in zip(places, losses, above, strict=True):
            point, shift = (place, max(value, top)), {"xytext": (0, 4), "ha": "center"}
            ax.annotate(f"{value:.3g}", point, textcoords="offset points", **shift)
        ax.axhline(0, color=INK, lw=0.8)
        ax.margins(y=0.12)
        crowded = max(map(len, self.results)) * len(results) > 40
        style = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        ax.set_xticks(places, list(self.results), **style)
        words = {"squared": "squared loss", "zero_one": "zero-one loss"}[results[0].loss]
        ax.set_ylabel(words + AUTHORS.get(results[0].decomposition or "", ""))
        ax.legend()
        ax.set_title("what the loss is made of")


@dataclass(eq=False, kw_only=True)
class DartsDisplay(Display):
    """Bias and variance as darts, thrown by real models.

    A dart is the prediction of two test rows by the model of one training set: its distance from
    the center, where the truth is, is its error for one row across and for the other row up. Darts
    around another point than the center show bias, darts far from each other variance. All targets
    have one scale. Make one by `from_results`.

    Draw it to explain bias and variance to people; numbers are in `BiasVarianceDisplay`.

    Parameters
    ----------
    darts : list of ndarray of shape (n_runs, 2)
        Errors of each model.
    names : list of str
    rows : tuple of two int
        The test rows.

    Attributes
    ----------
    axes_ : list of Axes
        The targets, in the order of the models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import covey
    >>> def draw(rng):
    ...     X = rng.uniform(0, 1, (40, 1))
    ...     return X, np.sin(6 * X[:, 0]) + rng.normal(0, 0.1, 40)
    >>> test = np.array([[0.2], [0.8]])
    >>> deep = covey.inspection.bias_variance(
    ...     DecisionTreeRegressor(),
    ...     draw=draw,
    ...     X_test=test,
    ...     truth=lambda X: np.sin(6 * X[:, 0]),
    ...     n_runs=20,
    ...     random_state=0,
    ... )
    >>> from covey.inspection import DartsDisplay
    >>> display = DartsDisplay.from_results({"deep tree": deep})
    >>> display.darts[0].shape
    (20, 2)
    """

    darts: list[np.ndarray]
    names: list[str]
    rows: tuple[int, int]

    @classmethod
    def from_results(
        cls,
        results: Any,
        *,
        rows: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw predictions that `bias_variance` kept.

        Parameters
        ----------
        results : BiasVariance, or mapping from the models' names to them
            Results for regressors with one output, all of the same test rows. Errors are relative
            to the true function if it is known, else to ``y_test``.
        rows : pair of int, optional
            The two test rows. By default, among the rows whose biases and variances are most
            similar to the models' means, the two whose errors are the least correlated.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DartsDisplay
        """
        results = _named(results)
        errors = []
        for name, result in results.items():
            found = None if result.loss != "squared" else result.predictions
            if found is None or found.ndim != 2:
                raise ValueError(
                    f"results must be of regressors with one output, but {name!r} is not; its "
                    "predictions have no distance from the truth that a dart could show."
                )
            errors.append(found - result.target)
        if len({error.shape[1] for error in errors}) > 1:
            raise ValueError("results must be of the same test rows; draw others apart.")
        rows = _two_rows(rows, errors)
        darts = [error[:, rows] for error in errors]
        return cls(darts=darts, names=list(results), rows=(rows[0], rows[1])).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Circle

        ax.set_axis_off()
        step = _round_step(max(np.hypot(*dart.T).max() for dart in self.darts) / _N_RINGS)
        across = int(np.ceil(np.sqrt(len(self.darts))))
        height = 0.9 / -(-len(self.darts) // across)
        self.axes_ = []
        for number, (dart, name) in enumerate(zip(self.darts, self.names, strict=True)):
            row, column = divmod(number, across)
            corner = column / across, 1 - (row + 1) * height
            target = ax.inset_axes((*corner, 0.94 / across, 0.77 * height))
            self.axes_.append(target)
            for ring in range(_N_RINGS, 0, -1):
                style = {"facecolor": "white" if ring % 2 else PALE, "edgecolor": "#c9d1da"}
                target.add_patch(Circle((0, 0), ring * step, lw=0.8, **style))
            target.scatter(*dart.T, s=12, color=ORANGE, alpha=0.7, linewidths=0, zorder=3)
            center = dart.mean(axis=0)
            target.plot(0, 0, "+", color=INK, ms=8, mew=1.2, zorder=4)
            target.plot(*center, "X", color=BLUE, ms=7, mec="white", mew=0.6, zorder=5)
            reach = _N_RINGS * step
            target.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            target.set_axis_off()
            spread = np.sqrt(((dart - center) ** 2).sum(axis=1).mean())
            found = f"bias {np.hypot(*center):.2g}, spread {spread:.2g}"
            target.set_title(f"{name}\n{found}", loc="center", fontsize=8, pad=2)
        words = (
            f"across: error of test row {self.rows[0]}, up: of row {self.rows[1]};\n"
            f"rings {step:g} apart, + truth, ✖ mean of darts"
        )
        ax.text(0.5, 0.0, words, transform=ax.transAxes, ha="center", va="bottom")
        ax.set_title("bias and variance as darts")


def _named(results: Any) -> dict[str, BiasVariance]:
    """Return results by the names of their models."""
    if isinstance(results, BiasVariance):
        # "Squared loss of Ridge: 50 fresh training sets ..." names the model.
        results = {results.description.partition(" of ")[2].partition(":")[0]: results}
    known = isinstance(results, Mapping) and results
    if not known or not all(isinstance(result, BiasVariance) for result in results.values()):
        raise TypeError(
            "results must be what bias_variance returned, or a dict with one result for each "
            f"name, got {type(results).__name__}."
        )
    return {str(name): result for name, result in results.items()}


def _two_rows(rows: Sequence[int] | None, errors: list[np.ndarray]) -> list[int]:
    """Return two test rows as a list; if none are given, typical but unlike ones."""
    n_test = errors[0].shape[1]
    if n_test < 2:
        raise ValueError("results have one test row only; darts need two.")
    if rows is not None:
        rows = list(rows)
        if len(rows) != 2 or rows[0] == rows[1]:
            raise ValueError(f"rows must be two different test rows, got {rows!r}.")
        return [int(check_number(row, "rows", low=0, high=n_test - 1, whole=True)) for row in rows]
    terms = [term for error in errors for term in (error.mean(0) ** 2, error.var(0))]
    unlike = sum(np.abs(term - term.mean()) / max(term.mean(), TINY) for term in terms)
    typical = np.argsort(unlike, kind="stable")[: int(np.clip(n_test // 4, 2, 30))]
    # Rows with similar predictions would line up all darts on the diagonal.
    alike = np.diag(np.full(len(typical), np.inf))
    for error in errors:
        deviation = error[:, typical] - error[:, typical].mean(axis=0)
        size = np.maximum(np.sqrt((deviation**2).sum(axis=0)), TINY)
        alike += np.abs(deviation.T @ deviation / np.outer(size, size))
    pair = np.unravel_index(alike.argmin(), alike.shape)
    return sorted(typical[list(pair)].tolist())


def _round_step(least: float) -> float:
    """Return the smallest round number that is not below ``least``."""
    if least <= 0:
        return 1.0
    round_ones = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) * 10.0 ** np.floor(np.log10(least))
    return float(round_ones[round_ones >= least][0])
