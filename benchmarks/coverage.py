"""How often sets and intervals hold the truth, and how right a flock is that may refuse.

    python -m benchmarks.coverage

prints, for each table, means over random splits, half of the rows for the fit: the share of test
rows whose class is in ``predict_set(level=0.9)``, how many classes a set has, the same with
``by_class`` (of the class that is covered least often), the accuracy of all rows, and with
``reject=0.1`` the share of rows that is left to a person and the accuracy of the others: what
`rejection` says by the rows that folds held out, and what it is on the test rows. "calibrated":
the sets of a flock that is fitted on half of these rows and calibrated with the others, for which
the level is exact. Then the share of test rows in ``predict_interval(level=0.9)``, and its width
in standard deviations of y.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import problems
from benchmarks.regression import run as regression
from covey import FlockClassifier, FlockRegressor

LEVEL, REJECT, MAX_ROWS = 0.9, 0.1, 500
CLASSES = ["wine", "tae", "hayes-roth", "bupa", "saheart", "vehicle", "contraceptive", "vowel"]
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
    within = covered(flock, flock.predict_set(X_test, LEVEL, by_class=True), y_test)
    answers, said = flock.predict(X_test, reject=REJECT), flock.rejection(REJECT)
    found = {
        "coverage": covered(flock, sets, y_test).mean(),
        "size": sets.sum(axis=1).mean(),
        "by class": min(within[y_test == label].mean() for label in flock.classes_),
        "accuracy": flock.score(X_test, y_test),
        "left": answers.mask.mean(),
        "said": said.accuracy,
        "right": float((answers == y_test).mean()),
    }
    one, other, y_one, y_other = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    fast = FlockClassifier(effort="fast", random_state=split).fit(one, y_one)
    sets = fast.calibrate(other, y_other).predict_set(X_test, LEVEL)
    return {**found, "calibrated": covered(fast, sets, y_test).mean()}


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
    arguments = parser.parse_args()
    shown(of_classes, CLASSES, arguments.splits, arguments.jobs)
    print()
    shown(of_values, VALUES, arguments.splits, arguments.jobs)


if __name__ == "__main__":
    main()
