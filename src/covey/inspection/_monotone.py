"""Certificates that a decision never falls, or never rises, with more of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.inspection.monotone import bound_of_fall, ends_of_pieces, involved, parts_of
from covey._number_words import cell, number, quoted
from covey.tables._columns import column_positions, feature_names

# How many rows are tried, and how far a prediction must move to be no rounding error.
_MOST_ROWS, _ROUNDING = 200, 1e-9
_UNUSED = "no member and no gate uses it"


@dataclass(frozen=True)
class MonotoneCertificate:
    """The result of `monotone_certificate`.

    Attributes
    ----------
    column : str
    direction : {1, -1}
        1 if the decision was to rise with more of the column, -1 if it was to fall.
    holds : bool or None
        True: it is proved for all rows. False: a row was found that refutes it. None: neither.
    bound : float
        How far the decision can move the other way at most: a probability, or a number of y.
    found : float
        How far it does so in the rows that were tried.
    between : tuple of float, or None
        The values of the column between which it does so, if any were found, or may do so.
    reason : str
        Why, in words.
    """

    column: str
    direction: int
    holds: bool | None
    bound: float
    found: float
    between: tuple[float, float] | None
    reason: str

    def __str__(self) -> str:
        """Return the certificate as a sentence."""
        if self.reason == _UNUSED:
            return f"does not depend on {self.column}: {_UNUSED}"
        way = "rise" if self.direction > 0 else "fall"
        head = {
            True: f"{way}s with {self.column} everywhere",
            False: f"does not {way} with {self.column} everywhere",
            None: f"is not certified to {way} with {self.column} everywhere",
        }
        return f"{head[self.holds]}: {self.reason}"


def monotone_certificate(
    model: Any, column: str | int, direction: int | None = None, X: Any = None
) -> MonotoneCertificate:
    """Certify that a flock's decision never falls, or never rises, with more of a column.

    Take it before a model is handed on that must not, for example, let a risk fall with age; a
    flock need not have been fitted with ``monotone``. For single rows see
    `covey.inspection.curves`.

    Nothing is sampled for a proof: between the knots of its ramps a member is linear, so the sign
    of its slope in each piece is known exactly, for all values of the other columns. Where no gate
    sees the column, a decision all of whose members rise, rises. Otherwise rows are tried for a
    counterexample; where none is found, the answer stays open. Gaps are not on the axis: filled-in
    values and marks of gaps are compared with nothing.

    Parameters
    ----------
    model : FlockClassifier or FlockRegressor
        Fitted, with linear members. For classes there must be two, and the decision is the
        probability of the second, ``classes_[1]``.
    column : str or int
        A column of numbers, by name or position.
    direction : {1, -1}, optional
        1 if the decision should rise, -1 if it should fall. None: the way that holds, or else the
        one that is refuted by less.
    X : array-like or data frame, optional
        Rows to try, at most 200. None: those that the model remembers of its fit.

    Returns
    -------
    certificate : MonotoneCertificate
        ``holds`` is True, False or None, and ``reason`` says why.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> from covey.inspection import monotone_certificate
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = FlockRegressor(effort="fast", monotone={"bmi": 1}, random_state=0).fit(X, y)
    >>> print(monotone_certificate(flock, "bmi"))
    rises with bmi everywhere: no gate sees it, and no member falls in any of its pieces
    """
    fitted = getattr(model, "model_", model)
    if not hasattr(fitted, "gate_coef"):
        raise TypeError(
            "monotone_certificate takes a fitted FlockClassifier or FlockRegressor of linear "
            f"members, got {type(model).__name__}; use curves for single rows of other models."
        )
    if len(getattr(fitted.target, "classes", ())) > 2:
        raise ValueError(
            f"monotone_certificate is for numbers and two classes, but the model has "
            f"{len(fitted.target.classes)}."
        )
    if direction not in (1, -1, None):
        raise ValueError(f"direction must be 1 (rises), -1 (falls) or None, got {direction!r}.")
    table = fitted.own_table
    names, n_features = table.feature_names_in_, table.n_features_in_
    (feature,) = column_positions([column], "column", n_features, names)
    numbers, name = table.numbers_of(feature), feature_names(table)[feature]
    if len(numbers) != 1:
        raise ValueError(f"column {name!r} is not read as a number, so nothing rises along it.")
    found = [
        _certificate(fitted, name, int(numbers[0]), way, X)
        for way in ((1, -1) if direction is None else (direction,))
    ]
    return min(found, key=lambda one: (one.holds is not True, one.found, one.bound))


def _certificate(
    model: Any, name: str, column: int, direction: int, X: Any
) -> MonotoneCertificate:
    """Return the certificate of one direction; rows are tried where there is no proof."""
    basis, is_numeric = model.basis, model.target.is_numeric
    coef = direction * (model.coef[:, -1] - (0.0 if is_numeric else model.coef[:, 0]))
    parts = parts_of(model.fuser.groups, coef, numbers=is_numeric)
    bound, begin, end = bound_of_fall(basis, parts, column, numbers=is_numeric)
    own = involved(basis, column)
    if not (model.coef[..., own].any() or model.gate_coef[:, own].any()):
        return MonotoneCertificate(name, direction, True, 0.0, 0.0, None, _UNUSED)
    if bound == 0:
        why = "no gate sees it, and no member falls in any of its pieces"
        if direction < 0:
            why = why.replace("falls", "rises")
        return MonotoneCertificate(name, direction, True, 0.0, 0.0, None, why)
    largest = float(np.ptp(model.target.range)) if is_numeric else 1.0
    between = None if np.isnan(begin) else (begin, end)
    seen_by_gate = np.isinf(bound) and between is None
    bound = min(bound, largest)
    rows = _rows_to_try(model, X, column)
    found, tried = _worst_of(model, column, direction, rows)
    moves = "falls" if direction > 0 else "rises"
    if found > _ROUNDING * largest:
        size = f"by {number(found)}" if is_numeric else f"by {number(100 * found)} points"
        if not is_numeric:
            moves = f"the probability of {quoted(model.target.classes[1])} {moves}"
        else:
            moves = f"the prediction {moves}"
        why = f"in a row that was tried, {moves} {size} from {cell(tried[0])} to {cell(tried[1])}"
        return MonotoneCertificate(name, direction, False, bound, found, tried, why)
    why = (
        "a gate sees it, so that pieces of members prove nothing"
        if seen_by_gate
        else f"it may {moves[:-1]} by up to {number(bound)}"
    )
    why += f"; in {len(rows)} rows that were tried it never {moves}"
    return MonotoneCertificate(name, direction, None, bound, 0.0, between, why)


def _rows_to_try(model: Any, X: Any, column: int) -> np.ndarray:
    """Return rows as members see them, (n, D): those given, or those that the model remembers.

    They are moved along a column of numbers, so that they have no gap there.
    """
    table = model.own_table
    if X is None:
        n_features, names = table.n_features_in_, table.feature_names_in_
        kind = float if table.preparation is None else object
        like = np.empty((0, n_features), dtype=kind)
        if names is not None:
            import pandas as pd

            like = pd.DataFrame(like, columns=names)
        X = table.seen.rows_like(like)
    rows = model.rows(X)[:_MOST_ROWS]
    rows = np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    marks = table.column_of == table.column_of[column]
    marks[column] = False
    rows[:, marks] = 0.0
    return rows


def _worst_of(
    model: Any, column: int, direction: int, rows: np.ndarray
) -> tuple[float, tuple[float, float]]:
    """Return the largest move against a direction along a column, and between which values."""
    basis = model.basis
    ends = ends_of_pieces(basis, column)
    ends = ends[np.isfinite(ends)]
    if len(ends) < 2:
        ends = model.column_mean[column] + model.column_scale[column] * np.linspace(-4, 4, 9)
    values = np.unique(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))
    # What products do depends on the other feature: it is tried at both ends of its range.
    pairs = (basis.partner >= 0) & involved(basis, column) & (basis.feature != basis.partner)
    partners = np.setdiff1d(np.append(basis.feature[pairs], basis.partner[pairs]), [column])
    if basis.seen is not None and len(partners):
        corners = [rows.copy(), rows.copy()]
        for at, end in zip(corners, basis.seen, strict=True):
            at[:, partners] = end[partners]
        own = model.own_table.preparation
        numbers = np.ones(len(partners), bool) if own is None else own.is_number[partners]
        rows = np.concatenate([rows, *corners]) if numbers.all() else rows
    tried = np.repeat(rows, len(values), axis=0)
    tried[:, column] = np.tile(values, len(rows))
    predicted = model.fused(tried)
    predicted = direction * (predicted if predicted.ndim == 1 else predicted[:, 1])
    curves = predicted.reshape(len(rows), len(values))
    falls = np.maximum.accumulate(curves, axis=1) - curves
    row, place = np.unravel_index(int(falls.argmax()), falls.shape)
    start = int(curves[row, : place + 1].argmax())
    return float(falls[row, place]), (float(values[start]), float(values[place]))
