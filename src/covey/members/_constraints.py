"""Constraints of a user: with which columns a decision rises, and which columns may meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from covey._number_words import listed
from covey.inspection._monotone import monotone_certificate
from covey.members._prepared_fit import PreparedFit
from covey.tables._columns import column_positions, feature_names, label_of


def meets_partly(flock: Any) -> bool:
    """Return whether some columns may not meet in a product, a pair or a gate."""
    return not (isinstance(flock.interactions, str) and flock.interactions == "all")


def is_constrained(flock: Any) -> bool:
    """Return whether a user bounds what members may learn."""
    return bool(flock.monotone) or meets_partly(flock)


def check_constraints(flock: Any, is_linear: bool) -> None:
    """Refuse constraints that make no sense for any table; other members do not keep them."""
    monotone, pairs = flock.monotone, flock.interactions
    if not isinstance(monotone, Mapping | None):
        raise TypeError(f"monotone must map columns to 1 or -1, got {monotone!r}.")
    for column, sign in (monotone or {}).items():
        if isinstance(sign, bool | np.bool_) or sign not in (1, -1):
            said = f"monotone has {sign!r} for the column {column!r}"
            raise ValueError(f"{said}; give 1 (y never falls with it) or -1 (it never rises).")
    are_pairs = isinstance(pairs, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    )
    if not (are_pairs or (isinstance(pairs, str) and pairs in ("all", "none"))):
        allowed = "'all', 'none' or a list of pairs of columns, such as [('age', 'bmi')]"
        raise ValueError(f"interactions must be {allowed}, got {pairs!r}.")
    given = "interactions" if meets_partly(flock) else "monotone"
    for name, clashes in (
        ("members", is_constrained(flock) and not is_linear),
        ("averaged", meets_partly(flock) and flock.averaged is True),
        ("feature_groups", are_pairs and flock.feature_groups is not None),
    ):
        if clashes:
            raise ValueError(
                f"{given}={getattr(flock, given)!r} is for one flock of linear members on single "
                f"columns, and {name}={getattr(flock, name)!r} is not; leave one of the two out."
            )


def constraints_of(fit: PreparedFit) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return signs (D,) of the columns of a fit, and which may be multiplied, (D, D).

    A sign is 1 where a decision never falls, -1 where it never rises. None: no column has one, and
    all may be multiplied.
    """
    flock, table = fit.flock, fit.table
    how = "monotone", table.n_features_in_, table.feature_names_in_
    signs, pairs = np.zeros(len(table.column_of), dtype=np.int64), None
    if flock.monotone and not fit.is_numeric and len(fit.rows.classes) > 2:
        raise ValueError(
            f"monotone is for numbers and for two classes, but y holds {len(fit.rows.classes)}: "
            "not all can become more probable; fit one class against the others."
        )
    for given, sign in (flock.monotone or {}).items():
        (feature,) = column_positions([given], *how)
        columns = table.numbers_of(feature)
        if len(columns) != 1 or signs[columns].any():
            why = "is not read as numbers" if len(columns) != 1 else "is named twice"
            raise ValueError(
                f"monotone names the column {label_of(feature, how[-1])}, which {why}; name "
                "columns of numbers, once each."
            )
        signs[columns] = sign
    if meets_partly(flock):
        meet = np.zeros((table.n_features_in_, table.n_features_in_), dtype=bool)
        for pair in () if isinstance(flock.interactions, str) else flock.interactions:
            one, other = column_positions(pair, "interactions", *how[1:])
            if one == other or signs[np.isin(table.column_of, (one, other))].any():
                raise ValueError(
                    f"interactions has the pair {pair!r}, but a column meets no column of "
                    "monotone, whose effect would depend on it, nor itself; leave it out."
                )
            meet[one, other] = meet[other, one] = True
        pairs = meet[np.ix_(table.column_of, table.column_of)]
    return signs if signs.any() else None, pairs


def constraints_in_words(flock: Any, target: str = "y") -> list[str]:
    """Return lines on the constraints of a fitted flock, as far as its model keeps them.

    They are not taken from the parameters: the model is certified again.
    """
    model, names = flock.model_, feature_names(flock)
    found = [monotone_certificate(flock, *one) for one in (flock.monotone or {}).items()]
    lines = [str(one) for one in found if not one.holds]
    if kept := [one.claim for one in found if one.holds]:
        what = target if model.target.is_numeric else f"the probability of {flock.classes_[1]}"
        lines.insert(0, f"{what} {listed(kept)}, whatever the others are")
    if meets_partly(flock):
        met = [f"{names[one]} x {names[other]}" for one, other in model.pairs]
        one_sum = f"only {listed(met)} meet" if met else "additive: no two columns meet"
        lines.append(one_sum if model.has_no_gate else "a gate lets all columns meet")
    return lines
