"""The members of ensembles that sample, with their bags, and how they are grown."""

import warnings

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import validate_data

from covey._blocks import as_table, take_rows
from covey._core.fusion.out_of_bag import (
    mean_in_order,
    median_of_spoken,
    outside_bags,
    votes_of_spoken,
    with_stand_ins,
)
from covey._validation import check_choice
from covey.fusers import KNOP, Gate, MetaDES, Predictions, common_kind, member_output
from covey.members._fused import said
from covey.members._sampled_member import SampledClassifier, SampledRegressor
from covey.members._sampling import (
    FORESTS,
    as_array,
    bags_of,
    check_features,
    said_by,
    weight_of,
)

# They compare what all members say of a sample, or mix it, and have no place for silence.
_HEAR_EVERYONE = (Gate, KNOP, MetaDES)


class SampledMembers:
    """What members of both kinds have: see `SampledClassifiers` and `SampledRegressors`.

    A subclass says by ``_rules`` how out-of-bag predictions are settled, and writes
    ``_member``, ``_fusion``, ``_kind_for``, ``_say`` and ``_out_of_bag``.
    """

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

    def predictions(self, X):
        """What every member says of new rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        P : Predictions
            What fusers and the measures of `covey.inspection` take: probabilities where the
            members have them, else labels; of regressors numbers, of kind "value".
        """
        X = as_table(X)
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return self._say(X, self.kind)

    def out_of_bag_predictions(self):
        """What members say of the training rows outside their bags.

        Returns
        -------
        P : Predictions
            Of all training rows; ``available`` says where a member was grown without the row.
        """
        self._check_outside()
        return self._out_of_bag(self.kind)

    def fuse(self, fuser="mean"):
        """One model that fuses these members.

        A rule that learns does so from out-of-bag predictions: of each row it hears the members
        grown without it. (Rows in every bag are left out, with a warning.) `Gate`, `KNOP` and
        `MetaDES` have no place for members that are silent; for them the mean of those who
        speak stands in.

        Where every member has seen every row (extra trees, random subspaces of all rows) a rule
        that learns needs rows that none has seen: ``validation_fraction`` of them (of each
        class) is held out, and the ensemble is **grown anew on the others**.

        Parameters
        ----------
        fuser : str or Fuser, default="mean"
            A name or an object of `covey.fusers`; for regressors one of numbers. "mean" says
            what the ensemble itself says.

        Returns
        -------
        fused : SampledFusionClassifier or SampledFusionRegressor
            Fitted. A copy of it that is fitted to other rows grows the ensemble on them.
        """
        kind = self._fusion()
        rule = kind._rule(fuser)
        fused = kind(
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
                f"{self._over_given}(members.estimators, prefit=True) on rows that it has not "
                "seen."
            )
        data = self._X, self._y, self._sample_weight
        return fused._take(grown_without(self._unfitted, *data, self._holding_out, rule), rule)

    def _taught(self, fuser):
        """Self, after the fuser has learnt from out-of-bag predictions what it has to."""
        kind = self._kind_for(fuser)
        if not fuser.learns:
            fuser.fit(self._say(take_rows(self._X, np.arange(1)), kind))
            return self
        rows = np.flatnonzero(self._heard("teach the fuser nothing"))
        P = self._out_of_bag(kind).rows(rows)
        if isinstance(fuser, _HEAR_EVERYONE):
            values = with_stand_ins(P.values, P.available)
            P = Predictions(values, P.classes, P.names, kind, seen=P.seen)
        weight = None if self._sample_weight is None else self._sample_weight[rows]
        if weight is not None and not weight.any():
            of_which = " of each class" if is_classifier(self.ensemble) else ""
            raise ValueError(
                f"{type(fuser).__name__} learns from out-of-bag rows, but all those{of_which} "
                "have sample_weight 0; grow more members, or take a rule that does not learn."
            )
        X = take_rows(self._X, rows) if fuser.needs_X else None
        fuser.fit(P, self._y[rows], X, weight)
        return self


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
    _over_given = "FusionClassifier"

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

    def _fusion(self):
        # The estimator grows its members here.
        from covey.members._sampled import SampledFusionClassifier

        return SampledFusionClassifier

    def _kind_for(self, fuser):
        return common_kind(self.estimators, self.names, fuser)

    def _say(self, X, kind):
        X = as_array(X, self._is_forest)
        return said_by(self.estimators, self.names, self.classes, kind, X)

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


class SampledRegressors(SampledMembers):
    """Regressors that were grown on samples of rows, of columns or of both.

    `from_bagging` and `from_forest` make it. Bags are as for `SampledClassifiers`.

    Attributes
    ----------
    ensemble : fitted BaggingRegressor, RandomForestRegressor or ExtraTreesRegressor
    estimators : list of SampledRegressor
        The members; each takes the whole X.
    names : list of str
    kind : "value"
        What the members say.
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
    _over_given = "FusionRegressor"
    kind = "value"

    def _member(self, member, columns):
        return SampledRegressor(member, columns, *self._shared())

    def _fusion(self):
        # The estimator grows its members here.
        from covey.members._sampled import SampledFusionRegressor

        return SampledFusionRegressor

    def _kind_for(self, fuser):
        return self.kind

    def _say(self, X, kind):
        values = said(self.names, self.estimators, as_array(X, self._is_forest))
        return Predictions(values, names=self.names, kind=kind)

    def _out_of_bag(self, kind):
        if kind not in self._out_of_bag_said:
            X = as_array(self._X, self._is_forest)
            values = np.zeros(self.out_of_bag.shape)
            for k, (name, member) in enumerate(zip(self.names, self.estimators, strict=True)):
                rows = np.flatnonzero(self.out_of_bag[:, k])
                if len(rows):
                    values[rows, k] = said([name], [member], take_rows(X, rows))[:, 0]
            self._out_of_bag_said[kind] = Predictions(
                values, names=self.names, kind=kind, available=self.out_of_bag
            )
        return self._out_of_bag_said[kind]

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


# -- how they are grown ----------------------------------------------------------------------


def members_of(ensemble, X, y, weight, unfitted, holding_out=None):
    """The members of a fitted ensemble, of either kind."""
    kind = SampledClassifiers if is_classifier(ensemble) else SampledRegressors
    return kind(ensemble, X, y, weight, unfitted, holding_out)


def grown(unfitted, X, y, weight, holding_out=None):
    """The members of a copy of the ensemble, fitted here."""
    ensemble = clone(unfitted)
    if weight is None:
        ensemble.fit(X, y)
    else:
        ensemble.fit(X, y, sample_weight=weight)
    return members_of(ensemble, X, y, weight, unfitted, holding_out)


def grown_without(unfitted, X, y, weight, holding_out, fuser):
    """Members grown without some rows, from which the fuser has then learnt."""
    others, held_out = holding_out.split(y if is_classifier(unfitted) else None, weight, len(y))
    weights = [None if weight is None else weight[rows] for rows in (others, held_out)]
    source = grown(unfitted, take_rows(X, others), y[others], weights[0])
    rows = take_rows(X, held_out)
    P = source._say(rows, source._kind_for(fuser))
    fuser.fit(P, y[held_out], rows if fuser.needs_X else None, weights[1])
    return source
