"""What it changes that a flock learns medians and lists of categories once, on all training rows.

    python -m benchmarks.categories.folds

The out-of-fold log-loss of a logistic regression on what a flock's preparation makes of a table:
prepared on all rows before the folds are drawn, as a flock does, and prepared anew on the training
part of each fold. A fifth of all numbers is taken out at random, so that something is filled.
Categories that the target encodes are not compared: their means are out of fold in either way.
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.categories import tables
from covey.tables._preparation import needs_target, prepare
from covey.tables._table_reader import learn_reading

TABLES = ("crx", "german", "automobile")
SHARE = 0.2


def losses(name, repeat):
    """Both log-losses of one table and one draw of folds and gaps."""
    X, y = tables.load(name)
    reading = learn_reading(X, "from_dtype")
    X = reading.read(X)
    numbers = np.flatnonzero(reading.is_number)
    rng = np.random.default_rng(repeat)
    X[:, numbers] = np.where(rng.random((len(X), len(numbers))) < SHARE, np.nan, X[:, numbers])
    assert not needs_target(reading)
    folds = StratifiedKFold(5, shuffle=True, random_state=repeat).split(X, y)
    _, at_once = prepare(X, reading, np.ones(len(X)), None)
    classes, predicted = np.unique(y), np.zeros((2, len(y), len(np.unique(y))))
    for train, test in folds:
        own, known = prepare(X[train], reading, np.ones(len(train)), None)
        rows = [(at_once[train], at_once[test]), (known, own.transform(X[test]))]
        for way, (shown, held_out) in enumerate(rows):
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            predicted[way, test] = model.fit(shown, y[train]).predict_proba(held_out)
    return [log_loss(y, one, labels=classes) for one in predicted]


def main():
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    given = parser.parse_args()
    for name in given.tables:
        once, each = np.array([losses(name, repeat) for repeat in range(given.repeats)]).T
        differs = once - each
        error = differs.std(ddof=1) / np.sqrt(len(differs))
        print(
            f"{name}: on all rows {once.mean():.4f}, in each fold {each.mean():.4f}, "
            f"difference {differs.mean():+.5f} ± {error:.5f}"
        )


if __name__ == "__main__":
    main()
