"""Corrections of a fitted flock by a person who knows better; each returns a corrected copy.

Its model is data as before: a column that is left out is replaced by constants, and a function of
one column that is added to the output of every member shifts every group of members by as much, so
that a new effect needs only ramps in the basis.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from covey._blocks import as_table, take_columns
from covey._core.basis import Basis
from covey._decisions import code_of
from covey._number_words import listed, number
from covey.evaluation import Evaluation, evaluate
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._inputs import check_inputs
from covey.inspection import column_effect
from covey.inspection._effects import ColumnEffect
from covey.inspection._mixing_rows import user_table
from covey.inspection._ranking import measured
from covey.members._corrections import Correction
from covey.members._importance import HeldOutSample, TrainingSample
from covey.members._linear_model import GatedModel
from covey.members._prepared_fit import ColumnScale
from covey.tables._columns import column_positions, feature_names
from covey.tables._encoders import Categories, NumberColumn
from covey.tables._known_columns import encoders_of
from covey.tables._known_table import KnownTable
from covey.tables._seen_columns import shown_value

# The most points of a curve, and the most values of a column by which its effect is measured.
_MOST_POINTS, _BINS, _MOST_LABELS = 100, 20, 200
# An effect is met within this chance, or this share of y's scale, after at most so many rounds.
_CLOSE, _CLOSE_NUMBERS, _ROUNDS = 5e-4, 1e-9, 40
# A log-odds is shifted by no more than this, and its slope is at least this.
_FARTHEST, _LEAST_SLOPE = 25.0, 1e-3
# What is measured of a fit, and is not true of a corrected copy.
_MEASURED = (
    *("_importance_of_columns", "calibration_", "out_of_fold_", "readable_", "decision_"),
    *("evaluation_", "seen_"),
)
# Pairs of rows and their true values.
Rows = tuple[Any, ArrayLike]


def without(
    self: Any, column: Any, X: Any = None, y: ArrayLike | None = None, *, held_out: Any = None
) -> Any:
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
    table = self.model_.table
    if table.n_features_in_ == 1:
        raise ValueError(f"{name} is the only column of the model, which would know nothing.")
    parameters = _parameters_without(self, name, place)
    if X is not None:
        rows = _own_columns(self, X, None)
        made = _fitted_again(self, parameters, _own_columns(self, rows, place), y)
        one = Correction("without", name, {"typical": None}, refitted=True)
        return _recorded(self, made, one, held_out, left_out=place)
    model = _linear(self, "without", " Or give X and y: then it is fitted again.")
    typical = _remembered(table, typical=True)
    if typical is None:
        raise ValueError(f"The model does not know what is typical of {name}; give X and y.")
    made = _copy(self, _without(model, place, table.rows(typical)[0]))
    made.set_params(**parameters)
    value = shown_value(table.seen.columns[place].typical, table.seen.columns[place])
    one = Correction("without", name, {"typical": value})
    return _recorded(self, made, one, held_out, left_out=place)


def with_effect(
    self: Any,
    column: Any,
    points: Any,
    X: Any = None,
    *,
    label: Any = None,
    held_out: Any = None,
) -> Any:
    """Return a copy in which the effect of a column on the prediction goes through some points.

    The effect is that of `covey.inspection.column_effect`, with linear pieces between points. Only
    differences count: the mean prediction does not change. Beyond the first and the last point the
    curve keeps its shape, categories that are not named keep their effects, and gaps theirs
    (unless the flock has learnt from none: then a gap counts as the typical value).

    A function of the column is added to the output of every member. So numbers are met exactly as
    far as ``y_range_`` allows, and probabilities by a search, after which the record says how far
    ``off`` the curve is.

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
    >>> print(flock.with_effect("age", {20: -5, 60: 5}, X).corrections_[0].done())
    age: its effect goes through 20: -5 and 60: +5 (at most 0 off, on 442 rows)
    """
    place, name = _place(self, column)
    table = _linear(self, "with_effect").table
    rows = X if X is not None or held_out is None else _pair(held_out)[0]
    rows = _remembered(table) if rows is None else user_table(self, rows)
    if rows is None:
        raise ValueError(f"The model remembers no rows; give X, to measure the effect of {name}.")
    output = _output(self, label)
    curve = _Curve(self, place, name, rows, output, points)
    found, off = curve.met()
    shown = None if label is None and output == 0 else self.classes_[[output]].tolist()[0]
    pairs = [[at, by] for at, by in curve.points.items()]
    how = {"points": pairs, "label": shown, "off": 0.0 if off < 1e-6 * curve.length else off, "rows": int(rows.shape[0])}
    if off > max(10 * curve.close, 0.05 * curve.length):
        warnings.warn(
            f"The effect of {name} cannot go through these points: at one it is off by "
            f"{number(off)}.",
            UserWarning,
            stacklevel=2,
        )
    return _recorded(self, _copy(self, found), Correction("with_effect", name, how), held_out)


def with_monotone(self: Any, column: Any, direction: int, *, held_out: Any = None) -> Any:
    """Return a copy whose prediction never falls, or never rises, with a column.

    In every member the effect of the column becomes the monotone one that is nearest to it, and
    nothing is fitted again. That is exact for all values of the other columns, and possible where
    the column stands in no gate and in no product, for numbers and for two classes.

    Parameters
    ----------
    column : str or int
        A column of numbers.
    direction : {1, -1}
        1: the number, or the probability of the second class, never falls with it.
    held_out : pair (X, y), optional
        As in `without`.

    Returns
    -------
    corrected : flock

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = FlockRegressor(effort="fast", max_members=1, max_terms=12, random_state=0)
    >>> print(flock.fit(X, y).with_monotone("bmi", 1).corrections_[0])
    bmi: no prediction falls when it rises. The cost of that is not known.
    """
    place, name = _place(self, column)
    model = _linear(self, "with_monotone")
    if direction not in (1, -1) or isinstance(direction, bool):
        raise ValueError(
            f"direction must be 1 (never falls) or -1 (never rises), got {direction!r}."
        )
    _output(self, None, "with_monotone")
    if not isinstance(_encoder(self, name), NumberColumn):
        raise ValueError(f"with_monotone takes a column of numbers, which {name} is not.")
    basis, at = model.basis, int(np.flatnonzero(model.table.column_of == place)[0])
    own, paired = basis.feature == at, basis.partner >= 0
    products = paired & (own | (basis.partner == at))
    if model.gate_coef[:, own | products].any() or model.coef[..., products].any():
        raise ValueError(
            f"{name} stands in a gate or in a product, so that its effect depends on other "
            "columns; with_effect changes it on average."
        )
    if basis.reach is None:
        raise ValueError("This file knows no ranges of columns; fit the model again.")
    knots = np.concatenate(
        [basis.reach[:, at], basis.low[own & ~paired], basis.high[own & ~paired]]
    )
    knots = np.unique(np.clip(knots[np.isfinite(knots)], *basis.reach[:, at]))
    rows = np.zeros((basis.n_features, len(knots)))
    rows[at] = knots
    sides = model.coef[:, -1] - (model.coef[:, 0] if model.coef.shape[1] == 2 else 0.0)
    effects = sides[:, own] @ basis.expand(rows)[own]
    # Each knot counts by the rows near it; the ends are beyond all of them.
    values = np.array(model.table.seen.columns[place].values or knots)
    nearest = np.abs(values[:, None] - knots).argmin(axis=1)
    weight = np.bincount(nearest, minlength=len(knots)) + 0.01
    wanted = np.array(
        [
            isotonic_regression(one, sample_weight=weight, increasing=direction > 0)
            for one in effects
        ]
    )
    found = _with_ramps(model, place, at, knots, wanted - effects, model.coef.shape[1] - 1)
    one = Correction("with_monotone", name, {"direction": int(direction)})
    return _recorded(self, _copy(self, found), one, held_out)


def merge_categories(
    self: Any,
    column: Any,
    categories: Sequence[Any],
    into: Any,
    X: Any = None,
    y: ArrayLike | None = None,
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
    known = _categories(self, name)
    if isinstance(categories, str) or not np.iterable(categories):
        raise TypeError(f"categories must be a list of categories, got {categories!r}.")
    into, words = str(into), list(dict.fromkeys(map(str, categories)))
    for word in (*words, into):
        if word not in known:
            raise ValueError(f"{name} has no category {word!r} that the model knows.")
    words = [word for word in words if word != into]
    if not words:
        raise ValueError(f"categories names nothing but {into!r}; give another category to merge.")
    if X is None:
        model = _merged(self.model_, place, words, into)
        made = _copy(self, model)
    else:
        rows = _own_columns(self, X, None)
        renamed = rows.copy()
        values = renamed[name].astype(object)
        renamed[name] = values.where(~values.astype(str).isin(words), into)
        made = _fitted_again(self, {}, renamed, y)
        if isinstance(_encoder(made, name), Categories):
            made.model_ = _merged(made.model_, place, words, into)
    how = {"categories": words, "into": into}
    one = Correction("merge_categories", name, how, refitted=X is not None)
    return _recorded(self, made, one, held_out)


# -- what is asked for ----------------------------------------------------------------------------


def _place(flock: Any, column: Any) -> tuple[int, str]:
    """Return the position and the name of a column of a fitted flock."""
    check_is_fitted(flock, "fuser_")
    table = flock.model_.table
    if not isinstance(column, str | Integral):
        raise TypeError(f"column must be a name or a position, got {column!r}.")
    names = feature_names(table)
    known = None if table.feature_names_in_ is None else names
    (place,) = column_positions([column], "column", len(names), known)
    return place, names[place]


def _linear(flock: Any, method: str, but: str = "") -> GatedModel:
    """Return the model of a flock of linear members; refuse others."""
    if not isinstance(flock.model_, GatedModel):
        raise ValueError(
            f"{method} changes linear members, and this flock has other kinds, too; fit it with "
            f"members='linear'.{but}"
        )
    return flock.model_


def _encoder(flock: Any, name: str) -> Any:
    return encoders_of(flock)[name]


def _categories(flock: Any, name: str) -> tuple[str, ...]:
    encoder = _encoder(flock, name)
    if not isinstance(encoder, Categories):
        raise ValueError(f"{name} is not a column of categories.")
    return encoder.known


def _output(flock: Any, label: Any, method: str = "with_effect") -> int:
    """Return the output of members that moves: 0 for numbers, or the position of a class."""
    classes = getattr(flock, "classes_", None)
    if classes is None:
        if label is not None:
            raise ValueError("label is for classes, and this flock predicts numbers.")
        return 0
    if label is None and len(classes) > 2:
        more = "; name the one that moves: label=" if method == "with_effect" else " instead of 2"
        raise ValueError(f"{method}: there are {len(classes)} classes{more}.")
    return 1 if label is None else code_of(classes, label, "label")


def _pair(held_out: Any) -> Rows:
    if not isinstance(held_out, tuple | list) or len(held_out) != 2:
        raise TypeError("held_out must be a pair (X, y) of rows and their true values.")
    return held_out[0], held_out[1]


def _remembered(table: KnownTable, typical: bool = False) -> Any:
    """Return training rows that a model remembers, or the typical row; None if it has none."""
    seen = table.seen
    if seen is None or not (typical or seen.kept):
        return None
    kept = tuple((one.typical,) for one in seen.columns) if typical else seen.kept
    if table.feature_names_in_ is None:
        plain = all(one.kind == "number" for one in seen.columns)
        return replace(seen, kept=kept).rows_like(np.zeros(1, dtype=float if plain else object))
    import pandas as pd

    columns = zip(seen.columns, kept, strict=True)
    return pd.DataFrame({one.name: [one.raw(value) for value in own] for one, own in columns})


def _own_columns(flock: Any, X: Any, left_out: int | None) -> Any:
    """Return rows with the columns of a flock, except for one that is left out."""
    X, names = as_table(X), getattr(flock, "feature_names_in_", None)
    places = list(range(flock.n_features_in_))
    if hasattr(X, "columns") and names is not None:
        known = {str(name): place for place, name in enumerate(X.columns)}
        absent = [name for k, name in enumerate(names) if name not in known and k != left_out]
        if absent:
            raise ValueError(f"X lacks {listed(map(repr, absent[:3]))}, which the model reads.")
        places = [known.get(name, -1) for name in names]
    places = [at for place, at in enumerate(places) if place != left_out]
    return take_columns(X, np.array(places))


def _parameters_without(flock: Any, name: str, place: int) -> dict[str, Any]:
    """Return the parameters that name columns, for a table that lacks one."""

    def rest(columns: Any) -> Any:
        if callable(columns) or columns is None or columns in ("from_dtype",):
            return columns
        columns = [columns] if isinstance(columns, str | Integral) else list(columns)
        if columns and all(isinstance(one, bool | np.bool_) for one in columns):
            return columns[:place] + columns[place + 1 :]
        others = [one for one in columns if one != name and one != place]
        return [one if isinstance(one, str) else one - (one > place) for one in others]

    made, given = {}, flock.get_params(deep=False)
    for key in ("always_keep", "categorical_features", "gaps", "feature_groups"):
        value = given.get(key)
        if key == "feature_groups" and value is not None:
            named = value.items() if isinstance(value, Mapping) else enumerate(value)
            groups = {group: rest(columns) for group, columns in named}
            groups = {group: columns for group, columns in groups.items() if columns}
            made[key] = groups if isinstance(value, Mapping) else list(groups.values())
        elif isinstance(value, Mapping):
            made[key] = {rest(one)[0]: own for one, own in value.items() if rest(one)}
        elif value is not None and not isinstance(value, str):
            made[key] = rest(value)
        elif value == name:
            made[key] = None
    return made


# -- what is changed ------------------------------------------------------------------------------


def _fitted_again(flock: Any, parameters: dict[str, Any], X: Any, y: Any) -> Any:
    """Return a flock with the same parameters, fitted to these rows."""
    if y is None:
        raise ValueError("X is given without y; a refit needs both.")
    lost = [
        one.column for one in flock.corrections_ if one.what in ("with_effect", "with_monotone")
    ]
    if lost or (parameters == {} and flock.corrections_):
        raise ValueError(
            "A refit would undo earlier corrections of "
            f"{listed(one.column for one in flock.corrections_)}; fit again first, then correct."
        )
    return clone(flock).set_params(**parameters).fit(X, y)


def _with_basis(
    model: GatedModel, basis: Basis, moved: Callable[[np.ndarray], np.ndarray], **more: Any
) -> GatedModel:
    """Return a model on another basis; ``moved`` makes its coefficients, means and scales."""
    found = replace(model, basis=basis, coef=moved(model.coef), gate_coef=moved(model.gate_coef))
    return replace(found, n_terms=model.n_terms - _terms(model) + _terms(found), **more)


def _terms(model: GatedModel) -> int:
    """Return how many columns have coefficients, in members and in the gates of groups."""
    gated = [
        (model.gate_coef[model.group_of == g] != 0).any(axis=0) for g in range(len(model.sizes))
    ]
    return int((model.coef != 0).any(axis=1).sum() + np.sum(gated))


def _fixed(model: GatedModel, columns: np.ndarray, values: np.ndarray) -> GatedModel:
    """Return a model in which some columns of numbers (D,) always have these values."""
    basis, to, factor, constant = model.basis.fixed(columns, values)
    used = to >= 0

    def moved(coef: np.ndarray) -> np.ndarray:
        found = np.zeros((*coef.shape[:-1], basis.n_columns))
        np.add.at(found, (..., to[used]), coef[..., used] * factor[used])
        return found

    mean, scale = np.zeros(basis.n_columns), np.ones(basis.n_columns)
    mean[to[used]], scale[to[used]] = model.column_mean[used], model.column_scale[used]
    n_plain = basis.n_features
    mean[:n_plain], scale[:n_plain] = model.column_mean[:n_plain], model.column_scale[:n_plain]
    # Ramps that were products have the moments of their features.
    new = to[used & (model.basis.partner >= 0) & (factor != 1.0) & (to >= n_plain)]
    width, of = basis.high[new] - basis.low[new], basis.feature[new]
    mean[new], scale[new] = (mean[of] - basis.low[new]) / width, scale[of] / width
    return _with_basis(
        model,
        basis,
        moved,
        intercept=model.intercept + model.coef @ constant,
        gate_intercept=model.gate_intercept + model.gate_coef @ constant,
        column_mean=mean,
        column_scale=scale,
    )


def _without(model: GatedModel, place: int, values: np.ndarray) -> GatedModel:
    """Return a model of a table without a column, which counts as if it had these values (D,)."""
    table, kept = model.own_table, model.own_table.column_of != place
    fixed = _fixed(model, ~kept, values)
    basis, columns = fixed.basis.narrowed(kept)
    scaling = model.scaling
    return replace(
        fixed,
        table=table.without(place),
        scaling=ColumnScale(scaling.mean[kept], scaling.scale[kept], scaling.usable[kept]),
        basis=basis,
        coef=np.ascontiguousarray(fixed.coef[..., columns]),
        gate_coef=np.ascontiguousarray(fixed.gate_coef[..., columns]),
        column_mean=fixed.column_mean[columns],
        column_scale=fixed.column_scale[columns],
        support=np.delete(model.support, place, axis=1),
        gate_support=np.delete(model.gate_support, place, axis=1),
    )


def _with_ramps(
    model: GatedModel, place: int, at: int, knots: np.ndarray, heights: np.ndarray, output: int
) -> GatedModel:
    """Add a function of a column of numbers to an output of each member.

    It is linear between knots (m,), where its values are ``heights`` (K, m), or (m,) for all.
    """
    heights = np.broadcast_to(heights, (model.n_members, len(knots)))
    rises = np.diff(heights, axis=1)
    kept = (rises != 0).any(axis=0)
    low, high, n = knots[:-1][kept], knots[1:][kept], int(kept.sum())
    basis = model.basis._with(np.full(n, at), np.full(n, -1), low, high)

    def moved(coef: np.ndarray) -> np.ndarray:
        return np.concatenate([coef, np.zeros((*coef.shape[:-1], n))], axis=-1)

    mean, scale = model.column_mean[at], model.column_scale[at]
    middle = np.clip((mean - low) / (high - low), 0.0, 1.0)
    spread = np.minimum(0.5, scale / (high - low))
    found = _with_basis(
        model,
        basis,
        moved,
        column_mean=np.concatenate([model.column_mean, middle]),
        column_scale=np.concatenate([model.column_scale, spread]),
    )
    coef, intercept, support = found.coef.copy(), model.intercept.copy(), model.support.copy()
    coef[:, output, -n:] = rises[:, kept] if n else coef[:, output, -n:]
    intercept[:, output] += heights[:, 0]
    support[:, place] |= (rises != 0).any(axis=1)
    n_terms = model.n_terms + int((rises[:, kept] != 0).sum())
    return replace(found, coef=coef, intercept=intercept, support=support, n_terms=n_terms)


def _merged(model: Any, place: int, words: Sequence[str], into: str) -> Any:
    """Return a model whose table reads some categories as another."""
    table = model.table
    made, known = table.preparation, table.preparation.reading.encoders[place].known
    if set(known) <= {*words, into}:
        raise ValueError("All categories would be one, which tells nothing; use without.")
    new = made.merged(place, words, into)
    seen = None if table.seen is None else table.seen.merged(place, words, into)
    found = replace(model, table=replace(table, preparation=new, seen=seen))
    of = int(np.flatnonzero(made.feature_of == place)[0])
    if of in made.levels and isinstance(model, GatedModel):
        # Columns of zeros and ones that are always zero now have no coefficients.
        own = np.flatnonzero(made.read_of == of)
        names = [known[level] if level < len(known) else None for level in made.levels[of]]
        gone = np.zeros(made.n_columns, dtype=bool)
        gone[own] = [name in words for name in names]
        found = _fixed(found, gone, np.zeros(made.n_columns))
    return found


# -- the effect of a column -----------------------------------------------------------------------


class _Curve:
    """The effect of a column on one output, and the points that it is to go through."""

    def __init__(
        self, flock: Any, place: int, name: str, rows: Any, output: int, points: Any
    ) -> None:
        self._flock, self._model, self._place, self._name = flock, flock.model_, place, name
        self._rows, self._output = rows, output
        self._own = np.flatnonzero(self._model.table.column_of == place)
        encoder = _encoder(flock, name)
        if not isinstance(encoder, NumberColumn | Categories) or not len(self._own):
            raise ValueError(
                f"with_effect takes columns of numbers or categories; {name} is neither."
            )
        self._known = encoder.known if isinstance(encoder, Categories) else ()
        self.points = self._checked(points)
        first = self._measured(self._model)
        self.curve, weight = first.curve[:, output], first.rows / first.rows.sum()
        self.values = [point.value for point in first.points]
        chances = np.array([point.prediction[output] for point in first.points])
        self.slope = np.ones(len(chances))
        self.close = _CLOSE
        if self._model.target.is_numeric:
            self.close = _CLOSE_NUMBERS * self._model.target.scale
        else:
            self.slope = np.maximum(chances * (1 - chances), _LEAST_SLOPE)
        at = np.array(list(self.points.values()))
        self.length = float(np.ptp(np.append(at, self.curve - first.mean[output])))
        if self._known:
            absent = [word for word in self.points if word not in self.values]
            if absent:
                raise ValueError(
                    f"No row on which the effect of {name} is measured has {absent[0]!r}; give X."
                )
            level = float(weight @ self.curve)
            changed = {word: level + by for word, by in self.points.items()}
            both = zip(self.values, self.curve, strict=True)
            wanted = np.array([changed.get(word, now) for word, now in both])
            self._check_told_apart(wanted)
        else:
            self.values = np.array(self.values)
            wanted = self._through(self.values)
        self._level = float(weight @ (self.curve - wanted))
        self.wanted = wanted + self._level

    def _checked(self, points: Any) -> dict[Any, float]:
        """Return the points by value, in order; refuse what is no curve."""
        pairs = points.items() if isinstance(points, Mapping) else points
        named, most = bool(self._known), _MOST_LABELS if self._known else _MOST_POINTS
        try:
            pairs = [(str(at) if named else float(at), float(by)) for at, by in pairs]
        except (TypeError, ValueError):
            what = "categories" if named else "numbers"
            raise TypeError(
                f"points must map {what} of {self._name} to numbers, their effects."
            ) from None
        numbers = np.array([by if named else (at, by) for at, by in pairs], dtype=np.float64)
        found = dict(sorted(pairs)) if not named else dict(pairs)
        if not np.isfinite(numbers).all():
            raise ValueError("points must be finite numbers.")
        if len(found) < len(pairs):
            raise ValueError(f"points gives two effects for one value of {self._name}.")
        if not (1 if named else 2) <= len(found) <= most:
            raise ValueError(
                f"points has {len(found):,} values of {self._name}; give {1 if named else 2} to "
                f"{most}, since only differences of effects count."
            )
        unknown = [at for at in found if named and at not in self._known]
        if unknown:
            raise ValueError(f"{self._name} has no category {unknown[0]!r} that the model knows.")
        if not self._model.target.is_numeric and np.ptp(list(found.values())) >= 1:
            raise ValueError("points are parts of a probability, which differ by less than 1.")
        if not named and (seen := self._model.basis.seen) is not None:
            low, high = seen[:, self._own[0]]
            if min(found) < low or max(found) > high:
                raise ValueError(
                    f"points has values of {self._name} beyond those of the training rows, "
                    f"{number(low)} to {number(high)}; give points between them."
                )
        return found

    def _measured(self, model: GatedModel) -> ColumnEffect:
        flock = _copy(self._flock, model)
        how = dict[str, Any](kind="category" if self._known else "number", bins=_BINS)
        how["categories"] = min(len(self._known) or 1, _MOST_LABELS)
        found = column_effect(flock, self._rows, self._place, **how)
        if found is None:
            raise ValueError(f"The rows have no two values of {self._name}; give others as X.")
        return found

    def _through(self, values: np.ndarray) -> np.ndarray:
        """Return the curve through the points, which keeps its shape beyond them."""
        at, by = (np.array(list(part)) for part in (self.points, self.points.values()))
        old = np.interp(np.append(values, at[[0, -1]]), self.values, self.curve)
        inside = np.interp(values, at, by)
        before, after = old[:-2] - old[-2], old[:-2] - old[-1]
        return inside + np.where(values < at[0], before, np.where(values > at[-1], after, 0.0))

    def _check_told_apart(self, wanted: np.ndarray) -> None:
        table, now = self._table(), dict(zip(self.values, wanted, strict=True))
        for word in self.points:
            for other in self.values:
                if other in self._known and now[word] != now[other]:
                    one, two = (table[self._known.index(which)] for which in (word, other))
                    if np.array_equal(one, two):
                        raise ValueError(
                            f"The model does not tell {word!r} and {other!r} of {self._name} "
                            "apart."
                        )

    def _table(self) -> np.ndarray:
        """Return the numbers of the categories, (n_known + 2, width)."""
        made = self._model.table.preparation
        return made.tables[int(made.read_of[self._own[0]])]

    def met(self) -> tuple[GatedModel, float]:
        """Return a model whose effect goes through the points, and how far off it is at most."""
        delta, slope, curve = np.zeros(len(self.curve)), self.slope, self.curve
        best, best_off, found = self._model, np.inf, self._model
        for _ in range(_ROUNDS):
            miss = self.wanted - curve
            off = float(np.abs(miss).max())
            if off < best_off:
                best, best_off = found, off
            if off <= self.close:
                break
            moved = np.clip(delta + miss / slope, -_FARTHEST, _FARTHEST) - delta
            if self._model.target.is_numeric:
                moved = miss
            delta, before = delta + moved, curve
            found = self._shifted(delta)
            curve = self._measured(found).curve[:, self._output]
            if not self._model.target.is_numeric:
                # The slope between this point and the one before, if that tells.
                far = np.abs(moved) > 1e-6
                rise = (curve - before) / np.where(far, moved, 1.0)
                slope = np.clip(np.where(far, rise, slope), self.slope / 10, self.slope * 2)
        return best, best_off

    def _shifted(self, delta: np.ndarray) -> GatedModel:
        """Return the model with a function of the column, by its values, added to its members."""
        model, output, own = self._model, self._output, self._own
        if not self._known:
            at = np.array(list(self.points))
            knots = np.unique(np.concatenate([self.values, at]))
            heights, slope, bent = (
                np.interp(knots, self.values, one) for one in (delta, self.slope, self.wanted)
            )
            inside = (knots >= self.values[0]) & (knots <= self.values[-1])
            heights += np.where(inside, self._through(knots) + self._level - bent, 0.0) / slope
            found = _with_ramps(model, self._place, own[0], knots, heights, output)
            if len(own) > 1:
                # A gap is filled with a number, whose shift the mark of the gap takes back.
                fill = model.table.preparation.fill[own[0]]
                found.coef[:, output, own[1]] -= np.interp(fill, knots, heights)
            return found
        made, table, n_known = model.table.preparation, self._table(), len(self._known)
        known = dict(zip(self.values, delta, strict=True))
        levels = made.levels.get(int(made.read_of[own[0]]))
        by = np.array([known.get(word, 0.0) for word in self._known])
        if levels is None:
            codes = table[:, output if len(own) > 1 else 0]
            knots, of = np.unique(codes, return_inverse=True)
            heights = np.zeros(len(knots))
            moved = np.array([word in known for word in self._known])
            heights[of[:n_known][moved]] = by[moved]
            column = own[output] if len(own) > 1 else own[0]
            return _with_ramps(model, self._place, column, knots, heights, output)
        marked = [n_known] if n_known in levels else []
        rows = np.column_stack([table, np.ones(len(table))])[[*range(n_known), *marked]]
        shift = np.linalg.lstsq(rows, np.append(by, [0.0] * len(marked)), rcond=None)[0]
        coef, intercept, support = model.coef.copy(), model.intercept.copy(), model.support.copy()
        coef[:, output, own] += shift[:-1]
        intercept[:, output] += shift[-1]
        support[:, self._place] = True
        return _with_basis(
            replace(model, coef=coef),
            model.basis,
            lambda a: a,
            intercept=intercept,
            support=support,
        )


# -- the copy and its record ----------------------------------------------------------------------


def _copy(flock: Any, model: Any) -> Any:
    """Return a flock that predicts by another model, without what was measured of its own."""
    made = type(flock)(**flock.get_params(deep=False))
    vars(made).update({name: one for name, one in vars(flock).items() if name not in _MEASURED})
    made.model_ = model
    return made


def _recorded(
    old: Any, made: Any, one: Correction, held_out: Any, left_out: int | None = None
) -> Any:
    """Return the corrected copy with its record, measured anew where there are rows to do so."""
    X = y = None
    if held_out is not None:
        given = check_inputs(old, *_pair(held_out))
        X, y = user_table(old, given.X), given.y
        rest = X if left_out is None else _own_columns(old, X, left_out)
        ask = "predict" if given.classes is None else "predict_proba"
        now, before = (
            getattr(*both)(rows) for both, rows in (((made, ask), rest), ((old, ask), X))
        )
        models = [Predicted("corrected", now, "own"), Predicted("before", before)]
        judged = HeldOut(y, models, given.classes)
        after, other = (judged.score(each).measures for each in models)
        gap = judged.difference(*models).measures
        names = [name for name in ("accuracy", "r2", "log_loss", "mae") if name in gap]
        price = {name: (other[name].value, after[name].value, *gap[name]) for name in names}
        one = replace(one, n_rows=len(y), price=price)
        if not one.refitted:
            made.calibrate(rest, y)
            sample = TrainingSample.of(rest, y, None)
            made._importance_of_columns = replace(sample, source="rows held out")
        X = rest
    elif not one.refitted and one.what != "merge_categories":
        made._importance_of_columns = _own_sample(old, left_out)
    model = replace(made.model_, corrections=(*old.corrections_, one))
    made.model_ = model if one.refitted else _with_means(model, X)
    decision = getattr(old, "decision_", None)
    if decision is not None:
        made.decision_ = replace(decision, alarms=None, cost=None, cost_without=None, source=None)
        if y is not None:
            codes = made.classes_.searchsorted(y)
            made.decision_ = measured(
                made.decision_, codes, made.predict_proba(X), None, "given rows"
            )
    if hasattr(old, "seen_") and left_out is None and not one.refitted:
        made.seen_ = old.seen_  # the same rows as before
    known = getattr(old, "evaluation_", None)
    if known is not None:
        about = {"target": known.target, "n_rows": known.n_rows}
        made.evaluation_ = Evaluation(
            known.task,
            classes=known.classes,
            model=known.model,
            n_members=made.n_estimators_,
            n_terms=getattr(made, "n_terms_", None),
            remarks=made.model_.remarks(),
            caution="The model was corrected after it was fitted, and was not measured since.",
            **about,
        )
        if X is not None:
            made.evaluation_ = evaluate(made, X, y, **about).without_rows()
    return made


def _own_sample(old: Any, left_out: int | None) -> TrainingSample | None:
    """Return training rows on which the importance of columns can be measured again."""
    known = vars(old).get("_importance_of_columns")
    if isinstance(known, HeldOutSample):
        X, weight, (y, _) = known.how["numbers"], known.how["weight"], known.how["target"]
        known = TrainingSample(X, y, weight, old._table.column_of, len(y))
    if not isinstance(known, TrainingSample) or known.unit is None:
        return None
    if left_out is None:
        return known
    kept = known.unit != left_out
    unit = known.unit[kept]
    return replace(
        known, X=take_columns(known.X, np.flatnonzero(kept)), unit=unit - (unit > left_out)
    )


def _with_means(model: Any, X: Any) -> Any:
    """Return a model with the mean importance and prediction of members on some rows."""
    X = _remembered(model.table) if X is None else X
    if X is None or not isinstance(model, GatedModel):
        return model
    rows = model.rows(X)
    shares = model.weights_of_rows(rows).mean(axis=0)
    return replace(model, shares=shares, means=model.outputs(rows).mean(axis=0))
