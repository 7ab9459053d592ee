"""How a flock is searched for: linear members, and other kinds beside them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covey._blocks import take_rows
from covey._core.search.plan import EFFORTS
from covey._core.search.rows import rung_sizes
from covey._folds import check_cv_parameter
from covey._models import weight_parameters
from covey._scoring import make_scorer
from covey._validation import check_choice, check_number
from covey.members._comparison import SHARE_OF_SEARCH, KindComparison
from covey.members._held_out import HeldOutRows
from covey.members._importance import importance_on_folds
from covey.members._linear_model import LinearModel
from covey.members._linear_search import (
    LinearSearch,
    Progress,
    calibration,
    folds_of_fit,
    n_repeats,
    rung_folds,
)
from covey.members._member_kinds import KINDS, LINEAR, TableFacts, as_given, check_kind, made
from covey.members._mixed_model import MixedModel
from covey.members._mixing import Clock, Library
from covey.members._roster import Roster, is_dropped, kept
from covey.members._rows_in_memory import InMemoryRows

# The share of a time limit after which no linear members are begun, where other kinds are to be
# compared, too.
_SHARE_OF_LINEAR = 0.4
# What linear members know of the table that a flock was fitted to.
_OF_TABLE = (
    *("n_features_in_", "feature_names_in_", "_target", "preparation_", "_seen_columns"),
    *("_seed", "_ranges", "_scaling"),
)


class Searching:
    """A fit of a flock by a search.

    If all members are linear, they are its model. Else the linear ones are a flock of their own,
    ``named_estimators_["linear"]``, and one member among others.
    """

    journal: Any = None
    n_tasks = None  # how many subtasks callbacks can expect is not known

    def __init__(self, flock: Any) -> None:
        self._flock = flock
        self.roster = Roster(flock, flock._models, "members", KINDS)

    def restored(self) -> None:
        """Refuse a flock of a file whose parts do not fit each other; make what is not in it."""
        flock, model = self._flock, self._flock.model_
        if not isinstance(model, LinearModel):
            model.check(flock)
            return
        flock._ranges, flock._scaling = model.basis.seen, model.scaling
        flock._columns.check_width("basis", model.basis.n_features)

    # -- parameters ------------------------------------------------------------------------

    def check_parameters(self, groups: Any = None) -> None:
        """Refuse parameters that make no sense, before any data is read."""
        flock = self._flock
        check_number(flock.n_estimators, "n_estimators", low=1, whole=True)
        if not flock._classifies:
            flock._kind_of_target.check_loss(flock)
        check_choice(flock.effort, "effort", EFFORTS)
        if flock.alpha is not None:
            check_number(flock.alpha, "alpha", low=0, closed="neither")
        for name in ("max_members", "max_terms"):
            if getattr(flock, name) is not None:
                check_number(getattr(flock, name), name, whole=True, low=1)
        if isinstance(flock.max_features, Integral):
            check_number(flock.max_features, "max_features", whole=True, low=1)
        elif flock.max_features is not None:
            check_number(flock.max_features, "max_features", low=0, high=1, closed="right")
        check_cv_parameter(flock.cv)
        self.wanted()
        make_scorer(flock.scoring)
        if flock.time_limit is not None:
            check_number(flock.time_limit, "time_limit", low=0, closed="neither")
        if flock.n_jobs is not None:
            check_number(flock.n_jobs, "n_jobs", whole=True)
            if flock.n_jobs == 0:
                raise ValueError("n_jobs must be a number of threads, -1 for all or None, got 0.")

    def wanted(self) -> dict[str, Any]:
        """Return the members by name: kinds, or models that a user gave."""
        flock, members = self._flock, self._flock.members
        if members is None:
            # Who limits what is to be read wants members that can be read.
            limits = (flock.max_terms, flock.max_members, flock.max_features)
            limited = any(limit is not None for limit in limits)
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
        """Refuse text that names no kind, or is no list at all, and say what there is."""
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
        """Return True: long tables are worked on in blocks of rows, side by side."""
        return True

    def run(self, rows: InMemoryRows, context: Any, given: dict[str, Any]) -> None:
        """Find the members and what fuses them."""
        flock, wanted = self._flock, self.wanted()
        if flock.members is None and not rows.keeps_folds:
            wanted = {LINEAR: LINEAR}  # other kinds cannot be fitted to blocks of rows
        clock = Clock(flock.time_limit, self.journal)
        if list(wanted) == [LINEAR]:
            search = LinearSearch(flock, rows, clock, compares=flock.effort != "fast")
            found = search.run(SHARE_OF_SEARCH, context, given)
            if found is not None:
                self._keep_importance(rows, found.held_out, {LINEAR: found.flocks}, np.ones(1))
            return
        if not rows.keeps_folds:
            raise ValueError(
                f"members={flock.members!r} needs X in memory, but X is a Dask collection; use "
                "members='linear', or X.compute()."
            )
        self._fit_mixed(rows, wanted, clock, context, given)

    def _fit_mixed(
        self,
        rows: InMemoryRows,
        wanted: dict[str, Any],
        clock: Clock,
        context: Any,
        given: dict[str, Any],
    ) -> None:
        flock = self._flock
        everything = flock.members in (None, "mixed")
        table = self._described(rows, rows.weight)
        for name, kind in () if everything else wanted.items():
            check_kind(kind, table)
            if isinstance(kind, str):
                continue
            model = made(kind, table)  # which refuses what cannot be copied
            if table.is_weighted:
                weight_parameters(model, name, rows.weight)
        says = Progress(type(flock).__name__, bool(flock.verbose))
        linear, flocks = None, []
        if LINEAR in wanted:
            linear = self._linear_flock()
            search = LinearSearch(linear, rows, clock, compares=True)
            found = search.run(_SHARE_OF_LINEAR, context, given)
            flocks = found.flocks
            library = self._library(rows, self._in_repeats(found.held_out, rows, linear))
            library.add(LINEAR, found.predicted, clock.seconds())
            if says.is_wanted:
                says.begin(library.told(LINEAR))
        else:
            library = self._library(rows, self._shared_folds(rows))
        held_out = library.held_out
        table = self._described(rows, held_out.weight, min(len(one) for one, _ in held_out.folds))
        comparison = KindComparison(flock, rows, library, clock, says)
        comparison.run(wanted, table, as_far_as_they_suit=everything)
        shares = comparison.weights()
        names = [name for name, share in zip(library.names, shares, strict=True) if share > 0]
        says.begin("what is selected, on all rows: " + ", ".join(names))
        members, weights = Bunch(), shares[shares > 0]
        for name in names:
            members[name] = linear if name == LINEAR else comparison.fitted(name)
        candidates = {
            "member": np.array(library.names),
            flock._target.task.loss_name: library.losses(),
            "weight": shares,
            "seconds": np.array(list(library.seconds.values())),
        }
        if flock.scoring is not None:
            candidates["score"] = library.scores()
        flock.model_ = MixedModel.of(
            rows,
            target=flock._target,
            columns=flock._columns.given_names(),
            members=members,
            weights=weights,
            candidates=candidates,
        )
        predicted = self._keep_predictions(library, names, weights)
        flock.calibration_ = calibration(flock, rows, held_out, predicted)
        for name in ("_scaling", "_ranges"):
            vars(flock).pop(name, None)  # the typical row takes their place
        fitted = {LINEAR: flocks} | comparison.on_folds
        fitted = {name: fitted.get(name, []) for name in names}
        self._keep_importance(rows, held_out, fitted, weights)

    def _keep_importance(
        self,
        rows: InMemoryRows,
        held_out: HeldOutRows,
        models: dict[str, list[Any]],
        weights: np.ndarray,
    ) -> None:
        """Measure what columns are worth by the models of the folds, if they are known."""
        if all(len(found) == len(held_out.folds) for found in models.values()):
            self._flock._importance_of_columns = importance_on_folds(
                self._flock, rows, held_out, models, weights
            )

    def _linear_flock(self) -> Any:
        """Return a flock for the linear members, on the same rows and with the same seed."""
        flock = self._flock
        linear = type(flock)(**flock.get_params(deep=False))
        # With more effort, more and larger groups take several times as long, and gain nothing.
        effort = "balanced" if flock.effort == "best" else flock.effort
        linear.set_params(members=LINEAR, checkpoint=None, effort=effort)
        for name in _OF_TABLE:
            if hasattr(flock, name):
                setattr(linear, name, getattr(flock, name))
        return linear

    def _shared_folds(self, rows: InMemoryRows) -> HeldOutRows:
        """Return the folds where no search makes them."""
        flock, sizes = self._flock, rung_sizes(rows.n_weighted())
        if not sizes:
            folds = folds_of_fit(flock, rows, self.journal, n_repeats(flock, rows))
            return self._in_repeats(HeldOutRows.counted(folds, rows.weight), rows, flock)
        return rows.held_out_sample(sizes[-1], flock._seed, rung_folds(flock, rows, self.journal))

    def _in_repeats(self, held_out: HeldOutRows, rows: InMemoryRows, flock: Any) -> HeldOutRows:
        """Say of folds how often they were drawn; those that a user gave count as once."""
        drawn = rows.draws_folds(flock.cv) and not rung_sizes(rows.n_weighted())
        return replace(held_out, n_repeats=n_repeats(flock, rows) if drawn else 1)

    def _library(self, rows: InMemoryRows, held_out: HeldOutRows) -> Library:
        flock = self._flock
        truth, scorer, X = rows.y[held_out.rows], make_scorer(flock.scoring), None
        if scorer is not None:
            X = as_given(flock._columns.given_names(), take_rows(rows.X, held_out.rows), "scoring")
        if flock._classifies:
            codes = np.searchsorted(flock.classes_, truth)
            return Library(held_out, codes, flock.classes_, None, scorer, X)

        def losses(numbers: np.ndarray) -> np.ndarray:
            known = truth[: numbers.shape[-1]]
            return flock._target.loss.value((known - numbers) / flock.y_scale_)

        return Library(held_out, truth, None, losses, scorer, X)

    def _described(
        self, rows: InMemoryRows, weight: np.ndarray, n_fitted: int | None = None
    ) -> TableFacts:
        """Return what kinds must know of a table whose rows count by their weight."""
        flock = self._flock
        return TableFacts(
            n_rows=rows.n_weighted(),
            n_fitted=rows.n_weighted() if n_fitted is None else n_fitted,
            n_smallest=int(rows.class_counts[rows.class_counts > 0].min()),
            is_sparse=hasattr(rows.X, "tocsr"),
            is_weighted=bool(np.ptp(weight[weight > 0]) > 0),
            seed=flock._seed,
            n_features=rows.n_features,
            y_scale=None if flock._classifies else float(flock.y_scale_),
            loss=getattr(flock, "loss", "log"),
            quantile=getattr(flock, "quantile", 0.5),
        )

    def _keep_predictions(
        self, library: Library, names: list[str], weights: np.ndarray
    ) -> np.ndarray:
        """Keep what is predicted of rows held out; it is returned fold by fold."""
        members = np.stack([library.predicted[name] for name in names], axis=1)
        fused = self._flock._target.bounded(np.tensordot(weights, members, axes=(0, 1)))
        numbers, means = library.held_out.by_row(fused)
        _, members = library.held_out.by_row(members)
        self._flock.out_of_fold_ = Bunch(
            rows=numbers,
            predictions=means,
            members=members,
            importance=np.tile(weights, (len(numbers), 1)),
        )
        return fused
