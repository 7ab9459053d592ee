"""A process of its own for each fit, with a limit for every phase of it."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 300.0
# Making the largest table takes some seconds; more than this is a fault.
PREPARATION = 600.0
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def environment():
    """This process's environment without limits of threads, as most users have it."""
    return {name: value for name, value in os.environ.items() if name not in THREADS}


def read(path):
    """The current phase, and all that was measured."""
    phase, line = "preparation", {}
    # A last line without its end is still being written.
    for text in path.read_text().splitlines(keepends=True) if path.exists() else ():
        if text.endswith("\n"):
            line |= json.loads(text)
            phase = line.pop("phase", phase)
    return phase, line


def watched(command, path, limit):
    """Run a command that reports to ``path``; a phase beyond its limit ends it.

    Returns what it measured, with ``error`` in words where it did not end by itself.
    """
    child = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
    phase, since = "preparation", time.perf_counter()
    try:
        while child.poll() is None:
            time.sleep(0.02)
            now, _ = read(path)
            if now != phase:
                phase, since = now, time.perf_counter()
            allowed = PREPARATION if phase == "preparation" else limit
            if time.perf_counter() - since > allowed:
                child.kill()
                child.wait()
                # What was written in the meantime counts.
                phase, line = read(path)
                if phase == "end":
                    return {"error": ""} | line
                return line | {"error": did_not_end(phase, allowed)}
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    phase, line = read(path)
    if phase != "end" and "error" not in line:
        line["error"] = f"{phase} ended with status {child.returncode}"
    return {"error": ""} | line


def did_not_end(phase, limit):
    return f"{phase} did not end in {limit:g} s"


def fit(table, method, repeat, limit=LIMIT, fit_only=False, before=()):
    """What one fit measured; ``before`` is a command that starts it, such as taskset."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured"
        command = [*before, sys.executable, "-m", "benchmarks.scale.worker"]
        command += [table, method, str(repeat), str(path)]
        return watched(command + ["--fit-only"] * fit_only, path, limit)
