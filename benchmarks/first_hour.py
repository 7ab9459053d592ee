"""A person's first hour: how long fit, predict and explain take at the command line.

    python benchmarks/first_hour.py [--small]

writes three tables to a folder of its own and runs the commands on them, each in a process of its
own, as a person does: 3,000 rows of mixed columns and three classes, 2,000 rows and a number to
predict, and 229,000 flights of ten columns (made up, as late as real ones are). It prints the
seconds of the clock and of the processors, how long it is until something is shown, and the most
memory.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

COMMAND = [sys.executable, "-m", "covey"]


def customers(rng, n_rows=3_000):
    table = pd.DataFrame(rng.normal(size=(n_rows, 12)).round(3)).add_prefix("score_")
    table["town"] = rng.choice(["Porto", "Osaka", "Rome", "Oslo", "Lima", "Accra"], n_rows)
    table["plan"] = rng.choice(["free", "basic", "pro"], n_rows)
    score = table["score_0"] + table["score_1"] * table["score_2"] + (table["town"] == "Lima")
    score += rng.normal(0, 0.8, n_rows) - 0.8 * (table["score_3"] > 0)
    table["segment"] = np.select([score > 0.8, score > -0.5], ["high", "middle"], "low")
    table.loc[rng.choice(n_rows, n_rows // 20), "score_4"] = np.nan
    return table, "segment"


def houses(rng, n_rows=2_000):
    table = pd.DataFrame(
        {
            "area": rng.gamma(6, 18, n_rows).round(),
            "rooms": rng.integers(1, 8, n_rows),
            "built": rng.integers(1900, 2024, n_rows),
            "quarter": rng.choice(["centre", "north", "harbour", "hills"], n_rows),
            "garden": rng.choice(["yes", "no"], n_rows),
            "distance": rng.gamma(2, 2, n_rows).round(2),
        }
    )
    price = 1_500 * table["area"] * (1 + 0.4 * (table["quarter"] == "centre"))
    price += 12_000 * (table["garden"] == "yes") - 9_000 * table["distance"]
    table["price"] = (price + rng.normal(0, 25_000, n_rows)).round(-2)
    return table, "price"


def flights(rng, n_rows=229_000):
    shares = np.r_[np.full(20, 0.03), np.full(80, 0.005)]
    table = pd.DataFrame(
        {
            "month": rng.integers(1, 13, n_rows),
            "day": rng.integers(1, 29, n_rows),
            "departure": rng.integers(500, 2359, n_rows),
            "carrier": rng.choice(["UA", "AA", "B6", "DL", "EV", "MQ", "US", "9E", "WN"], n_rows),
            "origin": rng.choice(["EWR", "JFK", "LGA"], n_rows),
            "destination": rng.choice(
                [f"D{number:02d}" for number in range(100)], n_rows, p=shares
            ),
            "distance": rng.integers(80, 5_000, n_rows),
            "temperature": rng.normal(55, 18, n_rows).round(1),
            "wind": rng.gamma(3, 3, n_rows).round(1),
            "rain": ((rng.random(n_rows) < 0.06) * rng.gamma(1, 0.05, n_rows)).round(2),
        }
    )
    score = -1.6 + 0.0012 * (table["departure"] - 1_300) + 6 * table["rain"]
    score += 0.5 * (table["carrier"] == "EV") + 0.3 * table["month"].isin([6, 7, 12])
    score += 0.02 * table["wind"] + rng.logistic(0, 1, n_rows)
    table["late"] = np.where(score > 0, "yes", "no")
    return table, "late"


def run(arguments, folder):
    """Seconds of the clock, of the processors, until something is shown; memory; the output."""
    started = time.perf_counter()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        shown, lines = None, []
        for line in process.stdout:
            if shown is None and line.startswith(("First numbers", "prediction")):
                shown = time.perf_counter() - started
            lines.append(line)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("".join(lines[-5:]))
    clock = time.perf_counter() - started
    return clock, used.ru_utime + used.ru_stime, shown or clock, used.ru_maxrss / 1e3, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a hundredth of the rows, as a test")
    small = parser.parse_args().small
    print(f"{'':46}{'clock, s':>9}{'CPU, s':>8}{'shown, s':>9}{'MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for make in (customers, houses, flights):
            n_rows = {"n_rows": 300} if small else {}
            table, target = make(np.random.default_rng(0), **n_rows)
            name = make.__name__
            table.to_csv(Path(folder) / f"{name}.csv", index=False)
            model = f"{name}.covey"
            effort = ["--effort", "fast"] if small else []
            for arguments in (
                ["fit", f"{name}.csv", "--target", target, "--model", model, *effort],
                ["predict", model, f"{name}.csv", "--out", "out.csv"],
                ["predict", model, f"{name}.csv", "--explain", "--out", "out.csv"],
                ["explain", model, f"{name}.csv", "--row", "17"],
            ):
                clock, used, shown, memory, lines = run(arguments, folder)
                what = arguments[0] + (" --explain" if "--explain" in arguments else "")
                row = f"{name}, {len(table):,} x {table.shape[1] - 1}: {what}"
                print(f"{row:<46}{clock:9.1f}{used:8.1f}{shown:9.1f}{memory:9.0f}", flush=True)
                if arguments[0] == "fit":
                    (said,) = re.findall(r"How right is it\?\s+(.*)", "".join(lines))
                    print(f"    {said}")


if __name__ == "__main__":
    main()
