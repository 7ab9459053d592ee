"""Any regressors, fitted here or elsewhere, fused into one."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from covey._blocks import as_table, in_blocks, take_rows
from covey._models import fit_member, regresses
from covey._validation import check_sample_weight
from covey.fusers import Predictions
from covey.members._fused import FusedRegressor, check_numbers, said, value_fuser
from covey.members._named import NamedMembers


class FusionRegressor(NamedMembers, FusedRegressor):
    """Fuses any regressors into one, and says who decided.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, or list of estimators
        The members. They may look at different columns (Pipelines). Where one predicts NaN, it
        has not spoken, and the others decide.
    fuser : str or Fuser, default="mean"
        How to fuse: "mean", "median", "trimmed_mean", "linear_stacking" or "gate", or an
        object of `covey.fusers`. ``Mean(weights=[...])`` is a weighted mean;
        ``Mean(weights="inverse_error")`` learns the weights one by one, ``LinearStacking()``
        all together, and ``Gate()`` as a function of the row.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made for a fuser that learns. Any splitter works. Rows
        without one are left out, with a warning; a row in several test folds counts by its
        first one. A fixed rule needs none.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, and the rows
        given to ``fit`` are **taken as held out**: a fuser that learns learns from them
        directly, so they must not be rows that the members were trained on.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    named_estimators_ : dict
        The same by name.
    fuser_ : Fuser
        The fitted fuser.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

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

    def __init__(self, estimators, fuser="mean", *, cv=5, prefit=False, n_jobs=None):
        self.estimators = estimators
        self.fuser = fuser
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    _member_kind = "regressor"
    # Begins what a warning says of rows without an out-of-fold prediction.
    _who_learns = "the fuser learns"

    def _can_be_member(self, member):
        return regresses(member)

    # -- fit ---------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit the members, and the fuser out of fold.

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
        self : FusionRegressor
        """
        pairs = self._named()
        names = [name for name, _ in pairs]
        fuser = value_fuser(self.fuser, "fuser")
        # Weights that do not fit the members are told before these are fitted.
        fuser._check_parameters(Predictions(np.zeros((1, len(pairs))), kind="value"))
        X = as_table(X)
        y = check_numbers(y)
        check_consistent_length(X, y)
        validate_data(self, X, skip_check_array=True)
        if fuser.needs_X:
            # So are features that the fuser cannot read.
            fuser._features(X)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        learnt_out_of_fold = fuser.learns and not self.prefit
        if learnt_out_of_fold:
            table, rows = self._out_of_fold(pairs, X, y, weight, groups)
        if self.prefit:
            members = [self._check_fitted(name, member) for name, member in pairs]
        else:
            members = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_member)(clone(member), name, X, y, weight) for name, member in pairs
            )
        self.estimators_ = members
        self.named_estimators_ = dict(zip(names, members, strict=True))
        if not learnt_out_of_fold:
            # A fixed rule learns nothing, but the members are seen to predict numbers.
            rows = np.arange(len(y) if fuser.learns else 1)
            table = said(names, members, take_rows(X, rows))
        self.fuser_ = fuser.fit(
            Predictions(table, names=names, kind="value"),
            y[rows],
            take_rows(X, rows) if fuser.needs_X else None,
            None if weight is None or not fuser.learns else weight[rows],
        )
        return self

    def _out_of_fold(self, pairs, X, y, weight, groups):
        """What members fitted without a row say of it, and for which rows there is such."""
        folds = self._folds(X, y, groups)
        names = [name for name, _ in pairs]
        fitted = self._fit_folds(pairs, folds, X, y, weight)
        blocks = [
            said(names, members, take_rows(X, test))
            for (_, test), members in zip(folds, fitted, strict=True)
        ]
        # A row in several test folds counts by its first one.
        rows, first = self._rows_held_out(folds, len(y), self._who_learns)
        return np.concatenate(blocks)[first], rows

    # -- predict -----------------------------------------------------------------------------

    def _names(self):
        return list(self.named_estimators_)

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _member_values(self, X):
        return said(self._names(), self.estimators_, X)

    def _by_blocks(self, function, X):
        return in_blocks(function, X)
