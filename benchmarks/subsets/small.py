"""Small tables: folds drawn several times, as by default, against folds drawn once.

    python -m benchmarks.subsets.small

prints the log-loss of `FlockClassifier` on test rows of the tables with fewer than 200 training
rows, with both kinds of folds, and the mean difference with a 95 % interval over tables.
"""

import argparse
import warnings

import numpy as np
from scipy import stats
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy import problems
from covey import FlockClassifier

MOST_ROWS = 200  # below that many training rows folds are drawn three times


def small_tables():
    """Names of the tables, and their rows."""
    for name in problems.names():
        X, y = problems.load(name)
        if 0.75 * len(y) < MOST_ROWS:
            yield name, X, y


def losses(X, y, number):
    """The log-loss on test rows with folds drawn several times, and once."""
    X, X_test, y, y_test = problems.split(X, y, number)
    found = []
    for cv in (5, StratifiedKFold(5, shuffle=True, random_state=number)):
        model = FlockClassifier(cv=cv, random_state=number).fit(X, y)
        p = np.clip(model.predict_proba(X_test), 1e-6, 1)
        found.append(log_loss(y_test, p / p.sum(axis=1, keepdims=True), labels=model.classes_))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    differences = []
    print("table              several times  once")
    for name, X, y in small_tables():
        several, once = np.mean([losses(X, y, n) for n in range(options.splits)], axis=0)
        differences.append(several - once)
        print(f"{name:18s} {several:13.4f} {once:5.4f}", flush=True)
    mean, error = np.mean(differences), stats.sem(differences)
    half = stats.t.ppf(0.975, len(differences) - 1) * error
    print(f"difference of log-loss: {mean:+.4f} +- {half:.4f} ({len(differences)} tables)")


if __name__ == "__main__":
    main()
