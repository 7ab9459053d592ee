"""Any models, fitted here or elsewhere, fused into one."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED

from covey._blocks import take_rows
from covey._decisions import Costs, costs_by_class
from covey._models import parameters_of_rows
from covey._state import Model, Named, OneOf, Parameter, refuse
from covey._validation import check_flag, fitted_alone, keep_parameters
from covey.fusers import Fuser, Predictions
from covey.fusers._outputs import WAYS
from covey.fusers._predictions import concatenated
from covey.members import _roster as roster
from covey.members._ensemble import Ensemble
from covey.members._stored import check_fuser, check_member, try_row


class _Fusion(TransformerMixin, Ensemble):
    """The base of both: the fit of the members, and of the fuser on their predictions."""

    estimators: Annotated[list[Any], Parameter(members=True)]
    fuser: Annotated[str | Fuser, Parameter(Fuser)]
    named_estimators_: Annotated[Bunch, Named("E", make=Bunch, dropped="drop")]
    kind_: Annotated[str, OneOf("probability", "score", "label", "value")]
    fuser_: Annotated[Fuser, Model(Fuser)]

    _roster = property(lambda self: roster.Roster(self, self._models))
    named_estimators = property(roster.named_estimators)
    get_metadata_routing, transform = roster.get_metadata_routing, roster.transform
    get_feature_names_out = roster.get_feature_names_out

    # The metadata of fit are requested by parts; this estimator has no request of its own.
    __metadata_request__fit = dict.fromkeys(("sample_weight", "groups", "unseen"), UNUSED)

    def _restored(self) -> None:
        self.estimators_ = [one for _, one in roster.kept(self.named_estimators_.items())]
        of_numbers = self._models is roster.Regressors
        refuse("kind", "is of the other task.", (self.kind_ == "value") == of_numbers)
        for member in self.estimators_:
            check_member(self, member, self.n_features_in_)
            ways = WAYS.get(self.kind_, ("predict",))
            able = any(hasattr(member, method) for method in ways)
            refuse("members", f"has a member without {ways[-1]}.", able)
        of = {"names": self._names(), "classes": getattr(self, "classes_", None)}
        check_fuser(self.fuser_, partial(self._models.blank, **of), self.n_features_in_)
        if self.prefit is True:
            self._roster.take_fitted(list(self.named_estimators_.values()))
        if not self.fuser_.needs_y:
            try_row(self)

    def __init__(
        self,
        estimators: list[Any],
        fuser: str | Fuser = "mean",
        *,
        cv: Any = 5,
        prefit: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    # A classifier has it as a parameter.
    costs: Any = None

    @fitted_alone
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        unseen: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Fit the members, unless they are fitted already, and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the members as it is. With ``prefit=True``, rows that the members were
            not trained on.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to every member and to the fuser.
        groups : array-like of shape (n_samples,), optional
            Passed to the splitter. With a number of folds, no group is split.
        unseen : array-like of shape (n_samples, n_members), bool, optional
            With ``prefit=True``, which rows each member was trained without, as `out_of_bag`
            returns for a forest: X and y may then be the members' own training rows. A fuser that
            learns uses for each row only the members trained without it. (`Gate`, "knop" and
            "meta_des" need every member; the mean of those trained without the row replaces the
            others.)
        **metadata
            With scikit-learn's ``enable_metadata_routing``, whatever members request; they then
            get weights only if they request them (``set_fit_request``), and a fuser gets them
            unless it is told otherwise.
        """
        given = self._roster.checked()
        pairs = roster.kept(given)
        names = [name for name, _ in pairs]
        fuser = self._models.make_fuser(self.fuser, "fuser")
        fuser._keep_members([name for name, _ in given], names)
        check_flag(self.prefit, "prefit")
        if unseen is not None and not self.prefit:
            raise ValueError(
                "unseen tells on which rows fitted members were trained, but prefit=False trains "
                "them here; set prefit=True, or leave unseen out."
            )
        X, y, weight = roster.training_table_of(self, self._models, X, y, sample_weight)
        if self.prefit:
            for name, member in pairs:
                roster.check_fitted(name, member, "use prefit=False")
        classes = self._models.classes(type(self).__name__, pairs, y, self.prefit)
        # Parameters that do not fit the members are refused before the fit, which may take long.
        fuser._check_parameters(self._models.blank(fuser, names, classes))
        if (costs := self.costs) is not None:
            assert classes is not None  # only a classifier has costs
            rows = np.ones(len(y)) if weight is None else weight
            counts = np.array([rows[y == label].sum() for label in classes])
            costs = costs_by_class(classes, costs, counts)
        if fuser.needs_X:
            fuser._features(X)
        parameters = roster.fit_parameters(self, *self._parts(), weight, groups, metadata)
        members = [member for _, member in pairs]
        if not self.prefit:
            members = roster.fit_all(self, pairs, X, y, parameters.members)
        if classes is not None:
            self.classes_ = classes
        self.estimators_ = members
        self.named_estimators_ = roster.by_name(given, members)
        self.kind_ = self._models.kind_for(fuser, members, names)
        self.__dict__.pop("out_of_fold_", None)
        if fuser.learns and not self.prefit:
            P, rows = self._out_of_fold(pairs, X, y, parameters)
            members = P.values[:, :, 0] if self.kind_ == "value" else P.values
            self.out_of_fold_ = Bunch(rows=rows, members=members)
        elif fuser.learns and unseen is not None:
            P, rows = self._of_unseen(fuser, X, y, unseen)
        else:
            # A fixed rule learns nothing, but the fit checks that the members predict.
            rows = np.arange(len(y) if fuser.learns else 1)
            P = self._predictions(take_rows(X, rows))
        self.fuser_ = fuser.fit(
            P,
            y[rows],
            take_rows(X, rows) if fuser.needs_X else None,
            **parameters_of_rows(parameters.parts.get("fuser", {}), rows, len(y)),
        )
        if costs is not None:
            self.decide(costs=costs)
        return self

    def _names(self) -> list[str]:
        return [name for name, _ in roster.kept(self.named_estimators_.items())]

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parts that are fitted: the members and all else; nothing is checked."""
        members = {} if self.prefit else dict(roster.kept(self._roster.entries()))
        try:
            fuser = self._models.make_fuser(self.fuser, "fuser")
        except ValueError:  # refused by fit
            return members, {}
        return members, {"fuser": fuser} if fuser.learns else {}

    def __sklearn_tags__(self) -> Any:
        given = [member for _, member in self._roster.entries()]
        tags = roster.take_tags(super().__sklearn_tags__(), given)
        try:
            fuser = self._models.make_fuser(self.fuser, "fuser")
        except (TypeError, ValueError):  # refused by fit
            return tags
        if fuser.needs_X:
            # A fuser that reads rows cannot read gaps and categories, which members may accept.
            tags.input_tags.allow_nan = tags.input_tags.categorical = False
        return tags

    def _out_of_fold(
        self, pairs: roster.Pairs, X: Any, y: np.ndarray, parameters: roster.FitParameters
    ) -> tuple[Predictions, np.ndarray]:
        """Return predictions of rows by members fitted without them, and which rows these are."""
        folds = roster.member_folds(self, X, y, parameters.split)
        fitted = roster.fit_folds(self, pairs, folds, X, y, parameters.members)
        # In a fold, a class that was never seen is one that the fold's rows lack.
        blocks = [
            self._predicted_by(members, take_rows(X, test), self.kind_)
            for (_, test), members in zip(folds, fitted, strict=True)
        ]
        # A row in several test folds counts by its first one.
        rows, first = roster.rows_held_out(self.cv, folds, len(y), "the fuser learns")
        return concatenated(blocks).rows(first), rows

    def _of_unseen(
        self, fuser: Fuser, X: Any, y: np.ndarray, unseen: ArrayLike
    ) -> tuple[Predictions, np.ndarray]:
        """Return predictions of rows by members trained without them, and which rows these are."""
        P = self._predictions(X).where(unseen)
        known = P.known.any(axis=1)
        if not known.all():
            warnings.warn(
                f"{(~known).sum()} of {len(y)} rows were seen by every member and teach the fuser "
                "nothing; take more members.",
                UserWarning,
                stacklevel=4,
            )
        rows = np.flatnonzero(known)
        lost = [] if P.kind == "value" else np.setdiff1d(y, y[rows]).tolist()
        if not len(rows) or lost:
            which = f" of the class {lost[0]!r}" if lost else ""
            raise ValueError(
                f"{fuser.title} learns, but every member has seen every row{which}; hold "
                "rows out for it, and leave unseen out."
            )
        P = P.rows(rows)
        if fuser.needs_all_members:
            heard = P.known[:, :, None]
            mean = (P.values * heard).sum(axis=1) / heard.sum(axis=1)
            values = np.where(heard, P.values, mean[:, None])
            P = Predictions(values, P.classes, P.names, P.kind, seen=P.seen)
        return P, rows

    def _predicted_by(self, members: list[Any], X: Any, kind: str) -> Predictions:
        classes = getattr(self, "classes_", None)
        return self._models.predictions(members, self._names(), X, kind, classes)

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        return self._predicted_by(self.estimators_, X, kind or self.kind_)

    def _column_names(self, input_names: np.ndarray) -> list[str]:
        return roster.column_names(self, getattr(self, "classes_", None))

    def _as_columns(self, X: Any) -> np.ndarray:
        values = self._member_values(X)
        return values.reshape(len(values), -1)


class FusionClassifier(_Fusion, ClassifierMixin, BaseEstimator):
    """Fuses any classifiers into one decision, and shows who decided.

    Take it when the models are already there, fitted or not, of any kind. It fuses and explains;
    it does not tune its members. For saved predictions without models, take `fuse`; to train an
    ensemble from nothing, `FlockClassifier`.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members. They may look at different columns (Pipelines), have seen fewer classes,
        and have only ``decision_function`` or only ``predict`` where the rule allows. One that
        is "drop" is left out. Those without a name get their class's, in lower case, and a
        number from the second on ("gaussiannb", "gaussiannb-2"), for ``set_params`` too.
    fuser : str, Fuser or callable, default="mean"
        How to fuse: a name or an object of `covey.fusers`, or a function of the members'
        probabilities (n_samples, n_members, n_classes): see `covey.fusers.FunctionRule`.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made for a fuser that learns. Any splitter works. Rows
        without an out-of-fold prediction (the first block of a time-ordered split) are left
        out, with a warning. A fixed rule needs none.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used as they are, and the rows given
        to ``fit`` must be **held out**: a fuser that learns learns from them directly, so the
        members may not have been trained on them.
    n_jobs : int or None, default=None
        Processes that fit the members.
    verbose : int, default=0
        With 1, prints a line for each member that is fitted, and how long it took.
    costs : dict, data frame, array or None, default=None
        The cost of each error, by which classes are predicted: the fit ends with `decide` of it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_, named_estimators_ : list of estimators and Bunch
        The fitted members, as a list and by name; "drop" for those that are dropped.
    fuser_ : Fuser
        The fitted fuser.
    kind_ : {"probability", "score", "label"}
        The kind of the members' predictions for the fuser.
    out_of_fold_ : Bunch
        The training data of a fuser that learns, unless ``prefit``: ``rows`` (their numbers) and
        ``members`` (n_rows, n_members, n_classes), the predictions of members fitted without the
        row (labels are numbers of classes). Not in saved files.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from covey import FusionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [LogisticRegression(max_iter=500), GaussianNB(), KNeighborsClassifier()]
    >>> fused = FusionClassifier(members, fuser="knora_e").fit(X, y)
    >>> fused.explain_fusion(X[:2], as_frame=True).round(2)
       logisticregression  gaussiannb  kneighborsclassifier
    0                0.33        0.33                  0.33
    1                0.33        0.33                  0.33
    """

    _models = roster.Classifiers

    def __init__(
        self,
        estimators: list[Any],
        fuser: str | Fuser = "mean",
        *,
        cv: Any = 5,
        prefit: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        costs: Costs | None = None,
    ) -> None:
        keep_parameters(self, locals())


class FusionRegressor(_Fusion, RegressorMixin, BaseEstimator):
    """Fuses any regressors into one, and shows who decided.

    Take it when the regressors are already there. A mean is hard to beat with few rows; rules that
    learn need rows that members have not seen, which ``cv`` holds out.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members. They may look at different columns (Pipelines). Where one predicts NaN, it
        is not available, and the others decide. Names and "drop" are as for `FusionClassifier`.
    fuser : str, Fuser or callable, default="mean"
        How to fuse: "mean", "median", "trimmed_mean", "linear_stacking", "greedy_selection",
        "stacking" or "gate"; dynamic selection by the errors near a row, "ola", "knora_e",
        "knora_u" or "des_p"; an object of `covey.fusers`, or a function of the members' numbers
        (n_samples, n_members): see `covey.fusers.FunctionRule`. ``Mean(weights=[...])`` is a
        weighted mean; ``Mean(weights="inverse_error")`` learns the weights one by one,
        ``LinearStacking()`` all together, and ``Gate()`` as a function of the row.
    cv, prefit, n_jobs, verbose
        As for `FusionClassifier`. A row in several test folds counts by its first one.

    Attributes
    ----------
    estimators_, named_estimators_, fuser_, out_of_fold_, n_features_in_, feature_names_in_
        As in `FusionClassifier`; ``out_of_fold_.members`` is (n_rows, n_members).
    y_range_ : ndarray of shape (2,)
        The least and the greatest number that is predicted, as in `FlockRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from covey import FusionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [Ridge(0.1), KNeighborsRegressor(15), DecisionTreeRegressor(max_depth=3)]
    >>> fused = FusionRegressor(members, fuser="median").fit(X, y)
    >>> fused.predict(X[:2]).round()
    array([200.,  83.])
    >>> fused.explain_fusion(X[:2], as_frame=True)
       ridge  kneighborsregressor  decisiontreeregressor
    0    ...
    """

    _models = roster.Regressors
