"""The base of all models of flocks, as data: linear members, or members of several kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from covey import _state as stored
from covey._blocks import by_blocks
from covey.evaluation._record import Remark
from covey.fusers import Predictions
from covey.members._corrections import Correction
from covey.members._targets import Classes, Numbers
from covey.tables._known_table import KnownTable


@dataclass(frozen=True, eq=False)
class FlockModel:
    """Members and a ``fuser``, the target that they predict, and the table that they read.

    Without a table it is a member of another model, and takes rows of numbers as they are. Rows
    that are called ``rows`` are such numbers, those called ``X`` a user's own. A subclass writes
    ``predictions``, and the descriptions of the members: ``columns``, ``describe``, ``decisions``.
    """

    target: Annotated[Classes | Numbers, stored.AnyOf(Classes, Numbers, letters="C")]
    table: Annotated[KnownTable | None, stored.Record(KnownTable, "D F")]

    #: The changes that a person made to the fitted model, in order.
    corrections: Annotated[
        tuple[Correction, ...],
        stored.OrMissing(stored.ListOf(stored.Record(Correction), make=tuple)),
    ] = field(default=(), kw_only=True)

    # A field of some subclasses, computed by others.
    fuser: ClassVar[Any]

    def remarks(self) -> list[Remark]:
        """Return a remark on each correction."""
        return [Remark("correction", one.column, str(one)) for one in self.corrections]

    @property
    def own_table(self) -> KnownTable:
        """The table, which a model has unless it is a member of another one."""
        assert self.table is not None
        return self.table

    def rows(self, X: Any) -> Any:
        """Return rows of a table as members see them."""
        return X if self.table is None else self.table.rows(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, C), or the numbers (n,), of rows of a table."""
        return by_blocks(self.fused, self.rows(X), finite=True)

    def members(self, X: Any) -> Predictions:
        """Return the members' predictions of rows of a table."""
        return self.predictions(self.rows(X))

    def importance(self, X: Any) -> np.ndarray:
        """Return how much each member decides about rows of a table, (n, K)."""
        return by_blocks(self.weights_of_rows, self.rows(X), finite=True)

    def predictions(self, rows: Any) -> Predictions:
        """Return the members' predictions."""
        raise NotImplementedError

    def fused(self, rows: Any) -> np.ndarray:
        """Return the members' fused predictions."""
        return self.target.bounded(self.fuser.fuse(self.predictions(rows), rows))

    def fused_log(self, rows: Any) -> np.ndarray:
        """Return the logarithms of the fused predictions."""
        return self.fuser.fuse_log(self.predictions(rows), rows)

    def weights_of_rows(self, rows: Any) -> np.ndarray:
        """Return how much each member decides, (n, K)."""
        return self.fuser.importance(self.predictions(rows), rows)

    def outputs(self, rows: Any) -> np.ndarray:
        """Return the predictions of each member, (n, K, C); C is 1 for numbers."""
        return self.predictions(rows).values

    def member_values(self, rows: Any) -> np.ndarray:
        """Return the predictions of each member, (n, K, C) or (n, K)."""
        P = self.predictions(rows)
        return np.where(P.known, P.values[:, :, 0], np.nan) if P.kind == "value" else P.values
