"""What a reader asks of a fitted model: how sure, what does it look at, when is it wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covey._judgement import Judgement
from covey.cli._problem import Problem

if TYPE_CHECKING:
    import pandas as pd

# How many columns are looked at closely, by how many rows of the table.
MOST_COLUMNS = 5
_MOST_ROWS = 300
_LEAST_COUNT = 0.005  # shares below are none, once they are rounded
# A column's low, middle and high values, as shares of the rows below them.
_LOW, _MIDDLE, _HIGH = 0.1, 0.5, 0.9
# Who gives an answer so much is sure.
_SURE = 0.9
# A part of the rows is named if so many rows lie in it, and errors there are this many standard
# errors above those elsewhere: some twenty parts are looked at.
_FEWEST_ROWS = 20
_N_ERRORS = 3.0
# A category is looked at if so large a share of the rows has it.
_LEAST_SHARE = 0.05


@dataclass(frozen=True)
class Effect:
    """What a column does: the mean prediction at one of its values, and at another."""

    column: str
    share: float  # of all that counts
    outcome: str  # the class whose probability is predicted, or the target
    low: float
    high: float
    at_low: str  # values of the column, as text
    at_high: str
    direction: str  # "more", "less", "between" or "category"


# -- what does it look at ----------------------------------------------------------------------


def effects(model: Any, problem: Problem, rows: pd.DataFrame) -> list[Effect]:
    """What the columns that count most do to the prediction, by some rows of the table.

    A column is set to a low, a middle and a high value of its own for all of these rows, or to
    each of its commoner categories, and the predictions are averaged.
    """
    shares = np.asarray(model.feature_importances_)
    order = [one for one in np.argsort(-shares, kind="stable") if shares[one] >= _LEAST_COUNT]
    table = rows.iloc[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).astype(int)]
    found = []
    for position in order[:MOST_COLUMNS]:
        name = str(model.feature_names_in_[position])
        effect = _effect(model, problem, table, rows[name], name, float(shares[position]))
        if effect is not None:
            found.append(effect)
    return found


def _effect(
    model: Any, problem: Problem, table: pd.DataFrame, column: pd.Series, name: str, share: float
) -> Effect | None:
    kind = problem.kinds[name]
    values = _categories(column) if kind == "text" else _quantiles(column, kind)
    if len(values) < 2:
        return None
    # (n_values, n_classes), or (n_values, 1).
    means = np.array([_mean_prediction(model, table, name, value) for value in values])
    outcome = int(np.argmax(np.ptp(means, axis=0)))
    curve = means[:, outcome]
    if kind == "text":
        low, high, direction = int(curve.argmin()), int(curve.argmax()), "category"
    else:
        low, high = 0, len(values) - 1
        if means.shape[1] == 2 and curve[high] < curve[low]:
            # Of two classes, that which more of the column makes likelier.
            outcome, curve = 1 - outcome, means[:, 1 - outcome]
        direction = "more" if curve[high] >= curve[low] else "less"
        inside = np.clip(curve[1:-1], *sorted((curve[low], curve[high])))
        beyond = np.abs(curve[1:-1] - inside).max(initial=0.0)
        if beyond > abs(curve[high] - curve[low]):
            high, direction = 1 + int(np.abs(curve[1:-1] - inside).argmax()), "between"
    named = problem.target if problem.regression else str(model.classes_[outcome])
    ends = (_shown(values[low], kind), _shown(values[high], kind))
    return Effect(name, share, named, float(curve[low]), float(curve[high]), *ends, direction)


def _mean_prediction(model: Any, table: pd.DataFrame, name: str, value: Any) -> np.ndarray:
    changed = table.copy()
    # As a column of its own, so that its type is that of the value.
    changed[name] = [value] * len(changed)
    changed[name] = changed[name].astype(table[name].dtype, errors="ignore")
    if hasattr(model, "classes_"):
        return model.predict_proba(changed).mean(axis=0)
    return np.array([model.predict(changed).mean()])


def _quantiles(column: pd.Series, kind: str) -> list[Any]:
    """Low, middle and high values that rows of the table have, as they are written there."""
    from covey._kinds import as_kind

    numbers = as_kind(column, kind)
    known = numbers[numbers.notna()].sort_values(kind="stable")
    if not len(known):
        return []
    places = [known.index[int(share * (len(known) - 1))] for share in (_LOW, _MIDDLE, _HIGH)]
    ends = [known.loc[place] for place in (places[0], places[-1])]
    if ends[0] == ends[1]:
        # Most rows have one value: the ends of all.
        places = [known.index[0], known.index[-1]]
    return [column.loc[place] for place in places]


def _categories(column: pd.Series) -> list[Any]:
    shares = column.value_counts(normalize=True)
    return [value for value, share in shares.items() if share >= _LEAST_SHARE][:8]


def _shown(value: Any, kind: str) -> str:
    if kind == "number":
        try:
            return f"{float(value):.4g}"
        except (TypeError, ValueError):
            return str(value)
    text = str(value)
    return f"{text[:30]}…" if len(text) > 31 else text


# -- how sure is it ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sureness:
    """How right a classifier is where it is sure, and where not; how far off a regressor is."""

    level: float = 0.0  # the probability from which on it counts as sure
    share_sure: float = 0.0
    right_sure: float = 0.0
    right_unsure: float = 0.0
    half: float = 0.0  # half of all predictions are off by less
    nine_of_ten: float = 0.0


def sureness(judgement: Judgement) -> Sureness:
    """How right a model is where it is sure, by the rows held out."""
    if judgement.classes is None:
        off = np.abs(judgement.predictions - judgement.y)
        return Sureness(half=float(np.median(off)), nine_of_ten=float(np.quantile(off, 0.9)))
    top = judgement.predictions.max(axis=1)
    level = _SURE
    if not _LEAST_SHARE < (top >= level).mean() < 1 - _LEAST_SHARE:
        level = float(np.median(top))
    sure = top >= level

    def right(which: np.ndarray) -> float:
        return float(judgement.correct[which].mean()) if which.any() else float("nan")

    return Sureness(level, float(sure.mean()), right(sure), right(~sure))


# -- when is it wrong --------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A part of the rows in which errors are more frequent, or larger, than elsewhere."""

    words: str
    rows: int
    error: float  # the share of rows that are wrong, or the mean error
    elsewhere: float


