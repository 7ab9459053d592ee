"""The section about the columns that matter most, and what their values do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from covey._templates import Markup
from covey.reporting._columns import Effect
from covey.reporting._drawing import at, box, dot, line, room_for, svg, tag, text, ticks
from covey.reporting._facts import Facts
from covey.reporting._words import described, fitted, number, one_line, rough, width_of

_MOST_SHOWN = 5
# How many columns are named beside those that are shown.
_MOST_NAMED = 12
_WIDTH, _LEFT, _TOP, _TALL = 292, 46, 8, 104


def looks(facts: Facts) -> dict | None:
    """The columns that matter most; None where no column is known to matter."""
    columns = facts.columns
    order = [int(p) for p in columns.order if columns.importance[p] > 0]
    if not order:
        return None
    effects = facts.once(effects_of)
    scale = _scale(facts, effects)
    cards = []
    for place, position in enumerate(order[:_MOST_SHOWN]):
        effect = effects.get(position)
        cards.append(
            {
                "column": columns.names[position],
                "share": columns.importance[position],
                "drawing": None if effect is None else _drawn(facts, effect, place, scale),
                "outcome": None if effect is None else outcome_name(facts, effect),
                "n_left": 0 if effect is None else effect.n_left,
            }
        )
    rest = order[_MOST_SHOWN:]
    return {
        "cards": cards,
        "rest": [(columns.names[p], columns.importance[p]) for p in rest[:_MOST_NAMED]],
        "n_rest": len(rest) - _MOST_NAMED,
        "n_unused": len(columns.names) - len(order),
        "one_outcome": facts.task == "regression" or facts.n_classes == 2,
    }


def effects_of(facts: Facts) -> dict[int, Effect]:
    """The effects of the columns that are shown, by their position."""
    columns = facts.columns
    chosen = [int(p) for p in columns.order[:_MOST_SHOWN] if columns.importance[p] > 0]
    found = {position: columns.effect(position) for position in chosen}
    return {position: effect for position, effect in found.items() if effect is not None}


def outcome(facts: Facts, effect: Effect) -> int:
    """Which output an effect is shown of: of several classes, the one that moves most."""
    if facts.task == "regression":
        return 0
    return facts.watched if facts.n_classes == 2 else int(effect.spread.argmax())


def outcome_name(facts: Facts, effect: Effect) -> str:
    """What an effect is shown of, in words."""
    if facts.task == "regression":
        return "prediction"
    return f"chance of “{one_line(facts.classes[outcome(facts, effect)])}”"


def show_outcome(facts: Facts) -> Callable[[float], str]:
    """How outputs are written."""
    return number if facts.task == "regression" else rough


def _scale(facts: Facts, effects: dict[int, Effect]) -> tuple[float, float]:
    """The ends of the one scale that all columns are drawn on."""
    found = [np.zeros(0)]
    for effect in effects.values():
        found.append(effect.typical[[outcome(facts, effect)]])
        found.append(effect.means[:, outcome(facts, effect)])
        if effect.missing is not None:
            found.append(effect.missing[[outcome(facts, effect)]])
    values = np.concatenate(found)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if facts.task == "classification":
        pad = max(0.08 * (high - low), 0.02)
        return max(0.0, low - pad), min(1.0, high + pad)
    pad = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def _drawn(facts: Facts, effect: Effect, place: int, scale: tuple[float, float]) -> Markup:
    what, show = outcome(facts, effect), show_outcome(facts)
    means = effect.means[:, what]
    draw = _bars if effect.kind == "category" else _curve
    missing = None if effect.missing is None else float(effect.missing[what])
    typical = float(effect.typical[what])
    drawing = partial(draw, effect, means, missing, typical, scale, show)
    pairs = list(zip(effect.labels, map(show, means.tolist()), strict=True))
    step = max(1, len(pairs) // 6)
    return drawing(
        key=f"effect-{place}",
        title=f"{outcome_name(facts, effect)}, by {effect.column}",
        description=described(pairs[::step]),
    )


def _curve(effect, means, missing, typical, scale, show, *, key, title, description) -> Markup:
    """A line of predictions over a column of numbers, and below how many rows are where."""
    right = 10 if missing is None else 54
    wide = _WIDTH - _LEFT - right
    low, high = effect.values[0], effect.values[-1]
    bottom = _TOP + _TALL

    def across(value: float) -> float:
        return _LEFT + wide * (value - low) / (high - low)

    def up(value: float) -> float:
        return bottom - _TALL * (value - scale[0]) / (scale[1] - scale[0])

    parts = _level_lines(scale, up, show, _LEFT + wide)
    parts.append(line(_LEFT, up(typical), _LEFT + wide, up(typical), "level"))
    points = " ".join(
        f"{at(across(v))},{at(up(m))}" for v, m in zip(effect.values, means, strict=True)
    )
    parts.append(tag("polyline", points=points, class_="curve own"))
    parts += [
        dot(across(v), up(m), 4.5, "hover", f"{effect.column} {label}: {show(m)}")
        for v, m, label in zip(effect.values, means, effect.labels, strict=True)
    ]
    if missing is not None:
        x = _LEFT + wide + 28
        tip = f"{effect.column} missing: {show(missing)}"
        parts.append(dot(x, up(missing), 4, "own", tip))
        parts.append(text(x, bottom + 42, "missing", "axis", "middle"))
    each, tall = wide / len(effect.shares), 22 * effect.shares / max(effect.shares.max(), 1e-12)
    parts += [
        box(_LEFT + each * k, bottom + 28 - size, each - 0.6, size, "bar faint")
        for k, size in enumerate(tall.tolist())
        if size > 0
    ]
    parts.append(line(_LEFT, bottom + 28, _LEFT + wide, bottom + 28, "grid"))
    parts.append(text(_LEFT, bottom + 42, effect.labels[0], "axis"))
    parts.append(text(_LEFT + wide, bottom + 42, effect.labels[-1], "axis", "end"))
    middle = len(effect.labels) // 2
    x, label = across(effect.values[middle]), effect.labels[middle]
    # In the middle there is room for a third number, unless it is close to an end.
    half = width_of(label) / 2 + 8
    ends = width_of(effect.labels[0]), width_of(effect.labels[-1])
    if _LEFT + ends[0] + half < x < _LEFT + wide - ends[1] - half:
        parts.append(text(x, bottom + 42, label, "axis", "middle"))
    return svg(key, _WIDTH, bottom + 46, *parts, title=title, description=description)


def _level_lines(scale, up, show, right) -> list[Markup]:
    parts = []
    for tick in ticks(*scale, 4):
        parts.append(line(_LEFT, up(tick), right, up(tick), "grid"))
        parts.append(text(_LEFT - 6, up(tick) + 4, show(tick), "axis", "end"))
    return parts


def _bars(effect, means, missing, typical, scale, show, *, key, title, description) -> Markup:
    """A bar of each category from the mean over all to what is predicted with it."""
    rows = [
        (label, float(mean), float(share))
        for label, mean, share in zip(effect.labels, means, effect.shares, strict=True)
    ]
    if all(isinstance(value, str) for value in effect.values):
        rows.sort(key=lambda row: -row[1])
    if missing is not None:
        rows.append(("missing", missing, np.nan))
    left = room_for([row[0] for row in rows], 96) + 10
    wide = _WIDTH - left - room_for((show(row[1]) for row in rows), 90) - 8
    step = 24

    def across(value: float) -> float:
        return left + wide * (value - scale[0]) / (scale[1] - scale[0])

    parts = [line(across(typical), 0, across(typical), step * len(rows), "level")]
    for place, (label, mean, share) in enumerate(rows):
        y = step * place
        tip = f"{effect.column} {label}: {show(mean)}"
        if np.isfinite(share):
            tip += f"; {rough(share)} of rows"
        start, end = sorted((across(typical), across(mean)))
        parts.append(text(left - 8, y + 14, fitted(label, left - 10), "axis ink", "end", label))
        parts.append(box(left, y + 5, wide, 12, "track"))
        parts.append(box(start, y + 5, max(end - start, 2.0), 12, "bar", tip))
        if np.isfinite(share):
            parts.append(box(left, y + 18.5, wide * share, 2.5, "bar faint"))
        parts.append(text(_WIDTH, y + 15, show(mean), "axis ink", "end"))
    return svg(key, _WIDTH, step * len(rows) + 2, *parts, title=title, description=description)
