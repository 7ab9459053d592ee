"""What the rivals share: few parameters of their own, and members that are copies of a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from covey._core.random import Purpose, UniformRows
from covey._models import classifies, fit_member
from covey.fusers import common_kind, gather, make_fuser, member_output
from covey.members import GrownClassifier


class Rival(GrownClassifier):
    """An ensemble to compare with: it selects no size, and no fit goes on from another."""

    select_size = class_weight = n_jobs = None
    validation_fraction = 0.1
    warm_start = False

    def _attributes(self, n_members):
        return {}  # `_grow` sets them


class RivalOfLearners(Rival):
    """An ensemble to compare with, of copies of ``estimator``; None is ``_default``."""

    _default: Any

    def _learner(self):
        return self._default() if self.estimator is None else self.estimator

    def _check_learner(self):
        learner = self._learner()
        if not classifies(learner):
            raise TypeError(
                f"estimator must be a classifier, an object and not a class, got {learner!r}."
            )
        # Says which rules would do, should members have no probabilities.
        self.kind_ = common_kind([learner], [type(learner).__name__], make_fuser(self.fuser))

    def _copy(self, run, number, *, every):
        """The learner, unfitted, with a drawn ``random_state``; in every place, or where None."""
        learner = clone(self._learner())
        names = sorted(
            name
            for name, value in learner.get_params().items()
            if name.rpartition("__")[2] == "random_state" and (every or value is None)
        )
        if names:
            draws = UniformRows(self._seed, Purpose.START, run, number, len(names)).read(0, 1)[0]
            seeds = (draws * (2**31 - 1)).astype(int).tolist()
            learner.set_params(**dict(zip(names, seeds, strict=True)))
        return learner

    def _seen_by(self, k, X):
        """The columns that a member reads."""
        return X

    def _predictions(self, X, kind=None):
        kind, names = kind or self.kind_, self._names()
        outputs = [
            member_output(member, self._seen_by(k, X), self.classes_, kind, names[k])
            for k, member in enumerate(self.estimators_)
        ]
        return gather(outputs, self.classes_, names, kind)

    def _member_values(self, X):
        """Probabilities if members have them, whatever the fuser reads."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else None).values


def fitted(learner: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    """The learner, fitted on rows that may have weights."""
    return fit_member(learner, type(learner).__name__, X, y, weight)
