"""The fit of a flock by a search: linear members, and other kinds beside them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covey._blocks import take_rows
from covey._core.quantiles import effective_weights
from covey._core.search.plan import EFFORTS, Effort
from covey._core.search.rows import rung_sizes
from covey._folds import check_cv_parameter
from covey._models import weight_parameters
from covey._scoring import make_scorer
from covey._validation import check_choice, check_number
from covey.members._calibrated import OUT_OF_FOLD
from covey.members._comparison import SHARE_OF_SEARCH, KindComparison
from covey.members._constraints import check_constraints, is_constrained
from covey.members._held_out import HeldOutRows
from covey.members._importance import held_out_sample
from covey.members._linear_search import (
    LinearSearch,
    Progress,
    folds_of_fit,
    is_limited,
    repeats_of,
    rung_folds,
)
from covey.members._member_kinds import KINDS, LINEAR, TableFacts, as_given, check_kind, made
from covey.members._mixed_model import MixedModel
from covey.members._mixing import Clock, Library
from covey.members._prepared_fit import PreparedFit
from covey.members._roster import Roster, is_dropped, kept
from covey.members._rows_in_memory import InMemoryRows
from covey.members._targets import Numbers

# The share of a time limit after which no linear members are begun, if other kinds are to be
# compared, too.
_SHARE_OF_LINEAR = 0.4


class Searching:
    """A fit of a flock by a search.

    If all members are linear, they are its model. Otherwise they are one model among others.
    """

    n_tasks = None  # the number of subtasks that callbacks can expect is unknown

    def __init__(self, flock: Any) -> None:
        self._flock = flock
        self.roster = Roster(flock, flock._models, "members", KINDS)

    # -- parameters ------------------------------------------------------------------------

    def check_parameters(self, groups: Any = None) -> None:
        """Refuse parameters that make no sense, before any data are read."""
        flock = self._flock
        check_number(flock.n_estimators, "n_estimators", low=1, whole=True)
        if not flock._classifies:
            Numbers.check_loss(flock)
        check_choice(flock.effort, "effort", EFFORTS)
        check_number(flock.alpha, "alpha", low=0, closed="neither", or_none=True)
        if isinstance(flock.max_features, Integral):
            check_number(flock.max_features, "max_features", whole=True, low=1)
        elif flock.max_features is not None:
            check_number(flock.max_features, "max_features", low=0, high=1, closed="right")
        if flock.averaged not in ("auto", True, False):
            raise ValueError(f"averaged must be 'auto', True or False, got {flock.averaged!r}.")
        for name in ("max_members", "max_terms"):
            most = check_number(getattr(flock, name), name, whole=True, low=1, or_none=True)
            if flock.averaged is True and most is not None:
                raise ValueError(
                    f"{name}={most} bounds one flock, and averaged=True makes an "
                    "average of several; leave one of the two out."
                )
        check_cv_parameter(flock.cv)
        check_constraints(flock, list(self.wanted()) == [LINEAR])
        make_scorer(flock.scoring)
        check_number(flock.time_limit, "time_limit", low=0, closed="neither", or_none=True)
        if check_number(flock.n_jobs, "n_jobs", whole=True, or_none=True) == 0:
            raise ValueError("n_jobs must be a number of threads, -1 for all or None, got 0.")

    def wanted(self) -> dict[str, Any]:
        """Return the members by name: kinds, or models of the user's."""
        flock, members = self._flock, self._flock.members
        if members is None:
            # A user who limits what there is to read wants members that can be read.
            limited = is_limited(flock) or is_constrained(flock)
            members = "mixed" if flock.effort == "best" and not limited else LINEAR
        if isinstance(members, str):
            check_choice(members, "members", ("mixed", *KINDS))
            return {kind: kind for kind in (KINDS if members == "mixed" else [members])}
        self._check_names()
        wanted = dict(kept(self.roster.checked()))
        for name, member in wanted.items():
            if (name in KINDS or isinstance(member, str)) and member != name:
                raise ValueError(
                    f"The member {name!r} is {member!r}; the kinds {', '.join(KINDS)} are given "
                    "by these names, once each, and no other member has the name of a kind."
                )
        return wanted

    def _check_names(self) -> None:
        """Refuse text that names no kind, or that is not a list, and say which kinds there are."""
        kinds = ", ".join(map(repr, KINDS))
        members = self._flock.members
        if not isinstance(members, list | tuple):
            raise ValueError(
                "members must be 'linear', 'mixed', or a list of estimators, (name, estimator) "
                f"pairs and names of kinds ({kinds}), got {members!r}."
            )
        for name, member in self.roster.entries():
            if isinstance(member, str) and not is_dropped(member) and member not in KINDS:
                raise ValueError(
                    f"members has {member!r} as the member {name!r}; in a list, a text is one of "
                    f"{kinds}, or 'drop' beside a name."
                )

    # -- fit -------------------------------------------------------------------------------

    def has_own_threads(self, rows: InMemoryRows) -> bool:
        """Return True: long tables are computed in blocks of rows, side by side."""
        return True

    def run(self, fit: PreparedFit, context: Any, given: dict[str, Any]) -> None:
        """Find the members and the fuser."""
        flock, wanted = self._flock, self.wanted()
        if flock.members is None and not fit.rows.keeps_folds:
            wanted = {LINEAR: LINEAR}  # other kinds cannot be fitted to blocks of rows
        clock = Clock(flock.time_limit, fit.journal)
        if list(wanted) == [LINEAR]:
            search = LinearSearch(fit, clock, flock.effort, compares=flock.effort != "fast")
            flock.model_, found = search.run(SHARE_OF_SEARCH, context, given)
            if found is not None:
                self._keep_out_of_fold(fit, found.held_out, found.predicted)
                flock.readable_ = found.readable
                on_folds = {LINEAR: found.models}
                self._keep_importance(fit, found.held_out, on_folds, np.ones(1))
            return
        if not fit.rows.keeps_folds:
            raise ValueError(
                f"members={flock.members!r} needs X in memory, but X is a Dask collection; use "
                "members='linear', or X.compute()."
            )
        self._fit_mixed(fit, wanted, clock, context, given)

    def _fit_mixed(
        self,
        fit: PreparedFit,
        wanted: dict[str, Any],
        clock: Clock,
        context: Any,
        given: dict[str, Any],
    ) -> None:
        flock, rows = self._flock, fit.rows
        everything = flock.members in (None, "mixed")
        table = _described(fit, rows.weight)
        for name, kind in () if everything else wanted.items():
            check_kind(kind, table)
            if isinstance(kind, str):
                continue
            model = made(kind, table)  # which refuses models that cannot be copied
            if table.is_weighted:
                weight_parameters(model, name, rows.weight)
        says = Progress(type(flock).__name__, bool(flock.verbose))
        models, fitted = Bunch(), {}
        if LINEAR in wanted:
            # More and larger groups would take several times as long, and gain nothing.
            effort: Effort = "balanced" if flock.effort == "best" else flock.effort
            search = LinearSearch(fit, clock, effort, compares=True)
            models[LINEAR], found = search.run(_SHARE_OF_LINEAR, context, given)
            assert found is not None
            fitted[LINEAR] = found.models
            library = self._library(fit, _in_repeats(fit, found.held_out, effort))
            library.add(LINEAR, found.predicted, clock.seconds())
            if says.is_wanted:
                says.begin(library.told(LINEAR))
        else:
            library = self._library(fit, _shared_folds(fit))
        held_out = library.held_out
        table = _described(fit, held_out.weight, min(len(one) for one, _ in held_out.folds))
        comparison = KindComparison(fit, library, clock, says)
        comparison.run(wanted, table, as_far_as_they_suit=everything)
        shares = comparison.weights()
        names = [name for name, share in zip(library.names, shares, strict=True) if share > 0]
        says.begin("what is selected, on all rows: " + ", ".join(names))
        kept, weights = Bunch(), shares[shares > 0]
        for name in names:
            kept[name] = models[name] if name in models else comparison.fitted(name)
        candidates = {
            "member": np.array(library.names),
            fit.target.task.loss_name: library.losses(),
            "weight": shares,
            "seconds": np.array(list(library.seconds.values())),
        }
        if flock.scoring is not None:
            candidates["score"] = library.scores()
        flock.model_ = MixedModel.of(fit, kept, weights, candidates)
        members = np.stack([library.predicted[name] for name in names], axis=1)
        predicted = fit.target.bounded(np.tensordot(weights, members, axes=(0, 1)))
        self._keep_out_of_fold(fit, held_out, predicted)
        _, members = held_out.by_row(members)
        importance = np.tile(weights, (len(members), 1))
        flock.out_of_fold_.update(members=members, importance=importance)
        fitted |= comparison.on_folds
        fitted = {name: fitted.get(name, []) for name in names}
        self._keep_importance(fit, held_out, fitted, weights)

    def _keep_out_of_fold(
        self, fit: PreparedFit, held_out: HeldOutRows, predicted: np.ndarray
    ) -> None:
        """Keep the predictions of rows held out, and their errors.

        If a row was held out several times, each time counts for a part of it: a mean of the
        predictions would be closer to the truth than a single flock is.
        """
        rows, target = fit.rows, fit.target
        numbers, means = held_out.by_row(predicted)
        self._flock.out_of_fold_ = Bunch(rows=numbers, predictions=means)
        _, position, count = np.unique(held_out.rows, return_inverse=True, return_counts=True)
        weight, truth = held_out.weight[numbers], rows.y[numbers]
        if not fit.is_numeric:
            truth = np.searchsorted(target.classes, truth)
            if rows.class_factors is not None:
                # Costs of classes are for the training; the guarantee is for rows as they come.
                weight = weight / rows.class_factors[truth]
        weight = (effective_weights(weight) / count)[position]
        scored = OUT_OF_FOLD, truth[position], predicted, weight
        self._flock.calibration_ = target.calibration.of(*scored)

    def _keep_importance(
        self,
        fit: PreparedFit,
        held_out: HeldOutRows,
        models: dict[str, list[Any]],
        weights: np.ndarray,
    ) -> None:
        """Measure the importance of columns by the models of the folds, if they are known."""
        if all(len(found) == len(held_out.folds) for found in models.values()):
            found = held_out_sample(fit, held_out, models, weights)
            # Linear models of the folds are small; others are not kept until somebody reads it.
            is_small = list(models) == [LINEAR]
            self._flock._importance_of_columns = found if is_small else found.measured(self._flock)

    def _library(self, fit: PreparedFit, held_out: HeldOutRows) -> Library:
        rows, target = fit.rows, fit.target
        truth, scorer, X = rows.y[held_out.rows], make_scorer(fit.flock.scoring), None
        if scorer is not None:
            X = as_given(fit.table.given_columns, take_rows(rows.X, held_out.rows), "scoring")
        if not fit.is_numeric:
            codes = np.searchsorted(target.classes, truth)
            return Library(held_out, codes, target.classes, None, scorer, X)

        def losses(numbers: np.ndarray) -> np.ndarray:
            known = truth[: numbers.shape[-1]]
            return target.losses(known, numbers)

        return Library(held_out, truth, None, losses, scorer, X)


