"""Tables x systems that search by themselves, the same seconds for each: ``make bench-automl``.

Every fit is a process of its own, those of the rivals in an environment of their own. Writes one
line of results.csv for each fit and goes on after an interruption; ``report.py`` reads it. Needs
quiet cores: every system uses all of them.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks import fits
from benchmarks.accuracy import problems
from benchmarks.automl import worker

HERE = Path(__file__).parent
KEYS = ("problem", "method", "split")
MEASURES = (*fits.MEASURES, "size")
# The smaller ones of the accuracy benchmark, and long ones with all of their rows.
LONG = ("spambase", "satimage", "penbased", "magic", "letter")
GENERATED = "50,000 generated rows"
SECONDS = 30
# Systems may overrun their time; one that does not end at all is stopped.
PATIENCE = 10


def tables():
    return [*problems.QUICK, *LONG, GENERATED]


def load(name):
    if name == GENERATED:
        return make_classification(
            50_000, 30, n_informative=12, n_clusters_per_class=4, flip_y=0.05, random_state=0
        )
    problems.MAX_ROWS = 50_000 if name in LONG else 5_000
    return problems.load(name)


class Fits:
    def __init__(self, rivals, seconds):
        self.rivals, self.seconds = rivals, seconds

    def __call__(self, problem, method, number):
        X, y = load(problem)
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=0.25, stratify=y, random_state=number
        )
        python = sys.executable if method.startswith("covey") else self.rivals
        with tempfile.TemporaryDirectory() as folder:
            given, out = Path(folder, "table.npz"), Path(folder, "predicted.npz")
            np.savez(given, X=X, y=y, X_test=X_test)
            command = [python, worker.__file__, method, str(self.seconds), given, out]
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE * self.seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return {"error": f"did not end in {PATIENCE * self.seconds} s"}
            if done.returncode:
                return {"error": (done.stderr.strip().splitlines() or ["no word"])[-1][:200]}
            with np.load(out) as found:
                line = {name: found[name] for name in found.files}
        probabilities = line.pop("probabilities")
        line = {name: float(value) for name, value in line.items()} | {"error": ""}
        line |= fits.scores(probabilities, probabilities.argmax(axis=1), y, y_test)
        print(
            f"{problem}, {method}: {line['fit_seconds']:.1f} s, log-loss {line['log_loss']:.4f}",
            flush=True,
        )
        return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rivals", help="the Python of the rivals' environment")
    parser.add_argument("--problems", nargs="*", default=tables())
    parser.add_argument("--methods", nargs="*", default=list(worker.METHODS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [
        (problem, method, number)
        for problem in arguments.problems
        for number in range(arguments.splits)
        for method in arguments.methods
    ]
    # Fits run in folders of their own. A link is not followed: it leads out of the environment.
    one = Fits(Path(arguments.rivals).absolute(), arguments.seconds)
    fits.fill(arguments.out, KEYS, MEASURES, one, wanted)


if __name__ == "__main__":
    main()
