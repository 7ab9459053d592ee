"""Linear stacking of any classifiers or regressors, with weights learnt out of fold."""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from covey._core.stacking_weights import squared_weights
from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import LinearStacking
from covey.members import FusionClassifier
from covey.members._fusion import _fit_member, _fit_on_rows, as_table, take_rows

__all__ = ["LinearStackingClassifier", "LinearStackingRegressor"]


class LinearStackingClassifier(FusionClassifier):
    """A weighted sum of classifiers, its weights learnt from out-of-fold predictions.

    Weights that are learnt from the rows that the members were fitted on go to the member that
    has learnt those rows by heart. Here they are learnt from what members say of rows that they
    were fitted without; the members are then fitted again on all rows. A `FusionClassifier`
    with the fuser `LinearStacking`.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members.
    loss : {"squared", "log"}, default="squared"
        What the weights minimise: the Brier score, or the log-loss.
    nonnegative : bool, default=True
        Whether weights must not be negative.
    sum_to_one : bool, default=True
        Whether weights must sum to one.
    uniform_penalty : float, default=0.0
        How strongly weights are drawn towards 1/K, against the mean loss of a row.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made. Rows without one are left out, with a warning.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of estimators
        The members, fitted on all rows.
    named_estimators_ : dict
        The same by name.
    fuser_ : LinearStacking
        The fitted fuser.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from covey import LinearStackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearStackingClassifier([GaussianNB(), DummyClassifier()]).fit(X, y).weights_.round(1)
    array([1., 0.])
    """

    # The members are always fitted here.
    prefit = False

    def __init__(
        self,
        estimators,
        *,
        loss="squared",
        nonnegative=True,
        sum_to_one=True,
        uniform_penalty=0.0,
        cv=5,
        n_jobs=None,
    ):
        self.estimators = estimators
        self.loss = loss
        self.nonnegative = nonnegative
        self.sum_to_one = sum_to_one
        self.uniform_penalty = uniform_penalty
        self.cv = cv
        self.n_jobs = n_jobs

    @property
    def fuser(self):
        """The fuser that is fitted."""
        return LinearStacking(self.loss, self.nonnegative, self.sum_to_one, self.uniform_penalty)

    @property
    def weights_(self):
        """The members' weights, as found."""
        return self.fuser_.weights_

    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the weights out of fold, and fit the members on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the members as it is.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to every member, and counted in the loss.
        groups : array-like of shape (n_samples,), optional
            Passed to the splitter.

        Returns
        -------
        self : LinearStackingClassifier
        """
        # Bad parameters are told before members are fitted, which may take long.
        self.fuser._check_parameters(None)
        return super().fit(X, y, sample_weight=sample_weight, groups=groups)

    def _out_of_fold(self, pairs, X, y, weight, groups):
        if not hasattr(self.cv, "__next__"):  # a generator can be asked only once
            _folds(self, X, y, groups, classifier=True)
        return super()._out_of_fold(pairs, X, y, weight, groups)


class LinearStackingRegressor(RegressorMixin, _BaseComposition):
    r"""A weighted sum of regressors, its weights learnt from out-of-fold predictions.

    .. math:: \hat w = \arg\min_w \frac{1}{n} \sum_i
              \frac{(y_i - \sum_k w_k f_k^{-i}(x_i))^2}{\mathrm{var}(y)}
              + \lambda \sum_k \Big(w_k - \frac{1}{K}\Big)^2

    where :math:`f_k^{-i}` was fitted without the fold of row i. The members are then fitted
    again on all rows. Dividing by the variance of y makes :math:`\lambda` mean the same in any
    unit.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members.
    loss : {"squared"}, default="squared"
        What the weights minimise; there is no log-loss of a regressor.
    nonnegative : bool, default=True
        Whether weights must not be negative.
    sum_to_one : bool, default=True
        Whether weights must sum to one: what all members are wrong by is then left as it is.
    uniform_penalty : float, default=0.0
        :math:`\lambda`, which draws all weights towards 1/K; a large one is the mean.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made. Any splitter works. Rows without one are left
        out, with a warning; a row in several test folds counts by its first one.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
    estimators_ : list of estimators
        The members, fitted on all rows.
    named_estimators_ : dict
        The same by name.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> from covey import LinearStackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stack = LinearStackingRegressor([LinearRegression(), DummyRegressor()]).fit(X, y)
    >>> stack.weights_.round(1)
    array([1., 0.])
    """

    def __init__(
        self,
        estimators,
        *,
        loss="squared",
        nonnegative=True,
        sum_to_one=True,
        uniform_penalty=0.0,
        cv=5,
        n_jobs=None,
    ):
        self.estimators = estimators
        self.loss = loss
        self.nonnegative = nonnegative
        self.sum_to_one = sum_to_one
        self.uniform_penalty = uniform_penalty
        self.cv = cv
        self.n_jobs = n_jobs

    # -- the members -------------------------------------------------------------------------

    def get_params(self, deep=True):
        """Parameters of this estimator and, if ``deep``, of its named members."""
        if self._all_named():
            return self._get_params("estimators", deep=deep)
        return BaseEstimator.get_params(self, deep=deep)

    def set_params(self, **params):
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``)."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if self._all_named():
            self._set_params("estimators", **params)
        else:
            BaseEstimator.set_params(self, **params)
        return self

    def _all_named(self):
        return isinstance(self.estimators, list) and all(map(_is_pair, self.estimators))

    def _named(self):
        """The members as (name, estimator) pairs; members without a name get their class's."""
        if not isinstance(self.estimators, list | tuple) or not len(self.estimators):
            raise ValueError(
                "estimators must be a non-empty list of (name, estimator) pairs or estimators, "
                f"got {self.estimators!r}."
            )
        members = {}
        for entry in self.estimators:
            if _is_pair(entry):
                name, member = entry
                if name in members:
                    raise ValueError(f"The member names must differ, but {name!r} is repeated.")
            else:
                kind, member = type(entry).__name__.lower(), entry
                name, number = kind, 2
                while name in members:
                    name, number = f"{kind}-{number}", number + 1
            if not _regresses(member):
                raise ValueError(f"The member {name!r} is not a regressor: {member!r}.")
            if "__" in name or name in self._get_param_names():
                raise ValueError(
                    f"The member name {name!r} must not contain '__', nor be a parameter of "
                    f"{type(self).__name__}."
                )
            members[name] = member
        return list(members.items())

    # -- fit ---------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the weights out of fold, and fit the members on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the members as it is.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to every member, and counted in the loss.
        groups : array-like of shape (n_samples,), optional
            Passed to the splitter.

        Returns
        -------
        self : LinearStackingRegressor
        """
        pairs = self._named()
        check_choice(self.loss, "loss", ("squared",))
        check_number(self.uniform_penalty, "uniform_penalty", low=0)
        X = as_table(X)
        y = check_array(
            column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        check_consistent_length(X, y)
        validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        said, rows = self._out_of_fold(pairs, X, y, weight, groups)
        self.weights_ = self._learn(
            said, y[rows], np.ones(len(rows)) if weight is None else weight[rows]
        )
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_member)(clone(member), name, X, y, weight) for name, member in pairs
        )
        names = [name for name, _ in pairs]
        self.named_estimators_ = dict(zip(names, self.estimators_, strict=True))
        return self

    def _learn(self, said, y, weight):
        centre = np.average(y, weights=weight)
        spread = np.sqrt(np.average((y - centre) ** 2, weights=weight))
        unit = spread if spread > 0 else 1.0
        return squared_weights(
            said / unit, y / unit, weight, self.uniform_penalty, self.nonnegative, self.sum_to_one
        )

    def _out_of_fold(self, pairs, X, y, weight, groups):
        """What members fitted without a row say of it, and for which rows there is such."""
        folds = _folds(self, X, y, groups, classifier=False)
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_on_rows)(member, name, X, y, weight, train, number)
            for number, (train, _) in enumerate(folds, start=1)
            for name, member in pairs
        )
        names = [name for name, _ in pairs]
        blocks = []
        for number, (_, test) in enumerate(folds):
            members = fitted[number * len(pairs) : (number + 1) * len(pairs)]
            blocks.append(_said(names, members, take_rows(X, test)))
        # A row in several test folds counts by its first one.
        rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
        if len(rows) < len(y):
            warnings.warn(
                f"{len(y) - len(rows)} of {len(y)} rows have no out-of-fold prediction under "
                f"{_cv_name(self.cv)}; the weights are learnt from the other {len(rows)}.",
                UserWarning,
                stacklevel=3,
            )
        return np.concatenate(blocks)[first], rows

    # -- predict -----------------------------------------------------------------------------

    def member_predictions(self, X):
        """What each member predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_members)
        """
        check_is_fitted(self, "weights_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return _said(list(self.named_estimators_), self.estimators_, X)

    def predict(self, X):
        """The weighted sum of what the members predict.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
        """
        return self.member_predictions(X) @ self.weights_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        entries = self.estimators if isinstance(self.estimators, list | tuple) else []
        members = [entry[1] if _is_pair(entry) else entry for entry in entries]
        inner = [get_tags(member).input_tags for member in members if hasattr(member, "fit")]
        tags.input_tags.sparse = bool(inner) and all(tag.sparse for tag in inner)
        tags.input_tags.allow_nan = bool(inner) and all(tag.allow_nan for tag in inner)
        return tags


def _is_pair(entry):
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _regresses(member):
    """Whether an object can be a member; models from elsewhere need not be scikit-learn's."""
    if isinstance(member, type) or not hasattr(member, "predict"):
        return False
    return is_regressor(member) if hasattr(member, "__sklearn_tags__") else True


