"""Tables x noise x rivals: ``make bench-noise``.

Every table is given 5 and 20 times as many columns of noise as it has columns. Writes one line of
results.csv for each fit and goes on after an interruption; ``report.py`` reads it.
"""

import argparse
from pathlib import Path

from benchmarks import fits
from benchmarks.noise import rivals, tables

HERE = Path(__file__).parent
KEYS = ("problem", "times", "rival", "split")


def one(problem, times, rival, number):
    data = tables.split(problem, times, number)
    return fits.measured(rivals.RIVALS[rival](number), *data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", nargs="*", default=list(rivals.RIVALS))
    parser.add_argument("--problems", nargs="*", default=list(tables.NAMES))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [
        (problem, times, rival, number)
        for problem in arguments.problems
        for number in range(tables.SPLITS)
        for times in tables.TIMES
        for rival in arguments.rivals
    ]
    fits.fill(arguments.out, KEYS, fits.MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
