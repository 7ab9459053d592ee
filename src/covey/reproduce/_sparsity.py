"""When does it help? Rows per feature, features, irrelevant features, label noise."""

import numpy as np

from covey.reproduce import _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants, grow, scores
from covey.reproduce._jobs import Task
from covey.reproduce._options import chunks
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


def _levels(factor, quick):
    levels = LEVELS[factor]
    return (levels[0], CENTER[factor], levels[-1]) if quick and factor != "noise" else levels


def cases(quick):
    """Triples of factor, level and the case; the center once for each factor."""
    return [
        (factor, level, {**CENTER, factor: level})
        for factor in LEVELS
        for level in dict.fromkeys(_levels(factor, quick))
    ]


def condition(factor, level):
    """What results of one case are filed under."""
    return f"{factor}={level:g}"


def tasks(options):
    """Synthetic cases, and real tables of which fewer and fewer rows are trained on."""
    found = []
    for factor, level, case in cases(options.quick):
        rows = round(case["rows_per_feature"] * case["features"])
        at_once = next(n for n in (5, 2, 1) if n * rows <= _ROWS_AT_ONCE or n == 1)
        shared = {"factor": factor, "case": case, "seed": options.seed}
        found += [
            Task(
                EXPERIMENT,
                DATASET,
                condition(factor, level),
                "_sparsity:work",
                {**shared, "runs": runs},
                cost=(0.2 + 1e-5 * rows * case["features"]) * len(runs),
            )
            for runs in chunks(options.sparsity_runs, at_once)
        ]
        if factor == "rows_per_feature" and not options.quick:
            found += [
                Task(
                    EXPERIMENT,
                    DATASET,
                    condition(factor, level),
                    "_sparsity:default",
                    {**shared, "runs": [run]},
                    cost=3.0,
                    searches=True,
                )
                for run in range(min(options.runs, 5))
            ]
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


def make(case, number):
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


def _sets(factor, case, seed, runs):
    level = condition(factor, case[factor])
    return [make(case, whole_number(seed, EXPERIMENT, level, run)) for run in runs]


def work(factor, case, seed, runs):
    """Accuracies of both ensembles and of logistic regression on some sets."""
    sets = _sets(factor, case, seed, runs)
    X = np.concatenate([training[0] for training, _, _ in sets])
    codes = np.concatenate([training[1] for training, _, _ in sets])
    own = np.arange(len(X)).reshape(len(runs), -1)
    number = whole_number(seed, EXPERIMENT, condition(factor, case[factor]), "members")
    grown = grow(X, codes, 2, list(own), Constants(), seed=number, runs=runs)
    for run, (training, tuning, test), ensembles in zip(runs, sets, grown, strict=True):
        for quantity, value in scores(ensembles, tuning, test).items():
            yield run, quantity, value
        yield run, "logistic", _table2.rival_accuracy("logistic", training, test, 0)


def default(factor, case, seed, runs):
    """What covey's default reaches on the same sets."""
    for run, (training, _, test) in zip(runs, _sets(factor, case, seed, runs), strict=True):
        number = whole_number(seed, EXPERIMENT, "covey", run)
        yield run, "covey", _table2.rival_accuracy("covey", training, test, number)
