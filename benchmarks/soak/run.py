"""Millions of rows through ``covey predict``: is any lost or wrong, and does memory grow?

    python -m benchmarks.soak.run --rows 10000000

fits a small flock, pipes generated rows of mixed kinds through one ``covey predict`` process and
reads its answers as they come. Every row has a number, which must come back in order, and the
prediction that the model gives for the same row in memory. The resident memory of the process is
read twice a second; the run ends with 1 if a row is wrong, or if the last fifth of the run takes
over 5 % more memory than the second fifth.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

import covey

# Rows that differ; they come again and again, with other numbers.
N_DIFFERENT = 20_000
BLOCK = 5_000
COVEY = [sys.executable, "-m", "covey"]


def make_table(n_rows, seed):
    """Numbers with gaps, categories, dates and a class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8)).round(4)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    table.loc[rng.random(n_rows) < 0.05, "x3"] = np.nan
    table["town"] = rng.choice(["Rome", "Oslo", "Bath"], n_rows)
    table["day"] = pd.date_range("2024-01-01", periods=n_rows, freq="h").strftime("%Y-%m-%d")
    table["y"] = np.where(X[:, 0] + X[:, 1] * X[:, 2] + (table["town"] == "Oslo") > 0, "yes", "no")
    return table


class Memory(threading.Thread):
    """Reads the resident memory of a process, in MB, twice a second, and what is done by then."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self._status = Path(f"/proc/{pid}/status")
        self.n_rows, self.seen = 0, []

    def run(self):
        """Until the process is gone."""
        while True:
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            known = [line for line in lines if line.startswith("VmRSS")]
            if not known:
                return
            self.seen.append((self.n_rows, int(known[0].split()[1]) / 1024))
            time.sleep(0.5)

    def most(self, first, last):
        """The most that was seen between two numbers of rows."""
        return max((size for rows, size in self.seen if first <= rows <= last), default=np.nan)


def send(pipe, header, lines, n_rows):
    """Write so many numbered rows."""
    with pipe:
        pipe.write(f"number,{header}\n")
        for start in range(0, n_rows, BLOCK):
            stop = min(start + BLOCK, n_rows)
            rows = (f"{k},{lines[k % N_DIFFERENT]}\n" for k in range(start, stop))
            pipe.write("".join(rows))


def receive(pipe, expected, memory):
    """Read the answers; the number of rows, and what is wrong with the first that is."""
    if pipe.readline() != "number,prediction\n":
        return 0, "the header is another"
    count = 0
    for line in pipe:
        if line != f"{count},{expected[count % N_DIFFERENT]}\n":
            return count, f"row {count} is {line!r}"
        count += 1
        memory.n_rows = count
    return count, None


def main():
    """Fit, pipe, read and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        make_table(2_000, 0).to_csv(f"{folder}/train.csv", index=False)
        fit = [*COVEY, "fit", "train.csv", "--target", "y", "--effort", "fast", "--quiet"]
        subprocess.run(fit, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        table = make_table(N_DIFFERENT, 1).drop(columns="y")
        expected = covey.load(f"{folder}/flock.covey").predict(table).tolist()
        header, *lines = table.to_csv(index=False).splitlines()
        started = time.perf_counter()
        child = subprocess.Popen(
            [*COVEY, "predict", "flock.covey", "-", "--copy", "number", "--quiet"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        memory = Memory(child.pid)
        memory.start()
        writer = threading.Thread(target=send, args=(child.stdin, header, lines, n_rows))
        writer.start()
        count, wrong = receive(child.stdout, expected, memory)
        if wrong is not None:
            child.kill()
        writer.join()
        status = child.wait()
        taken = time.perf_counter() - started
    parts = [memory.most(k * n_rows / 5, (k + 1) * n_rows / 5) for k in range(5)]
    print(f"{count:,} of {n_rows:,} rows in {taken:.0f} s, in order and as in memory")
    print("most memory in each fifth of the rows, MB: " + ", ".join(f"{x:.0f}" for x in parts))
    if wrong is not None or count != n_rows or status:
        sys.exit(f"wrong: {wrong or f'{count} rows came back'}; exit {status}")
    if not parts[4] <= 1.05 * parts[1]:
        sys.exit("the memory grows")


if __name__ == "__main__":
    main()
