"""Pictures of what errors are made of: as bars, as darts, and of what members gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covey._core.limits import TINY
from covey._validation import check_number
from covey.inspection._bias_variance import AUTHORS, BiasVariance
from covey.inspection._display import (
    BLUE,
    INK,
    MOST_NAMES,
    ORANGE,
    PALE,
    Axes,
    Display,
)
from covey.inspection._fusion_loss import Ambiguity, ambiguity

# In the order in which the terms are stacked.
_TERMS = ("bias", "bias_and_noise", "variance", "net_variance", "noise", "noise_effect")
_N_RINGS = 4


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
    >>> display = covey.inspection.AmbiguityDisplay.from_estimator(flock, X, y)
    """

    measured: Ambiguity

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw what the members of a fitted ensemble gain by differing.

        Parameters
        ----------
        estimator, X, y
            As for `ambiguity`.
        ax : matplotlib Axes, optional
        **options
            Those of `ambiguity`.

        Returns
        -------
        display : AmbiguityDisplay
        """
        cls._check_flock(estimator, regressors=True)
        return cls(ambiguity(estimator, X, y, **options)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        found = self.measured
        # The heaviest above; where there are too many, the lightest are left out.
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

    Parts above zero are stacked upwards, parts below zero (Domingos' net variance may be)
    downwards; together they are the expected loss, which is marked. Make one by `from_results`.

    Draw it to see whether a larger flock (variance) or a richer member (bias) would help.

    Parameters
    ----------
    results : dict of str to BiasVariance
        What `bias_variance` found, by the models' names.

    Attributes
    ----------
    bars_ : dict of str to BarContainer
        What `plot` drew.

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
        """Draw what `bias_variance` found.

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
        ax.set_ylabel(words + AUTHORS.get(results[0].decomposition, ""))
        ax.legend()
        ax.set_title("what the loss is made of")


@dataclass(eq=False, kw_only=True)
class DartsDisplay(Display):
    """Bias and variance as darts, thrown by real models.

    A dart is what the model of one training set predicts of two test rows: its distance from
    the center, where the truth is, is its error of the one row across and of the other row up.
    Darts about another point than the center are bias, darts far from each other variance.
    All targets have one scale. Make one by `from_results`.

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
            Of regressors with one output, all of the same test rows. Errors are against the true
            function where it is known, else against ``y_test``.
        rows : pair of int, optional
            The two test rows. By default, of the rows whose biases and variances are the most
            like the models' means, the two whose errors are the least correlated.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DartsDisplay
        """
        results = _named(results)
        for name, result in results.items():
            if result.loss != "squared" or result.predictions.ndim != 2:
                raise ValueError(
                    f"results must be of regressors with one output, but {name!r} is not; its "
                    "predictions have no distance from the truth that a dart could show."
                )
        errors = [result.predictions - result.target for result in results.values()]
        if len({error.shape[1] for error in errors}) > 1:
            raise ValueError("results must be of the same test rows; draw others apart.")
        rows = _two_rows(rows, errors)
        darts = [error[:, rows] for error in errors]
        return cls(darts=darts, names=list(results), rows=tuple(rows)).plot(ax)

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
    """Results by the names of their models."""
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
    """Two test rows as a list; typical but unlike ones where none are given."""
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
    # Rows that are predicted alike would line up all darts on the diagonal.
    alike = np.diag(np.full(len(typical), np.inf))
    for error in errors:
        deviation = error[:, typical] - error[:, typical].mean(axis=0)
        size = np.maximum(np.sqrt((deviation**2).sum(axis=0)), TINY)
        alike += np.abs(deviation.T @ deviation / np.outer(size, size))
    pair = np.unravel_index(alike.argmin(), alike.shape)
    return sorted(typical[list(pair)].tolist())


def _round_step(least: float) -> float:
    """The smallest round number that is not below ``least``."""
    if least <= 0:
        return 1.0
    round_ones = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) * 10.0 ** np.floor(np.log10(least))
    return float(round_ones[round_ones >= least][0])
