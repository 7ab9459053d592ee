"""The methods that every ensemble has once there are members and a fuser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from covey._blocks import as_table, by_blocks
from covey._core.fusion.rules import staged_oracle
from covey._decisions import Costs, Decision, asked_decision, code_of, costs_by_class, decided
from covey._devices import returned, to_numpy
from covey._explanations import LEAST_TOLD, Explanations
from covey._state import FEATURE_NAMES, Array, Labels, OrAbsent, Record, Where, Whole
from covey._typing import Estimator, Method, available_if
from covey._validation import as_numbers, check_one_target, check_sample_weight
from covey.fusers import Fuser, Oracle, Predictions
from covey.fusers._fixed import make_fuser, make_value_fuser, stage_scores
from covey.fusers._outputs import importance_frame
from covey.inspection._importance import Importance
from covey.tables._columns import feature_names
from covey.tables._seen_columns import SeenColumns, seen_columns

if TYPE_CHECKING:
    from pandas import DataFrame

    from covey.inspection._changes import SmallestChange, WhatIf
    from covey.inspection._contributions import Contributions
    from covey.members._roster import Roster
    from covey.reporting import Report


# Predictions of numbers go beyond the range of the training rows by this share of its length, or
# by this number over the number of rows, at most by all of it.
_LEAST_MARGIN = 0.05
_ROWS_OF_MARGIN = 50
# The squares of numbers to be predicted must stay finite, and sums of them too.
_LARGEST = 1e150


def check_numbers(y: ArrayLike) -> np.ndarray:
    """Return the numbers to predict as float64; there is one finite number per row."""
    check_one_target(y)
    y = column_or_1d(y, warn=True)
    y = as_numbers(y)
    largest = np.abs(y).max(initial=0.0)
    if largest > _LARGEST:
        raise ValueError(
            f"y holds a number of size {largest:.3g}, whose square is beyond floating point; "
            "rescale y, or leave the row out."
        )
    return y


def check_two_classes(name: str, classes: np.ndarray, weights: Any) -> None:
    """Refuse data in which fewer than two classes have a weight above 0."""
    weighted = np.flatnonzero(weights)
    if len(weighted) < 2:
        counted = "" if len(classes) < 2 else " whose weight is above 0"
        raise ValueError(
            f"{name} needs samples of at least 2 classes in y{counted}, "
            f"got {len(weighted)} class: {classes[weighted].tolist()}."
        )


def range_of_numbers(n_rows: int, low: float, high: float) -> np.ndarray:
    """Return the range of predicted numbers, by the least and the greatest y of the rows."""
    # If there are few rows, new ones go farther beyond their range.
    margin = (high - low) * max(_LEAST_MARGIN, min(1.0, _ROWS_OF_MARGIN / n_rows))
    least = low - margin if low < 0 else max(low - margin, 0.0)
    return np.array([least, high + margin])


def held_within(fused: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return numbers within a range; infinite ones are refused elsewhere, not hidden."""
    return np.where(np.isfinite(fused), np.clip(fused, *seen), fused)


class _Measured(OrAbsent):
    """An importance of columns, which is measured before it is written."""

    def of(self, owner: Any, name: str) -> Any:
        """Return the importance, measured now if it was not measured before."""
        return owner.importance_


def classifies(estimator: Any) -> bool:
    """Return whether it is one of scikit-learn's classifiers."""
    return isinstance(estimator, ClassifierMixin)


def regresses(estimator: Any) -> bool:
    """Return whether it is one of scikit-learn's regressors."""
    return isinstance(estimator, RegressorMixin)


of_classes, of_numbers = available_if(classifies), available_if(regresses)


