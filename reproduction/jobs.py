"""The options of a call, and the parts of its work: kept as files, shared among processes.

A part is a fixed set of runs, whatever the number of processes, so that results do not depend
on it. Its file is written whole or not at all, and a later call finds it there.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import covey
from covey._files import write_file
from reproduction.data import load
from reproduction.ensembles import Constants


@dataclass(frozen=True)
class Options:
    """The command line, checked."""

    runs: int = 100  # training sets or splits of each case of Figure 1 and Table 2
    quick: bool = False  # fewer sizes, settings and cases
    seed: int = 0
    iemocap: str | None = None  # a user's table of IEMOCAP features
    speech: tuple[str, ...] = ()  # tables that stand in for it

    # Splits of a setting of the grid; for the speech tables, which cost more, and for covey's
    # default, a fit of which takes seconds. Runs of a case of the sparsity study.
    @property
    def calibration_runs(self) -> int:
        return min(self.runs, 5 if self.quick else 10)

    @property
    def speech_calibration_runs(self) -> int:
        return min(self.runs, 5)

    @property
    def default_runs(self) -> int:
        return min(self.runs, 2 if self.quick else 20)

    @property
    def sparsity_runs(self) -> int:
        return min(self.runs, 10 if self.quick else 40)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each class in Figure 1."""
        return (3, 10, 50, 200) if self.quick else (3, 5, 10, 20, 50, 100, 200, 500)

    @property
    def grid(self) -> list[Constants]:
        """The settings of (thr, eta) that are tried; those of ``paper()`` among them."""
        thrs = (0.0, -0.002, -0.005) if self.quick else (0.0, -0.001, -0.002, -0.005, -0.01)
        etas = (0.5, 1.5) if self.quick else (0.15, 0.5, 1.5, 3.0)
        return [Constants(thr, eta) for thr in thrs for eta in etas]

    @property
    def sources(self) -> list[str]:
        """The tables, as `reproduction.data.load` takes them."""
        iemocap = [] if self.iemocap is None else [f"iemocap:{self.iemocap}"]
        return ["abalone", "segment", *iemocap, *(f"speech:{path}" for path in self.speech)]

    def splits(self) -> list[tuple[str, str]]:
        """Pairs of source and way to split: speech also by speaker, where speakers are known."""
        pairs = []
        for source in self.sources:
            pairs.append((source, "random"))
            if load(source).speakers is not None:
                pairs.append((source, "speaker"))
        return pairs


# Packages whose next version may give other numbers.
_PACKAGES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Task:
    """One part, whose results are filed under experiment, data set and condition."""

    experiment: str
    dataset: str
    condition: str
    # What makes them, as "module:name" inside this package; called with the arguments
    # (numbers, texts and lists), it returns tuples (run, quantity, value).
    function: str
    arguments: dict = field(hash=False)
    cost: float = 1.0  # about how many seconds it takes: for the time left only
    data: str = ""  # a fingerprint of the table that it reads

    @property
    def key(self) -> str:
        # A table is identified by its content, wherever its file is.
        arguments = {name: value for name, value in self.arguments.items() if name != "source"}
        parts = [
            self.experiment,
            self.dataset,
            self.condition,
            self.function,
            arguments,
            self.data,
            sources_digest(),
        ]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]

    def path(self, folder: Path) -> Path:
        return Path(folder) / f"{self.experiment}-{self.key}.json"


def chunks(runs: int, size: int) -> list[list[int]]:
    """Lists of run numbers, ``size`` at a time.

    >>> chunks(5, 2)
    [[0, 1], [2, 3], [4]]
    """
    return [list(range(start, min(start + size, runs))) for start in range(0, runs, size)]


def in_chunks(
    *case: str, runs: int, at_once: int, cost: float, arguments: dict, **more: Any
) -> list[Task]:
    """Parts of so many runs each; ``case`` and ``more`` are those of `Task`, ``cost`` a run's."""
    return [
        Task(*case, {**arguments, "runs": some}, cost=cost * len(some), **more)
        for some in chunks(runs, at_once)
    ]


