"""One softmax-linear model, already fitted."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from covey._core.softmax_linear import linear_logits, log_softmax


class LinearMember(ClassifierMixin, BaseEstimator):
    """A fitted softmax-linear classifier: a member of an ensemble, or a collapsed one.

    It is made with its coefficients and stays as it is: like scikit-learn's
    ``FrozenEstimator``, ``fit`` changes nothing.

    Parameters
    ----------
    coef : array of shape (n_classes, n_features), or (n_classes, n_columns) with a basis
        Zero on what the member does not look at. With two classes one row may stand for both,
        as in scikit-learn: that of the second class, the first one's being zero.
    intercept : array of shape (n_classes,)
    classes : array of shape (n_classes,)
    support : array of shape (n_features,), bool, optional
        The features that the member looks at; all by default.
    feature_names : array of shape (n_features,), optional
    basis : Basis, optional
        The columns that the coefficients belong to: features, ramps of them, and products.

    Attributes
    ----------
    coef_, intercept_, classes_, support_, n_features_in_, feature_names_in_
        As scikit-learn's linear classifiers have them, but always one row a class.

    Examples
    --------
    >>> import covey
    >>> member = covey.members.LinearMember([[0.0, 0.0], [2.0, 0.0]], [0.0, -1.0], ["no", "yes"])
    >>> member.predict([[0.0, 5.0], [1.0, 5.0]])
    array(['no', 'yes'], dtype='<U3')
    """

    def __init__(self, coef, intercept, classes, support=None, feature_names=None, basis=None):
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.support = support
        self.feature_names = feature_names
        self.basis = basis

    @property
    def coef_(self):
        """Coefficients of each class, in the units of X."""
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim != 2 or len(coef) not in {len(self.classes), 3 - len(self.classes)}:
            raise ValueError(
                f"coef must have one row for each of the {len(self.classes)} classes, "
                f"got an array of shape {coef.shape}."
            )
        return coef if len(coef) > 1 else np.vstack([np.zeros_like(coef), coef])

    @property
    def intercept_(self):
        """Intercept of each class."""
        intercept = np.asarray(self.intercept, dtype=np.float64)
        if intercept.shape != (len(np.asarray(self.coef)),):
            raise ValueError(
                f"intercept must hold one number for each row of coef, got an array of shape "
                f"{intercept.shape}."
            )
        return intercept if len(intercept) > 1 else np.append(0.0, intercept)

    @property
    def classes_(self):
        """The labels."""
        return np.asarray(self.classes)

    @property
    def support_(self):
        """Which features the member looks at."""
        if self.support is None:
            return np.ones(self.n_features_in_, dtype=bool)
        return np.asarray(self.support, dtype=bool)

    @property
    def n_features_in_(self):
        """How many columns X must have."""
        return self.coef_.shape[1] if self.basis is None else self.basis.n_features

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
        self : LinearMember
        """
        return self

    def _logits(self, X):
        X = validate_data(
            self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32)
        )
        rows = X if self.basis is None else self.basis.rows(X)
        return linear_logits(rows, self.coef_, self.intercept_)

    def column_names(self):
        """What each coefficient multiplies, in words."""
        names = self.feature_names
        if names is None:
            names = [f"x{position}" for position in range(self.n_features_in_)]
        return [str(name) for name in names] if self.basis is None else self.basis.names(names)

    def formula(self, digits=3, top=None):
        """The member as text: one line a class, or one of log-odds for two classes.

        ``ramp(x, a, b)`` is 0 up to a, 1 from b on, and rises evenly between.

        Parameters
        ----------
        digits : int, default=3
            Significant ones.
        top : int, optional
            How many terms to show; those with the largest coefficients.

        Returns
        -------
        formula : str

        Examples
        --------
        >>> import covey
        >>> print(covey.members.LinearMember([[0.5, 0, -2]], [1.0], ["no", "yes"]).formula())
        log-odds of 'yes' = 1 + 0.5 x0 - 2 x2
        """
        # Softmax ignores what all classes share; two classes differ by one line.
        if len(self.classes_) == 2:
            lines = [
                ("log-odds of", 1, self.coef_[1] - self.coef_[0], np.diff(self.intercept_)[0])
            ]
        else:
            coef = self.coef_ - self.coef_.mean(axis=0)
            intercept = self.intercept_ - self.intercept_.mean()
            lines = [
                ("score of", code, *parts)
                for code, parts in enumerate(zip(coef, intercept, strict=True))
            ]
        names = self.column_names()
        text = []
        for what, code, coef, intercept in lines:
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
            label = self.classes_[code : code + 1].tolist()[0]
            text.append(f"{what} {label!r} = {intercept:.{digits}g}{terms}{more}")
        return "\n".join(text)

    def __str__(self):
        return self.formula()

    def decision_function(self, X):
        """Logits of shape (n_samples, n_classes); for two classes their difference."""
        logits = self._logits(X)
        return logits[1] - logits[0] if len(logits) == 2 else logits.T

    def predict_log_proba(self, X):
        """Logarithms of the probabilities, of shape (n_samples, n_classes)."""
        return log_softmax(self._logits(X)).T

    def predict_proba(self, X):
        """Probabilities of the classes, of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
