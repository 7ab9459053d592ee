"""What every fused classifier does once it has members and a fuser."""

from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from covey._devices import returned, to_numpy
from covey._validation import check_sample_weight
from covey.fusers import Oracle, importance_frame, make_fuser


class FusedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A classifier whose decision is fused from members.

    A subclass sets ``classes_`` and ``fuser_`` in ``fit`` and writes ``_check_rows`` and
    ``_predictions``; it may apply ``_by_blocks`` to blocks of rows.
    """

    @abstractmethod
    def _check_rows(self, X):
        """Rows to predict, validated."""

    @abstractmethod
    def _predictions(self, X):
        """What the members say of validated rows, as `Predictions`."""

    def _by_blocks(self, function, X):
        """Apply a function to all rows at once; a subclass may do it in blocks."""
        return function(X)

    def _said(self, X):
        """What ``member_probabilities`` shows of validated rows."""
        return self._predictions(X).values

    def _fused(self, X):
        return self.fuser_.fuse(self._predictions(X), X)

    def _fused_log(self, X):
        return self.fuser_.fuse_log(self._predictions(X), X)

    def predict_log_proba(self, X):
        """Logarithms of the fused probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return returned(self._by_blocks(self._fused_log, self._check_rows(X)), X)

    def predict_proba(self, X):
        """Fused probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return returned(self._by_blocks(self._fused, self._check_rows(X)), X)

    def predict(self, X):
        """The class with the highest fused probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        fused = self._by_blocks(self._fused, self._check_rows(X))
        return returned(self.classes_[fused.argmax(axis=1)], X)

    def decision_function(self, X):
        """Log-odds of the second class, or the logarithm of each class's probability; finite.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        logs = self._by_blocks(self._fused_log, self._check_rows(X))
        logs = np.where(np.isneginf(logs), np.log(np.finfo(np.float64).tiny), logs)
        return returned(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs, X)

    def member_probabilities(self, X):
        """What each member says: probabilities, or votes or scores where some have none.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_members, n_classes)
        """
        return self._by_blocks(self._said, self._check_rows(X))

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

    def report(self, X, y, **how):
        """One HTML page about this ensemble: how good it is, who decides and why.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that it was not trained on.
        y : array-like of shape (n_samples,)
        **how
            As for `covey.reporting.build_report`.

        Returns
        -------
        report : Report
            Shows itself in a notebook; ``report.save(path)`` writes the page.
        """
        from covey.reporting import build_report

        return build_report(self, X, y, **how)

    def _names(self):
        """The members' names."""
        return [f"member {k}" for k in range(1, len(self.estimators_) + 1)]

    def score(self, X, y, sample_weight=None):
        """Accuracy of the fused decision; with ``fuser="oracle"``, of the oracle's.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self, "fuser_")
        if self.fuser_.needs_y:
            return self.oracle_score(X, y, sample_weight)
        return super().score(to_numpy(X), to_numpy(y), to_numpy(sample_weight))

    def oracle_score(self, X, y, sample_weight=None):
        """Share of rows on which at least one member is right.

        No fusion that picks a member can do better (the paper's g_orc); by Theorem 1 no
        member is more accurate.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        accuracy : float
        """
        return float(self.staged_score(X, y, sample_weight, fuser="oracle")[-1])

    def staged_score(self, X, y, sample_weight=None, *, fuser=None):
        """Accuracy of the first member, the first two, ... and all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        fuser : str or Fuser, optional
            A fixed rule to fuse with instead of the fitted fuser, or "oracle".

        Returns
        -------
        accuracies : ndarray of shape (n_members,)
        """
        X = self._check_rows(X)
        fuser = self.fuser_ if fuser is None else make_fuser(fuser)
        if fuser.learns:
            raise ValueError(
                f"{type(fuser).__name__} has learnt to fuse all members and cannot fuse the "
                "first few; give staged_score a fixed rule as fusion."
            )
        P = self._predictions(X)
        y = to_numpy(y)
        weight = check_sample_weight(to_numpy(sample_weight), P.n_samples)
        # A label that no member knows is one that all get wrong.
        return self._stages(P, P.encode(y, unknown="ignore"), X, weight, fuser)

    def _stages(self, P, codes, X, weight, fuser):
        for name in ("weights", "k"):
            if name in fuser.get_params() and getattr(fuser, name) is not None:
                raise ValueError(
                    f"{type(fuser).__name__} has {name} for all members and cannot fuse the first "
                    "few; use a rule without."
                )
        if fuser.needs_y:
            right = np.logical_or.accumulate(Oracle().right(P, codes), axis=1)
        else:
            right = np.stack(
                [
                    fuser.fuse(P.first(k), X).argmax(axis=1) == codes
                    for k in range(1, P.n_members + 1)
                ],
                axis=1,
            )
        return weight @ right / weight.sum()
