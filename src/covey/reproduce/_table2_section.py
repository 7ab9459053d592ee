"""Table 2 as a reader sees it: our numbers beside each printed one."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.reproduce import _sensitivity
from covey.reproduce._data import TITLES, Table, load
from covey.reproduce._ensembles import N_MEMBERS, Constants, under
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import Interval, Results, interval, overlap
from covey.reproduce._style import COLORS, GREY, panels
from covey.reproduce._table2 import EXPERIMENT, GAINS, PRINTED, condition

# Of each table with a printed row its source, and the setting and rule for K that come closest.
Calibrated = list[tuple[str, _sensitivity.Closest]]

_COMMON = _sensitivity.Closest(Constants(), "", 0.0)


def _intervals(
    results: Results, source: str, by: str, setting: _sensitivity.Closest = _COMMON
) -> list[Interval]:
    """Of the baseline accuracy and the four relative improvements, in %."""
    table = load(source)
    case = EXPERIMENT, table.name, condition(by, setting.constants)
    shared = overlap(table, by)
    found = [interval(100 * results.get(*case, "baseline"), shared)]
    found += [interval(results.gain(*case, under(setting.rule, name)), shared) for name in GAINS]
    return found


def _row(
    title: str,
    results: Results,
    source: str,
    by: str,
    setting: _sensitivity.Closest = _COMMON,
) -> list[str]:
    table = load(source)
    shared = overlap(table, by)
    cells = _intervals(results, source, by, setting)
    texts = [cells[0].text()] + [cell.text(signed=True) for cell in cells[1:]]
    case = EXPERIMENT, table.name, by
    logistic = interval(100 * results.get(*case, "logistic"), shared)
    runs = results.runs(*case, "covey")
    default = results.get(*case, "covey")
    # Compared where both were run: means over other splits would mislead.
    apart = interval(100 * (default - results.get(*case, "logistic", runs)), shared)
    covey = f"{100 * default.mean():.1f}; {apart.text(signed=True)}"
    return [title, *texts, logistic.text(), covey]


def _printed(dataset: str) -> list[str]:
    baseline, *gains = PRINTED[dataset]
    return ["as printed", f"{baseline:.1f}", *(f"+{gain:.1f}" for gain in gains), "", ""]


def _title(table: Table) -> str:
    return TITLES.get(table.name, table.name)


def _name(source: str, by: str) -> str:
    name = _title(load(source))
    if source in ("abalone", "segment"):
        return name
    return f"{name}, {'random splits' if by == 'random' else 'by speaker'}"


def _shape(source: str) -> str:
    table = load(source)
    return f"{table.X.shape[1]}, {len(table.classes)}, {len(table.X)}"


def _rows(results: Results, options: Options) -> list[list[str]]:
    """The table at the common constants."""
    rows = []
    for source, by in options.splits():
        name = f"**{_name(source, by)}** ({_shape(source)})"
        rows.append(_row(name, results, source, by))
        if load(source).name in PRINTED and by == "random":
            rows.append(_printed(load(source).name))
    if options.iemocap is None:
        rows.append(["**IEMOCAP** (200, 4, 5498; licensed, not run)", *[""] * 7])
        rows.append(_printed("iemocap"))
    return rows


def _calibrated_rows(results: Results, calibrated: Calibrated) -> list[list[str]]:
    """The rows that the paper prints, each at a setting of its own."""
    rows = []
    for source, setting in calibrated:
        name = f"**{_name(source, 'random')}** ({_shape(source)})"
        rows.append(_row(name, results, source, "random", setting))
        rows.append(_printed(load(source).name))
    return rows


def differences(results: Results, options: Options, calibrated: Calibrated) -> list[str]:
    """Sentences on where our numbers and the printed ones differ."""
    sentences = []
    for source, own in calibrated:
        dataset = load(source).name
        printed = PRINTED[dataset]
        for label, setting in (("paper()", _COMMON), ("its own setting", own)):
            if label != "paper()" and setting[:2] == _COMMON[:2]:
                continue
            cells = _intervals(results, source, "random", setting)
            apart = cells[0].mean - printed[0]
            text = (
                f"{TITLES[dataset]} at {label} ({setting.text}): the baseline is "
                f"{abs(apart):.1f} points {'above' if apart > 0 else 'below'} the printed one"
            )
            if not all(cell.known for cell in cells):
                sentences.append(text + "; there are too few splits for intervals.")
                continue
            gains = list(zip(GAINS.values(), cells[1:], printed[1:], strict=True))
            flat = [name for name, cell, _ in gains if cell.sign == 0]
            against = [name for name, cell, _ in gains if cell.sign < 0]
            far = [
                f"{name} ({cell.text(signed=True)} against +{value:.1f})"
                for name, cell, value in gains
                if not cell.low <= value <= cell.high
            ]
            text += "; the printed value lies outside our interval for "
            text += ", ".join(far) if far else "none of the four gains"
            if against:
                text += f"; the sign is the other one for {', '.join(against)}"
            if flat:
                text += f"; zero is inside our interval for {', '.join(flat)}"
            sentences.append(text + ".")
    return sentences


def draw(results: Results, options: Options, calibrated: Calibrated) -> Any:
    """Printed numbers as lines, ours as points with intervals."""
    datasets = [load(source).name for source, _ in calibrated]
    figure, axes = panels(1, len(datasets) + 1, size=(11, 3.4))
    for ax, (source, own) in zip(axes, calibrated, strict=False):
        dataset = load(source).name
        cases = [("paper()", _COMMON, COLORS["both"]), ("own setting", own, COLORS["theta"])]
        for offset, (label, setting, color) in zip((-0.12, 0.12), cases, strict=True):
            cells = _intervals(results, source, "random", setting)[1:]
            _marks(ax, cells, offset, fmt="o", color=color, label=f"ours, {label}")
        _printed_marks(ax, dataset)
        ax.set_title(f"{TITLES[dataset]}: gains, %", loc="left")
    ax = axes[-1]
    _printed_marks(ax, "iemocap")
    speech = [pair for pair in options.splits() if pair[0].startswith("speech:")]
    shades = list(COLORS.values())[1:]
    for number, (source, by) in enumerate(speech):
        cells = _intervals(results, source, by)[1:]
        _marks(
            ax,
            cells,
            0.13 * (number - (len(speech) - 1) / 2),
            fmt="o" if by == "random" else "s",
            color=shades[(number // 2) % len(shades)],
            mfc=None if by == "random" else "white",
            label=f"{load(source).name}, {by}",
        )
    ax.set_title("IEMOCAP as printed, and stand-ins", loc="left")
    for ax in axes:
        ax.set_xticks(range(4), [name.replace(" ", "\n", 1) for name in GAINS.values()])
        ax.axhline(0, color=GREY, lw=0.8)
        ax.legend(frameon=False, fontsize=7.5)
    return figure


def _marks(ax: Any, cells: list[Interval], offset: float, **how: Any) -> None:
    """Means with their intervals, one for each gain."""
    means, halves = [cell.mean for cell in cells], [cell.half for cell in cells]
    ax.errorbar(np.arange(4) + offset, means, halves, ms=4, capsize=3, **how)


def _printed_marks(ax: Any, dataset: str) -> None:
    ends, color = np.arange(4) - 0.35, COLORS["baseline"]
    ax.hlines(PRINTED[dataset][1:], ends, ends + 0.7, color=color, lw=1.4, label="as printed")


def section(results: Results, options: Options) -> Section:
    """Table 2, twice: at the common constants, and at each set's own."""
    calibrated = _sensitivity.calibrated(results, options)
    return filled(
        "Table 2: real data",
        "table2",
        options=options,
        n_members=N_MEMBERS,
        max_iter=Constants.max_iter,
        common=Constants().text,
        own="; ".join(f"{TITLES[load(s).name]} {found.text}" for s, found in calibrated),
        iemocap=options.iemocap and options.iemocap.rpartition("/")[2],
        **_about_rows(options),
        without_gains=_without_gains(results, options),
        gains=list(GAINS.values()),
        rows=_rows(results, options),
        calibrated_rows=_calibrated_rows(results, calibrated),
        sizes=_sizes(results, options),
        differences=differences(results, options, calibrated),
    )


