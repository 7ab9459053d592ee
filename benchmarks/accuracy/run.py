"""Problems x rivals: ``make bench-accuracy``, or ``make bench-accuracy QUICK=1`` for twelve sets.

Writes one line of results.csv for each fit and goes on after an interruption: lines that are
there are not made again. ``report.py`` reads it.
"""

import argparse
from pathlib import Path

from benchmarks import fits
from benchmarks.accuracy import problems, rivals

HERE = Path(__file__).parent
KEYS = ("problem", "rival", "split")


def one(problem, rival, number):
    """One fit, as a line of the table."""
    data = problems.split(*problems.load(problem), number)
    return fits.measured(rivals.make(rival, number), *data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="twelve sets instead of all")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", nargs="*", default=list(rivals.RIVALS))
    parser.add_argument("--problems", nargs="*", default=None)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [
        (problem, rival, number)
        for problem in arguments.problems or problems.names(arguments.quick)
        for number in range(arguments.splits)
        for rival in arguments.rivals
    ]
    fits.fill(arguments.out, KEYS, fits.MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
