"""Linear stacking of any classifiers or regressors, with weights learnt out of fold."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import check_array
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
from covey.members._fitting import as_table, fit_member, regresses, take_rows
from covey.members._named import NamedMembers

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


class LinearStackingRegressor(NamedMembers, RegressorMixin, BaseEstimator):
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

    _member_kind = "regressor"

    def _can_be_member(self, member):
        return regresses(member)

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
            delayed(fit_member)(clone(member), name, X, y, weight) for name, member in pairs
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
        folds = self._folds(X, y, groups)
        names = [name for name, _ in pairs]
        blocks = [
            _said(names, members, take_rows(X, test))
            for (_, test), members in zip(
                folds, self._fit_folds(pairs, folds, X, y, weight), strict=True
            )
        ]
        # A row in several test folds counts by its first one.
        rows, first = self._rows_held_out(folds, len(y), "the weights are learnt")
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
