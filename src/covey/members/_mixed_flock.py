"""Flocks of several kinds of members: linear groups beside trees, boosting, kernels, neighbors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from covey import _state as stored
from covey._blocks import finite, in_blocks, take_rows
from covey._core.search.plan import Watch
from covey._core.search.rows import rung_sizes
from covey._models import weight_parameters
from covey._scoring import make_scorer
from covey._state import equal, refuse
from covey._validation import check_choice, check_number
from covey.fusers import Fuser, Mean, Predictions
from covey.fusers._outputs import gather, member_output, member_values
from covey.members._comparison import SHARE_OF_SEARCH, Comparison
from covey.members._ensemble import Ensemble
from covey.members._held_out import HeldOut
from covey.members._importance import importance_on_folds
from covey.members._member_kinds import KINDS, LINEAR, Table, check_kind, made
from covey.members._mixed_views import (
    member_importances,
    mixed_decisions,
    mixed_importances,
    mixed_summary,
    mixed_table,
)
from covey.members._mixing import Clock, Library
from covey.members._roster import Roster, is_dropped, kept
from covey.members._searched_flock import LinearMembers, Progress, SearchedFlock
from covey.members._stored import check_member, try_row
from covey.members._training_rows import TrainingRows

# The share of a time limit after which no linear members are begun, where other kinds are to be
# compared, too.
_SHARE_OF_LINEAR = 0.4
# Rows that are farther out than this count as this far.
_FARTHEST = 1e30
# How many rows show what is typical, and how much features matter.
_N_TYPICAL, _N_EXAMPLES = 10_000, 100
# Numbers that are looked at at once.
_NUMBERS_AT_ONCE = 1 << 22
# No typical row, and no example, is farther out.
_LARGEST_ROW = 1e100
# What only a fit of linear members alone sets, and what only one of several kinds does.
_OF_LINEAR = (
    "member_coef_",
    "member_intercept_",
    "support_",
    "basis_",
    "n_iter_",
    "history_",
    "group_of_",
    "group_weights_",
    "gate_support_",
    "n_terms_",
    "_column_mean",
    "_column_scale",
    "_member_shares",
    "_member_means",
)
_OF_MIXED = ("named_estimators_", "weights_", "kind_", "_typical", "_examples", "_is_sparse")


class MixedMembers:
    """What files hold of a flock of K members of several kinds, on N examples of D columns."""

    _usable: stored.OrAbsent(stored.Flags("D"))
    mean_: stored.OrAbsent(stored.Array("D"))
    scale_: stored.OrAbsent(stored.Array("D", low=1e-200))
    named_estimators_: stored.Named("K", make=Bunch)
    weights_: stored.Share("K")
    cv_results_: stored.Columns()
    _typical: stored.Array("D", -_LARGEST_ROW, _LARGEST_ROW)
    _examples: stored.Array("N D", -_LARGEST_ROW, _LARGEST_ROW, fewest=1)
    _is_sparse: stored.Flag()


class MixedFlock(SearchedFlock):
    """What `FlockClassifier` and `FlockRegressor` share where members may be of several kinds.

    If all are linear, a flock is what `SearchedFlock` makes of it. Else the linear ones are a
    flock of their own, ``named_estimators_["linear"]``, and one member among others.
    """

    members: stored.Parameter(members=True)
    _members: stored.Either(
        {"linear": LinearMembers, "mixed": MixedMembers},
        lambda flock: "mixed" if flock._is_mixed() else "linear",
    )

    @property
    def _roster(self) -> Roster:
        return Roster(self, self._models, "members", KINDS)

    # -- what files hold ----------------------------------------------------------------------

    def _restored(self) -> None:
        self._grown = []
        if not self._is_mixed():
            self.n_estimators_ = len(self.member_coef_)
            self._ranges = self.basis_.seen
            self._check_width("mean", len(self.mean_))
            return
        self._check_width("typical", len(self._typical))
        scaled = [hasattr(self, name) for name in ("_usable", "mean_", "scale_")]
        refuse("scale", "is missing, or belongs to nothing.", len(set(scaled)) == 1)
        for name, member in self.named_estimators_.items():
            self._check_read(name, member)
        self.n_estimators_ = len(self.named_estimators_)
        self.kind_ = "probability" if self._classifies else "value"
        self.fuser_ = Mean(weights=self.weights_)
        try_row(self)

    def _check_read(self, name: str, member: Any) -> None:
        """Refuse a member of a file that is given other columns, or predicts other classes."""
        if name != LINEAR:
            check_member(self, member, len(self._typical), self._column_names())
            return
        linear = type(member) is type(self) and hasattr(member, "basis_")
        refuse("members", "has another member as the linear one.", linear)
        same = equal(self.preparation_, member.preparation_)
        refuse("members", "has linear members that see other columns.", same)
        check_member(self, member, self.n_features_in_)
        same = not self._classifies or np.array_equal(member.classes_, self.classes_)
        refuse("members", "has a member of other classes.", same)

    # -- parameters ------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._wanted()
        self._scorer()
        if self.time_limit is not None:
            check_number(self.time_limit, "time_limit", low=0, closed="neither")
        if self.n_jobs is not None:
            check_number(self.n_jobs, "n_jobs", whole=True)
            if self.n_jobs == 0:
                raise ValueError("n_jobs must be a number of threads, -1 for all or None, got 0.")

    def _scorer(self) -> Any:
        """What takes the place of the loss, as scikit-learn calls it; None: nothing."""
        return make_scorer(self.scoring)

    def _wanted(self) -> dict[str, Any]:
        """The members by name: kinds, or models that a user gave."""
        members = self.members
        if members is None:
            # Who limits what is to be read wants members that can be read.
            limited = self._is_limited() or self.max_features is not None
            members = "mixed" if self.effort == "best" and not limited else LINEAR
        if isinstance(members, str):
            check_choice(members, "members", ("mixed", *KINDS))
            return {kind: kind for kind in (KINDS if members == "mixed" else [members])}
        self._check_names()
        wanted = dict(kept(self._roster.checked()))
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
        if not isinstance(self.members, list | tuple):
            raise ValueError(
                "members must be 'linear', 'mixed', or a list of estimators, (name, estimator) "
                f"pairs and names of kinds ({kinds}), got {self.members!r}."
            )
        for name, member in self._roster.entries():
            if isinstance(member, str) and not is_dropped(member) and member not in KINDS:
                raise ValueError(
                    f"members has {member!r} as the member {name!r}; in a list, a text is one of "
                    f"{kinds}, or 'drop' beside a name."
                )

    def _is_mixed(self) -> bool:
        """Whether this fitted flock has members of several kinds."""
        return "named_estimators_" in self.__dict__

    # -- fit -------------------------------------------------------------------------------

    def _compares(self) -> bool:
        return super()._compares() or "_clock_of_all" in self.__dict__

    def _progress(self, rows: TrainingRows, context: Any, given: dict[str, Any]) -> Watch:
        clock, share = getattr(self, "_clock_of_all", (Clock(self.time_limit), SHARE_OF_SEARCH))
        watch = super()._progress(rows, context, given)
        says = Progress(type(self).__name__, bool(self.verbose))

        def is_late() -> bool:
            if not self._is_late(clock, share):
                return False
            says.begin("the time for linear members is over: no more are tried")
            return True

        # Who interrupts the search for linear members wants no other kinds either.
        return replace(watch, is_late=is_late, on_stop=clock.stop)

    def _is_late(self, clock: Clock, share: float) -> bool:
        """Whether candidates are begun no more; as it was found in the fit that is continued."""
        return self._as_before(clock.is_late(share))

    def _as_before(self, is_late: bool) -> bool:
        """What the clock says, or said in the fit that is continued."""
        if self._journal is None or self.time_limit is None:
            return is_late
        task = self._journal.begin()
        if task.result is None:
            task.finish({"is_late": np.array(is_late)})
            return is_late
        return bool(task.result["is_late"])

    def _fit_rows(
        self, rows: TrainingRows, fuser: Fuser, context: Any, given: dict[str, Any]
    ) -> Fuser:
        for name in (
            *_OF_LINEAR,
            *_OF_MIXED,
            "cv_results_",
            "out_of_fold_",
            "readable_",
            "calibration_",
        ):
            self.__dict__.pop(name, None)
        wanted = self._wanted()
        if self.members is None and not rows.keeps_folds:
            wanted = {LINEAR: LINEAR}  # other kinds cannot be fitted to blocks of rows
        if list(wanted) == [LINEAR]:
            found = super()._fit_rows(rows, fuser, context, given)
            if "_compared" in self.__dict__:
                held_out, _, flocks = self.__dict__.pop("_compared")
                self._keep_importance(rows, held_out, {LINEAR: flocks})
            return found
        if not rows.keeps_folds:
            raise ValueError(
                f"members={self.members!r} needs X in memory, but X is a Dask collection; use "
                "members='linear', or X.compute()."
            )
        return self._fit_mixed(rows, wanted, fuser, context, given)

    def _fit_mixed(
        self,
        rows: TrainingRows,
        wanted: dict[str, Any],
        fuser: Fuser,
        context: Any,
        given: dict[str, Any],
    ) -> Fuser:
        if self._classifies:
            for name in ("mean_", "scale_", "_usable"):
                self.__dict__.pop(name, None)
        self._is_sparse = hasattr(rows.X, "tocsr")
        everything = self.members in (None, "mixed")
        table = self._described(rows, rows.weight)
        for name, kind in () if everything else wanted.items():
            check_kind(kind, table)
            if isinstance(kind, str):
                continue
            model = made(kind, table)  # which refuses what cannot be copied
            if table.is_weighted:
                weight_parameters(model, name, rows.weight)
        clock = Clock(self.time_limit)
        says = Progress(type(self).__name__, bool(self.verbose))
        linear, flocks = None, []
        if LINEAR in wanted:
            linear = self._linear_flock(clock)
            linear.fuser_ = SearchedFlock._fit_rows(linear, rows, fuser, context, given)
            held_out, predicted, flocks = linear.__dict__.pop("_compared")
            library = self._library(rows, linear._in_repeats(held_out, rows))
            library.add(LINEAR, predicted, clock.seconds())
            if says.is_wanted:
                says.begin(library.told(LINEAR))
            callbacks = [name for name in vars(linear) if "callback" in name]  # those of this fit
            for name in ("_clock_of_all", "_journal", "_grown", "_is_sparse", *callbacks):
                linear.__dict__.pop(name, None)
        else:
            library = self._library(rows, self._shared_folds(rows))
        held_out = library.held_out
        table = self._described(rows, held_out.weight, min(len(one) for one, _ in held_out.folds))
        comparison = Comparison(self, rows, library, clock, says)
        comparison.run(wanted, table, as_far_as_they_suit=everything)
        shares = comparison.weights()
        kept = [name for name, share in zip(library.names, shares, strict=True) if share > 0]
        says.begin("what is selected, on all rows: " + ", ".join(kept))
        members = [linear if name == LINEAR else comparison.fitted(name) for name in kept]
        self._keep_members(library, shares, dict(zip(kept, members, strict=True)))
        self._keep_calibration(rows, held_out, self._keep_predictions(library, kept))
        self._keep_typical(rows)
        fitted = {LINEAR: flocks} | comparison.on_folds
        self._keep_importance(rows, held_out, {name: fitted.get(name, []) for name in kept})
        return Mean(weights=self.weights_)

    def _keep_importance(
        self, rows: TrainingRows, held_out: HeldOut, models: dict[str, list[Any]]
    ) -> None:
        """Measure what columns are worth by the models of the folds, if they are known."""
        if all(len(found) == len(held_out.folds) for found in models.values()):
            weights = self.weights_ if self._is_mixed() else np.ones(1)
            self._importance_of_columns = importance_on_folds(
                self, rows, held_out, models, weights
            )

    def _keep_members(self, library: Library, shares: np.ndarray, members: dict[str, Any]) -> None:
        self.cv_results_ = {
            "member": np.array(library.names),
            self._target.task.loss_name: library.losses(),
            "weight": shares,
            "seconds": np.array(list(library.seconds.values())),
        }
        if self.scoring is not None:
            self.cv_results_["score"] = library.scores()
        self.named_estimators_ = Bunch()
        self.named_estimators_.update(members)
        self.weights_ = shares[shares > 0]
        self.n_estimators_ = len(members)
        self.kind_ = "probability" if self._classifies else "value"

    def _linear_flock(self, clock: Clock) -> Any:
        """The linear members as a flock of their own, on the same rows and with the same seed."""
        parameters = self.get_params(deep=False)
        linear = type(self)(**parameters)
        linear.set_params(members=LINEAR, checkpoint=None)
        if self.effort == "best":
            # More and larger groups take several times as long, and gain nothing.
            linear.set_params(effort="balanced")
        state = {name: x for name, x in vars(self).items() if name not in parameters}
        linear.__dict__.update(state)
        linear._clock_of_all = clock, _SHARE_OF_LINEAR
        return linear

    def _shared_folds(self, rows: TrainingRows) -> HeldOut:
        """The folds where no search makes them."""
        sizes = rung_sizes(rows.n_weighted())
        if not sizes:
            folds = HeldOut.counted(self._folds(rows, self._n_repeats(rows)), rows.weight)
            return self._in_repeats(folds, rows)
        return rows.held_out_sample(sizes[-1], self._seed, self._rung_folds(rows))

    def _in_repeats(self, held_out: HeldOut, rows: TrainingRows) -> HeldOut:
        """Folds that know how often they were drawn; those that a user gave count as once."""
        drawn = rows.draws_folds(self.cv) and not rung_sizes(rows.n_weighted())
        return replace(held_out, n_repeats=self._n_repeats(rows) if drawn else 1)

    def _library(self, rows: TrainingRows, held_out: HeldOut) -> Library:
        truth, scorer, X = rows.y[held_out.rows], self._scorer(), None
        if scorer is not None:
            X = self._as_given(take_rows(rows.X, held_out.rows), "scoring")
        if self._classifies:
            codes = np.searchsorted(self.classes_, truth)
            return Library(held_out, codes, self.classes_, None, scorer, X)

        def losses(numbers: np.ndarray) -> np.ndarray:
            known = truth[: numbers.shape[-1]]
            return self._value_loss.value((known - numbers) / self.y_scale_)

        return Library(held_out, truth, None, losses, scorer, X)

    def _described(
        self, rows: TrainingRows, weight: np.ndarray, n_fitted: int | None = None
    ) -> Table:
        """What kinds must know of a table whose rows count by their weight."""
        return Table(
            n_rows=rows.n_weighted(),
            n_fitted=rows.n_weighted() if n_fitted is None else n_fitted,
            n_smallest=int(rows.class_counts[rows.class_counts > 0].min()),
            is_sparse=hasattr(rows.X, "tocsr"),
            is_weighted=bool(np.ptp(weight[weight > 0]) > 0),
            seed=self._seed,
            n_features=rows.n_features,
            y_scale=None if self._classifies else float(self.y_scale_),
            loss=getattr(self, "loss", "log"),
            quantile=getattr(self, "quantile", 0.5),
        )

    def _keep_predictions(self, library: Library, kept: list[str]) -> np.ndarray:
        """Keep what is predicted of rows held out; it is returned fold by fold."""
        members = np.stack([library.predicted[name] for name in kept], axis=1)
        fused = self._bounded(np.tensordot(self.weights_, members, axes=(0, 1)))
        numbers, means = library.held_out.by_row(fused)
        _, members = library.held_out.by_row(members)
        self.out_of_fold_ = Bunch(
            rows=numbers,
            predictions=means,
            members=members,
            importance=np.tile(self.weights_, (len(numbers), 1)),
        )
        return fused

    def _keep_typical(self, rows: TrainingRows) -> None:
        """Keep what is typical of the rows: explanations compare a row with it.

        It fills gaps of new rows, too, as means do in a flock of linear members.
        """
        for name in ("_means", "_ranges"):
            self.__dict__.pop(name, None)
        sample = take_rows(rows.X, _spread(np.flatnonzero(rows.weight), _N_TYPICAL))
        n_features = rows.n_features
        if hasattr(sample, "tocsc"):
            # Some columns at a time: all of them may not fit into memory.
            columns, at_once = sample.tocsc(), max(1, _NUMBERS_AT_ONCE // sample.shape[0])
            parts = (columns[:, k : k + at_once] for k in range(0, n_features, at_once))
            self._typical = np.concatenate([np.median(part.toarray(), axis=0) for part in parts])
        else:
            self._typical = np.median(sample, axis=0)
        fewer = min(_N_EXAMPLES, max(1, _NUMBERS_AT_ONCE // n_features))
        examples = take_rows(sample, _spread(np.arange(sample.shape[0]), fewer))
        self._examples = examples.toarray() if hasattr(examples, "tocsr") else examples

    # -- predict ---------------------------------------------------------------------------

    def _as_given(self, X: Any, name: str) -> Any:
        """Rows as a member was fitted on them; models that a user gave may read names."""
        if hasattr(X, "tocsr") and not self._is_sparse:
            X = X.toarray()  # members that were fitted to dense rows take no others
        if name in KINDS:
            return _within_reach(X)
        if not hasattr(self, "feature_names_in_") or hasattr(X, "tocsr"):
            return X
        names = self._column_names()
        try:
            import pandas as pd
        except ModuleNotFoundError:
            return X  # names come from another kind of frames, and nobody can be given them
        return pd.DataFrame(X, columns=names)

    def _filling(self) -> np.ndarray:
        return self._typical if self._is_mixed() else super()._filling()

    def _member_prediction(self, name: str, member: Any, X: Any) -> np.ndarray:
        """What a fitted member predicts: (n, C), or (n,) numbers."""
        if not self._classifies:
            return _without_gaps(member_values([member], [name], X)[:, 0], name)
        if not hasattr(member, "predict_proba"):
            raise ValueError(
                f"The member {name!r} has no predict_proba, which members of a flock need; wrap "
                "it in CalibratedClassifierCV."
            )
        output = member_output(member, X, self.classes_, "probability", name)
        _without_gaps(output[0], name)
        return gather([output], self.classes_, [name], "probability").values[:, 0]

    def _each_prediction(self, X: Any) -> Iterator[np.ndarray]:
        for name, member in self.named_estimators_.items():
            if name == LINEAR:
                yield member._by_blocks(member._fused, X)
            else:
                yield self._member_prediction(name, member, self._as_given(X, name))

    def _predictions(self, X: Any) -> Predictions:
        if not self._is_mixed():
            return super()._predictions(X)
        values = np.stack(list(self._each_prediction(X)), axis=1)
        if not self._classifies:
            return Predictions(values, names=self._names(), kind="value")
        return Predictions(values, self.classes_, names=self._names())

    def _fused(self, X: Any) -> np.ndarray:
        if not self._is_mixed():
            return super()._fused(X)
        return Ensemble._fused(self, X)

    def _fused_log(self, X: Any) -> np.ndarray:
        if not self._is_mixed():
            return super()._fused_log(X)
        return self.fuser_.fuse_log(self._predictions(X), X)

    def _by_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        # Members have threads of their own.
        if self._is_mixed():
            return in_blocks(finite(function), X)
        return super()._by_blocks(function, X)

    def _columns_looked_at(self) -> np.ndarray:
        if self._is_mixed():
            return Ensemble._columns_looked_at(self)
        return super()._columns_looked_at()

    def _names(self) -> list[str]:
        return list(self.named_estimators_) if self._is_mixed() else super()._names()

    def _is_linear(self) -> bool:
        return not self._is_mixed() and super()._is_linear()

    # -- attributes and explanations -------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The members, each a fitted estimator."""
        check_is_fitted(self, "fuser_")
        return list(self.named_estimators_.values()) if self._is_mixed() else super().estimators_

    @property
    def coefficient_sizes_(self) -> np.ndarray:
        """See `LinearFlock.coefficient_sizes_`; members of other kinds have their own sizes."""
        check_is_fitted(self, "fuser_")
        return mixed_importances(self) if self._is_mixed() else super().coefficient_sizes_

    @available_if(lambda flock: flock._is_mixed())
    def _member_importances(self) -> np.ndarray:
        """How much each feature matters to each member, (K, n_features)."""
        return member_importances(self)

    def _decisions(
        self, X: Any, top: int, names: Any, shares: Any, max_members: int | None
    ) -> list[dict[str, Any]]:
        if not self._is_mixed():
            return super()._decisions(X, top, names, shares, max_members)
        how = {"top": top, "names": names, "shares": shares, "max_members": max_members}
        return mixed_decisions(self, X, **how)

    def _summary(self, origins: Any = None) -> str:
        """See `LinearFlock.summary`; members of other kinds have a line each."""
        return mixed_summary(self, origins) if self._is_mixed() else super()._summary(origins)

    def _table(self, origins: Any = None) -> str:
        return mixed_table(self) if self._is_mixed() else super()._table(origins)

    def _as_one(self) -> tuple[np.ndarray, np.ndarray]:
        if self._is_mixed():
            raise AttributeError(self._why_not_linear())
        return super()._as_one()

    def collapse(self) -> Any:
        """See `LinearFlock.collapse`; members of several kinds cannot."""
        check_is_fitted(self, "fuser_")
        if self._is_mixed():
            raise ValueError(self._why_not_linear())
        return super().collapse()

    def _why_not_linear(self) -> str:
        return (
            f"This {type(self).__name__} has members of several kinds and is not one linear "
            "model; see named_estimators_."
        )


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, from the first to the last."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def _within_reach(X: Any) -> Any:
    """Rows no farther out than trees, which compute in single precision, and kernels can tell."""
    numbers = X.data if hasattr(X, "tocsr") else X
    if np.abs(numbers).max(initial=0.0) <= _FARTHEST:
        return X
    X = X.copy()
    numbers = X.data if hasattr(X, "tocsr") else X
    np.clip(numbers, -_FARTHEST, _FARTHEST, out=numbers)
    return X


def _without_gaps(predicted: np.ndarray, name: str) -> np.ndarray:
    """Refuse NaN, which would count as a prediction."""
    lost = np.flatnonzero(np.isnan(predicted).reshape(len(predicted), -1).any(axis=1))
    if len(lost):
        raise ValueError(
            f"The member {name!r} predicts NaN for row {lost[0]} of the {len(predicted)} it is "
            "given; members of a flock must predict every row, so leave it out or mend it."
        )
    return predicted
