"""What models share that grow an ensemble, such as a forest, and fuse its members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from covey._validation import fitted_alone
from covey.fusers import FUSERS, Fuser
from covey.members._ensemble_members import EnsembleMembers, grown, grown_without
from covey.members._given import GivenModels
from covey.members._sampling import (
    HoldingOut,
    check_ensemble,
    check_features,
    checked_rows,
    seeded,
)


class EnsembleFusion(GivenModels):
    """A mixin for models with the parameters ``ensemble``, ``fuser`` and two for held-out rows.

    A subclass sets ``_known`` (the ensembles that it takes) and writes ``_make``.
    """

    _known: tuple[type, ...]

    @abstractmethod
    def _make(self) -> Callable[..., EnsembleMembers]:
        """What makes the members of a fitted ensemble."""

    def _leaves_rows_out(self, unfitted: BaseEstimator, n_rows: int) -> bool:
        """Whether members may be grown on fewer rows than there are."""
        return False

    @fitted_alone
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X, y, sample_weight
            As for `from_bagging`.
        """
        fuser = None if self.fuser is None else self._models.make_fuser(self.fuser, "fuser")
        check_ensemble(self.ensemble, self._known)
        classifies = is_classifier(self)
        if is_classifier(self.ensemble) != classifies:
            wanted, other = ("classifiers", "regressors")[:: 1 if classifies else -1]
            raise TypeError(
                f"ensemble must grow {wanted}, but {type(self.ensemble).__name__} grows {other}."
            )
        holding_out = HoldingOut(self.validation_fraction, self.random_state)
        X, y, weight = checked_rows(X, y, sample_weight, classifies)
        validate_data(self, X, skip_check_array=True)
        self._keep_seen(X, weight)
        if fuser is not None:
            check_features(fuser, X)
        unfitted = seeded(self.ensemble, holding_out.seed)
        learns = fuser is not None and fuser.learns
        if not learns or self._leaves_rows_out(unfitted, len(y)):
            source = grown(self._make(), unfitted, X, y, weight)
            if not learns or source._leaves_enough_out():
                fuser = source._own_rule() if fuser is None else fuser
                return self._take(source._teach(fuser), fuser)
        source = grown_without(self._make(), unfitted, X, y, weight, holding_out, fuser)
        return self._take(source, fuser)

    def _take(self, source: EnsembleMembers, fuser: Fuser) -> Self:
        """Become the fitted model of these members and this fuser."""
        if source.classes is not None:
            self.classes_ = source.classes
        self.kind_ = source._kind_for(fuser)
        self.ensemble_ = source.ensemble
        self.estimators_, self._member_names = source.estimators, source.names
        self.fuser_ = fuser
        return self

    def _names(self) -> list[str]:
        return self._member_names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.ensemble, "__sklearn_tags__"):
            inner = get_tags(self.ensemble).input_tags
            known = isinstance(self.fuser, str) and self.fuser in FUSERS
            fuser = FUSERS[self.fuser]() if known else self.fuser
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan and not getattr(fuser, "needs_X", False)
        return tags
