"""What saving, loading and predicting from a file cost.

    python benchmarks/files.py

prints, for some models, the size of the file and the least time of several saves and loads, beside
those of joblib and of skops (which was covey's format before it had one of its own), and the
processor time of ``covey predict`` on a small table, imports included. Formats take turns, and the
processor time of a save is printed too, since on a busy machine a save that waits for the disk
waits for a core as well. Files of covey are checked when they are loaded, read once more when they
are saved, and are on the disk before their name is; the others do none of that.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_classification

import covey

REPEATS = 25


def models():
    """Fitted models by name, and rows for each."""
    X, y = make_classification(2_000, 30, n_informative=12, random_state=0)
    wide, labels = make_classification(400, 2_000, n_informative=30, random_state=0)
    n_rows = 2_000
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n_rows),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n_rows),
            "note": [f"word{n % 300} and {n % 17} more {n % 7}" for n in range(n_rows)],
            "day": pd.date_range("2024-01-01", periods=n_rows, freq="7h").astype(str),
        }
    )
    ill = np.where(table["age"] + 9 * (table["town"] == "Rome") > 53, "ill", "well")
    fast = covey.FlockClassifier(effort="fast", random_state=0)
    return {
        "flock, 30 columns": fast.fit(X, y),
        "subset ensemble, 2,000 columns": covey.SubsetEnsembleClassifier(
            10, max_iter=30, random_state=0
        ).fit(wide, labels),
        "knora_e, 2,000 rows": covey.SubsetEnsembleClassifier(
            10, fuser="knora_e", validation_fraction=0.5, max_iter=30, random_state=0
        ).fit(X, y),
        "table": clone(fast).fit(table, ill),
    }, table


def least_times(functions):
    """The least of several times of each function, and of processor times, in milliseconds.

    The functions take turns, so that all of them meet the same moments of a busy machine.
    """
    taken = np.full((len(functions), REPEATS, 2), np.inf)
    for turn in range(REPEATS):
        for number, function in enumerate(functions):
            began = time.perf_counter(), time.process_time()
            function()
            taken[number, turn] = time.perf_counter() - began[0], time.process_time() - began[1]
    return 1e3 * taken.min(axis=1)


def save_by_skops(model, path):
    """What covey did before."""
    skops.io.dump(model, path)


def load_by_skops(path):
    """What covey did before, but for the list of types that it trusted."""
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


FORMATS = {
    "covey": (covey.save, covey.load),
    "joblib": (joblib.dump, joblib.load),
    "skops": (save_by_skops, load_by_skops),
}


def predict_cost(model, table, folder):
    """The processor seconds of one command, the least of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "covey", "predict", model, table, "--out", "answers.csv"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main():
    """Measure and print."""
    warnings.simplefilter("ignore")
    fitted, table = models()
    columns = ("bytes", "save, ms", "its CPU", "load, ms", "its CPU")
    print(f"{'model':32}{'':8}" + "".join(f"{column:>10}" for column in columns))
    with tempfile.TemporaryDirectory() as folder:
        for name, model in fitted.items():
            paths = {kind: Path(folder) / f"model.{kind}" for kind in FORMATS}
            saves = [partial(FORMATS[kind][0], model, path) for kind, path in paths.items()]
            loads = [partial(FORMATS[kind][1], path) for kind, path in paths.items()]
            costs = np.hstack([least_times(saves), least_times(loads)])
            for (kind, path), cost in zip(paths.items(), costs, strict=True):
                times = "".join(f"{one:10.1f}" for one in cost)
                print(f"{name:32}{kind:8}{os.path.getsize(path):10,}{times}")
                name = ""
        table.head(200).to_csv(Path(folder) / "table.csv", index=False)
        cost = predict_cost("model.covey", "table.csv", folder)
        print(f"covey predict, 200 rows: {cost:.2f} s of processor time")


if __name__ == "__main__":
    main()
