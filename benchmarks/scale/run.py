"""Tables x methods, each fit in a process of its own: ``make bench-scale``.

The methods take turns on each table. Writes one line of results.csv for each fit and goes on after
an interruption; ``report.py`` reads it. Needs quiet cores: every method uses all of them.
"""

import argparse
import csv
from pathlib import Path

from benchmarks import fits
from benchmarks.scale import methods, process, tables

HERE = Path(__file__).parent
KEYS = ("table", "method", "repeat")
MEASURES = (
    "fit_seconds",
    "cpu_seconds",
    "peak_mib",
    "predict_seconds_a_row",
    "predict_seconds_alone",
    "log_loss",
    "accuracy",
    "others_seconds",
    "error",
)
REPEATS = 3


class Fits:
    """Fits by table, method and repeat; those that did not end are not tried again."""

    def __init__(self, limit, earlier=()):
        self.limit = limit
        self._without_end = {
            (line["table"], line["method"]): line["error"]
            for line in earlier
            if "did not end" in line["error"]
        }

    def __call__(self, table, method, repeat):
        known = self._without_end.get((table, method))
        if known:
            return {"error": known}
        line = process.fit(table, method, repeat, self.limit)
        if "did not end" in line["error"]:
            self._without_end[table, method] = line["error"]
        said = line["error"] or f"{line['fit_seconds']:.3g} s, log-loss {line['log_loss']:.4f}"
        print(f"{table}, {method}, {repeat}: {said}", flush=True)
        return line


def read(path):
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 rows, once")
    parser.add_argument("--repeats", type=int, help=f"{REPEATS}, quick 1")
    parser.add_argument("--limit", type=float, default=process.LIMIT, help="seconds of a phase")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    repeats = arguments.repeats or (1 if arguments.quick else REPEATS)
    names = arguments.tables or (tables.QUICK if arguments.quick else tables.TABLES)
    out = arguments.out or HERE / ("quick/results.csv" if arguments.quick else "results.csv")
    out.parent.mkdir(exist_ok=True)
    wanted = [
        (table, method, repeat)
        for table in names
        for repeat in range(repeats)
        for method in methods.of_table(table)
        if not arguments.methods or method in arguments.methods
    ]
    fits.fill(out, KEYS, MEASURES, Fits(arguments.limit, read(out)), wanted)


if __name__ == "__main__":
    main()
