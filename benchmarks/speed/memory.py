"""Peak memory of a fit, measured in a process of its own.

Run as a script it is that process: it loads what the parent wrote, fits, and prints how far its
peak rose. The peak is that of the process's own memory (VmHWM), where the system tells:
``ru_maxrss`` also knows the parent's, from which it was started.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import problems
from results import line
from scipy import sparse
from timing import cores

MIB = 2**20
MORE = 1.5  # times the arrays of a step
DENSE_TARGET = 0.1  # of what sparse X would take if it were dense
N_RUNS = 50
FULL = ("400000x50x3", "2000x10000x2", problems.WIDEST, problems.GENES, problems.TEXT)
QUICK = ("80000x50x3", problems.WIDEST, problems.SMALLER[problems.TEXT])


# -- in the child --------------------------------------------------------------------------------


def _status(name):
    """A line of this process's status, in bytes; None where there is none."""
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    for text in path.read_text().splitlines():
        if text.startswith(name + ":"):
            return 1024 * int(text.split()[1])
    return None


def _peak():
    peak = _status("VmHWM")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _forget_peak():
    """Let the peak start from here, so that loading does not hide a fit's."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _load(folder):
    parts = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    if "data" in parts:
        csr = (parts["data"], parts["indices"], parts["indptr"])
        return sparse.csr_matrix(csr, shape=tuple(parts["shape"])), parts["y"]
    return parts["X"], parts["y"]


def _fit(model, X, y):
    import stack

    import rivals

    if model == "stack":
        problem = problems.Problem("", X, y, None, None)
        return stack.grow(stack.design_of(problem), range(N_RUNS), 4, 0.01)
    made = {
        "printed": lambda: rivals.printed(2, 5),
        "flock": rivals.printed,
        "better": rivals.better_ascent,
        "bagging": rivals.bagged_logistic,
    }
    return made[model]().fit(X, y)


def child(model, folder):
    X, y = _load(folder)
    # What is loaded once and for all, code and BLAS's own buffers, is not a fit's.
    small = np.random.default_rng(0).standard_normal((60, 5))
    _fit("printed", small, np.arange(60) % 3)
    _forget_peak()
    before = _status("VmRSS") or _peak()
    _fit(model, X, y)
    print(json.dumps(max(0, _peak() - before)))


# -- in the parent -------------------------------------------------------------------------------


def peak_of(model, problem):
    """Bytes that fitting adds to a process that has X and y."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = problem.X
        parts = {"y": problem.y}
        if sparse.issparse(X):
            parts |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            parts["shape"] = np.array(X.shape)
        else:
            parts["X"] = X
        for part, array in parts.items():
            np.save(folder / f"{part}.npy", array)
        command = [sys.executable, __file__, model, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"fitting {model} on {problem.name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _allowed(problem, n_runs):
    """One copy of X, and 1.5 times logits and residuals of a step and of its flipped candidate."""
    n_rows = problem.X.shape[0]
    return problem.n_bytes + MORE * 2 * problem.n_classes * n_runs * n_rows * 8 * 2


def _row(problem, ours, other, peak, against, target=None):
    return line(
        "memory",
        problem.name,
        ours,
        other,
        threads=cores(),
        target=target,
        our_cost=peak / MIB,
        other_cost=against / MIB,
        unit="MiB",
        rounds=1,
    )


def memory(options):
    for name in QUICK if options.quick else FULL:
        problem = problems.make(name)
        peak = peak_of("printed", problem)
        allowed = _allowed(problem, 1)
        yield _row(problem, "paper()", "X and 1.5 x a step's arrays", peak, allowed, 1.0)
        if sparse.issparse(problem.X):
            dense = 8 * problem.X.shape[0] * problem.X.shape[1]
            yield _row(problem, "paper()", "X if it were dense", peak, dense, DENSE_TARGET)
    problem = problems.load(problems.WIDEST)
    peak, allowed = peak_of("stack", problem), _allowed(problem, N_RUNS)
    ours = f"a stack of {N_RUNS} runs"
    yield _row(problem, ours, "X and 1.5 x a step's arrays", peak, allowed, 1.0)
    if not options.quick:
        bagging = peak_of("bagging", problem)
        for model, ours in (("flock", "paper(), 20 members"), ("better", "better ascent")):
            other = "bagged logistic regression, n_jobs 1"
            yield _row(problem, ours, other, peak_of(model, problem), bagging)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    child(arguments.model, arguments.folder)
