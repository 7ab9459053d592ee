"""Members from ensembles that sample: bagging, random subspaces, forests."""

import warnings

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from covey._core.out_of_bag import (
    mean_in_order,
    median_of_spoken,
    outside_bags,
    votes_of_spoken,
    with_stand_ins,
)
from covey._validation import check_choice
from covey.fusers import FUSERS, KNOP, Gate, Mean, MetaDES, Predictions, make_fuser
from covey.fusers._predictions import encode_labels
from covey.members._fitting import as_table, in_blocks, take_rows
from covey.members._fused import FusedClassifier
from covey.members._fused_regression import value_fuser
from covey.members._fusion_regression import FusionRegressor
from covey.members._outputs import common_kind, member_output
from covey.members._sampled_member import SampledClassifier, SampledRegressor
from covey.members._sampling import (
    BAGGING,
    FORESTS,
    HoldingOut,
    as_array,
    bags_of,
    check_ensemble,
    check_features,
    checked_rows,
    leaves_rows_out,
    said_by,
    seeded,
    weight_of,
)

# They compare what all members say of a sample, or mix it, and have no place for silence.
_HEAR_EVERYONE = (Gate, KNOP, MetaDES)


def from_bagging(
    ensemble, X, y, *, sample_weight=None, validation_fraction=0.2, random_state=None
):
    """The members of a bagging ensemble, for fusers and measures.

    Bagging [1]_ samples rows, random subspaces [2]_ sample columns, and random patches [3]_
    sample both: all of them are scikit-learn's ``BaggingClassifier`` and ``BaggingRegressor``,
    over any base.

    Parameters
    ----------
    ensemble : BaggingClassifier or BaggingRegressor
        If it is not fitted, a copy of it is fitted to X and y. If it is, it is used as it is,
        and X and y must be the rows that it was fitted on, in their order.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
        Passed to the ensemble's ``fit`` and to fusers that learn.
    validation_fraction : float, default=0.2
        The share of each class that is held out for a fuser that learns, if no member leaves a
        row out itself: see `SampledClassifiers.fuse`.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and seeds an ensemble that has no ``random_state``.

    Returns
    -------
    members : SampledClassifiers or SampledRegressors

    References
    ----------
    .. [1] Breiman, "Bagging predictors", Machine Learning 24(2), 1996.
    .. [2] Ho, "The random subspace method for constructing decision forests", IEEE TPAMI
       20(8), 1998.
    .. [3] Louppe and Geurts, "Ensembles on random patches", ECML PKDD 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from covey.members import from_bagging
    >>> X, y = load_wine(return_X_y=True)
    >>> patches = BaggingClassifier(GaussianNB(), 30, max_features=0.4, random_state=0)
    >>> members = from_bagging(patches, X, y)
    >>> members.feature_mask.sum(axis=1)[:4]
    array([5, 5, 5, 5])
    >>> members.out_of_bag_score(by="majority") > 0.9
    True
    """
    return _sampled(ensemble, BAGGING, X, y, sample_weight, validation_fraction, random_state)


def from_forest(ensemble, X, y, *, sample_weight=None, validation_fraction=0.2, random_state=None):
    """The trees of a random forest [1]_ or of extra trees [2]_, for fusers and measures.

    Parameters
    ----------
    ensemble : RandomForestClassifier, ExtraTreesClassifier or their regressors
        If it is not fitted, a copy of it is fitted to X and y. If it is, it is used as it is,
        and X and y must be the rows that it was fitted on, in their order.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
        Passed to the ensemble's ``fit`` and to fusers that learn.
    validation_fraction : float, default=0.2
        The share of each class that is held out for a fuser that learns, if the trees are grown
        without bootstrap: see `SampledClassifiers.fuse`.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and seeds an ensemble that has no ``random_state``.

    Returns
    -------
    members : SampledClassifiers or SampledRegressors

    References
    ----------
    .. [1] Breiman, "Random forests", Machine Learning 45(1), 2001.
    .. [2] Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63(1),
       2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from covey.inspection import diversity
    >>> from covey.members import from_forest
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = from_forest(RandomForestClassifier(30, random_state=0), X[::2], y[::2])
    >>> trees.out_of_bag_score() > 0.95
    True
    >>> diversity(trees.predictions(X[1::2]), y[1::2])["double_fault"] < 0.1
    True
    >>> trees.fuse("majority").score(X[1::2], y[1::2]) > 0.95
    True
    """
    return _sampled(ensemble, FORESTS, X, y, sample_weight, validation_fraction, random_state)