class Ensemble(ABC, Estimator):
    """An estimator whose prediction is fused from members, of classes or of numbers.

    A subclass is one of scikit-learn's estimators too, and its ``ClassifierMixin`` or
    ``RegressorMixin`` says which: ``class Own(Ensemble, ClassifierMixin, BaseEstimator)``. It sets
    ``fuser_`` in ``fit``, ``classes_`` where there are any, calls ``_keep_seen``, and writes
    ``_predictions``. The private methods take validated rows.
    """

    classes_: Annotated[np.ndarray, Where("_classifies", Labels("C"))]
    n_features_in_: Annotated[int, Whole(1, 1 << 31, letter="F")]
    feature_names_in_: Annotated[np.ndarray, FEATURE_NAMES]
    # None of a model that was fitted before this was stored.
    _seen_columns: Annotated[SeenColumns | None, OrAbsent(Record(SeenColumns))] = None
    # The importance of columns, or the rows by which it is measured when it is first read.
    _importance_of_columns: Annotated[Any, _Measured(Record(Importance))] = None
    y_range_: Annotated[np.ndarray, Where("_regresses", OrAbsent(Array("2")))]
    # The most probable class is predicted, unless `decide` says otherwise.
    decision_: Annotated[Decision | None, Where("_classifies", OrAbsent(Record(Decision)))] = None

    _classifies, _regresses = property(classifies), property(regresses)

    # The entries that a parameter lists, if they are members.
    _roster: Roster | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters of this estimator and, if ``deep``, of its members (by name)."""
        params = super().get_params(deep=deep)
        return params | self._roster.params() if deep and self._roster else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``).

        A member that is set to "drop" is left out.
        """
        return super().set_params(**(self._roster.set_members(params) if self._roster else params))

    def _check_rows(self, X: Any) -> Any:
        """Return rows to predict, validated; by default the table itself, for members to read."""
        check_is_fitted(self, "fuser_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    @abstractmethod
    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        """Return the members' predictions, of another kind than ``kind_`` if one is given."""

    def _by_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        """Apply a function to blocks of rows."""
        return by_blocks(function, X)

    def _member_values(self, X: Any) -> np.ndarray:
        """Return the result of the public method for the members' predictions."""
        P = self._shown(X)
        return P.values if self._classifies else np.where(P.known, P.values[:, :, 0], np.nan)

    def _shown(self, X: Any) -> Predictions:
        """Return predictions, as probabilities if all members have them."""
        fused = getattr(self, "kind_", "probability") in ("probability", "value")
        if fused or not all(hasattr(member, "predict_proba") for member in self.estimators_):
            return self._predictions(X)
        return self._predictions(X, "probability")

    def _to_fuse(self, X: Any) -> tuple[Predictions, Any]:
        """Return the members' predictions, and the features that the fuser sees."""
        return self._predictions(X), X

    def _fused(self, X: Any) -> np.ndarray:
        fused = self.fuser_.fuse(*self._to_fuse(X))
        return held_within(fused, self.y_range_) if hasattr(self, "y_range_") else fused

    def _fused_log(self, X: Any) -> np.ndarray:
        return self.fuser_.fuse_log(*self._to_fuse(X))

    def _importance(self, X: Any) -> np.ndarray:
        return self.fuser_.importance(*self._to_fuse(X))

    def _names(self) -> list[str]:
        """The members' names."""
        return [f"member {k}" for k in range(1, len(self.estimators_) + 1)]

    def _make_fuser(self, rule: str | Fuser) -> Fuser:
        return (make_fuser if self._classifies else make_value_fuser)(rule)

    def __call__(self, X: Any) -> np.ndarray:
        """Predict, for tools that take a function of rows, such as ``shap.Explainer(flock, X)``.

        It is ``predict_proba`` for classes, and ``predict`` for numbers.
        """
        return self.predict_proba(X) if self._classifies else self.predict(X)

    # -- predict -----------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest fused probability, or as `decide` sets; or the number.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            Numbers are always finite; an error is raised if one is not.
        """
        fused = self._answers(self._check_rows(X))
        if self._classifies:
            return returned(self.classes_[decided(self, fused)], X)
        lost = np.flatnonzero(~np.isfinite(fused))
        if len(lost):
            raise ValueError(
                f"What the members predict for row {lost[0]} of the {len(fused)} is NaN or "
                "infinite; rescale what is far out in X or y, or give other members."
            )
        return returned(fused, X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the fused decision, or of ``fuser="oracle"``; R^2 of numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "fuser_")
        if self.fuser_.needs_y:
            return self.oracle_score(X, y, sample_weight)
        return super().score(to_numpy(X), to_numpy(y), to_numpy(sample_weight))

    # -- explain ---------------------------------------------------------------------------

    def _explained_rows(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return rows in the form of ``_answers``, and the feature of each of their columns."""
        return self._check_rows(X), np.arange(self.n_features_in_)

    def _answers(self, rows: Any) -> np.ndarray:
        """Return fused probabilities, or numbers, of such rows."""
        return self._by_blocks(self._fused, rows)

    def _columns_looked_at(self) -> np.ndarray:
        """Return which features may move a prediction, (n_features,)."""
        return np.ones(self.n_features_in_, dtype=bool)

    @property
    def importance_(self) -> Importance | None:
        """The loss of the model without each column; None if no rows are known.

        An `Importance`, measured when it is first read: on rows that folds held out, or for models
        without folds on training rows. Its ``rows`` say on which.
        """
        check_is_fitted(self)
        if hasattr(self._importance_of_columns, "measured"):
            self._importance_of_columns = self._importance_of_columns.measured(self)
        return self._importance_of_columns

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column in all that is lost without one; sums to one, or is 0."""
        found = self.importance_
        if found is None:
            raise AttributeError(
                f"This {type(self).__name__} knows no rows to measure the importance of columns "
                "by; use covey.inspection.column_importance(model, X, y)."
            )
        return found.share

    def _keep_seen(self, X: Any, weight: np.ndarray | None = None) -> None:
        """Learn what is typical of the columns of the rows that the model is fitted to."""
        self.__dict__.pop("decision_", None)  # it was measured on the model of the last fit
        if not all(X.shape):
            return  # the members will refuse it
        names = feature_names(self)
        self._seen_columns = seen_columns(X, names, weight=weight)

    def _keep_rows(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Keep some training rows, by which importance is measured when it is first read."""
        from covey.members._importance import TrainingSample

        self._importance_of_columns = TrainingSample.of(X, y, weight)

    def contributions(self, X: Any, *, background: Any = None) -> Contributions:
        """Return how much each column moves the prediction of a row away from the average.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        background : array-like, sparse matrix or data frame, optional
            Rows that show what is typical; by default what was learnt when the model was fitted.

        Returns
        -------
        found : covey.inspection._contributions.Contributions
            ``found.baseline + found.values.sum(axis=1)`` is the prediction.
        """
        from covey.inspection import contributions

        return contributions(self, X, background=background)

    def what_if(self, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
        """Predict a row as it is, and again with some columns changed.

        Parameters
        ----------
        row : data frame or array with one row, Series, one-dimensional array or dict
        changes : mapping from column to value
            None is a gap.

        Returns
        -------
        found : covey.inspection._changes.WhatIf
            ``before``, ``after``, and how far each change ``moved`` it.
        """
        from covey.inspection import what_if

        return what_if(self, row, changes)

    def smallest_change(
        self,
        row: Any,
        *,
        to: Any = None,
        fixed: Collection[Any] = (),
        max_columns: int = 2,
        background: Any = None,
    ) -> SmallestChange | None:
        """Find the smallest change of a row, of one column or two, that changes the answer.

        Parameters
        ----------
        row : data frame or array with one row, Series, one-dimensional array or dict
        to : class, or number of a regressor, optional
            The wanted prediction; by default any class but the present one.
        fixed : collection of columns, default=()
            Columns that cannot change.
        max_columns : {1, 2}, default=2
        background : array-like, sparse matrix or data frame, optional
            As for `contributions`.

        Returns
        -------
        found : covey.inspection._changes.SmallestChange or None
            None if no such change was found.
        """
        from covey.inspection import smallest_change

        how = {"to": to, "fixed": fixed, "max_columns": max_columns, "background": background}
        return smallest_change(self, row, **how)

    def _with_reasons(
        self, X: Any, decided: list[dict[str, Any]], top: int, background: Any
    ) -> Explanations:
        """Return records of who decided, preceded by the reasons for and against the decision."""
        from covey.inspection import reasons

        why = reasons(self, X, top=top, background=background)
        least, most = getattr(getattr(self, "estimator_", self), "y_range_", (None, None))
        for record in () if least is None else decided:
            told = [one["prediction"] for one in record["members"] if one["weight"] >= LEAST_TOLD]
            record["cancelling"] = any(not least <= one <= most for one in told)
        return Explanations({**one, **other} for one, other in zip(why, decided, strict=True))

    def explain_fusion(self, X: Any, *, as_frame: bool = False) -> np.ndarray | DataFrame:
        """Return who decided: the importance of each member for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        as_frame : bool, default=False
            Whether to return a pandas data frame with the members' names.

        Returns
        -------
        importance : ndarray or DataFrame of shape (n_samples, n_members)
            Non-negative, rows sum to one.
        """
        importance = self._by_blocks(self._importance, self._check_rows(X))
        return importance_frame(importance, X, self._names()) if as_frame else importance

    def report(self, X: Any, y: ArrayLike, **how: Any) -> Report:
        """Make one HTML page about this ensemble: how good it is, who decides and why.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that it was not trained on.
        y : array-like of shape (n_samples,)
        **how
            As for `covey.reporting.build_report`.

        Returns
        -------
        report : Report
            Shows itself in a notebook; ``report.save(path)`` writes the page.
        """
        from covey.reporting import build_report

        return build_report(self, X, y, **how)

    def model_card(self, X: Any = None, y: ArrayLike | None = None, **how: Any) -> str:
        """Write a model card in the format of Hugging Face's hub: data, measures, members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
            Rows that it was not trained on. Without them, rows held out are used.
        y : array-like of shape (n_samples,), optional
        **how
            ``title``, ``about``, ``data`` and ``license``, as for `covey.reporting.build_card`.

        Returns
        -------
        card : str
            Markdown behind a header of YAML.
        """
        from covey.reporting import build_card

        return build_card(self, X, y, **how)

    def staged_score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        fuser: str | Fuser | None = None,
    ) -> np.ndarray:
        """Return the scores of the first member, the first two, ... and all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        fuser : str or Fuser, optional
            A fixed rule to fuse with instead of the fitted fuser; for classes also "oracle",
            see `oracle_score`.

        Returns
        -------
        scores : ndarray of shape (n_members,)
            Accuracies, or R^2 of a regressor.
        """
        X = self._check_rows(X)
        fuser = self.fuser_ if fuser is None else self._make_fuser(fuser)
        if fuser.learns:
            raise ValueError(
                f"{fuser.title} has learnt to fuse all members and cannot fuse the "
                "first few; give staged_score a fixed rule as fuser."
            )
        P = self._predictions(X)
        weight = check_sample_weight(to_numpy(sample_weight), P.n_samples)
        # A label that no member knows counts as an error of all.
        truth = P.encode(to_numpy(y), unknown="ignore")
        if isinstance(fuser, Oracle):
            return staged_oracle(fuser.right(P, truth), P.constant_members, weight)
        return self._stages(P, truth, X, weight, fuser)

    def _stages(
        self, P: Predictions, truth: np.ndarray, X: Any, weight: np.ndarray, fuser: Fuser
    ) -> np.ndarray:
        """Return scores (K,) of the first members under a fixed rule."""
        return stage_scores(fuser, P, truth, X, weight)

    # -- classes -----------------------------------------------------------------------------

    @of_classes
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of ``predict_proba``, without underflow where the rule allows."""
        rows = self._check_rows(X)
        return returned(self._by_blocks(self._fused_log, rows), X)

    @of_classes
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return fused probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return returned(self._answers(self._check_rows(X)), X)

    @property
    def threshold_(self) -> float | None:
        """The least probability at which the class of ``decision_`` is predicted, or None."""
        return None if self.decision_ is None else self.decision_.threshold

    @of_classes
    def decide(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        threshold: Mapping[Any, float] | None = None,
        find: Mapping[Any, float] | None = None,
        costs: Costs | None = None,
    ) -> Self:
        """Choose how probabilities become a class: by a threshold, or by costs.

        From then on ``predict`` and all explanations use the decision, until the next fit;
        ``predict_proba`` is unchanged. Without arguments the most probable class is predicted
        again.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,), optional
            Rows that the model was **not** fitted on, on which the decision's alarms and misses
            are counted. By default those that the search held out, or that ``calibrate`` was
            given.
        threshold : dict {label: probability}, optional
            A row is of this class if its probability is at least this; otherwise it is of the most
            probable of the other classes.
        find : dict {label: share}, optional
            The highest threshold that finds at least this share of the class's rows, among rows
            held out.
        costs : dict, data frame or array-like of shape (n_classes, n_classes), optional
            Predict the class with the smallest expected cost. ``{label: cost}``: of missing a row
            of a class (1 for classes that are not named). ``{label: {predicted label: cost}}``, or
            a data frame with labels as index (true) and columns (predicted): by name. An array:
            rows are the true classes in the order of ``classes_``, columns the predicted ones.
            ``{"miss": cost, "false alarm": cost}``: of two classes, a miss is of the rarer one
            among the rows held out. The costs of single rows are weights of a fit:
            ``fit(X, y, sample_weight=cost)``.

        Returns
        -------
        self : object
            With ``decision_``, the result on rows held out, and ``threshold_``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from covey import FlockClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> flock.decide(X[1::2], y[1::2], find={0: 0.99}).threshold_ < 0.5
        True
        >>> flock.decision_.alarms.n_class
        110.0
        """
        check_is_fitted(self, "fuser_")
        if all(given is None for given in (X, y, threshold, find, costs)):
            self.__dict__.pop("decision_", None)
            return self
        if not hasattr(self, "predict_proba"):
            raise ValueError(f"This {type(self).__name__} has no probabilities to decide by.")
        if (X is None) != (y is None):
            raise ValueError("decide takes rows as X and y together; give both, or none.")
        if X is None:
            known = self._rows_held_out_for_decisions()
        else:
            codes = [code_of(self.classes_, label, "y") for label in column_or_1d(y).tolist()]
            probabilities = to_numpy(self.predict_proba(X))
            known = np.array(codes), probabilities, None, "given rows"
        from covey.inspection._ranking import measured

        codes, _, weight, _ = known
        classes = self.classes_
        counts = None if codes is None else np.bincount(codes, weight, minlength=len(classes))
        if costs is not None:
            costs = costs_by_class(classes, costs, counts)
        self.decision_ = measured(asked_decision(classes, threshold, find, costs), *known)
        return self

    def _rows_held_out_for_decisions(self) -> tuple[Any, ...]:
        """Return codes, probabilities and weights of rows held out, and where they are from."""
        return None, None, None, None

    @of_classes
    def decision_function(self, X: Any) -> np.ndarray:
        """Return log-odds of the second class, or the finite logarithms of probabilities.

        The shape is (n_samples,) for two classes, else (n_samples, n_classes).
        """
        rows = self._check_rows(X)
        logs = self._by_blocks(self._fused_log, rows)
        logs = np.where(np.isneginf(logs), np.log(np.finfo(np.float64).tiny), logs)
        return returned(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs, X)

    @of_classes
    def member_probabilities(self, X: Any) -> np.ndarray:
        """Return the predictions of each member, (n_samples, n_members, n_classes).

        These are probabilities, or votes or scores where some members have none.
        """
        return self._by_blocks(self._member_values, self._check_rows(X))

    @of_classes
    def oracle_score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows on which at least one member is right.

        No fusion that picks a member can do better (the paper's g_orc), but one that mixes
        members, as a gate does, can be right where none of them is; by Theorem 1 no member is more
        accurate. Members that are constant over these rows (`covey.Predictions.constant_members`)
        are left out: with one for each class, some member would be right on every row, though none
        of them knows anything. (A gate between such members decides by itself, and can then be
        above this score.) If a constant member is right more often than all others together, its
        accuracy is the score. The parameters are those of ``score``.
        """
        return float(self.staged_score(X, y, sample_weight, fuser="oracle")[-1])

    @of_classes
    def gap_closed(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return how much of the way from equal weights to the oracle the fusion goes.

        It is ``(score - equal) / (oracle - equal)``, from the accuracies of the fused decision, of
        the same members with equal weights (the paper's g_EW; a majority vote of members without
        probabilities) and of the oracle, where constant members count as in `oracle_score`. 0 is
        as good as equal weights, 1 as the oracle, and a fusion that mixes members can be above;
        NaN where the oracle is no better than equal weights. The parameters are those of
        ``score``.
        """
        check_is_fitted(self, "fuser_")
        votes = getattr(self, "kind_", "probability") != "probability"
        rule = "majority" if votes else "product"
        equal = float(self.staged_score(X, y, sample_weight, fuser=rule)[-1])
        way = self.oracle_score(X, y, sample_weight) - equal
        if way <= 0:
            return float("nan")
        return (float(self.score(X, y, sample_weight)) - equal) / way

    # -- numbers -----------------------------------------------------------------------------

    @of_numbers
    def member_predictions(self, X: Any) -> np.ndarray:
        """Return the predictions of each member, (n_samples, n_members)."""
        return self._by_blocks(self._member_values, self._check_rows(X))


def accepts_dask(method: Method) -> Method:
    """Let a method of rows also accept Dask collections, for which it returns lazy results."""
    names = list(signature(method).parameters)[2:]

    @wraps(method)
    def predict(self: Any, X: Any, *args: Any, **how: Any) -> Any:
        if hasattr(X, "__dask_graph__"):
            from covey.dask._lazy import lazily

            return lazily(self, method.__name__, X, **dict(zip(names, args, strict=False)), **how)
        return method(self, X, *args, **how)

    return cast(Method, predict)
