"""Problems x rivals: ``make bench-accuracy``, or ``make bench-accuracy QUICK=1`` for twelve sets.

Writes one line of results.csv for each fit and goes on after an interruption: lines that are
there are not made again. ``report.py`` reads it.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import problems
from joblib import Parallel, delayed
from sklearn.metrics import log_loss

import rivals

HERE = Path(__file__).parent
FIELDS = (
    "problem",
    "rival",
    "split",
    "accuracy",
    "log_loss",
    "brier",
    "fit_seconds",
    "predict_seconds",
    "error",
)


def one(problem, rival, number):
    """One fit, as a line of the table; a rival that fails is a line that says so."""
    row = {"problem": problem, "rival": rival, "split": number, "error": ""}
    X, X_test, y, y_test = problems.split(*problems.load(problem), number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = rivals.make(rival, number)
            started = time.perf_counter()
            model.fit(X, y)
            row["fit_seconds"] = time.perf_counter() - started
            started = time.perf_counter()
            probabilities = np.asarray(model.predict_proba(X_test), dtype=float)
            row["predict_seconds"] = time.perf_counter() - started
            decisions = np.asarray(model.predict(X_test)).ravel()
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            return row
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    row["accuracy"] = (decisions == y_test).mean()
    # One certain error must not decide a mean.
    cautious = np.clip(probabilities, 1e-6, 1)
    cautious /= cautious.sum(axis=1, keepdims=True)
    row["log_loss"] = log_loss(y_test, cautious, labels=np.unique(y))
    truth = np.eye(probabilities.shape[1])[y_test]
    row["brier"] = ((probabilities - truth) ** 2).sum(axis=1).mean()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="twelve sets instead of all")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", nargs="*", default=list(rivals.RIVALS))
    parser.add_argument("--problems", nargs="*", default=None)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()

    done = set()
    if arguments.out.exists():
        with arguments.out.open() as file:
            done = {(r["problem"], r["rival"], r["split"]) for r in csv.DictReader(file)}
    else:
        with arguments.out.open("w", newline="") as file:
            csv.DictWriter(file, FIELDS, lineterminator="\n").writeheader()
    wanted = [
        (problem, rival, number)
        for problem in arguments.problems or problems.names(arguments.quick)
        for number in range(arguments.splits)
        for rival in arguments.rivals
        if (problem, rival, str(number)) not in done
    ]
    print(f"{len(wanted)} fits to make, {len(done)} at hand")
    started = time.perf_counter()
    results = Parallel(n_jobs=arguments.jobs, return_as="generator_unordered")(
        delayed(one)(*fit) for fit in wanted
    )
    with arguments.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        for number, row in enumerate(results, start=1):
            writer.writerow({name: _short(row.get(name, "")) for name in FIELDS})
            file.flush()
            if number % 25 == 0 or number == len(wanted):
                minutes = (time.perf_counter() - started) / 60
                left = minutes / number * (len(wanted) - number)
                print(f"{number} of {len(wanted)}, {minutes:.1f} min, {left:.1f} min left")


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
