"""Tables as they come x rivals by default: ``make bench-arena``.

Writes one line of results.csv for each fold, table and rival, and goes on after an interruption;
``report.py`` reads it. The error is 1 less the area under the curve for two classes, the log-loss
for several, and the root mean squared error in standard deviations for numbers. Networks run
where they are named, with pytabkit installed: ``--rivals RealMLP TabM xRFM``.
"""

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import fits
from benchmarks.arena import tables
from benchmarks.arena.rivals import RIVALS, TORCH

HERE = Path(__file__).parent
KEYS = ("fold", "rival", "problem")
MEASURES = ("loss", "fit_seconds", "predict_seconds", "error")


def loss(kind, model, X, y, known):
    if kind == tables.NUMBERS:
        return np.sqrt(np.mean((np.ravel(model.predict(X)) - y) ** 2)) / y.std()
    probabilities = np.asarray(model.predict_proba(X), dtype=float)
    if kind == tables.BINARY:
        return 1 - roc_auc_score(y, probabilities[:, 1])
    cautious = np.clip(probabilities, 1e-6, 1)
    cautious /= cautious.sum(axis=1, keepdims=True)
    return log_loss(y, cautious, labels=known)


def one(number, rival, problem):
    kind = (tables.TABLES | tables.TWICE)[problem].kind
    X, y, group = tables.load(problem)
    folds = tables.folds(problem, X, y, group)
    if number >= len(folds):
        return []
    train, test = folds[number]
    X_train, X_test = X.iloc[train].copy(), X.iloc[test].copy()
    line = {"error": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            started = time.process_time()
            model = (RIVALS | TORCH)[rival](kind, number).fit(X_train, y[train])
            line["fit_seconds"] = time.process_time() - started
            started = time.process_time()
            line["loss"] = loss(kind, model, X_test, y[test], np.unique(y[train]))
            line["predict_seconds"] = time.process_time() - started
        except Exception as error:
            return line | {"error": fits.failure(error)}
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=tables.N_FOLDS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS))
    parser.add_argument("--problems", nargs="*", default=[*tables.TABLES, *tables.TWICE])
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    given = parser.parse_args()
    wanted = list(itertools.product(range(given.folds), given.rivals, given.problems))
    fits.fill(given.out, KEYS, MEASURES, one, wanted, given.jobs)


if __name__ == "__main__":
    main()
