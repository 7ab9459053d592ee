"""One step of Algorithm 1 against its products, and many runs side by side against one by one."""

import time
from functools import partial
from itertools import product

import problems
import stack
from floor import Products
from results import compared
from timing import cores, race, thread_counts, with_threads

STEP_TARGETS = {1: 2.5, 50: 2.0}  # by the number of runs in the stack; on the widest table
STACK_TARGET = 0.5
N_RUNS = 50


def _n_steps(grow, least, most=200):
    """Steps enough for a measurement, by how long three of them take."""
    started = time.perf_counter()
    grow(3)
    return int(min(most, max(4, 3 * least / (time.perf_counter() - started))))


def step(options):
    """Seconds a step; without flips and with flips at p = 0.01.

    What a member costs before its first step and after its last one is in a member of one step,
    too, and is taken off.
    """
    for name in problems.shapes(options.quick):
        problem = problems.load(name)
        shared = stack.design_of(problem)
        for n_runs, flip in product(STEP_TARGETS, (0.0, 0.01)):
            products = Products(problem, n_runs)
            grow = partial(stack.grow, shared, range(n_runs), flip_probability=flip)
            n_steps = _n_steps(grow, 0.05 if options.quick else 0.25)
            ours = f"a step, {n_runs} run{'s' * (n_runs > 1)}{', flips' * (flip > 0)}"
            other = "its products"
            for threads in thread_counts() if name == problems.WIDEST else (cores(),):
                timings = race(
                    {
                        ours: with_threads(partial(grow, n_steps + 1), threads),
                        "one step": with_threads(partial(grow, 1), threads),
                        other: with_threads(
                            partial(products.steps, n_steps, n_runs, flip), threads
                        ),
                    },
                    options.repeats,
                    budget=1 if options.quick else 6,
                )
                timings[ours].seconds -= timings["one step"].seconds
                for timed in (ours, other):
                    timings[timed].seconds /= n_steps
                target = STEP_TARGETS[n_runs] if name == problems.WIDEST else None
                yield compared("step", name, timings, ours, other, threads=threads, target=target)


def stacked(options):
    """Fifty runs in one stack against the same fifty one after another."""
    n_steps = 5 if options.quick else 30
    for name in (problems.WIDEST, problems.SEGMENT, problems.ABALONE):
        shared = stack.design_of(problems.load(name))

        def together(shared=shared):
            stack.grow(shared, range(N_RUNS), n_steps, 0.01)

        def apart(shared=shared):
            for run in range(N_RUNS):
                stack.grow(shared, [run], n_steps, 0.01)

        ours, other = f"{N_RUNS} runs stacked", f"{N_RUNS} runs one by one"
        for threads in thread_counts():
            timings = race(
                {ours: with_threads(together, threads), other: with_threads(apart, threads)},
                options.repeats,
                budget=25,
            )
            yield compared(
                "stacked", name, timings, ours, other, threads=threads, target=STACK_TARGET
            )
