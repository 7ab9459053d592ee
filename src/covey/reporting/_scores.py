"""The sections about how good a model is beside baselines: how often right, or how far off."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from covey._intervals import proportion_interval
from covey._templates import Markup
from covey.reporting._class_facts import ClassFacts
from covey.reporting._drawing import Dot, dot_plot, scatter
from covey.reporting._facts import Facts
from covey.reporting._value_facts import Errors, ValueFacts
from covey.reporting._words import (
    Cell,
    described,
    interval,
    name_cell,
    number,
    number_cell,
    number_interval,
    one_line,
    percent,
)

# More dots than this hide each other.
_MOST_DOTS = 400
# Baselines that give one answer for all rows.
SIMPLEST = ("commonest class", "the mean")


class _Compared(NamedTuple):
    """A model beside others; ``kind`` is own, other or limit."""

    name: str
    kind: str
    score: float
    limits: tuple[float | None, float | None] = (None, None)
    losses: tuple[float | None, ...] = (None,)
    seconds: float | None = None


def _baselines(facts: Facts, measure: str, *losses: str) -> list[_Compared]:
    """The baselines that were given."""
    return [
        _Compared(
            one_line(record["name"]),
            "other",
            float(record[measure]),
            (record.get("low"), record.get("high")),
            tuple(record.get(loss) for loss in losses),
            record.get("seconds"),
        )
        for record in facts.details.baselines or ()
    ]


def _best_member(facts: ClassFacts | ValueFacts) -> str:
    return f"best member ({one_line(facts.names[facts.best_member])})"


def _ordered(compared: list[_Compared]) -> list[_Compared]:
    """The model itself, then the others from the best to the worst."""
    return [compared[0], *sorted(compared[1:], key=lambda one: (-one.score, one.name))]


def _context(
    key: str,
    compared: list[_Compared],
    title: str,
    show: Callable[[float], str],
    show_interval: Callable[[tuple], str],
    least: float = 0.0,
) -> dict:
    """The drawing and the table; with seconds where those of some model are known."""
    timed = any(one.seconds is not None for one in compared)
    known = [one for one in compared if np.isfinite(one.score)]

    def tip(one: _Compared) -> str:
        between = "" if one.limits[0] is None else f", interval {show_interval(one.limits)}"
        return f"{one.name}: {show(one.score)}{between}"

    drawing = known and dot_plot(
        key,
        [
            Dot(one.name, one.score, *_drawn(one.limits, least), one.kind, tip(one))
            for one in known
        ],
        title=title,
        description=described((one.name, show(one.score)) for one in known),
        least=least,
        show=show,
    )
    rows = [
        [
            name_cell(one.name),
            number_cell(one.score, show),
            Cell(show_interval(one.limits), -1e300 if one.limits[0] is None else one.limits[0]),
            *map(number_cell, one.losses),
            *([number_cell(one.seconds)] if timed else []),
        ]
        for one in compared
    ]
    return {"drawing": drawing or None, "rows": rows, "timed": timed}


def _drawn(limits: tuple, least: float) -> tuple[float | None, float | None]:
    """Limits that fit on the axis; none where they are not known."""
    if limits[0] is None or not np.isfinite(limits).all():
        return None, None
    return max(least, limits[0]), limits[1]


def accuracy(facts: ClassFacts) -> dict:
    """How well a classifier does against others."""
    common, share = facts.most_common
    always = f"always “{one_line(facts.classes[common])}”"
    own, limits = facts.accuracy.value, facts.accuracy[1:]
    baselines = _baselines(facts, "accuracy", "log_loss")
    compared = [_Compared("this model", "own", own, limits, (facts.log_loss,)), *baselines]
    if not any(one.name in SIMPLEST for one in baselines):
        compared.append(_Compared(always, "limit", share.value, share[1:]))
    if facts.n_members > 1 and not facts.held_out:
        best = facts.best_member
        found = proportion_interval(
            facts.member_right[:, best].sum(), facts.available[:, best].sum()
        )
        compared.append(_Compared(_best_member(facts), "limit", found.value, found[1:]))
        compared.append(_Compared("oracle", "limit", facts.oracle_accuracy))
    title = "Accuracy of this model and of what it is compared with"
    rivals = facts.details.baselines or ()
    return {
        **_context("accuracy-dots", _ordered(compared), title, percent, interval),
        "best": max(rivals, key=lambda record: record["accuracy"], default=None),
    }


def error(facts: ValueFacts) -> dict:
    """How well a regressor does against others."""
    baselines = _baselines(facts, "r2", "rmse", "mae")
    compared = [_of_errors("this model", "own", facts.errors), *baselines]
    if not any(one.name in SIMPLEST for one in baselines):
        # Its R2 is 0 by definition and has no interval.
        mean = _of_errors("always the mean", "limit", facts.constant_errors)
        compared.append(mean._replace(limits=(None, None)))
    fits_ridge = not baselines and facts.ridge_errors is not None
    if fits_ridge:
        compared.append(_of_errors("tuned ridge, cross-fitted", "other", facts.ridge_errors))
    if facts.n_members > 1 and facts.all_available and not facts.held_out:
        best = Errors(facts.truth, facts.member_values[:, facts.best_member])
        compared.append(_of_errors(_best_member(facts), "limit", best))
    compared = _ordered(compared)
    title = "R² of this model and of what it is compared with"
    rivals = [one for one in compared if one.kind == "other" and one.losses[0] is not None]
    return {
        **_context("error-dots", compared, title, number, number_interval, least=-1.0),
        "best": min(rivals, key=lambda one: one.losses[0], default=None),
        "fits_ridge": fits_ridge,
    }


def _of_errors(label: str, kind: str, errors: Errors) -> _Compared:
    losses = errors.rmse.value, errors.mae.value
    return _Compared(label, kind, errors.r2.value, errors.r2[1:], losses)


def fit(facts: ValueFacts) -> dict:
    """Predicted against true values, and residuals against predicted ones."""
    rows = np.arange(facts.n_rows)
    if facts.n_rows > _MOST_DOTS:
        rows = np.linspace(0, facts.n_rows - 1, _MOST_DOTS).astype(np.intp)
    absolute = np.abs(facts.predicted - facts.y)
    return {
        "predicted": _scatter(facts, rows, residuals=False),
        "residuals": _scatter(facts, rows, residuals=True),
        "n_dots": len(rows),
        "half": float(np.quantile(absolute, 0.5)),
        "most": float(np.quantile(absolute, 0.9)),
        "largest": float(absolute.max()),
    }


def _scatter(facts: ValueFacts, rows: np.ndarray, residuals: bool) -> Markup:
    y, predicted = facts.y[rows], facts.predicted[rows]
    title = "Residuals against predicted values" if residuals else "Predicted against true values"
    return scatter(
        "residual-dots" if residuals else "predicted-dots",
        *((predicted, y - predicted) if residuals else (y, predicted)),
        x_name="predicted" if residuals else "true",
        y_name="true less predicted" if residuals else "predicted",
        diagonal=not residuals,
        tips=[
            f"row {facts.row_name(row)}: true {number(facts.y[row])}, "
            f"predicted {number(facts.predicted[row])}"
            for row in rows
        ],
        title=title,
        description=(
            f"{len(rows)} rows; RMSE {number(facts.rmse.value)}, R² {number(facts.r2.value)}."
        ),
    )
