"""What there is to report about a flock, as plain numbers: nothing is drawn in this module."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from covey._blocks import take_rows
from covey.inspection import GateShare, gate_share
from covey.reporting._columns import UserColumns
from covey.reporting._inputs import Details, ReportInputs
from covey.reporting._strength import Strength, strength_of
from covey.reporting._words import DASH, number

# Single members are measured on so many rows at most; the whole is measured on all.
MOST_ROWS = 5000


def shares(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Parts of wholes; NaN where the whole is zero."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


class Quarters(NamedTuple):
    """Rows in up to four parts of about the same size, by a number."""

    of_row: np.ndarray
    names: list[str]


def quarters(values: np.ndarray) -> Quarters | None:
    """Rows by quarter of some values; None where these are all the same."""
    cuts = np.unique(np.quantile(values, (0.25, 0.5, 0.75)))
    cuts = cuts[cuts > values.min()]
    if not len(cuts):
        return None
    ends = [number(cut) for cut in cuts]
    between = [f"{a}{DASH}{b}" for a, b in itertools.pairwise(ends)]
    names = [f"< {ends[0]}", *between, f"≥ {ends[-1]}"]
    return Quarters(np.searchsorted(cuts, values, side="right"), names)


class Facts:
    """A flock on some rows; `ClassFacts` and `ValueFacts` add what the target's kind allows."""

    # What more of a feature may favor: a class, or a lower or higher value.
    outcomes: Sequence[str]
    truth: np.ndarray  # the true labels, as the flock knows them, or numbers of the sample

    def __init__(self, inputs: ReportInputs, details: Details | None = None):
        self.inputs, self.details, self.flock = inputs, details or Details(), inputs.flock
        self.features, self.y = inputs.features, inputs.y
        self.n_rows, self.n_features = len(self.y), len(self.features)
        # The rows that members are measured on; all, unless there are too many.
        self.sample = np.arange(self.n_rows)
        if self.n_rows > MOST_ROWS:
            self.sample = np.linspace(0, self.n_rows - 1, MOST_ROWS).astype(np.intp)
        self.n_sample = len(self.sample)
        self.seen = take_rows(inputs.seen, self.sample)
        self.P = self.flock._predictions(self.flock._check_rows(self.seen))
        self.importance = self.flock.explain_fusion(self.seen)
        self.names = [str(name) for name in self.P.names]
        self._made: dict[Callable, Any] = {}
        self.n_members = self.P.n_members

    def once(self, function: Callable[[Any], Any]) -> Any:
        """What a function finds in these facts, computed once for all sections."""
        if function not in self._made:
            self._made[function] = function(self)
        return self._made[function]

    @property
    def held_out(self) -> bool:
        """Whether the whole is judged by models without these rows, on which members were fitted.

        What is measured of single members flatters them then.
        """
        return self.inputs.judgement is not None

    @property
    def groups(self) -> np.ndarray | None:
        """Which rows belong together; None where each stands for itself."""
        return None if self.inputs.judgement is None else self.inputs.judgement.groups

    @property
    def how(self) -> str | None:
        """In words how rows were held out."""
        return None if self.inputs.judgement is None else self.inputs.judgement.how

    @cached_property
    def columns(self) -> UserColumns:
        """The columns of the user's table, and how much each matters."""
        weight = self.feature_weight if not self.inputs.steps else None
        return UserColumns(self.inputs, weight)

    def row_name(self, row: int) -> str:
        """What the user calls a row."""
        return self.inputs.row_names[row]

    # -- the members -----------------------------------------------------------------------

    @cached_property
    def available(self) -> np.ndarray:
        """Where each member predicts, (n_sample, n_members)."""
        if self.P.available is None:
            return np.ones((self.n_sample, self.n_members), dtype=bool)
        return self.P.available

    @property
    def all_available(self) -> bool:
        """Whether every member predicts every row."""
        return bool(self.available.all())

    @cached_property
    def constant(self) -> np.ndarray:
        """Which members predict (nearly) the same for all rows of the sample, (n_members,)."""
        return self.P.constant_members

    @cached_property
    def mean_importance(self) -> np.ndarray:
        """How much each member decides, over all rows of the sample."""
        return self.importance.mean(axis=0)

    @cached_property
    def by_importance(self) -> np.ndarray:
        """The members, those that decide the most first."""
        return np.argsort(-np.round(self.mean_importance, 12), kind="stable")

    @property
    def decides_evenly(self) -> bool:
        """Whether all members have the same importance on every row."""
        return bool(np.allclose(self.importance, 1.0 / self.n_members, atol=1e-9))

    @cached_property
    def gate_share(self) -> GateShare | None:
        """How much is the gate's and how much the members', on the sample; None without a gate.

        None also where the model is no better, on these rows, than one prediction for all.
        """
        if self.n_members < 2 or not hasattr(self.flock.fuser_, "fuse_by"):
            return None
        measured = gate_share(self.flock, self.seen, self.truth)
        return None if np.isnan(measured.lost_without_gate) else measured

    @property
    def n_groups(self) -> int:
        """How many gated groups a search put together; 0 for other flocks."""
        return len(getattr(self.flock, "group_weights_", ()))

    # -- features --------------------------------------------------------------------------

    @cached_property
    def support(self) -> np.ndarray | None:
        """Which features each member uses, (n_members, n_features); None if not known."""
        support = getattr(self.flock, "support_", None)
        if support is None or np.shape(support) != (self.n_members, self.n_features):
            return None
        return np.asarray(support, dtype=bool)

    @property
    def n_used(self) -> int | None:
        """How many features some member uses; None if not known."""
        return None if self.support is None else int(self.support.any(axis=0).sum())

    @cached_property
    def strength(self) -> Strength | None:
        """How much features move members; None where that is not known."""
        return strength_of(self)

    @cached_property
    def feature_weight(self) -> np.ndarray | None:
        """How much each feature matters to the whole; sums to one. None where not known."""
        if self.strength is None:
            return None
        if hasattr(self.flock, "basis_"):
            return self.flock.feature_importances_
        # Members of different kinds measure differently: each counts as much as it decides.
        weight = self.mean_importance @ self.strength.shares
        return weight / weight.sum()
