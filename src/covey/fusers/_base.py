"""What every fuser is."""

import numpy as np
from sklearn.base import BaseEstimator

from covey.fusers._predictions import Predictions


class Fuser(BaseEstimator):
    """Makes one decision out of many: the protocol of all fusers.

    A subclass writes ``_fuse`` and ``_importance``; one that learns also writes ``_fit`` and
    sets ``learns``.

    Attributes
    ----------
    learns : bool
        Whether ``fit`` needs data. Fixed rules learn nothing.
    needs_X, needs_y : bool
        Whether ``fuse`` reads the features, or the true labels (only the oracle does).
    kinds : tuple of str
        Which kinds of `Predictions` it takes.
    """

    learns = False
    needs_X = False
    needs_y = False
    kinds = ("probability",)

    def fit(self, P, y=None, X=None, sample_weight=None):
        """Learn how to fuse from predictions of held-out samples.

        Parameters
        ----------
        P : Predictions or array of shape (n_samples, n_members, n_classes)
        y : array of shape (n_samples,)
            True labels.
        X : array of shape (n_samples, n_features), optional
            The features, for fusers whose ``needs_X`` is set.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self : Fuser
        """
        self._fit(self._check(P), y, X, sample_weight)
        return self

    def fuse(self, P, X=None, y=None):
        """Fuse predictions into one probability a class.

        Parameters
        ----------
        P : Predictions or array of shape (n_samples, n_members, n_classes)
        X : array of shape (n_samples, n_features), optional
        y : array of shape (n_samples,), optional
            Only the oracle reads it.

        Returns
        -------
        fused : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        return np.exp(self.fuse_log(P, X, y))

    def fuse_log(self, P, X=None, y=None):
        """Logarithms of what ``fuse`` gives, without underflow where the rule allows."""
        return self._fuse_log(self._check(P), X, y)

    def importance(self, P, X=None, y=None):
        """Who decided: the ``i_k(x)`` of eq. (10).

        Returns
        -------
        importance : ndarray of shape (n_samples, n_members)
            Non-negative, rows sum to one.
        """
        return self._importance(self._check(P), X, y)

    def _check(self, P):
        if not isinstance(P, Predictions):
            P = Predictions(P)
        if P.kind not in self.kinds:
            raise ValueError(
                f"{type(self).__name__} fuses predictions of kind {' or '.join(self.kinds)}, "
                f"got {P.kind}."
            )
        return P

    def _fit(self, P, y, X, sample_weight):
        """Learn; a fixed rule has nothing to learn."""

    def _fuse_log(self, P, X, y):
        raise NotImplementedError

    def _importance(self, P, X, y):
        raise NotImplementedError
