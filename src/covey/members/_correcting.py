"""Corrections of a fitted flock by a person who knows better; each returns a corrected copy.

Its model is data as before: a column that is left out is replaced by constants, and a function of
one column that is added to the output of every member shifts every group of members by as much, so
that a new effect needs only ramps in the basis.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from covey._blocks import as_table, take_columns
from covey._core.arrays import evenly
from covey._decisions import code_of
from covey._number_words import listed, number, quoted, signed
from covey._plain_words import value_words
from covey.evaluation import evaluate
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._inputs import check_inputs
from covey.inspection import column_effect
from covey.members._corrections import KEPT, Correction
from covey.members._importance import TrainingSample
from covey.members._linear_model import GatedModel
from covey.members._prepared_fit import ColumnScale
from covey.tables._columns import column_positions, feature_names
from covey.tables._encoders import Categories, NumberColumn
from covey.tables._known_columns import check_has, encoders_of

# The most points of a curve, and the most values of a column by which its effect is measured.
_MOST_POINTS, _BINS, _MOST_LABELS, _MOST_SHOWN, _MOST_MOVED = 100, 20, 200, 5, 100
# An effect is met within this chance, or this share of y's scale, after at most so many rounds,
# in each of which log-odds are shifted by at most so much, where their slope is at least this.
_CLOSE, _CLOSE_NUMBERS, _ROUNDS, _STEP, _LEAST_SLOPE = 5e-4, 1e-9, 40, 1.0, 1e-3
# The longest effect on a number, in units of its scale.
_FARTHEST = 1e6
# What is measured of a fit, and is not true of a corrected copy.
_MEASURED = ("_importance_of_columns", "calibration_", "out_of_fold_", "readable_", "evaluation_")
_CAUTION = "The model was corrected after it was fitted, and was not measured since."
_AGAIN = "; the members were fitted again"
# The parameters that name columns, and the measures of a price in words.
_NAMING = ("always_keep", "monotone", "interactions", "categorical_features", "gaps")
_PRICES = {
    "cost": (1, "cost of a row {} instead of {}", ""),
    "accuracy": (100, "{} % right instead of {} %", " points"),
    "r2": (1, "R² {} instead of {}", ""),
    "log_loss": (1, "log-loss {} instead of {}", ""),
    "mae": (1, "mean error {} instead of {}", ""),
}


def without(self: Any, column: Any, X: Any = None, y: Any = None, *, held_out: Any = None) -> Any:
    """Return a copy that predicts without looking at a column, which new rows need not have.

    Without X and y the column counts as its typical value in every row, and nothing is fitted
    again. This is exact, but what other columns could tell in its place is not learnt.

    Parameters
    ----------
    column : str or int
        A name or a position.
    X, y : rows and their true values, optional
        Rows to fit the flock again, with the same parameters, without the column.
    held_out : pair (X, y), optional
        Rows that no fit has seen, on which the price of the correction is measured. They also
        replace the rows by which the flock knows how far off it is (`calibrate`).

    Returns
    -------
    corrected : flock
        Its ``corrections_`` say what was done, and at what price.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X[::2], y[::2])
    >>> fair = flock.without("sex", held_out=(X[1::2], y[1::2]))
    >>> "sex" in fair.feature_names_in_, fair.corrections_[0].n_rows
    (False, 221)
    """
    place, name = _place(self, column)
    others = (self.model_.table.column_of != place).any()
    _check(others, f"{name} is the only column that the model looks at.")
    known = {key: _unnamed(key, getattr(self, key), name) for key in (*_NAMING, "feature_groups")}
    if X is not None:
        made = clone(self).set_params(**known).fit(_own_columns(self, X, place), y)
        one = Correction("without", name, f"{name} is not looked at{_AGAIN}", refitted=True)
        return _recorded(self, made, one, held_out, place)
    model = _linear(self, "without, unless it is given X and y,")
    typical = model.table.seen.typical()[name]
    said = f"{name} is not looked at: it counts as {value_words(typical)} in every row"
    one = Correction("without", name, said, {"typical": typical})
    made = _copy(self, _without(model, place)).set_params(**known)
    return _recorded(self, made, one, held_out, place)


def with_effect(
    self: Any, column: Any, points: Any, X: Any = None, *, label: Any = None, held_out: Any = None
) -> Any:
    """Return a copy in which the effect of a column on the prediction goes through some points.

    The effect is that of `covey.inspection.column_effect`, with linear pieces between points. Only
    differences count: the mean prediction does not change. Beyond the first and the last point the
    curve keeps its shape, categories that are not named keep their effects, and gaps theirs
    (unless the flock has learnt from none: then a gap counts as the typical value).

    A function of the column is added to the output of every member. So numbers are met exactly as
    far as ``y_range_`` allows; probabilities, and numbers whose logarithms members compute, by a
    search, after which the record says how far ``off`` the curve is.

    Parameters
    ----------
    column : str or int
        A name or a position, of a column of numbers or categories.
    points : mapping or pairs
        Values and their effects: a part of a probability, or numbers in units of y. At least two
        values of a number, at most 100; categories by name.
    X : rows, optional
        Rows on which the effect is measured. By default those held out, or else the training rows
        that the model remembers, at most 100.
    label : class, optional
        The class whose probability moves; by default the second one of two.
    held_out : pair (X, y), optional
        As in `without`.

    Returns
    -------
    corrected : flock

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    >>> print(flock.with_effect("age", {20: -5, 60: 5}, X).corrections_[0].said[:43])
    age: its effect goes through 20: -5 and 60:
    """
    place, name, known, output = _asked(self, column, label)
    model, classes = self.model_, getattr(self, "classes_", np.zeros(1))
    points = _points(model, place, name, known, points)
    given = _pair(held_out)[0] if X is None and held_out is not None else X
    rows = _own_rows(self, given)
    found, off, length = _through(self, place, known, points, rows, output)
    if off > 0.05 * length:
        told = f"The effect of {name} cannot go through these points: it is {number(off)} off."
        warnings.warn(told, UserWarning, stacklevel=2)
    off = off if off > 1e-6 * length else 0.0
    pairs = [[at, by] for at, by in points.items()]
    shown = [f"{value_words(at)}: {signed(by)}" for at, by in pairs[:_MOST_SHOWN]]
    shown += [f"{len(pairs) - _MOST_SHOWN} more"] * (len(pairs) > _MOST_SHOWN)
    label = classes[[output]].tolist()[0] if len(classes) > 1 else None
    of = "" if label is None else f" on the probability of {quoted(label)}"
    said = f"{name}: its effect{of} goes through {listed(shown)}"
    said += f" (at most {number(off, 2)} off, on {rows.shape[0]:,} rows)"
    one = Correction("with_effect", name, said, {"points": pairs, "label": label, "off": off})
    return _recorded(self, _copy(self, found), one, held_out)


def merge_categories(
    self: Any,
    column: Any,
    categories: Sequence[Any],
    into: Any,
    X: Any = None,
    y: Any = None,
    *,
    held_out: Any = None,
) -> Any:
    """Return a copy that reads some categories of a column as one of them.

    Parameters
    ----------
    column : str or int
        A column of categories.
    categories : sequence
        The categories to merge.
    into : category
        The category that all of them count as from now on.
    X, y : rows and their true values, optional
        Rows to fit the flock again, with the same parameters, after the merger.
    held_out : pair (X, y), optional
        As in `without`.

    Returns
    -------
    corrected : flock

    Examples
    --------
    >>> import pandas as pd
    >>> from covey import FlockRegressor
    >>> X = pd.DataFrame({"job": ["maid", "cook", "smith"] * 20, "age": range(60)})
    >>> y = X["age"] + 10 * (X["job"] == "maid") + 5 * (X["job"] == "cook")
    >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    >>> merged = flock.merge_categories("job", ["maid", "cook"], into="cook")
    >>> maids = X.assign(job="maid")
    >>> bool((merged.predict(maids) == merged.predict(X.assign(job="cook"))).all())
    True
    """
    place, name = _place(self, column)
    encoder, into = encoders_of(self)[name], str(into)
    known = getattr(encoder, "known", ())
    _check(isinstance(encoder, Categories), f"{name} is not a column of categories.")
    proper = np.iterable(categories) and not isinstance(categories, str)
    _check(proper, "categories must be a list of categories.")
    merged = dict.fromkeys(map(str, categories))
    for one in self.corrections_:
        # What was merged into a category before goes with it.
        if (one.what, one.column) == ("merge_categories", name) and one.arguments[
            "into"
        ] in merged:
            merged |= dict.fromkeys(one.arguments["categories"])
    words = [word for word in merged if word != into]
    _check(words, f"categories names nothing to merge into {into!r}.")
    for word in (*words, into):
        _check(word in known, f"{name} has no category {word!r} that the model knows.")
    _check({*known} > {*words, into}, f"{name} would tell nothing; use without.")
    said, made = f"{name}: {into!r} stands for {listed(map(repr, words))}, too", self
    if X is not None:
        import pandas as pd

        rows, said = pd.DataFrame(_own_columns(self, X)), said + _AGAIN
        values = rows.iloc[:, place].astype(object)
        rows.isetitem(place, values.where(~values.astype(str).isin(words), into))
        made = clone(self).fit(rows, y)
    table = made.model_.table
    table = replace(table, preparation=table.preparation.merged(place, words, into))
    made = _copy(made, replace(made.model_, table=table), X is not None)
    how = {"categories": words, "into": into}
    one = Correction("merge_categories", name, said, how, refitted=X is not None)
    return _recorded(self, made, one, held_out)


def with_monotone(
    self: Any, column: Any, direction: int, X: Any, y: Any, *, held_out: Any = None
) -> Any:
    """Return a copy, fitted again, whose prediction never falls, or never rises, with a column.

    Parameters
    ----------
    column : str or int
        A name or a position, of a column of numbers.
    direction : {1, -1}
        As in ``monotone``: 1 if a number, or the probability of the second class, never falls with
        more of the column; -1 if it never rises.
    X, y : rows and their true values
        Rows to fit the flock again, with the same parameters but this one.
    held_out : pair (X, y), optional
        As in `without`.

    Returns
    -------
    corrected : flock

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    >>> flock.with_monotone("bmi", 1, X, y).monotone
    {'bmi': 1}
    """
    place, name = _place(self, column)
    others = {
        key: by for key, by in (self.monotone or {}).items() if _place(self, key)[0] != place
    }
    key = name if hasattr(self, "feature_names_in_") else place
    made = clone(self).set_params(monotone={**others, key: direction})
    made.fit(_own_columns(self, X), y)
    what = (
        f"the probability of {quoted(self.classes_[1])}" if self._classifies else "the prediction"
    )
    said = f"{name}: {what} never {'falls' if direction > 0 else 'rises'} with it{_AGAIN}"
    one = Correction("with_monotone", name, said, {"direction": int(direction)}, refitted=True)
    return _recorded(self, made, one, held_out)


# -- what is asked for ----------------------------------------------------------------------------


def _check(holds: Any, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _place(flock: Any, column: Any) -> tuple[int, str]:
    """Return the position and the name of a column of a fitted flock."""
    check_is_fitted(flock, "fuser_")
    names, known = feature_names(flock), getattr(flock, "feature_names_in_", None)
    (place,) = column_positions([column], "column", len(names), known)
    return place, names[place]


def _asked(flock: Any, column: Any, label: Any) -> tuple[int, str, Sequence[str], int]:
    """Return the place and the name of a column whose effect can be changed.

    Its categories, and the place of the output that is to move, come with them.
    """
    place, name = _place(flock, column)
    classes = getattr(flock, "classes_", np.zeros(1))
    supported = name in correctable(flock)
    _check(supported, f"with_effect changes numbers and categories; {name} is neither.")
    _check(len(classes) < 3 or label is not None, f"label: name one of {len(classes)} classes.")
    _check(len(classes) > 1 or label is None, "label is for classes; this model predicts numbers.")
    output = len(classes) - 1 if label is None else code_of(classes, label, "label")
    return place, name, getattr(encoders_of(flock)[name], "known", ()), output


def correctable(flock: Any) -> list[str]:
    """Return the columns whose effects can be changed: numbers and categories that it looks at."""
    looked_at = set(_linear(flock, "with_effect").table.column_of.tolist())
    encoders = enumerate(encoders_of(flock).items())
    kept = (each for place, each in encoders if place in looked_at)
    return [name for name, encoder in kept if isinstance(encoder, NumberColumn | Categories)]


def curve_of(flock: Any, column: Any, label: Any = None, X: Any = None) -> tuple[Any, Any]:
    """Return values of a column that `with_effect` takes as points, and their effects.

    The mean effect of rows is 0.
    """
    place, name, known, output = _asked(flock, column, label)
    found = _effect(flock, flock.model_, _own_rows(flock, X), place, known)
    low, high = (None, None) if known else _seen(flock.model_, place)
    curve = found.curve[:, output] - found.rows @ found.curve[:, output] / found.rows.sum()
    pairs = [(point.value, by) for point, by in zip(found.points, curve.tolist(), strict=True)]
    pairs = [(at, by) for at, by in pairs if known or low <= at <= high]
    _check(len(pairs) > 1, f"The rows have no two values of {name} that the model knows.")
    values, effects = zip(*pairs, strict=True)
    return values, effects


def _seen(model: Any, place: int) -> Any:
    """Return the least and the greatest number that a model has seen of a column."""
    return model.basis.seen[:, np.flatnonzero(model.table.column_of == place)[0]]


def _own_rows(flock: Any, X: Any) -> Any:
    """Return rows on which effects are measured, by default those that a model remembers."""
    return flock.model_.table.remembered() if X is None else _own_columns(flock, X)


def _effect(flock: Any, model: Any, rows: Any, place: int, known: Any) -> Any:
    """Return the effect of a column on what a flock with another model predicts for rows."""
    how: dict[str, Any] = {"kind": "category", "categories": _MOST_LABELS}
    how = how if known else {"kind": "number", "bins": _BINS}
    found = column_effect(_copy(flock, model), rows, place, **how)
    if found is None:
        name = feature_names(flock)[place]
        raise ValueError(f"These rows do not show the effect of {name}; give others as X.")
    return found


def _linear(flock: Any, method: str) -> Any:
    """Return the model of a flock of linear members; refuse others."""
    model = flock.model_
    linear = isinstance(model, GatedModel)
    _check(linear, f"{method} takes linear members alone; this flock has other kinds, too.")
    enough = model.basis.seen is not None and model.table.seen is not None
    _check(enough, "The model is of a file that knows too little of the columns; fit it again.")
    return model


def _pair(held_out: Any) -> Any:
    proper = isinstance(held_out, tuple | list) and len(held_out) == 2
    _check(proper, "held_out must be a pair (X, y) of rows and their true values.")
    return held_out


def _own_columns(flock: Any, X: Any, left_out: int = -1) -> Any:
    """Return rows with the columns of a flock, except for one that is left out."""
    X, kept = as_table(X), np.arange(flock.n_features_in_) != left_out
    if not hasattr(X, "columns") or not hasattr(flock, "feature_names_in_"):
        return take_columns(X, np.flatnonzero(kept))
    names = flock.feature_names_in_[kept].tolist()
    check_has(X, names)
    return X[names]


def _unnamed(key: str, value: Any, name: str) -> Any:
    """Return a parameter that names columns, without one of them; refuse places, which change."""
    place = isinstance(value, Integral | np.bool_)
    _check(not place, f"{key} has places of columns, which change; fit it with names.")
    if isinstance(value, Mapping):
        if key == "feature_groups":
            left = {group: _unnamed(key, some, name) for group, some in value.items()}
            return {group: some for group, some in left.items() if some}
        return {one: value[one] for one in _unnamed(key, list(value), name)}
    if isinstance(value, str) or not np.iterable(value):
        return None if key == "always_keep" and value == name else value
    kept = [_unnamed(key, one, name) for one in value if not np.array_equal(one, name)]
    fewest = 2 if key == "interactions" else 1
    left = [one for one in kept if isinstance(one, str) or len(one) >= fewest]
    return tuple(left) if isinstance(value, tuple) else left


def _points(
    model: Any, place: int, name: str, known: Sequence[str], points: Any
) -> dict[Any, float]:
    """Return the points by value, numbers in order; refuse what is no curve."""
    wrong = f"points must map values of {name} to their effects."
    fewest, most = (1, _MOST_LABELS) if known else (2, _MOST_POINTS)
    _check(np.iterable(points), wrong)
    pairs = list(points.items() if isinstance(points, Mapping) else points)
    enough = fewest <= len(pairs) <= most
    _check(enough, f"points must be {fewest} to {most} values of {name}, got {len(pairs):,}.")
    try:
        pairs = [(str(at) if known else float(at), float(by)) for at, by in pairs]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(wrong) from None
    found: dict[Any, float] = dict(pairs if known else sorted(pairs))
    effects = np.array(list(found.values()))
    finite = np.isfinite([*effects, *(() if known else found)]).all()
    _check(finite, "points must be finite numbers.")
    _check(len(found) == len(pairs), f"points gives two effects for one value of {name}.")
    # Effects of categories are beside the mean, which is 0; a difference may overflow to infinity.
    near, most, kind = [*effects, *[0.0] * bool(known)], 1.0, "parts of a probability"
    if model.target.is_numeric:
        most, kind = _FARTHEST * model.target.unit, "effects on a number"
    _check(
        float(max(near)) - float(min(near)) < most,
        f"points are {kind}, and differ by less than {number(most)}.",
    )
    if not known:
        low, high = _seen(model, place)
        within = low <= min(found) and max(found) <= high
        _check(within, f"points must be values of {name} from {low:g} to {high:g}.")
        return found
    codes = _codes(model, place)[2]
    for word, by in list(found.items()):
        _check(word in known, f"{name} has no category {word!r} that the model knows.")
        for one in (one for one, code in codes.items() if code == codes[word]):
            told = found.setdefault(one, by) == by
            _check(told, f"The model does not tell {one!r} and {word!r} of {name} apart.")
    return found


# -- what is changed ------------------------------------------------------------------------------


def _without(model: Any, place: int) -> GatedModel:
    """Return a model of a table without a column, which always has its typical value."""
    table, scaling = model.table, model.scaling
    kept = table.column_of != place
    typical = table.rows(table.remembered(typical=True))[0]
    basis, to, factor, constant = model.basis.without(~kept, typical)
    moved = []
    for coef in (model.coef, model.gate_coef):
        moved.append(np.zeros((*coef.shape[:-1], basis.n_columns)))
        np.add.at(moved[-1].T, to[to >= 0], (coef * factor).T[to >= 0])
    return replace(
        model,
        table=table.without(place),
        scaling=ColumnScale(scaling.mean[kept], scaling.scale[kept], scaling.usable[kept]),
        basis=basis,
        coef=moved[0],
        gate_coef=moved[1],
        intercept=model.intercept + model.coef @ constant,
        gate_intercept=model.gate_intercept + model.gate_coef @ constant,
        support=np.delete(model.support, place, axis=1),
        gate_support=np.delete(model.gate_support, place, axis=1),
        column_mean=model.column_mean[: len(kept)][kept],
        column_scale=model.column_scale[: len(kept)][kept],
    )


def _added(
    model: Any, place: int, output: int, at: int, knots: Any, heights: Any, more: Any
) -> GatedModel:
    """Add a function of a column to an output of each member.

    It rises from one of the heights (m,) to the next between the knots (m,) of a column of
    numbers, ``at``. The coefficients of columns of numbers get some ``more``.
    """
    old, rises, (columns, by) = model.basis, np.diff(heights), more
    with np.errstate(over="ignore"):
        kept = np.flatnonzero((rises != 0) & np.isfinite(1.0 / np.diff(knots)))
    # A ramp that is there, such as that of an earlier correction, is used again.
    ends = list(zip(old.feature, old.low, old.high, strict=True))
    ramps = [(at, knots[k], knots[k + 1]) for k in kept]
    new = [one for one in ramps if one not in ends]
    low, high = np.array(new).reshape(-1, 3).T[1:]
    none = np.full(len(new), -1)
    basis, ends = old._with(none * 0 + at, none, low, high), ends + new
    coef, gate = (
        np.concatenate([one, np.zeros((*one.shape[:-1], len(new)))], axis=-1)
        for one in (model.coef, model.gate_coef)
    )
    coef[:, output, columns] += by
    coef[:, output, [ends.index(one) for one in ramps]] += rises[kept]
    intercept, support = model.intercept.copy(), model.support.copy()
    intercept[:, output] += heights[0]
    support[:, place] = True
    parts = {"coef": coef, "gate_coef": gate, "intercept": intercept, "support": support}
    return replace(model, basis=basis, **parts)


def _codes(model: Any, place: int) -> tuple[np.ndarray, Any, dict[str, int]]:
    """Return the numbers (n_known + 2, width) of the categories of a column, and their levels.

    The categories have codes; those that the model does not tell apart have the same.
    """
    made = model.table.preparation
    of = int(np.flatnonzero(made.feature_of == place)[0])
    table, words = made.tables[of], made.words[of]
    code = np.unique(table[: len(words)], axis=0, return_inverse=True)[1].ravel()
    return table, made.levels.get(of), dict(zip(words, code.tolist(), strict=True))


def _with_labels(model: Any, place: int, output: int, shift: dict[Any, float]) -> GatedModel:
    """Add a number for each category of a column to an output of each member."""
    table, levels, codes = _codes(model, place)
    own, n_known = np.flatnonzero(model.table.column_of == place), len(codes)
    by = {codes[word]: one for word, one in shift.items() if word in codes}
    # The last rows are a gap, and a category that was never seen: both keep what they had.
    values = np.array([by.get(code, 0.0) for code in (*codes.values(), -1, -1)])
    if levels is None:
        # Means of the target are one number, of which the shift is a function.
        at = output if len(own) > 1 else 0
        knots, first = np.unique(table[:, at], return_index=True)
        return _added(model, place, output, own[at], knots, values[first], ([], 0.0))
    rows = np.arange(n_known + (n_known in levels))
    columns = np.column_stack([table, np.ones(len(table))])
    found = np.linalg.lstsq(columns[rows], values[rows])[0]
    return _added(model, place, output, 0, np.zeros(1), found[-1:], (own, found[:-1]))


def _through(
    flock: Any, place: int, known: Sequence[str], points: dict[Any, float], rows: Any, output: int
) -> tuple[GatedModel, float, float]:
    """Return a model in which the effect of a column goes through some points.

    How far off it is at most, and the length of the curve, are returned, too.
    """
    model, numeric, name = flock.model_, not flock._classifies, feature_names(flock)[place]
    own, unit = np.flatnonzero(model.table.column_of == place), model.target.unit if numeric else 1
    # Members compute numbers, or logarithms of numbers or of odds.
    plain = numeric and not model.target.loss.is_log

    def measured(model: GatedModel) -> tuple[Any, ...]:
        """Return values, their shares of rows, the curve, and its slope by members' outputs."""
        found = _effect(flock, model, rows, place, known)
        values, share = np.array([one.value for one in found.points]), found.rows / rows.shape[0]
        curve, means = found.curve[:, output], [one.prediction[output] for one in found.points]
        moved = np.array(means)[None]
        if not known:
            # Between these values the curve has the shape of mean predictions, with their knots.
            basis: Any = model.basis
            ends, seen = np.append(basis.low, basis.high), basis.seen[:, own[0]]
            ends = ends[np.tile(basis.feature == own[0], 2)]
            ends = ends[(ends > seen[0]) & (ends < seen[1])]
            knots = np.unique([*values, *points, *ends])
            some = model.rows(rows)[evenly(np.arange(rows.shape[0]), _MOST_MOVED)]
            tried = np.repeat(some, len(knots), axis=0)
            tried[:, own] = 0.0
            tried[:, own[0]] = np.tile(knots, len(some))
            moved = model.fused(tried).reshape(len(some), len(knots), -1)[..., output]
            shape = moved.mean(axis=0)
            curve = np.interp(knots, values, curve - np.interp(values, knots, shape)) + shape
            share = np.bincount(np.searchsorted(knots, values), share, len(knots))
            values = knots
        slope = (moved if numeric else moved * (1 - moved)).mean(axis=0)
        return values, share / share.sum(), curve, np.maximum(slope, _LEAST_SLOPE * unit)

    def shifted(delta: np.ndarray) -> GatedModel:
        if known:
            return _with_labels(model, place, output, dict(zip(values, delta, strict=True)))
        # A gap is filled with a number, whose shift the mark of the gap takes back.
        fill = model.table.preparation.fill[own[0]] if len(own) > 1 else 0.0
        more = own[1:], -np.interp(fill, values, delta)
        return _added(model, place, output, own[0], values, delta, more)

    values, share, curve, slope = measured(model)
    if known:
        codes, level = _codes(model, place)[2], float(share @ curve)
        shown = {codes.get(value) for value in values}
        absent = [word for word in points if codes[word] not in shown]
        _check(not absent, f"No row has {absent[:1]} as {name}; give other rows as X.")
        now_of = zip(values, curve - level, strict=True)
        wanted = np.array([level + points.get(*one) for one in now_of])
    else:
        at, by = list(points), list(points.values())
        # Beyond the first point and the last one the curve keeps its shape.
        wanted = np.interp(values, at, by) + curve
        wanted -= np.interp(np.clip(values, at[0], at[-1]), values, curve)
    # The mean prediction stays.
    wanted += share @ (curve - wanted)
    length, delta = float(max(np.ptp(wanted), np.ptp(curve))), np.zeros(len(values))
    close = _CLOSE_NUMBERS * unit if numeric else _CLOSE
    found, least, last = model, np.inf, model
    for _ in range(_ROUNDS):
        miss = wanted - curve
        if (off := float(np.abs(miss).max())) < least:
            found, least = last, off
        if off <= close:
            break
        delta = delta + (miss if plain else np.clip(miss / slope, -_STEP, _STEP))
        last = shifted(delta)
        _, _, curve, slope = measured(last)
    return found, least, length


