"""How much memory ``covey predict`` takes on short and long tables: it should be the same.

    python tests/cli/measure_memory.py [FOLDER]

Makes tables of 50 columns and 100,000 and 1,000,000 rows as CSV and Parquet (one row group, the
worst case), predicts each in a process of its own and prints the peak resident set sizes. Exits
with 1 if a long table takes over 10 % more than the short one. About five minutes, 1 GB of disk.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHORT, LONG = 100_000, 1_000_000
COVEY = [sys.executable, "-m", "covey"]
# In a process of its own: a child's peak is never below what its parent held when it began.
MAKE = """
import sys
import numpy as np, pandas as pd, pyarrow as pa
from pyarrow import parquet

def frame(n_rows, rng):
    X = rng.normal(size=(n_rows, 48)).round(4)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(48)])
    table["town"] = rng.choice(["Rome", "Oslo", "Bath"], n_rows)
    table["kind"] = rng.choice(["a", "b"], n_rows)
    table["y"] = np.where(X[:, 0] + X[:, 1] * X[:, 2] + (table["town"] == "Oslo") > 0, "yes", "no")
    return table

rng = np.random.default_rng(0)
frame(2_000, rng).to_csv("train.csv", index=False)
for n_rows in map(int, sys.argv[1:]):
    parts = [frame(50_000, rng) for _ in range(n_rows // 50_000)]
    for place, part in enumerate(parts):
        part.to_csv(f"{n_rows}.csv", index=False, header=not place, mode="a" if place else "w")
    whole = pa.Table.from_pandas(pd.concat(parts), preserve_index=False)
    parquet.write_table(whole, f"{n_rows}.parquet", row_group_size=n_rows)
"""


def peak(*arguments):
    """Peak resident set size of a covey process, in MB, and its seconds."""
    started = time.perf_counter()
    child = subprocess.Popen([*COVEY, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"covey {' '.join(arguments)} failed")
    return usage.ru_maxrss / 1024, time.perf_counter() - started


def main(folder):
    os.chdir(folder)
    if not Path(f"{LONG}.parquet").exists():
        subprocess.run([sys.executable, "-c", MAKE, str(SHORT), str(LONG)], check=True)
    peak("fit", "train.csv", "--target", "y", "--effort", "fast", "--quiet")
    worst = 0.0
    for ending in ("csv", "parquet"):
        sizes = []
        for n_rows in (SHORT, LONG):
            size, seconds = peak(
                *("predict", "flock.covey", f"{n_rows}.{ending}", "--proba", "--quiet"),
                *("--out", f"answers.{ending}"),
            )
            sizes.append(size)
            print(f"{ending:8} {n_rows:10,} rows  {size:7.0f} MB  {seconds:6.1f} s", flush=True)
        worst = max(worst, sizes[1] / sizes[0] - 1)
    print(f"at most {100 * worst:+.1f} % for ten times the rows")
    return int(worst > 0.10)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(folder))
