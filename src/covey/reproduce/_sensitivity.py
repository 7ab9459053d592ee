"""How much hangs on thr and eta, which the paper calls "empirically set"."""

from __future__ import annotations

import numpy as np

from covey.reproduce import _figure1, _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Results

EXPERIMENT = "sensitivity"
# Sizes of the synthetic set that stand for few rows and for many.
CIRCLE_SIZES = (10, 200)


def tasks(options: Options) -> list[Task]:
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
            setting = {"thr": constants.thr, "eta": constants.eta, "purpose": EXPERIMENT}
            case = _table2.condition("random", constants)
            found += in_chunks(
                *(EXPERIMENT, f"{_figure1.DATASET}_{size}", case, "_figure1:work"),
                runs=options.calibration_runs,
                at_once=10 if size < 50 else 1,
                cost=0.3,
                arguments={"size": size, "seed": options.seed, **setting},
            )
    return found


def settings(results: Results, dataset: str) -> list[tuple[Constants, str]]:
    """The settings that were tried on a data set, as pairs of `Constants` and condition."""
    found = []
    for condition in results.conditions(EXPERIMENT, dataset):
        thr, eta = (float(part.split("=")[1]) for part in condition.split(", ")[1].split())
        found.append((Constants(thr, eta), condition))
    return found


def row(results: Results, experiment: str, dataset: str, condition: str) -> np.ndarray:
    """Means of what Table 2 prints: the baseline and four relative improvements, in %."""
    baseline = 100 * results.get(experiment, dataset, condition, "baseline").mean()
    gains = [
        np.nanmean(results.gain(experiment, dataset, condition, name)) for name in _table2.GAINS
    ]
    return np.array([baseline, *gains])


def distance(ours: np.ndarray, printed: tuple[float, ...]) -> float:
    """Root mean square of the five differences, in points."""
    return float(np.sqrt(np.mean((np.asarray(ours) - np.asarray(printed)) ** 2)))


def closest(results: Results, dataset: str) -> tuple[Constants, float]:
    """The setting whose row is closest to the printed one, and how far it is."""
    printed = _table2.PRINTED[dataset]
    found = [
        (distance(row(results, EXPERIMENT, dataset, condition), printed), constants)
        for constants, condition in settings(results, dataset)
    ]
    far, constants = min(found, key=lambda pair: pair[0])
    return constants, far


def calibrated(results: Results, options: Options) -> list[tuple[str, Constants]]:
    """Pairs of source and setting: what Table 2 is made again with."""
    return [
        (source, closest(results, load(source).name)[0])
        for source in options.sources
        if load(source).name in _table2.PRINTED
    ]
