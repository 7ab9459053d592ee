"""The sections about how far a regressor is from the truth, beside baselines."""

from __future__ import annotations

import numpy as np

from covey._templates import Markup
from covey.reporting._accuracy import Compared, compared_rows, ordered
from covey.reporting._charts import Dot, dot_plot, scatter
from covey.reporting._value_facts import Errors, ValueFacts
from covey.reporting._words import (
    described,
    number,
    number_cell,
    number_interval,
    one_line,
)

# More dots than this hide each other.
_MOST_DOTS = 400


def error(facts: ValueFacts) -> dict:
    """How well it does against others."""
    baselines = facts.details.baselines or ()
    compared = [
        _compared("this model", "own", facts.errors),
        *(
            Compared(
                one_line(record["name"]),
                "other",
                float(record["r2"]),
                (record.get("low"), record.get("high")),
                (record.get("rmse"), record.get("mae")),
                record.get("seconds"),
            )
            for record in baselines
        ),
        # Its R2 is 0 by definition and has no interval.
        _compared("always the mean", "limit", facts.constant_errors)._replace(limits=(None, None)),
    ]
    fits_ridge = not baselines and facts.ridge_errors is not None
    if fits_ridge:
        compared.append(_compared("tuned ridge, cross-fitted", "other", facts.ridge_errors))
    if facts.n_members > 1 and facts.all_available:
        best = Errors(facts.truth, facts.member_values[:, facts.best_member])
        label = f"best member ({one_line(facts.names[facts.best_member])})"
        compared.append(_compared(label, "limit", best))
    compared = ordered(compared)
    known = [one for one in compared if np.isfinite(one.score)]
    drawing = known and dot_plot(
        "error-dots",
        [Dot(one.name, one.score, *_drawn(one.limits), one.kind, _tip(one)) for one in known],
        title="R² of this model and of what it is compared with",
        description=described((one.name, number(one.score)) for one in known),
        least=-1.0,
        show=number,
    )
    rivals = [one for one in compared if one.kind == "other" and one.losses[0] is not None]
    return {
        "drawing": drawing or None,
        "rows": compared_rows(compared, number_cell, number_interval),
        "timed": any(one.seconds is not None for one in compared),
        "best": min(rivals, key=lambda one: one.losses[0], default=None),
        "fits_ridge": fits_ridge,
    }


def _compared(label: str, kind: str, errors: Errors) -> Compared:
    losses = errors.rmse.value, errors.mae.value
    return Compared(label, kind, errors.r2.value, errors.r2[1:], losses)


def _drawn(limits: tuple) -> tuple[float | None, float | None]:
    """Limits that fit on the axis; none where they are not known."""
    if limits[0] is None or not np.isfinite(limits).all():
        return None, None
    return max(-1.0, limits[0]), limits[1]


def _tip(one: Compared) -> str:
    between = "" if one.limits[0] is None else f", interval {number_interval(one.limits)}"
    return f"{one.name}: {number(one.score)}{between}"


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
            f"row {row}: true {number(facts.y[row])}, predicted {number(facts.predicted[row])}"
            for row in rows
        ],
        title=title,
        description=(
            f"{len(rows)} rows; RMSE {number(facts.rmse.value)}, R² {number(facts.r2.value)}."
        ),
    )
