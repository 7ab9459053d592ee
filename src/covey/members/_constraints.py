"""Constraints of a user: with which columns a decision rises, and which columns may meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from covey._number_words import listed
from covey._validation import check_choice
from covey.inspection._monotone import monotone_certificate
from covey.members._prepared_fit import PreparedFit
from covey.tables._columns import column_positions, feature_names, label_of

# More products than this of columns that may meet would take too long.
_MOST_PRODUCTS = 1_000
_OF_LINEAR = (
    "{0}={1!r} holds for linear members, but members={2!r} has other kinds; use members='linear', "
    "or leave {0} out."
)


def is_constrained(flock: Any) -> bool:
    """Return whether a user bounds what members may learn."""
    return bool(flock.monotone) or meets_partly(flock)


def meets_partly(flock: Any) -> bool:
    """Return whether some columns may not meet in a product, a pair or a gate."""
    return not (isinstance(flock.interactions, str) and flock.interactions == "all")


def check_constraints(flock: Any) -> None:
    """Refuse constraints that make no sense for any table."""
    monotone, pairs = flock.monotone, flock.interactions
    if monotone is not None and not isinstance(monotone, Mapping):
        raise TypeError(
            "monotone must map columns to 1 (y never falls with more of it) or -1 (it never "
            f"rises), such as {{'age': 1, 'dose': -1}}, got {monotone!r}."
        )
    for column, sign in (monotone or {}).items():
        if isinstance(sign, bool | np.bool_) or not isinstance(sign, Real) or sign not in (1, -1):
            raise ValueError(
                f"monotone has {sign!r} for the column {column!r}; give 1 (y never falls with "
                "more of it) or -1 (it never rises)."
            )
    if not meets_partly(flock):
        return
    if isinstance(pairs, str):
        check_choice(pairs, "interactions", ("all", "none"))
    elif not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise ValueError(
            "interactions must be 'all', 'none' or a list of pairs of columns that may meet, such "
            f"as [('age', 'bmi')], got {pairs!r}."
        )
    elif pairs and flock.feature_groups is not None:
        raise ValueError(
            "interactions names pairs of columns, but with feature_groups there are no products; "
            "leave one of the two out."
        )
    if flock.averaged is True:
        raise ValueError(
            f"interactions={pairs!r} bounds one flock, and averaged=True makes an average of "
            "several, in which all columns meet; leave one of the two out."
        )


def refuse_other_kinds(flock: Any) -> None:
    """Refuse constraints that members of other kinds than linear would not keep."""
    name = "monotone" if flock.monotone else "interactions"
    raise ValueError(_OF_LINEAR.format(name, getattr(flock, name), flock.members))


def constraints_in_words(flock: Any) -> list[str]:
    """Return lines on the constraints of a fitted flock, as far as its model keeps them.

    They are not taken from the parameters: the model is certified again.
    """
    lines, model = [], flock.model_
    wanted = (flock.monotone or {}).items()
    found = [monotone_certificate(flock, column, int(sign)) for column, sign in wanted]
    kept = [
        f"{way} with {listed(names)}"
        for way, sign in (("rises", 1), ("falls", -1))
        if (names := [one.column for one in found if one.holds and one.direction == sign])
    ]
    if kept:
        what = "" if model.target.is_numeric else f"probability of {model.target.classes[1]} "
        lines.append(f"{what}{', '.join(kept)} everywhere, whatever the others are")
    lines += [str(one) for one in found if not one.holds]
    if meets_partly(flock):
        names = feature_names(flock)
        met = [f"{names[one]} x {names[other]}" for one, other in model.pairs]
        if not model.has_no_gate:
            lines.append("a gate or a mean of groups lets all columns meet")
        else:
            lines.append(f"meeting: {listed(met)}" if met else "additive: no two columns meet")
    return lines


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints of a fit, for the D columns of numbers that are made of a table."""

    signs: np.ndarray | None  # (D,): 1 never falls, -1 never rises, 0 either
    pairs: np.ndarray | None  # (D, D), which columns may be multiplied; None: all

    @classmethod
    def of(cls, fit: PreparedFit) -> Self:
        """Return the constraints that a user named; refuse those that no flock could keep."""
        flock, table = fit.flock, fit.table
        names, n_features = table.feature_names_in_, table.n_features_in_
        signs = pairs = None
        if flock.monotone:
            if not fit.is_numeric and len(fit.rows.classes) > 2:
                raise ValueError(
                    f"monotone is for numbers and for two classes, but y holds "
                    f"{len(fit.rows.classes)}: with more of a column, not all can become more "
                    "probable; fit one class against the others."
                )
            signs = np.zeros(len(table.column_of), dtype=np.int64)
            for given, sign in flock.monotone.items():
                (feature,) = column_positions([given], "monotone", n_features, names)
                column = _number_of(fit, feature)
                if signs[column]:
                    raise ValueError(
                        f"monotone names the column {label_of(feature, names)} twice; name it "
                        "once, with 1 or -1."
                    )
                signs[column] = sign
        if meets_partly(flock):
            meet = np.zeros((n_features, n_features), dtype=bool)
            for pair in () if isinstance(flock.interactions, str) else flock.interactions:
                one, other = column_positions(pair, "interactions", n_features, names)
                if one == other:
                    raise ValueError(
                        f"interactions pairs the column {label_of(one, names)} with itself; give "
                        "two columns."
                    )
                meet[one, other] = meet[other, one] = True
            pairs = meet[np.ix_(table.column_of, table.column_of)] & fit.scaling.usable
            if signs is not None and pairs[signs != 0].any():
                column = int(np.flatnonzero((signs != 0) & pairs.any(axis=1))[0])
                raise ValueError(
                    f"monotone and interactions both name the column "
                    f"{label_of(table.column_of[column], names)}, but what a product does with "
                    "one of its columns depends on the other; leave one of the two out."
                )
            n_products = int(np.triu(pairs).sum())
            if n_products > _MOST_PRODUCTS:
                raise ValueError(
                    f"The pairs of interactions make {n_products:,} products, more than "
                    f"{_MOST_PRODUCTS:,}; name fewer pairs, or columns of fewer categories."
                )
        return cls(signs, pairs)

    def made_of(self, kept: np.ndarray) -> dict[str, np.ndarray | None]:
        """Return the constraints on the columns that are kept, (D,)."""
        signs, pairs = self.signs, self.pairs
        return {
            "signs": None if signs is None else signs[kept],
            "pairs": None if pairs is None else pairs[np.ix_(kept, kept)],
        }

    def is_alone(self, usable: np.ndarray) -> bool:
        """Return whether there is one member alone, without a gate.

        A gate multiplies members by what it sees. It may see no column that has a sign.
        """
        if self.pairs is not None:
            return True
        return self.signs is not None and not (usable & (self.signs == 0)).any()


def _number_of(fit: PreparedFit, feature: int) -> int:
    """Return the one column of numbers that a feature is read as; refuse other features."""
    columns = fit.table.numbers_of(feature)
    if len(columns) == 1:
        return int(columns[0])
    name = label_of(feature, fit.table.feature_names_in_)
    is_read = bool((fit.table.column_of == feature).any())
    raise ValueError(
        f"monotone names the column {name}, which is {'not a number' if is_read else 'left out'}; "
        "give it as numbers, or leave it out of monotone."
    )