def _sizes(results: Results, options: Options) -> list[list[str]]:
    """The numbers of members that were tuned."""
    rows = []
    for source, by in options.splits():
        row = [_name(source, by)]
        case = EXPERIMENT, load(source).name, condition(by, Constants())
        for name in GAINS:
            sizes = results.get(*case, f"k_{name}")
            most = 100 * np.mean(sizes >= N_MEMBERS - 1)
            row.append(f"{sizes.mean():.1f} ({most:.0f} %)")
        rows.append(row)
    return rows


def _about_rows(options: Options) -> dict[str, list[str]]:
    """Which tables have rows that repeat, and columns that are not used."""
    repeated, dropped = [], []
    for source in options.sources:
        table = load(source)
        n_repeated = len(table.X) - len(np.unique(table.X, axis=0))
        if n_repeated:
            repeated.append(f"{n_repeated} of {len(table.X)} in {_title(table)}")
        if table.dropped:
            names = ", ".join(f"`{name}`" for name in table.dropped)
            dropped.append(f"{_title(table)} {names}")
    return {"repeated": repeated, "dropped": dropped}


def _without_gains(results: Results, options: Options) -> list[str]:
    """How many splits have no relative improvement, where there are any."""
    found = []
    for source, by in options.splits():
        case = EXPERIMENT, load(source).name, condition(by, Constants())
        n_zeros = int(np.sum(results.get(*case, "baseline") == 0))
        if n_zeros:
            found.append(f"{n_zeros} of {_name(source, by)}")
    return found
