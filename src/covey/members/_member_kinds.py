"""The kinds of members that a flock can have beside linear ones: scikit-learn's, by name.

Each has settings that a careful user would choose without tuning: the flock weighs it, or drops
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from covey._core.losses import POWERS
from covey._models import requesting_weights
from covey.fusers._outputs import gather, member_output, member_values

LINEAR = "linear"

# Beyond this many rows a kind takes more time, or memory, than it is worth.
_MOST_ROWS = {"extra_trees": 200_000, "svm": 3_000, "neighbors": 50_000, "boosting_small": 20_000}
# This kind also stops at this many features: beyond, boosting takes most of the time of a fit.
_MOST_FEATURES = {"boosting_small": 1_000}
# From this many rows on, boosting finds out by itself when to stop; for that it holds out some
# rows of each class, so that every fold must have some.
_MANY_ROWS = 10_000
_ENOUGH_OF_CLASS = 10
_N_TREES = 100
# Support vector machines multiply pairs of numbers, and would never end with numbers outside of
# this range.
_SMALLEST, _LARGEST = 1e-100, 1e100
# Rows that are farther out than this are clipped to it.
_FARTHEST = 1e30


@dataclass(frozen=True)
class TableFacts:
    """The facts about a table that a kind needs before it is fitted."""

    n_rows: int
    n_fitted: int  # the rows of the smallest fold to fit on
    n_smallest: int  # the rows of the smallest class
    is_sparse: bool
    is_weighted: bool  # whether some rows count more than others
    seed: int
    y_scale: float | None = None  # the deviation of numbers; None for classes
    loss: str = "squared"  # of numbers
    n_features: int = 1
    quantile: float = 0.5

    @property
    def is_numeric(self) -> bool:
        """Whether numbers are predicted."""
        return self.y_scale is not None


def _boosting(table: TableFacts) -> Any:
    how: dict[str, Any] = {"max_iter": 100, "max_leaf_nodes": 15, "max_features": 0.6}
    if table.n_rows >= _MANY_ROWS and table.n_smallest >= _ENOUGH_OF_CLASS:
        return _boosted(table, **how | {"max_iter": 500}, early_stopping=True)
    return _boosted(table, **how, early_stopping=False)


def _boosting_small(table: TableFacts) -> Any:
    how = {"max_leaf_nodes": 8, "max_features": 0.5, "min_samples_leaf": 10}
    return _boosted(table, max_iter=150, l2_regularization=1.0, early_stopping=False, **how)


def _boosted(table: TableFacts, **how: Any) -> Any:
    how |= {"learning_rate": 0.05, "random_state": table.seed}
    if not table.is_numeric:
        return HistGradientBoostingClassifier(**how)
    if table.loss == "quantile":
        return HistGradientBoostingRegressor(**how, loss="quantile", quantile=table.quantile)
    if table.loss in POWERS:
        # It has no other loss between these two.
        own = "gamma" if table.loss == "gamma" else "poisson"
        return HistGradientBoostingRegressor(**how, loss=own)
    loss = "squared_error" if table.loss == "squared" else "absolute_error"
    return HistGradientBoostingRegressor(**how, loss=loss)


def _extra_trees(table: TableFacts) -> Any:
    kind = ExtraTreesRegressor if table.is_numeric else ExtraTreesClassifier
    return kind(_N_TREES, random_state=table.seed)


def _svm(table: TableFacts, C: float = 10.0) -> Any:
    if table.y_scale is None:
        # The scaler is outside: weights would not reach a machine in a pipeline.
        machine = CalibratedClassifierCV(requesting_weights(SVC(C=C)), ensemble=False, cv=3)
        return make_pipeline(_scaler(table), requesting_weights(machine))
    # The equivalent of this C, epsilon = 0.1 and tol = 0.001 for a standardized target: a
    # tolerance in units of y would take several times as long for large numbers, or never be
    # reached.
    unit = table.y_scale
    machine = SVR(C=C * unit, epsilon=0.1 * unit, tol=1e-3 * unit)
    return make_pipeline(_scaler(table), requesting_weights(machine))


def _neighbors(table: TableFacts, most: int = 25) -> Any:
    kind = KNeighborsRegressor if table.is_numeric else KNeighborsClassifier
    # A fold of a small table has fewer rows than the table.
    n_neighbors = max(1, min(most, table.n_rows // 4, table.n_fitted))
    return make_pipeline(_scaler(table), kind(n_neighbors, weights="distance"))


def _scaler(table: TableFacts) -> StandardScaler:
    # Weights go to the step after it, as where no metadata is routed.
    return requesting_weights(StandardScaler(with_mean=not table.is_sparse), False)


_MAKE: dict[str, Callable[[TableFacts], Any]] = {
    "boosting": _boosting,
    "boosting_small": _boosting_small,
    "extra_trees": _extra_trees,
    "svm": _svm,
    "svm_soft": partial(_svm, C=1.0),
    "neighbors": _neighbors,
    "neighbors_few": partial(_neighbors, most=10),
}
KINDS: tuple[str, ...] = (LINEAR, *_MAKE)


def suits(kind: str, table: TableFacts) -> bool:
    """Return whether a kind suits such a table; "mixed" leaves out those that do not."""
    family = kind.partition("_")[0] if kind not in _MOST_ROWS else kind
    if table.n_rows > _MOST_ROWS.get(family, table.n_rows):
        return False
    if table.n_features > _MOST_FEATURES.get(kind, table.n_features):
        return False
    if family.startswith("boosting"):
        return not table.is_sparse
    if family == "neighbors" and table.is_weighted:
        return False
    if family == "svm" and not _within_reach(table):
        return False
    # The others predict means, and a quantile may be far from them.
    return not (table.is_numeric and table.loss == "quantile")


def _within_reach(table: TableFacts) -> bool:
    """Return whether the numbers to predict are of a size that machines can compute with."""
    return table.y_scale is None or _SMALLEST < table.y_scale < _LARGEST


def check_kind(kind: Any, table: TableFacts) -> None:
    """Refuse a kind that was asked for and cannot be fitted to such a table."""
    family = kind.partition("_")[0] if isinstance(kind, str) else None
    if family == "boosting" and table.is_sparse:
        raise ValueError(
            f"The member {kind!r} takes no sparse X; leave it out, or give X.toarray()."
        )
    if family == "neighbors" and table.is_weighted:
        raise ValueError(
            f"The member {kind!r} takes no weights of rows or classes; leave it out, or give none."
        )
    if family == "svm" and not _within_reach(table):
        raise ValueError(
            f"The member {kind!r} cannot be fitted to y of the size {table.y_scale:g}; leave it "
            "out, or divide y by a constant."
        )


def made(kind: Any, table: TableFacts) -> Any:
    """Return an unfitted model of a kind, or a copy of a user's own.

    A model that draws at random, and has no seed of its own, is given the flock's.
    """
    if isinstance(kind, str):
        return _MAKE[kind](table)
    model = clone(kind)
    unseeded = {
        name: table.seed
        for name, value in model.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    if unseeded:
        model.set_params(**unseeded)
    return model


# -- fitted members, and their rows -------------------------------------------------------------


def as_given(columns: list[str] | None, X: Any, name: str) -> Any:
    """Return rows as a member was fitted on them; a user's own models may read names."""
    if name in KINDS:
        return _clipped(X)
    if columns is None or hasattr(X, "tocsr"):
        return X
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return X  # names come from another kind of frames, and cannot be given here
    return pd.DataFrame(X, columns=columns)


