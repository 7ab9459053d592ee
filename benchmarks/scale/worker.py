"""One fit, in the process that this module is: ``python -m benchmarks.scale.worker``.

Appends a line of JSON to a file at the start of each phase and for what it measured, so that the
parent knows how long a phase has taken and keeps what was measured before a limit ended it.
"""

import argparse
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks import fits
from benchmarks.scale import methods, tables

MIB = 2**20
ONE_ROW_CALLS = 20


def status(name):
    """A number of this process's status, in bytes; None where the system does not tell."""
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    for text in path.read_text().splitlines():
        if text.startswith(name + ":"):
            return 1024 * int(text.split()[1])
    return None


def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return status("VmHWM") or unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak():
    """Let the peak begin here, so that making the table does not hide a fit's memory."""
    path = Path("/proc/self/clear_refs")
    if os.access(path, os.W_OK):
        path.write_text("5")


def cpu_seconds():
    return sum(os.times()[:4])


def machine_seconds():
    """Processor seconds of everything that runs on this machine; None where it does not tell."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _idle, _wait, *interrupts = path.read_text().split("\n")[0].split()[1:9]
    return sum(map(int, (user, nice, system, *interrupts))) / os.sysconf("SC_CLK_TCK")


def warm(method):
    """Load the code and start the threads of a method, which a process does once."""
    X = np.random.default_rng(0).standard_normal((60, 5))
    y = np.arange(60) % 3
    methods.make(method, 0).fit(X, y).predict_proba(X)


def fitted(model, X, y):
    """Seconds, processor seconds, MiB beyond what the process had, and what others used."""
    forget_peak()
    before = status("VmRSS") or peak()
    everyone, cpu, started = machine_seconds(), cpu_seconds(), time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    line = {
        "fit_seconds": seconds,
        "cpu_seconds": cpu_seconds() - cpu,
        "peak_mib": max(0, peak() - before) / MIB,
    }
    if everyone is not None:
        line["others_seconds"] = max(0.0, machine_seconds() - everyone - line["cpu_seconds"])
    return line


def predicted(model, X, y, n_train_classes):
    """Scores, and seconds of a prediction of all test rows and of one alone."""
    started = time.perf_counter()
    probabilities = np.asarray(model.predict_proba(X), dtype=float)
    batch = time.perf_counter() - started
    taken = []
    for row in range(ONE_ROW_CALLS):
        started = time.perf_counter()
        model.predict_proba(X[row : row + 1])
        taken.append(time.perf_counter() - started)
    decisions = np.asarray(model.predict(X)).ravel()
    scores = fits.scores(probabilities, decisions, np.arange(n_train_classes), y)
    return {
        "accuracy": float(scores["accuracy"]),
        "log_loss": float(scores["log_loss"]),
        "predict_seconds_a_row": batch / len(X),
        "predict_seconds_alone": float(np.median(taken)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("method")
    parser.add_argument("repeat", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fit-only", action="store_true")
    arguments = parser.parse_args()

    def say(**line):
        with arguments.out.open("a") as file:
            file.write(json.dumps(line) + "\n")

    warnings.simplefilter("ignore")
    try:
        X, y = tables.train(arguments.table, arguments.repeat)
        model = methods.make(arguments.method, arguments.repeat)
        warm(arguments.method)
        say(phase="fit")
        say(**fitted(model, X, y))
        if not arguments.fit_only:
            n_classes = int(y.max()) + 1
            X, y = tables.held_out(arguments.table, arguments.repeat)
            say(phase="prediction")
            say(**predicted(model, X, y, n_classes))
        say(phase="end")
    except Exception as error:
        say(error=fits.failure(error))


if __name__ == "__main__":
    main()
