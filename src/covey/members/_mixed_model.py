"""Members of several kinds as data: linear groups beside trees, boosting, kernels, neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import Bunch

from covey import _state as stored
from covey._blocks import take_rows
from covey._core.arrays import evenly
from covey._state import equal, refuse
from covey.fusers import Mean, Predictions
from covey.members._flock_model import FlockModel
from covey.members._linear_model import GatedModel, LinearModel
from covey.members._member_kinds import as_given, member_prediction
from covey.members._mixed_views import (
    member_importances,
    mixed_decisions,
    mixed_importances,
    mixed_summary,
    mixed_table,
)
from covey.members._prepared_fit import PreparedFit
from covey.members._roster import Classifiers, Regressors
from covey.members._stored import check_member, try_row
from covey.members._targets import Numbers

# How many rows show what is typical, and how much features matter.
_N_TYPICAL, _N_EXAMPLES = 10_000, 100
# How many numbers are read at once.
_NUMBERS_AT_ONCE = 1 << 22
# Typical rows and examples are clipped to this distance.
_FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class MixedModel(FlockModel):
    """K models of any kind and their weights; N examples of D columns.

    The models are estimators that were fitted to the columns of numbers, or models of linear
    members without a table of their own. Typical values of the columns fill gaps of new rows, and
    explanations compare rows with them.
    """

    models: Annotated[
        Bunch, stored.Named("K", make=Bunch, data=stored.AnyOf(GatedModel, letters="C D F"))
    ]
    weights: Annotated[np.ndarray, stored.Share("K")]
    candidates: Annotated[dict[str, np.ndarray], stored.Columns()]
    # Some training rows; none in files that must hold none.
    examples: Annotated[np.ndarray, stored.Array("N D", -_FARTHEST, _FARTHEST, of_rows=True)]
    is_sparse: Annotated[bool, stored.Flag()]

    @classmethod
    def of(
        cls, fit: PreparedFit, models: Bunch, weights: np.ndarray, candidates: dict[str, Any]
    ) -> Self:
        """Make a model of models on the columns of a fit, and keep typical values of its rows."""
        rows = fit.rows
        sample = take_rows(rows.X, evenly(np.flatnonzero(rows.weight), _N_TYPICAL))
        n_columns = rows.n_features
        if hasattr(sample, "tocsc"):
            # Some columns at a time: all of them may not fit into memory.
            columns, at_once = sample.tocsc(), max(1, _NUMBERS_AT_ONCE // sample.shape[0])
            parts = (columns[:, k : k + at_once] for k in range(0, n_columns, at_once))
            typical = np.concatenate([np.median(part.toarray(), axis=0) for part in parts])
        else:
            typical = np.median(sample, axis=0)
        fewer = min(_N_EXAMPLES, max(1, _NUMBERS_AT_ONCE // n_columns))
        examples = take_rows(sample, evenly(np.arange(sample.shape[0]), fewer))
        examples = examples.toarray() if hasattr(examples, "tocsr") else examples
        own = Bunch()  # which takes no argument of the name self
        for name, model in models.items():
            own[name] = replace(model, table=None) if isinstance(model, LinearModel) else model
        return cls(
            target=fit.target,
            table=replace(fit.known_table(), filling=typical),
            models=own,
            weights=weights,
            candidates=candidates,
            examples=examples,
            is_sparse=hasattr(rows.X, "tocsr"),
        )

    def _restored(self) -> None:
        near = self.table is not None and np.abs(self.table.filling).max() <= _FARTHEST
        refuse("table", "is none of several kinds of members.", near, too_large=True)
        table = self.own_table
        as_ensemble = SimpleNamespace(
            _models=Regressors if self.target.is_numeric else Classifiers,
            classes_=getattr(self.target, "classes", None),
            feature_names_in_=table.given_columns,
        )
        for member in self.models.values():
            if not isinstance(member, LinearModel):
                check_member(as_ensemble, member, len(table.filling))
                continue
            same = member.table is None and equal(member.target, self.target)
            refuse("models", "has linear members of another target.", same)
        try_row(self, table.n_features_in_)

    is_one = False  # linear model
    why_not_one = (
        "A flock of several kinds of members is not one linear model; see named_estimators_."
    )

    @cached_property
    def fuser(self) -> Mean:
        """Return the fuser of the members."""
        return Mean(weights=self.weights)

    @property
    def n_members(self) -> int:
        """Return how many members there are."""
        return len(self.models)

    @property
    def tried_rows(self) -> np.ndarray:
        """Rows on which the importance of columns is tried out: examples, or the typical one."""
        return self.examples if len(self.examples) else self.own_table.filling[None]

    def names(self) -> list[str]:
        """Return the members' names."""
        return list(self.models)

    def estimators(self) -> list[Any]:
        """Return the members: fitted estimators, and linear members as models of the table."""
        return [
            replace(model, table=self.table) if isinstance(model, LinearModel) else model
            for model in self.models.values()
        ]

    # -- predict ---------------------------------------------------------------------------

    def predictions(self, rows: Any) -> Predictions:
        """Return the members' predictions."""
        values = np.stack([self.prediction(name, rows) for name in self.models], axis=1)
        if isinstance(self.target, Numbers):
            return Predictions(values, names=self.names(), kind="value")
        return Predictions(values, self.target.classes, names=self.names())

    def prediction(self, name: str, rows: Any) -> np.ndarray:
        """Return the predictions of a member."""
        model = self.models[name]
        if isinstance(model, LinearModel):
            return model.predict(rows)
        rows = rows.toarray() if hasattr(rows, "tocsr") and not self.is_sparse else rows
        rows = as_given(self.own_table.given_columns, rows, name)
        return member_prediction(self.target, name, model, rows)

    # -- describe --------------------------------------------------------------------------

    def columns(self) -> np.ndarray:
        """Return which columns of the table may move a prediction, (F,): each may."""
        return np.ones(self.own_table.n_features_in_, dtype=bool)

    member_sizes, feature_sizes = member_importances, mixed_importances
    decisions, describe, as_html = mixed_decisions, mixed_summary, mixed_table
