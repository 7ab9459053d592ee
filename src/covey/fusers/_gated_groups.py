"""Gated groups: what a search finds, averaged with fixed weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from covey._core.basis import Basis
from covey._core.fusion.rules import settled
from covey._core.gating.groups import Groups
from covey._core.softmax_linear import linear_logits
from covey.fusers._base import Fuser, values_by
from covey.fusers._predictions import Predictions

if TYPE_CHECKING:
    from covey._core.search.assembly import Flock


class GatedGroups(Fuser):
    """Groups of members, each fused by a gate of its own, averaged with fixed weights.

    What a `FlockClassifier` or `FlockRegressor` finds by searching. It is learnt together with
    the members and cannot be fitted to other ones.

    All gates see the columns of ``basis``, by coefficients (n_members, n_columns). ``sizes`` are
    the numbers of members of the groups, one group after the other, ``pools`` how the
    probabilities of each are fused, and ``weights`` sum to one; where ``classes`` is None,
    members predict numbers.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> groups = flock.fuser_
    >>> type(groups).__name__, len(groups.weights)
    ('GatedGroups', 1)
    """

    learns = True
    needs_X = True

    def __init__(
        self,
        basis: Basis,
        coef: np.ndarray,
        intercept: np.ndarray,
        sizes: Sequence[int],
        pools: Sequence[str],
        weights: np.ndarray,
        classes: np.ndarray | None,
    ) -> None:
        self.basis = basis
        self.coef = coef
        self.intercept = intercept
        self.sizes = sizes
        self.pools = pools
        self.weights = weights
        self.classes = classes

    @classmethod
    def of(cls, flock: Flock, classes: np.ndarray | None) -> Self:
        """The gates of what a search found."""
        # As files hold them: products of other layouts differ in their last bit.
        gates = flock.basis, np.ascontiguousarray(flock.gate_coef), flock.gate_intercept
        return cls(*gates, flock.sizes, flock.pools, flock.weights, classes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds of `Predictions` it takes."""
        return ("probability",) if self.classes is not None else ("value",)

    @property
    def n_members_(self) -> int:
        """How many members it fuses."""
        return len(self.coef)

    @property
    def classes_(self) -> np.ndarray:
        """The classes that they predict; a single one stands for numbers."""
        return np.arange(1) if self.classes is None else self.classes

    def fit(self, P: Any, y: Any = None, X: Any = None, sample_weight: Any = None) -> Self:
        """Refuse: the gates were learnt together with their members."""
        flock = "FlockRegressor" if self.classes is None else "FlockClassifier"
        raise ValueError(
            f"These gates were learnt together with their members, by a {flock}; "
            "to learn one for other members use Gate."
        )

    @property
    def _groups(self):
        gates = self.basis, self.coef, self.intercept
        return Groups(*gates, self.sizes, self.pools, self.weights)

    def fuse_linear(self, X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Fuse what linear members (K, C, P) on the columns of ``basis`` predict of checked rows.

        The result (n_samples, C) is what ``fuse`` gives for the members' predictions, and sooner:
        the columns that members and gates see are computed once.
        """
        if self.classes is None:
            return self._groups.predict(X, coef, intercept, numbers=True)
        return settled(self._groups.predict(X, coef, intercept, numbers=False))

    def _importance(self, P, X, codes):
        return self._groups.importance(X).T

    def _fuse(self, P, X, codes):
        if P.kind == "value":
            return values_by(P, self._importance(P, X, codes))
        gate_logits = linear_logits(self.basis.rows(X), self.coef, self.intercept)
        return self._groups.probabilities(P.log().transpose(1, 2, 0), gate_logits).T

    def fuse_by(self, P: Predictions, importance: np.ndarray) -> np.ndarray:
        """What ``fuse`` gives with these importances, (n_samples, n_members), for the gates'.

        Within a group members count as their importances do to each other; the weights of the
        groups stay as they are.
        """
        if P.kind == "value":
            return values_by(P, importance)[:, 0]
        with np.errstate(divide="ignore"):
            gate_logits = np.log(importance.T)
        return settled(self._groups.probabilities(P.log().transpose(1, 2, 0), gate_logits).T)