def _said(names, members, X):
    """What members predict, as (n, K)."""
    said = np.empty((X.shape[0], len(members)))
    for column, (name, member) in enumerate(zip(names, members, strict=True)):
        output = np.asarray(member.predict(X), dtype=np.float64)
        if output.shape not in ((len(said),), (len(said), 1)):
            raise ValueError(
                f"The member {name!r} predicts an array of shape {output.shape} for {len(said)} "
                "rows; its predict must give one number a row."
            )
        said[:, column] = output.reshape(-1)
    return said


def _folds(estimator, X, y, groups, classifier):
    """The folds of ``cv`` that hold a row out."""
    splitter = check_cv(estimator.cv, y, classifier=classifier)
    try:
        folds = list(splitter.split(X, y, groups))
    except ValueError as error:
        raise ValueError(f"{_cv_name(estimator.cv)} cannot split these rows: {error}") from None
    folds = [(train, np.arange(len(y))[test]) for train, test in folds]
    folds = [(train, test) for train, test in folds if len(test)]
    if not folds:
        raise ValueError(
            f"{_cv_name(estimator.cv)} yields no out-of-fold row to learn from; give a splitter "
            "that holds rows out."
        )
    return folds


def _cv_name(cv):
    return f"cv={cv!r}" if isinstance(cv, int) or hasattr(cv, "split") else "The given cv"
