"""How one gated group should choose its subsets, in equal time: ``make bench-subsets``.

Twelve tables of at most 500 rows, two splits. Every way gives groups of falling size on four
fifths of the training rows; the smallest one whose log-loss on the last fifth is within half a
standard error (of the paired differences) of the best is chosen, and the way is gone again on all
training rows, up to there. Writes one line of results.csv for each fit, goes on after an
interruption, and then writes report.md.
"""

import argparse
import time
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks import fits
from benchmarks.accuracy import problems
from benchmarks.subsets import report
from benchmarks.subsets.group import Rows, started
from benchmarks.subsets.ways import TIMED_BY, WAYS

HERE = Path(__file__).parent
KEYS = ("problem", "split", "times")
MAX_ROWS = 500
N_ERRORS = 0.5


def losses(group, rows, X, y):
    """The log-loss of each row; one certain error must not decide a mean."""
    probabilities = np.clip(group.probabilities(rows.expand(X)), 1e-6, 1)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return -np.log(probabilities[np.arange(len(y)), y])


def chosen(held_out):
    """The last of the points (M, n) that is within half a standard error of the best."""
    best = held_out[held_out.mean(axis=1).argmin()]
    excess = held_out - best
    error = excess.std(axis=1, ddof=1) / np.sqrt(excess.shape[1])
    return int(np.flatnonzero(excess.mean(axis=1) <= N_ERRORS * error)[-1])


class Fit:
    """One way on one split, and its CPU seconds: of the choice, and of the whole."""

    def __init__(self, way, X, y, seed, seconds):
        n_classes = int(y.max() + 1)
        X_fit, X_held, y_fit, y_held = train_test_split(
            X, y, test_size=0.2, stratify=y, random_state=seed
        )
        began = time.process_time()
        rows = Rows(X_fit, y_fit, n_classes)
        points = self._points(way, rows, seed, seconds)
        held_out = np.stack([losses(point, rows, X_held, y_held) for point in points])
        self.choosing = time.process_time() - began
        which = chosen(held_out)
        self.rows = Rows(X, y, n_classes)
        longer = seconds * len(y) / len(y_fit)
        points = self._points(way, self.rows, seed, longer)
        *_, self.group = islice(points, which + 1)
        self.cpu_seconds = time.process_time() - began

    @staticmethod
    def _points(way, rows, seed, seconds):
        """What the way may take is what is left after the members' start."""
        began = time.process_time()
        start = started(rows, seed)
        left = seconds - (time.process_time() - began)
        return way(rows, start, left, np.random.default_rng(seed))


def line(fit, X_test, y_test):
    """What is reported of a fit."""
    group = fit.group
    columns = fit.rows.features.columns
    decided = group.probabilities(fit.rows.expand(X_test)).argmax(axis=1)
    return {
        "accuracy": (decided == y_test).mean(),
        "log_loss": losses(group, fit.rows, X_test, y_test).mean(),
        "share": group.share,
        "gate_share": group.gate_kept.mean(),
        "members": group.alive.sum(),
        "terms": columns(group.kept)[group.alive].sum() + columns(group.gate_kept).sum(),
        "cpu_seconds": fit.cpu_seconds,
    }


def split_of(name, number, load=problems.load):
    """At most 500 rows of a table, split."""
    X, y = load(name)
    if len(y) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    return problems.split(X, y, number)


def lines(name, number, times, load=problems.load):
    """All ways on one split; or, in several times the path's time, those that can use it."""
    X, X_test, y, y_test = split_of(name, number, load)
    path = Fit(WAYS[TIMED_BY], X, y, number, np.inf)
    found = [{"way": TIMED_BY} | line(path, X_test, y_test)]
    for way, function in WAYS.items():
        if way in report.TIMED or (times == 1 and way != TIMED_BY):
            fit = Fit(function, X, y, number, times * path.choosing)
            found.append({"way": way} | line(fit, X_test, y_test))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--problems", nargs="*", default=problems.names(quick=True))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    # All tables in turn: what an interruption leaves is of all kinds.
    wanted = [
        (name, number, times)
        for times in arguments.times
        for number in range(arguments.splits)
        for name in arguments.problems
    ]
    fits.fill(arguments.out, KEYS, ("way", *report.MEASURES), lines, wanted)
    report.write(arguments.out, HERE / "report.md")


if __name__ == "__main__":
    main()
