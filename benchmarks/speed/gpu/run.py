"""What a GPU makes of the same lines: the protocol of Table 2 as one stack, and one large step.

    python benchmarks/speed/gpu/run.py [--quick] > benchmarks/speed/gpu/output.txt

Needs PyTorch with a CUDA device. Every figure is printed with what it was measured on.
"""

import argparse
import platform
import time

import numpy as np
import torch

from covey._core.algorithm1.in_memory import in_memory
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.softmax_linear import class_blocks

ROWS, FEATURES, CLASSES = 5498, 200, 4


def problem(n_rows=ROWS, n_features=FEATURES, n_classes=CLASSES, seed=0):
    """Standardised columns (D, n), rows sorted by class, and the number of rows of each."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    beta = rng.standard_normal((n_features, n_classes)) * (rng.random((n_features, 1)) < 0.3)
    y = (X @ beta + 4 * rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    order = np.argsort(y, kind="stable")
    X = (X[order] - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X.T), np.bincount(y, minlength=n_classes)


def splits(n_rows, n_splits, seed=0):
    """Weights (n_splits, n): 80 % of the rows, by chance."""
    rng = np.random.default_rng(seed)
    return (rng.random((n_splits, n_rows)) < 0.8).astype(float)


def ascent(n_steps):
    """Steps as in paper(), all of them."""
    return TrainingSettings("constant", -np.inf, None, n_steps, 0.5, "greedy", 0.01, True)


def trainer(columns, counts, weight, n_steps, dtype, device, p=(0.0, 0.01)):
    """A stack of every split with and without flips; each split has its own centring."""
    twice = np.repeat(np.arange(len(weight)), len(p))
    share = weight / weight.sum(axis=1, keepdims=True)
    mean = share @ columns.T
    scale = np.sqrt(share @ (columns.T**2) - mean**2)
    arrays = columns, mean[twice], scale[twice], weight[twice]
    if device is not None:
        arrays = tuple(torch.asarray(a, dtype=dtype, device=device) for a in arrays)
    columns, mean, scale, weight = arrays
    how = ascent(n_steps)
    return StackTrainer(
        in_memory(Design(columns, mean, scale), class_blocks(counts), weight, how),
        how,
        seed=0,
        runs=list(twice),
        flip_probability=np.tile(p, len(twice) // len(p)),
        unit_of_feature=np.arange(columns.shape[0]),
        usable=np.ones(columns.shape[0], dtype=bool),
    )


def seconds(function, repeats=3):
    """The median, the device's queue being empty before and after."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), times


def table_2(n_splits, n_members, n_steps):
    columns, counts = problem()
    weight = splits(ROWS, n_splits)
    for dtype in (torch.float32, torch.float64):

        def whole(dtype=dtype):
            grower = trainer(columns, counts, weight, n_steps, dtype, "cuda")
            return [grower.grow() for _ in range(n_members)]

        whole()
        median, times = seconds(whole)
        per_step = median / (n_members * n_steps) * 1e3
        print(
            f"Table 2's protocol, {ROWS} x {FEATURES} x {CLASSES}, {n_splits} splits x 2 "
            f"ensembles x {n_members} members x {n_steps} steps, {dtype}: {median:.2f} s "
            f"({', '.join(f'{t:.2f}' for t in times)}), {per_step:.3f} ms a step of all runs",
            flush=True,
        )


