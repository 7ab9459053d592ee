"""How ensembles that sample are checked, seeded and read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from covey._blocks import as_table
from covey._core.fusion.out_of_bag import held_out_rows
from covey._core.random import Purpose, UniformRows
from covey._validation import check_number, check_sample_weight
from covey.fusers import Fuser
from covey.members._given import Classifiers, Regressors

BAGGING = (BaggingClassifier, BaggingRegressor)
FORESTS = (
    RandomForestClassifier,
    ExtraTreesClassifier,
    RandomForestRegressor,
    ExtraTreesRegressor,
)


class HoldingOut:
    """Which rows are kept from the members, where some have to be."""

    def __init__(self, fraction: float, random_state: Any) -> None:
        check_number(fraction, "validation_fraction", low=0, high=1, closed="neither")
        self.fraction, self.random_state = fraction, random_state
        self.seed = int(check_random_state(random_state).randint(2**31 - 1))

    def split(
        self, labels: np.ndarray | None, weight: np.ndarray | None, n_rows: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the rows to grow on, and of those held out: some of each class."""
        codes = np.zeros(n_rows, dtype=np.intp)
        if labels is not None:
            codes = np.unique(labels, return_inverse=True)[1]
        draws = UniformRows(self.seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, n_rows)[:, 0]
        weight = np.ones(n_rows) if weight is None else weight
        held_out = held_out_rows(codes, weight, draws, self.fraction)
        if not held_out.any():
            few = "No class has two rows"
            if labels is None:
                few = f"Of n_samples={n_rows} fewer than two count"
            raise ValueError(
                f"{few}, so none can be held out for the fuser to learn from; use a fixed rule."
            )
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def check_ensemble(ensemble: Any, known: tuple) -> None:
    """Refuse what is no ensemble of the known kinds."""
    if not isinstance(ensemble, known):
        listed = ", ".join(one.__name__ for one in known)
        raise TypeError(f"ensemble must be one of {listed}, got {ensemble!r}.")


def checked_rows(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, classifies: bool
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Training rows as an ensemble takes them."""
    models = Classifiers if classifies else Regressors
    X, y = as_table(X), models.check_target(y)
    check_consistent_length(X, y)
    models.classes("An ensemble", [], y, prefit=False)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
    return X, y, weight


def check_features(fuser: Fuser, X: Any) -> None:
    """Refuse, before anything is grown, features that the fuser cannot read."""
    if fuser.needs_X:
        fuser._features(X)


def seeded(ensemble: BaseEstimator, seed: int) -> BaseEstimator:
    """An unfitted copy that grows the same members whenever it is fitted."""
    ensemble = clone(ensemble)
    return ensemble.set_params(random_state=seed) if ensemble.random_state is None else ensemble


def balances(ensemble: BaseEstimator) -> bool:
    """Whether each member is grown on a balanced sample, as in imbalanced-learn's ensembles."""
    return "sampling_strategy" in ensemble.get_params(deep=False)


def leaves_rows_out(ensemble: BaseEstimator, n_rows: int) -> bool:
    """Whether members are grown on fewer rows than there are."""
    if ensemble.bootstrap or balances(ensemble):
        return True
    if isinstance(ensemble, FORESTS):
        return False
    return not (draws_as_many(ensemble) or ensemble.max_samples == n_rows)


def draws_as_many(ensemble: BaseEstimator) -> bool:
    """Whether as many rows are drawn for each member as there are."""
    share = ensemble.max_samples
    return share is None or (isinstance(share, float) and share == 1.0)


def bags_of(
    ensemble: BaseEstimator, n_rows: int, sample_weight: np.ndarray | None
) -> list[np.ndarray]:
    """The rows that each member was grown on, if these can be the rows given."""
    if hasattr(ensemble, "samplers_"):
        # A balanced forest. Its trees may have drawn from their samples once more.
        bags = [np.asarray(sampler.sample_indices_) for sampler in ensemble.samplers_]
    else:
        bags = [np.asarray(bag) for bag in ensemble.estimators_samples_]
    if len(bags) != len(ensemble.estimators_):
        raise ValueError(
            f"The ensemble was grown in several steps (warm_start), and scikit-learn knows the "
            f"rows of {len(bags)} of its {len(ensemble.estimators_)} members only; fit it in one."
        )
    needed = 1 + max(int(bag.max()) for bag in bags)
    # With weights, a share of 1.0 may be one of their sum, which need not be the row count.
    exact = draws_as_many(ensemble) and (ensemble.max_samples is None or sample_weight is None)
    exact |= isinstance(ensemble, FORESTS) and not ensemble.bootstrap
    exact &= not hasattr(ensemble, "samplers_")
    known = len(bags[0]) if exact else None
    if n_rows < needed or (known is not None and known != n_rows):
        count = f"{known}" if known is not None else f"{needed} or more"
        raise ValueError(
            f"The ensemble was fitted on {count} rows, but X has {n_rows}; give the rows, and the "
            "sample_weight, that it was fitted with."
        )
    return [
        balanced_bag(bag, member) for bag, member in zip(bags, ensemble.estimators_, strict=True)
    ]


def balanced_bag(bag: np.ndarray, member: Any) -> np.ndarray:
    """The rows of a bag that are left by a sampler which is a member's first step."""
    first = member.steps[0][1] if isinstance(member, Pipeline) else None
    return bag[first.sample_indices_] if hasattr(first, "sample_indices_") else bag


def as_array(X: Any, trees: bool = False) -> Any:
    """Rows as an ensemble of scikit-learn turns them into an array; members check the rest."""
    return check_array(
        X,
        accept_sparse="csr",
        dtype=np.float32 if trees else None,
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
