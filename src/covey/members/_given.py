"""What ensembles of models of any make share, be they classifiers or regressors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from covey._blocks import as_table
from covey._models import classifies, regresses
from covey._validation import check_labels, check_one_target, check_sample_weight
from covey.fusers import Fuser, Predictions
from covey.fusers._fixed import make_fuser, make_value_fuser
from covey.fusers._outputs import common_kind, gather, member_output, member_values
from covey.members._ensemble import check_numbers, range_of_numbers

Pairs = list[tuple[str, Any]]


class Classifiers:
    """Models that predict classes: how they are checked, read and fused."""

    noun = "classifier"
    accepts = staticmethod(classifies)
    make_fuser = staticmethod(make_fuser)

    @staticmethod
    def check_target(y: ArrayLike) -> np.ndarray:
        """Labels, one a row."""
        check_one_target(y)
        y = column_or_1d(y, warn=True)
        check_labels(y)
        return y

    @staticmethod
    def classes(owner: str, pairs: Pairs, y: np.ndarray, prefit: bool) -> np.ndarray:
        """All classes of y and of models that are fitted already."""
        fitted = [pair for pair in pairs if prefit or isinstance(pair[1], FrozenEstimator)]
        classes = _joint_classes(fitted, y) if fitted else np.unique(y)
        if len(classes) < 2 and not prefit:
            raise ValueError(
                f"{owner} needs samples of at least 2 classes in y, got "
                f"{len(classes)} class: {classes.tolist()}."
            )
        return classes

    @staticmethod
    def kind_for(fuser: Fuser, models: Sequence[Any], names: Sequence[str]) -> str:
        """Return what the models are to predict for a fuser."""
        return common_kind(models, names, fuser)

    @staticmethod
    def predictions(
        models: Sequence[Any], names: Sequence[str], X: Any, kind: str, classes: np.ndarray
    ) -> Predictions:
        """Return what the models predict of rows."""
        outputs = [
            member_output(model, X, classes, kind, name)
            for name, model in zip(names, models, strict=True)
        ]
        return gather(outputs, classes, names, kind)

    @staticmethod
    def blank(fuser: Fuser, names: Sequence[str], classes: np.ndarray) -> Predictions:
        """One row that could be such models', to check a fuser's parameters by."""
        if fuser.kinds[0] == "label":
            return Predictions(np.full((1, len(names)), classes[0]), classes, names)
        even = np.full((1, len(names), len(classes)), 1.0 / len(classes))
        return Predictions(even, classes, names)


class Regressors:
    """Models that predict numbers: how they are checked, read and fused."""

    noun = "regressor"
    accepts = staticmethod(regresses)
    make_fuser = staticmethod(make_value_fuser)
    check_target = staticmethod(check_numbers)

    @staticmethod
    def classes(owner: str, pairs: Pairs, y: np.ndarray, prefit: bool) -> None:
        """Numbers have none."""

    @staticmethod
    def kind_for(fuser: Fuser, models: Sequence[Any], names: Sequence[str]) -> str:
        """Return what the models are to predict for a fuser."""
        return "value"

    @staticmethod
    def predictions(
        models: Sequence[Any], names: Sequence[str], X: Any, kind: str, classes: None
    ) -> Predictions:
        """Return what the models predict of rows."""
        return Predictions(member_values(models, names, X), names=names, kind=kind)

    @staticmethod
    def blank(fuser: Fuser, names: Sequence[str], classes: None) -> Predictions:
        """One row that could be such models', to check a fuser's parameters by."""
        return Predictions(np.zeros((1, len(names))), names=names, kind="value")


def _joint_classes(pairs: Pairs, y: np.ndarray) -> np.ndarray:
    """All classes of fitted models and of y; a model that shares none with y is refused."""
    labels = np.unique(y)
    given = [getattr(model, "classes_", None) for _, model in pairs]
    known = [labels if classes is None else np.asarray(classes) for classes in given]
    for (name, _), classes in zip(pairs, known, strict=True):
        comparable = classes.dtype.kind in "OUS" or labels.dtype.kind not in "OUS"
        if not (comparable and np.isin(classes, labels).any()):
            raise ValueError(
                f"The member {name!r} predicts the classes {classes.tolist()}, but y holds "
                f"{labels.tolist()}; give labels as the members know them."
            )
    return np.unique(np.concatenate([labels, *known]))


def check_training_table(
    owner: Any,
    models: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows that models are given as they are, what to predict of them, and weights if any."""
    X, y = as_table(X), models.check_target(y)
    check_consistent_length(X, y)
    validate_data(owner, X, reset=reset, skip_check_array=True)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
    return X, y, weight


def training_table_of(
    owner: Any, models: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the same, of which an ensemble learns what is typical."""
    X, y, weight = check_training_table(owner, models, X, y, sample_weight)
    owner._keep_seen(X, weight)
    owner._keep_rows(X, y, weight)
    if models is Regressors:
        used = y if weight is None else y[weight > 0]
        owner.y_range_ = range_of_numbers(used.min(), used.max(), len(used))
    return X, y, weight
