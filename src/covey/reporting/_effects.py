"""The section about the columns that matter most, and what their values do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from covey._templates import Markup
from covey.reporting._columns import Effect
from covey.reporting._drawing import Bar, bars, value_curve
from covey.reporting._facts import Facts
from covey.reporting._words import described, number, one_line, rough

_MOST_SHOWN = 5
# How many columns are named beside those that are shown.
_MOST_NAMED = 12


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
    """A line over a column of numbers, or a bar of each category from the mean over all."""
    what, show = outcome(facts, effect), show_outcome(facts)
    means, typical = effect.means[:, what], float(effect.typical[what])
    missing = None if effect.missing is None else float(effect.missing[what])
    pairs = list(zip(effect.labels, map(show, means.tolist()), strict=True))
    words = {
        "title": f"{outcome_name(facts, effect)}, by {effect.column}",
        "description": described(pairs[:: max(1, len(pairs) // 6)]),
    }
    if effect.kind != "category":
        return value_curve(
            f"effect-{place}",
            effect.values,
            means,
            effect.shares,
            name=effect.column,
            labels=effect.labels,
            level=typical,
            ends=scale,
            missing=missing,
            show=show,
            **words,
        )
    rows = [
        Bar(label, float(mean), f"{rough(share)} of rows")
        for label, mean, share in zip(effect.labels, means, effect.shares, strict=True)
    ]
    if all(isinstance(value, str) for value in effect.values):
        rows.sort(key=lambda row: -row.value)
    if missing is not None:
        rows.append(Bar("missing", missing))
    return bars(f"effect-{place}", rows, show=show, ends=scale, zero=typical, width=292, **words)
