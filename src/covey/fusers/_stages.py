"""The score of the first member, the first two, ... under a rule that learns nothing."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score

from covey.fusers._base import Fuser
from covey.fusers._fixed import Oracle
from covey.fusers._predictions import Predictions


def stage_scores(
    fuser: Fuser, P: Predictions, truth: np.ndarray, X: object, weight: np.ndarray
) -> np.ndarray:
    """Weighted accuracies (K,) of the first members, or R^2 of numbers.

    ``truth`` holds the positions of the true classes, or the true numbers. The oracle is the
    paper's, which chooses among all members.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import Mean, as_predictions, stage_scores
    >>> P = as_predictions([[[0.4, 0.6]], [[0.9, 0.1]]])
    >>> stage_scores(Mean(), P, np.array([0]), None, np.ones(1))
    array([0., 1.])
    """
    if fuser.get_params().get("k") is not None:
        raise ValueError(
            f"{fuser.title} has k for all members and cannot fuse the first few; use a "
            "rule without."
        )
    if fuser.needs_y:
        right = np.logical_or.accumulate(Oracle().right(P, truth), axis=1)
        return weight @ right / weight.sum()
    fused = (_for_first(fuser, P, k).fuse(P.first(k), X) for k in range(1, P.n_members + 1))
    if P.kind == "value":
        return np.array([r2_score(truth, one, sample_weight=weight) for one in fused])
    right = np.stack([one.argmax(axis=1) == truth for one in fused], axis=1)
    return weight @ right / weight.sum()


def _for_first(fuser: Fuser, P: Predictions, number: int) -> Fuser:
    """The rule for the first members, with their weights if it has some."""
    weights = fuser.get_params().get("weights")
    if weights is None:
        return fuser
    # Where only members without weight are left, all count alike.
    first = np.asarray(weights)[..., :number]
    return clone(fuser).set_params(weights=np.where(first.any(axis=-1, keepdims=True), first, 1.0))
