"""Linear members of a flock as data, with all functions of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from covey import _state as stored
from covey._core.basis import Basis
from covey._core.search.assembly import FoundFlock
from covey._core.softmax_linear import linear_logits, log_softmax
from covey._state import refuse
from covey._validation import check_coefficients
from covey.fusers import Fuser, Predictions
from covey.fusers._gate import GatedGroups
from covey.members._flock_model import FlockModel
from covey.members._flock_summary import flock_summary
from covey.members._flock_views import decisions, flock_table
from covey.members._prepared_fit import ColumnScale, PreparedFit
from covey.members._targets import Numbers

# Results of a search that a model keeps as they are, or in the units of y.
_AS_FOUND = (
    *("basis", "coef", "intercept", "support", "n_iter", "shares"),
    *("column_mean", "column_scale", "gate_intercept", "pools", "n_terms", "candidates"),
)


@dataclass(frozen=True, eq=False)
class LinearModel(FlockModel):
    """K linear members on P columns, which are made of the D columns of a table.

    A subclass says what fuses them, ``fuser``.
    """

    scaling: Annotated[ColumnScale, stored.Record(ColumnScale, "D")]
    basis: Annotated[Basis, stored.Record(Basis, "D P")]
    coef: Annotated[np.ndarray, stored.Array("K C P", fewest=1, most=100_000)]
    intercept: Annotated[np.ndarray, stored.Array("K C")]
    support: Annotated[np.ndarray, stored.Flags("K F")]
    n_iter: Annotated[np.ndarray, stored.Wholes("K", low=0)]
    #: How Algorithm 1 grew each member, if it did.
    history: Annotated[
        list[dict[str, np.ndarray]] | None, stored.OrNone(stored.ListOf(stored.Columns(), "K"))
    ]
    column_mean: Annotated[np.ndarray, stored.Array("P")]
    column_scale: Annotated[np.ndarray, stored.Array("P", low=0)]
    shares: Annotated[np.ndarray, stored.Array("K", low=0)]  # the mean importance of each member
    # The mean prediction of each member, where a gate fuses.
    means: Annotated[np.ndarray | None, stored.Array("K C")]

    @classmethod
    def of(
        cls,
        fit: PreparedFit,
        *,
        basis: Basis,
        coef: np.ndarray,
        intercept: np.ndarray,
        support: np.ndarray,
        history: list[Any] | None = None,
        **more: Any,
    ) -> Self:
        """Make a model of members (K, C, P), given for a standardized target."""
        table = fit.known_table()
        coef, intercept = fit.target.in_units(coef, intercept)
        named = table.preparation is not None or table.feature_names_in_ is not None
        check_coefficients(coef, basis.feature, table.columns if named else None)
        return cls(
            target=fit.target,
            table=table,
            scaling=fit.scaling,
            basis=basis,
            # The layout of files: products of other layouts differ in their last bit.
            coef=np.ascontiguousarray(coef),
            intercept=intercept,
            support=table.on_features(support),
            history=history,
            means=None,
            **more,
        )

    @property
    def n_members(self) -> int:
        """Return how many members there are."""
        return len(self.coef)

    @property
    def scaled_basis(self) -> tuple[Basis, np.ndarray, np.ndarray]:
        """Return the columns that members see, and the mean and the deviation of each."""
        return self.basis, self.column_mean, self.column_scale

    def names(self) -> list[str]:
        """Return the members' names."""
        return [f"member {k}" for k in range(1, self.n_members + 1)]

    def estimators(self) -> list[Any]:
        """Return the members, each a fitted estimator that shares the arrays."""
        return list(map(self._estimator, self.coef, self.intercept, self.support))

    def _estimator(self, coef: np.ndarray, intercept: np.ndarray, support: np.ndarray) -> Any:
        """Return one linear model (C, P) of the table."""
        return self.target.member(
            coef,
            intercept,
            support,
            feature_names=self.own_table.feature_names_in_,
            basis=self.basis,
            preparation=self.own_table.preparation,
            scale=self.column_scale,
        )

    def contrast(self) -> np.ndarray:
        """Return the coefficients (K, C, P) without the part that all classes share."""
        return self.target.contrast(self.coef)

    # -- all members as one ----------------------------------------------------------------

    @property
    def is_one(self) -> bool:
        """Return whether all members together are one linear model."""
        return isinstance(self.fuser, self.target.linear_fuser)

    @property
    def why_not_one(self) -> str | None:
        """Return why this is not one linear model; None if it is."""
        if self.is_one:
            return None
        return (
            f"Only the {self.target.linear_rule} of linear members is itself linear; what "
            f"{self.fuser.title} fuses cannot collapse into one linear model."
        )

    def as_one(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (C, P) and intercepts (C,) of members that are fused into one."""
        weights = self.fuser.member_weights(self.n_members)
        return np.tensordot(weights, self.coef, axes=1), weights @ self.intercept

    def collapsed(self) -> Any:
        """Return members that are fused into one as a fitted estimator."""
        used = self.fuser.member_weights(self.n_members) > 0
        return self._estimator(*self.as_one(), self.support[used].any(axis=0))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of the table's columns that meet in a product of some member."""
        used = self.contrast().any(axis=(0, 1)) & (self.basis.partner >= 0)
        of = np.arange(self.basis.n_features) if self.table is None else self.table.column_of
        one, other = of[self.basis.feature[used]], of[self.basis.partner[used]]
        apart = one != other
        both = np.sort(np.stack([one[apart], other[apart]], axis=1), axis=1)
        return [(int(first), int(second)) for first, second in np.unique(both, axis=0)]

    @property
    def is_additive(self) -> bool:
        """Whether each column of the table has an effect of its own, and all effects are added.

        They are added to a number (before it is held within its range), or to log-odds: those of
        a mean of probabilities are not.
        """
        return self.has_no_gate and not self.pairs

    @property
    def has_no_gate(self) -> bool:
        """Whether the number, or the log-odds, are a fixed mean of those of the members."""
        return self.is_one

    # -- predict ---------------------------------------------------------------------------

    def predictions(self, rows: Any) -> Predictions:
        """Return the members' predictions, from linear functions (C, K, n)."""
        members = self.coef.transpose(1, 0, 2), self.intercept.T
        return self.target.predictions(linear_logits(self.basis.rows(rows), *members))

    def fused(self, rows: Any) -> np.ndarray:
        """Return the members' fused predictions."""
        if not self.is_one:
            return super().fused(rows)
        outputs = linear_logits(self.basis.rows(rows), *self.as_one())
        return self.target.bounded(self.target.of_one(outputs))

    def fused_log(self, rows: Any) -> np.ndarray:
        """Return the logarithms of the fused predictions."""
        if self.is_one:
            return log_softmax(linear_logits(self.basis.rows(rows), *self.as_one())).T
        return super().fused_log(rows)

    # -- describe --------------------------------------------------------------------------

    def columns(self) -> np.ndarray:
        """Return which columns of the table may move a prediction, (F,)."""
        return self.fuser.needs_X | self.support.any(axis=0)

    def column_sizes(self) -> np.ndarray:
        """Return how large the coefficients of each column (D,) are; they sum to one."""
        size = self.basis.on_features(self.shares @ self._moved() + self.gate_sizes())
        return size / size.sum() if size.any() else size

    def _moved(self) -> np.ndarray:
        """Return how far one deviation of each column (P,) moves each member, (K, P)."""
        return np.abs(self.contrast() * self.column_scale).mean(axis=1)

    def member_sizes(self) -> np.ndarray:
        """Return how far one deviation of each feature moves each member, (K, F)."""
        found = np.array([self.basis.on_features(moved) for moved in self._moved()])
        return self.own_table.by_feature(found)

    def gate_sizes(self) -> np.ndarray | float:
        """Return how much each column (P,) moves gates that were learnt with the members."""
        return 0.0

    def feature_sizes(self) -> np.ndarray:
        """Return how large the coefficients of each feature (F,) are; they sum to one."""
        return self.own_table.by_feature(self.column_sizes())

    decisions, describe, as_html = decisions, flock_summary, flock_table


@dataclass(frozen=True, eq=False)
class GrownModel(LinearModel):
    """Linear members that Algorithm 1 grew, and the fuser of a user's choice."""

    fuser: Annotated[Fuser, stored.Model(Fuser)]  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class GatedModel(LinearModel):
    """Linear members in G groups, each with a gate, as a search finds them."""

    # The number of members in each group, one group after the other.
    sizes: Annotated[np.ndarray, stored.Wholes("G", low=1)]
    group_weights: Annotated[np.ndarray, stored.Share("G")]
    gate_coef: Annotated[np.ndarray, stored.Array("K P")]
    gate_intercept: Annotated[np.ndarray, stored.Array("K")]
    pools: Annotated[list[str], stored.ListOf(stored.OneOf("linear", "log"), "G")]
    gate_support: Annotated[np.ndarray, stored.Flags("G F")]
    n_terms: Annotated[int, stored.Whole()]
    candidates: Annotated[dict[str, np.ndarray], stored.Columns()]

    def _restored(self) -> None:
        refuse("sizes", "are not those of the groups.", self.sizes.sum() == self.n_members)

    @classmethod
    def found(cls, fit: PreparedFit, found: FoundFlock) -> Self:
        """Make a model of the result of a search."""
        return cls.of(
            fit,
            **{name: getattr(found, name) for name in _AS_FOUND},
            sizes=np.array(found.sizes),
            group_weights=found.weights,
            gate_coef=np.ascontiguousarray(found.gate_coef),
            gate_support=fit.table.on_features(found.gate_support),
        )

    @cached_property
    def has_no_gate(self) -> bool:
        """Whether the number, or the log-odds, are a fixed mean of those of the members."""
        groups = np.split(self.gate_coef, np.cumsum(self.sizes)[:-1])
        gated = any(np.ptp(gates, axis=0).any() for gates in groups)
        one_logit = len(self.sizes) == 1 and (self.n_members == 1 or self.pools[0] == "log")
        return not gated and (self.target.is_numeric or one_logit)

    @property
    def group_of(self) -> np.ndarray:
        """The group of each member."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def fuser(self) -> GatedGroups:
        """Return the fuser of the groups."""
        gates = self.basis, self.gate_coef, self.gate_intercept
        groups = self.sizes.tolist(), self.pools, self.group_weights
        if isinstance(self.target, Numbers):
            return GatedGroups(*gates, *groups, None, self.target.loss.is_log)
        return GatedGroups(*gates, *groups, self.target.classes)

    def fused(self, rows: Any) -> np.ndarray:
        """Return the fused predictions; the columns of members and gates are computed once."""
        how = {"numbers": self.target.is_numeric}
        pooled = self.fuser.groups.predict(rows, self.coef, self.intercept, **how)
        return self.target.of_pool(pooled)

    def fused_log(self, rows: Any) -> np.ndarray:
        """Return the logarithms of the fused predictions."""
        with np.errstate(divide="ignore"):
            return np.log(self.fused(rows))

    def columns(self) -> np.ndarray:
        """Return which columns of the table may move a prediction, (F,)."""
        return np.any(self.support, axis=0) | np.any(self.gate_support, axis=0)

    def gate_sizes(self) -> np.ndarray:
        """Return how much each column (P,) moves the gates."""
        # Gates have logits; members' predictions of numbers have the unit of y.
        unit = getattr(self.target, "scale", 1.0)
        gates = self.gate_coef * self.column_scale
        starts = np.cumsum(self.sizes) - self.sizes
        spans = zip(starts, self.sizes, strict=True)
        means = [gates[start : start + n].mean(axis=0) for start, n in spans]
        sizes = np.abs(gates - np.array(means)[self.group_of])
        # Gates count by their members' weights: those of a group share its weight.
        return unit * (self.group_weights / self.sizes)[self.group_of] @ sizes
