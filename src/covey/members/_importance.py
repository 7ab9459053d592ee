"""The importance of the columns of a model: on rows held out, or else on training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from covey._blocks import take_rows
from covey._core.blocks import own_threads
from covey._core.inspection.importance import Answers, GatedAnswers, PlainAnswers, replaced_in
from covey._folds import check_groups
from covey._validation import check_sample_weight
from covey.inspection._importance import (
    Importance,
    column_importance,
    measured,
    most_used,
    sampled_rows,
)
from covey.members._held_out import HeldOutRows
from covey.members._member_kinds import LINEAR, as_given, member_prediction
from covey.members._prepared_fit import PreparedFit
from covey.tables._columns import feature_names, flip_units

# Training rows that are kept to measure by, at most.
MOST_KEPT = 500
# How much longer other kinds take than linear members.
_TIMES_LONGER = 4


@dataclass(frozen=True)
class TrainingSample:
    """Training rows by which a model's importance is measured when it is first read.

    ``unit`` (P,) are the features of the columns of rows that are prepared; None if rows are as
    the user gave them. Files hold the measured importance, and no rows.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    unit: np.ndarray | None
    n_rows: int  # the number of all rows, of which these are some
    source: str = "training rows, from which the model has learnt"

    @classmethod
    def of(
        cls, X: Any, y: np.ndarray, weight: np.ndarray | None, unit: np.ndarray | None = None
    ) -> TrainingSample:
        """Take a sample of these rows."""
        weight = check_sample_weight(weight, len(y))
        used = np.flatnonzero(weight)
        step = -(-len(used) // MOST_KEPT)
        kept = used[::step] if step > 1 else used
        return cls(take_rows(X, kept), np.asarray(y)[kept], weight[kept], unit, len(used))

    def measured(self, model: Any) -> Importance:
        """Measure the importance of the model's columns on these rows."""
        n_rows, seed = len(self.y), int(getattr(model, "_seed", 0))
        of = f"{n_rows:,}" if n_rows == self.n_rows else f"{n_rows:,} of the {self.n_rows:,}"
        words = f"{of} {self.source}"
        if self.unit is None:
            how = dict[str, Any](sample_weight=self.weight, random_state=seed, rows=words)
            return column_importance(model, self.X, self.y, **how)
        numbers, names, whole = _dense(self.X), feature_names(model), _groups_of_features(model)
        unit = whole[self.unit]
        used = np.bincount(whole, model._columns_looked_at()) > 0
        used = most_used(used, _followed(numbers, unit, self.y, len(used)))
        answers = PlainAnswers(model._answers, replaced_in(numbers, unit), np.arange(len(numbers)))
        found = measured(
            [answers],
            numbers,
            unit,
            [names[one] for one in np.unique(whole, return_index=True)[1]],
            (self.y, getattr(model, "classes_", None)),
            self.weight,
            used=used,
            seed=seed,
            rows=words,
        )
        return found.in_parts(names, whole)


class WeightedAnswers:
    """Answers of the weighted mean of several models."""

    def __init__(self, makers: Sequence[Callable[[], Answers]], weights: np.ndarray) -> None:
        self._answers, self._weights = [make() for make in makers], weights
        self.rows = self._answers[0].rows

    def known(self) -> np.ndarray:
        """Return the predictions of the rows as they are."""
        return self._mean([one.known() for one in self._answers])

    def without(self, units: np.ndarray, donors: np.ndarray) -> np.ndarray:
        """Return mean predictions with the units of donors instead."""
        return self._mean([one.without(units, donors) for one in self._answers])

    def _mean(self, answers: list[np.ndarray]) -> np.ndarray:
        return np.tensordot(self._weights, np.array(answers), axes=1)


@dataclass(frozen=True)
class HeldOutSample:
    """Rows that folds held out, by which a flock's importance is measured when it is first read.

    ``makers`` make the answers of the models of each fold, ``how`` are the other arguments of
    `measured`, and ``whole`` is the group of each of the features that ``names`` are of.
    """

    makers: list[Callable[[], Answers]]
    how: dict[str, Any]
    names: list[str]
    whole: np.ndarray

    def measured(self, model: Any) -> Importance:
        """Return the importance of the model's columns on these rows."""
        with own_threads():  # one a product, as while the model was fitted
            found = measured([make() for make in self.makers], **self.how)
        return found.in_parts(self.names, self.whole)


def held_out_sample(
    fit: PreparedFit, held_out: HeldOutRows, models: dict[str, list[Any]], weights: np.ndarray
) -> HeldOutSample:
    """Return rows to measure importance by, with models fitted without the rows of a fold.

    ``models`` has those of each fold by the name of the member, in the order of the weights.
    """
    rows, table, target = fit.rows, fit.table, fit.target
    names, whole = feature_names(table), _groups_of_features(fit.flock)
    unit = whole[table.column_of]
    units = [names[one] for one in np.unique(whole, return_index=True)[1]]
    used = np.ones(len(units), dtype=bool)
    sizes = np.zeros(len(units))
    for one in models.get(LINEAR, ()):
        moved = np.abs(one.contrast() / getattr(target, "scale", 1.0))
        total = np.einsum("kcp,p->p", moved, one.column_scale)
        total += np.abs(one.gate_coef * one.column_scale).sum(axis=0)
        sizes += np.bincount(unit, one.basis.on_features(total), minlength=len(units))
    if list(models) == [LINEAR]:
        used = sizes > 0
    which = np.unique(held_out.rows)
    times = 1 if list(models) == [LINEAR] else _TIMES_LONGER
    which = which[sampled_rows(len(which), times * int(used.sum()), fit.seed, rows.n_features)]
    numbers, truth = _dense(take_rows(rows.X, which)), rows.y[which]
    if not sizes.any():
        sizes = _followed(numbers, unit, truth, len(units))
    place = np.full(len(rows.y), -1)
    place[which] = np.arange(len(which))
    replaced = replaced_in(numbers, unit)
    makers: list[Callable[[], Answers]] = []
    for number, (_, test) in enumerate(held_out.folds):
        own = place[test][place[test] >= 0]
        if not len(own):
            continue
        of_models: list[Callable[[], Answers]] = []
        for name, found in models.items():
            one = found[number]
            if name != LINEAR:
                of_models.append(partial(PlainAnswers, _asking(fit, name, one), replaced, own))
                continue
            parts = one.fuser.groups, one.coef, one.intercept, numbers, unit, own
            of_models.append(partial(GatedAnswers, *parts, is_value=fit.is_numeric))
        alone = len(of_models) == 1
        makers.append(of_models[0] if alone else partial(WeightedAnswers, of_models, weights))
    weight = held_out.weight[which]
    if rows.class_factors is not None:
        # Costs of classes are for the training; the importance is for rows as they come.
        weight = weight / rows.class_factors[np.searchsorted(target.classes, truth)]
    groups = getattr(rows, "_groups", None)
    if groups is not None:
        groups = check_groups(groups, len(rows.y))[which]
    by_groups = "" if groups is None else ", by whole groups"
    n_folds = len(held_out.folds)
    how = dict[str, Any](
        numbers=numbers,
        unit=unit,
        names=units,
        target=(truth, getattr(target, "classes", None)),
        weight=weight,
        used=most_used(used, sizes),
        groups=groups,
        seed=fit.seed,
        rows=f"{len(which):,} training rows, predicted by flocks that were fitted without them "
        f"({n_folds} {'fold' if n_folds == 1 else 'folds'}{by_groups})",
    )
    return HeldOutSample(makers, how, names, whole)


def _asking(fit: PreparedFit, name: str, model: Any) -> Any:
    target, columns = fit.target, fit.table.given_columns
    return lambda X: member_prediction(target, name, model, as_given(columns, X, name))


def _groups_of_features(model: Any) -> np.ndarray:
    """Return the group of each feature; those of one group are known together or not at all.

    If five columns of a one-hot group are known to be zero, the sixth is known to be one.
    """
    names = getattr(model, "feature_names_in_", None)
    barred = np.zeros(model.n_features_in_, dtype=bool)
    return flip_units(getattr(model, "feature_groups", None), None, barred, names)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _followed(numbers: np.ndarray, unit: np.ndarray, y: np.ndarray, n_units: int) -> np.ndarray:
    """Return how closely the target follows the columns of each unit, (n_units,)."""
    target = (y[:, None] == np.unique(y)) if y.dtype.kind in "OSUb" else y[:, None]
    found = np.zeros(n_units)
    np.maximum.at(found, unit, correlations(numbers, target))
    return found


def correlations(columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return how closely columns (n, D) follow any of the targets (n, T), (D,): from 0 to 1."""
    columns = columns - columns.mean(axis=0)
    targets = targets - targets.mean(axis=0, dtype=np.float64)
    sizes = np.outer(np.linalg.norm(columns, axis=0), np.linalg.norm(targets, axis=0))
    return np.abs(columns.T @ targets / np.where(sizes > 0, sizes, 1.0)).max(axis=1)
