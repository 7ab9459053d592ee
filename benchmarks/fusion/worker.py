"""Times a method of one library in a process of its own; prints one line of JSON.

Runs in covey's environment and in DESlib's alike, so it imports nothing else.
"""

import importlib
import json
import resource
import sys
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

N_MEMBERS, N_KNOWN = 50, 5_000
# What covey's methods are called in DESlib; None for k is its own default, all known rows.
THEIRS = {
    "knora_e": ("des", "KNORAE", 7),
    "rank": ("dcs", "Rank", 7),
    "mla": ("dcs", "MLA", 7),
    "a_priori": ("dcs", "APriori", 7),
    "a_posteriori": ("dcs", "APosteriori", 7),
    "mcb": ("dcs", "MCB", 7),
    "des_mi": ("des", "DESMI", 7),
    "rrc": ("des.probabilistic", "RRC", None),
    "des_kl": ("des.probabilistic", "DESKL", None),
    "exponential": ("des.probabilistic", "Exponential", None),
    "logarithmic": ("des.probabilistic", "Logarithmic", None),
    "minimum_difference": ("des.probabilistic", "MinimumDifference", None),
}


class Linear(ClassifierMixin, BaseEstimator):
    """Least squares on few rows and columns: a member that takes no time to predict."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        rng = np.random.default_rng(self.seed)
        rows = rng.choice(len(X), 60)
        self.columns_ = rng.choice(X.shape[1], X.shape[1] // 2, replace=False)
        self.classes_ = np.unique(y)
        Z = np.column_stack([X[rows][:, self.columns_], np.ones(len(rows))])
        targets = np.eye(len(self.classes_))[y[rows]]
        self.coef_ = np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ targets)
        return self

    def predict_proba(self, X):
        scores = 4 * np.column_stack([X[:, self.columns_], np.ones(len(X))]) @ self.coef_
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def main(library, n_rows, n_columns, method="knora_e"):
    X, y = make_classification(
        2_000 + N_KNOWN + n_rows,
        n_columns,
        n_informative=4,
        n_redundant=0,
        n_classes=3,
        random_state=0,
    )
    # covey standardises by the known rows; DESlib does not, so both are given such rows.
    known = X[2_000 : 2_000 + N_KNOWN]
    X = (X - known.mean(axis=0)) / known.std(axis=0)
    X_pool, X_known, X_new = np.split(X, [2_000, 2_000 + N_KNOWN])
    y_pool, y_known, y_new = np.split(y, [2_000, 2_000 + N_KNOWN])
    pool = [Linear(seed).fit(X_pool, y_pool) for seed in range(N_MEMBERS)]
    if library == "covey":
        from covey import FusionClassifier

        model = FusionClassifier(pool, method, prefit=True)
    else:
        module, name, k = THEIRS[method]
        model = getattr(importlib.import_module(f"deslib.{module}"), name)(pool, k=k)
    started = time.perf_counter()
    model.fit(X_known, y_known)
    fitted = time.perf_counter() - started
    model.predict(X_new[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    labels = model.predict(X_new)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "seconds": seconds,
                "fitted": fitted,
                "accuracy": float((labels == y_new).mean()),
                "growth_mb": (peak - before) / 1024,
                "data_mb": X_new.nbytes / 2**20,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
