"""Any classifiers, fitted here or elsewhere, fused into one."""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from covey._validation import check_sample_weight
from covey.fusers import make_fuser
from covey.members._fused import ROWS_PER_BLOCK, FusedClassifier
from covey.members._outputs import common_kind, gather, member_output


def as_table(X):
    """What members are given: arrays, sparse matrices and frames as they are."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, got shape {X.shape}. Reshape your "
            "data: X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
        )
    return X


def take_rows(X, rows):
    """Some rows of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if hasattr(X, "tocsr") else X[rows]


def _fit_member(member, name, X, y, sample_weight):
    if sample_weight is None or isinstance(member, FrozenEstimator):
        return member.fit(X, y)
    if has_fit_parameter(member, "sample_weight"):
        return member.fit(X, y, sample_weight=sample_weight)
    if isinstance(member, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return member.fit(X, y, sample_weight=sample_weight)
        if has_fit_parameter(member[-1], "sample_weight"):
            step = member.steps[-1][0]
            return member.fit(X, y, **{f"{step}__sample_weight": sample_weight})
    raise TypeError(f"The member {name!r} cannot be fitted with sample_weight.")


def _fit_on_rows(member, name, X, y, sample_weight, rows, fold):
    weight = None if sample_weight is None else sample_weight[rows]
    try:
        return _fit_member(clone(member), name, take_rows(X, rows), y[rows], weight)
    except ValueError as error:
        raise ValueError(
            f"The member {name!r} cannot be fitted on the rows of fold {fold}: {error}"
        ) from error


def _classifies(member):
    """Whether an object can be a member; models from elsewhere need not be scikit-learn's."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_classifier(member) if hasattr(member, "__sklearn_tags__") else True


class FusionClassifier(FusedClassifier):
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

    # -- the members -------------------------------------------------------------------------

    def _named(self):
        """The members as (name, estimator) pairs; members without a name get their class's."""
        if not isinstance(self.estimators, list | tuple) or not len(self.estimators):
            raise ValueError(
                "estimators must be a non-empty list of (name, estimator) pairs or estimators, "
                f"got {self.estimators!r}."
            )
        pairs = []
        for entry in self.estimators:
            if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
                name, member = entry
            else:
                name, member = type(entry).__name__.lower(), entry
                taken = {other for other, _ in pairs}
                number = 2
                while name in taken:
                    name = f"{type(entry).__name__.lower()}-{number}"
                    number += 1
            if not _classifies(member):
                raise ValueError(f"The member {name!r} is not a classifier: {member!r}.")
            if "__" in name or name in self._get_param_names():
                raise ValueError(
                    f"The member name {name!r} must not contain '__', nor be a parameter of "
                    f"{type(self).__name__}."
                )
            pairs.append((name, member))
        names = [name for name, _ in pairs]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"The member names must differ, but {repeated.pop()!r} is repeated.")
        return pairs

    def get_params(self, deep=True):
        """Parameters of this estimator and, if ``deep``, of its named members."""
        params = super().get_params(deep=deep)
        if deep and isinstance(self.estimators, list | tuple):
            for entry in self.estimators:
                if (
                    isinstance(entry, tuple)
                    and len(entry) == 2
                    and hasattr(entry[1], "get_params")
                ):
                    name, member = entry
                    params[name] = member
                    for key, value in member.get_params(deep=True).items():
                        params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params):
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``)."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        members = {
            entry[0]: position
            for position, entry in enumerate(given)
            if isinstance(entry, tuple) and len(entry) == 2
        }
        for key in list(params):
            if key in members:
                replaced = list(self.estimators)
                replaced[members[key]] = (key, params.pop(key))
                self.estimators = replaced
        own = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if rest and name in members:
                self.estimators[members[name]][1].set_params(**{rest: value})
            else:
                own[key] = value
        super().set_params(**own)
        return self

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
            Passed to the splitter.

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
                delayed(_fit_member)(clone(member), name, X, y, weight) for name, member in pairs
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

    def _check_fitted(self, name, member):
        try:
            check_is_fitted(member)
        except NotFittedError:
            raise NotFittedError(
                f"The member {name!r} is not fitted; fit it, or use prefit=False."
            ) from None
        except (AttributeError, TypeError):
            pass  # no estimator of scikit-learn's kind: it will predict, or say why not
        return member

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
        splitter = check_cv(self.cv, y, classifier=True)
        try:
            folds = list(splitter.split(X, y, groups))
        except ValueError as error:
            raise ValueError(f"{self._cv_name()} cannot split these rows: {error}") from None
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_on_rows)(member, name, X, y, weight, train, number)
            for number, (train, _) in enumerate(folds, start=1)
            for name, member in pairs
        )
        blocks, rows = [], []
        for number, (_, test) in enumerate(folds):
            members = fitted[number * len(pairs) : (number + 1) * len(pairs)]
            block = take_rows(X, test)
            outputs = [
                member_output(member, block, self.classes_, self.kind_, name)
                for name, member in zip(names, members, strict=True)
            ]
            # In a fold, a class that was never seen is one that the fold's rows lack.
            blocks.append(gather(outputs, self.classes_, names, self.kind_))
            rows.append(test)
        rows = np.concatenate(rows)
        P = _concatenated(blocks)
        # A row in several test folds counts by its first one.
        rows, first = np.unique(rows, return_index=True)
        if len(rows) == 0:
            raise ValueError(f"{self._cv_name()} yields no out-of-fold row to learn from.")
        if len(rows) < len(y):
            warnings.warn(
                f"{len(y) - len(rows)} of {len(y)} rows have no out-of-fold prediction under "
                f"{self._cv_name()}; the fuser learns from the other {len(rows)}.",
                UserWarning,
                stacklevel=3,
            )
        return P.rows(first), rows

    def _cv_name(self):
        known = isinstance(self.cv, int) or hasattr(self.cv, "split")
        return f"cv={self.cv!r}" if known else "The given cv"

    # -- predict -----------------------------------------------------------------------------

    def _names(self):
        return list(self.named_estimators_)

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _said(self, X):
        """Probabilities if all members have them, whatever the fuser asks for."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else self.kind_).values

    def _by_blocks(self, function, X):
        """In blocks of rows: what the members say of all of them may not fit into memory."""
        n_rows = X.shape[0]
        if n_rows <= ROWS_PER_BLOCK:
            return function(X)
        starts = range(0, n_rows, ROWS_PER_BLOCK)
        blocks = (take_rows(X, slice(start, start + ROWS_PER_BLOCK)) for start in starts)
        return np.concatenate([function(block) for block in blocks])

    def _predictions(self, X, kind=None):
        kind = self.kind_ if kind is None else kind
        outputs = [
            member_output(member, X, self.classes_, kind, name)
            for name, member in self.named_estimators_.items()
        ]
        return gather(outputs, self.classes_, self._names(), kind)

    def __sklearn_tags__(self):
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        members = [
            entry[1] if isinstance(entry, tuple) else entry
            for entry in (self.estimators if isinstance(self.estimators, list | tuple) else [])
        ]
        inner = [get_tags(member) for member in members if hasattr(member, "fit")]
        tags.input_tags.sparse = bool(inner) and all(tag.input_tags.sparse for tag in inner)
        tags.input_tags.allow_nan = bool(inner) and all(tag.input_tags.allow_nan for tag in inner)
        return tags


def _concatenated(blocks):
    """Predictions of different samples by the same members."""
    first = blocks[0]
    seen = None
    if any(block.seen is not None for block in blocks):
        known = np.ones((first.n_members, first.n_classes), dtype=bool)
        seen = np.all([known if block.seen is None else block.seen for block in blocks], axis=0)
    values = [block.labels if first.kind == "label" else block.values for block in blocks]
    values = np.concatenate(values)
    if first.kind == "label":
        values = first.classes[values]
    return type(first)(values, first.classes, first.names, first.kind, seen=seen)