# -- the copy and its record ----------------------------------------------------------------------


def _copy(flock: Any, model: Any, refitted: bool = False) -> Any:
    """Return a flock that predicts by another model, without what was measured of its own."""
    made = type(flock)(**flock.get_params(deep=False))
    gone = () if refitted else _MEASURED
    vars(made).update({name: one for name, one in vars(flock).items() if name not in gone})
    made.model_ = model
    return made


def priced(old: Any, made: Any, held_out: Any, left_out: int = -1) -> tuple[Any, Any, Any, str]:
    """Return rows and their true values, the price of a copy on them, and it in words."""
    given: Any = check_inputs(old, *_pair(held_out))
    X, y, decision = _own_columns(old, given.X, left_out), given.y, getattr(old, "decision_", None)
    _check(len(y) > 1, "held_out must have two rows at least, to measure a price by.")
    ask = "predict" if given.classes is None else "predict_proba"
    now, before = getattr(made, ask)(X), getattr(old, ask)(given.X)
    models = [Predicted("corrected", now, "own"), Predicted("before", before)]
    by_cost = decision if decision is not None and decision.kind == "costs" else None
    judged = HeldOut(y, models, given.classes, decision=by_cost)
    after, was = (judged.score(each).measures for each in models)
    gap = judged.difference(*models).measures
    # Of classes that costs decide, differences are those of the most probable ones.
    names = [name for name in _PRICES if name in gap and (name != "accuracy" or not by_cost)]
    price = {name: (was[name].value, after[name].value, *gap[name]) for name in names}
    words = [
        f"{said.format(number(by * new), number(by * then))} "
        f"({signed(by * gain)}{unit}; 95 %: {signed(by * low)} to {signed(by * high)})"
        for name, (then, new, gain, low, high) in price.items()
        for by, said, unit in [_PRICES[name]]
    ]
    return X, y, price, f"On {len(y):,} given rows: {', '.join(words)}"


