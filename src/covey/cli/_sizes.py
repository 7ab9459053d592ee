"""How large a fitted model is: terms that a person can read, or bytes that a machine stores."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Size:
    """Terms of what can be read, else None; and bytes."""

    terms: int | None
    n_bytes: int

    def __str__(self) -> str:
        if self.terms is not None:
            return f"{self.terms:,} term{'' if self.terms == 1 else 's'}"
        megabytes = self.n_bytes / 1e6
        return f"{megabytes:.1f} MB" if megabytes >= 0.05 else f"{self.n_bytes / 1e3:.0f} kB"

    def as_record(self) -> dict[str, int | None]:
        """The size as JSON has it."""
        return {"terms": self.terms, "bytes": self.n_bytes}


class _Counter:
    """A file that only counts what is written to it."""

    n_bytes = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.n_bytes += size
        return size


def size_of(model: Any) -> Size:
    """The size of a fitted model."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (TypeError, AttributeError, pickle.PicklingError):
        counter.n_bytes = 0
    return Size(_terms(model), counter.n_bytes)


def _terms(model: Any) -> int | None:
    """The terms of a linear model, or of a flock of them; None for others."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    if steps:
        return _terms(steps[-1][1])
    if hasattr(model, "n_terms_"):
        return int(model.n_terms_)
    if type(model).__name__.startswith("Dummy"):
        return 0
    coef = getattr(model, "member_coef_", None)
    if coef is None:
        coef = getattr(model, "coef_", None)
        if coef is None or not isinstance(coef, np.ndarray) or hasattr(model, "support_vectors_"):
            return None
        return int((np.atleast_2d(coef) != 0).any(axis=0).sum())
    # A column in a member is a term, whatever the number of classes.
    nonzero = np.asarray(coef) != 0
    return int((nonzero.any(axis=1) if nonzero.ndim == 3 else nonzero).sum())
