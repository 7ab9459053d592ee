"""Pictures of flocks: how members were grown, how they differ, who decides."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import make_fuser
from covey.fusers._predictions import encode_labels
from covey.inspection._display import (
    BLUE,
    COLOURS,
    GREY,
    INK,
    MARKERS,
    MOST_NAMES,
    ORANGE,
    Display,
    colours_of,
)
from covey.inspection._diversity import complete_predictions, diversity
from covey.members._fused import FusedClassifier


@dataclass(eq=False, kw_only=True)
class SizeDisplay(Display):
    """Accuracy against the number of members.

    Make one by `from_estimator`.

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

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    fused: np.ndarray
    oracle: np.ndarray
    baseline: float
    rule: str = "fused"
    fitted_score: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, fusion=None, baseline=None, sample_weight=None, ax=None
    ):
        """Draw how a fitted ensemble gains from its members.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score, best those that were not trained on.
        y : array-like of shape (n_samples,)
        fusion : str or Fuser, optional
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
        cls._pyplot()
        _check_flock(estimator)
        if baseline is not None:
            check_number(baseline, "baseline", low=0, high=1)
        own = estimator.fuser_
        fixed = _is_fixed(own)
        if fusion is None:
            plain = "product" if _speaks_in_probabilities(estimator) else "majority"
            fusion = own if fixed else plain
        fused = estimator.staged_score(X, y, sample_weight, fusion=fusion)
        show_fitted = not fixed and not own.needs_y
        return cls(
            fused=fused,
            oracle=estimator.staged_score(X, y, sample_weight, fusion="oracle"),
            baseline=float(fused[0] if baseline is None else baseline),
            rule=fusion if isinstance(fusion, str) else type(fusion).__name__.lower(),
            fitted_score=estimator.score(X, y, sample_weight) if show_fitted else None,
        ).plot(ax)

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.

        Returns
        -------
        self : SizeDisplay
        """
        ax = self._start(ax)
        sizes = np.arange(1, len(self.fused) + 1)
        mark = "o" if len(sizes) <= 30 else None
        ax.plot(sizes, self.oracle, color=GREY, marker=mark, ms=4, label="oracle")
        ax.plot(sizes, self.fused, color=BLUE, marker=mark, ms=4, label=f"fused: {self.rule}")
        ax.axhline(self.baseline, color=INK, ls=":", lw=1.5, label="single model")
        if self.fitted_score is not None:
            ax.plot(
                sizes[-1:], [self.fitted_score], "D", color=ORANGE, ms=7, label="fused as fitted"
            )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="number of members K", ylabel="accuracy")
        ax.legend(fontsize=8, framealpha=0.9)
        ax.set_title("what more members bring", fontsize=10, loc="left")
        return self


@dataclass(eq=False, kw_only=True)
class KappaErrorDisplay(Display):
    """Kappa-error diagram: how alike any two members are, and how often they err.

    Each point is a pair of members (Margineantu and Dietterich, 1997). Members that are both
    accurate and different would lie in the lower left corner. Make one by `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    kappa : ndarray of shape (n_pairs,)
        Cohen's kappa of the labels that the two give.
    error : ndarray of shape (n_pairs,)
        The mean of their error rates.
    pairs : ndarray of shape (n_pairs, 2)
        Which members.
    names : list of str

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    points_ : PathCollection
    """

    kappa: np.ndarray
    error: np.ndarray
    pairs: np.ndarray
    names: list

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sample_weight=None, ax=None):
        """Draw the members of a fitted ensemble.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        ax : matplotlib Axes, optional

        Returns
        -------
        display : KappaErrorDisplay
        """
        cls._pyplot()
        _check_flock(estimator)
        P = estimator._predictions(estimator._check_rows(X))
        P.names = estimator._names()
        return cls.from_predictions(P, y, sample_weight=sample_weight, ax=ax)

    @classmethod
    def from_predictions(cls, P, y, *, sample_weight=None, ax=None):
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
        cls._pyplot()
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

    def plot(self, ax=None):
        """Draw the points, and their mean.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.

        Returns
        -------
        self : KappaErrorDisplay
        """
        ax = self._start(ax)
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
        ax.set_title("alike, and how wrong: pairs of members", fontsize=10, loc="left")
        return self


