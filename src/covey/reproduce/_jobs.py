"""Parts of the work: keyed by what they depend on, kept as files, shared among processes.

A part is a fixed set of runs, whatever the number of processes, so that results do not depend
on it. Its file is written whole or not at all, and a later call finds it there.
"""

from __future__ import annotations

import json
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
from covey.reproduce._progress import Progress

# The code that the numbers of every part depend on, beside the module that makes them: all of
# Algorithm 1 and the modules of `_core` that it shares with others. Files that no number depends
# on may be among them: too many parts are then made again, and never too few.
_SOURCES = (
    *("_core/*.py", "_core/algorithm1/*.py", "_validation.py", "datasets/_synthetic.py"),
    *("reproduce/_ensembles.py", "reproduce/_splits.py"),
)
# What counts besides where covey's default is fitted.
_SEARCH_SOURCES = ("*.py", "_core/**/*.py", "fusers/*.py", "members/*.py")
# Modules of this package that another one calls for its numbers.
_CALLED = {"_sparsity": ("_table2",)}
# Packages whose next version may give other numbers.
_PACKAGES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Task:
    """One part, whose results are filed under experiment, data set and condition."""

    experiment: str
    dataset: str
    condition: str
    # What makes them, as "module:name" inside `covey.reproduce`; called with the arguments
    # (numbers, texts and lists), it returns tuples (run, quantity, value).
    function: str
    arguments: dict = field(hash=False)
    cost: float = 1.0  # about how many seconds it takes: for the time left only
    data: str = ""  # a fingerprint of the table that it reads
    searches: bool = False  # whether it fits covey's default: all code of ensembles counts

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
            sources_digest(self.function.partition(":")[0], self.searches),
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
def sources_digest(module: str, searches: bool = False) -> str:
    """A fingerprint of the code that makes the numbers, and of the versions it runs on."""
    home = Path(covey.__file__).parent
    modules = (module, *_CALLED.get(module, ()))
    patterns = [*_SOURCES, *(f"reproduce/{name}.py" for name in modules)]
    patterns += _SEARCH_SOURCES if searches else ()
    paths = sorted({path for pattern in patterns for path in home.glob(pattern)})
    text = b"".join(path.read_bytes() for path in paths)
    versions = "|".join([covey.__version__, *map(version, _PACKAGES)])
    return sha256(versions.encode() + text).hexdigest()[:16]


def work(task: Task, path: Path) -> None:
    """Make one part and keep it; called in a process of its own."""
    from threadpoolctl import threadpool_limits

    module, _, name = task.function.partition(":")
    function = getattr(import_module(f"covey.reproduce.{module}"), name)
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
