"""Linear stacking of any classifiers or regressors, with weights learnt out of fold."""

from covey._validation import check_choice
from covey.fusers import LinearStacking
from covey.members import FusionClassifier, FusionRegressor


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


class LinearStackingRegressor(FusionRegressor):
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
    fuser_ : LinearStacking
        The fitted fuser.
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

    # The members are always fitted here.
    prefit = False
    _who_learns = "the weights are learnt"

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
        return LinearStacking("squared", self.nonnegative, self.sum_to_one, self.uniform_penalty)

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
        self : LinearStackingRegressor
        """
        check_choice(self.loss, "loss", ("squared",))
        return super().fit(X, y, sample_weight=sample_weight, groups=groups)
