"""The two limits as a reader sees them."""

from __future__ import annotations

from functools import partial

import numpy as np

from covey.reproduce._caps import EXPERIMENT, MEMBERS, SOURCES, STEPS, condition, n_runs, quantity
from covey.reproduce._data import TITLES, load
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import OVERLAP, Interval, Results, interval
from covey.reproduce._table2 import GAINS

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
