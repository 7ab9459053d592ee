"""What a comparison of candidates on the rows of a rung has found, and what goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from covey._core.arrays import FloatArray
from covey._core.search.assembly import Flock, OnFolds
from covey._core.search.candidates import Candidate, Group, Point
from covey._core.search.families import Family, Task
from covey._core.search.folds import FoldAssignment
from covey._core.search.rungs import Rung

# Candidates, with all points of their path, that go on to the next rung.
_MOST_PATHS = 5


@dataclass(frozen=True)
class Compared:
    """Candidates of a rung, the weight of each in a selection, and its held-out loss, (M,)."""

    rung: Rung
    candidates: list[Candidate]
    shares: FloatArray
    losses: FloatArray
    #: Where a candidate ended on each fold, if that is kept.
    on_folds: Callable[[Point], list[Group]]

    def flocks_of_folds(self, assemble: Callable[[list[tuple[float, Group]]], Flock]) -> OnFolds:
        """What is selected as it was fitted on each fold, and the rows of the folds."""
        assert not isinstance(self.rung.folds, FoldAssignment)
        selected = [
            (share, self.on_folds((one.family.kind, one.alpha, one.size)))
            for one, share in zip(self.candidates, self.shares, strict=True)
            if share > 0
        ]
        folds = list(self.rung.folds)
        if self.rung.sample is not None:
            numbers, _ = self.rung.sample
            folds = [(numbers[train], numbers[test]) for train, test in folds]
        flocks = [
            assemble([(share, groups[fold]) for share, groups in selected])
            for fold in range(len(folds))
        ]
        return OnFolds(folds, flocks, self.rung.sample)

    def surviving(self, families: Sequence[Family]) -> list[Family]:
        """The families, with the penalties whose path may win on more rows.

        Those that are selected come first, then those of the least loss.
        """
        paths: dict[tuple[Family, float], tuple[bool, float]] = {}
        for one, share, loss in zip(self.candidates, self.shares, self.losses, strict=True):
            path = one.family.kind, one.alpha
            selected, least = paths.get(path, (False, np.inf))
            paths[path] = selected or share > 0, min(least, loss)
        kept = sorted(paths, key=lambda path: (not paths[path][0], paths[path][1]))[:_MOST_PATHS]
        found = [
            replace(one, alphas=tuple(alpha for alpha in one.alphas if (one.kind, alpha) in kept))
            for one in families
        ]
        return [one for one in found if one.alphas]


def results(found: Sequence[Compared], task: Task) -> dict[str, Any]:
    """What was compared, on which rows, and what came of it."""
    known = [one for compared in found for one in compared.candidates]
    per_rung = [len(compared.candidates) for compared in found]
    n_rows = np.repeat([compared.rung.n_rows for compared in found], per_rung)
    factor = np.repeat([compared.rung.factor for compared in found], per_rung)
    shares = [np.zeros_like(compared.shares) for compared in found]
    shares[-1] = found[-1].shares
    columns = {
        "basis": [one.family.basis for one in known],
        "n_members": [one.family.n_members for one in known],
        "pool": [one.family.pool for one in known],
        "gate": [one.family.gate for one in known],
        "alpha": factor * [one.alpha for one in known],
        "n_features": [one.size for one in known],
        "n_terms": [one.n_terms for one in known],
        "n_rows": n_rows,
        task.loss_name: np.concatenate([compared.losses for compared in found]),
        "weight": np.concatenate(shares),
    }
    if task.numbers:
        del columns["pool"]
    return {name: np.array(values) for name, values in columns.items()}
