"""One linear regressor, already fitted."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from covey._core.softmax_linear import linear_logits


class LinearRegressionMember(RegressorMixin, BaseEstimator):
    """A fitted linear regressor: a member of an ensemble.

    It is made with its coefficients and stays as it is: like scikit-learn's
    ``FrozenEstimator``, ``fit`` changes nothing.

    Parameters
    ----------
    coef : array of shape (n_features,), or (n_columns,) with a basis
        Zero on what the member does not look at.
    intercept : float
    support : array of shape (n_features,), bool, optional
        The features that the member looks at; all by default.
    feature_names : array of shape (n_features,), optional
    basis : Basis, optional
        The columns that the coefficients belong to: features, ramps of them, and products.

    Attributes
    ----------
    coef_, intercept_, support_, n_features_in_, feature_names_in_
        As scikit-learn's linear regressors have them.

    Examples
    --------
    >>> from covey.members._linear_regression import LinearRegressionMember
    >>> member = LinearRegressionMember([0.5, 0, -2], 1.0)
    >>> member.predict([[2.0, 9.0, 1.0]])
    array([0.])
    >>> print(member.formula())
    1 + 0.5 x0 - 2 x2
    """

    def __init__(self, coef, intercept, support=None, feature_names=None, basis=None):
        self.coef = coef
        self.intercept = intercept
        self.support = support
        self.feature_names = feature_names
        self.basis = basis

    @property
    def coef_(self):
        """Coefficients, in the units of X."""
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim != 1:
            raise ValueError(
                f"coef must be one row of numbers, got an array of shape {coef.shape}."
            )
        return coef

    @property
    def intercept_(self):
        """The intercept."""
        return float(self.intercept)

    @property
    def support_(self):
        """Which features the member looks at."""
        if self.support is None:
            return np.ones(self.n_features_in_, dtype=bool)
        return np.asarray(self.support, dtype=bool)

    @property
    def n_features_in_(self):
        """How many columns X must have."""
        return len(self.coef_) if self.basis is None else self.basis.n_features

    @property
    def feature_names_in_(self):
        """The columns' names, where they are known."""
        if self.feature_names is None:
            raise AttributeError("This member was fitted on columns without names.")
        return np.asarray(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None, **fit_params):
        """Do nothing: the member is fitted.

        Returns
        -------
        self : LinearRegressionMember
        """
        return self

    def predict(self, X):
        """One number a row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
        """
        X = validate_data(
            self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32)
        )
        rows = X if self.basis is None else self.basis.rows(X)
        return linear_logits(rows, self.coef_, np.asarray(self.intercept_))

    def column_names(self):
        """What each coefficient multiplies, in words."""
        names = self.feature_names
        if names is None:
            names = [f"x{position}" for position in range(self.n_features_in_)]
        return [str(name) for name in names] if self.basis is None else self.basis.names(names)

    def formula(self, digits=3, top=None):
        """The member as text. ``ramp(x, a, b)`` is 0 up to a, 1 from b on, rising evenly between.

        Parameters
        ----------
        digits : int, default=3
            Significant ones.
        top : int, optional
            How many terms to show; those with the largest coefficients.

        Returns
        -------
        formula : str
        """
        coef, names = self.coef_, self.column_names()
        places = np.flatnonzero(coef)
        left_out = 0
        if top is not None and len(places) > top:
            left_out = len(places) - top
            places = np.sort(places[np.argsort(-np.abs(coef[places]), kind="stable")[:top]])
        terms = "".join(
            f" {'-' if coef[place] < 0 else '+'} {abs(coef[place]):.{digits}g} {names[place]}"
            for place in places
        )
        more = f" + {left_out} smaller terms" if left_out else ""
        return f"{self.intercept_:.{digits}g}{terms}{more}"

    def __str__(self):
        return self.formula()