def member_prediction(target: Any, name: str, member: Any, X: Any) -> np.ndarray:
    """Return what a fitted member predicts: (n, C), or (n,) numbers."""
    if not hasattr(target, "classes"):
        return _without_gaps(member_values([member], [name], X)[:, 0], name)
    if not hasattr(member, "predict_proba"):
        raise ValueError(
            f"The member {name!r} has no predict_proba, which members of a flock need; wrap "
            "it in CalibratedClassifierCV."
        )
    output = member_output(member, X, target.classes, "probability", name)
    _without_gaps(output[0], name)
    return gather([output], target.classes, [name], "probability").values[:, 0]


def _clipped(X: Any) -> Any:
    """Clip rows to numbers that trees (in single precision) and kernels can distinguish."""
    numbers = X.data if hasattr(X, "tocsr") else X
    if np.abs(numbers).max(initial=0.0) <= _FARTHEST:
        return X
    X = X.copy()
    numbers = X.data if hasattr(X, "tocsr") else X
    np.clip(numbers, -_FARTHEST, _FARTHEST, out=numbers)
    return X


def _without_gaps(predicted: np.ndarray, name: str) -> np.ndarray:
    """Refuse NaN, which would count as a prediction."""
    lost = np.flatnonzero(np.isnan(predicted).reshape(len(predicted), -1).any(axis=1))
    if len(lost):
        raise ValueError(
            f"The member {name!r} predicts NaN for row {lost[0]} of the {len(predicted)} it is "
            "given; members of a flock must predict every row, so leave it out or mend it."
        )
    return predicted
