"""How things are timed against each other: in turns, on one machine, medians of the rounds."""

import os
import platform
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info, threadpool_limits

# OpenBLAS's workers go on spinning for some 30 ms after a product and hold a core that what is
# timed next may need. Where anything compared uses other threads or processes, all wait.
SETTLE = 0.1


# -- where ---------------------------------------------------------------------------------------


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def thread_counts():
    return sorted({1, cores()})


def blas_threads():
    found = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    return max(found, default=1)


@cache
def machine():
    """Processor, linear algebra and versions, in one line; stands beside every result."""
    import covey

    model = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        names = [ln for ln in described.read_text().splitlines() if ln.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    blas = sorted(
        {
            f"{info['internal_api']} {info['version']} ({info.get('architecture', '')})"
            for info in threadpool_info()
            if info["user_api"] == "blas"
        }
    )
    packages = (np, scipy, sklearn, joblib, covey)
    versions = ", ".join(f"{package.__name__} {package.__version__}" for package in packages)
    return (
        f"{model}, {cores()} cores, at most {blas_threads()} BLAS threads; {' and '.join(blas)}; "
        f"Python {platform.python_version()}, {versions}"
    )


# -- settings ------------------------------------------------------------------------------------


@contextmanager
def blas(threads):
    """Products of this process on so many threads."""
    with threadpool_limits(threads, user_api="blas"):
        yield


@contextmanager
def workers(jobs, threads):
    """``jobs`` worker processes, each with so many threads; started before the clock is."""
    if jobs == 1:
        with blas(threads):
            yield
        return
    with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=threads):
        # Importing scikit-learn is most of a worker's start.
        joblib.Parallel()(joblib.delayed(_import_in_worker)() for _ in range(4 * jobs))
        yield


def _import_in_worker():
    import sklearn.ensemble
    import sklearn.model_selection
    import sklearn.svm

    time.sleep(0.02)  # else one worker takes all of these
    return sklearn.ensemble.__name__, sklearn.model_selection.__name__, sklearn.svm.__name__


# -- the race ------------------------------------------------------------------------------------


@dataclass
class Timing:
    """What a race found of one entry: its fastest setting, and the median of its seconds there.

    ``value`` is what its last call gave, to take accuracies from.
    """

    seconds: float
    setting: str
    rounds: int
    value: Any = None


# An entry of a race is a dict: what runs and in which context, by the name of the setting.


def plain(run, setting):
    """An entry that has one setting, and sets it itself."""
    return {setting: (run, nullcontext)}


def with_threads(run, threads):
    return {f"BLAS {threads}": (run, partial(blas, threads))}


def on_threads(run):
    """An entry that may use one BLAS thread or all."""
    return {f"BLAS {n}": (run, partial(blas, n)) for n in thread_counts()}


def on_workers(make, all_jobs):
    """An entry with its number of processes, and of BLAS threads in each, to be found.

    ``make(jobs)`` gives what runs on so many processes, one of ``all_jobs``.
    """
    return {
        f"n_jobs {jobs}, BLAS {threads}": (make(jobs), partial(workers, jobs, threads))
        for jobs in all_jobs
        for threads in thread_counts()
    }


def _timed(run, least):
    """Seconds of one call, or the mean of calls that together take ``least``."""
    n_calls, started = 0, time.perf_counter()
    while True:
        value = run()
        n_calls += 1
        passed = time.perf_counter() - started
        if passed >= least:
            return passed / n_calls, value


def race(entries, repeats, *, settle=0.0, least=0.0, warm=False, budget=np.inf):
    """Time entries in turns, A B C A B C, and take each one's median.

    All settings of an entry are tried in the first round; the fastest goes on.

    Parameters
    ----------
    entries : dict from str to entry
    repeats : int
        Rounds, at most.
    settle : float
        Seconds to wait before each timed call.
    least : float
        Seconds that a measurement takes at least; shorter calls are repeated, and the mean taken.
    warm : bool
        Whether everything runs once before anything is timed.
    budget : float
        Seconds that all rounds may take; there is always one.

    Returns
    -------
    timings : dict from str to Timing
    """
    going = {name: list(entry) for name, entry in entries.items()}
    seconds = {(name, setting): [] for name in entries for setting in entries[name]}
    values = {}

    def one_round():
        for name, settings in going.items():
            for setting in settings:
                run, context = entries[name][setting]
                with context():
                    time.sleep(settle)
                    taken, values[name] = _timed(run, least)
                seconds[name, setting].append(taken)

    if warm:
        one_round()
        for taken in seconds.values():
            taken.clear()
    started = time.perf_counter()
    for number in range(repeats):
        round_started = time.perf_counter()
        one_round()
        passed = time.perf_counter() - started
        last = time.perf_counter() - round_started
        if number == 0:
            last = 0.0
            for name, settings in going.items():
                going[name] = [min(settings, key=lambda s, name=name: seconds[name, s][0])]
                last += seconds[name, going[name][0]][0] + settle
        if passed + last > budget:
            break
    return {
        name: Timing(
            float(np.median(seconds[name, setting])),
            setting,
            len(seconds[name, setting]),
            values[name],
        )
        for name, [setting] in going.items()
    }