# -- all of them -----------------------------------------------------------------------------


class SampledMembers:
    """What members of both kinds have: see `SampledClassifiers` and `SampledRegressors`."""

    _rules = ()

    def __init__(self, ensemble, X, y, sample_weight, unfitted, holding_out=None):
        self.ensemble = ensemble
        self._X, self._y, self._sample_weight = X, y, sample_weight
        self._unfitted, self._holding_out = unfitted, holding_out
        self._is_forest = isinstance(ensemble, FORESTS)
        word = "tree" if self._is_forest else "member"
        self.names = [f"{word} {k}" for k in range(1, len(ensemble.estimators_) + 1)]
        self.bootstrap_rows = bags_of(ensemble, X.shape[0], sample_weight)
        self.out_of_bag = outside_bags(self.bootstrap_rows, X.shape[0])
        columns = [None] * len(self.names) if self._is_forest else ensemble.estimators_features_
        self.estimators = [
            self._member(member, mine)
            for member, mine in zip(ensemble.estimators_, columns, strict=True)
        ]
        self.feature_mask = np.zeros((len(self.names), ensemble.n_features_in_), dtype=bool)
        for mask, member, mine in zip(
            self.feature_mask, ensemble.estimators_, columns, strict=True
        ):
            # A tree marks its leaves by a negative number.
            mask[member.tree_.feature[member.tree_.feature >= 0] if mine is None else mine] = True
        self._out_of_bag_said = {}

    def __repr__(self):
        return f"{type(self).__name__}({len(self.names)} members of {self.ensemble!r})"

    @property
    def n_members(self):
        """How many members there are."""
        return len(self.names)

    def _shared(self):
        ensemble = self.ensemble
        return ensemble.n_features_in_, getattr(ensemble, "feature_names_in_", None)

    def _as_members_take(self, X):
        """The rows as members take them, converted once for all."""
        X = as_table(X)
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return as_array(X, self._is_forest)

    def _check_outside(self):
        if not self.out_of_bag.any():
            raise ValueError(
                "Every member has seen every row, so none is out of bag; grow the ensemble with "
                "bootstrap=True, or use rows that it was not fitted on."
            )

    def _check_rule(self, by):
        check_choice(by, "by", self._rules)
        self._check_outside()

    def _heard(self, what):
        """The rows of which some member speaks; a warning counts the others."""
        heard = self.out_of_bag.any(axis=1)
        silent = len(heard) - int(heard.sum())
        if silent:
            warnings.warn(
                f"{silent} of {len(heard)} rows are in every member's bag and {what}; grow more "
                "members.",
                UserWarning,
                stacklevel=3,
            )
        return heard


