"""What errors are made of, as bars and as darts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from covey._validation import check_number, check_one_each
from covey.inspection._bias_variance import AUTHORS, BiasVariance
from covey.inspection._display import BLUE, INK, ORANGE, PALE, Axes, Display, checked_names

# In the order in which the terms are stacked.
_TERMS = ("bias", "bias_and_noise", "variance", "net_variance", "noise", "noise_effect")


@dataclass(eq=False, kw_only=True)
class BiasVarianceDisplay(Display):
    """What the expected loss of one or several models is made of, as bars.

    Parts above zero are stacked upwards, parts below zero (Domingos' net variance may be)
    downwards; together they are the expected loss, which is marked. Make one by `from_results`.

    Parameters
    ----------
    parts : dict of str to ndarray of shape (n_models,)
        The terms by name, zero where a model has none.
    expected_loss : ndarray of shape (n_models,)
    names : list of str
    loss : str
        What was decomposed, in words.

    Attributes
    ----------
    bars_ : dict of str to BarContainer
        What `plot` drew.
    """

    parts: dict[str, np.ndarray]
    expected_loss: np.ndarray
    names: list[str]
    loss: str = "expected loss"

    @classmethod
    def from_results(
        cls, results: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw what `bias_variance` found.

        Parameters
        ----------
        results : BiasVariance, list of them, or mapping from names to them
            All of one loss and decomposition.
        names : sequence of str, optional
            The models' names.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : BiasVarianceDisplay
        """
        cls._require_matplotlib()
        results, names = _named_results(results, names)
        kinds = {(result.loss, result.decomposition) for result in results}
        if len(kinds) > 1:
            raise ValueError(
                "results must share one loss and decomposition, or their bars do not compare; "
                "draw them apart."
            )
        ((loss, decomposition),) = kinds
        words = {"squared": "squared loss", "zero_one": "zero-one loss"}[loss]
        return cls(
            parts={
                name: np.array([result.parts.get(name, 0.0) for result in results])
                for name in _TERMS
                if any(name in result.parts for result in results)
            },
            expected_loss=np.array([result.expected_loss for result in results]),
            names=names,
            loss=words + AUTHORS.get(decomposition, ""),
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        positions = np.arange(len(self.names))
        above, below = np.zeros(len(positions)), np.zeros(len(positions))
        self.bars_ = {}
        for name, values in self.parts.items():
            color = ORANGE if "variance" in name else BLUE if "bias" in name else "#b9c2cd"
            self.bars_[name] = ax.bar(
                positions,
                values,
                0.6,
                bottom=np.where(values < 0, below, above),
                color=color,
                label=name.replace("_", " "),
            )
            above += np.maximum(values, 0)
            below += np.minimum(values, 0)
        ax.hlines(
            self.expected_loss,
            positions - 0.38,
            positions + 0.38,
            color=INK,
            lw=2,
            label="expected loss",
        )
        for position, value, top in zip(positions, self.expected_loss, above, strict=True):
            ax.annotate(
                f"{value:.3g}",
                (position, max(value, top)),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        ax.axhline(0, color=INK, lw=0.8)
        ax.margins(y=0.12)
        crowded = max(map(len, self.names)) * len(self.names) > 40
        ax.set_xticks(positions, self.names, fontsize=8, rotation=20 if crowded else 0)
        if crowded:
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        ax.set_ylabel(self.loss)
        ax.legend(fontsize=7, framealpha=0.9)
        self._set_title(ax, "what the loss is made of")


@dataclass(eq=False, kw_only=True)
class DartsDisplay(Display):
    """Bias and variance as darts, thrown by real models.

    A dart is what the model of one training set predicts of two test rows: its distance from
    the center, where the truth is, is its error of the one row across and of the other row up.
    Darts about another point than the center are bias, darts far from each other variance.
    All targets have one scale. Make one by `from_results`.

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
    """

    darts: list[np.ndarray]
    names: list[str]
    rows: tuple[int, int]

    @classmethod
    def from_results(
        cls,
        results: Any,
        y_true: ArrayLike | None = None,
        *,
        rows: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw predictions that `bias_variance` kept.

        Parameters
        ----------
        results : BiasVariance, list of them, or mapping from names to them
            Of regressors with one output, all of the same test rows.
        y_true : array-like of shape (n_test,), optional
            The truth at the test rows. By default what the results were compared with: the true
            function where it is known, else ``y_test``.
        rows : pair of int, optional
            The two test rows. By default, of the rows whose biases and variances are the most
            like the models' means, the two whose errors are the least correlated.
        names : sequence of str, optional
            The models' names.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DartsDisplay
        """
        cls._require_matplotlib()
        results, names = _named_results(results, names)
        for name, result in zip(names, results, strict=True):
            if result.loss != "squared" or result.predictions.ndim != 2:
                raise ValueError(
                    f"results must be of regressors with one output, but {name!r} is not; its "
                    "predictions have no distance from the truth that a dart could show."
                )
        given = results[0].target if y_true is None else y_true
        truth = check_array(given, dtype=np.float64, ensure_2d=False, input_name="y_true")
        for result in results:
            check_one_each(
                truth, result.predictions.shape[1], "y_true", "value for each of the {} test rows"
            )
        errors = [result.predictions - truth for result in results]
        rows = _two_rows(rows, errors)
        darts = [error[:, rows] for error in errors]
        return cls(darts=darts, names=names, rows=tuple(rows)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Circle

        ax.set_axis_off()
        n_rings = 4
        farthest = max(np.hypot(*dart.T).max() for dart in self.darts)
        step = _round_step(farthest / n_rings)
        reach = n_rings * step
        across = int(np.ceil(np.sqrt(len(self.darts))))
        up = -(-len(self.darts) // across)
        self.axes_ = []
        for number, (dart, name) in enumerate(zip(self.darts, self.names, strict=True)):
            row, column = divmod(number, across)
            height = 0.9 / up
            target = ax.inset_axes(
                (column / across, 1 - (row + 1) * height, 0.94 / across, 0.77 * height)
            )
            self.axes_.append(target)
            for ring in range(n_rings, 0, -1):
                target.add_patch(
                    Circle(
                        (0, 0),
                        ring * step,
                        facecolor=PALE if ring % 2 == 0 else "white",
                        edgecolor="#c9d1da",
                        lw=0.8,
                    )
                )
            target.scatter(*dart.T, s=12, color=ORANGE, alpha=0.7, linewidths=0, zorder=3)
            center = dart.mean(axis=0)
            target.plot(0, 0, "+", color=INK, ms=8, mew=1.2, zorder=4)
            target.plot(*center, "X", color=BLUE, ms=7, mec="white", mew=0.6, zorder=5)
            spread = np.sqrt(((dart - center) ** 2).sum(axis=1).mean())
            target.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            target.set_axis_off()
            found = f"bias {np.hypot(*center):.2g}, spread {spread:.2g}"
            target.set_title(f"{name}\n{found}", fontsize=7.5, pad=2)
        ax.text(
            0.5,
            0.0,
            f"across: error of test row {self.rows[0]}, up: of row {self.rows[1]};\n"
            f"rings {step:g} apart, + truth, ✖ mean of darts",
            transform=ax.transAxes,
            ha="center",
            va="bottom",
            fontsize=7.5,
        )
        self._set_title(ax, "bias and variance as darts")


def _named_results(
    results: Any, names: Sequence[str] | None
) -> tuple[list[BiasVariance], list[str]]:
    """Results as a list, and a name for each."""
    if isinstance(results, BiasVariance):
        results = [results]
    elif isinstance(results, dict):
        names = list(results) if names is None else names
        results = list(results.values())
    else:
        results = list(results)
    if not results:
        raise ValueError("results holds nothing to draw; give at least one result.")
    for result in results:
        if not isinstance(result, BiasVariance):
            raise TypeError(
                f"results must be what bias_variance returned, got {type(result).__name__}."
            )
    if names is None:
        # "Squared loss of Ridge: 50 fresh training sets ..." names the model.
        names = [
            result.description.partition(" of ")[2].partition(":")[0] or f"model {number}"
            for number, result in enumerate(results, start=1)
        ]
    names = [names] if isinstance(names, str) else names
    return results, checked_names(names, len(results), "results")


def _two_rows(rows: Sequence[int] | None, errors: list[np.ndarray]) -> list[int]:
    """Two test rows as a list; typical but unlike ones where none are given."""
    n_test = errors[0].shape[1]
    if n_test < 2:
        raise ValueError("results have one test row only; darts need two.")
    if rows is None:
        terms = [term for error in errors for term in (error.mean(0) ** 2, error.var(0))]
        unlike = sum(np.abs(term - term.mean()) / max(term.mean(), 1e-300) for term in terms)
        typical = np.argsort(unlike, kind="stable")[: int(np.clip(n_test // 4, 2, 30))]
        # Rows that are predicted alike would line up all darts on the diagonal.
        alike = np.zeros((len(typical), len(typical)))
        for error in errors:
            deviation = error[:, typical] - error[:, typical].mean(axis=0)
            size = np.maximum(np.sqrt((deviation**2).sum(axis=0)), 1e-300)
            alike += np.abs(deviation.T @ deviation / np.outer(size, size))
        np.fill_diagonal(alike, np.inf)
        pair = np.unravel_index(alike.argmin(), alike.shape)
        return sorted(typical[list(pair)].tolist())
    rows = list(rows)
    if len(rows) != 2 or rows[0] == rows[1]:
        raise ValueError(f"rows must be two different test rows, got {rows!r}.")
    for row in rows:
        check_number(row, "rows", low=0, high=n_test - 1, whole=True)
    return [int(row) for row in rows]


def _round_step(least: float) -> float:
    """The smallest round number that is not below ``least``."""
    if least <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    round_ones = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) * power
    return float(round_ones[round_ones >= least][0])
