"""Figure 2 as a reader sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.reproduce._figure2 import (
    N_DUMMIES,
    N_FEATURES,
    ROWS_PER_CLASS,
    matrices,
    top_pair,
    top_two,
)
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import Results
from covey.reproduce._style import panels


def binarized(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (13), thresholds such that one pair and two features are left: two matrices."""
    cross, single = np.zeros_like(F), np.zeros_like(F)
    p, q = top_pair(F)
    cross[p, q] = cross[q, p] = 1
    for feature in top_two(F):
        single[feature, feature] = 1
    return cross, single


def draw(results: Results) -> Any:
    """Three panels: F, its top pair, its top two features."""
    F = matrices(results).mean(axis=0)
    figure, axes = panels(1, 3, size=(10.5, 3.9))
    names = [f"$x_{number + 1}$" for number in range(N_FEATURES)]
    titles = ("(a) F", "(b) top pair", "(c) top two features")
    for ax, matrix, title in zip(axes, (F, *binarized(F)), titles, strict=True):
        low = F.min() if matrix is F else 0
        image = ax.imshow(matrix, cmap="Greys", vmin=low, vmax=matrix.max())
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(range(N_FEATURES), names)
            axis.set_ticks(np.arange(-0.5, N_FEATURES), minor=True)
        ax.grid(which="minor", color="#d5dae0", lw=0.6)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(True)
        ax.set_title(title, loc="left")
        if matrix is F:
            bar = figure.colorbar(image, ax=ax, shrink=0.75)
            bar.set_label("co-selection rate", fontsize=8)
            bar.ax.tick_params(labelsize=7.5)
            bar.outline.set_linewidth(0.5)
    return figure


def section(results: Results, options: Options) -> Section:
    """Figure 2 and how often single training sets agree with it."""
    every = matrices(results)
    F = every.mean(axis=0)
    return filled(
        "Figure 2: features selected together",
        "figure2",
        n_dummies=N_DUMMIES,
        n_rows=ROWS_PER_CLASS,
        n_sets=len(every),
        top=top_pair(F),
        rate=F[top_pair(F)],
        others=F[2:, 2:][np.triu_indices(N_DUMMIES, 1)].mean(),
        pair=100 * np.mean([top_pair(one) == (0, 1) for one in every]),
        single=100 * np.mean([top_two(one) == (0, 1) for one in every]),
    )
