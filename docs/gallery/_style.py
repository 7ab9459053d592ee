"""What the gallery's scripts have in common: colors, intervals over seeds, saving a picture."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import t as student

HERE = Path(__file__).parent

# Okabe and Ito's colors, which color-blind readers can tell apart.
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9"
INK, GRAY, PALE = "#22272e", "#7a8490", "#e9edf2"


class Interval(NamedTuple):
    """A mean over seeds and half the width of its 95 % interval (Student's t)."""

    mean: np.ndarray
    half: np.ndarray

    @property
    def low(self):
        return self.mean - self.half

    @property
    def high(self):
        return self.mean + self.half

    def text(self, digits=3):
        return f"{self.mean:.{digits}f} ± {self.half:.{digits}f}"


def interval(values):
    """The interval of the mean of ``values``, whose first axis goes over seeds."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    half = student.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return Interval(values.mean(axis=0), half)


def squared_bias(result):
    """The squared bias without the share of variance that few training sets leave in it."""
    return result.bias - result.variance / (len(result.predictions) - 1)


def variance(result):
    """The variance between training sets, as endless ones would give it."""
    n_runs = len(result.predictions)
    return result.variance * n_runs / (n_runs - 1)


def panels(rows=1, columns=1, size=(8, 4), **keywords):
    """A figure and its axes, without the frames that show nothing."""
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, **keywords)
    for ax in np.ravel(axes):
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GRAY)
        ax.tick_params(colors=INK, labelsize=8.5)
    return figure, axes


def title(ax, text):
    ax.set_title(text, loc="left", fontsize=10.5, color=INK)


def band(ax, x, values, color, **line):
    """A line through the means, with its intervals as a band."""
    ax.fill_between(x, values.low, values.high, color=color, alpha=0.2, linewidth=0)
    return ax.plot(x, values.mean, color=color, lw=line.pop("lw", 2), **line)


def label(ax, x, y, text, color, **placement):
    """Text in the color of what it names, a few points away from (x, y)."""
    offset = placement.pop("offset", (5, 0))
    placement = {"va": "center", "ha": "left", "fontsize": 9, **placement}
    return ax.annotate(
        text, (x, y), xytext=offset, textcoords="offset points", color=color, **placement
    )


def save(figure, out, script):
    """Write the picture of ``script`` into the folder ``out``."""
    path = Path(out) / f"{Path(script).stem}.png"
    figure.savefig(path, dpi=110)
    print(f"wrote {path}, {path.stat().st_size / 1000:.0f} kB")
    return path
