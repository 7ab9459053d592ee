"""What was tried to make a step faster, and what came of it: the table of docs/speed.md.

    python benchmarks/speed/trials.py > benchmarks/speed/trials.txt

Needs two quiet cores; numba, which covey does not use, is tried if it is installed.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import problems
from problems import BUNDLED
from scipy.linalg.lapack import dpotrf, dpotri
from threadpoolctl import ThreadpoolController

import covey._core.algorithm1.rows as covey_rows
import covey._core.search.plan as covey_plan
from covey import FlockClassifier, SubsetEnsembleClassifier
from covey._core.algorithm1.rows import RowBlock, TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.arrays import Workspace
from covey._core.design import Design
from covey._core.softmax_linear import class_blocks, highest_and_right, objective_and_residual

CONTROLLER = ThreadpoolController()
# BLAS's threads go on spinning for a while after their last product, and steal a core.
SETTLE = 0.15


def median(function, repeats=9):
    """Milliseconds."""
    end = time.perf_counter() + SETTLE
    while time.perf_counter() < end:
        function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def table(n_rows, n_features, n_classes):
    rng = np.random.default_rng(0)
    counts = np.full(n_classes, n_rows // n_classes)
    counts[0] += n_rows - counts.sum()
    return rng.standard_normal((n_features, n_rows)), class_blocks(counts)


def ascent(n_steps=4):
    return TrainingSettings("auto", -np.inf, None, n_steps, 0.1, "greedy", 0.01, True)


def grower(rows, n_features, n_runs, p, n_steps):
    return StackTrainer(
        rows,
        ascent(n_steps),
        seed=0,
        runs=list(range(n_runs)),
        flip_probability=np.full(n_runs, p),
        unit_of_feature=np.arange(n_features),
        usable=np.ones(n_features, dtype=bool),
    )


def threads():
    """Two Python threads, each on half of the rows with one BLAS thread."""
    for n_rows, n_features, n_classes, n_runs in (
        (5498, 200, 4, 1),
        (5498, 200, 4, 50),
        (100_000, 100, 2, 1),
    ):
        columns, blocks = table(n_rows, n_features, n_classes)
        theta = 0.1 * np.random.default_rng(1).standard_normal((n_classes, n_runs, n_features))
        intercept, everyone = np.zeros((n_classes, n_runs)), np.arange(n_runs)
        nobody = everyone[:0]

        def block(rows, columns=columns, blocks=blocks, n_runs=n_runs):
            inside = tuple(
                slice(*(min(max(at, rows.start), rows.stop) - rows.start for at in ends))
                for ends in ((one.start, one.stop) for one in blocks)
            )
            design = Design(np.ascontiguousarray(columns[:, rows]))
            return RowBlock(design, inside, np.ones((n_runs, design.n_rows)), ascent())

        def step(part, theta=theta, intercept=intercept, everyone=everyone, nobody=nobody):
            part.evaluate(everyone, nobody, theta, intercept)
            part.slopes(None, None, nobody, None)

        whole = block(slice(0, n_rows))
        halves = [block(slice(0, n_rows // 2)), block(slice(n_rows // 2, n_rows))]
        one = median(lambda whole=whole, step=step: step(whole))
        with ThreadPoolExecutor(2) as pool, CONTROLLER.limit(limits=1):
            two = median(lambda halves=halves, step=step: list(pool.map(step, halves)))
        print(
            f"two Python threads, {n_rows} x {n_features} x {n_classes}, {n_runs} run(s): "
            f"{two / one:.2f} of BLAS's own two ({two:.2f} / {one:.2f} ms a step)",
            flush=True,
        )


def blocks_of_rows():
    for n_rows, n_features, n_classes, n_runs, n_steps in (
        (100_000, 100, 2, 50, 3),
        (400_000, 50, 3, 1, 8),
        (20_000, 20, 5, 20, 10),
    ):
        columns, blocks = table(n_rows, n_features, n_classes)
        weight = np.ones((n_runs, n_rows))
        kept = covey_rows._FEWEST_ROWS, covey_rows._MOST_ROWS, covey_rows._CACHED
        seconds = {}
        for at_once in (n_rows, 1 << 12, 1 << 15):
            covey_rows._FEWEST_ROWS = covey_rows._MOST_ROWS = at_once
            covey_rows._CACHED = 0
            rows = in_memory(Design(columns), blocks, weight, ascent(n_steps))
            trainer = grower(rows, n_features, n_runs, 0.01, n_steps)
            seconds[at_once] = median(trainer.grow, 3)
        covey_rows._FEWEST_ROWS, covey_rows._MOST_ROWS, covey_rows._CACHED = kept
        print(
            f"blocks of rows, {n_rows} x {n_features} x {n_classes}, {n_runs} run(s): "
            + ", ".join(
                f"{at_once} rows {seconds[at_once] / seconds[n_rows]:.2f}"
                for at_once in (1 << 12, 1 << 15)
            )
            + " of one block",
            flush=True,
        )


def memory_order():
    for n_lanes in (4, 8, 200):
        columns, _ = table(5498, 200, 4)
        rows = np.ascontiguousarray(columns.T)
        theta = np.random.default_rng(1).standard_normal((n_lanes, 200))
        residual = np.random.default_rng(2).standard_normal((n_lanes, 5498))
        last, back = np.ascontiguousarray(theta.T), np.ascontiguousarray(residual.T)
        first = median(lambda t=theta, c=columns, r=residual: (t @ c, r @ c.T), 50)
        other = median(lambda x=rows, t=last, r=back: (x @ t, x.T @ r), 50)
        print(
            f"features first, {n_lanes} lanes of 5498 x 200: {first / other:.2f} of rows first "
            f"({first:.3f} / {other:.3f} ms for both products)",
            flush=True,
        )


def precision():
    """The folds of a search in single and in double precision."""
    init = covey_plan.SearchPlan.__init__
    for name in ("2310x19x7", "digits"):
        problem = problems.make(name)
        found = {}
        for single in (True, False):

            def made(self, *args, single=single, **how):
                init(self, *args, **{**how, "single": single})

            covey_plan.SearchPlan.__init__ = made
            start = time.perf_counter()
            flock = FlockClassifier(random_state=0).fit(problem.X, problem.y)
            found[single] = time.perf_counter() - start, problem.accuracy(flock)
        covey_plan.SearchPlan.__init__ = init
        print(
            f"folds in single precision, {name}: {found[True][0]:.1f} s, accuracy "
            f"{found[True][1]:.4f}; in double {found[False][0]:.1f} s, {found[False][1]:.4f}",
            flush=True,
        )


def curvature():
    """Newton's steps against the gradient's, on columns that go together."""
    problem = problems.make(problems.WIDEST)
    for rate, steps in (("newton", 2), ("newton", 8), ("auto", 30), ("auto", 100)):
        flock = SubsetEnsembleClassifier(
            20,
            fuser="product",
            learning_rate=rate,
            max_iter=steps,
            tol=-np.inf,
            random_state=0,
        )
        start = time.perf_counter()
        flock.fit(problem.X, problem.y)
        taken = time.perf_counter() - start
        print(
            f"learning_rate={rate!r}, 20 members of {steps} steps, {problem.name}: {taken:.2f} s, "
            f"accuracy {problem.accuracy(flock):.4f}",
            flush=True,
        )
    root = np.random.default_rng(0).standard_normal((400, 201))
    gram = root.T @ root
    X = np.random.default_rng(1).standard_normal((200, 5498))
    theta = np.random.default_rng(2).standard_normal((8, 200))

    def by_scipy():
        theta @ X
        return dpotri(dpotrf(gram, lower=True)[0], lower=True)

    def by_numpy():
        theta @ X
        return np.linalg.inv(gram)

    print(
        f"an inverse of 201 x 201 after a product by NumPy: SciPy's {median(by_scipy):.1f} ms, "
        f"NumPy's {median(by_numpy):.1f} ms",
        flush=True,
    )


def fused_by_numba():
    """One compiled loop in the place of NumPy's passes."""
    try:
        import numba
    except ImportError:
        print("numba is not installed", flush=True)
        return

    @numba.njit(parallel=True, fastmath=True, cache=False)
    def fused(logits, label, weight, out, won, value):
        n_classes, n_runs, n_rows = logits.shape
        for run in numba.prange(n_runs):
            right, total = 0.0, 0.0
            for row in range(n_rows):
                best, winner = logits[0, run, row], 0
                for c in range(1, n_classes):
                    if logits[c, run, row] > best:
                        best, winner = logits[c, run, row], c
                norm = 0.0
                for c in range(n_classes):
                    out[c, run, row] = np.exp(logits[c, run, row] - best)
                    norm += out[c, run, row]
                w, truth = weight[run, row], label[row]
                right += w * (winner == truth)
                total += w * (logits[truth, run, row] - best - np.log(norm))
                for c in range(n_classes):
                    out[c, run, row] *= -w / norm
                out[truth, run, row] += w
            won[run], value[run] = right, total

    for n_runs in (1, 50):
        rng = np.random.default_rng(0)
        _, blocks = table(5498, 1, 4)
        label = np.concatenate([np.full(b.stop - b.start, c) for c, b in enumerate(blocks)])
        logits = rng.standard_normal((4, n_runs, 5498))
        weight = rng.random((n_runs, 5498))
        out, workspace = np.empty_like(logits), Workspace(logits)
        won, value = np.empty(n_runs), np.empty(n_runs)

        def lines(logits=logits, weight=weight, out=out, workspace=workspace, blocks=blocks):
            highest, right = highest_and_right(logits, blocks)
            (weight * right).sum(axis=1)
            objective_and_residual(logits, blocks, weight, workspace, out, highest)

        def loop(parts=(logits, label, weight, out, won, value)):
            fused(*parts)

        loop()
        ours, theirs = median(lines, 30), median(loop, 30)
        print(
            f"the row-wise part by numba on two threads, {n_runs} run(s) of 5498 x 4: "
            f"{theirs / ours:.2f} of NumPy's lines ({theirs:.3f} / {ours:.3f} ms)",
            flush=True,
        )