@dataclass(eq=False, kw_only=True)
class ImportanceDisplay(Display):
    """Who decides which rows: the members' importances over the data.

    Rows are sorted by predicted class, then by the member that counts most. Make one by
    `from_estimator` or `from_importance`.

    Parameters
    ----------
    importance : ndarray of shape (n_rows, n_members)
        In the order drawn.
    order : ndarray of shape (n_rows,)
        The rows of the data that they are.
    predictions : ndarray of shape (n_rows,) or None
        Predicted classes, in the order drawn.
    names : list of str

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    importance: np.ndarray
    order: np.ndarray
    predictions: np.ndarray | None
    names: list

    @classmethod
    def from_estimator(cls, estimator, X, *, kind="auto", ax=None):
        """Draw who decides in a fitted ensemble.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FusionClassifier or other ensemble of covey
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        kind, ax
            As for `plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._pyplot()
        _check_flock(estimator)
        if estimator.fuser_.needs_y:
            raise ValueError(
                "estimator is fused by the oracle, which reads the true labels; fit it with "
                "another fusion to see who decides."
            )
        return cls.from_importance(
            estimator.explain_fusion(X),
            predictions=estimator.predict(X),
            names=estimator._names(),
            kind=kind,
            ax=ax,
        )

    @classmethod
    def from_importance(cls, importance, *, predictions=None, names=None, kind="auto", ax=None):
        """Draw what ``explain_fusion`` gave.

        Parameters
        ----------
        importance : array-like of shape (n_rows, n_members)
            Not negative.
        predictions : array-like of shape (n_rows,), optional
            Predicted classes, to sort by first.
        names : sequence of str, optional
            The members' names; a data frame has its own.
        kind, ax
            As for `plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._pyplot()
        if names is None and hasattr(importance, "columns"):
            names = list(importance.columns)
        importance = check_array(importance, dtype=np.float64, input_name="importance")
        n_rows, n_members = importance.shape
        if importance.min() < 0:
            raise ValueError(f"importance must not be negative, got {importance.min():g}.")
        names = [f"member {k}" for k in range(1, n_members + 1)] if names is None else list(names)
        if len(names) != n_members:
            raise ValueError(
                f"names must hold one name for each of the {n_members} members, got {len(names)}."
            )
        codes = np.zeros(n_rows, dtype=int)
        if predictions is not None:
            predictions = column_or_1d(predictions)
            if len(predictions) != n_rows:
                raise ValueError(
                    f"predictions must hold one label for each of the {n_rows} rows of "
                    f"importance, got {len(predictions)}."
                )
            codes = np.unique(predictions, return_inverse=True)[1]
        order = np.lexsort((-importance.max(axis=1), importance.argmax(axis=1), codes))
        return cls(
            importance=importance[order],
            order=order,
            predictions=None if predictions is None else predictions[order],
            names=[str(name) for name in names],
        ).plot(ax, kind=kind)

    def plot(self, ax=None, *, kind="auto"):
        """Draw the importances.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        kind : {"auto", "stacked", "heatmap"}, default="auto"
            "auto" stacks up to eight members, for more there are not enough colours.

        Returns
        -------
        self : ImportanceDisplay
        """
        check_choice(kind, "kind", ("auto", "stacked", "heatmap"))
        ax = self._start(ax)
        n_rows, n_members = self.importance.shape
        if kind == "auto":
            kind = "stacked" if n_members <= len(COLOURS) else "heatmap"
        if kind == "stacked":
            # A row is a step of width one; its right edge needs a value too.
            heights = np.vstack([self.importance, self.importance[-1:]]).T
            ax.stackplot(
                np.arange(n_rows + 1),
                heights,
                step="post",
                colors=colours_of(n_members),
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
        else:
            image = ax.imshow(
                self.importance.T,
                aspect="auto",
                cmap="Blues",
                vmin=0,
                interpolation="nearest",  # neighbouring members have nothing in common
                extent=(0, n_rows, n_members - 0.5, -0.5),
            )
            step = -(-n_members // MOST_NAMES)
            ax.set_yticks(range(0, n_members, step), self.names[::step], fontsize=7)
            bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
            bar.set_label("importance", fontsize=8)
            bar.ax.tick_params(labelsize=7)
            bar.outline.set_visible(False)
        by = "dominant member"
        if self.predictions is not None:
            by = f"predicted class and {by}"
            self._mark_classes(ax, kind)
        ax.set_xlabel(f"rows, by {by}")
        # The classes' names stand between title and axes.
        pad = 6 if self.predictions is None else 18
        ax.set_title("who decides", fontsize=10, loc="left", pad=pad)
        return self

    def _mark_classes(self, ax, kind):
        n_rows = len(self.predictions)
        starts = np.flatnonzero(self.predictions[1:] != self.predictions[:-1]) + 1
        for start in starts:
            ax.axvline(start, color="white" if kind == "stacked" else INK, lw=1.5)
        edges = np.concatenate([[0], starts, [n_rows]])
        for start, end in pairwise(edges):
            if end - start > 0.04 * n_rows:
                ax.text(
                    (start + end) / 2,
                    1.02,
                    f"→ {self.predictions[start]}",
                    transform=ax.get_xaxis_transform(),
                    ha="center",
                    fontsize=8,
                )


@dataclass(eq=False, kw_only=True)
class DecisionRegionsDisplay(Display):
    """The regions of a fused decision on two features, and where each member is undecided.

    Make one by `from_estimator`.

    Parameters
    ----------
    x0, x1 : ndarrays of shape (resolution,)
        The grid.
    fused : ndarray of shape (resolution, resolution, n_classes)
        Logarithms of the fused probabilities; rows go along x1.
    members : ndarray of shape (resolution, resolution, n_members, n_classes)
        What each member says: logarithms of probabilities, or scores, or votes.
    classes : ndarray of shape (n_classes,)
    feature_names : list of str
    X : ndarray of shape (n_samples, 2)
    codes : ndarray of shape (n_samples,) or None
        The classes of X as positions.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    regions_ : QuadMesh
    """

    x0: np.ndarray
    x1: np.ndarray
    fused: np.ndarray
    members: np.ndarray
    classes: np.ndarray
    feature_names: list
    X: np.ndarray
    codes: np.ndarray | None = None

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, resolution=200, margin=0.08, ax=None):
        """Draw a fitted ensemble of two features.

        Parameters
        ----------
        estimator : SubsetEnsembleClassifier, FusionClassifier or other ensemble of covey
        X : array-like or data frame of shape (n_samples, 2)
            The points to show; they say how far the axes reach.
        y : array-like of shape (n_samples,), optional
            Their labels.
        resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.08
            How far to look beyond the points, as a share of their range.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DecisionRegionsDisplay
        """
        cls._pyplot()
        _check_flock(estimator)
        check_number(resolution, "resolution", low=2, whole=True)
        check_number(margin, "margin", low=0)
        if estimator.fuser_.needs_y:
            raise ValueError(
                "estimator is fused by the oracle, which has no regions of its own; fit it with "
                "another fusion."
            )
        points = check_array(X, dtype=np.float64, input_name="X")
        if points.shape[1] != 2:
            raise ValueError(
                f"X must have two features to be drawn on a plane, got {points.shape[1]}; fit "
                "the estimator on two of them."
            )
        codes = None
        if y is not None:
            labels = column_or_1d(y)
            if len(labels) != len(points):
                raise ValueError(
                    f"y must hold one label for each of the {len(points)} rows of X, got "
                    f"{len(labels)}."
                )
            codes = encode_labels(labels, estimator.classes_, "y holds")
        low, high = points.min(axis=0), points.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        x0, x1 = (
            np.linspace(low[place] - room[place], high[place] + room[place], resolution)
            for place in (0, 1)
        )
        columns = [axis.ravel() for axis in np.meshgrid(x0, x1)]
        named = hasattr(X, "columns")
        # A frame of the user's own kind, so that the estimator sees the names it knows.
        grid = type(X)(dict(zip(X.columns, columns, strict=True))) if named else np.c_[*columns]
        least = np.log(np.finfo(np.float64).tiny)
        fused = np.maximum(estimator.predict_log_proba(grid), least)
        P = estimator._predictions(estimator._check_rows(grid))
        said = P.log() if P.kind == "probability" else P.values
        shape = (resolution, resolution)
        names = list(X.columns) if named else getattr(estimator, "feature_names_in_", None)
        return cls(
            x0=x0,
            x1=x1,
            fused=fused.reshape(*shape, -1),
            members=said.reshape(*shape, *said.shape[1:]),
            classes=estimator.classes_,
            feature_names=["$x_1$", "$x_2$"] if names is None else [str(n) for n in names],
            X=points,
            codes=codes,
        ).plot(ax)

    def plot(self, ax=None):
        """Draw regions, lines and points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.

        Returns
        -------
        self : DecisionRegionsDisplay
        """
        from matplotlib.colors import ListedColormap
        from matplotlib.lines import Line2D

        ax = self._start(ax)
        n_classes = len(self.classes)
        colours = colours_of(n_classes)
        self.regions_ = ax.pcolormesh(
            self.x0,
            self.x1,
            self.fused.argmax(axis=2),
            cmap=ListedColormap(colours),
            vmin=-0.5,
            vmax=n_classes - 0.5,
            alpha=0.22,
            shading="nearest",
            linewidth=0,
            rasterized=True,
        )
        for member in range(self.members.shape[2]):
            self._draw_ties(ax, self.members[:, :, member], colors=GREY, linewidths=1)
        self._draw_ties(ax, self.fused, colors=INK, linewidths=2)
        handles = [
            Line2D([], [], color=INK, lw=2, label="fused"),
            Line2D([], [], color=GREY, lw=1, label="members"),
        ]
        if self.codes is None:
            ax.scatter(*self.X.T, s=14, color=INK, alpha=0.6, linewidths=0)
        else:
            for code, (label, colour) in enumerate(zip(self.classes, colours, strict=True)):
                handles.append(
                    ax.scatter(
                        *self.X[self.codes == code].T,
                        s=20,
                        color=colour,
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
        ax.set_title("the fused decision, and its members", fontsize=10, loc="left")
        return self

    def _draw_ties(self, ax, scores, **style):
        """Draw where the best class and the next one are equally good."""
        n_classes = scores.shape[2]
        # Of two classes one line says it all.
        for code in range(1 if n_classes == 2 else 0, n_classes):
            lead = scores[:, :, code] - np.delete(scores, code, axis=2).max(axis=2)
            if lead.min() < 0 < lead.max():
                # Dashes are matplotlib's for negative levels; here no side is negative.
                ax.contour(self.x0, self.x1, lead, levels=[0.0], linestyles="solid", **style)


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
        estimator : SubsetEnsembleClassifier
        relative, ax
            As for `plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
        """
        from covey.members import SubsetEnsembleClassifier

        cls._pyplot()
        if not isinstance(estimator, SubsetEnsembleClassifier):
            raise TypeError(
                "estimator must be a fitted SubsetEnsembleClassifier, whose members are grown "
                f"step by step, got {type(estimator).__name__}."
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
            Whether weighted accuracies are shown as shares of each member's best. The weights
            of later members sum to less, and so do their accuracies as they are.

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
        colours = colours_of(len(self.history))
        for number, (past, colour) in enumerate(zip(self.history, colours, strict=True), start=1):
            if not past:
                continue
            for half, quantity in ((upper, "weighted_accuracy"), (lower, "subset_size")):
                values = np.asarray(past[quantity])
                if relative and half is upper:
                    values = values / max(values.max(), np.finfo(np.float64).tiny)
                style = {"color": colour, "lw": 1.3, "label": f"member {number}"}
                if quantity == "subset_size":
                    style["drawstyle"] = "steps-post"
                half.plot(np.arange(len(values)), values, **style)
                half.plot(len(values) - 1, values[-1], "o", color=colour, ms=3)
        of_best = "\n(share of best)" if relative else ""
        upper.set_ylabel(f"weighted accuracy{of_best}", fontsize=8)
        lower.set_ylabel("subset size", fontsize=8)
        lower.set_xlabel("step")
        lower.yaxis.get_major_locator().set_params(integer=True)
        lower.xaxis.get_major_locator().set_params(integer=True)
        lower.set_xlim(upper.get_xlim())
        upper.tick_params(labelbottom=False, labelsize=8)
        lower.tick_params(labelsize=8)
        if few:
            upper.legend(fontsize=7, loc="lower right", framealpha=0.9, ncols=2)
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


def _check_flock(estimator):
    if not isinstance(estimator, FusedClassifier):
        raise TypeError(
            "estimator must be a fitted ensemble of covey, such as SubsetEnsembleClassifier or "
            f"FusionClassifier, got {type(estimator).__name__}; wrap other models in a "
            "FusionClassifier with prefit=True."
        )
    check_is_fitted(estimator, "fuser_")


def _is_fixed(fuser):
    """Whether a fuser can fuse the first few members as well as all of them."""
    set_for_all = any(
        getattr(fuser, name) is not None for name in ("weights", "k") if name in fuser.get_params()
    )
    return not (fuser.learns or fuser.needs_y or set_for_all)


def _speaks_in_probabilities(estimator):
    # Only a FusionClassifier has members of other kinds.
    return getattr(estimator, "kind_", "probability") in make_fuser("product").kinds
