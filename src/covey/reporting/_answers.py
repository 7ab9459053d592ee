"""The five questions that a reader asks first, and what the numbers say to each."""

from __future__ import annotations

import numpy as np

from covey._intervals import proportion_interval
from covey.reporting._class_facts import ClassFacts
from covey.reporting._effects import effects_of, outcome, show_outcome
from covey.reporting._errors import LEVEL, ranges_of
from covey.reporting._facts import Facts
from covey.reporting._regions import parts_of, range_words, worst_regions
from covey.reporting._scores import SIMPLEST
from covey.reporting._value_facts import ValueFacts
from covey.reporting._words import one_line

_MOST_NAMED = 3
# From what chance on an answer counts as sure.
_SURE = 0.9
# A part of the rows that is smaller says little.
_LEAST_SHARE = 0.05
# How many points the mean confidence may be off to count as right.
_CLOSE = 0.02


def answers(facts: Facts) -> dict:
    """How sure, what it looks at, when it is wrong, what would change it, may it be trusted."""
    own = _of_classes(facts) if facts.task == "classification" else _of_values(facts)
    return {
        **own,
        **_looks_at(facts),
        "regions": facts.once(worst_regions)[:1],
        "change": _change(facts),
        "seen": _seen(facts),
        "rival": _rival(facts),
    }


def _of_classes(facts: ClassFacts) -> dict:
    top = facts.probabilities.max(axis=1)
    level = _SURE
    if not _LEAST_SHARE < (top >= level).mean() < 1.0 - _LEAST_SHARE:
        # Hardly any rows, or nearly all: half of them say more.
        level = float(np.median(top))
    sure = top >= level
    expected = float(top.mean())
    low, high = facts.accuracy.low - _CLOSE, facts.accuracy.high + _CLOSE
    known = np.flatnonzero(facts.confusion.sum(axis=1))
    missed = int(known[np.argmin(np.round(facts.recall[known], 12))])
    wrong = facts.confusion[missed].copy()
    wrong[missed] = 0
    doubts = [top[facts.predicted == code].mean() for code in np.unique(facts.predicted)]
    doubted = int(np.argmin(doubts))
    return {
        "doubted": int(np.unique(facts.predicted)[doubted]),
        "doubted_sure": float(doubts[doubted]),
        "sure": level,
        "n_sure": int(sure.sum()),
        "right_if_sure": float(facts.right[sure].mean()) if sure.any() else None,
        "right_if_not": float(facts.right[~sure].mean()) if not sure.all() else None,
        "expected": expected,
        "modest": "too sure" if expected > high else "too modest" if expected < low else None,
        "above": facts.above_common,
        "missed": missed,
        "missed_share": 1.0 - float(facts.recall[missed]),
        "n_missed": int(wrong.sum()),
        "taken_for": int(wrong.argmax()) if wrong.any() else None,
        "at_least": proportion_interval(facts.n_right, facts.n_rows, alternative="greater").low,
    }


def _of_values(facts: ValueFacts) -> dict:
    losses = facts.row_losses
    parts = [
        (range_words(low, high), float(losses[rows].mean()))
        for low, high, rows in parts_of(facts.y)
    ]
    return {
        "half": float(np.quantile(losses, 0.5)),
        "most": float(np.quantile(losses, 0.9)),
        "mean_off": float(losses.mean()),
        "guess_off": facts.constant_errors.mae.value,
        "level": LEVEL,
        "ranges": facts.once(ranges_of),
        "worst": max(parts, key=lambda part: part[1], default=None),
    }


def _looks_at(facts: Facts) -> dict:
    """The columns that matter most, and how much all shown ones do together."""
    columns = facts.columns
    used = [int(p) for p in columns.order if columns.importance[p] > 0]
    named = used[:_MOST_NAMED]
    return {
        "named": [(columns.names[p], float(columns.importance[p])) for p in named],
        "together": float(columns.importance[used[:5]].sum()),
        "n_used": len(used),
        "n_columns": len(columns.names),
    }


def _change(facts: Facts) -> dict | None:
    """The column whose values change answers most, and from what to what they move."""
    effects = facts.once(effects_of)
    if not effects:
        return None
    changes = {p: effect.changes for p, effect in effects.items()}
    best = max(changes, key=lambda p: changes[p])
    effect = effects[best]
    means = effect.means[:, outcome(facts, effect)]
    low, high = int(means.argmin()), int(means.argmax())
    show = show_outcome(facts)
    if means[low] == means[high]:
        return None
    others = [p for p in changes if p != best and changes[p] > 0]
    others.sort(key=lambda p: -changes[p])
    return {
        "column": effect.column,
        "from_value": effect.labels[low],
        "to_value": effect.labels[high],
        "from": show(float(means[low])),
        "to": show(float(means[high])),
        "outcome": (
            None if facts.task == "regression" else one_line(facts.classes[outcome(facts, effect)])
        ),
        "rows": effect.changes,
        "other": facts.columns.names[others[0]] if others else None,
        "other_rows": changes[others[0]] if others else None,
    }


def _seen(facts: Facts) -> list[tuple[str, str]]:
    """What the rows were like in the columns that matter most: ranges, or how many values."""
    found = []
    for position, effect in list(facts.once(effects_of).items())[:_MOST_NAMED]:
        kind, values = facts.columns.values(position)
        if kind == "text" or values is None:
            some = [one_line(label) for label in effect.labels[:2]]
            more = len(effect.labels) + effect.n_left - len(some)
            ways = [*some, f"{more} others"] if more else some
            words = f"{', '.join(ways[:-1])} or {ways[-1]}" if len(ways) > 1 else ways[0]
            found.append((effect.column, words))
        else:
            found.append((effect.column, f"mostly {effect.labels[0]} to {effect.labels[-1]}"))
    return found


def _rival(facts: Facts) -> dict | None:
    """The best of what the model is compared with, beside one answer for all rows."""
    measure = "accuracy" if facts.task == "classification" else "r2"
    rivals = facts.details.baselines or []
    rivals = [one for one in rivals if one["name"].split(",")[0] not in SIMPLEST]
    best = max(rivals, key=lambda one: one[measure], default=None)
    return best and {"name": best["name"], "score": float(best[measure])}
