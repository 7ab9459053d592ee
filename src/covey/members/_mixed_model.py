"""Members of several kinds as data: linear groups beside trees, boosting, kernels, neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import Bunch

from covey import _state as stored
from covey._blocks import finite_in_blocks, take_rows
from covey._state import equal, refuse
from covey.fusers import Mean, Predictions
from covey.members._linear_model import LinearModel
from covey.members._member_kinds import LINEAR, as_given, member_prediction
from covey.members._mixed_views import (
    member_importances,
    mixed_decisions,
    mixed_importances,
    mixed_summary,
    mixed_table,
)
from covey.members._rows_in_memory import InMemoryRows
from covey.members._stored import check_member, try_row
from covey.members._targets import Classes, Numbers

# How many rows show what is typical, and how much features matter.
_N_TYPICAL, _N_EXAMPLES = 10_000, 100
# Numbers that are looked at at once.
_NUMBERS_AT_ONCE = 1 << 22
# No typical row, and no example, is farther out.
_LARGEST_ROW = 1e100


@dataclass(frozen=True, eq=False)
class MixedModel:
    """K members of several kinds and their weights; N examples of D columns."""

    target: Annotated[Classes | Numbers, stored.AnyOf(Classes, Numbers, letters="C")]
    members: Annotated[Bunch, stored.Named("K", make=Bunch)]
    weights: Annotated[np.ndarray, stored.Share("K")]
    candidates: Annotated[dict[str, np.ndarray], stored.Columns()]
    # What is typical of the rows fills gaps of new ones, and explanations compare rows with it.
    typical: Annotated[np.ndarray, stored.Array("D", -_LARGEST_ROW, _LARGEST_ROW)]
    examples: Annotated[np.ndarray, stored.Array("N D", -_LARGEST_ROW, _LARGEST_ROW, fewest=1)]
    # The names that members were given, if any.
    columns: Annotated[list[str] | None, stored.Texts("D")]
    is_sparse: Annotated[bool, stored.Flag()]

    @classmethod
    def of(cls, rows: InMemoryRows, **members: Any) -> Self:
        """Make a model of members, and keep what is typical of the rows."""
        sample = take_rows(rows.X, _spread(np.flatnonzero(rows.weight), _N_TYPICAL))
        n_features = rows.n_features
        if hasattr(sample, "tocsc"):
            # Some columns at a time: all of them may not fit into memory.
            columns, at_once = sample.tocsc(), max(1, _NUMBERS_AT_ONCE // sample.shape[0])
            parts = (columns[:, k : k + at_once] for k in range(0, n_features, at_once))
            typical = np.concatenate([np.median(part.toarray(), axis=0) for part in parts])
        else:
            typical = np.median(sample, axis=0)
        fewer = min(_N_EXAMPLES, max(1, _NUMBERS_AT_ONCE // n_features))
        examples = take_rows(sample, _spread(np.arange(sample.shape[0]), fewer))
        examples = examples.toarray() if hasattr(examples, "tocsr") else examples
        is_sparse = hasattr(rows.X, "tocsr")
        return cls(**members, typical=typical, examples=examples, is_sparse=is_sparse)

    def check(self, flock: Any) -> None:
        """Refuse a member of a file that is given other columns, or predicts other classes."""
        flock._columns.check_width("typical", len(self.typical))
        for name, member in self.members.items():
            if name != LINEAR:
                check_member(flock, member, len(self.typical), flock._columns.names())
                continue
            linear = type(member) is type(flock)
            linear = linear and isinstance(getattr(member, "model_", None), LinearModel)
            refuse("members", "has another member as the linear one.", linear)
            same = equal(flock.preparation_, member.preparation_)
            refuse("members", "has linear members that see other columns.", same)
            check_member(flock, member, flock.n_features_in_)
            same = not flock._classifies or np.array_equal(member.classes_, flock.classes_)
            refuse("members", "has a member of other classes.", same)
        try_row(flock)

    is_one = False  # linear model

    @cached_property
    def fuser(self) -> Mean:
        """What fuses the members."""
        return Mean(weights=self.weights)

    @property
    def n_members(self) -> int:
        """How many members there are."""
        return len(self.members)

    def names(self) -> list[str]:
        """Return the members' names."""
        return list(self.members)

    def estimators(self, flock: Any) -> list[Any]:
        """Return the members, each a fitted estimator."""
        return list(self.members.values())

    def why_not_one(self, flock: Any) -> str:
        """Return why a flock is not one linear model."""
        return (
            f"This {type(flock).__name__} has members of several kinds and is not one linear "
            "model; see named_estimators_."
        )

    # -- predict ---------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, C), or the numbers (n,), of rows as members see them."""
        return finite_in_blocks(self.fused, X)

    def predictions(self, X: Any) -> Predictions:
        """Return what the members predict."""
        values = np.stack(list(self._each(X)), axis=1)
        if isinstance(self.target, Numbers):
            return Predictions(values, names=self.names(), kind="value")
        return Predictions(values, self.target.classes, names=self.names())

    def _each(self, X: Any) -> Iterator[np.ndarray]:
        for name, member in self.members.items():
            if name == LINEAR:
                yield member._by_blocks(member._fused, X)
            else:
                yield self.prediction(name, X)

    def prediction(self, name: str, X: Any) -> np.ndarray:
        """Return what a member that is not linear predicts."""
        X = X.toarray() if hasattr(X, "tocsr") and not self.is_sparse else X
        X = as_given(self.columns, X, name)
        return member_prediction(self.target, name, self.members[name], X)

    def fused(self, X: Any) -> np.ndarray:
        """Return what they predict together."""
        return self.target.bounded(self.fuser.fuse(self.predictions(X)))

    def fused_log(self, X: Any) -> np.ndarray:
        """Return the logarithms of that."""
        return self.fuser.fuse_log(self.predictions(X))

    @property
    def filling(self) -> np.ndarray:
        """What takes the place of gaps (D,) in new rows."""
        return self.typical

    # -- tell ------------------------------------------------------------------------------

    def columns_looked_at(self) -> np.ndarray | bool:
        """Return which features may move a prediction: each may."""
        return True

    # These take the flock, too.
    member_sizes, feature_sizes = map(staticmethod, (member_importances, mixed_importances))
    decisions, summary, table = map(staticmethod, (mixed_decisions, mixed_summary, mixed_table))


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, from the first to the last."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
