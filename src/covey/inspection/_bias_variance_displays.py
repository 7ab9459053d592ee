"""What errors are made of, as bars and as darts."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array

from covey._validation import check_number
from covey.inspection._bias_variance import BiasVariance
from covey.inspection._display import BLUE, INK, ORANGE, PALE, Display


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
    ax_, figure_
        Where it was drawn.
    bars_ : dict of str to BarContainer
    """

    parts: dict
    expected_loss: np.ndarray
    names: list
    loss: str = "expected loss"

    @classmethod
    def from_results(cls, results, *, names=None, ax=None):
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
        cls._pyplot()
        results, names = _named_results(results, names)
        kinds = {(result.loss, result.decomposition) for result in results}
        if len(kinds) > 1:
            raise ValueError(
                "results must share one loss and decomposition, or their bars do not compare; "
                "draw them apart."
            )
        ((loss, decomposition),) = kinds
        wanted = [
            name
            for name in (
                *("bias", "bias_and_noise", "variance"),
                *("net_variance", "noise", "noise_effect"),
            )
            if any(name in result.parts for result in results)
        ]
        words = {"squared": "squared loss", "zero_one": "zero-one loss"}[loss]
        author = {"domingos": " (Domingos)", "kohavi_wolpert": " (Kohavi and Wolpert)"}
        return cls(
            parts={
                name: np.array([result.parts.get(name, 0.0) for result in results])
                for name in wanted
            },
            expected_loss=np.array([result.expected_loss for result in results]),
            names=names,
            loss=words + author.get(decomposition, ""),
        ).plot(ax)

    def plot(self, ax=None):
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.

        Returns
        -------
        self : BiasVarianceDisplay
        """
        ax = self._start(ax)
        places = np.arange(len(self.names))
        above, below = np.zeros(len(places)), np.zeros(len(places))
        self.bars_ = {}
        for name, values in self.parts.items():
            colour = ORANGE if "variance" in name else BLUE if "bias" in name else "#b9c2cd"
            self.bars_[name] = ax.bar(
                places,
                values,
                0.6,
                bottom=np.where(values < 0, below, above),
                color=colour,
                label=name.replace("_", " "),
            )
            above += np.maximum(values, 0)
            below += np.minimum(values, 0)
        ax.hlines(
            self.expected_loss,
            places - 0.38,
            places + 0.38,
            color=INK,
            lw=2,
            label="expected loss",
        )
        for place, value, top in zip(places, self.expected_loss, above, strict=True):
            ax.annotate(
                f"{value:.3g}",
                (place, max(value, top)),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        ax.axhline(0, color=INK, lw=0.8)
        ax.margins(y=0.12)
        crowded = max(map(len, self.names)) * len(self.names) > 40
        ax.set_xticks(places, self.names, fontsize=8, rotation=20 if crowded else 0)
        if crowded:
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        ax.set_ylabel(self.loss)
        ax.legend(fontsize=7, framealpha=0.9)
        ax.set_title("what the loss is made of", fontsize=10, loc="left")
        return self


@dataclass(eq=False, kw_only=True)
class DartsDisplay(Display):
    """Bias and variance as darts, thrown by real models.

    A dart is what the model of one training set predicts of two test rows: its distance from
    the centre, where the truth is, is its error of the one row across and of the other row up.
    Darts about another point than the centre are bias, darts far from each other variance.
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
    ax_, figure_
        Where it was drawn.
    axes_ : list of Axes
        The targets, in the order of the models.
    """

    darts: list
    names: list
    rows: tuple

    @classmethod
    def from_results(cls, results, y_true, *, rows=None, names=None, ax=None):
        """Draw predictions that `bias_variance` kept.

        Parameters
        ----------
        results : BiasVariance, list of them, or mapping from names to them
            Of regressors with one output, all of the same test rows.
        y_true : array-like of shape (n_test,)
            The truth at the test rows: the true function where it is known, else ``y_test``.
        rows : pair of int, optional
            Which two test rows. By default, of the rows whose biases and variances are the most
            like the models' means, the two whose errors go together the least.
        names : sequence of str, optional
            The models' names.
        ax : matplotlib Axes, optional

        Returns
        -------
        display : DartsDisplay
        """
        cls._pyplot()
        results, names = _named_results(results, names)
        truth = check_array(y_true, dtype=np.float64, ensure_2d=False, input_name="y_true")
        for name, result in zip(names, results, strict=True):
            if result.loss != "squared" or result.predictions.ndim != 2:
                raise ValueError(
                    f"results must be of regressors with one output, but {name!r} is not; its "
                    "predictions have no distance from the truth that a dart could show."
                )
            if truth.shape != result.predictions.shape[1:]:
                raise ValueError(
                    f"y_true must hold one value for each of the {result.predictions.shape[1]} "
                    f"test rows of {name!r}, got an array of shape {truth.shape}."
                )
        errors = [result.predictions - truth for result in results]
        rows = _two_rows(rows, errors)
        return cls(darts=[error[:, rows] for error in errors], names=names, rows=tuple(rows)).plot(
            ax
        )

    def plot(self, ax=None):
        """Draw the targets.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default; its place is shared by the targets.

        Returns
        -------
        self : DartsDisplay
        """
        from matplotlib.patches import Circle

        ax = self._start(ax)
        ax.set_axis_off()
        n_rings = 4
        farthest = max(np.hypot(*dart.T).max() for dart in self.darts)
        step = _round_step(farthest / n_rings)
        reach = n_rings * step
        across = int(np.ceil(np.sqrt(len(self.darts))))
        up = -(-len(self.darts) // across)
        self.axes_ = []
        for place, (dart, name) in enumerate(zip(self.darts, self.names, strict=True)):
            column, row = place % across, place // across
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
            centre = dart.mean(axis=0)
            target.plot(0, 0, "+", color=INK, ms=8, mew=1.2, zorder=4)
            target.plot(*centre, "X", color=BLUE, ms=7, mec="white", mew=0.6, zorder=5)
            spread = np.sqrt(((dart - centre) ** 2).sum(axis=1).mean())
            target.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            target.set_axis_off()
            target.set_title(
                f"{name}\nbias {np.hypot(*centre):.2g}, spread {spread:.2g}", fontsize=7.5, pad=2
            )
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
        ax.set_title("bias and variance as darts", fontsize=10, loc="left")
        return self


def _named_results(results, names):
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
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    if len(names) != len(results):
        raise ValueError(
            f"names must hold one name for each of the {len(results)} results, got {len(names)}."
        )
    return results, names


def _two_rows(rows, errors):
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


def _round_step(least):
    """The smallest round number that is not below ``least``."""
    if least <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    round_ones = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) * power
    return float(round_ones[round_ones >= least][0])
