"""How much a flock changes where nothing of the question has.

    python benchmarks/laws.py

fits the same table as it is and in another form (rows or columns in another order, classes in
reverse, some rows twice instead of with a weight of 2, columns in other units, a constant column
more), and prints the mean and the largest change of a probability, or of a prediction in standard
deviations of y, over the rows. Another seed is what chance alone does.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import covey

TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
MODELS = {
    "FlockClassifier": covey.FlockClassifier,
    "FlockClassifier, fast": lambda **how: covey.FlockClassifier(effort="fast", **how),
    "SubsetEnsembleClassifier": covey.SubsetEnsembleClassifier,
    "SubsetEnsembleClassifier, gate": lambda **how: covey.SubsetEnsembleClassifier(
        fuser="gate", **how
    ),
}
REGRESSORS = {
    "FlockRegressor": covey.FlockRegressor,
    "SubsetEnsembleRegressor": covey.SubsetEnsembleRegressor,
}


class Question:
    """A table, and what a model predicts of its rows after it was fitted to some form of it."""

    def __init__(self, make, X, y):
        self.make, self.X, self.y = make, X, y
        self.is_class = y.dtype.kind != "f"
        self.as_it_is = self.predicted(X, y)

    def predicted(self, X, y, rows=None, seed=0, **how):
        """Probabilities (n, C), or numbers in standard deviations of y (n,)."""
        model = self.make(random_state=seed).fit(X, y, **how)
        rows = X[: len(self.X)] if rows is None else rows
        return model.predict_proba(rows) if self.is_class else model.predict(rows) / self.y.std()

    def changes(self):
        """By law: how much each prediction changes."""
        X, y, rng = self.X, self.y, np.random.default_rng(0)
        n_rows, n_columns = X.shape
        rows, columns = rng.permutation(n_rows), rng.permutation(n_columns)
        twice = rng.choice(n_rows, n_rows // 4, replace=False)
        weight = np.ones(n_rows)
        weight[twice] = 2
        scale, shift = rng.uniform(0.1, 10, n_columns), rng.normal(0, 10, n_columns)
        wide = np.insert(X, n_columns // 2, 7.3, axis=1)
        yield "another seed", self.predicted(X, y, seed=1), self.as_it_is
        yield "rows in another order", self.predicted(X[rows], y[rows], X), self.as_it_is
        yield (
            "a quarter of the rows twice, for a weight of 2",
            self.predicted(np.r_[X, X[twice]], np.r_[y, y[twice]]),
            self.predicted(X, y, sample_weight=weight),
        )
        yield "columns in another order", self.predicted(X[:, columns], y), self.as_it_is
        if self.is_class:
            yield "classes in reverse", self.predicted(X, -y)[:, ::-1], self.as_it_is
        yield "columns scaled and shifted", self.predicted(X * scale + shift, y), self.as_it_is
        yield "a constant column more", self.predicted(wide, y), self.as_it_is


def main():
    """Measure and print."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    questions = [(name, TABLES, MODELS[name]) for name in MODELS]
    questions += [(name, {"diabetes": load_diabetes}, REGRESSORS[name]) for name in REGRESSORS]
    for name, tables, make in questions:
        found = {}
        for load in tables.values():
            for law, changed, before in Question(make, *load(return_X_y=True)).changes():
                found.setdefault(law, []).append(np.abs(changed - before).reshape(-1))
        print(f"{name} ({', '.join(tables)})")
        for law, changes in found.items():
            mean = np.mean([one.mean() for one in changes])
            largest = max(one.max() for one in changes)
            print(f"    {law:50}{mean:10.2g}{largest:10.2g}", flush=True)


if __name__ == "__main__":
    main()
