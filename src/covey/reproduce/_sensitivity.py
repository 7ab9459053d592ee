"""How much hangs on thr and eta, "empirically set", and on how K is tuned."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from covey.reproduce import _figure1, _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import K_RULES, Constants, under
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


def row(
    results: Results, experiment: str, dataset: str, condition: str, rule: str = ""
) -> np.ndarray:
    """Means of what Table 2 prints: the baseline and four relative improvements, in %."""
    baseline = 100 * results.get(experiment, dataset, condition, "baseline").mean()
    gains = [
        np.nanmean(results.gain(experiment, dataset, condition, under(rule, name)))
        for name in _table2.GAINS
    ]
    return np.array([baseline, *gains])


def distance(ours: np.ndarray, printed: tuple[float, ...]) -> float:
    """Root mean square of the five differences, in points."""
    return float(np.sqrt(np.mean((np.asarray(ours) - np.asarray(printed)) ** 2)))


class Closest(NamedTuple):
    """A setting and a rule for K, and how far their row is from the printed one."""

    constants: Constants
    rule: str
    distance: float

    @property
    def text(self) -> str:
        """The setting and the rule, for people to read."""
        return f"`{self.constants.text}`, {K_RULES[self.rule]}"


def closest(results: Results, dataset: str, rules: Collection[str] = tuple(K_RULES)) -> Closest:
    """The setting, and of some rules the one, whose row is closest to the printed one.

    Of equals the first rule is taken.
    """
    printed = _table2.PRINTED[dataset]
    found = [
        Closest(
            constants,
            rule,
            distance(row(results, EXPERIMENT, dataset, condition, rule), printed),
        )
        for rule in rules
        for constants, condition in settings(results, dataset)
    ]
    return min(found, key=lambda one: one.distance)


def calibrated(results: Results, options: Options) -> list[tuple[str, Closest]]:
    """Of each table with a printed row the source and the setting: Table 2 is made with it."""
    return [(source, closest(results, load(source).name)) for source in _printed_sources(options)]


def calibrated_by_rule(results: Results, options: Options) -> list[tuple[str, Closest]]:
    """The same for each rule for K on its own."""
    return [
        (source, closest(results, load(source).name, (rule,)))
        for source in _printed_sources(options)
        for rule in K_RULES
    ]


def _printed_sources(options: Options) -> list[str]:
    return [source for source in options.sources if load(source).name in _table2.PRINTED]
