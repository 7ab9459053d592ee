"""Figure 2 as a reader sees it."""

import numpy as np

from covey.reproduce._figure2 import (
    N_DUMMIES,
    N_FEATURES,
    ROWS_PER_CLASS,
    matrices,
    top_pair,
    top_two,
)
from covey.reproduce._page import Figure, Section, Text
from covey.reproduce._style import panels


def binarised(F):
    """Eq. (13), thresholds such that one pair and two features are left: two matrices."""
    cross, single = np.zeros_like(F), np.zeros_like(F)
    p, q = top_pair(F)
    cross[p, q] = cross[q, p] = 1
    for feature in top_two(F):
        single[feature, feature] = 1
    return cross, single


def draw(results):
    """Three panels: F, its top pair, its top two features."""
    F = matrices(results).mean(axis=0)
    figure, axes = panels(1, 3, size=(10.5, 3.9))
    cross, single = binarised(F)
    names = [f"$x_{number + 1}$" for number in range(N_FEATURES)]
    titles = ("(a) F", "(b) top pair", "(c) top two features")
    for ax, matrix, title in zip(axes, (F, cross, single), titles, strict=True):
        low = F.min() if title == "(a) F" else 0
        image = ax.imshow(matrix, cmap="Greys", vmin=low, vmax=matrix.max())
        ax.set_xticks(range(N_FEATURES), names)
        ax.set_yticks(range(N_FEATURES), names)
        ax.set_xticks(np.arange(-0.5, N_FEATURES), minor=True)
        ax.set_yticks(np.arange(-0.5, N_FEATURES), minor=True)
        ax.grid(which="minor", color="#d5dae0", lw=0.6)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(True)
        ax.set_title(title, loc="left")
        if title == "(a) F":
            bar = figure.colorbar(image, ax=ax, shrink=0.75)
            bar.set_label("co-selection rate", fontsize=8)
            bar.ax.tick_params(labelsize=7.5)
            bar.outline.set_linewidth(0.5)
    return figure


def section(results, options):
    """Figure 2 and how often single training sets agree with it."""
    every = matrices(results)
    F = every.mean(axis=0)
    (p, q), pair = top_pair(F), np.mean([top_pair(one) == (0, 1) for one in every])
    single = np.mean([top_two(one) == (0, 1) for one in every])
    others = F[2:, 2:][np.triu_indices(N_DUMMIES, 1)].mean()
    return Section(
        "Figure 2: features selected together",
        "figure2",
        [
            Text(
                f"The same set with {N_DUMMIES} uniform features that play no role, "
                f"{ROWS_PER_CLASS} training rows of each class (the paper does not say how many), "
                f"p_λ = 0.01, all 20 members; F is eq. (12), its mean over {len(every)} training "
                "sets. Darker is more often selected together."
            ),
            Figure(
                "figure2",
                "(a) The co-selection matrix F, (b) its highest off-diagonal entry, (c) its two "
                "highest diagonal entries (eq. 13).",
            ),
            Text(
                f"The top pair of the mean matrix is (x{p + 1}, x{q + 1}), co-selected at a rate "
                f"of {F[p, q]:.3f}; pairs of dummies are at {others:.3f} on average. In single "
                f"training sets, (x1, x2) is the top pair in {100 * pair:.0f} % and x1 and x2 "
                f"are the top two features in {100 * single:.0f} %. Members start from all "
                "features and flip few, so that dummies stay in most subsets: the order is "
                "what the figure shows, not a selection."
            ),
        ],
    )
