"""Table 2: real data, 80/10/10 splits, K tuned on the development rows."""

import warnings

import numpy as np

from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants, grow, scores
from covey.reproduce._jobs import Task
from covey.reproduce._options import chunks
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


def condition(by, constants):
    """What results of one way to split and one setting are filed under."""
    return f"{by}, {constants.text}"


def split_tasks(source, by, constants, n_runs, options, *, experiment=EXPERIMENT, **more):
    """Parts that run both ensembles over splits of one table."""
    table = load(source)
    size = table.X.size * len(table.classes)
    case = condition(by, constants)
    if more:
        case = f"{more['rows_per_feature']:g} rows per feature"
    return [
        Task(
            experiment,
            table.name,
            case,
            "_table2:work",
            {
                "source": source,
                "by": by,
                "thr": constants.thr,
                "eta": constants.eta,
                "purpose": experiment,
                "seed": options.seed,
                "runs": runs,
                **more,
            },
            cost=(0.2 + size * 2.5e-6) * len(runs),
            data=table.digest,
        )
        for runs in chunks(n_runs, AT_ONCE)
    ]


def tasks(options):
    """Both ensembles at the common constants, and what stands beside them."""
    found = []
    for source, by in options.splits():
        table = load(source)
        found += split_tasks(source, by, Constants(), options.runs, options)
        for who, n_runs, at_once, cost in (
            ("logistic", options.runs, 10, 0.1),
            ("covey", options.default_runs, 1, 5.0),
        ):
            found += [
                Task(
                    EXPERIMENT,
                    table.name,
                    by,
                    "_table2:rival",
                    {
                        "source": source,
                        "by": by,
                        "who": who,
                        "seed": options.seed,
                        "runs": runs,
                    },
                    cost=cost * len(runs),
                    data=table.digest,
                    searches=who == "covey",
                )
                for runs in chunks(n_runs, at_once)
            ]
    return found


def work(source, by, thr, eta, purpose, seed, runs, rows_per_feature=None):
    """Accuracies of both ensembles on some splits; perhaps with fewer training rows."""
    table = load(source)
    splits = [split_rows(table, by, seed, purpose, run) for run in runs]
    training = [split[0] for split in splits]
    if rows_per_feature is not None:
        count = round(rows_per_feature * table.X.shape[1])
        training = [
            thinned(rows, table.codes, count, generator(seed, purpose, "thinned", count, run))
            for rows, run in zip(training, runs, strict=True)
        ]
    grown = grow(
        table.X,
        table.codes,
        len(table.classes),
        training,
        Constants(thr, eta),
        seed=whole_number(seed, purpose, table.name, by),
        runs=runs,
    )
    for run, (_, tuning, test), ensembles in zip(runs, splits, grown, strict=True):
        tuned_on, tested_on = ((table.X[rows], table.codes[rows]) for rows in (tuning, test))
        for quantity, value in scores(ensembles, tuned_on, tested_on).items():
            yield run, quantity, value


def rival(source, by, who, seed, runs):
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


def rival_accuracy(who, training, test, number, groups=None):
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
