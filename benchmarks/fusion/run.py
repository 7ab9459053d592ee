"""How fast fusing is, as ratios in one run: ``make bench-fusion``.

Majority against scikit-learn's ``VotingClassifier`` on the same labels, KNORA-E against
DESlib 0.3.7 in an environment of its own, repeats interleaved, medians; then its other methods.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder

import covey
from benchmarks.fusion.worker import THEIRS

WORKER = Path(__file__).with_name("worker.py")
REPEATS = 5


class Saved(ClassifierMixin, BaseEstimator):
    """A member whose labels are known."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        return self.labels


def seconds(function):
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def majority(n_rows=100_000, n_members=50, n_classes=10):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, (n_rows, n_members))
    voting = VotingClassifier([(str(k), Saved(labels[:, k])) for k in range(n_members)])
    voting.estimators_ = [member for _, member in voting.estimators]
    voting.le_ = LabelEncoder().fit(np.arange(n_classes))
    voting.classes_ = voting.le_.classes_
    X = np.zeros((n_rows, 1))
    times = {"covey": [], "sklearn": []}
    for _ in range(REPEATS):
        times["sklearn"].append(seconds(lambda: voting.predict(X)))
        times["covey"].append(seconds(lambda: covey.fuse(labels, "majority").argmax(axis=1)))
    same = (covey.fuse(labels, "majority").argmax(axis=1) == voting.predict(X)).all()
    ours, theirs = np.median(times["covey"]), np.median(times["sklearn"])
    print(
        f"majority, {n_rows} rows x {n_members} members x {n_classes} classes: "
        f"covey {ours:.3f} s, VotingClassifier {theirs:.3f} s, "
        f"{theirs / ours:.1f} times faster; same labels: {same}"
    )


def one(python, library, n_rows, n_columns=20, method="knora_e"):
    command = [python, "-W", "ignore", str(WORKER), library, str(n_rows), str(n_columns), method]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def knora_e(deslib_python, n_rows=20_000):
    print(f"KNORA-E, {n_rows} rows x 50 members, 5000 known rows, predict as a whole")
    for n_columns in (5, 10, 15, 20, 50):
        results = {"covey": [], "deslib": []}
        for _ in range(REPEATS):
            results["deslib"].append(one(deslib_python, "deslib", n_rows, n_columns))
            results["covey"].append(one(sys.executable, "covey", n_rows, n_columns))
        ours, theirs = (
            np.median([result["seconds"] for result in results[name]])
            for name in ("covey", "deslib")
        )
        same = results["covey"][0]["accuracy"] == results["deslib"][0]["accuracy"]
        print(
            f"  {n_columns} columns: covey {ours:.3f} s, DESlib {theirs:.3f} s, "
            f"{theirs / ours:.1f} times faster; same accuracy: {same}"
        )
    for rows in (n_rows, 4 * n_rows, 16 * n_rows):
        result = one(sys.executable, "covey", rows)
        print(
            f"  covey, {rows} rows: memory grows by {result['growth_mb']:.0f} MB while predicting "
            f"{result['data_mb']:.0f} MB of rows"
        )


def others(deslib_python, n_rows=500):
    """Few rows: DESlib holds (rows, known rows, members) where all known rows count."""
    print(f"Other methods, {n_rows} rows x 20 columns x 50 members, 5000 known rows, once each")
    for method in THEIRS:
        ours = one(sys.executable, "covey", n_rows, method=method)
        theirs = one(deslib_python, "deslib", n_rows, method=method)
        print(
            f"  {method}: fit {ours['fitted']:.2f} s, DESlib {theirs['fitted']:.2f} s; predict "
            f"{ours['seconds']:.3f} s, DESlib {theirs['seconds']:.3f} s; accuracy "
            f"{ours['accuracy']:.3f}, DESlib {theirs['accuracy']:.3f}"
        )


if __name__ == "__main__":
    majority()
    knora_e(sys.argv[1])
    others(sys.argv[1])
