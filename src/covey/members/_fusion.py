"""Any classifiers, fitted here or elsewhere, fused into one."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from covey._blocks import as_table, in_blocks, take_rows
from covey._models import classifies, fit_member
from covey._validation import check_sample_weight
from covey.fusers import common_kind, concatenated, gather, make_fuser, member_output
from covey.members._fused import FusedClassifier
from covey.members._named import NamedMembers


class FusionClassifier(NamedMembers, FusedClassifier):
    """Fuses any classifiers into one decision, and says who decided.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members. They may look at different columns (Pipelines), have seen fewer classes,
        and have only ``decision_function`` or only ``predict`` where the rule allows.
    fuser : str or Fuser, default="mean"
        How to fuse: a name or an object of `covey.fusers`.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made for a fuser that learns. Any splitter works. Rows
        without an out-of-fold prediction (the first block of a time-ordered split) are left
        out, with a warning. A fixed rule needs none.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, and the rows
        given to ``fit`` are **taken as held out**: a fuser that learns learns from them
        directly, so they must not be rows that the members were trained on.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of estimators
        The fitted members.
    named_estimators_ : dict
        The same by name.
    fuser_ : Fuser
        The fitted fuser.
    kind_ : {"probability", "score", "label"}
        What the members are asked for.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

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

    def __init__(self, estimators, fuser="mean", *, cv=5, prefit=False, n_jobs=None):
        self.estimators = estimators
        self.fuser = fuser
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    _member_kind = "classifier"

    def _can_be_member(self, member):
        return classifies(member)

    # -- fit ---------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
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
            Passed to the splitter. With a number of folds, none divides a group.

        Returns
        -------
        self : FusionClassifier
        """
        pairs = self._named()
        fuser = make_fuser(self.fuser, "fuser")
        X, y = as_table(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        names = [name for name, _ in pairs]
        if self.prefit:
            members = [self._check_fitted(name, member) for name, member in pairs]
            self.classes_ = self._joint_classes(names, members, y)
        else:
            frozen = [(n, m) for n, m in pairs if isinstance(m, FrozenEstimator)]
            self.classes_ = (
                self._joint_classes(*zip(*frozen, strict=True), y) if frozen else np.unique(y)
            )
            if len(self.classes_) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs samples of at least 2 classes in y, got "
                    f"{len(self.classes_)} class: {self.classes_.tolist()}."
                )
            members = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_member)(clone(member), name, X, y, weight) for name, member in pairs
            )
        self.estimators_ = members
        self.named_estimators_ = dict(zip(names, members, strict=True))
        self.kind_ = common_kind(members, names, fuser)
        if self.prefit or not fuser.learns:
            P, rows = self._predictions(X), np.arange(len(y))
        else:
            P, rows = self._out_of_fold(pairs, X, y, weight, groups)
        fuser.fit(
            P,
            y[rows],
            take_rows(X, rows) if fuser.needs_X else None,
            None if weight is None else weight[rows],
        )
        self.fuser_ = fuser
        return self

    def _joint_classes(self, names, members, y):
        """All classes of fitted members and of y; a member that shares none is at fault."""
        labels = np.unique(y)
        given = [getattr(member, "classes_", None) for member in members]
        known = [labels if classes is None else np.asarray(classes) for classes in given]
        for name, classes in zip(names, known, strict=True):
            shared = classes.dtype.kind in "OUS" or labels.dtype.kind not in "OUS"
            if not (shared and np.isin(classes, labels).any()):
                raise ValueError(
                    f"The member {name!r} predicts the classes {classes.tolist()}, but y holds "
                    f"{labels.tolist()}; give labels as the members know them."
                )
        return np.unique(np.concatenate([labels, *known]))

    def _out_of_fold(self, pairs, X, y, weight, groups):
        """What members grown without a row say of it, and for which rows there is such."""
        names = [name for name, _ in pairs]
        folds = self._folds(X, y, groups)
        fitted = self._fit_folds(pairs, folds, X, y, weight)
        blocks = []
        for (_, test), members in zip(folds, fitted, strict=True):
            block = take_rows(X, test)
            outputs = [
                member_output(member, block, self.classes_, self.kind_, name)
                for name, member in zip(names, members, strict=True)
            ]
            # In a fold, a class that was never seen is one that the fold's rows lack.
            blocks.append(gather(outputs, self.classes_, names, self.kind_))
        rows, first = self._rows_held_out(folds, len(y), "the fuser learns")
        P = concatenated(blocks)
        return P.rows(first), rows

    # -- predict -----------------------------------------------------------------------------

    def _names(self):
        return list(self.named_estimators_)

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _member_values(self, X):
        """Probabilities if all members have them, whatever the fuser asks for."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else self.kind_).values

    def _by_blocks(self, function, X):
        return in_blocks(function, X)

    def _predictions(self, X, kind=None):
        kind = self.kind_ if kind is None else kind
        outputs = [
            member_output(member, X, self.classes_, kind, name)
            for name, member in self.named_estimators_.items()
        ]
        return gather(outputs, self.classes_, self._names(), kind)