class SampledClassifiers(SampledMembers):
    """Classifiers that were grown on samples of rows, of columns or of both.

    `from_bagging` and `from_forest` make it. A member's *bag* holds the rows that it was grown
    on; what it says of the others is as good as held out, so fusers can learn from it and no
    fold is needed.

    Attributes
    ----------
    ensemble : fitted BaggingClassifier, RandomForestClassifier or ExtraTreesClassifier
    estimators : list of SampledClassifier
        The members; each takes the whole X.
    names : list of str
    classes : ndarray of shape (n_classes,)
    kind : {"probability", "label"}
        What the members say: labels, where they have no probabilities.
    feature_mask : ndarray of shape (n_members, n_features), bool
        The columns that each member may look at; for the trees of a forest, those that their
        nodes split on.
    bootstrap_rows : list of n_members arrays
        The rows that each member was grown on; a row may be there twice.
    out_of_bag : ndarray of shape (n_samples, n_members), bool
        Which rows each member was grown without.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from covey.members import from_forest
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = from_forest(RandomForestClassifier(20, random_state=0), X[::2], y[::2])
    >>> trees.out_of_bag.shape, trees.out_of_bag_predictions().kind
    ((89, 20), 'probability')
    >>> fused = trees.fuse("meta_des")
    >>> fused.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _rules = ("mean", "majority")

    def __init__(self, ensemble, X, y, sample_weight, unfitted, holding_out=None):
        super().__init__(ensemble, X, y, sample_weight, unfitted, holding_out)
        every = all(hasattr(member, "predict_proba") for member in self.estimators)
        self.kind = "probability" if every else "label"

    @property
    def classes(self):
        """The labels, as the ensemble orders them."""
        return self.ensemble.classes_

    def _member(self, member, columns):
        return SampledClassifier(member, columns, *self._shared(), self.ensemble.classes_)

    def predictions(self, X):
        """What every member says of new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        P : Predictions
            Probabilities where the members have them, else labels; what fusers and the
            measures of `covey.inspection` take.
        """
        return said_by(
            self.estimators, self.names, self.classes, self.kind, self._as_members_take(X)
        )

    def out_of_bag_predictions(self):
        """What members say of the training rows outside their bags.

        Returns
        -------
        P : Predictions
            Of all training rows; ``available`` says where a member was grown without the row.
        """
        self._check_outside()
        return self._out_of_bag(self.kind)

    def _out_of_bag(self, kind):
        if kind not in self._out_of_bag_said:
            X = as_array(self._X, self._is_forest)
            shape = (*self.out_of_bag.shape, len(self.classes))
            values = np.zeros(shape[:2], dtype=np.intp) if kind == "label" else np.zeros(shape)
            seen = np.ones(shape[1:], dtype=bool)
            for k, member in enumerate(self.estimators):
                rows = np.flatnonzero(self.out_of_bag[:, k])
                if len(rows):
                    values[rows, k], seen[k] = member_output(
                        member, take_rows(X, rows), self.classes, kind, self.names[k]
                    )
            if kind == "label":
                values = self.classes[values]
            self._out_of_bag_said[kind] = Predictions(
                values,
                self.classes,
                self.names,
                kind,
                available=self.out_of_bag,
                seen=None if kind == "label" or seen.all() else seen,
            )
        return self._out_of_bag_said[kind]

    def out_of_bag_decision(self, by="mean"):
        """What the members outside whose bags a row is decide together.

        Parameters
        ----------
        by : {"mean", "majority"}, default="mean"
            The mean of their probabilities (of votes, where they have none), which is
            scikit-learn's ``oob_decision_function_``; or shares of their votes.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_classes)
            NaN in rows that are in every bag; a warning counts them.
        """
        self._check_rule(by)
        self._heard("have no out-of-bag decision (NaN)")
        return self._decided(by)

    def _decided(self, by):
        if by == "mean":
            return mean_in_order(self._out_of_bag(self.kind).values, self.out_of_bag)
        # Votes are what members decide, which need not be their highest probability.
        labels = self._out_of_bag("label").labels
        return votes_of_spoken(labels, self.out_of_bag, len(self.classes))

    def out_of_bag_score(self, by="mean", sample_weight=None):
        """Accuracy of the out-of-bag decision.

        Parameters
        ----------
        by : {"mean", "majority"}, default="mean"
            As for ``out_of_bag_decision``.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. By default all alike, also where the ensemble was fitted
            with weights, as in scikit-learn's ``oob_score_``.

        Returns
        -------
        accuracy : float
            Rows that are in every bag are left out, with a warning. (scikit-learn's
            ``oob_score_`` counts them as decided for the first class.)
        """
        self._check_rule(by)
        heard = self._heard("are left out of the score")
        decided = self.classes[self._decided(by)[heard].argmax(axis=1)]
        weight = weight_of(sample_weight, heard)
        return float(accuracy_score(self._y[heard], decided, sample_weight=weight))

    def fuse(self, fuser="mean"):
        """A classifier that fuses these members.

        A rule that learns does so from out-of-bag predictions: of each row it hears the members
        grown without it. (Rows in every bag are left out, with a warning.) `Gate`, `KNOP` and
        `MetaDES` have no place for members that are silent; for them the mean of those who
        speak stands in.

        Where every member has seen every row (extra trees, random subspaces of all rows) a rule
        that learns needs rows that none has seen: ``validation_fraction`` of each class is held
        out, and the ensemble is **grown anew on the others**.

        Parameters
        ----------
        fuser : str or Fuser, default="mean"
            A name or an object of `covey.fusers`. "mean" says what the ensemble itself says.

        Returns
        -------
        fused : SampledFusionClassifier
            Fitted.
        """
        rule = make_fuser(fuser, "fuser")
        fused = SampledFusionClassifier(
            self.ensemble if self._unfitted is None else self._unfitted,
            fuser,
            validation_fraction=self._holding_out.fraction,
            random_state=self._holding_out.random_state,
        )
        validate_data(fused, self._X, skip_check_array=True)
        check_features(rule, self._X)
        if not rule.learns or self.out_of_bag.any():
            return fused._take(self._taught(rule), rule)
        if self._unfitted is None:
            raise ValueError(
                f"{type(rule).__name__} learns, but every member of the fitted ensemble has seen "
                "every row; give the ensemble unfitted, so that rows can be held out, or use "
                "FusionClassifier(members.estimators, prefit=True) on rows that it has not seen."
            )
        data = self._X, self._y, self._sample_weight
        return fused._take(_grown_without(self._unfitted, *data, self._holding_out, rule), rule)

    def _taught(self, fuser):
        """Self, after the fuser has learnt from out-of-bag predictions what it has to."""
        kind = common_kind(self.estimators, self.names, fuser)
        if not fuser.learns:
            one = as_array(take_rows(self._X, np.arange(1)), self._is_forest)
            fuser.fit(said_by(self.estimators, self.names, self.classes, kind, one))
            return self
        rows = np.flatnonzero(self._heard("teach the fuser nothing"))
        P = self._out_of_bag(kind).rows(rows)
        if isinstance(fuser, _HEAR_EVERYONE):
            values = with_stand_ins(P.values, P.available)
            P = Predictions(values, P.classes, P.names, kind, seen=P.seen)
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        X = take_rows(self._X, rows) if fuser.needs_X else None
        fuser.fit(P, self._y[rows], X, weight)
        return self


class SampledRegressors(SampledMembers):
    """Regressors that were grown on samples of rows, of columns or of both.

    `from_bagging` and `from_forest` make it.

    Attributes
    ----------
    ensemble : fitted BaggingRegressor, RandomForestRegressor or ExtraTreesRegressor
    estimators : list of SampledRegressor
        The members; each takes the whole X.
    names : list of str
    feature_mask : ndarray of shape (n_members, n_features), bool
        The columns that each member may look at; for the trees of a forest, those that their
        nodes split on.
    bootstrap_rows : list of n_members arrays
        The rows that each member was grown on; a row may be there twice.
    out_of_bag : ndarray of shape (n_samples, n_members), bool
        Which rows each member was grown without.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from covey.members import from_forest
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = from_forest(RandomForestRegressor(20, random_state=0), X, y)
    >>> trees.predictions(X[:3]).values[:, :, 0].shape
    (3, 20)
    >>> trees.out_of_bag_score(by="mean") > 0.3
    True
    """

    _rules = ("mean", "median")

    def _member(self, member, columns):
        return SampledRegressor(member, columns, *self._shared())

    def predictions(self, X):
        """What every member says of new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        P : Predictions
            Of kind "value"; ``P.values[:, :, 0]`` is of shape (n_samples, n_members).
        """
        X = self._as_members_take(X)
        values = np.stack([member.predict(X) for member in self.estimators], axis=1)
        return Predictions(values[:, :, None], names=self.names, kind="value")

    def out_of_bag_predictions(self):
        """What members say of the training rows outside their bags.

        Returns
        -------
        P : Predictions
            Of kind "value", of all training rows; ``available`` says where a member was grown
            without the row.
        """
        self._check_outside()
        if "value" not in self._out_of_bag_said:
            X = as_array(self._X, self._is_forest)
            values = np.zeros(self.out_of_bag.shape)
            for k, member in enumerate(self.estimators):
                rows = np.flatnonzero(self.out_of_bag[:, k])
                if len(rows):
                    values[rows, k] = member.predict(take_rows(X, rows))
            self._out_of_bag_said["value"] = Predictions(
                values[:, :, None], names=self.names, kind="value", available=self.out_of_bag
            )
        return self._out_of_bag_said["value"]

    def out_of_bag_decision(self, by="mean"):
        """The value that the members outside whose bags a row is settle on.

        Parameters
        ----------
        by : {"mean", "median"}, default="mean"
            Their mean, which is scikit-learn's ``oob_prediction_``, or their median.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            NaN in rows that are in every bag; a warning counts them.
        """
        self._check_rule(by)
        self._heard("have no out-of-bag decision (NaN)")
        return self._decided(by)

    def _decided(self, by):
        settle = mean_in_order if by == "mean" else median_of_spoken
        return settle(self.out_of_bag_predictions().values, self.out_of_bag)[:, 0]

    def out_of_bag_score(self, by="mean", sample_weight=None):
        """R^2 of the out-of-bag decision.

        Parameters
        ----------
        by : {"mean", "median"}, default="mean"
            As for ``out_of_bag_decision``.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; by default all alike.

        Returns
        -------
        r2 : float
            Rows that are in every bag are left out, with a warning. (scikit-learn's
            ``oob_score_`` counts them as predicted 0.)
        """
        self._check_rule(by)
        heard = self._heard("are left out of the score")
        weight = weight_of(sample_weight, heard)
        return float(r2_score(self._y[heard], self._decided(by)[heard], sample_weight=weight))

    def fuse(self, fuser="mean"):
        """A regressor that fuses these members.

        A rule that learns does so from out-of-bag predictions. Where every member has seen
        every row there are none; use ``FusionRegressor(members.estimators, prefit=True)`` on
        rows that the ensemble has not seen.

        Parameters
        ----------
        fuser : str or Fuser, default="mean"
            "mean", "median", "trimmed_mean", "linear_stacking", or an object of `covey.fusers`.

        Returns
        -------
        fused : FusionRegressor
            Fitted.
        """
        rule = value_fuser(fuser, "fuser")
        pairs = list(zip(self.names, self.estimators, strict=True))
        fused = FusionRegressor(pairs, fuser, prefit=True)
        if not rule.learns:
            return fused.fit(self._X, self._y)
        self._check_outside()
        rows = np.flatnonzero(self._heard("teach the fuser nothing"))
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        return fused._take(
            self.out_of_bag_predictions().rows(rows), rule, self._X, self._y[rows], weight
        )


# -- the fused classifier --------------------------------------------------------------------


class SampledFusionClassifier(FusedClassifier):
    """Grows an ensemble that samples, and fuses its members by any rule.

    A rule that learns does so from out-of-bag predictions, so nothing is fitted twice. Where
    every member sees every row (extra trees, random subspaces of all rows), it learns from
    rows that are held out, and the ensemble is grown on the others.

    Parameters
    ----------
    ensemble : classifier
        scikit-learn's ``BaggingClassifier``, ``RandomForestClassifier`` or
        ``ExtraTreesClassifier``. A copy of it is fitted.
    fuser : str or Fuser, default="mean"
        How to fuse: a name or an object of `covey.fusers`. "mean" says what the ensemble
        itself says.
    validation_fraction : float, default=0.2
        The share of each class that is held out, where one has to be.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and seeds an ensemble that has no ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : classifier
        The fitted ensemble.
    estimators_ : list of SampledClassifier
        Its members; each takes the whole X.
    fuser_ : Fuser
        The fitted fuser.
    kind_ : {"probability", "score", "label"}
        What the members are asked for.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from covey import SampledFusionClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = ExtraTreesClassifier(20, random_state=0)
    >>> fused = SampledFusionClassifier(trees, "knora_e", random_state=0).fit(X[::2], y[::2])
    >>> fused.score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(self, ensemble, fuser="mean", *, validation_fraction=0.2, random_state=None):
        self.ensemble = ensemble
        self.fuser = fuser
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the ensemble's ``fit`` and to a fuser that learns.

        Returns
        -------
        self : SampledFusionClassifier
        """
        fuser = make_fuser(self.fuser, "fuser")
        check_ensemble(self.ensemble, BAGGING + FORESTS)
        if not is_classifier(self.ensemble):
            raise TypeError(
                f"ensemble must grow classifiers, but {type(self.ensemble).__name__} grows "
                "regressors."
            )
        holding_out = HoldingOut(self.validation_fraction, self.random_state)
        X, y, weight = checked_rows(X, y, sample_weight, classifies=True)
        validate_data(self, X, skip_check_array=True)
        check_features(fuser, X)
        unfitted = seeded(self.ensemble, holding_out.seed)
        if not fuser.learns or leaves_rows_out(unfitted, len(y)):
            return self._take(_grown(unfitted, X, y, weight)._taught(fuser), fuser)
        return self._take(_grown_without(unfitted, X, y, weight, holding_out, fuser), fuser)

    def _take(self, source, fuser):
        """Become the fitted classifier of these members and this fuser."""
        self.classes_ = source.classes
        self.ensemble_ = source.ensemble
        self.estimators_, self._member_names = source.estimators, source.names
        self.kind_ = common_kind(source.estimators, source.names, fuser)
        self.fuser_ = fuser
        return self

    def _names(self):
        return self._member_names

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _predictions(self, X, kind=None):
        X = as_array(X, isinstance(self.ensemble_, FORESTS))
        kind = self.kind_ if kind is None else kind
        return said_by(self.estimators_, self._member_names, self.classes_, kind, X)

    def _said(self, X):
        """Probabilities if the members have them, whatever the fuser asks for."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else self.kind_).values

    def _fused(self, X):
        if type(self.fuser_) is Mean and self.fuser_.weights is None:
            # What the ensemble itself says, to the last bit.
            return mean_in_order(self._predictions(X).values)
        return super()._fused(X)

    def _fused_log(self, X):
        if type(self.fuser_) is Mean and self.fuser_.weights is None:
            with np.errstate(divide="ignore"):
                return np.log(self._fused(X))
        return super()._fused_log(X)

    def _by_blocks(self, function, X):
        return in_blocks(function, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.ensemble, "__sklearn_tags__"):
            inner = get_tags(self.ensemble).input_tags
            known = isinstance(self.fuser, str) and self.fuser in FUSERS
            fuser = FUSERS[self.fuser]() if known else self.fuser
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan and not getattr(fuser, "needs_X", False)
        return tags