def small_fit(name):
    X, y = BUNDLED[name](return_X_y=True)
    FlockClassifier(random_state=0).fit(X, y)


def side_by_side():
    """Two fits of a small table, the most that families on two threads could gain.

    Beside threads stand processes, which wait for nothing but a core.
    """
    forked = get_context("fork")
    with ThreadPoolExecutor(2) as pool, ProcessPoolExecutor(2, mp_context=forked) as processes:
        for name in ("wine", "breast_cancer"):
            ways = {
                "one after another": lambda function, items: [*map(function, items)],
                "two threads": lambda function, items: [*pool.map(function, items)],
                "two processes": lambda function, items: [*processes.map(function, items)],
            }
            seconds = {way: [] for way in ways}
            for _ in range(9):
                for way, called in ways.items():
                    start = time.perf_counter()
                    called(small_fit, [name, name])
                    seconds[way].append(time.perf_counter() - start)
            first, *others = (float(np.median(times)) for times in seconds.values())
            threads_share, processes_share = (other / first for other in others)
            print(
                f"two fits of {name} on two threads: {threads_share:.2f} of one after another "
                f"({first:.2f} s), in two processes {processes_share:.2f}",
                flush=True,
            )


TRIALS = (
    threads,
    blocks_of_rows,
    memory_order,
    curvature,
    fused_by_numba,
    precision,
    side_by_side,
)


if __name__ == "__main__":
    # Some of them by name, or all.
    for trial in TRIALS:
        if trial.__name__ in (sys.argv[1:] or [one.__name__ for one in TRIALS]):
            trial()
