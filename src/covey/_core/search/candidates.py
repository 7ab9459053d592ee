"""What a search compares: points of paths, and the groups of members that they are fitted as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from covey._core.arrays import BoolArray, FloatArray
from covey._core.search.families import Family


@dataclass
class Group:
    """A candidate fitted on all rows."""

    family: Family
    alpha: float
    theta: FloatArray  # (K, C, P), zero outside a member's subset
    intercept: FloatArray  # (K, C)
    support: BoolArray  # (K, P)
    gate: FloatArray  # (K, G), coefficients of what the gate sees
    gate_intercept: FloatArray  # (K,)
    n_iter: int  # of the optimizer
    #: Steps and history of each member; empty for a member alone.
    grown: list[tuple[int, Any]] = field(default_factory=list)


#: The kind of a family, a penalty, and how many units of features each member keeps.
Point = tuple[Family, float, int]


@dataclass(frozen=True)
class Candidate:
    """A point of a path: a family with one penalty, each member on so many units of features."""

    family: Family
    alpha: float
    size: int
    n_terms: int  # columns of members and gate, at most
