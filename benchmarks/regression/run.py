"""Problems x rivals, for numbers: ``make bench-regression``.

Writes one line of results.csv for each fit, its error in standard deviations of the rows held out,
and goes on after an interruption: lines that are there are not made again. ``report.py`` reads it.
"""

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks import fits
from benchmarks.regression import problems
from benchmarks.regression.rivals import RIVALS

HERE = Path(__file__).parent
KEYS = ("split", "rival", "problem")
MEASURES = ("rmse", "beyond", "fit_seconds", "predict_seconds", "error")


def one(number, rival, problem):
    """One fit, as a line of the table.

    ``beyond`` is how far the farthest prediction is outside the range of the training rows' y, in
    lengths of that range.
    """
    X, X_test, y, y_test = problems.split(*problems.load(problem), number)
    line = {"error": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            started = time.process_time()
            model = RIVALS[rival](number).fit(X, y)
            line["fit_seconds"] = time.process_time() - started
            started = time.process_time()
            predicted = np.asarray(model.predict(X_test), dtype=float).ravel()
            line["predict_seconds"] = time.process_time() - started
        except Exception as error:
            return line | {"error": fits.failure(error)}
    line["rmse"] = np.sqrt(np.mean((predicted - y_test) ** 2)) / y_test.std()
    beyond = max(y.min() - predicted.min(), predicted.max() - y.max(), 0.0)
    return line | {"beyond": beyond / np.ptp(y)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS))
    parser.add_argument("--problems", nargs="*", default=None)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    names = arguments.problems or problems.names()
    wanted = list(itertools.product(range(arguments.splits), arguments.rivals, names))
    fits.fill(arguments.out, KEYS, MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
