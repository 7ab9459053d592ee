"""How much hangs on two limits: the most steps of a member, and the most members."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from reproduction.data import TITLES, load, split_rows, whole_number
from reproduction.ensembles import KINDS, N_MEMBERS, Constants, Grown, grow_on_splits, scores
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import Section, filled
from reproduction.results import OVERLAP, Interval, Results, Row, interval
from reproduction.table2 import GAINS

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
                *(EXPERIMENT, table.name, condition(steps), "limits:work"),
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


# Pairs of limits: those of the page, more steps of a member, more members.
_USUAL, _LONGER, _WIDER = (STEPS[0], MEMBERS[0]), (STEPS[1], MEMBERS[0]), (STEPS[0], MEMBERS[1])


def _get(results: Results, dataset: str, limits: tuple[int, int], name: str) -> np.ndarray:
    """The baseline in %, a gain over it, a mean K or a share of members in %, over splits."""
    steps, members = limits
    case = EXPERIMENT, dataset, condition(steps)
    if name in GAINS:
        return results.gain(*case, quantity(name, members), quantity("baseline", members))
    scale = 1 if name.startswith("k_") else 100
    return scale * results.get(*case, quantity(name, members))


def _mean(values: np.ndarray) -> Interval:
    """The mean, to be shown without an interval."""
    return Interval(interval(values).mean, np.nan)


def _at_limit(results: Results, dataset: str, limits: tuple[int, int]) -> list[str]:
    """The shares of members that end at the limit of steps, in %."""
    kinds = ("at_limit_theta", "at_limit_both")
    return [f"{_get(results, dataset, limits, kind).mean():.0f}" for kind in kinds]


def _rows(results: Results) -> list[list[str]]:
    rows = []
    for dataset in (load(source).name for source in SOURCES):
        for limits in ((steps, members) for steps in STEPS for members in MEMBERS):
            row = [TITLES[dataset], *map(str, limits)]
            row.append(f"{_get(results, dataset, limits, 'baseline').mean():.1f}")
            for name in GAINS:
                gain = _mean(_get(results, dataset, limits, name)).text(signed=True)
                row.append(f"{gain} (K {_get(results, dataset, limits, f'k_{name}').mean():.0f})")
            rows.append([*row, " / ".join(_at_limit(results, dataset, limits))])
    return rows


def _change(results: Results, dataset: str, second: tuple[int, int], name: str) -> str:
    """What a gain or the baseline does from the usual limits to others, as text."""
    values = [_get(results, dataset, limits, name) for limits in (_USUAL, second)]
    return (
        f"from {_mean(values[0]).text()} to {_mean(values[1]).text()} %, by "
        f"{interval(values[1] - values[0], OVERLAP).text(signed=True)}"
    )


def short(results: Results, options: Options) -> list[str]:
    """What both limits do, for a reader who stops early."""
    found = []
    for source in SOURCES:
        dataset = load(source).name
        usual, longer, wider = (
            " and ".join(
                _mean(_get(results, dataset, limits, name)).text(signed=True)
                for name in ("oracle_both", "equal_both")
            )
            for limits in (_USUAL, _LONGER, _WIDER)
        )
        found.append(
            f"**{dataset}, two limits of our own** ({n_runs(options)} splits): g_orc "
            f"and g_EW {{Θ, Λ}} gain {usual} % with at most {STEPS[0]} steps a member and "
            f"{MEMBERS[0]} members, as everywhere on this page; {longer} % with "
            f"{STEPS[1]} steps; {wider} % with {MEMBERS[1]} members."
        )
    return found


def section(results: Results, options: Options) -> Section:
    """Both limits, each at two values."""
    header = [
        *("data", "most steps", "most members", "baseline, %", *GAINS.values()),
        "members at the limit of steps, %: {Θ} / {Θ, Λ}",
    ]
    datasets = [
        {
            "title": TITLES[dataset],
            "at_limit": _at_limit(results, dataset, _USUAL),
            "longer": partial(_change, results, dataset, _LONGER),
            "wider": partial(_change, results, dataset, _WIDER),
        }
        for dataset in (load(source).name for source in SOURCES)
    ]
    return filled(
        "Limits: steps of a member, and members",
        "limits",
        steps=STEPS,
        members=MEMBERS,
        n_runs=n_runs(options),
        datasets=datasets,
        header=header,
        rows=_rows(results),
    )
