"""Figure 1 as a reader sees it."""

from __future__ import annotations

from typing import Any

from covey.reproduce._ensembles import N_MEMBERS, Constants
from covey.reproduce._figure1 import DATASET, EXPERIMENT, TEST_ROWS_PER_CLASS, gains, sizes_of
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import Results, interval
from covey.reproduce._style import COLORS, GREY, band, panels

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
