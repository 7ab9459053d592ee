"""Selected groups as one flock: on one union of bases, without members that hardly matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray, IntArray
from covey._core.basis import Basis, ScaledBasis
from covey._core.gating.gate import Groups, Pool
from covey._core.search.plan import Group

# A member whose mean importance over all training rows is less than this is dropped.
_LEAST_IMPORTANCE = 0.005


@dataclass
class FoundFlock:
    """The result of a search, in the units of X; members one group after the other."""

    basis: Basis  # the columns, P of them, that members and gates see
    coef: FloatArray  # (K, C, P)
    intercept: FloatArray  # (K, C)
    support: BoolArray  # (K, D)
    column_mean: FloatArray  # (P,)
    column_scale: FloatArray  # (P,)
    shares: FloatArray  # (K,), the mean importance of each member; sums to one
    gate_coef: FloatArray  # (K, P)
    gate_intercept: FloatArray  # (K,)
    gate_support: BoolArray  # (G, D), the features that the gate of each group sees
    n_terms: int  # columns in members, and in the gates of groups
    sizes: list[int]  # how many members each of the G groups has
    pools: list[Pool]
    weights: FloatArray  # (G,), the weight of each group; they sum to one
    n_iter: IntArray  # (K,)
    candidates: dict[str, npt.NDArray[Any]]  # what was compared, its losses and weights
    on_folds: OnFolds | None = None  # the same groups as they were fitted on folds

    def widened(self, kept: BoolArray) -> FoundFlock:
        """Return this flock for a table of which it has seen only the columns ``kept`` (D,)."""
        if kept.all():
            return self
        basis, columns = self.basis.widened(np.flatnonzero(kept), len(kept))

        def wide(values: npt.NDArray[Any], places: npt.NDArray[Any], n_places: int) -> Any:
            found = np.zeros((*values.shape[:-1], n_places), dtype=values.dtype)
            found[..., places] = values
            return found

        scale = np.ones(basis.n_columns)
        scale[columns] = self.column_scale
        of_folds = self.on_folds
        if of_folds is not None:
            of_folds = replace(
                of_folds,
                flocks=[flock.widened(kept) for flock in of_folds.flocks],
                readable=[flock.widened(kept) for flock in of_folds.readable],
            )
        return replace(
            self,
            basis=basis,
            coef=wide(self.coef, columns, basis.n_columns),
            support=wide(self.support, kept, len(kept)),
            column_mean=wide(self.column_mean, columns, basis.n_columns),
            column_scale=scale,
            gate_coef=wide(self.gate_coef, columns, basis.n_columns),
            gate_support=wide(self.gate_support, kept, len(kept)),
            on_folds=of_folds,
        )

    def within(self, seen: FloatArray) -> FoundFlock:
        """Return this flock with values far beyond those seen (2, D) brought nearer to them."""
        of_folds = self.on_folds
        if of_folds is not None:
            of_folds = replace(of_folds, flocks=[flock.within(seen) for flock in of_folds.flocks])
        return replace(self, basis=replace(self.basis, seen=seen), on_folds=of_folds)


@dataclass
class OnFolds:
    """Flocks that were fitted without the rows that a fold holds out."""

    folds: list[tuple[IntArray, IntArray]]  # numbers of rows to fit on, and of rows held out
    flocks: list[FoundFlock]
    #: The numbers of rows that were sampled, and how much each counts; None: all, as they are.
    sample: tuple[IntArray, FloatArray] | None = None
    #: The best flocks that a person can read; none where ``flocks`` can be read themselves.
    readable: list[FoundFlock] = field(default_factory=list)


class _Union:
    """One basis with the columns of several: the features once, then those special to each."""

    def __init__(self, bases: dict[str, ScaledBasis], names: Iterable[str]) -> None:
        plain = bases["features"].basis
        self.basis, self._starts = Basis.plain(plain.n_features), {"features": 0}
        for name in names:
            if name not in self._starts:
                self._starts[name] = self.basis.n_columns
                self.basis = self.basis.union(bases[name].basis)
        self.mean, self.scale = np.zeros(self.basis.n_columns), np.ones(self.basis.n_columns)
        for name in self._starts:
            known = self.widened(np.ones(bases[name].basis.n_columns, dtype=bool), name)
            self.mean[known] = self.widened(bases[name].mean, name)[known]
            self.scale[known] = self.widened(bases[name].scale, name)[known]

    def widened(self, values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        """Return values (..., n_columns) of one basis on the columns of all; zero elsewhere."""
        wide = np.zeros((*values.shape[:-1], self.basis.n_columns), dtype=values.dtype)
        n_features, start = self.basis.n_features, self._starts[name]
        wide[..., :n_features] = values[..., :n_features]
        wide[..., start : start + values.shape[-1] - n_features] = values[..., n_features:]
        return wide


def assembled(
    groups: Sequence[tuple[float, Group]],
    bases: dict[str, ScaledBasis],
    candidates: dict[str, npt.NDArray[Any]] | None = None,
    importance: Callable[[Groups], FloatArray] | None = None,
    n_flocks: int = 1,
) -> FoundFlock:
    """Return groups and their weights as one flock, without members that hardly matter.

    ``importance`` computes the mean importance of each member; without it the flock only predicts,
    and all members matter alike. The groups may be those of several flocks, one after the other.
    """
    union = _Union(
        bases, [name for _, group in groups for name in (group.family.basis, group.family.gate)]
    )
    coef, intercept, columns, gate_coef, gate_intercept = ([] for _ in range(5))
    for _, group in groups:
        name, gate = group.family.basis, group.family.gate
        theta, bias = bases[name].in_units_of_X(group.theta, group.intercept)
        coef.append(union.widened(theta, name))
        intercept.append(bias)
        columns.append(union.widened(group.support & bases[name].usable, name))
        theta, bias = bases[gate].in_units_of_X(group.gate, group.gate_intercept)
        gate_coef.append(union.widened(theta, gate))
        gate_intercept.append(bias)
    sizes, pools = [len(part) for part in coef], [group.family.pool for _, group in groups]
    n_iter = np.repeat([group.n_iter for _, group in groups], sizes)
    weights = np.array([weight for weight, _ in groups])
    weights = weights / weights.sum()
    gates, biases = np.concatenate(gate_coef), np.concatenate(gate_intercept)
    shares = np.ones(len(gates))
    if importance is not None:
        shares = importance(Groups(union.basis, gates, biases, sizes, pools, weights))
    # At least the most important member of each group is kept.
    matters = shares >= _LEAST_IMPORTANCE / n_flocks
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        matters[end - size + np.argmax(shares[end - size : end])] = True
    kept = np.flatnonzero(matters)
    gates, biases, used = gates[kept], biases[kept], np.concatenate(columns)[kept]
    group_of = np.repeat(np.arange(len(sizes)), sizes)[kept]
    sizes = np.bincount(group_of, minlength=len(sizes)).tolist()
    # A member that is alone in its group has no gate.
    alone = np.array(sizes)[group_of] == 1
    gates[alone], biases[alone] = 0.0, 0.0
    basis, positions = union.basis.only(used.any(axis=0) | (gates != 0).any(axis=0))
    gates = gates[:, positions]
    used = used[:, positions]
    gated = np.zeros((len(sizes), len(positions)), dtype=bool)
    np.logical_or.at(gated, group_of, gates != 0)
    shares = shares[kept]
    if importance is not None:
        shares = importance(Groups(basis, gates, biases, sizes, pools, weights))
    return FoundFlock(
        basis=basis,
        coef=np.concatenate(coef)[kept][:, :, positions],
        intercept=np.concatenate(intercept)[kept],
        support=basis.features_of(used),
        column_mean=union.mean[positions],
        column_scale=union.scale[positions],
        shares=shares,
        gate_coef=gates,
        gate_intercept=biases,
        gate_support=basis.features_of(gated),
        n_terms=int(used.sum() + gated.sum()),
        sizes=sizes,
        pools=pools,
        weights=weights,
        n_iter=n_iter[kept],
        candidates=candidates or {},
    )
