"""How much hangs on thr and eta, which the paper calls "empirically set"."""

import numpy as np

from covey.reproduce import _figure1, _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants
from covey.reproduce._jobs import Task
from covey.reproduce._options import chunks
from covey.reproduce._page import Figure, Section, Table, Text
from covey.reproduce._results import OVERLAP, interval
from covey.reproduce._style import panels

EXPERIMENT = "sensitivity"
# Sizes of the synthetic set that stand for few rows and for many.
CIRCLE_SIZES = (10, 200)
NAMES = {
    "baseline": "baseline, %",
    "oracle_theta": "g_orc {Θ}",
    "oracle_both": "g_orc {Θ, Λ}",
    "equal_theta": "g_EW {Θ}",
    "equal_both": "g_EW {Θ, Λ}",
}


def tasks(options):
    """Every setting of the grid, on other splits than those of Table 2."""
    found = []
    for source in options.sources:
        shipped = source in _table2.PRINTED
        runs = options.calibration_runs if shipped else options.speech_calibration_runs
        for constants in options.grid:
            found += _table2.split_tasks(
                source, "random", constants, runs, options, experiment=EXPERIMENT
            )
    for size in CIRCLE_SIZES:
        for constants in options.grid:
            found += [
                Task(
                    EXPERIMENT,
                    f"{_figure1.DATASET}_{size}",
                    _table2.condition("random", constants),
                    "_figure1:work",
                    {
                        "size": size,
                        "seed": options.seed,
                        "runs": runs,
                        "thr": constants.thr,
                        "eta": constants.eta,
                        "purpose": EXPERIMENT,
                    },
                    cost=0.3 * len(runs),
                )
                for runs in chunks(options.calibration_runs, 10 if size < 50 else 1)
            ]
    return found


def settings(results, dataset):
    """The settings that were tried on a data set, as pairs of `Constants` and condition."""
    found = []
    for condition in results.conditions(EXPERIMENT, dataset):
        thr, eta = (float(part.split("=")[1]) for part in condition.split(", ")[1].split())
        found.append((Constants(thr, eta), condition))
    return found


def row(results, experiment, dataset, condition):
    """Means of what Table 2 prints: the baseline and four relative improvements, in %."""
    baseline = 100 * results.get(experiment, dataset, condition, "baseline").mean()
    gains = [
        np.nanmean(results.gain(experiment, dataset, condition, name))
        for name in _table2.COLUMNS[1:]
    ]
    return np.array([baseline, *gains])


def distance(ours, printed):
    """Root mean square of the five differences, in points."""
    return float(np.sqrt(np.mean((np.asarray(ours) - np.asarray(printed)) ** 2)))


def closest(results, dataset):
    """The setting whose row is closest to the printed one, and how far it is.

    Returns
    -------
    constants : Constants
    distance : float
    """
    printed = _table2.PRINTED[dataset]
    found = [
        (distance(row(results, EXPERIMENT, dataset, condition), printed), constants)
        for constants, condition in settings(results, dataset)
    ]
    far, constants = min(found, key=lambda pair: pair[0])
    return constants, far


def calibrated(results, options):
    """Pairs of source and setting: what Table 2 is made again with."""
    return [
        (source, closest(results, load(source).name)[0])
        for source in options.sources
        if load(source).name in _table2.PRINTED
    ]


def draw(results):
    """A small map of (thr, eta) for every data set and every column of Table 2."""
    datasets = results.datasets(EXPERIMENT)
    figure, axes = panels(len(datasets), 5, size=(11, 1.75 * len(datasets) + 0.5))
    for line, dataset in zip(np.atleast_2d(axes), datasets, strict=True):
        tried = settings(results, dataset)
        thrs = sorted({constants.thr for constants, _ in tried}, reverse=True)
        etas = sorted({constants.eta for constants, _ in tried})
        values = np.full((5, len(thrs), len(etas)), np.nan)
        for constants, condition in tried:
            place = thrs.index(constants.thr), etas.index(constants.eta)
            values[:, place[0], place[1]] = row(results, EXPERIMENT, dataset, condition)
        printed = _table2.PRINTED.get(dataset)
        for number, (ax, name) in enumerate(zip(line, _table2.COLUMNS, strict=True)):
            _map(ax, values[number], thrs, etas)
            title = NAMES[name]
            if printed is not None:
                title += f" (paper: {printed[number]})"
            ax.set_title(title, loc="left", fontsize=8)
        line[0].set_ylabel(f"{dataset}\nthr", fontsize=8)
    for ax in np.atleast_2d(axes)[-1]:
        ax.set_xlabel("η, in C / λmax", fontsize=8)
    return figure


def _map(ax, values, thrs, etas):
    low, high = np.nanmin(values), np.nanmax(values)
    ax.imshow(values, cmap="Blues", aspect="auto", vmin=low, vmax=high + 0.4 * (high - low) + 1e-9)
    for place, value in np.ndenumerate(values):
        ax.text(
            place[1],
            place[0],
            f"{value + 0.0:.1f}".replace("-0.0", "0.0"),
            ha="center",
            va="center",
            fontsize=7,
        )
    ax.set_xticks(range(len(etas)), [f"{eta:g}" for eta in etas], fontsize=7)
    ax.set_yticks(range(len(thrs)), [f"{thr:g}" for thr in thrs], fontsize=7)
    ax.tick_params(length=0)


def section(results, options):
    """The grid, and what it says of the printed rows."""
    rows = []
    for dataset in results.datasets(EXPERIMENT):
        if dataset not in _table2.PRINTED:
            continue
        constants, far = closest(results, dataset)
        common = row(results, EXPERIMENT, dataset, _table2.condition("random", Constants()))
        own = row(results, EXPERIMENT, dataset, _table2.condition("random", constants))
        printed = _table2.PRINTED[dataset]
        baseline = interval(
            100
            * results.get(EXPERIMENT, dataset, _table2.condition("random", constants), "baseline"),
            OVERLAP,
        )
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
    return Section(
        "Sensitivity: what hangs on thr and η",
        "sensitivity",
        [
            Text(
                "The paper sets thr and η empirically and does not print them. "
                f"{len(options.grid)} settings were tried, each on "
                f"{options.calibration_runs} splits (speech: {options.speech_calibration_runs}) "
                "of their own. These are other splits than those of Table 2, but of the same "
                "rows: a setting is chosen by rows that Table 2 then tests on, too. The distance "
                "of a setting is the root mean square of the five differences from the printed "
                "row, in points."
            ),
            Figure(
                "sensitivity",
                "Baseline accuracy and relative improvements, in %, over thr and η.",
            ),
            Table(
                header,
                rows,
                "For each data set with a printed row, the setting that comes closest to it. "
                "Gains in the order of Table 2: g_orc {Θ}, g_orc {Θ, Λ}, g_EW {Θ}, g_EW {Θ, Λ}.",
                text_columns=(0, 1),
            ),
        ],
    )
