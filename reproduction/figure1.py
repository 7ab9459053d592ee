"""Figure 1: the synthetic set of eq. (11), from very few rows to many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from covey.datasets import make_quarter_circle
from reproduction.data import whole_number
from reproduction.ensembles import N_MEMBERS, Constants, grow_on_sets, scores
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import COLORS, GREY, Section, band, filled, panels
from reproduction.results import Results, Row, interval

EXPERIMENT, DATASET = "figure1", "quarter_circle"
TEST_ROWS_PER_CLASS = 50_000
# Training sets in one stack share one matrix, where each sees its own rows only: worth it while
# they are small.
_ROWS_AT_ONCE = 400


def tasks(options: Options) -> list[Task]:
    """Training sets of each size, several at a time where they are small."""
    found = []
    for size in options.sizes:
        found += in_chunks(
            *(EXPERIMENT, DATASET, f"{size} per class", "figure1:work"),
            runs=options.runs,
            at_once=next(n for n in (10, 5, 2, 1) if n * 2 * size <= _ROWS_AT_ONCE or n == 1),
            cost=0.3 + 0.0005 * size,
            arguments={"size": size, "seed": options.seed},
        )
    return found


@lru_cache(maxsize=1)
def _test_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    number = whole_number(seed, EXPERIMENT, "test")
    return make_quarter_circle(TEST_ROWS_PER_CLASS, random_state=number)


def work(
    size: int,
    seed: int,
    runs: list[int],
    thr: float = Constants.thr,
    eta: float = Constants.eta,
    purpose: str = EXPERIMENT,
) -> Iterator[Row]:
    """Accuracies of some training sets of one size; K is tuned on the training rows."""
    sets = [
        make_quarter_circle(size, random_state=whole_number(seed, purpose, size, run))
        for run in runs
    ]
    number = whole_number(seed, purpose, size, "members")
    grown = grow_on_sets(sets, Constants(thr, eta), seed=number, runs=runs)
    for run, training, ensembles in zip(runs, sets, grown, strict=True):
        for quantity, value in scores(ensembles, training, _test_rows(seed)).items():
            yield run, quantity, value


def sizes_of(results: Results) -> list[int]:
    """The training sizes there are, in order."""
    return sorted(int(text.split()[0]) for text in results.conditions(EXPERIMENT, DATASET))


def gains(results: Results, size: int, quantity: str, over: str = "baseline") -> np.ndarray:
    """Relative improvements of one size, in per cent, run by run."""
    return results.gain(EXPERIMENT, DATASET, f"{size} per class", quantity, over)


_FUSIONS = {"oracle": "g_orc", "equal": "g_EW"}


def _baseline(results: Results, size: int):
    return interval(100 * results.get(EXPERIMENT, DATASET, f"{size} per class", "baseline"))


def draw(results: Results) -> Any:
    """Baseline accuracy, and relative improvements under g_orc and g_EW."""
    sizes = sizes_of(results)
    figure, axes = panels(1, 3, size=(10.5, 3.5))
    baseline = [_baseline(results, size) for size in sizes]
    band(axes[0], sizes, baseline, COLORS["baseline"], "single classifier")
    axes[0].set_title("Baseline accuracy, %", loc="left")
    dashed = {"shade": 0.07, "ls": "--", "marker": "s"}
    for ax, (fusion, name) in zip(axes[1:], _FUSIONS.items(), strict=True):
        for kind, label in (("theta", "{Θ}"), ("both", "{Θ, Λ}")):
            for suffix, more, how in (("", "", {}), ("_most", ", largest K", dashed)):
                quantity = f"{fusion}_{kind}{suffix}"
                values = [interval(gains(results, size, quantity)) for size in sizes]
                band(ax, sizes, values, COLORS[kind], label + more, **how)
        ax.set_title(f"Relative improvement, {name}, %", loc="left")
        ax.axhline(0, color=GREY, lw=0.8)
        ax.legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.set_xlabel("training rows of each class")
    return figure


def section(results: Results, options: Options) -> Section:
    """Figure 1 with its numbers."""
    sizes = sizes_of(results)
    rows = []
    for size in sizes:
        row = [str(size), _baseline(results, size).text()]
        for fusion in _FUSIONS:
            for name in ("theta", "both", "both_most"):
                found = interval(gains(results, size, f"{fusion}_{name}"))
                row.append(found.text(2, signed=True))
        for fusion in _FUSIONS:
            case = EXPERIMENT, DATASET, f"{size} per class"
            row.append(f"{results.get(*case, f'k_{fusion}_both').mean():.1f}")
        rows.append(row)
    header = ["rows of each class", "baseline, %"]
    for name in _FUSIONS.values():
        header += [f"{name} {{Θ}}", f"{name} {{Θ, Λ}}", f"{name} {{Θ, Λ}}, largest K"]
    header += [f"mean K, {name} {{Θ, Λ}}" for name in _FUSIONS.values()]
    few, most = (
        [
            interval(gains(results, size, f"oracle_both{suffix}")).text(signed=True)
            for size in (sizes[0], sizes[-1])
        ]
        for suffix in ("", "_most")
    )
    return filled(
        "Figure 1: the synthetic set",
        "figure1",
        options=options,
        n_test=f"{TEST_ROWS_PER_CLASS:,}",
        n_members=N_MEMBERS,
        max_iter=Constants.max_iter,
        sizes=sizes,
        few=few,
        most=most,
        header=header,
        rows=rows,
    )
