"""The sparsity study as a reader sees it: a picture, and sentences made from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import OVERLAP, Interval, Results, interval
from covey.reproduce._sparsity import (
    CENTER,
    DATASET,
    EXPERIMENT,
    LEAST_TUNING,
    LEVELS,
    N_TEST,
    NAMES,
    REAL_LEVELS,
)
from covey.reproduce._style import COLORS, GREY, band, panels


def lines(results: Results, dataset: str, factor: str) -> list[tuple[float, str]]:
    """Levels of a factor, in order, and the conditions of their results."""
    found = []
    for case in results.conditions(EXPERIMENT, dataset):
        if dataset == DATASET and case.startswith(f"{factor}="):
            found.append((float(case.partition("=")[2]), case))
        elif dataset != DATASET and factor == "rows_per_feature":
            found.append((float(case.split()[0]), case))
    return sorted(found)


def _gain(
    results: Results, dataset: str, case: str, quantity: str, over: str = "baseline"
) -> Interval:
    # Synthetic sets are drawn anew; splits of a real one share rows.
    shared = 0.0 if dataset == DATASET else OVERLAP
    return interval(results.gain(EXPERIMENT, dataset, case, quantity, over), shared)


def draw(results: Results) -> Any:
    """Two rows, g_EW and g_orc; one column a factor, and one for real tables."""
    figure, axes = panels(2, 5, size=(13, 5.2))
    real = [name for name in results.datasets(EXPERIMENT) if name != DATASET]
    shades = [COLORS[name] for name in ("both", "theta", "logistic", "covey")]
    for line, (fusion, title) in zip(axes, (("equal", "g_EW"), ("oracle", "g_orc")), strict=True):
        for ax, factor in zip(line, LEVELS, strict=False):
            found = lines(results, DATASET, factor)
            for kind, label in (("theta", "{Θ}"), ("both", "{Θ, Λ}")):
                values = [_gain(results, DATASET, case, f"{fusion}_{kind}") for _, case in found]
                band(ax, [level for level, _ in found], values, COLORS[kind], label)
            ax.set_title(f"synthetic: {title}, %", loc="left")
            ax.set_xlabel(NAMES[factor])
        for number, dataset in enumerate(real):
            found = lines(results, dataset, "rows_per_feature")
            values = [_gain(results, dataset, case, f"{fusion}_both") for _, case in found]
            band(
                line[4],
                [level for level, _ in found],
                values,
                shades[number % 4],
                dataset.removesuffix("_acoustic"),
            )
        line[4].set_title(f"real, {{Θ, Λ}}: {title}, %", loc="left")
        line[4].set_xlabel(NAMES["rows_per_feature"])
        for ax in (line[0], line[1], line[4]):
            ax.set_xscale("log")
            ticks = LEVELS["features"] if ax is line[1] else REAL_LEVELS
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        for ax in line:
            ax.axhline(0, color=GREY, lw=0.8)
        line[0].legend(frameon=False, fontsize=8)
        line[4].margins(y=0.2)
        line[4].legend(frameon=False, fontsize=7.5, loc="upper right")
    return figure


def _trend(first: Interval, last: Interval) -> str:
    """What happens to a mean from one interval to another, in a word."""
    if not (first.known and last.known):
        return "is not known well enough to compare"
    apart = np.hypot(first.half, last.half)
    if abs(first.mean - last.mean) <= apart:
        return "does not change measurably"
    return "falls" if first.mean > last.mean else "rises"


def _trends(results: Results, quantity: str, series: list[tuple[str, str, str]]) -> str:
    """What a gain does between the ends of each series, those of one trend together.

    A series is a data set, a factor and a name.
    """
    found = {}
    for dataset, factor, name in series:
        levels = lines(results, dataset, factor)
        if len(levels) < 2:
            continue
        ends = [_gain(results, dataset, case, quantity) for _, case in (levels[0], levels[-1])]
        found.setdefault(_trend(*ends), []).append(
            f"{name} ({ends[0].text(signed=True)} % at {levels[0][0]:g}, "
            f"{ends[1].text(signed=True)} % at {levels[-1][0]:g})"
        )
    return "; ".join(f"it {trend} {', '.join(names)}" for trend, names in found.items())


def sentences(results: Results) -> list[str]:
    """Three sentences, made from the numbers."""
    tables = [(name, "rows_per_feature", f"on {name}") for name in results.datasets(EXPERIMENT)]
    factors = [
        (DATASET, factor, f"with the {NAMES[factor]}")
        for factor in ("features", "irrelevant", "noise")
    ]
    first, second = (
        f"{opening}, the gain over the baseline of g_orc {{Θ, Λ}}: "
        f"{_trends(results, 'oracle_both', series)}. Of g_EW {{Θ, Λ}}: "
        f"{_trends(results, 'equal_both', series)}."
        for opening, series in (
            ("From few training rows per feature to many", tables),
            ("On synthetic data, from the lowest level to the highest", factors),
        )
    )
    found = lines(results, DATASET, "rows_per_feature")
    wins, losses, total = 0, 0, 0
    for dataset in results.datasets(EXPERIMENT):
        for case in results.conditions(EXPERIMENT, dataset):
            sign = _gain(results, dataset, case, "equal_both", "equal_theta").sign
            wins, losses, total = wins + (sign > 0), losses + (sign < 0), total + 1
    logistic = [_gain(results, DATASET, case, "equal_both", "logistic") for _, case in found]
    better = sum(one.sign > 0 for one in logistic)
    third = (
        f"Choosing subsets too ({{Θ, Λ}} against {{Θ}}, g_EW) is better in {wins} of {total} "
        f"cases and worse in {losses}, beyond its 95 % interval, and g_EW {{Θ, Λ}} beats plain "
        f"logistic regression in {better} of the {len(logistic)} synthetic cases over rows per "
        f"feature and loses to it in {sum(one.sign < 0 for one in logistic)}."
    )
    return [first, second, third]


def section(results: Results, options: Options) -> Section:
    """The study, and three sentences of what is true."""
    rows = []
    for factor in LEVELS:
        for level, case in lines(results, DATASET, factor):
            row = [NAMES[factor], f"{level:g}"]
            row.append(interval(100 * results.get(EXPERIMENT, DATASET, case, "baseline")).text())
            for quantity, over in (
                ("oracle_both", "baseline"),
                ("equal_both", "baseline"),
                ("oracle_both", "oracle_theta"),
                ("equal_both", "equal_theta"),
                ("logistic", "baseline"),
            ):
                row.append(_gain(results, DATASET, case, quantity, over).text(signed=True))
            runs = results.runs(EXPERIMENT, DATASET, case, "covey")
            row.append(
                interval(results.gain(EXPERIMENT, DATASET, case, "covey", "logistic", runs)).text(
                    signed=True
                )
                if runs
                else ""
            )
            rows.append(row)
    header = [
        *("varied", "level", "baseline, %", "g_orc over baseline", "g_EW over baseline"),
        *("g_orc over {Θ}", "g_EW over {Θ}", "logistic over baseline"),
        "covey's default over logistic",
    ]
    return filled(
        "Sparsity: when it helps",
        "sparsity",
        options=options,
        center=", ".join(f"{NAMES[name]} {value:g}" for name, value in CENTER.items()),
        n_test=N_TEST,
        least_tuning=LEAST_TUNING,
        sentences=sentences(results),
        header=header,
        rows=rows,
    )
