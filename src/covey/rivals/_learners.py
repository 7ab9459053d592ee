"""The base of the rivals: one short fit, and members that are copies of a learner."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from covey._blocks import by_blocks, training_table
from covey._core.random import Purpose, UniformRows
from covey._devices import to_numpy
from covey._folds import check_groups
from covey._models import classifies, with_seeds
from covey._validation import check_labels, check_sample_weight, fitted_alone, holds_gaps
from covey.fusers import Predictions
from covey.fusers._fixed import make_fuser
from covey.fusers._outputs import common_kind, gather, member_output
from covey.members._ensemble import Ensemble, check_two_classes
from covey.members._held_out import held_out_rows
from covey.tables._checked import checked_numbers_with_gaps

# A fuser that learns does so from this share of the rows.
_HELD_OUT = 0.1


class Rival(Ensemble, ClassifierMixin, BaseEstimator):
    """An ensemble to compare with: it grows members on arrays, and fuses them by ``fuser``.

    A subclass writes ``_check_parameters`` and ``_grow``. Its members are copies of ``estimator``,
    where None stands for ``_default``, or it writes ``_predictions``, too.
    """

    n_jobs: int | None = None
    _default: Any = None
    _has_folds = False  # whether groups of rows matter to it

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any data are read."""

    @abstractmethod
    def _grow(self, X: Any, codes: np.ndarray, sample_weight: np.ndarray, groups: Any) -> None:
        """Train the members on X, (n, D) of float64, whose classes are given as positions."""

    @fitted_alone
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X, y, sample_weight
            As in `FlockClassifier.fit`.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one speaker: in cross-validation no fold
            separates them, and rows are held out by whole groups.
        """
        self._check_parameters()
        fuser = make_fuser(self.fuser)
        if groups is not None and not self._has_folds:
            raise ValueError(
                "groups keeps rows together in the folds of a search, but "
                f"{type(self).__name__} makes none; leave groups out."
            )
        X, codes, weight = self._check_training_data(X, y, sample_weight)
        groups = None if groups is None else check_groups(groups, len(codes))
        self._keep_seen(X, weight)
        # If this fit fails, nothing of an earlier one may remain.
        self.__dict__.pop("fuser_", None)
        # Every draw is a function of this one number.
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # A fixed rule learns nothing, but still checks that it suits these members.
        grown, known = slice(None), slice(1)
        if fuser.learns:
            known = held_out_rows(codes, weight, _HELD_OUT, self._seed, groups)
            grown = ~known
        self._grow(
            X[grown], codes[grown], weight[grown], None if groups is None else groups[grown]
        )
        P = self._predictions(X[known])
        self.fuser_ = fuser.fit(P, self.classes_[codes[known]], X[known], weight[known])
        return self

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        X, y = training_table(self, X, y, gaps=False, reset=True)
        check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = check_sample_weight(sample_weight, len(codes))
        largest = np.zeros(len(self.classes_))
        np.maximum.at(largest, codes, weight)
        check_two_classes(type(self).__name__, self.classes_, largest)
        return X, codes, weight

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self, "fuser_")
        X = checked_numbers_with_gaps(self, to_numpy(X))
        holds_gaps(X, getattr(self, "feature_names_in_", None), allowed=False)
        return X

    def _by_blocks(self, function: Any, X: Any) -> Any:
        return by_blocks(function, X, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- copies of a learner ------------------------------------------------------------------

    def _learner(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _check_learner(self) -> None:
        learner = self._learner()
        if not classifies(learner):
            raise TypeError(
                f"estimator must be a classifier, an object and not a class, got {learner!r}."
            )
        # The error says which rules would do, should members have no probabilities.
        self.kind_ = common_kind([learner], [type(learner).__name__], make_fuser(self.fuser))

    def _copy(self, run: int, number: int, *, every: bool) -> Any:
        """Return the unfitted learner with a drawn ``random_state``; everywhere, or where None."""

        def drawn(count: int) -> list[int]:
            draws = UniformRows(self._seed, Purpose.START, run, number, count).read(0, 1)[0]
            return (draws * (2**31 - 1)).astype(int).tolist()

        return with_seeds(self._learner(), drawn, unset=not every)

    def _seen_by(self, k: int, X: Any) -> Any:
        """Return the columns that a member reads."""
        return X

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        kind, names = kind or self.kind_, self._names()
        outputs = [
            member_output(member, self._seen_by(k, X), self.classes_, kind, names[k])
            for k, member in enumerate(self.estimators_)
        ]
        return gather(outputs, self.classes_, names, kind)
