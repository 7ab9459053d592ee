"""How long it takes to explain rows, and how exact drawn orders are.

    python benchmarks/explaining.py

Prints, for models of a table with 30 columns, the time of the processor for the contributions of
one row and of a thousand, their standard errors (of the row in the middle, and the largest), and
the time for a whole card.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from covey import FlockClassifier
from covey.inspection import row_card


def table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows like those of the breast cancer data, none the same; two columns are categories."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(X), n_rows)
    made = X.iloc[rows].reset_index(drop=True) * rng.normal(1.0, 0.02, (n_rows, X.shape[1]))
    for name in X.columns[:2]:
        made[name] = pd.qcut(made[name], 5, labels=list("abcde")).astype(str)
    return made, np.where(y.to_numpy()[rows] == 1, "benign", "malignant")


def seconds(function: Callable[[], Any], repeats: int) -> float:
    """The least of a few times."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    rows = parser.parse_args().rows
    X, y = table(max(rows, 600))
    heads = ("columns", "1 row", f"{rows:,} rows", "error", "largest", "card")
    print(f"{'model':10s}" + "".join(f"{head:>12s}" for head in heads))
    for name, flock in (
        ("linear", FlockClassifier(effort="fast", random_state=0)),
        ("balanced", FlockClassifier(random_state=0)),
        ("mixed", FlockClassifier(members="mixed", effort="fast", random_state=0)),
    ):
        model = flock.fit(X, y)
        used = int(model._columns_looked_at().sum())
        one = seconds(lambda model=model: model.contributions(X[:1]), 5)
        start = time.process_time()
        errors = model.contributions(X[:rows]).standard_error.max(axis=(1, 2))
        many = time.process_time() - start
        card = seconds(lambda model=model: row_card(model, X.iloc[0]), 3)
        cells = (
            f"{used}",
            f"{1e3 * one:.0f} ms",
            f"{many:.1f} s",
            f"{np.median(errors):.4f}",
            f"{errors.max():.4f}",
            f"{1e3 * card:.0f} ms",
        )
        print(f"{name:10s}" + "".join(f"{cell:>12s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
