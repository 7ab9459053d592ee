"""Certificates that a decision never falls, or never rises, with more of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._core.inspection.monotone import least_slopes, never_falls
from covey._number_words import cell, number
from covey.tables._columns import column_positions, feature_names

# How far a prediction must move to be no rounding error, as a share of all it may move.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MonotoneCertificate:
    """The result of `monotone_certificate`.

    Attributes
    ----------
    column : str
    direction : {1, -1}
        1 if the decision must not fall with more of the column, -1 if it must not rise.
    holds : bool or None
        True: it is proved for all rows. False: a row was found that refutes it. None: neither.
    found : float
        How far it moves the other way in the rows that were tried: a probability, or a number.
    between : tuple of float, or None
        The values of the column between which it does so there.
    reason : str
        Why, in words.
    """

    column: str
    direction: int
    holds: bool | None
    found: float
    between: tuple[float, float] | None
    reason: str

    @property
    def claim(self) -> str:
        """The claim that is proved, refuted or left open, in words."""
        way = "falls" if self.direction > 0 else "rises"
        said = {True: f"never {way}", False: f"sometimes {way}", None: f"may {way[:-1]}"}
        return f"{said[self.holds]} with {self.column}"

    def __str__(self) -> str:
        """Return the certificate as a sentence."""
        return f"{self.claim}: {self.reason}"


def monotone_certificate(
    model: Any, column: str | int, direction: int | None = None
) -> MonotoneCertificate:
    """Certify that a flock's decision never falls, or never rises, with more of a column.

    Take it before a model is handed on that must not, for example, let a risk fall with age; a
    flock need not have been fitted with ``monotone``. For single rows see
    `covey.inspection.curves`.

    Nothing is sampled for a proof: between the knots of its ramps a member is linear, so the sign
    of its slope in each piece is known exactly, for all values of the other columns. Where no gate
    sees the column, a decision all of whose members rise, rises. Otherwise rows are tried for a
    counterexample, those that the model remembers; where none is found, the answer stays open.
    Gaps are not on the axis: a row that has one is compared with nothing.

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

    Returns
    -------
    certificate : MonotoneCertificate
        Frozen; printed, it is a sentence.
        ``holds`` is True, False or None, and ``reason`` says why.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> from covey.inspection import monotone_certificate
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = FlockRegressor(effort="fast", monotone={"bmi": 1}, random_state=0).fit(X, y)
    >>> print(monotone_certificate(flock, "bmi"))
    never falls with bmi: no gate sees it, and no member falls in any of its pieces
    """
    fitted = getattr(model, "model_", model)
    if not hasattr(fitted, "gate_coef") or len(getattr(fitted.target, "classes", ())) > 2:
        raise TypeError(
            "monotone_certificate takes a fitted flock of linear members (FlockClassifier of two "
            f"classes, FlockRegressor), and this {type(model).__name__} is none."
        )
    if direction not in (1, -1, None):
        raise ValueError(f"direction must be 1 (rises), -1 (falls) or None, got {direction!r}.")
    table = fitted.own_table
    where = "column", table.n_features_in_, table.feature_names_in_
    (feature,) = column_positions([column], *where)
    name, columns = feature_names(table)[feature], table.numbers_of(feature)
    if len(columns) != 1:
        raise ValueError(f"column {name!r} is not read as numbers, so nothing rises along it.")
    ways = (1, -1) if direction is None else (direction,)
    found = [_certificate(fitted, name, int(columns[0]), way) for way in ways]
    return min(found, key=lambda one: (one.holds is not True, one.found))


def _certificate(model: Any, name: str, column: int, direction: int) -> MonotoneCertificate:
    """Return the certificate of one direction; rows are tried where there is no proof."""
    numbers, way = model.target.is_numeric, "falls" if direction > 0 else "rises"
    coef = direction * (model.coef[:, -1] - (0.0 if numbers else model.coef[:, 0]))
    proved = never_falls(model.fuser.groups, coef, column, numbers=numbers)
    if proved:
        why = f"no gate sees it, and no member {way} in any of its pieces"
        return MonotoneCertificate(name, direction, True, 0.0, None, why)
    unit, points = (1, "") if numbers else (100, " points")
    found, *ends = _worst_of(model, coef, column, direction)
    if found > _ROUNDING * (float(np.ptp(model.target.range)) if numbers else 1.0):
        low, high = ends
        why = f"by {number(unit * found)}{points} from {cell(low)} to {cell(high)} in a row tried"
        return MonotoneCertificate(name, direction, False, found, (low, high), why)
    sees = "a gate sees it, so that its members prove nothing"
    why = sees if proved is None else f"a member {way} in some of its pieces"
    why += f"; the decision never {way} in the rows tried"
    return MonotoneCertificate(name, direction, None, 0.0, None, why)


def _worst_of(
    model: Any, coef: np.ndarray, column: int, direction: int
) -> tuple[float, float, float]:
    """Return the largest move against a direction along a column, and where it begins and ends.

    The rows are those that the model remembers, as members see them, without gaps in the column.
    """
    table = model.own_table
    rows = np.array(model.rows(table.remembered()), dtype=np.float64)
    rows[:, table.column_of == table.column_of[column]] = 0.0
    values = least_slopes(model.basis, coef, column)[0]
    values = values[np.isfinite(values)]
    values = np.unique(np.concatenate([values, (values[1:] + values[:-1]) / 2]))
    tried = np.repeat(rows, len(values), axis=0)
    tried[:, column] = np.tile(values, len(rows))
    predicted = model.fused(tried).reshape(len(tried), -1)[:, -1]
    curves = direction * predicted.reshape(len(rows), len(values))
    falls = np.maximum.accumulate(curves, axis=1) - curves
    row, place = np.unravel_index(int(falls.argmax()), falls.shape)
    start = int(curves[row, : place + 1].argmax())
    return float(falls[row, place]), float(values[start]), float(values[place])
