"""Tables with many categories, as each rival takes them: ``make bench-categories``.

Writes a line of results.csv for each table, split and rival, and goes on after an interruption;
``report.py`` reads it.
"""

import argparse
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import fits
from benchmarks.categories import tables
from covey import FlockClassifier

HERE = Path(__file__).parent
SPLITS = 2
KEYS = ("problem", "split", "rival")
COVEY, BOOSTING = "covey", "HistGradientBoosting"
RIVALS = {
    COVEY: lambda seed: FlockClassifier(random_state=seed),
    BOOSTING: lambda seed: HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed
    ),
}


def one(problem, number, rival):
    X, y = tables.load(problem)
    return fits.measured(RIVALS[rival](number), *tables.split(X, y, number))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--problems", nargs="*", default=list(tables.NAMES))
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    given = parser.parse_args()
    wanted = [
        (problem, number, rival)
        for number in range(given.splits)
        for problem in given.problems
        for rival in given.rivals
    ]
    fits.fill(given.out, KEYS, fits.MEASURES, one, wanted, given.jobs)


if __name__ == "__main__":
    main()
