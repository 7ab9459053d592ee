"""Fits on a machine that does other work too: ``make bench-busy``.

The same fit alone, beside one and two busy processes, and on less of the machine than it seems to
have. Conditions take turns. Writes one line of results.csv for each fit and goes on after an
interruption; ``report.py`` reads it. Nothing else may run meanwhile.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import load_wine

from benchmarks import fits
from benchmarks.busy.conditions import CONDITIONS, UnavailableError
from benchmarks.scale import methods, process
from benchmarks.scale.worker import machine_seconds

HERE = Path(__file__).parent
KEYS = ("task", "method", "condition", "repeat")
MEASURES = ("fit_seconds", "cpu_seconds", "others_seconds", "error")
REPEATS = 5
COMMAND = "covey fit wine.csv"
TABLES = ("wine", "breast_cancer", "1000x30x2")
METHODS = (methods.COVEY, methods.LIGHTGBM, methods.MLP)
# The command is a whole process of covey's, start and held-out rows included.
TASKS = {**dict.fromkeys(TABLES, METHODS), COMMAND: (methods.COVEY,)}
QUICK = ("wine", COMMAND)


def command(repeat, limit, before):
    """Seconds of ``covey fit`` of a small file, from its start to its end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load_wine(as_frame=True).frame.to_csv(folder / "wine.csv", index=False)
        words = [*before, sys.executable, "-m", "covey", "fit", str(folder / "wine.csv")]
        words += ["--target", "target", "--model", str(folder / "flock.covey")]
        words += ["--seed", str(repeat), "--quiet"]
        everyone, cpu, started = machine_seconds(), _cpu_of_children(), time.perf_counter()
        try:
            done = subprocess.run(
                words,
                env=process.environment(),
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": process.did_not_end("fit", limit)}
        line = {
            "fit_seconds": time.perf_counter() - started,
            "cpu_seconds": _cpu_of_children() - cpu,
        }
        if everyone is not None:
            line["others_seconds"] = max(0.0, machine_seconds() - everyone - line["cpu_seconds"])
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    return line | {"error": ""}


def _cpu_of_children():
    """Processor seconds of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one(limit, task, method, condition, repeat):
    try:
        with CONDITIONS[condition]() as before:
            if task == COMMAND:
                line = command(repeat, limit, before)
            else:
                line = process.fit(task, method, repeat, limit, fit_only=True, before=before)
    except UnavailableError as reason:
        line = {"error": f"not available: {reason}"}
    said = line["error"] or f"{line['fit_seconds']:.3g} s"
    print(f"{task}, {method}, {condition}, {repeat}: {said}", flush=True)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)}, once")
    parser.add_argument("--repeats", type=int, help=f"{REPEATS}, quick 1")
    parser.add_argument("--limit", type=float, default=process.LIMIT, help="seconds of a fit")
    parser.add_argument("--tasks", nargs="*", choices=TASKS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    repeats = arguments.repeats or (1 if arguments.quick else REPEATS)
    tasks = arguments.tasks or (QUICK if arguments.quick else TASKS)
    out = arguments.out or HERE / ("quick/results.csv" if arguments.quick else "results.csv")
    out.parent.mkdir(exist_ok=True)
    wanted = [
        (task, method, condition, repeat)
        for repeat in range(repeats)
        for task in tasks
        for method in TASKS[task]
        for condition in CONDITIONS
    ]

    def function(*key):
        return one(arguments.limit, *key)

    fits.fill(out, KEYS, MEASURES, function, wanted)


if __name__ == "__main__":
    main()
