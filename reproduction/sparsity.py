"""When does it help? Rows per feature, features, irrelevant features, label noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reproduction import table2
from reproduction.data import load, whole_number
from reproduction.ensembles import Constants, Rows, grow_on_sets, scores
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import COLORS, GREY, Section, band, filled, panels
from reproduction.results import OVERLAP, Interval, Results, Row, interval

EXPERIMENT, DATASET = "sparsity", "synthetic"
N_TEST = 2000
# Rows that K is tuned on: an eighth of the training rows, as in Table 2, but not too few.
LEAST_TUNING = 20
# One thing is varied at a time, from this center.
CENTER = {"rows_per_feature": 5.0, "features": 20, "irrelevant": 0.5, "noise": 0.05}
LEVELS = {
    "rows_per_feature": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "features": (4, 10, 20, 50, 100),
    "irrelevant": (0.0, 0.25, 0.5, 0.75, 0.9),
    "noise": (0.0, 0.05, 0.1, 0.2, 0.3),
}
REAL_LEVELS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
NAMES = {
    "rows_per_feature": "training rows per feature",
    "features": "number of features",
    "irrelevant": "share of irrelevant features",
    "noise": "share of labels drawn at random",
}
_ROWS_AT_ONCE = 400


def _levels(factor: str, quick: bool) -> tuple[float, ...]:
    levels = LEVELS[factor]
    return (levels[0], CENTER[factor], levels[-1]) if quick and factor != "noise" else levels


def cases(quick: bool) -> list[tuple[str, float, dict]]:
    """Triples of factor, level and the case; the center once for each factor."""
    return [
        (factor, level, {**CENTER, factor: level})
        for factor in LEVELS
        for level in dict.fromkeys(_levels(factor, quick))
    ]


def condition(factor: str, level: float) -> str:
    """What results of one case are filed under."""
    return f"{factor}={level:g}"


def tasks(options: Options) -> list[Task]:
    """Synthetic cases, and real tables of which fewer and fewer rows are trained on."""
    found = []
    for factor, level, case in cases(options.quick):
        rows = round(case["rows_per_feature"] * case["features"])
        address = EXPERIMENT, DATASET, condition(factor, level)
        arguments = {"factor": factor, "case": case, "seed": options.seed}
        found += in_chunks(
            *(*address, "sparsity:work"),
            runs=options.sparsity_runs,
            at_once=next(n for n in (5, 2, 1) if n * rows <= _ROWS_AT_ONCE or n == 1),
            cost=0.2 + 1e-5 * rows * case["features"],
            arguments=arguments,
        )
        if factor == "rows_per_feature" and not options.quick:
            found += in_chunks(
                *(*address, "sparsity:default"),
                runs=min(options.runs, 5),
                at_once=1,
                cost=3.0,
                arguments=arguments,
            )
    for source in options.sources:
        table = load(source)
        possible = 0.8 * len(table.X) / table.X.shape[1]
        for level in [level for level in REAL_LEVELS if level < possible][
            :: 2 if options.quick else 1
        ]:
            if level * table.X.shape[1] < 2 * len(table.classes):
                continue
            found += table2.split_tasks(
                source,
                "random",
                Constants(),
                min(options.sparsity_runs, 20),
                options,
                experiment=EXPERIMENT,
                rows_per_feature=level,
            )
    return found


def make(case: dict, number: int) -> list[Rows]:
    """Rows to train, tune and test on: two classes of two Gaussian clusters each."""
    from sklearn.datasets import make_classification

    n_training = round(case["rows_per_feature"] * case["features"])
    n_tuning = max(LEAST_TUNING, round(n_training / 8))
    informative = max(2, round(case["features"] * (1 - case["irrelevant"])))
    X, codes = make_classification(
        n_training + n_tuning + N_TEST,
        case["features"],
        n_informative=informative,
        n_redundant=0,
        flip_y=case["noise"],
        random_state=number,
    )
    ends = [n_training, n_training + n_tuning]
    return list(zip(np.split(X, ends), np.split(codes, ends), strict=True))


def _sets(factor: str, case: dict, seed: int, runs: list[int]) -> list[list[Rows]]:
    level = condition(factor, case[factor])
    return [make(case, whole_number(seed, EXPERIMENT, level, run)) for run in runs]


def work(factor: str, case: dict, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracies of both ensembles and of logistic regression on some sets."""
    sets = _sets(factor, case, seed, runs)
    number = whole_number(seed, EXPERIMENT, condition(factor, case[factor]), "members")
    first = [training for training, _, _ in sets]
    grown = grow_on_sets(first, Constants(), seed=number, runs=runs)
    for run, (training, tuning, test), ensembles in zip(runs, sets, grown, strict=True):
        for quantity, value in scores(ensembles, tuning, test).items():
            yield run, quantity, value
        yield run, "logistic", table2.rival_accuracy("logistic", training, test, 0)


def default(factor: str, case: dict, seed: int, runs: list[int]) -> Iterator[Row]:
    """What covey's default reaches on the same sets."""
    for run, (training, _, test) in zip(runs, _sets(factor, case, seed, runs), strict=True):
        number = whole_number(seed, EXPERIMENT, "covey", run)
        yield run, "covey", table2.rival_accuracy("covey", training, test, number)


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
