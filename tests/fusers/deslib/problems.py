"""Problems that covey and DESlib both solve: plain NumPy, the same in every environment."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

LOADERS = {"breast_cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}
N_MEMBERS = 30
# For so many test rows the competences that DESlib gives are kept, too.
N_RATED = 12


class WeakLinear:
    """Least squares on few rows and few columns: weak members that disagree."""

    def __init__(self, X, y, n_classes, seed):
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(X), size=min(len(X), 8 * n_classes), replace=True)
        self.columns = rng.choice(X.shape[1], size=max(2, X.shape[1] // 4), replace=False)
        Z = np.column_stack([X[rows][:, self.columns], np.ones(len(rows))])
        targets = np.eye(n_classes)[y[rows]]
        ridge = Z.T @ Z + np.eye(Z.shape[1])
        self.coef = np.linalg.solve(ridge, Z.T @ targets)
        self.classes_ = np.arange(n_classes)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        scores = 4 * np.column_stack([X[:, self.columns], np.ones(len(X))]) @ self.coef
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)

    def score(self, X, y):
        return (self.predict(X) == y).mean()


def problem(name):
    """Pool, held-out rows to learn the fusion from, and test rows."""
    X, y = LOADERS[name](return_X_y=True)
    order = np.random.default_rng(7).permutation(len(X))
    X, y = X[order], y[order]
    first, second = int(0.4 * len(X)), int(0.7 * len(X))
    # Standardised by the held-out rows, as covey's index does itself.
    known = X[first:second]
    scale = known.std(axis=0)
    X = (X - known.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    n_classes = len(np.unique(y))
    pool = [WeakLinear(X[:first], y[:first], n_classes, seed) for seed in range(N_MEMBERS)]
    return pool, (X[first:second], y[first:second]), (X[second:], y[second:])
