"""Ways to fuse the kinds of a mixed flock, on twelve tables: ``make bench-mixed``.

Writes a line of results.csv for each table, split and way, and goes on after an interruption;
``report.py`` reads it.
"""

import argparse
from pathlib import Path

from sklearn.model_selection import train_test_split

from benchmarks import fits
from benchmarks.accuracy import problems
from benchmarks.mixed import ways

HERE = Path(__file__).parent
MAX_ROWS = 1_000
SPLITS = 2
KEYS = ("problem", "split")
MEASURES = ("way", "accuracy", "log_loss", "brier", "seconds", "shared_seconds")


def one(problem, number):
    X, y = problems.load(problem)
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    return ways.compared(*problems.split(X, y, number), seed=number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--problems", nargs="*", default=list(problems.QUICK))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [(name, number) for number in range(SPLITS) for name in arguments.problems]
    fits.fill(arguments.out, KEYS, MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