def _shared_folds(fit: PreparedFit) -> HeldOutRows:
    """Return the folds where no search makes them."""
    rows, effort = fit.rows, fit.flock.effort
    sizes = rung_sizes(rows.n_weighted())
    if sizes:
        return rows.held_out_sample(sizes[-1], fit.seed, rung_folds(fit))
    folds = folds_of_fit(fit, repeats_of(effort, rows.n_weighted()))
    return _in_repeats(fit, HeldOutRows.counted(folds, rows.weight), effort)


def _in_repeats(fit: PreparedFit, held_out: HeldOutRows, effort: str) -> HeldOutRows:
    """Note how often folds were drawn; those that a user gave count as once."""
    n_rows = fit.rows.n_weighted()
    drawn = fit.rows.draws_folds(fit.flock.cv) and not rung_sizes(n_rows)
    return replace(held_out, n_repeats=repeats_of(effort, n_rows) if drawn else 1)


def _described(fit: PreparedFit, weight: np.ndarray, n_fitted: int | None = None) -> TableFacts:
    """Return the facts that kinds need about a table whose rows count by their weight."""
    flock, rows = fit.flock, fit.rows
    return TableFacts(
        n_rows=rows.n_weighted(),
        n_fitted=rows.n_weighted() if n_fitted is None else n_fitted,
        n_smallest=int(rows.class_counts[rows.class_counts > 0].min()),
        is_sparse=hasattr(rows.X, "tocsr"),
        is_weighted=bool(np.ptp(weight[weight > 0]) > 0),
        seed=fit.seed,
        n_features=rows.n_features,
        y_scale=float(fit.target.unit) if fit.is_numeric else None,
        loss=getattr(flock, "loss", "log"),
        quantile=getattr(flock, "quantile", 0.5),
    )