def copy_bandwidth(n_bytes=4 << 30):
    """Bytes read and written a second by a copy on the device."""
    source = torch.empty(n_bytes // 4, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    times = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return 2 * n_bytes / float(np.median(times))


def large_step(n_rows, n_steps=60):
    """One run on many rows: bytes that a step must move, as a share of the copy's speed."""
    bandwidth = copy_bandwidth()
    print(f"copy bandwidth: {bandwidth / 1e12:.2f} TB/s (bytes read and written)", flush=True)
    generator = torch.Generator(device="cuda").manual_seed(0)
    columns = torch.randn(FEATURES, n_rows, device="cuda", generator=generator)
    counts = np.full(CLASSES, n_rows // CLASSES)
    weight = torch.ones(1, n_rows, device="cuda")

    def grow(n_steps, p=0.0):
        how = ascent(n_steps)
        StackTrainer(
            in_memory(Design(columns), class_blocks(counts), weight, how),
            how,
            seed=0,
            runs=[0],
            flip_probability=np.full(1, p),
            unit_of_feature=np.arange(FEATURES),
            usable=np.ones(FEATURES, dtype=bool),
        ).grow()

    for p in (0.0, 0.01):
        grow(20, p)
        few, _ = seconds(lambda p=p: grow(20, p))
        many, _ = seconds(lambda p=p: grow(20 + n_steps, p))
        step = (many - few) / n_steps
        lanes = 1 if p == 0 else 2
        # X for the slopes and X for the logits; logits and residuals written and read.
        must = 4 * n_rows * (2 * FEATURES + lanes * 4 * CLASSES)
        print(
            f"one step over {n_rows} x {FEATURES} x {CLASSES}, float32, {lanes} candidate(s): "
            f"{step * 1e3:.3f} ms, {must / 1e9:.2f} GB to move, {must / step / 1e12:.2f} TB/s, "
            f"{must / step / bandwidth:.2f} of the copy",
            flush=True,
        )


def equality(n_splits, n_members, n_steps):
    """Float64 on the device against NumPy: subsets, and how far coefficients are."""
    columns, counts = problem(2000, 60, 4, seed=1)
    weight = splits(2000, n_splits)
    here = trainer(columns, counts, weight, n_steps, None, None, p=(0.0, 0.02))
    there = trainer(columns, counts, weight, n_steps, torch.float64, "cuda", p=(0.0, 0.02))
    same, flips, farthest = 0, 0, 0.0
    for _ in range(n_members):
        a, b = here.grow(), there.grow()
        same += int((a.support == b.support).all(axis=1).sum())
        flips += sum(int(past.accepted_flip.sum()) for past in a.history)
        farthest = max(farthest, float(np.abs(a.theta - b.theta.cpu().numpy()).max()))
    print(
        f"float64 here and there, 2000 x 60 x 4, {2 * n_splits} runs x {n_members} members x "
        f"{n_steps} steps: {same} of {2 * n_splits * n_members} members with the same subset "
        f"({flips} flips taken), coefficients within {farthest:.1e}",
        flush=True,
    )


class Notes:
    """A journal in memory: keeps every state of one member, or starts from a given one."""

    result = None

    def __init__(self, state=None):
        self.state = state
        self.states = []

    def begin(self):
        return self

    def step(self, snapshot):
        self.states.append(snapshot())

    def finish(self, result):
        pass


def single_precision(n_splits, n_steps):
    """Float32 from every state of float64: which decisions differ, and by how little."""
    columns, counts = problem(2000, 60, 4, seed=2)
    weight = splits(2000, n_splits)
    label = np.repeat(np.arange(4), counts)

    def grower(dtype, n_steps, notes):
        made = trainer(columns, counts, weight, n_steps, dtype, "cuda", p=(0.05,))
        made._journal = notes
        return made

    double = Notes()
    grower(torch.float64, n_steps, double).grow()
    share = weight / weight.sum(axis=1, keepdims=True)
    mean = share @ columns.T
    scale = np.sqrt(share @ (columns.T**2) - mean**2)
    n_decisions = n_other = n_close = 0
    farthest = 0.0
    for step, (before, after) in enumerate(zip(double.states, double.states[1:], strict=False)):
        single = Notes(before)
        grower(torch.float32, step + 2, single).grow()
        one = single.states[-1]
        moving = after["told moving"]
        for place, run in enumerate(moving):
            n_decisions += 1
            if (one["mask"][run] == after["mask"][run]).all():
                gap = np.abs(one["theta"][:, run] - after["theta"][:, run]).max()
                farthest = max(farthest, float(gap))
                continue
            n_other += 1
            right = []
            for lane in (run, n_splits + place):
                theta = after["told theta"][:, lane] * after["told mask"][lane] / scale[run]
                intercept = after["told intercept"][:, lane] - theta @ mean[run]
                logits = theta @ columns + intercept[:, None]
                right.append((weight[run] * (logits.argmax(axis=0) == label)).sum())
            n_close += abs(right[0] - right[1]) <= 1
    print(
        f"float32 from every state of float64, 2000 x 60 x 4, {n_splits} runs x {n_steps} steps: "
        f"{n_other} of {n_decisions} decisions on a flip differ, {n_close} of them between "
        f"accuracies at most one row apart; elsewhere coefficients are within {farthest:.1e}",
        flush=True,
    )


def kernels():
    """The kernels against the lines that all libraries share."""
    from covey._core.arrays import Workspace
    from covey._core.device import cuda_kernels
    from covey._core.softmax_linear import highest_and_right, objective_and_residual, weight_of

    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        double = {"dtype": dtype, "device": "cuda"}
        counts = np.array([700, 1, 0, 1300])
        n_rows, n_runs, moving = int(counts.sum()), 5, np.array([0, 3])
        blocks, everyone = class_blocks(counts), np.arange(n_runs)
        label = torch.asarray(np.repeat(np.arange(4), counts), dtype=torch.int32, device="cuda")
        logits = torch.randn(4, n_runs, n_rows, **double).round(decimals=1)  # ties abound
        weight = torch.rand(n_runs, n_rows, **double)
        whose = torch.asarray(everyone, dtype=torch.int32, device="cuda")
        _, right = highest_and_right(logits, blocks)
        none = torch.zeros(4, n_runs, **double)
        won = cuda_kernels.won(logits, none, weight, whose, label)
        gaps = [won - weight_of(right, weight)]
        added = torch.randn(4, 2, n_rows, **double)
        lanes = torch.cat([logits, logits[:, moving] + added], dim=1)
        both = torch.cat([weight, weight[moving]])
        value, expected = objective_and_residual(
            lanes, blocks, both, Workspace(lanes), torch.empty_like(lanes)
        )
        out = torch.empty_like(lanes)
        source = torch.asarray(np.append(everyone, moving), dtype=torch.int32, device="cuda")
        shift = torch.randn(4, 2, **double)
        added = added - shift[:, :, None]
        objective, total = cuda_kernels.residual(
            logits, none, source, added, shift, weight, source, label, out, n_runs
        )
        gaps += [objective - value[:n_runs], out - expected, total - expected.sum(dim=2)]
        left, columns = torch.randn(7, 300_001, **double), torch.randn(19, 300_001, **double)
        if cuda_kernels.is_skinny(left, 300_001):
            product = cuda_kernels.across(left, columns)
            gaps.append(product - left.double() @ columns.double().T)
            theta = torch.randn(7, 19, **double)
            cuda_kernels.along(theta, columns, left)
            gaps.append(left - theta.double() @ columns.double())
        print(
            f"kernels against the shared lines, {dtype}: at most "
            + ", ".join(f"{float(gap.abs().max()):.1e}" for gap in gaps),
            flush=True,
        )


def estimators():
    """The public classes with ``device="cuda"`` against the same without."""
    from sklearn.datasets import load_digits

    from covey import FlockClassifier, SubsetEnsembleClassifier

    X, y = load_digits(return_X_y=True)
    for name, make, options in (
        ("paper()", SubsetEnsembleClassifier.paper, {}),
        (
            "exponential loss, all steps",
            SubsetEnsembleClassifier,
            {"loss": "exponential", "fuser": "product", "tol": -np.inf, "max_iter": 100},
        ),
        ("the default, with its search", FlockClassifier, {}),
    ):
        fitted, times = {}, {}
        for device in (None, "cuda"):
            start = time.perf_counter()
            fitted[device] = make(random_state=0, device=device, **options).fit(X, y)
            times[device] = time.perf_counter() - start
        here, there = fitted[None], fitted["cuda"]
        same = here.member_coef_.shape == there.member_coef_.shape
        same = same and bool((here.support_ == there.support_).all())
        gap = np.abs(here.predict_proba(X) - there.predict_proba(X)).max()
        print(
            f"digits, {name}: {'the same' if same else 'other'} subsets, probabilities within "
            f"{gap:.1e}; {times[None]:.2f} s here, {times['cuda']:.2f} s on the GPU",
            flush=True,
        )


def trials():
    """What was tried: each step told to the device or replayed, with kernels or without."""
    from covey._core.algorithm1 import rows
    from covey._core.arrays import cuda_kernels
    from covey._core.device import device_loop as march
    from covey._core.device.device_loop import CudaGraph

    columns, counts = problem()
    weight = splits(ROWS, 100)

    class Told(CudaGraph):
        """Never recorded."""

        def __init__(self, beside):
            super().__init__(beside)
            self._records = False

    for replay, kernels in ((False, False), (True, False), (False, True), (True, True)):
        march.CudaGraph = CudaGraph if replay else Told
        rows.cuda_kernels = cuda_kernels if kernels else (lambda _: None)

        def some(n_steps):
            trainer(columns, counts, weight, n_steps, torch.float32, "cuda").grow()

        some(20)
        few, _ = seconds(lambda: some(20))
        many, _ = seconds(lambda: some(120))
        print(
            f"a step of 200 runs, {'replayed' if replay else 'told'}, "
            f"{'two kernels' if kernels else 'the shared lines'}: {(many - few) * 10:.3f} ms",
            flush=True,
        )
    march.CudaGraph, rows.cuda_kernels = CudaGraph, cuda_kernels
    for n_runs, n_rows in ((1, ROWS), (300, ROWS), (1, 1_000_000)):
        row_wise(n_runs, n_rows)


def row_wise(n_runs, n_rows):
    """What comes between the products, three ways."""
    from covey._core.arrays import Workspace, cuda_kernels
    from covey._core.softmax_linear import highest_and_right, objective_and_residual, weight_of

    counts = np.full(4, n_rows // 4)
    counts[0] += n_rows - counts.sum()
    blocks = class_blocks(counts)
    logits = torch.randn(4, n_runs, n_rows, device="cuda")
    weight = torch.rand(n_runs, n_rows, device="cuda")
    out, workspace = torch.empty_like(logits), Workspace(logits)
    label = torch.asarray(np.repeat(np.arange(4), counts), dtype=torch.int32, device="cuda")
    whose = torch.arange(n_runs, dtype=torch.int32, device="cuda")
    nothing, none = torch.empty(4, 0, n_rows, device="cuda"), torch.zeros(4, n_runs, device="cuda")

    def lines(logits, weight, out):
        highest, right = highest_and_right(logits, blocks)
        won = weight_of(right, weight)
        value, _ = objective_and_residual(logits, blocks, weight, workspace, out, highest)
        return won, value

    def plain(logits, weight):
        own = torch.cat([logits[c, :, b] for c, b in enumerate(blocks)], dim=1)
        highest = logits.amax(dim=0)
        value = (logits - highest).exp()
        normaliser = value.sum(dim=0)
        truth = torch.nn.functional.one_hot(label.long(), 4).T[:, None, :]
        residual = weight * (truth - value / normaliser)
        won = (weight * (own == highest)).sum(dim=1, dtype=torch.float64)
        log_true = own - highest - normaliser.log()
        return won, (weight * log_true).sum(dim=1, dtype=torch.float64), residual

    def by_kernels():
        module = cuda_kernels(logits)
        won = module.won(logits, none, weight, whose, label)
        return won, module.residual(
            logits, none, whose, nothing, none, weight, whose, label, out, n_runs
        )

    compiled = torch.compile(plain)
    times = {}
    for name, function in (
        ("shared lines", lambda: lines(logits, weight, out)),
        ("torch.compile", lambda: compiled(logits, weight)),
        ("kernels", by_kernels),
    ):
        function()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(20):
            function()
        end.record()
        torch.cuda.synchronize()
        times[name] = begin.elapsed_time(end) / 20
    print(
        f"the row-wise part, {n_runs} lanes x {n_rows} rows x 4: "
        + ", ".join(f"{name} {ms:.3f} ms" for name, ms in times.items()),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print(
        f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}",
        flush=True,
    )
    kernels()
    equality(*((4, 2, 40) if quick else (20, 5, 150)))
    single_precision(*((4, 20) if quick else (10, 100)))
    table_2(*((10, 2, 50) if quick else (100, 20, 300)))
    large_step(200_000 if quick else 1_000_000)
    estimators()
    trials()


if __name__ == "__main__":
    main()