def _recorded(old: Any, made: Any, one: Correction, held_out: Any, left_out: int = -1) -> Any:
    """Return the corrected copy with its record, measured anew where there are rows to do so."""
    X: Any = None
    y: Any = None
    cost, decision = "The cost of that is not known", getattr(old, "decision_", None)
    if held_out is not None:
        X, y, price, cost = priced(old, made, held_out, left_out)
        one = replace(one, n_rows=len(y), price=price)
        if not one.refitted:
            made.calibrate(X, y)
            sample = TrainingSample.of(X, y, None)
            made._importance_of_columns = replace(sample, source="given rows")
    # A refit forgets what was done to members before, but neither columns nor constraints.
    known = [each for each in old.corrections_ if not one.refitted or each.what in KEPT]
    model = replace(made.model_, corrections=(*known, replace(one, said=f"{one.said}. {cost}.")))
    rows = X if X is not None or model.table.seen is None else model.table.remembered()
    if isinstance(model, GatedModel) and not one.refitted and rows is not None:
        model = _described(model, old.model_, model.rows(rows))
    made.model_ = model
    if decision is not None:
        counts = dict.fromkeys(("alarms", "cost", "cost_without", "source"))
        made.decision_ = replace(decision, **counts)
    vars(made).update({name: one for name, one in vars(old).items() if name == "life_"})
    if left_out >= 0:
        vars(made).pop("seen_", None)  # hashes of rows that had the column, too
    told = getattr(old, "evaluation_", None)
    if told is not None and rows is not None:
        about = {"target": told.target, "n_rows": told.n_rows}
        about["caution"] = _CAUTION if y is None else None
        made.evaluation_ = evaluate(made, rows, y, **about).without_rows()
    return made


def _described(model: GatedModel, before: GatedModel, rows: np.ndarray) -> GatedModel:
    """Return a model with the moments of its columns, its terms, and its members' means."""
    columns, n = model.basis.rows(rows), model.basis.n_features
    mean, scale = (
        np.append(known[:n], found[n:])
        for known, found in (
            (model.column_mean, columns.mean(axis=0)),
            (model.column_scale, columns.std(axis=0)),
        )
    )
    gated = [
        gates.any(axis=0).sum() for gates in np.split(model.gate_coef, np.cumsum(model.sizes))
    ]
    return replace(
        model,
        n_terms=int(model.coef.any(axis=1).sum() + sum(gated)),
        column_mean=mean,
        column_scale=scale,
        shares=model.weights_of_rows(rows).mean(axis=0),
        means=model.outputs(rows).mean(axis=0),
    )
