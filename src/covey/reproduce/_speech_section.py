"""Speech by speaker as a reader sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.reproduce import _speech
from covey.reproduce._data import load
from covey.reproduce._options import Options
from covey.reproduce._page import Section, filled
from covey.reproduce._results import Results, interval, overlap
from covey.reproduce._style import COLORS, GREY, panels

# Descriptors that the picture names, of each table.
_MOST_NAMED = 8


def _importances(results: Results, dataset: str) -> dict[str, np.ndarray]:
    """The importances of each descriptor, over splits."""
    case = _speech.EXPERIMENT, dataset, _speech.CONDITION
    prefix = "importance_"
    names = dict.fromkeys(
        row[4].removeprefix(prefix)
        for row in results.rows
        if row[:3] == case and row[4].startswith(prefix)
    )
    return {name: results.get(*case, prefix + name) for name in names}


def _group_shares(features: tuple[str, ...]) -> dict[str, float]:
    """The share of the columns that each group has."""
    groups = [_speech.group_of(feature) for feature in features]
    return {group: groups.count(group) / len(groups) for group in dict.fromkeys(groups)}


def draw(results: Results, options: Options) -> Any:
    """Importances of groups beside their share of the columns, and what counts most."""
    tables = [load(source) for source in _speech.sources(options)]
    figure, axes = panels(2, len(tables), size=(3.9 * len(tables), 5.6))
    axes = np.asarray(axes).reshape(2, len(tables))
    for (above, below), table in zip(axes.T, tables, strict=True):
        found = _importances(results, table.name)
        shares = _group_shares(table.features)
        order = [group for group in (*_speech.GROUPS, "other") if group in shares]
        by_group = {
            group: sum(
                (found[name] for name in found if _speech.group_of(name) == group),
                start=np.zeros(_speech.n_runs(options)),
            )
            for group in order
        }
        place = np.arange(len(order))
        cells = [interval(100 * by_group[group], overlap(table, "speaker")) for group in order]
        halves = [cell.half if cell.known else 0.0 for cell in cells]
        above.barh(
            place - 0.18,
            [cell.mean for cell in cells],
            0.34,
            color=COLORS["both"],
            xerr=halves,
            ecolor=GREY,
            label="importance in the flock",
        )
        above.barh(
            place + 0.2,
            [100 * shares[group] for group in order],
            0.3,
            color="#c9d1da",
            label="share of the columns",
        )
        above.set_yticks(place, order)
        above.invert_yaxis()
        above.set_title(table.name, loc="left")
        above.set_xlabel("%")
        top = sorted(found, key=lambda name: -found[name].mean())[:_MOST_NAMED]
        cells = [interval(100 * found[name], overlap(table, "speaker")) for name in top]
        halves = [cell.half if cell.known else 0.0 for cell in cells]
        below.barh(
            np.arange(len(top)),
            [cell.mean for cell in cells],
            0.6,
            xerr=halves,
            color=COLORS["logistic"],
            ecolor=GREY,
        )
        named = [f"{name} ({_speech.group_of(name)})" for name in top]
        below.set_yticks(np.arange(len(top)), named)
        below.invert_yaxis()
        below.set_xlabel("importance, %")
    axes[0, 0].legend(frameon=False, fontsize=7.5, loc="upper right")
    return figure


def section(results: Results, options: Options) -> Section:
    """A table of methods, and what the flock looks at."""
    tables = [load(source) for source in _speech.sources(options)]
    rows = []
    for method, title in _speech.METHODS.items():
        cells = []
        for table in tables:
            case = _speech.EXPERIMENT, table.name, _speech.CONDITION
            shared = overlap(table, "speaker")
            for measure in ("recall", "accuracy"):
                cells.append(interval(100 * results.get(*case, f"{method}_{measure}"), shared))
        rows.append([title, *(cell.text() for cell in cells)])
    header = ["method"]
    for table in tables:
        shape = f"{table.X.shape[1]} features, {len(table.classes)} classes, {len(table.X)} rows"
        header += [f"{table.name} ({shape}): UAR, %", "accuracy, %"]
    return filled(
        "Speech, by speaker",
        "speech",
        n_runs=_speech.n_runs(options),
        speakers=[f"{one.name} {len(np.unique(one.speakers))}" for one in tables],
        header=header,
        rows=rows,
        differences=[
            _difference(results, table.name, overlap(table, "speaker")) for table in tables
        ],
    )


def _difference(results: Results, dataset: str, shared: float) -> str:
    """How far the flock is from the others on the same splits."""
    case = _speech.EXPERIMENT, dataset, _speech.CONDITION
    flock = results.get(*case, "flock_recall")
    parts = []
    for method, against in (("svm", "the tuned SVM"), ("equal", "Algorithm 1 under g_EW")):
        apart = interval(100 * (flock - results.get(*case, f"{method}_recall")), shared)
        parts.append(f"{apart.text(signed=True)} points of UAR against {against}")
    return f"{dataset}: the flock is at {' and '.join(parts)}."
