"""The search for linear members: gated groups, selected by the loss of held-out rows."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covey._blocks import by_blocks
from covey._callbacks import keeps_what_is_found
from covey._core.gating.gate import shrinkage
from covey._core.search.assembly import OnFolds
from covey._core.search.bases import Features
from covey._core.search.folds import possible_folds
from covey._core.search.plan import Effort, Family, SearchPlan, Task, Watch, families, of_size
from covey._core.search.rows import rung_sizes
from covey._core.search.search import Search
from covey.members._constraints import constraints_of
from covey.members._held_out import HeldOutRows
from covey.members._linear_model import GatedModel
from covey.members._mixing import Clock
from covey.members._prepared_fit import PreparedFit

# Below this many rows, folds are drawn once more.
_FEW_ROWS = (350, 200)
# A flock with more terms is not read, so that it may as well be averaged with those of the folds,
# which have seen enough from this many rows on.
_READ_BY_NOBODY, _ENOUGH_ROWS = 150, 200
# A sparse table with at most this many columns is usually sparse by accident.
_FEW_COLUMNS = 100
_SPARSE = (
    "X is sparse, so members see its columns alone; of a dense X they see ramps and products. "
    "If it fits into memory, fit X.toarray(): that is often predicted better."
)
# The seconds between two lines of progress.
_SECONDS_BETWEEN = 5.0
# By how many standard errors the loss may rise for fewer terms, and under limits: a person who
# sets these has said what there is to read.
_N_ERRORS, _N_ERRORS_LIMITED = 1.0, 0.5


@dataclass(frozen=True)
class OutOfFold:
    """The results on rows held out: their predictions, and the model of each fold."""

    held_out: HeldOutRows
    predicted: np.ndarray
    models: list[GatedModel]
    readable: Bunch | None  # the price of fewer terms


def is_limited(flock: Any) -> bool:
    """Return whether the user limits what there is to read, in order to read the flock."""
    limits = (flock.max_terms, flock.max_members, flock.max_features)
    return any(limit is not None for limit in limits)


class LinearSearch:
    """A search for linear members on the rows of one fit."""

    def __init__(self, fit: PreparedFit, clock: Clock, effort: Effort, *, compares: bool) -> None:
        self._fit, self._flock, self._rows, self._clock = fit, fit.flock, fit.rows, clock
        self._effort = effort
        self._compares = compares  # whether candidates are compared on folds

    def run(
        self, share: float, context: Any, given: dict[str, Any]
    ) -> tuple[GatedModel, OutOfFold | None]:
        """Return the model that is found, and the results on rows held out, if there are any.

        No candidates are begun after a share of the time. ``context`` and ``given`` are for
        callbacks: the context of the whole fit, and its arguments.
        """
        fit, flock, rows, journal = self._fit, self._flock, self._rows, self._fit.journal
        if not fit.is_numeric:
            fit.learn_scale()
        # Weights of classes have a unit, the row; those of values need not have one.
        n_rows = rows.n_weighted()
        unit = 1.0 if fit.is_numeric else rows.total_weight() / n_rows
        sizes = rung_sizes(n_rows)
        n_first = unit * (sizes[0] if sizes else n_rows)
        task = fit.target.task
        if self._effort != "best":
            task = of_size(task, n_rows, len(rows.class_counts))
        folds: Any = []
        if self._compares:
            n_repeats = repeats_of(self._effort, n_rows)
            folds = rung_folds(fit) if sizes else folds_of_fit(fit, n_repeats)
        if hasattr(getattr(rows, "X", None), "tocsr") and rows.n_features <= _FEW_COLUMNS:
            warnings.warn(_SPARSE, UserWarning, stacklevel=2)
        signs, pairs = constraints_of(fit)
        narrow, kept = fit.narrowed()
        rungs = [
            narrow.rung(size, fit.seed, self._factor(n_first, unit * size), folds)
            for size in sizes
        ]
        features = Features(
            fit.scaling.mean[kept],
            fit.scaling.scale[kept],
            fit.scaling.usable[kept],
            fit.units()[kept],
            grouped=flock.feature_groups is not None,
            **self._made_of(kept),
            signs=None if signs is None else signs[kept],
            pairs=None if pairs is None else pairs[np.ix_(kept, kept)],
            seen=fit.ranges[:, kept] if fit.is_numeric else None,
        )
        limits = flock.max_terms, flock.max_members, pairs
        is_bounded = any(limit is not None for limit in limits)
        n_errors = _N_ERRORS_LIMITED if is_limited(flock) else _N_ERRORS
        plan = SearchPlan(
            task,
            self._families(task, n_first, features.are_alone),
            seed=fit.seed,
            **self._limits(features),
            most_groups=np.inf if pairs is None else 1,
            folds=[] if rungs else folds,
            rungs=rungs,
            n_errors=0.0 if self._effort == "best" else n_errors,
            # A person who wants to read less has not asked for each member twice.
            n_restarts=2 if self._effort == "best" and not (rungs or is_bounded) else 1,
            n_rows=n_rows,
            factor=self._factor(n_first, unit * n_rows),
            single=rows.single,
            keeps_folds=self._compares and rows.keeps_folds,
            journal=journal,
        )
        search = Search(narrow.search_rows(int(flock.n_estimators)), features, plan)
        if flock.verbose:
            print(f"[{type(flock).__name__}] will try {search.plan}", flush=True)
        found = search.run(self._watch(share, context, given)).widened(kept).within(fit.ranges)
        model = GatedModel.found(fit, found)
        model = replace(model, means=rows.mean_predictions(model))
        return model, None if found.on_folds is None else self._out_of_fold(found.on_folds)

    def _made_of(self, kept: np.ndarray) -> dict[str, np.ndarray]:
        """Return which of the columns that are kept count as a feature, and are multiplied."""
        preparation = self._fit.table.preparation
        if preparation is None:
            return {}
        first = preparation.first_of_each(self._fit.scaling.usable)
        return {"counted": first[kept], "multiplied": preparation.is_number[kept]}

    def _out_of_fold(self, on_folds: OnFolds) -> OutOfFold:
        """Predict the rows that each fold holds out by the model that was fitted without them."""
        fit, rows = self._fit, self._rows
        weight = rows.weight
        if on_folds.sample is not None:
            numbers, counted = on_folds.sample
            weight = np.zeros(len(weight))
            weight[numbers] = counted
        held_out = HeldOutRows.counted(on_folds.folds, weight)
        models, smaller = (
            [GatedModel.found(fit, one) for one in flocks]
            for flocks in (on_folds.flocks, on_folds.readable)
        )

        def predicted_by(models: list[GatedModel]) -> np.ndarray:
            parts = zip(models, held_out.folds, strict=True)
            how = dict[str, Any](n_jobs=self._flock.n_jobs, finite=True)
            return np.concatenate(
                [by_blocks(one.fused, rows.X[test], **how) for one, (_, test) in parts]
            )

        predicted, readable = predicted_by(models), None
        if smaller:
            numbers, means = held_out.by_row(predicted)
            _, read = held_out.by_row(predicted_by(smaller))
            weight, score = held_out.weight[numbers], fit.target.held_out_score
            readable = Bunch(
                n_terms=round(np.mean([one.n_terms for one in smaller])),
                score=score(rows.y[numbers], read, weight),
                score_of_all=score(rows.y[numbers], means, weight),
            )
        return OutOfFold(held_out, predicted, models, readable)

    def _limits(self, features: Features) -> dict[str, Any]:
        """Return the limits on what a person must read; refuse impossible ones."""
        flock = self._flock
        columns = features.columns()
        # Constant columns are no features.
        usable = self._fit.table.on_features(self._fit.scaling.usable)
        most = n_features = int(usable.sum())
        if isinstance(flock.max_features, Integral):
            most = min(n_features, int(flock.max_features))
        elif flock.max_features is not None:
            most = max(1, int(flock.max_features * n_features))
        least = columns.fewest_features
        if most < least:
            raise ValueError(
                f"max_features={flock.max_features!r} allows {most} features, but always_keep "
                f"(or the smallest of the feature_groups) has {least}; allow more."
            )
        terms = np.inf if flock.max_terms is None else int(flock.max_terms)
        # The size of the smallest candidate: one member on one unit of features.
        fewest = columns.most_columns(1, 1)
        if terms < fewest:
            raise ValueError(
                f"max_terms={flock.max_terms} is less than the {fewest} terms of "
                "one member on always_keep and one of the feature_groups; allow more."
            )
        # How many terms a flock may have that is not averaged with those of the folds.
        beyond = 0 if flock.averaged else np.inf
        if flock.averaged == "auto":
            gains = self._rows.n_weighted() >= _ENOUGH_ROWS
            bounded = is_limited(flock) or features.pairs is not None
            beyond = _READ_BY_NOBODY if gains and not bounded else np.inf
        return {
            "most_features": most,
            "most_terms": terms,
            "most_members": np.inf if flock.max_members is None else int(flock.max_members),
            "averaged_beyond": beyond,
        }

    def _factor(self, few: float, more: float) -> float:
        """Return the factor on penalties that were given for a few rows, for more of them."""
        return 1.0 if self._flock.alpha is not None else shrinkage(more) / shrinkage(few)

    def _families(self, task: Task, size: float, alone: bool) -> list[Family]:
        fit, flock = self._fit, self._flock
        left = 1.0
        if fit.is_numeric and self._effort == "fast" and flock.alpha is None:
            left = fit.target.share_left(fit)
        n_members = 1 if alone else int(flock.n_estimators)
        if flock.max_members is not None:
            n_members = min(n_members, int(flock.max_members))
        # A limit of terms counts columns; the other limits, and groups, are of whole features.
        of_features = (flock.max_features, flock.feature_groups, flock.always_keep)
        columns = flock.max_terms is not None and all(given is None for given in of_features)
        found = families(task, self._effort, n_members, flock.alpha, size, left, columns)
        if self._effort == "fast" and not isinstance(flock.interactions, str):
            # Pairs that a user names are looked at, where there is one candidate, too.
            found.insert(0, replace(found[0], basis="products"))
        return found

    def _watch(self, share: float, context: Any, given: dict[str, Any]) -> Watch:
        """Return the functions that a search calls on its way."""
        flock, rows = self._flock, self._rows
        says = Progress(type(flock).__name__, bool(flock.verbose))

        @contextmanager
        def on_family(family: Family) -> Iterator[None]:
            task = context.subcontext(task_name="candidates").call_on_fit_task_begin(
                estimator=flock
            )
            says.begin(
                f"{len(family.alphas)} candidates of {family.n_members} members on {family.basis}"
            )
            yield
            rows.done("candidates")
            # A search that is stopped half-way has selected nothing, so it continues.
            task.call_on_fit_task_end(
                estimator=flock, **given, reconstruction_attributes=lambda: None
            )

        def is_late() -> bool:
            late = self._clock.as_before(self._clock.is_late(share))
            if late:
                says.begin("the time for linear members is over: no more are tried")
            return late

        return Watch(
            on_family,
            on_refit=lambda: says.begin("what is selected, on all rows"),
            on_iteration=says.iterated,
            is_late=is_late,
            # A user who interrupts the search for linear members wants no other kinds either.
            on_stop=self._clock.stop,
            # A fit with a checkpoint continues later; in a script, nobody waits for a partial
            # result.
            may_stop=self._fit.journal is None and rows.keeps_folds and is_interactive(),
        )


def repeats_of(effort: str, n_rows: int) -> int:
    """Return how often folds are drawn: a few rows held out once say little about a candidate."""
    repeats = 1 + sum(n_rows < limit for limit in _FEW_ROWS)
    return max(repeats, 2) if effort == "best" else repeats


def folds_of_fit(fit: PreparedFit, n_repeats: int) -> Any:
    """Return the folds; those of the fit that began, for a splitter may draw others."""
    rows, cv, journal = fit.rows, fit.flock.cv, fit.journal
    # Folds that are an assignment are a function of the seed, which the journal keeps.
    if journal is None or not rows.keeps_folds:
        return rows.folds(cv, fit.seed, n_repeats)
    task = journal.begin()
    if task.result is None:
        folds = rows.folds(cv, fit.seed, n_repeats)
        task.finish({f"{number}": part for number, part in enumerate(chain(*folds))})
        return folds
    parts = [task.result[f"{number}"] for number in range(len(task.result))]
    return list(zip(parts[::2], parts[1::2], strict=True))


def rung_folds(fit: PreparedFit) -> Any:
    """Return the folds of a long table; None where some rows are held out once."""
    rows = fit.rows
    if not rows.draws_folds(fit.flock.cv):
        return folds_of_fit(fit, 1)
    classes = np.zeros(1) if rows.classes is None else rows.classes
    possible_folds(2, rows.class_counts, classes)
    return None


class Progress:
    """A printer of a long fit's parts, and every few seconds of its progress."""

    def __init__(self, name: str, is_wanted: bool) -> None:
        self._name, self.is_wanted = name, is_wanted
        self._started = self._printed = time.perf_counter()
        self._what, self._n_iterations = "", 0

    def begin(self, what: str) -> None:
        """Begin a part of the fit."""
        self._what, self._n_iterations = what, 0
        self._print(what)

    def iterated(self) -> None:
        """Count one more iteration of the part."""
        self._n_iterations += 1
        if time.perf_counter() - self._printed > _SECONDS_BETWEEN:
            self._print(f"{self._what}, iteration {self._n_iterations}")

    def _print(self, what: str) -> None:
        self._printed = time.perf_counter()
        if self.is_wanted:
            print(f"[{self._name}] {self._printed - self._started:.2f} s: {what}", flush=True)


def is_interactive() -> bool:
    """Return whether a person is at a prompt, in a notebook, or at a command that can continue."""
    return hasattr(sys, "ps1") or keeps_what_is_found()
