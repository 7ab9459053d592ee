"""A function of the user's as a fuser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey._core.fusion.rules import uniform
from covey.fusers._base import Fuser, agreeing_importance, available_weight, equal_shares
from covey.fusers._predictions import Predictions


class FunctionRule(Fuser):
    """A fixed rule that is a function of what members predict.

    ``fuser=function`` is short for ``fuser=FunctionRule(function)``. The members whose decision is
    the fused one decided, all alike; of numbers, all members. Model files do not hold functions.

    Parameters
    ----------
    function : callable
        Takes probabilities (or votes, as ones and zeros, of members that have none) of shape
        (n_samples, n_members, n_classes), and gives non-negative numbers of shape
        (n_samples, n_classes), which are divided by their sums. For regressors it takes numbers
        of shape (n_samples, n_members) and gives (n_samples,). A member that is not available
        has NaN. Samples come in blocks: what is fused for one must not depend on others.

    Examples
    --------
    >>> import covey
    >>> import numpy as np
    >>> P = [[[0.9, 0.1]], [[0.4, 0.6]]]
    >>> covey.fuse(P, lambda values: np.sqrt((values**2).mean(axis=1))).round(3)
    array([[0.618, 0.382]])
    """

    kinds = ("probability", "label", "value")
    keeps_certainty = False

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function = function

    def _check_parameters(self, P: Predictions) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}.")

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        values = P.values[:, :, 0] if P.kind == "value" else P.values
        if P.available is None:
            return self._called(values.copy(), P)
        spoken = P.available.any(axis=1)
        silent = P.available if P.kind == "value" else P.available[:, :, None]
        fused = uniform(P.n_samples, P.n_classes)
        # Where nobody predicts there is nothing to fuse.
        if spoken.any():
            fused[spoken] = self._called(np.where(silent, values, np.nan)[spoken], P)
        return fused

    def _called(self, values: np.ndarray, P: Predictions) -> np.ndarray:
        wanted = (len(values),) if P.kind == "value" else (len(values), P.n_classes)
        name = getattr(self.function, "__name__", repr(self.function))
        try:
            fused = np.asarray(self.function(values), dtype=np.float64)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(
                f"The fuser {name} cannot fuse an array of shape {values.shape}: {error}"
            ) from error
        if fused.shape != wanted:
            raise ValueError(
                f"The fuser {name} must turn an array of shape {values.shape} into one of shape "
                f"{wanted}, got {fused.shape}."
            )
        if not np.isfinite(fused).all():
            raise ValueError(
                f"The fuser {name} gives NaN or infinity; it must give finite numbers, also where "
                "a member is not available (NaN)."
            )
        if P.kind == "value":
            return fused[:, None]
        largest = fused.max(axis=1, keepdims=True)
        if (fused < 0).any() or (largest <= 0).any():
            raise ValueError(
                f"The fuser {name} must give numbers that are not negative, and not all zero for "
                "any sample."
            )
        fused = fused / largest
        return fused / fused.sum(axis=1, keepdims=True)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return equal_shares(P)
        return agreeing_importance(P, self._fuse(P, X, codes), available_weight(P))