# -- how they are grown ----------------------------------------------------------------------


def _sampled(ensemble, known, X, y, sample_weight, validation_fraction, random_state):
    check_ensemble(ensemble, known)
    holding_out = HoldingOut(validation_fraction, random_state)
    X, y, weight = checked_rows(X, y, sample_weight, is_classifier(ensemble))
    if not hasattr(ensemble, "estimators_"):
        return _grown(seeded(ensemble, holding_out.seed), X, y, weight, holding_out)
    if getattr(ensemble, "n_outputs_", 1) > 1:
        raise ValueError(
            f"The ensemble was fitted to {ensemble.n_outputs_} outputs; fit one for each."
        )
    validate_data(ensemble, X, reset=False, skip_check_array=True)
    if is_classifier(ensemble):
        encode_labels(y, ensemble.classes_, "y holds")
    return _source(ensemble)(ensemble, X, y, weight, None, holding_out)


def _source(ensemble):
    return SampledClassifiers if is_classifier(ensemble) else SampledRegressors


def _grown(unfitted, X, y, weight, holding_out=None):
    """The members of a copy of the ensemble, fitted here."""
    ensemble = clone(unfitted)
    if weight is None:
        ensemble.fit(X, y)
    else:
        ensemble.fit(X, y, sample_weight=weight)
    return _source(ensemble)(ensemble, X, y, weight, unfitted, holding_out)


def _grown_without(unfitted, X, y, weight, holding_out, fuser):
    """Members grown without some rows, from which the fuser has then learnt."""
    others, held_out = holding_out.split(y, weight)
    weights = [None if weight is None else weight[rows] for rows in (others, held_out)]
    source = _grown(unfitted, take_rows(X, others), y[others], weights[0])
    rows = take_rows(X, held_out)
    kind = common_kind(source.estimators, source.names, fuser)
    P = said_by(
        source.estimators, source.names, source.classes, kind, as_array(rows, source._is_forest)
    )
    fuser.fit(P, y[held_out], rows if fuser.needs_X else None, weights[1])
    return source
