"""The base of all flocks: the fit over rows, the model that it finds, explanations."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import Bunch, check_random_state, estimator_html_repr
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from covey import __version__
from covey._blocks import by_blocks
from covey._callbacks import CallbackSupportMixin, with_callbacks
from covey._checkpoint import Journal
from covey._core.algorithm1.rows import DivergedError
from covey._core.blocks import own_threads
from covey._core.losses import POWERS
from covey._core.quantiles import effective_weights
from covey._decisions import costs_by_class, decided
from covey._devices import returned, to_numpy
from covey._state import AnyOf, OrAbsent, Record, Where, Whole, refuse
from covey._validation import check_number, check_sample_weight, one_fit_at_once
from covey.members._calibrated import (
    CONFIDENCE,
    GIVEN_ROWS,
    OUT_OF_FOLD,
    IntervalCalibration,
    SetCalibration,
)
from covey.members._constraints import constraints_in_words, is_constrained
from covey.members._corrections import Correction
from covey.members._ensemble import Ensemble, accepts_dask, of_classes, of_numbers
from covey.members._importance import MOST_KEPT, HeldOutSample, TrainingSample
from covey.members._linear_model import GatedModel, LinearModel
from covey.members._member import LinearMember, LinearRegressionMember
from covey.members._mixed_model import MixedModel
from covey.members._prepared_fit import PreparedFit
from covey.members._roster import Roster
from covey.members._rows_in_memory import InMemoryRows
from covey.members._targets import Classes, Numbers
from covey.tables import TablePreparation
from covey.tables._known_table import KnownTable

if TYPE_CHECKING:
    from covey.evaluation._scorecard import Scorecard

# The attributes that every fit sets, and that a continued fit keeps.
_OF_ONE_FIT = ("_importance_of_columns", "decision_", "calibration_", "out_of_fold_", "readable_")
_CONTINUED = ("model_", "_grown")


Part = TypeVar("Part")
_SETS, _INTERVALS = OrAbsent(Record(SetCalibration, "C")), OrAbsent(Record(IntervalCalibration))


class _PartOf(Generic[Part]):
    """An attribute of a fitted flock that is a part of its model, if that has it."""

    def __init__(self, path: str) -> None:
        self._of = attrgetter(f"model_.{path}")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, flock: Any, owner: type | None = None) -> Part:
        if flock is None:
            return self  # type: ignore[return-value]
        try:
            return self._of(flock)
        except AttributeError:
            raise AttributeError(f"This {type(flock).__name__} has no {self._name}.") from None

    def __set__(self, flock: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} is a part of model_, which is replaced as a whole.")


class _MaybeOf(_PartOf[Any]):
    """A part that a model may lack; scikit-learn sets some while a fit checks rows."""

    def __get__(self, flock: Any, owner: type | None = None) -> Any:
        known = {} if flock is None else vars(flock)
        found = known[self._name] if self._name in known else super().__get__(flock, owner)
        if found is None:
            raise AttributeError(f"This {type(flock).__name__} has no {self._name}.")
        return found

    def __set__(self, flock: Any, value: Any) -> None:
        vars(flock)[self._name] = value

    def __delete__(self, flock: Any) -> None:
        vars(flock)[self._name] = None


_ArrayOf, _ThingOf = _PartOf[np.ndarray], _PartOf[Any]


class Flock(CallbackSupportMixin, Ensemble):
    """An ensemble of members on feature subsets, for classes or for values.

    Its ``model_``, a `LinearModel` or a `MixedModel`, makes all predictions; ``_finder``, a
    `Growing` or a `Searching`, finds it.
    """

    _seed: Annotated[int, Whole(0, 2**31)]
    model_: Annotated[LinearModel | MixedModel, AnyOf(GatedModel, MixedModel, letters="C D F")]
    calibration_: Annotated[
        SetCalibration | IntervalCalibration, Where("_classifies", _SETS, _INTERVALS)
    ]

    n_features_in_ = _MaybeOf("table.n_features_in_")
    feature_names_in_ = _MaybeOf("table.feature_names_in_")
    _table, preparation_ = _ThingOf("table"), _ThingOf("table.preparation")
    _seen_columns = _ThingOf("table.seen")
    classes_, y_range_ = _ArrayOf("target.classes"), _ArrayOf("target.range")
    y_center_, y_scale_ = _PartOf[float]("target.center"), _PartOf[float]("target.scale")
    mean_, scale_ = _ArrayOf("scaling.mean"), _ArrayOf("scaling.scale")
    n_estimators_, fuser_ = _PartOf[int]("n_members"), _ThingOf("fuser")
    member_coef_, member_intercept_ = _ArrayOf("coef"), _ArrayOf("intercept")
    support_, gate_support_ = _ArrayOf("support"), _ArrayOf("gate_support")
    basis_, n_iter_, history_ = _ThingOf("basis"), _ArrayOf("n_iter"), _MaybeOf("history")
    group_of_, group_weights_ = _ArrayOf("group_of"), _ArrayOf("group_weights")
    n_terms_, cv_results_ = _PartOf[int]("n_terms"), _ThingOf("candidates")
    weights_ = _ArrayOf("weights")
    corrections_ = _PartOf[tuple[Correction, ...]]("corrections")
    # Other ensembles write these as methods; here they are the model's.
    _predictions, _names = _ThingOf("predictions"), _ThingOf("names")
    _fused, _fused_log = _ThingOf("fused"), _ThingOf("fused_log")
    _columns_looked_at = _ThingOf("columns")

    # Settings for which an estimator has no parameter.
    fuser: Any = "gate"
    learning_rate: Any = "auto"
    fit_intercept = scale_features = True
    costs: Any = None
    warm_start = False
    monotone, interactions = None, "all"

    @property
    def _roster(self) -> Roster | None:  # type: ignore[override]
        return self._finder(self).roster

    def _restored(self) -> None:
        own = self.model_.target.is_numeric != self._classifies
        refuse("model", "predicts another target.", own)
        refuse("model", "has no table.", self.model_.table is not None)
        getattr(self._finder(self), "restored", list)()

    @property
    def _sizes(self) -> dict[str, int]:
        """Return the lengths in files that are known beforehand."""
        return {} if self._classifies else {"C": 1}

    # -- fit -------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the members and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, or numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. A weight of 2 is the row given twice, except where folds are
            drawn, which may separate the two rows. (The penalties that ``alpha=None`` leaves to a
            regressor depend on how many rows have a weight.)
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one speaker: no fold of a search
            separates them.
        """
        with one_fit_at_once(self):
            return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        finder, kind = self._finder(self), Classes if self._classifies else Numbers
        finder.check_parameters(groups)
        known = getattr(self, "model_", None) if self.warm_start else None
        rows = self._open_rows(X, y, sample_weight, groups, reset=known is None)
        try:
            kind.check_rows(self, rows, None if known is None else known.target)
            # If this fit fails, nothing of an earlier one may remain.
            for name in _OF_ONE_FIT if known is not None else (*_OF_ONE_FIT, *_CONTINUED):
                self.__dict__.pop(name, None)
            if known is None:
                # Every draw is a function of this one number.
                self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            journal = self._open_journal(rows)
            columns = self.n_features_in_, getattr(self, "feature_names_in_", None)
            how = dict[str, Any](seed=self._seed, known=known, journal=journal)
            fit = PreparedFit(self, rows, *columns, **how)
            fit.target = kind.learnt(fit, None if known is None else known.target)
            if (costs := self.costs) is not None:  # refused before a search, which takes long
                costs = costs_by_class(fit.target.classes, costs, rows.class_weights)
            context = self._init_callback_context(max_subtasks=finder.n_tasks)
            given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            context.call_on_fit_task_begin(estimator=self, **given)
            with own_threads() if finder.has_own_threads(fit.rows) else nullcontext():
                self._not_diverged(finder.run, fit, context, given)
            if self._importance_of_columns is None:
                self._keep_prepared(fit.rows)
        finally:
            rows.close()
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # from now on, the model has them
        if costs is not None:
            self.decide(costs=costs)
        context.call_on_fit_task_end(estimator=self, **given)
        return self

    def __getstate__(self) -> Any:
        """Return the state of a copy, with what was measured instead of the rows to measure by."""
        if isinstance(self._importance_of_columns, HeldOutSample):
            self._importance_of_columns = self.importance_
        return super().__getstate__()

    def _put_behind(self, first: TablePreparation) -> None:
        """Let the flock read a table's own columns from now on, before those it was fitted to."""
        known, made_of, columns = self.model_, first.preparation_, first.feature_names_in_
        seen, filling = first._seen_columns, self._table.filling
        table = KnownTable(len(columns), columns, made_of, seen, filling)
        names = (name for name in ("support", "gate_support") if hasattr(known, name))
        used: dict[str, Any] = {name: made_of.on_features(getattr(known, name)) for name in names}
        self.model_ = replace(known, table=table, **used)
        found = self._importance_of_columns
        if isinstance(found, TrainingSample):
            found = replace(found, unit=made_of.column_of)
        elif (measured := self.importance_) is not None:
            found = measured.on_columns(columns.tolist(), made_of.column_of)
        self._importance_of_columns = found

    def _keep_prepared(self, rows: InMemoryRows) -> None:
        """Keep some rows to measure importance by, where no folds did."""
        model = self.model_
        if not (rows.keeps_folds or hasattr(model, "gate_support")):
            return  # blocks whose members are grown do not keep their rows
        X, y, weight = rows.some_rows(MOST_KEPT, self._seed)
        if isinstance(model.target, Numbers) and not rows.keeps_folds:
            # Blocks have the standardized target.
            y = model.target.in_units_of_y(y)
        found = TrainingSample.of(X, y, weight, self._table.column_of)
        self._importance_of_columns = replace(found, n_rows=rows.n_weighted())

    def _open_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool) -> Any:
        if not hasattr(X, "__dask_graph__"):
            for name, given in (("y", y), ("sample_weight", sample_weight)):
                if hasattr(given, "__dask_graph__"):
                    raise TypeError(
                        f"{name} is a Dask collection, but X is not; give X as one too, or "
                        f"{name}.compute()."
                    )
            kind = InMemoryRows
        else:
            from covey.dask._rows import DaskRows

            kind = DaskRows
        numeric = not self._classifies
        return kind.open(self, X, y, sample_weight, groups, reset=reset, numeric=numeric)

    def _open_journal(self, rows: InMemoryRows) -> Journal | None:
        """Open the journal of a fit with a checkpoint; set the seed of the fit that began it."""
        if self.checkpoint is None:
            return None
        parameters = self.get_params(deep=False)
        for name in ("checkpoint", "costs", "device", "n_jobs", "verbose", "random_state"):
            parameters.pop(name, None)
        seed = None if self.random_state is None else self._seed
        try:
            key = joblib.hash((__version__, parameters, seed, rows.digest()))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise ValueError(
                "A checkpoint needs parameters that can be compared with a later fit's, but one "
                f"of them cannot be pickled: {error}"
            ) from error
        journal = Journal(self.checkpoint, key, self._seed)
        self._seed = journal.seed
        return journal

    def _not_diverged(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function, or raise an error that says which member's training diverged."""
        try:
            with np.errstate(all="ignore"):
                return function(*args)
        except DivergedError as error:
            if isinstance(self.learning_rate, str):
                scaled = "" if self.scale_features else "use scale_features=True, or "
                raise ValueError(
                    f"The training of member {error.member} diverges: the features, or the "
                    "weights of the rows, are too large or too small beside each other for "
                    f"floating point; {scaled}rescale them."
                ) from None
            raise ValueError(
                f"learning_rate={self.learning_rate!r} lets the training of member "
                f"{error.member} diverge; use learning_rate='auto' or a smaller number."
            ) from None

    # -- attributes ------------------------------------------------------------------------

    @property
    def kind_(self) -> str:
        """Return the kind of the members' predictions for the fuser."""
        return "probability" if self._classifies else "value"

    @property
    def estimators_(self) -> list[Any]:
        """The members, each a fitted estimator."""
        check_is_fitted(self, "fuser_")
        return [
            self._around(member) if isinstance(member, LinearModel) else member
            for member in self.model_.estimators()
        ]

    @property
    def named_estimators_(self) -> Bunch:
        """The members of several kinds by name."""
        if not isinstance(getattr(self, "model_", None), MixedModel):
            raise AttributeError(f"This {type(self).__name__} has no named_estimators_.")
        found = Bunch()  # which takes no argument of the name self
        found.update(zip(self.model_.names(), self.estimators_, strict=True))
        return found

    def _around(self, model: LinearModel) -> Self:
        """Return a flock of linear members alone, which predicts by this model."""
        flock = type(self)(**self.get_params(deep=False))
        flock.set_params(members="linear", checkpoint=None)
        flock.model_, flock._seed = model, self._seed
        return flock

    def _as_one(self) -> tuple[np.ndarray, Any]:
        """Return coefficients and intercepts of a flock that is one linear model."""
        if not hasattr(self, "model_"):
            raise AttributeError(f"This {type(self).__name__} is not fitted.")
        if not isinstance(self.model_, LinearModel) or self.model_.why_not_one is not None:
            raise AttributeError(self.model_.why_not_one)
        return self.model_.target.as_sklearn_has_it(*self.model_.as_one())

    def collapse(self) -> LinearMember | LinearRegressionMember:
        """Return the whole ensemble as one linear model, where the fuser allows it.

        The product of softmax-linear members is itself softmax-linear: its logits are the
        (weighted) mean of theirs; and the mean of linear regressors is one. A single matrix
        product then predicts what all members would.

        Returns
        -------
        member : LinearMember, or LinearRegressionMember of a regressor
            With the same predictions (for a regressor, without its ``y_range_``).
        """
        check_is_fitted(self, "fuser_")
        if not isinstance(self.model_, LinearModel) or self.model_.why_not_one is not None:
            raise ValueError(self.model_.why_not_one)
        return self.model_.collapsed()

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a flock that is one linear model, in the shape of scikit-learn's."""
        return self._as_one()[0]

    @property
    def intercept_(self) -> np.ndarray | float:
        """Intercepts of a flock that is one linear model, in the shape of scikit-learn's."""
        return self._as_one()[1]

    def to_sklearn(self) -> LogisticRegression | LinearRegression:
        """Return the whole ensemble as a linear model of scikit-learn's, which needs no covey.

        Only a flock with ``fuser="product"``, or for numbers with ``fuser="mean"``, is one linear
        model. The parameters of the model are scikit-learn's defaults: fitting it again would give
        another model.

        Returns
        -------
        model : sklearn.linear_model.LogisticRegression or LinearRegression
            Fitted; with the same predictions for rows within the range of the training rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from covey import SubsetEnsembleClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
        >>> flock.to_sklearn()
        LogisticRegression()
        """
        self.collapse()
        if self.preparation_ is not None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to gaps or categories, which no linear "
                "model of scikit-learn takes; fit it to numbers, or use collapse()."
            )
        model = self.model_.target.plain_model(bool(self.fit_intercept), int(sum(self.n_iter_)))
        # Copies: a change of one model does not change the other.
        model.coef_, model.intercept_ = np.copy(self.coef_), np.copy(self.intercept_)[()]
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_.copy()
        return model

    @property
    def coefficient_sizes_(self) -> np.ndarray:
        """The mean size of each feature's coefficients, in members and gates; sums to one.

        They tell how much a feature moves single members, not what the flock would lose without
        it: coefficients that cancel add up here. Members of other kinds than linear report
        themselves how much a feature moves them, or it is tried out. See ``importance_``.
        """
        check_is_fitted(self, "fuser_")
        return self.model_.feature_sizes()

    # -- predict ---------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self, "fuser_")
        return self._table.rows(X, self)

    def _by_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        # Members of other kinds have threads of their own.
        jobs = self.n_jobs if isinstance(self.model_, LinearModel) else None
        return by_blocks(function, X, jobs, finite=True)

    def _explained_rows(self, X: Any) -> tuple[Any, np.ndarray]:
        return self._check_rows(X), self._table.column_of

    @of_classes
    @accepts_dask
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores whose softmax are the fused probabilities; for two classes the log-odds.

        For a flock with ``fuser="product"``, which is one linear model, they are its logits: one
        product with X. For others they are logarithms of probabilities. Shapes are as in
        scikit-learn: (n_samples,) for two classes, else (n_samples, n_classes).
        """
        if not (hasattr(self, "model_") and self.model_.is_one):
            return super().decision_function(X)
        rows = self.basis_.rows(self._check_rows(X))
        coef, intercept = self.coef_, self.intercept_
        # Classes first: sums along few classes are slow.
        scores = (rows @ coef.T).T if hasattr(rows, "tocsr") else coef @ rows.T
        scores += np.asarray(intercept)[:, None]
        return returned(scores[0] if len(coef) == 1 else scores.T, X)

    predict = accepts_dask(Ensemble.predict)
    predict_proba = of_classes(accepts_dask(Ensemble.predict_proba))
    predict_log_proba = of_classes(accepts_dask(Ensemble.predict_log_proba))
    member_probabilities = of_classes(accepts_dask(Ensemble.member_probabilities))
    member_predictions = of_numbers(accepts_dask(Ensemble.member_predictions))
    explain_fusion = accepts_dask(Ensemble.explain_fusion)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the fused decision, or of the oracle's; R^2 of a regressor.

        Rows are given as to ``fit``; Dask collections work, too.
        """
        if hasattr(X, "__dask_graph__"):
            from covey.dask._lazy import lazy_score

            return lazy_score(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def explain(
        self,
        X: Any,
        *,
        top: int = 3,
        max_members: int | None = None,
        background: Any = None,
    ) -> list[dict[str, Any]]:
        """Explain why each row is predicted as it is, and who decided, with what weight.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        top : int, default=3
            How many features to name on either side of a decision, and for each member, at most.
        max_members : int, optional
            How many members to name for each row, the most important ones; by default all with a
            weight above 0.01.
        background : array-like, sparse matrix or data frame, optional
            Rows that show what is typical, as in `contributions`.

        Returns
        -------
        records : list of dict
            One for each row, about the decision of all members together: ``prediction``, its
            ``probability`` (for a classifier), ``baseline`` (the mean over training rows), and the
            reasons for and against it: ``because`` and ``against``, lists of dicts with
            ``column``, ``value``, ``typical`` and ``push``, the strongest first, and ``other``,
            the push of all features that are not named. The baseline and all pushes sum to the
            probability, or to the number; ``because`` names the features that move it from the
            baseline towards the prediction. See `contributions`.

            Then ``gate_share`` (where a gate fuses), and ``members``, those with a weight above
            0.01, the most important first. Each has its ``member`` number (from 1), its
            ``weight``, its own ``prediction`` (and ``probability``), and ``because``: the features
            that moved its log-odds towards its prediction the most, or its number up or down, each
            as (name, push), compared with an average row. A push is that of all columns of a
            feature, its ramps and its half of products. If nothing speaks for the class that a
            member predicts, the features against it are named, with a negative push. The push is
            zero if the row is an average one for that member, or if the name is "(constant)",
            because the member predicts the same for every row.

            ``gate_share`` is the gate's part in the prediction, from 0 to 1, as
            `covey.inspection.gate_share` computes it for many rows. Replace the members' weights
            by their means over the training rows, and the prediction moves by what the gate knows
            of this row; replace each member's prediction by its mean, and it moves by what the
            members know. (The distance of probabilities is the Kullback-Leibler divergence from
            those predicted, of numbers the squared difference.) The share is the first move over
            the sum of both: 0 if the gate gives every row the same weights, 1 if members are
            constant.

            For a regressor ``cancelling`` says whether a member that counts predicts a number
            beyond ``y_range_``: then only the sum of the members' predictions is meaningful.

            If there are members of several kinds (``members=``), each has a ``name`` and its
            ``kind`` too, and linear ones are numbered ``within`` their own flock; there is no
            ``gate_share``. Members of other kinds cannot tell what moved them, so it is tried out:
            a push is how far the log-odds, or the number, fall when the feature takes its median
            of the training rows, for up to 50 features that matter most. So such a member predicts
            a row up to 50 times to explain it, and once per call up to 100 training rows. Trees
            are tried out like the others: the contribution of a path at each split depends on the
            order in which a tree asks.
        """
        check_number(top, "top", low=1, whole=True)
        how = dict[str, Any](top=top, max_members=max_members, decision=self.decision_)
        decided = self.model_.decisions(self._check_rows(X), **how)
        return self._with_reasons(X, decided, top, background)

    # -- how far off -----------------------------------------------------------------------

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Measure how far off the flock is, on rows that it was not fitted on.

        They replace the training rows that folds held out. If new rows can be exchanged with
        these, as draws from one population can, levels hold exactly. The members are not
        changed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that were **not** given to ``fit``: the flock knows too much about those.
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
        truth = self.model_.target.encoded(y)
        weight = check_sample_weight(sample_weight, len(truth))
        self._keep_calibration(GIVEN_ROWS, truth, self._answers(rows), weight)
        return self

    def _keep_calibration(
        self, source: str, truth: np.ndarray, predicted: np.ndarray, weight: np.ndarray
    ) -> None:
        """Measure how far off it is, by the predictions of rows that have a weight."""
        used = weight > 0
        parts = truth[used], predicted[used], effective_weights(weight[used])
        self.calibration_ = self.model_.target.calibration.of(source, *parts)

    def _calibrate_out_of_fold(self, y: ArrayLike, predicted: np.ndarray) -> None:
        """Measure by what flocks that were fitted alike, without a row, predict for it.

        ``predicted`` are probabilities (n, n_classes) or numbers (n,). Unlike the folds of the
        search, these were not used to choose anything.
        """
        truth = self.model_.target.encoded(np.asarray(y))
        self._keep_calibration(OUT_OF_FOLD, truth, predicted, np.ones(len(truth)))

    def _measured(self, what: str) -> Any:
        """Return the calibration, or raise an error that says why there is none."""
        check_is_fitted(self, "fuser_")
        if not hasattr(self, "calibration_"):
            raise ValueError(
                f"{what} needs predictions of rows held out, but this {type(self).__name__} was "
                "fitted without folds (effort='fast', Dask collections, an older file, or no "
                "search); call calibrate(X, y) with rows that it was not fitted on."
            )
        return self.calibration_

    @of_classes
    @accepts_dask
    def predict_set(self, X: Any, level: float = 0.9, *, by_class: bool = True) -> np.ndarray:
        """Return the classes that a row may have: with a chance of ``level`` the true one is in.

        A class is in the set if it is at least as probable as for most rows of this class that
        were held out (split conformal prediction by class, with the probability as score), so that
        a rare class is missed no more often than the others. The predicted class is always in the
        set, so that no set is empty. The page "A flock in detail" says what is guaranteed.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        level : float, default=0.9
            How often the true class is to be in the set, at least; above 0 and below 1. A class
            with fewer than ``level / (1 - level)`` rows held out is in all sets, with a warning.
        by_class : bool, default=True
            Whether the level holds for the rows of each class separately. False: for all rows
            together. Sets are smaller, and may never hold a rare class.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), bool
            Which of ``classes_`` are in the set of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from covey import FlockClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> sets = flock.calibrate(X[1::2], y[1::2]).predict_set(X, level=0.95)
        >>> sets.shape, flock.classes_[sets[0]].tolist()
        ((150, 3), [0])
        """
        known = self._measured("predict_set")
        bounds = known.bounds(level, by_class)
        if by_class and (said := known.always_in_sets(level, self.classes_)):
            warnings.warn(said, UserWarning, stacklevel=3)
        probabilities = to_numpy(self.predict_proba(X))
        sets = -probabilities <= bounds
        sets[np.arange(len(sets)), decided(self, probabilities)] = True
        return returned(sets, X)

    @of_classes
    def rejection(
        self,
        reject: float | None = None,
        *,
        accuracy: float | None = None,
        confidence: float = CONFIDENCE,
    ) -> Bunch:
        """Measure how right the flock is if it leaves the least sure rows to a person.

        Parameters
        ----------
        reject : float, optional
            The share of rows that it may leave, from 0 to below 1.
        accuracy : float, optional
            In place of ``reject``: how often it is to be right about the rest. Of the shares 0, 5,
            ..., 95 %, it leaves the smallest that suffices on the rows held out.
        confidence : float, default=0.95
            How sure ``low`` and ``accuracy`` are. If one of twenty shares is chosen by an
            accuracy, it holds for all of these at once.

        Returns
        -------
        found : Bunch
            ``reject``, the share of rows held out that are left; ``threshold``, the probability
            below which a row is left; ``accuracy`` of the others, and ``low``, its lower limit
            with a chance of ``confidence`` (by Clopper and Pearson). This is exact for rows that
            `calibrate` was given, and approximate for rows that folds held out.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from covey import FlockClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> found = flock.calibrate(X[1::2], y[1::2]).rejection(accuracy=0.95)
        >>> bool(found.low >= 0.95)
        True
        >>> flock.predict(X[:200], reject=found.reject).mask.sum() < 40
        np.True_
        """
        known = self._measured("reject")
        answers = decided(self, known.probabilities)
        return known.rejection(answers, reject, accuracy, confidence)

    def _rows_held_out_for_decisions(self) -> tuple[Any, ...]:
        if not hasattr(self, "calibration_"):
            return super()._rows_held_out_for_decisions()
        known = self.calibration_
        assert isinstance(known, SetCalibration)
        return known.label, known.probabilities, known.weight, known.source

    @of_numbers
    @accepts_dask
    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Return bounds of y, between which it lies with a chance of ``level``.

        They are the prediction plus an upper and a lower quantile of the errors of rows held out
        (split conformal prediction, with equal chances on both sides). So they are equally wide
        for every row, and asymmetric if the errors are. The page "A flock in detail" says what is
        guaranteed.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        level : float, default=0.9
            How often y is to lie between the bounds, at least; above 0 and below 1. They are
            infinite if fewer than ``(1 + level) / (1 - level)`` rows were held out.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)
            The lower and the upper bound of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from covey import FlockRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> low, high = flock.calibrate(X[1::2], y[1::2]).predict_interval(X, level=0.8).T
        >>> bool(((low < y) & (y < high)).mean() > 0.75)
        True
        """
        low, high = self._measured("predict_interval").interval(level)
        predicted = to_numpy(self.predict(X))
        bounds = np.column_stack([predicted + low, predicted + high])
        never_negative = hasattr(self, "y_range_") and self.y_range_[0] >= 0
        return returned(np.maximum(bounds, 0.0) if never_negative else bounds, X)

    # -- show ------------------------------------------------------------------------------

    def summary(self) -> str:
        """Describe the fitted flock on one screen: members, their features, when each is asked.

        The first line counts members, groups, terms and features. (A term is one column, that is a
        feature, a ramp or a product, in one member, all classes together, or one column in the
        gate of one group.) The second names the features without which the most is lost (see
        ``importance_``). Then there are one or two lines for each member: its weight, which is its
        mean importance on the training rows; its features, those that move it the most first, with
        the class that more of a feature speaks for or against, or with whether y rises or falls
        with it ("bends": it does both); and where it is asked: where the gate gives it more weight
        than it has on average. Members of little weight for which there is no room are counted in
        the last line.

        Returns
        -------
        summary : str
            At most 24 lines of 100 characters. Consoles and notebooks show it line by line, as
            ``print`` does.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from covey import SubsetEnsembleRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> SubsetEnsembleRegressor(2, flip_probability=0.2, random_state=0).fit(X, y).summary()
        SubsetEnsembleRegressor: 2 members, 19 terms, 10 of 10 features
        needs most: bmi (30 %), s5 (25 %), s1 (13 %)
        member, weight, features (what y does with more of each), where it is asked:
        1   50 %  9 features: rises with bmi, s5 and bp, ...; asked everywhere
        2   50 %  10 features: falls with s1, rises with s2 and s5, ...; asked everywhere
        """
        check_is_fitted(self, "fuser_")
        how = dict[str, Any](remarks=constraints_in_words(self)) if is_constrained(self) else {}
        return self.model_.describe(type(self).__name__, self.importance_, **how)

    def scorecard(
        self, X: Any, y: ArrayLike, *, label: Any = None, max_points: int = 10
    ) -> Scorecard:
        """Return the flock as whole points for conditions, which a person can add by hand.

        It is for two classes and a flock that is additive and of few columns, such as
        ``FlockClassifier(interactions="none", max_features=6)``.

        Parameters
        ----------
        X, y : array-like or data frame of shape (n_samples, n_features), and (n_samples,)
            Rows by which columns are cut into conditions, points are rounded, and the chance of
            each total is learnt. Best are rows that the flock was **not** fitted on.
        label : label, optional
            The class that points speak for. By default that of ``decision_``, or the rarer one
            among these rows.
        max_points : int, default=10
            The most points of a condition. Smaller points are taken if they lose next to nothing.

        Returns
        -------
        card : covey.evaluation._scorecard.Scorecard
            ``points``, ``totals``, ``probability(X)``, ``to_html(path)``, ``to_excel(path)``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from covey import FlockClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> flock = FlockClassifier(interactions="none", max_features=2, random_state=0)
        >>> card = flock.fit(X[::2], y[::2]).scorecard(X[1::2], y[1::2])
        >>> card.points  # and print(card) shows the chance of each total, too
                    column     condition  points  rows
        0    worst texture    below 21.9       0    77
        1    worst texture  21.9 to 34.5       1   183
        2    worst texture  34.5 or more       2    24
        3  worst perimeter      below 90       0   107
        4  worst perimeter   90 to 108.3       2    68
        5  worst perimeter  108.3 to 119       3    28
        6  worst perimeter    119 to 138       4    32
        7  worst perimeter   138 or more       7    49
        """
        from covey.evaluation._scorecard import make_scorecard

        check_is_fitted(self, "fuser_")
        return make_scorecard(self, X, y, label, max_points)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the estimator, and the flock once it is fitted."""
        html = estimator_html_repr(self)
        return html + self.model_.as_html() if hasattr(self, "fuser_") else html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.positive_only = getattr(self, "loss", None) in POWERS
        return tags
