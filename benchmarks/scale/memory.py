"""The memory of a fit of a long table, wherever it lies: ``python -m benchmarks.scale.memory``.

Fits 300,000 rows of 30 columns as an array, as an array that is mapped from a file, and by
``covey fit`` of a Parquet file, each in a process of its own, and prints the most resident memory
beyond what the process has before: an array that has the table (a mapped one is counted as far as
it is read), a command that has loaded its code and fitted 300 rows. The bound is 1.5 times the
table and 200 MiB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.scale import tables, worker

NAME = "300000x30x2"
MIB = 2**20


def write(folder, n_rows):
    """The table as an array, and as a Parquet file with a column more, the target."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    X, y = tables.train(NAME, 0)
    X, y = X[:n_rows], y[:n_rows]
    if n_rows == tables.shape(NAME)[0]:
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    answers = np.where(y > 0, "yes", "no")
    parquet.write_table(pa.table({**columns, "y": answers}), folder / f"{n_rows}.parquet")


def fit_array(folder, mapped):
    """MiB beyond the table of a fit of an array, in this process."""
    import numpy as np

    from covey import FlockClassifier

    X = np.load(folder / "X.npy", mmap_mode="r" if mapped else None)
    y = np.load(folder / "y.npy")
    worker.warm("covey")
    return worker.fitted(FlockClassifier(random_state=0), X, y)["peak_mib"]


def resident(*command):
    """The most resident memory of a command, in MiB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024


def own_process(*arguments):
    command = [sys.executable, "-m", "benchmarks.scale.memory", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def command_on(folder, n_rows):
    table, model = folder / f"{n_rows}.parquet", folder / f"{n_rows}.covey"
    covey = [sys.executable, "-m", "covey", "fit", str(table), "--target", "y"]
    return resident(*covey, "--model", str(model), "--quiet")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--array", choices=["loaded", "mapped"], help=argparse.SUPPRESS)
    how = parser.parse_args()
    if how.make:
        write(how.folder, how.make)
        return
    if how.array:
        print(fit_array(how.folder, how.array == "mapped"))
        return
    n_rows, n_columns, _ = tables.shape(NAME)
    size = 8 * n_rows * n_columns / MIB
    bound = 1.5 * size + 200
    print(f"{NAME}, {size:.0f} MiB; at most {bound:.0f} MiB beyond what there was before")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A child's peak is never below what its parent held: all work is in other processes.
        for rows in (300, n_rows):
            own_process("--folder", folder, "--make", rows)
        for way in ("loaded", "mapped"):
            taken = float(own_process("--folder", folder, "--array", way))
            print(f"{f'array, {way}':24s}{taken:6.0f} MiB", flush=True)
        before, whole = (command_on(folder, rows) for rows in (300, n_rows))
        print(f"{'covey fit of Parquet':24s}{whole - before:6.0f} MiB, of {whole:.0f} resident")


if __name__ == "__main__":
    main()
