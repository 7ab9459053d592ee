"""The plan of a search: groups of members, on which bases, with which penalties, how far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from covey._core.arrays import BoolArray, FloatArray
from covey._core.gating.gate import Pool, shrinkage
from covey._core.journal import Journal
from covey._core.search.folds import FoldAssignment, Folds
from covey._core.search.rows import Rung

Effort = Literal["fast", "balanced", "best"]
EFFORTS: tuple[str, ...] = get_args(Effort)

# Beyond this many, candidates that could learn more take the place of others.
_MANY_ROWS = 1_000
# Up to this many rows times classes, fits may end earlier.
_FEW = 2_000
# Larger groups, of "best", have this many times the members.
_TIMES = 3


@dataclass(frozen=True)
class Family:
    """Candidates that differ in their penalty, and in how many features members keep.

    One member has no gate: it is a regularized linear model. "richest" stands for ramps where
    there are any, and otherwise for the features.
    """

    basis: str  # what the members see
    n_members: int
    alphas: tuple[float, ...]
    pool: Pool = "linear"
    gate: str = "features"  # what the gate sees, also a basis
    #: What leaves along a path: features with all of their columns, or single columns.
    drops: Literal["features", "columns"] = "features"

    @cached_property
    def kind(self) -> Family:
        """The family without its penalties."""
        return replace(self, alphas=())


@dataclass(frozen=True)
class Gated:
    """A family of gated groups; penalties are named by their positions among ``Task.gated``."""

    basis: str
    gate: str
    penalties: tuple[int, ...]
    times: int = 1
    pool: Pool | None = None


@dataclass(frozen=True)
class Pace:
    """The number of iterations that fits may take."""

    max_iter: int  # iterations at the first point of a path
    path_iter: int  # and at each later one, which starts from the point before it


@dataclass(frozen=True)
class Task:
    """The settings of a search for one kind of target.

    Numbers have one pool, the mean, and features are clipped to the range of the training rows
    before they are multiplied: a probability cannot exceed 1, but a number would follow a product
    anywhere. Penalties are relative to the mean log-likelihood, or loss, of a row. A quarter of
    the penalty draws members of classes to a common model: without it, on many tables, each is
    sure of one class whatever the row, and the gate between them is the classifier. (With more of
    the penalty, members become equal, and rounding decides how they part.)
    """

    loss_name: str  # what the losses of candidates are called
    numbers: bool
    pool: Pool  # of families that do not name one
    alone: dict[str, tuple[float, ...]]  # penalties of a member alone on each basis, rising
    gated: tuple[float, ...]  # penalties of gated ones
    fast: Gated
    balanced: tuple[Gated, ...]
    best: tuple[Gated, ...]  # besides those of "balanced"
    many_rows: tuple[Gated, ...] = ()  # in place of "balanced", if any, where there are many rows
    n_ramps: int = 6  # of each feature
    toward_mean: float = 0.0  # see `covey._core.gating.gate.GatedObjective`
    # With more, rounding errors grow until weights and repeated rows no longer agree; nothing is
    # gained.
    pace: Pace = Pace(max_iter=50, path_iter=12)
    # On rungs: the winner there is fitted again on more rows.
    rung_pace: Pace = Pace(max_iter=30, path_iter=8)
    few: Task | None = None  # what is searched for where few rows tell little: see `of_size`


CLASSIFICATION = Task(
    loss_name="log_loss",
    numbers=False,
    pool="linear",
    alone={"features": (1e-3, 1e-2, 1e-1), "ramps": (1e-3, 1e-2), "products": (1e-2,)},
    gated=(3e-4, 3e-3, 3e-2),
    fast=Gated("richest", "richest", (2,)),
    balanced=(
        Gated("features", "richest", (0, 1)),
        Gated("ramps", "features", (0,)),
        Gated("ramps", "ramps", (2,)),
    ),
    many_rows=(
        Gated("features", "richest", (0, 1)),
        Gated("ramps", "features", (0,)),
        Gated("products", "features", (1,)),
        Gated("ramps", "ramps", (1,)),
    ),
    best=(
        Gated("products", "features", (1, 2)),
        Gated("ramps", "ramps", (1,)),
        Gated("features", "richest", (1, 2), _TIMES),
        Gated("features", "features", (1, 2), _TIMES, "log"),
        Gated("ramps", "features", (1, 2), _TIMES),
        Gated("products", "richest", (1, 2)),
    ),
    toward_mean=0.25,
)
# The way to the optimum is long, and where rows are few, reaching its end does not improve the
# loss.
CLASSIFICATION = replace(
    CLASSIFICATION,
    few=replace(
        CLASSIFICATION,
        balanced=(Gated("features", "richest", (1,)), *CLASSIFICATION.balanced[1:]),
        pace=Pace(max_iter=16, path_iter=6),
    ),
)

# Numbers need weaker penalties than classes, more iterations and finer ramps: a target may be
# nearly a function of the features. Groups that win most often come first, so that others can be
# seen to be worse.
REGRESSION = Task(
    loss_name="mean_loss",
    numbers=True,
    pool="log",
    alone={"features": (1e-2, 1e-1, 1.0), "ramps": (1e-2, 1e-1), "products": (1e-3, 1e-1)},
    gated=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
    fast=Gated("features", "features", (4,)),
    balanced=(
        Gated("ramps", "richest", (0, 2, 3)),
        Gated("features", "richest", (0, 1, 2, 3)),
        Gated("ramps", "features", (3,)),
        Gated("features", "features", (3,)),
    ),
    best=(
        Gated("products", "features", (4, 5)),
        Gated("features", "richest", (1, 3, 4, 5), _TIMES),
        Gated("ramps", "features", (1, 4), _TIMES),
        Gated("ramps", "richest", (1, 4)),
        Gated("products", "richest", (4, 5)),
    ),
    n_ramps=8,
    pace=Pace(max_iter=150, path_iter=12),
    rung_pace=Pace(max_iter=60, path_iter=12),
)


def of_size(task: Task, n_rows: int, n_outputs: int) -> Task:
    """Return the settings of a search in a table of this many rows.

    Rows times classes count: a few hundred rows of twenty classes hold much information.
    """
    return task.few if task.few is not None and n_rows * n_outputs <= _FEW else task


def families(
    task: Task,
    effort: Effort,
    n_members: int,
    alpha: float | None,
    n_rows: float,
    share_left: float = 1.0,
    drops_columns: bool = False,
) -> list[Family]:
    """Return the candidates of an effort, whichever bases the data allow.

    ``n_members`` is the size of a gated group, ``alpha`` the only penalty (None: those of the
    task), ``n_rows`` the number of rows or the sum of their weights. ``share_left`` is the share
    of a constant's loss that a linear model leaves: the best penalty of numbers is proportional
    to it. Folds find it out, but "fast" has no folds. With ``drops_columns``, members alone may
    lose single columns instead of whole features.
    """
    shrunk = shrinkage(n_rows)

    def penalties(of_task: tuple[float, ...], factor: float = 1.0) -> tuple[float, ...]:
        found = [alpha if alpha is not None else shrunk * one * factor for one in of_task]
        return tuple(dict.fromkeys(found))

    def gated(wanted: Gated, factor: float = 1.0) -> Family:
        return Family(
            wanted.basis,
            wanted.times * n_members,
            penalties(tuple(task.gated[which] for which in wanted.penalties), factor),
            wanted.pool or task.pool,
            wanted.gate,
        )

    if effort == "fast":
        # A member alone is for people who want to read less than a group has.
        fast = gated(task.fast, share_left)
        return [fast, Family("features", 1, fast.alphas, task.pool)]
    wanted = [
        Family(basis, 1, penalties(alphas), task.pool) for basis, alphas in task.alone.items()
    ]
    if n_members > 1:
        many = task.many_rows if n_rows > _MANY_ROWS and effort == "balanced" else ()
        wanted += [gated(one) for one in many or task.balanced]
        wanted += [gated(one) for one in task.best if effort == "best"]
    if drops_columns:
        # Gated members of a few single columns fit the rows that they see, and no others.
        alone = [one for one in wanted if one.n_members == 1 and one.basis != "features"]
        wanted += [replace(one, drops="columns") for one in alone]
    return wanted


def on_bases(wanted: Sequence[Family], bases: Collection[str]) -> list[Family]:
    """Return the families that the bases of the data allow."""
    names = {"richest": "ramps" if "ramps" in bases else "features"}
    found = [
        replace(one, basis=names.get(one.basis, one.basis), gate=names.get(one.gate, one.gate))
        for one in wanted
    ]
    # Families that differ in what the data lack may share penalties: each is tried once.
    tried: list[tuple[Family, float]] = []
    for number, one in enumerate(found):
        own = [alpha for alpha in one.alphas if (one.kind, alpha) not in tried]
        tried += [(one.kind, alpha) for alpha in own]
        found[number] = replace(one, alphas=tuple(own))
    return [one for one in found if one.basis in bases and one.alphas]


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


#: The kind of a family, a penalty, and how many units of features each member keeps.
Point = tuple[Family, float, int]


@dataclass(frozen=True)
class Candidate:
    """A point of a path: a family with one penalty, each member on this many units of features."""

    family: Family
    alpha: float
    size: int
    n_terms: int  # columns of members and gate, at most

    @property
    def left(self) -> tuple[str, int]:
        """Return what paths that are compared have in common at a point."""
        return self.family.drops, self.size


# -- all that is decided before a search ----------------------------------------------------------


@dataclass(frozen=True)
class SearchPlan:
    """All that parameters and the size of a table decide about a search.

    Folds are assigned, or are pairs of row numbers in the order of the table; without folds, the
    first family within the limits is taken. A long table is searched on ``rungs``, which have
    folds of their own: candidates are compared on some of its rows, those that can still win on
    more of them, and only what is selected is fitted on all.

    A journal keeps the steps, so that an interrupted search can continue. With ``single``, folds
    are fitted in single precision. That is twice as fast, but rounding then depends on how rows
    lie in blocks, and may decide between candidates that are nearly equal. ``n_errors`` is by how
    many standard errors the loss may rise for fewer terms. With ``keeps_folds``, the flock keeps
    the selected groups as they were fitted on each fold, too, and is the average of these and of
    the one fitted on all rows if that one has more than ``averaged_beyond`` terms.

    ``most_features`` of a member, ``most_terms`` and ``most_members`` of all are what a person is
    willing to read. A term is one column in one member, or in the gate of one group. An average of
    groups of classes is not additive where each of them is; then there is ``most_groups`` of one.
    """

    task: Task
    families: Sequence[Family]
    seed: int
    most_features: int
    folds: FoldAssignment | Folds = ()
    rungs: Sequence[Rung] = ()
    most_terms: float = np.inf
    most_members: float = np.inf
    n_errors: float = 1.0
    n_restarts: int = 1  # of each candidate that is selected, on all rows
    n_rows: int = 0  # of the whole table, if it is searched on rungs
    factor: float = 1.0  # of the penalties for that many rows
    single: bool = True
    keeps_folds: bool = False
    averaged_beyond: float = np.inf
    most_groups: float = np.inf
    journal: Journal | None = None

    def __str__(self) -> str:
        """Describe the families that will be tried, one per line."""
        tried = []
        for one in self.families:
            members = f"{one.n_members} members" if one.n_members > 1 else "one member"
            gate = f" with a gate on {one.gate}" if one.n_members > 1 else ""
            penalties = f"{len(one.alphas)} penalt{'y' if len(one.alphas) == 1 else 'ies'}"
            on = "single columns of " if one.drops == "columns" else ""
            tried.append(f"{members} on {on}{one.basis}{gate}, {penalties}")
        on = [f"on {rung.n_rows:,} rows" for rung in self.rungs]
        return "; ".join(tried + ["compared " + ", then ".join(on)] * bool(on))


@dataclass(frozen=True)
class Watch:
    """Functions that a search calls on its way, and the consequences of an interruption.

    ``on_family`` gives the context in which a family is cross-fitted; ``on_refit`` and
    ``on_iteration`` are called before the last fit and after each iteration. With ``may_stop``, an
    interruption of the comparison yields the best of the candidates compared so far, and
    ``on_stop`` is called. No family is begun once ``is_late``.
    """

    on_family: Callable[[Family], AbstractContextManager[Any]]
    on_refit: Callable[[], None] | None = None
    on_iteration: Callable[[], None] | None = None
    may_stop: bool = False
    on_stop: Callable[[], None] | None = None
    is_late: Callable[[], bool] | None = None
