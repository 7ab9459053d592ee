"""What is said where a model fails inside, in words that know nothing of the table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from covey._core.limits import FAR


@contextmanager
def explaining(model: Any, X: Any, y: Any = None) -> Iterator[None]:
    """Raise a sentence about the table for errors of NumPy and SciPy in this block.

    So is an error that speaks of NaN or infinity where a table has neither, but numbers that make
    them. What a model itself says stays as it is.
    """
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        inside = _is_from_inside(error)
        spoken_of = any(word in str(error) for word in ("contains NaN", "contains infinity"))
        if not inside and not spoken_of:
            raise
        culprit = _extreme(X) or _extreme(y, "y")
        if culprit is None and not inside:
            raise
        if culprit is None:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            culprit = f"{reason}; change its parameters, or leave it out."
        raise ValueError(f"{type(model).__name__} cannot work with this: {culprit}") from error


def _is_from_inside(error: BaseException) -> bool:
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return module.split(".")[0] in ("numpy", "scipy")


def _extreme(values: Any, name: str | None = None) -> str | None:
    """Return what to say of the first column that is all too large or too small, if one is."""
    if hasattr(values, "select_dtypes"):
        values = values.select_dtypes("number")
    names = getattr(values, "columns", None)
    if hasattr(values, "tocsr"):
        known = values.data
        largest = abs(values).max(axis=0).toarray().ravel() if min(values.shape) else known[:0]
    else:
        try:
            known = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        if known.ndim not in (1, 2):
            return None
        largest = np.atleast_1d(np.abs(known).max(axis=0, initial=0.0))
    if not np.isfinite(known).all():
        return None
    too_small = (largest > 0) & (largest < 1 / FAR)
    extreme = np.flatnonzero((largest > FAR) | too_small)
    if not len(extreme):
        return None
    column = int(extreme[0])
    what = name or f"column {column if names is None else names[column]!r}"
    remedy = "multiply" if too_small[column] else "divide"
    return (
        f"{what} holds numbers up to {largest[column]:.3g}, whose squares floating point does not "
        f"hold; {remedy} it by a constant."
    )
