"""Flocks that a search finds: gated groups of members, selected by the loss of held-out rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from covey import _state as stored
from covey._callbacks import keeps_what_is_found
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.basis import Basis
from covey._core.gating.gate import shrinkage
from covey._core.quantiles import effective_weights
from covey._core.search.assembly import Flock, OnFolds
from covey._core.search.bases import Features
from covey._core.search.folds import possible_folds
from covey._core.search.plan import (
    EFFORTS,
    Family,
    SearchPlan,
    Task,
    Watch,
    families,
    of_size,
)
from covey._core.search.rows import rung_sizes
from covey._core.search.search import Search
from covey._devices import to_numpy
from covey._folds import check_cv_parameter
from covey._state import refuse
from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import Fuser
from covey.fusers._gate import GatedGroups
from covey.members._calibrated import GIVEN_ROWS, OUT_OF_FOLD
from covey.members._held_out import HeldOut
from covey.members._linear_flock import LinearFlock
from covey.members._targets import share_left
from covey.members._training_rows import TrainingRows

# Below so many rows, folds are drawn once more.
_FEW_ROWS = (350, 200)
# How often a long fit shows what it is at.
_SECONDS_BETWEEN = 5.0
# How many standard errors more loss fewer terms are worth.
_N_ERRORS = 1.0
# How Algorithm 1 gives a search its starts.
_FLIP_PROBABILITY = 0.01
_STARTS: dict[str, Any] = {
    "learning_rate": "auto",
    "patience": 10,
    "max_iter": 300,
    "init_scale": 0.1,
    "acceptance": "greedy",
    "temperature": 0.01,
}


class LinearMembers:
    """What files hold of a flock whose members are linear: K in G groups, on P columns."""

    _usable: stored.Flags("D")
    mean_: stored.Array("D")
    scale_: stored.Array("D", low=1e-200)
    _means: stored.Array("D")
    _member_means: stored.OrAbsent(stored.Array("K C"))
    basis_: stored.Record(Basis, "D P")
    member_coef_: stored.Array("K C P", fewest=1, most=100_000)
    member_intercept_: stored.Array("K C")
    support_: stored.Flags("K F")
    n_iter_: stored.Wholes("K", low=0)
    history_: stored.ListOf(stored.Columns(), "K")
    _column_mean: stored.Array("P")
    _column_scale: stored.Array("P", low=0)
    _member_shares: stored.Array("K", low=0)
    group_weights_: stored.Share("G")
    group_of_: stored.Index("K", "G")
    gate_support_: stored.Flags("G F")
    _gates: stored.Parts(
        {
            "coef": stored.Array("K P"),
            "intercept": stored.Array("K"),
            "pools": stored.ListOf(stored.OneOf("linear", "log"), "G"),
        }
    )
    n_terms_: stored.Whole()
    cv_results_: stored.Columns()


class SearchedFlock(LinearFlock):
    """What `FlockClassifier` and `FlockRegressor` share."""

    # -- what files hold ----------------------------------------------------------------------

    @property
    def _gates(self) -> dict[str, Any]:
        gates = self.fuser_
        return {"coef": gates.coef, "intercept": gates.intercept, "pools": list(gates.pools)}

    @_gates.setter
    def _gates(self, gates: dict[str, Any]) -> None:
        weights = self.group_weights_
        sizes = np.bincount(self.group_of_, minlength=len(weights))
        in_order = np.array_equal(self.group_of_, np.repeat(np.arange(len(sizes)), sizes))
        refuse("group_of", "are not those of the members.", in_order and sizes.all())
        self.fuser_ = GatedGroups(
            self.basis_,
            gates["coef"],
            gates["intercept"],
            sizes.tolist(),
            gates["pools"],
            weights,
            getattr(self, "classes_", None),
        )

    def _check_parameters(self) -> None:
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        if not self._classifies:
            self._target.check_loss(self)
        check_choice(self.effort, "effort", EFFORTS)
        if self.alpha is not None:
            check_number(self.alpha, "alpha", low=0, closed="neither")
        for name in ("max_members", "max_terms"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, whole=True, low=1)
        if isinstance(self.max_features, Integral):
            check_number(self.max_features, "max_features", whole=True, low=1)
        elif self.max_features is not None:
            check_number(self.max_features, "max_features", low=0, high=1, closed="right")
        check_cv_parameter(self.cv)

    def _check_fuser(self, fuser: Fuser, groups: Any) -> None:
        """A search has a fuser of its own."""

    def _has_own_threads(self, rows: TrainingRows) -> bool:
        return True  # long tables are worked on in blocks of rows, side by side

    def _fit_rows(
        self, rows: TrainingRows, fuser: Fuser, context: Any, given: dict[str, Any]
    ) -> Fuser:
        if self._classifies:
            self._set_scale(*rows.moments())
        # Weights of classes have a unit, the row; those of values need not have one.
        n_rows = rows.n_weighted()
        unit = rows.total_weight() / n_rows if self._classifies else 1.0
        sizes = rung_sizes(n_rows)
        n_first = unit * (sizes[0] if sizes else n_rows)
        task = self._target.task
        if self.effort != "best":
            task = of_size(task, n_rows, len(rows.class_counts))
        folds: Any = []
        if self._compares():
            folds = self._rung_folds(rows) if sizes else self._folds(rows, self._n_repeats(rows))
        narrow, kept = self._narrowed(rows)
        rungs = [
            narrow.rung(size, self._seed, self._factor(n_first, unit * size), folds)
            for size in sizes
        ]
        features = Features(
            self.mean_[kept],
            self.scale_[kept],
            self._usable[kept],
            self._units()[kept],
            grouped=self.feature_groups is not None,
            **self._made_of(kept),
            seen=None if self._classifies else self._ranges[:, kept],
        )
        plan = SearchPlan(
            task,
            self._families(task, rows, n_first),
            growth=self._growth(),
            flip_probability=_FLIP_PROBABILITY,
            seed=self._seed,
            **self._limits(features),
            folds=[] if rungs else folds,
            rungs=rungs,
            n_errors=0.0 if self.effort == "best" else _N_ERRORS,
            # Two of the same are not what a person has asked for who wants to read less.
            n_restarts=2 if self.effort == "best" and not self._is_limited() and not rungs else 1,
            n_rows=n_rows,
            factor=self._factor(n_first, unit * n_rows),
            single=rows.single,
            keeps_folds=self._compares() and rows.keeps_folds,
            journal=self._journal,
        )
        search = Search(narrow.search_rows(int(self.n_estimators)), features, plan)
        if self.verbose:
            print(f"[{type(self).__name__}] will try {search.plan}", flush=True)
        flock = search.run(self._progress(rows, context, given)).widened(kept)
        flock = flock.within(self._ranges)
        found = self._attributes_of(
            flock.basis,
            flock.coef,
            flock.intercept,
            flock.support,
            flock.n_iter,
            flock.history,
            flock.column_mean,
            flock.column_scale,
            flock.shares,
        )
        for name, value in found.items():
            setattr(self, name, value)
        self._member_means = rows.mean_predictions(self)
        self.group_of_ = np.repeat(np.arange(len(flock.sizes)), flock.sizes)
        self.group_weights_ = flock.weights
        self.gate_support_ = self._on_features(flock.gate_support)
        self.n_terms_ = flock.n_terms
        self.cv_results_ = flock.candidates
        for name in ("out_of_fold_", "readable_", "calibration_"):
            self.__dict__.pop(name, None)
        if flock.on_folds is not None:
            self._keep_out_of_fold(flock.on_folds, rows)
        return GatedGroups.of(flock, getattr(self, "classes_", None))

    def _growth(self) -> TrainingSettings:
        if self._classifies:
            return TrainingSettings(**_STARTS, tol=0.0)
        return TrainingSettings(**_STARTS, tol=1e-4, loss=self._value_loss)

    def _made_of(self, kept: np.ndarray) -> dict[str, np.ndarray]:
        """Which columns count as a feature, and which are multiplied, of those that are kept."""
        if self.preparation_ is None:
            return {}
        first = self.preparation_.first_of_each(self._usable)
        return {"counted": first[kept], "multiplied": self.preparation_.is_number[kept]}

    def _compares(self) -> bool:
        """Whether candidates are compared on folds."""
        return self.effort != "fast"

    def _keep_out_of_fold(self, on_folds: OnFolds, rows: TrainingRows) -> None:
        """Predict the rows that each fold holds out by the flock that was fitted without them."""
        held_out = HeldOut.of(on_folds, rows.weight)

        def predicted_by(flocks: list[Flock]) -> np.ndarray:
            tests = (test for _, test in held_out.folds)
            parts = zip(flocks, tests, strict=True)
            return np.concatenate(
                [self._predicted_by(flock, rows.X[test]) for flock, test in parts]
            )

        predicted = predicted_by(on_folds.flocks)
        numbers, means = held_out.by_row(predicted)
        self.out_of_fold_ = Bunch(rows=numbers, predictions=means)
        self.readable_ = None
        if on_folds.readable:
            _, smaller = held_out.by_row(predicted_by(on_folds.readable))
            weight, score = held_out.weight[numbers], self._target.held_out_score
            self.readable_ = Bunch(
                n_terms=round(np.mean([flock.n_terms for flock in on_folds.readable])),
                score=score(self, rows.y[numbers], smaller, weight),
                score_of_all=score(self, rows.y[numbers], means, weight),
            )
        self._compared = held_out, predicted, on_folds.flocks
        self._keep_calibration(rows, held_out, predicted)

    # -- how far off -----------------------------------------------------------------------

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Measure by rows that the flock was not fitted on how far off it is.

        They take the place of the training rows that folds held out. If new rows can be exchanged
        with these, as draws from one population can, levels hold exactly; see Notes of the class.
        The members stay as they are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that were **not** given to ``fit``: of those it has seen it knows too much.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "fuser_")
        for name, given in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            if hasattr(given, "__dask_graph__"):
                raise TypeError(f"calibrate takes rows in memory; give {name}.compute().")
        X, y, sample_weight = to_numpy(X), to_numpy(y), to_numpy(sample_weight)
        rows = self._check_rows(X)
        check_consistent_length(rows, y)
        truth = self._target.encoded(self, y)
        weight = check_sample_weight(sample_weight, len(truth))
        used = weight > 0
        predicted = self._by_blocks(self._fused, rows)[used]
        weight = effective_weights(weight[used])
        self.calibration_ = self._target.calibration.of(GIVEN_ROWS, truth[used], predicted, weight)
        return self

    def _calibrate_out_of_fold(self, y: ArrayLike, predicted: np.ndarray) -> None:
        """Measure by what flocks that were fitted alike, without a row, predict of it.

        ``predicted`` are probabilities (n, n_classes) or numbers (n,). Unlike the folds of the
        search, these have chosen nothing.
        """
        truth = self._target.encoded(self, np.asarray(y))
        weight = effective_weights(np.ones(len(truth)))
        self.calibration_ = self._target.calibration.of(OUT_OF_FOLD, truth, predicted, weight)

    def _keep_calibration(
        self, rows: TrainingRows, held_out: HeldOut, predicted: np.ndarray
    ) -> None:
        """Keep the scores of training rows, as they were predicted by models without them.

        Where a row was held out several times, each time counts for a part of it: a mean of what
        was predicted would be closer to the truth than a single flock is.
        """
        numbers, position, count = np.unique(
            held_out.rows, return_inverse=True, return_counts=True
        )
        weight, truth = held_out.weight[numbers], rows.y[numbers]
        if self._classifies:
            truth = np.searchsorted(self.classes_, truth)
            if rows.class_factors is not None:
                # Costs of classes are for the training; what is promised is for rows as they come.
                weight = weight / rows.class_factors[truth]
        weight = (effective_weights(weight) / count)[position]
        self.calibration_ = self._target.calibration.of(
            OUT_OF_FOLD, truth[position], predicted, weight
        )

    def _measured(self, what: str) -> Any:
        """The calibration, or a sentence that says why there is none."""
        check_is_fitted(self, "fuser_")
        if not hasattr(self, "calibration_"):
            raise ValueError(
                f"{what} needs predictions of rows held out, but this {type(self).__name__} was "
                "fitted without folds (effort='fast', Dask collections, or an older file); call "
                "calibrate(X, y) with rows that it was not fitted on, or fit with "
                "effort='balanced'."
            )
        return self.calibration_

    def _predicted_by(self, flock: Flock, X: Any) -> np.ndarray:
        """What another flock of this table predicts: (n, C), or (n,) numbers."""
        coef, intercept = self._target.in_units(self, flock.coef, flock.intercept)
        fuser = GatedGroups.of(flock, getattr(self, "classes_", None))
        fused = self._by_blocks(lambda block: fuser.fuse_linear(block, coef, intercept), X)
        return self._bounded(self._target.of_pool(fused))

    def _gate_sizes(self) -> np.ndarray:
        # Gates have logits; what members predict of numbers has the unit of y.
        unit = float(getattr(self, "y_scale_", 1.0))
        gates = self.fuser_.coef * self._column_scale
        groups = range(len(self.group_weights_))
        means = [gates[self.group_of_ == group].mean(axis=0) for group in groups]
        sizes = np.abs(gates - np.array(means)[self.group_of_])
        # As members are, by their weights: those of a group share its weight.
        n_members = np.bincount(self.group_of_)
        return unit * (self.group_weights_ / n_members)[self.group_of_] @ sizes

    def _n_repeats(self, rows: TrainingRows) -> int:
        """How often folds are drawn: a few rows held out once say little about a candidate."""
        n_rows = rows.n_weighted()
        repeats = 1 + sum(n_rows < limit for limit in _FEW_ROWS)
        return max(repeats, 2) if self.effort == "best" else repeats

    def _is_limited(self) -> bool:
        return self.max_terms is not None or self.max_members is not None

    def _limits(self, features: Features) -> dict[str, float]:
        """What a person is willing to read, in numbers; refuses what nothing can keep to."""
        columns = features.columns()
        most = n_features = self._n_usable()  # constant columns are no features
        if isinstance(self.max_features, Integral):
            most = min(n_features, int(self.max_features))
        elif self.max_features is not None:
            most = max(1, int(self.max_features * n_features))
        least = columns.fewest_features
        if most < least:
            raise ValueError(
                f"max_features={self.max_features!r} allows {most} features, but always_keep "
                f"(or the smallest of the feature_groups) has {least}; allow more."
            )
        terms = np.inf if self.max_terms is None else int(self.max_terms)
        # Of the smallest candidate: one member on one unit of features.
        fewest = columns.most_columns(1, 1)
        if terms < fewest:
            raise ValueError(
                f"max_terms={self.max_terms} is less than the {fewest} terms of "
                "one member on always_keep and one of the feature_groups; allow more."
            )
        members = np.inf if self.max_members is None else int(self.max_members)
        return {"most_features": most, "most_terms": terms, "most_members": members}

    def _factor(self, few: float, more: float) -> float:
        """What penalties for a few rows are multiplied with, for more of them."""
        return 1.0 if self.alpha is not None else shrinkage(more) / shrinkage(few)

    def _families(self, task: Task, rows: TrainingRows, size: float) -> list[Family]:
        left = 1.0
        if not self._classifies and self.effort == "fast" and self.alpha is None:
            narrow, kept = self._narrowed(rows)
            mean, scale = self.mean_[kept], self.scale_[kept]
            left = share_left(narrow, mean, scale, int(self._usable.sum()), self._value_loss)
        n_members = int(self.n_estimators)
        if self.max_members is not None:
            n_members = min(n_members, int(self.max_members))
        return families(task, self.effort, n_members, self.alpha, size, left)

    def _folds(self, rows: TrainingRows, n_repeats: int) -> Any:
        """The folds; those of the fit that began, since a splitter may draw others each time."""
        # Folds that are an assignment are a function of the seed, which the journal keeps.
        if self._journal is None or not rows.keeps_folds:
            return rows.folds(self.cv, self._seed, n_repeats)
        task = self._journal.begin()
        if task.result is None:
            folds = rows.folds(self.cv, self._seed, n_repeats)
            task.finish({f"{number}": part for number, part in enumerate(chain(*folds))})
            return folds
        parts = [task.result[f"{number}"] for number in range(len(task.result))]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def _rung_folds(self, rows: TrainingRows) -> Any:
        """The folds of a long table; None where some rows are held out once."""
        if not rows.draws_folds(self.cv):
            return self._folds(rows, 1)
        classes = np.zeros(1) if rows.classes is None else rows.classes
        possible_folds(2, rows.class_counts, classes)
        return None

    def _progress(self, rows: TrainingRows, context: Any, given: dict[str, Any]) -> Watch:
        """What a search calls on its way."""
        says = Progress(type(self).__name__, bool(self.verbose))

        @contextmanager
        def on_family(family: Family) -> Iterator[None]:
            task = context.subcontext(task_name="candidates").call_on_fit_task_begin(
                estimator=self
            )
            says.begin(
                f"{len(family.alphas)} candidates of {family.n_members} members on {family.basis}"
            )
            yield
            rows.done("candidates")
            # A search that is stopped half-way has selected nothing, so it continues.
            task.call_on_fit_task_end(
                estimator=self, **given, reconstruction_attributes=lambda: None
            )

        return Watch(
            on_family,
            on_refit=lambda: says.begin("what is selected, on all rows"),
            on_iteration=says.iterated,
            # A fit with a checkpoint continues later; one of a script has nobody to read on.
            may_stop=self._journal is None and rows.keeps_folds and is_interactive(),
        )


class Progress:
    """Prints what a long fit is at, if it is to, and every few seconds how far it has got."""

    def __init__(self, name: str, is_wanted: bool) -> None:
        self._name, self.is_wanted = name, is_wanted
        self._started = self._printed = time.perf_counter()
        self._what, self._n_iterations = "", 0

    def begin(self, what: str) -> None:
        """A part of the fit begins."""
        self._what, self._n_iterations = what, 0
        self._print(what)

    def iterated(self) -> None:
        """One more iteration of it is done."""
        self._n_iterations += 1
        if time.perf_counter() - self._printed > _SECONDS_BETWEEN:
            self._print(f"{self._what}, iteration {self._n_iterations}")

    def _print(self, what: str) -> None:
        self._printed = time.perf_counter()
        if self.is_wanted:
            print(f"[{self._name}] {self._printed - self._started:.2f} s: {what}", flush=True)


def is_interactive() -> bool:
    """Whether a person is at a prompt, in a notebook, or at a command that reads on."""
    return hasattr(sys, "ps1") or keeps_what_is_found()
