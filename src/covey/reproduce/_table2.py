"""Table 2: real data, 80/10/10 splits, K tuned on the development rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants, Rows, grow_on_splits, scores
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Row
from covey.reproduce._splits import generator, split_rows, thinned, whole_number

EXPERIMENT = "table2"
# The columns of relative improvements, and what the page calls them.
GAINS = {
    "oracle_theta": "g_orc {Θ}",
    "oracle_both": "g_orc {Θ, Λ}",
    "equal_theta": "g_EW {Θ}",
    "equal_both": "g_EW {Θ, Λ}",
}
COLUMNS = ("baseline", *GAINS)
# The row of each data set as the paper prints it, in the order of COLUMNS.
PRINTED = {
    "abalone": (54.2, 36.5, 35.2, 0.9, 1.5),
    "segment": (91.3, 3.9, 5.4, 1.0, 1.4),
    "iemocap": (54.9, 43.2, 50.3, 2.9, 5.1),
}
# Splits in one stack. Larger ones do not fit the cache, and are no faster.
AT_ONCE = 5


def condition(by: str, constants: Constants) -> str:
    """What results of one way to split and one setting are filed under."""
    return f"{by}, {constants.text}"


def split_tasks(
    source: str,
    by: str,
    constants: Constants,
    n_runs: int,
    options: Options,
    *,
    experiment: str = EXPERIMENT,
    **more: Any,
) -> list[Task]:
    """Parts that run both ensembles over splits of one table."""
    table = load(source)
    case = condition(by, constants)
    if more:
        case = f"{more['rows_per_feature']:g} rows per feature"
    setting = {"thr": constants.thr, "eta": constants.eta, "purpose": experiment}
    return in_chunks(
        *(experiment, table.name, case, "_table2:work"),
        runs=n_runs,
        at_once=AT_ONCE,
        cost=0.2 + table.X.size * len(table.classes) * 2.5e-6,
        arguments={"source": source, "by": by, "seed": options.seed, **setting, **more},
        data=table.digest,
    )


def tasks(options: Options) -> list[Task]:
    """Both ensembles at the common constants, and what stands beside them."""
    found = []
    for source, by in options.splits():
        table = load(source)
        found += split_tasks(source, by, Constants(), options.runs, options)
        for who, n_runs, at_once, cost in (
            ("logistic", options.runs, 10, 0.1),
            ("covey", options.default_runs, 1, 5.0),
        ):
            found += in_chunks(
                *(EXPERIMENT, table.name, by, "_table2:rival"),
                runs=n_runs,
                at_once=at_once,
                cost=cost,
                arguments={"source": source, "by": by, "who": who, "seed": options.seed},
                data=table.digest,
                searches=who == "covey",
            )
    return found


def work(
    source: str,
    by: str,
    thr: float,
    eta: float,
    purpose: str,
    seed: int,
    runs: list[int],
    rows_per_feature: float | None = None,
) -> Iterator[Row]:
    """Accuracies of both ensembles on some splits; perhaps with fewer training rows."""
    table = load(source)
    splits = [split_rows(table, by, seed, purpose, run) for run in runs]
    if rows_per_feature is not None:
        count = round(rows_per_feature * table.X.shape[1])
        for number, (run, (training, *others)) in enumerate(zip(runs, splits, strict=True)):
            draw = generator(seed, purpose, "thinned", count, run)
            splits[number] = (thinned(training, table.codes, count, draw), *others)
    number = whole_number(seed, purpose, table.name, by)
    grown = grow_on_splits(table, splits, Constants(thr, eta), seed=number, runs=runs)
    for run, tuned_on, tested_on, ensembles in grown:
        for quantity, value in scores(ensembles, tuned_on, tested_on).items():
            yield run, quantity, value


def rival(source: str, by: str, who: str, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracies of a model that the paper lacks, on the same splits."""
    table = load(source)
    for run in runs:
        training, _, test = split_rows(table, by, seed, EXPERIMENT, run)
        speakers = None if by == "random" else table.speakers[training]
        accuracy = rival_accuracy(
            who,
            (table.X[training], table.codes[training]),
            (table.X[test], table.codes[test]),
            whole_number(seed, EXPERIMENT, who, run),
            groups=speakers,
        )
        yield run, who, accuracy


def rival_accuracy(
    who: str, training: Rows, test: Rows, number: int, groups: np.ndarray | None = None
) -> float:
    """Accuracy of ``"logistic"`` regression or of ``"covey"``'s default."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from covey import FlockClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if who == "logistic":
            model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))
            model.fit(*training)
        else:
            n_groups = 0 if groups is None else len(np.unique(groups))
            more = {"cv": min(5, n_groups)} if n_groups > 1 else {}
            model = FlockClassifier(random_state=number, **more)
            model.fit(*training, **({"groups": groups} if n_groups > 1 else {}))
    return float(np.mean(model.predict(test[0]) == test[1]))
