"""The sensitivity study as a reader sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.reproduce._ensembles import Constants
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import OVERLAP, Results, interval
from covey.reproduce._sensitivity import EXPERIMENT, closest, distance, row, settings
from covey.reproduce._style import panels
from covey.reproduce._table2 import GAINS, PRINTED, condition

_NAMES = ("baseline, %", *GAINS.values())


def draw(results: Results) -> Any:
    """A small map of (thr, eta) for every data set and every column of Table 2."""
    datasets = results.datasets(EXPERIMENT)
    figure, axes = panels(len(datasets), 5, size=(11, 1.75 * len(datasets) + 0.5))
    for line, dataset in zip(np.atleast_2d(axes), datasets, strict=True):
        tried = settings(results, dataset)
        thrs = sorted({constants.thr for constants, _ in tried}, reverse=True)
        etas = sorted({constants.eta for constants, _ in tried})
        values = np.full((5, len(thrs), len(etas)), np.nan)
        for constants, case in tried:
            cell = thrs.index(constants.thr), etas.index(constants.eta)
            values[:, *cell] = row(results, EXPERIMENT, dataset, case)
        printed = PRINTED.get(dataset)
        for number, (ax, title) in enumerate(zip(line, _NAMES, strict=True)):
            _map(ax, values[number], thrs, etas)
            if printed is not None:
                title += f" (paper: {printed[number]})"
            ax.set_title(title, loc="left", fontsize=8)
        line[0].set_ylabel(f"{dataset}\nthr", fontsize=8)
    for ax in np.atleast_2d(axes)[-1]:
        ax.set_xlabel("η, in C / λmax", fontsize=8)
    return figure


def _map(ax: Any, values: np.ndarray, thrs: list[float], etas: list[float]) -> None:
    low, high = np.nanmin(values), np.nanmax(values)
    ax.imshow(values, cmap="Blues", aspect="auto", vmin=low, vmax=high + 0.4 * (high - low) + 1e-9)
    for (line, column), value in np.ndenumerate(values):
        shown = f"{value + 0.0:.1f}".replace("-0.0", "0.0")
        ax.text(column, line, shown, ha="center", va="center", fontsize=7)
    ax.set_xticks(range(len(etas)), [f"{eta:g}" for eta in etas], fontsize=7)
    ax.set_yticks(range(len(thrs)), [f"{thr:g}" for thr in thrs], fontsize=7)
    ax.tick_params(length=0)


def section(results: Results, options: Options) -> Section:
    """The grid, and what it means for the printed rows."""
    rows = []
    for dataset in results.datasets(EXPERIMENT):
        if dataset not in PRINTED:
            continue
        constants, far = closest(results, dataset)
        printed = PRINTED[dataset]
        usual, case = (condition("random", one) for one in (Constants(), constants))
        common, own = (row(results, EXPERIMENT, dataset, one) for one in (usual, case))
        baseline = interval(100 * results.get(EXPERIMENT, dataset, case, "baseline"), OVERLAP)
        rows.append(
            [
                dataset,
                f"`{constants.text}`",
                f"{far:.1f}",
                f"{distance(common, printed):.1f}",
                baseline.text(),
                f"{printed[0]:.1f}",
                " / ".join(f"{value:.1f}" for value in own[1:]),
                " / ".join(f"{value:.1f}" for value in printed[1:]),
            ]
        )
    header = [
        *("data", "closest setting", "distance", "distance of paper()", "baseline, %"),
        *("printed", "gains, %", "printed gains, %"),
    ]
    return filled(
        "Sensitivity: what hangs on thr and η",
        "sensitivity",
        options=options,
        gains=", ".join(GAINS.values()),
        header=header,
        rows=rows,
    )
