"""How seconds grow with rows, columns, classes and members, at a fixed number of steps."""

import numpy as np
import problems
from results import line
from timing import cores, race, with_threads

import rivals

TARGET = 1.1
N_STEPS = 20
# For each series problems and numbers of members, and what grows.
SERIES = {
    "rows": [(f"{n}x50x3", 2, n) for n in (100_000, 200_000, 400_000, 800_000)],
    "columns": [(f"2000x{n}x2", 2, n) for n in (1250, 2500, 5000, 10_000)],
    "classes": [(f"20000x50x{n}", 2, n) for n in (2, 4, 8, 16, 32)],
    "members": [("5498x200x4", n, n) for n in (5, 10, 20, 40)],
}
QUICK_SERIES = {
    "rows": [(f"{n}x50x3", 1, n) for n in (10_000, 20_000, 40_000, 80_000)],
    "columns": [(f"1000x{n}x2", 1, n) for n in (500, 1000, 2000, 4000)],
    "classes": [(f"5000x20x{n}", 1, n) for n in (2, 4, 8, 16)],
    "members": [("2310x19x7", n, n) for n in (5, 10, 20, 40)],
}


def slope(sizes, seconds):
    """Of the line through the upper half of a series, both axes logarithmic.

    Examples
    --------
    >>> round(slope([1, 2, 4, 8], [3, 5, 8, 16]), 6)
    1.0
    """
    upper = slice(len(sizes) // 2, None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(seconds[upper]), 1)[0])


def growth(options):
    # What a first fit imports is not part of any size.
    rivals.printed(1, 2).fit(np.eye(6), np.arange(6) % 2)
    for name, points in (QUICK_SERIES if options.quick else SERIES).items():
        loaded = {problem: problems.make(problem) for problem, _, _ in points}

        def fit(problem, n_members, loaded=loaded):
            return rivals.printed(n_members, N_STEPS).fit(loaded[problem].X, loaded[problem].y)

        timings = race(
            {
                size: with_threads(lambda p=problem, n=n_members: fit(p, n), cores())
                for problem, n_members, size in points
            },
            min(3, options.repeats),
            budget=4 if options.quick else 40,
        )
        sizes = [size for *_, size in points]
        seconds = [timings[size].seconds for size in sizes]
        for (problem, n_members, size), taken in zip(points, seconds, strict=True):
            yield line(
                "growth",
                f"{problem}, {n_members} member{'s' * (n_members > 1)}",
                f"{size} {name}",
                threads=cores(),
                our_cost=taken,
                rounds=timings[size].rounds,
            )
        yield line(
            "growth",
            name,
            "slope of the upper half",
            threads=cores(),
            ratio=slope(sizes, seconds),
            target=TARGET,
            rounds=timings[sizes[-1]].rounds,
        )