@lru_cache
def sources_digest() -> str:
    """A fingerprint of the code that makes the numbers, and of the versions it runs on.

    It is that of all code here and in covey: too many parts are made again, and never too few.
    """
    homes = Path(covey.__file__).parent, Path(__file__).parent
    paths = [path for home in homes for path in sorted(home.rglob("*.py"))]
    text = b"".join(path.read_bytes() for path in paths)
    versions = "|".join([covey.__version__, *map(version, _PACKAGES)])
    return sha256(versions.encode() + text).hexdigest()[:16]


def work(task: Task, path: Path) -> None:
    """Make one part and keep it; called in a process of its own."""
    from threadpoolctl import threadpool_limits

    module, _, name = task.function.partition(":")
    function = getattr(import_module(f"reproduction.{module}"), name)
    started, worked = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        rows = [
            (int(run), str(what), float(value)) for run, what, value in function(**task.arguments)
        ]
    part = {
        "experiment": task.experiment,
        "dataset": task.dataset,
        "condition": task.condition,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - worked,
        "rows": rows,
    }
    write_file(path, json.dumps(part))


def _read(path: Path) -> dict | None:
    try:
        part = json.loads(path.read_text())
        return part if isinstance(part["rows"], list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, or another file: the part is made again


def finish(tasks: list[Task], folder: Path, n_jobs: int, progress: Progress) -> list[dict]:
    """Make the parts that are missing in the folder, and read them all, in the tasks' order.

    The number of processes, ``n_jobs``, never changes a result.
    """
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    left = [task for task in tasks if _read(task.path(folder)) is None]
    # The longest first, so that no process is left alone with one at the end.
    left.sort(key=lambda task: -task.cost)
    progress.expect(tasks, left)
    if n_jobs == 1:
        for task in left:
            work(task, task.path(folder))
            progress.done(task)
    elif left:
        finished = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(
            delayed(work)(task, task.path(folder)) for task in left
        )
        for task, _ in zip(left, finished, strict=True):
            progress.done(task)
    return [_read(task.path(folder)) for task in tasks]


_SECONDS_BETWEEN_LINES = 30.0


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> duration(42.2), duration(754), duration(7300)
    ('42 s', '13 min', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Prints what is done and how long the rest will take, from the costs of the parts."""

    def __init__(self, stream: Any = None):
        self._stream = sys.stderr if stream is None else stream
        self._moves = self._stream.isatty()
        self._width = 0

    def expect(self, tasks: list, left: list) -> None:
        """Start over with these parts, some of which are left to do."""
        self._total, self._done = len(tasks), len(tasks) - len(left)
        self._cost_left = sum(task.cost for task in left)
        self._cost_done = 0.0
        self._started = self._said = time.monotonic()
        if left and self._done:
            self.line(f"{self._done} of {self._total} parts are there already")
        elif left:
            self.line(f"{self._total} parts to do")

    def done(self, task: Any) -> None:
        """One more part is finished."""
        self._done += 1
        self._cost_done += task.cost
        self._cost_left -= task.cost
        now = time.monotonic()
        last = self._done == self._total
        if not (self._moves or last or now - self._said > _SECONDS_BETWEEN_LINES):
            return
        self._said = now
        elapsed = now - self._started
        text = f"{self._done} of {self._total} parts, {duration(elapsed)}"
        if not last:
            left = elapsed * self._cost_left / self._cost_done
            text += f", about {duration(left)} left ({task.experiment})"
        self.line(text, over=self._moves, end="\n" if last or not self._moves else "")

    def line(self, text: str, over: bool = False, end: str = "\n") -> None:
        """A line of its own, or one that replaces the line before."""
        text = f"[reproduction] {text}"
        if over:
            padded = text.ljust(self._width)
            self._width = len(text) if not end else 0
            text = "\r" + padded
        print(text, end=end, file=self._stream, flush=True)