def worst_class(judgement: Judgement) -> dict[str, Any] | None:
    """The class of which the largest share is not found; None where all is right."""
    classes = [one for one in judgement.by_class() if one["rows"] > one["right"]]
    enough = [one for one in classes if one["rows"] >= 5] or classes
    return max(enough, key=lambda one: 1 - one["right"] / one["rows"], default=None)


def worst_part(
    judgement: Judgement, problem: Problem, columns: Sequence[str], rows: pd.DataFrame
) -> Part | None:
    """The part of some columns, a quarter or a category, with the most errors, if it has many."""
    if judgement.classes is None:
        errors = np.abs(judgement.predictions - judgement.y)
    else:
        errors = 1.0 - judgement.correct
    table = rows.iloc[judgement.rows]
    best, found = _N_ERRORS, None
    for name in columns:
        for words, inside in _parts(table[name], problem.kinds[name], name):
            n_inside = int(inside.sum())
            if not _FEWEST_ROWS <= n_inside <= len(errors) - _FEWEST_ROWS:
                continue
            one, other = errors[inside], errors[~inside]
            spread = np.sqrt(one.var() / len(one) + other.var() / len(other))
            excess = (one.mean() - other.mean()) / spread if spread > 0 else 0.0
            if excess > best:
                best = excess
                found = Part(words, n_inside, float(one.mean()), float(other.mean()))
    return found


def _parts(column: pd.Series, kind: str, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Quarters of a number, or categories, in words, and which rows lie there."""
    from covey._kinds import as_kind

    missing = column.isna().to_numpy()
    yield f"{name} is missing", missing
    if kind == "text":
        for value in _categories(column):
            yield f"{name} is {_shown(value, kind)}", (column == value).to_numpy()
    elif kind == "number":
        numbers = as_kind(column, kind).to_numpy(dtype=np.float64)
        known = numbers[np.isfinite(numbers)]
        if not len(known):
            return
        cuts = np.unique(np.quantile(known, (0.25, 0.5, 0.75)))
        quarter = np.searchsorted(cuts, numbers, side="right")
        for number in range(len(cuts) + 1):
            inside = (quarter == number) & np.isfinite(numbers)
            yield f"{name} is {_between(cuts, number)}", inside


def _between(cuts: np.ndarray, number: int) -> str:
    if number == 0:
        return f"below {cuts[0]:.4g}"
    if number == len(cuts):
        return f"{cuts[-1]:.4g} or more"
    return f"{cuts[number - 1]:.4g} to {cuts[number]:.4g}"
