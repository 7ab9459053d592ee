"""The accuracy of the first member, the first two, ... under a rule that learns nothing."""

from __future__ import annotations

import numpy as np

from covey.fusers._base import Fuser
from covey.fusers._fixed import Oracle
from covey.fusers._predictions import Predictions


def stage_scores(
    fuser: Fuser, P: Predictions, codes: np.ndarray, X: object, weight: np.ndarray
) -> np.ndarray:
    """Weighted accuracies (K,) of the first members; ``codes`` are the true classes' positions."""
    for name in ("weights", "k"):
        if name in fuser.get_params() and getattr(fuser, name) is not None:
            raise ValueError(
                f"{type(fuser).__name__} has {name} for all members and cannot fuse the first "
                "few; use a rule without."
            )
    if fuser.needs_y:
        right = np.logical_or.accumulate(Oracle().right(P, codes), axis=1)
    else:
        right = np.stack(
            [fuser.fuse(P.first(k), X).argmax(axis=1) == codes for k in range(1, P.n_members + 1)],
            axis=1,
        )
    return weight @ right / weight.sum()
