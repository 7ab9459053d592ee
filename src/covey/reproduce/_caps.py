"""How much hangs on two limits: the most steps of a member, and the most members."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covey.reproduce._data import load
from covey.reproduce._ensembles import KINDS, N_MEMBERS, Constants, Grown, grow_on_splits, scores
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Row
from covey.reproduce._splits import split_rows, whole_number

EXPERIMENT = "caps"
SOURCES = ("abalone", "segment")
STEPS = (Constants.max_iter, 1000)
MEMBERS = (N_MEMBERS, 2 * N_MEMBERS)
# The splits are those of the sensitivity study.
PURPOSE = "sensitivity"
_RUNS, _QUICK_RUNS, _AT_ONCE = 8, 3, 4


def n_runs(options: Options) -> int:
    """How many splits each limit is tried on."""
    return min(options.runs, _QUICK_RUNS if options.quick else _RUNS)


def condition(steps: int) -> str:
    """What results of one limit of steps are filed under."""
    return f"max_iter={steps}"


def quantity(name: str, members: int) -> str:
    """What a quantity is called where K is at most so many."""
    return name if members == N_MEMBERS else f"{name}_of_{members}"


def tasks(options: Options) -> list[Task]:
    """Each limit of steps on the same splits."""
    found = []
    for source in SOURCES:
        table = load(source)
        size = table.X.size * len(table.classes)
        for steps in STEPS:
            found += in_chunks(
                *(EXPERIMENT, table.name, condition(steps), "_caps:work"),
                runs=n_runs(options),
                at_once=_AT_ONCE,
                cost=0.4 + size * 4e-8 * steps,
                arguments={"source": source, "steps": steps, "seed": options.seed},
                data=table.digest,
            )
    return found


def work(source: str, steps: int, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracies with fewer members and with more, and how many members end at the limit."""
    table = load(source)
    splits = [split_rows(table, "random", seed, PURPOSE, run) for run in runs]
    grown = grow_on_splits(
        table,
        splits,
        Constants(max_iter=steps),
        # The draws of the sensitivity study: at its limits, its numbers.
        seed=whole_number(seed, PURPOSE, table.name, "random"),
        runs=runs,
        n_members=max(MEMBERS),
    )
    for run, tuned_on, tested_on, ensembles in grown:
        for members in MEMBERS:
            # Members do not know how many follow: fewer are the first of more.
            first = {kind: _first(ensemble, members) for kind, ensemble in ensembles.items()}
            for name, value in scores(first, tuned_on, tested_on).items():
                yield run, quantity(name, members), value
            for kind in KINDS:
                share = float(np.mean(first[kind].n_iter == steps))
                yield run, quantity(f"at_limit_{kind}", members), share


def _first(grown: Grown, members: int) -> Grown:
    return Grown(*(values[:members] for values in vars(grown).values()))
