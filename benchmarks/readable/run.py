"""Tables x methods x sizes: ``make bench-readable``.

Writes one line of results.csv for each method, table, split and setting: its number of terms, its
log-loss by three folds of the training rows, and its scores on the test rows. Goes on after an
interruption; ``report.py`` reads it.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks import fits
from benchmarks.noise import tables
from benchmarks.readable import methods

HERE = Path(__file__).parent
KEYS = ("problem", "method", "split")
MEASURES = ("setting", "budget", "terms", "cv_log_loss", *fits.MEASURES)
FOLDS = 3


def cross_validated(model, X, y, seed):
    """Log-loss over folds of the training rows, by which a setting is chosen."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    losses = []
    for train, test in folds.split(X, y):
        line = fits.measured(clone(model), X[train], X[test], y[train], y[test])
        losses.append(line.get("log_loss", np.inf))
    return float(np.mean(losses))


def one(problem, name, number):
    """All models of one method on one split."""
    X, X_test, y, y_test = tables.split(problem, 0, number)
    method = methods.METHODS[name]()
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for setting in method.settings(X, y):
            model = method.make(setting, number, len(np.unique(y)))
            line = fits.measured(model, X, X_test, y, y_test)
            line["setting"] = str(setting)
            if not line["error"]:
                line["terms"] = method.terms(model)
            if method.budgeted:
                line["budget"] = setting
            else:
                line["cv_log_loss"] = cross_validated(model, X, y, number)
            lines.append(line)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=list(methods.METHODS))
    parser.add_argument("--problems", nargs="*", default=list(tables.NAMES))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [
        (problem, method, number)
        for problem in arguments.problems
        for number in range(tables.SPLITS)
        for method in arguments.methods
    ]
    fits.fill(arguments.out, KEYS, MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
