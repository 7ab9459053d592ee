"""Parts of the work: keyed by what they depend on, kept as files, shared among processes.

A part is a fixed set of runs, whatever the number of processes, so that results do not depend
on it. Its file is written whole or not at all, and a later call finds it there.
"""

import json
import time
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import covey
from covey._files import write_file

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
    """One part.

    Attributes
    ----------
    experiment, dataset, condition : str
        What its results are filed under.
    function : str
        Who makes them, as "module:name" inside `covey.reproduce`; called with ``arguments``, it
        returns tuples (run, quantity, value).
    arguments : dict
        Numbers, texts and lists.
    cost : float
        About how many seconds it takes: for the time left only.
    data : str
        A fingerprint of the table that it reads.
    searches : bool
        Whether it fits covey's default, so that all code of ensembles counts.
    """

    experiment: str
    dataset: str
    condition: str
    function: str
    arguments: dict = field(hash=False)
    cost: float = 1.0
    data: str = ""
    searches: bool = False

    @property
    def key(self):
        # A table is known by its content, wherever it lies.
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

    def path(self, folder):
        return Path(folder) / f"{self.experiment}-{self.key}.json"


@lru_cache
def sources_digest(module, searches=False):
    """A fingerprint of the code that makes the numbers, and of the versions it runs on."""
    home = Path(covey.__file__).parent
    modules = (module, *_CALLED.get(module, ()))
    patterns = [*_SOURCES, *(f"reproduce/{name}.py" for name in modules)]
    patterns += _SEARCH_SOURCES if searches else ()
    paths = sorted({path for pattern in patterns for path in home.glob(pattern)})
    text = b"".join(path.read_bytes() for path in paths)
    versions = "|".join([covey.__version__, *map(version, _PACKAGES)])
    return sha256(versions.encode() + text).hexdigest()[:16]


def work(task, path):
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


def _read(path):
    try:
        part = json.loads(path.read_text())
        return part if isinstance(part["rows"], list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, or not ours: made again


def finish(tasks, folder, n_jobs, progress):
    """Make the parts that are not there yet, and read them all.

    Parameters
    ----------
    tasks : list of Task
    folder : Path
        Where the parts are kept.
    n_jobs : int
        How many processes; it never changes a result.
    progress : Progress

    Returns
    -------
    parts : list of dict
        In the order of the tasks.
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
