"""When does it help? Rows per feature, features, irrelevant features, label noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covey.reproduce import _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants, Rows, grow_on_sets, scores
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Row
from covey.reproduce._splits import whole_number

EXPERIMENT, DATASET = "sparsity", "synthetic"
N_TEST = 2000
# Rows that K is tuned on: an eighth of the training rows, as in Table 2, but not too few.
LEAST_TUNING = 20
# One thing is varied at a time, from this center.
CENTER = {"rows_per_feature": 5.0, "features": 20, "irrelevant": 0.5, "noise": 0.05}
LEVELS = {
    "rows_per_feature": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "features": (4, 10, 20, 50, 100),
    "irrelevant": (0.0, 0.25, 0.5, 0.75, 0.9),
    "noise": (0.0, 0.05, 0.1, 0.2, 0.3),
}
REAL_LEVELS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
NAMES = {
    "rows_per_feature": "training rows per feature",
    "features": "number of features",
    "irrelevant": "share of irrelevant features",
    "noise": "share of labels drawn at random",
}
_ROWS_AT_ONCE = 400


def _levels(factor: str, quick: bool) -> tuple[float, ...]:
    levels = LEVELS[factor]
    return (levels[0], CENTER[factor], levels[-1]) if quick and factor != "noise" else levels


def cases(quick: bool) -> list[tuple[str, float, dict]]:
    """Triples of factor, level and the case; the center once for each factor."""
    return [
        (factor, level, {**CENTER, factor: level})
        for factor in LEVELS
        for level in dict.fromkeys(_levels(factor, quick))
    ]


def condition(factor: str, level: float) -> str:
    """What results of one case are filed under."""
    return f"{factor}={level:g}"


def tasks(options: Options) -> list[Task]:
    """Synthetic cases, and real tables of which fewer and fewer rows are trained on."""
    found = []
    for factor, level, case in cases(options.quick):
        rows = round(case["rows_per_feature"] * case["features"])
        address = EXPERIMENT, DATASET, condition(factor, level)
        arguments = {"factor": factor, "case": case, "seed": options.seed}
        found += in_chunks(
            *(*address, "_sparsity:work"),
            runs=options.sparsity_runs,
            at_once=next(n for n in (5, 2, 1) if n * rows <= _ROWS_AT_ONCE or n == 1),
            cost=0.2 + 1e-5 * rows * case["features"],
            arguments=arguments,
        )
        if factor == "rows_per_feature" and not options.quick:
            found += in_chunks(
                *(*address, "_sparsity:default"),
                runs=min(options.runs, 5),
                at_once=1,
                cost=3.0,
                arguments=arguments,
                searches=True,
            )
    for source in options.sources:
        table = load(source)
        possible = 0.8 * len(table.X) / table.X.shape[1]
        for level in [level for level in REAL_LEVELS if level < possible][
            :: 2 if options.quick else 1
        ]:
            if level * table.X.shape[1] < 2 * len(table.classes):
                continue
            found += _table2.split_tasks(
                source,
                "random",
                Constants(),
                min(options.sparsity_runs, 20),
                options,
                experiment=EXPERIMENT,
                rows_per_feature=level,
            )
    return found


def make(case: dict, number: int) -> list[Rows]:
    """Rows to train, tune and test on: two classes of two Gaussian clusters each."""
    from sklearn.datasets import make_classification

    n_training = round(case["rows_per_feature"] * case["features"])
    n_tuning = max(LEAST_TUNING, round(n_training / 8))
    informative = max(2, round(case["features"] * (1 - case["irrelevant"])))
    X, codes = make_classification(
        n_training + n_tuning + N_TEST,
        case["features"],
        n_informative=informative,
        n_redundant=0,
        flip_y=case["noise"],
        random_state=number,
    )
    ends = [n_training, n_training + n_tuning]
    return list(zip(np.split(X, ends), np.split(codes, ends), strict=True))


def _sets(factor: str, case: dict, seed: int, runs: list[int]) -> list[list[Rows]]:
    level = condition(factor, case[factor])
    return [make(case, whole_number(seed, EXPERIMENT, level, run)) for run in runs]


def work(factor: str, case: dict, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracies of both ensembles and of logistic regression on some sets."""
    sets = _sets(factor, case, seed, runs)
    number = whole_number(seed, EXPERIMENT, condition(factor, case[factor]), "members")
    first = [training for training, _, _ in sets]
    grown = grow_on_sets(first, Constants(), seed=number, runs=runs)
    for run, (training, tuning, test), ensembles in zip(runs, sets, grown, strict=True):
        for quantity, value in scores(ensembles, tuning, test).items():
            yield run, quantity, value
        yield run, "logistic", _table2.rival_accuracy("logistic", training, test, 0)


def default(factor: str, case: dict, seed: int, runs: list[int]) -> Iterator[Row]:
    """What covey's default reaches on the same sets."""
    for run, (training, _, test) in zip(runs, _sets(factor, case, seed, runs), strict=True):
        number = whole_number(seed, EXPERIMENT, "covey", run)
        yield run, "covey", _table2.rival_accuracy("covey", training, test, number)
