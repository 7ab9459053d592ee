"""Figure 2: which features are selected together, on the synthetic set with six dummies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from covey.datasets import make_quarter_circle
from reproduction.data import whole_number
from reproduction.ensembles import Constants, grow_on_sets
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import Section, filled, panels
from reproduction.results import Results, Row

EXPERIMENT, DATASET, CONDITION = "figure2", "quarter_circle_extended", "100 per class"
N_DUMMIES = 6
N_FEATURES = 2 + N_DUMMIES
ROWS_PER_CLASS = 100
_AT_ONCE = 2


def tasks(options: Options) -> list[Task]:
    """All runs, a few at a time."""
    case = EXPERIMENT, DATASET, CONDITION, "figure2:work"
    arguments = {"seed": options.seed}
    return in_chunks(*case, runs=options.runs, at_once=_AT_ONCE, cost=0.25, arguments=arguments)


def work(seed: int, runs: list[int]) -> Iterator[Row]:
    """F of eq. (12) for each training set, as the quantities ``F_p_q`` with p <= q."""
    sets = [
        make_quarter_circle(
            ROWS_PER_CLASS,
            n_dummy_features=N_DUMMIES,
            random_state=whole_number(seed, EXPERIMENT, run),
        )
        for run in runs
    ]
    number = whole_number(seed, EXPERIMENT, "members")
    grown = grow_on_sets(sets, Constants(), seed=number, runs=runs)
    for run, ensembles in zip(runs, grown, strict=True):
        support = ensembles["both"].support.astype(float)
        together = support.T @ support / len(support)
        for p in range(N_FEATURES):
            for q in range(p, N_FEATURES):
                yield run, f"F_{p + 1}_{q + 1}", together[p, q]


def matrices(results: Results) -> np.ndarray:
    """F of each run, as (runs, D, D)."""
    case = EXPERIMENT, DATASET, CONDITION
    F = np.empty((len(results.get(*case, "F_1_1")), N_FEATURES, N_FEATURES))
    for p in range(N_FEATURES):
        for q in range(p, N_FEATURES):
            F[:, p, q] = F[:, q, p] = results.get(*case, f"F_{p + 1}_{q + 1}")
    return F


def top_pair(F: np.ndarray) -> tuple[int, ...]:
    """The off-diagonal entry that is highest; the first of equals."""
    above = np.where(np.triu(np.ones_like(F), 1) > 0, F, -np.inf)
    return tuple(int(i) for i in np.unravel_index(np.argmax(above), F.shape))


def top_two(F: np.ndarray) -> tuple[int, ...]:
    """The two features that are selected most often; the first of equals."""
    return tuple(sorted(int(i) for i in np.argsort(-np.diag(F), kind="stable")[:2]))


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
