"""What every fused regressor does once it has members and a fuser."""

from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from covey._validation import check_sample_weight
from covey.fusers import Predictions, importance_frame, make_fuser


def check_numbers(y):
    """What is to be predicted, as float64; one finite number a row."""
    y = column_or_1d(y, warn=True)
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")


def value_fuser(rule, parameter):
    """An unfitted fuser of numbers; refused if it fuses classes only."""
    fuser = make_fuser(rule, parameter)
    if "value" not in fuser.kinds:
        raise ValueError(
            f"{parameter}={rule!r} fuses what classifiers say; regressors are fused by 'mean', "
            "'median', 'trimmed_mean', 'linear_stacking', 'gate' or another Fuser of kind "
            "'value'."
        )
    return fuser


def said(names, members, X):
    """What fitted regressors predict, as (n, K)."""
    table = np.empty((X.shape[0], len(members)))
    for column, (name, member) in enumerate(zip(names, members, strict=True)):
        output = np.asarray(member.predict(X), dtype=np.float64)
        if output.shape not in ((len(table),), (len(table), 1)):
            raise ValueError(
                f"The member {name!r} predicts an array of shape {output.shape} for {len(table)} "
                "rows; its predict must give one number a row."
            )
        table[:, column] = output.reshape(-1)
        wild = np.flatnonzero(np.isinf(table[:, column]))
        if len(wild):
            raise ValueError(
                f"The member {name!r} predicts infinity for row {wild[0]} of the {len(table)} it "
                "is given; scale the features or y, or leave the member out."
            )
    return table


class FusedRegressor(RegressorMixin, BaseEstimator, metaclass=ABCMeta):
    """A regressor whose number is fused from the members' numbers.

    A subclass sets ``fuser_`` in ``fit`` and writes ``_check_rows`` and ``_said``; it may apply
    ``_by_blocks`` to blocks of rows.
    """

    @abstractmethod
    def _check_rows(self, X):
        """Rows to predict, validated."""

    @abstractmethod
    def _said(self, X):
        """What the members predict of validated rows, as (n, K)."""

    def _by_blocks(self, function, X):
        """Apply a function to all rows at once; a subclass may do it in blocks."""
        return function(X)

    def _predictions(self, X):
        return Predictions(self._said(X), names=self._names(), kind="value")

    def _fused(self, X):
        return self.fuser_.fuse(self._predictions(X), X)

    def _names(self):
        """The members' names."""
        return [f"member {k}" for k in range(1, len(self.estimators_) + 1)]

    def member_predictions(self, X):
        """What each member predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_members)
        """
        return self._by_blocks(self._said, self._check_rows(X))

    def predict(self, X):
        """What the members predict together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
        """
        return self._by_blocks(self._fused, self._check_rows(X))

    def explain_fusion(self, X, *, as_frame=False):
        """Who decided: the importance of each member for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        as_frame : bool, default=False
            Whether to return a pandas data frame with the members' names.

        Returns
        -------
        importance : ndarray or DataFrame of shape (n_samples, n_members)
            Non-negative, rows sum to one.
        """
        importance = self._by_blocks(
            lambda rows: self.fuser_.importance(self._predictions(rows), rows),
            self._check_rows(X),
        )
        return importance_frame(importance, X, self._names()) if as_frame else importance

    def staged_score(self, X, y, sample_weight=None, *, fuser=None):
        """R^2 of the first member, the first two, ... and all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        fuser : str or Fuser, optional
            A fixed rule to fuse with instead of the fitted fuser.

        Returns
        -------
        scores : ndarray of shape (n_members,)
        """
        X = self._check_rows(X)
        fuser = self.fuser_ if fuser is None else value_fuser(fuser, "fuser")
        if fuser.learns or getattr(fuser, "weights", None) is not None:
            raise ValueError(
                f"{type(fuser).__name__} fuses all members and cannot fuse the first few; give "
                "staged_score a fixed rule without weights as fusion."
            )
        P = self._predictions(X)
        y = P.encode(y)
        weight = check_sample_weight(sample_weight, P.n_samples)
        return np.array(
            [
                r2_score(y, fuser.fuse(P.first(k), X), sample_weight=weight)
                for k in range(1, P.n_members + 1)
            ]
        )
