"""Twenty members on the paper's widest table: against their own products, and a rival's twenty."""

from functools import partial

import problems
from floor import Products
from results import compared
from timing import SETTLE, on_threads, on_workers, race, thread_counts, with_threads

import rivals

FLOOR_TARGET = 2.5
BETTER_TARGET = 0.4


def floor(options):
    """All steps of Algorithm 1, flips included, against the products that they need."""
    problem = problems.load(problems.WIDEST)
    n_members, n_steps = (2, 60) if options.quick else (20, 300)
    ours, other = f"paper(), {n_members} members, {n_steps} steps", "its matrix products"
    products = Products(problem, 1)
    for threads in thread_counts():
        timings = race(
            {
                ours: with_threads(
                    lambda: rivals.printed(n_members, n_steps).fit(problem.X, problem.y), threads
                ),
                other: with_threads(
                    partial(products.steps, n_members * n_steps, 1, 0.01), threads
                ),
            },
            options.repeats,
            budget=100,
        )
        yield compared(
            "floor", problem.name, timings, ours, other, threads=threads, target=FLOOR_TARGET
        )


def bagging(options):
    """Twenty members against twenty logistic regressions on halves of the columns."""
    problem = problems.load(problems.WIDEST, 1500 if options.quick else None)
    n_members, n_steps = (4, 60) if options.quick else (20, 300)
    X, y = problem.X, problem.y
    printed = f"paper(), {n_members} members, {n_steps} steps"
    better = f"better ascent, {n_members} members"
    other = f"bagged logistic regression, {n_members} members"
    timings = race(
        {
            printed: on_threads(lambda: rivals.printed(n_members, n_steps).fit(X, y)),
            better: on_threads(lambda: rivals.better_ascent(n_members).fit(X, y)),
            other: on_workers(
                lambda jobs: lambda: rivals.bagged_logistic(n_members, jobs).fit(X, y),
                sorted({1, options.jobs}),
            ),
        },
        options.repeats,
        settle=SETTLE,
        budget=100,
    )
    scores = {name: problem.accuracy(t.value) for name, t in timings.items()}
    needed = {better: {"target": BETTER_TARGET, "needs": "accuracy"}}
    return [
        compared("bagging", problem.name, timings, ours, other, scores, **needed.get(ours, {}))
        for ours in (printed, better)
    ]
