"""The sensitivity study: what hangs on thr and eta, "empirically set", and on how K is tuned."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction import figure1
from reproduction.data import TITLES, load
from reproduction.ensembles import K_RULES, Constants, under
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import Section, filled, panels
from reproduction.results import OVERLAP, Results, interval
from reproduction.table2 import EXPERIMENT as TABLE2
from reproduction.table2 import (
    GAINS,
    PRINTED,
    closest_by_rule,
    condition,
    distance,
    row,
    settings,
    split_tasks,
)
from reproduction.table2 import GRID as EXPERIMENT

# Sizes of the synthetic set that stand for few rows and for many.
CIRCLE_SIZES = (10, 200)


def tasks(options: Options) -> list[Task]:
    """Every setting of the grid, on other splits than those of Table 2."""
    found = []
    for source in options.sources:
        shipped = source in PRINTED
        runs = options.calibration_runs if shipped else options.speech_calibration_runs
        for constants in options.grid:
            found += split_tasks(source, "random", constants, runs, options, experiment=EXPERIMENT)
    for size in CIRCLE_SIZES:
        for constants in options.grid:
            setting = {"thr": constants.thr, "eta": constants.eta, "purpose": EXPERIMENT}
            case = condition("random", constants)
            found += in_chunks(
                *(EXPERIMENT, f"{figure1.DATASET}_{size}", case, "figure1:work"),
                runs=options.calibration_runs,
                at_once=10 if size < 50 else 1,
                cost=0.3,
                arguments={"size": size, "seed": options.seed, **setting},
            )
    return found


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
    """The grid, the rules for K, and what they mean for the printed rows."""
    return filled(
        "Sensitivity: what hangs on thr, η and the rule for K",
        "sensitivity",
        options=options,
        gains=list(GAINS.values()),
        rules=list(K_RULES.values()),
        usual=_usual(results, options),
        rows=_rows(results, options),
    )


def _rows(results: Results, options: Options) -> list[list[str]]:
    """For each table with a printed row and each rule, what its closest setting gives."""
    rows = []
    before = None
    for source, found in closest_by_rule(results, options):
        dataset = load(source).name
        if dataset != before:
            baseline, *gains = PRINTED[dataset]
            printed = [f"{baseline:.1f}", *(f"+{gain:.1f}" for gain in gains)]
            rows.append([f"**{TITLES[dataset]}**, as printed", "", "", *printed, ""])
            before = dataset
        case = TABLE2, dataset, condition("random", found.constants)
        cells = [interval(100 * results.get(*case, "baseline"), OVERLAP).text()]
        for name in GAINS:
            gain = interval(results.gain(*case, under(found.rule, name)), OVERLAP)
            cells.append(gain.text(signed=True))
        fresh = distance(row(results, *case, found.rule), PRINTED[dataset])
        rows.append(
            [
                K_RULES[found.rule],
                f"`{found.constants.text}`",
                f"{found.distance:.1f}",
                *cells,
                f"{fresh:.1f}",
            ]
        )
    return rows


def _usual(results: Results, options: Options) -> list[str]:
    """How far the constants of ``paper()`` are from each printed row, under each rule."""
    found = []
    for source in dict.fromkeys(source for source, _ in closest_by_rule(results, options)):
        dataset = load(source).name
        case = EXPERIMENT, dataset, condition("random", Constants())
        far = [distance(row(results, *case, rule), PRINTED[dataset]) for rule in K_RULES]
        found.append(f"{TITLES[dataset]} {', '.join(f'{one:.1f}' for one in far)}")
    return found
