"""The template of every grown ensemble: validate, grow, fuse, store."""

from abc import abstractmethod

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._callbacks import CallbackSupportMixin, with_callbacks
from covey._core.random import Purpose, UniformRows
from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import Oracle, make_fuser

# Rows that are predicted at once. Fixed, so that results do not depend on the number of jobs.
_ROWS_PER_BLOCK = 1 << 14


class GrownClassifier(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """A classifier that grows members and fuses them.

    A subclass has the parameters ``fusion``, ``select_size``, ``validation_fraction``,
    ``class_weight``, ``warm_start``, ``n_jobs`` and ``random_state``, and writes
    ``_check_parameters``, ``_grow``, ``_keep_first`` and ``_predictions``.

    ``fit`` is: validate; ``_grow`` members on all rows, or on the rows that are not held out
    when something is learnt from held-out ones; choose how many to keep; fit the fuser;
    ``_refine``; store.
    """

    @abstractmethod
    def _check_parameters(self):
        """Refuse parameters that make no sense, before any data is looked at."""

    @abstractmethod
    def _grow(self, X, codes, sample_weight, context):
        """Train the members.

        Parameters
        ----------
        X : ndarray of float64 or CSR/CSC matrix of shape (n, D)
        codes : ndarray of shape (n,)
            The classes as positions in ``classes_``.
        sample_weight : ndarray of shape (n,)
        context : CallbackContext
            Of the whole fit, for progress.
        """

    @abstractmethod
    def _keep_first(self, n_members):
        """Store the first members that were grown as fitted attributes."""

    @abstractmethod
    def _predictions(self, X):
        """What the members say of validated rows, as `Predictions`."""

    def _refine(self, X, codes, sample_weight):
        """Change members and fuser together after both are fitted; by default not at all."""

    # -- fit -------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; a weight of 2 is the row given twice.

        Returns
        -------
        self : object
            Fitted.
        """
        self._check_parameters()
        fuser = make_fuser(self.fusion)
        continued = self.warm_start and hasattr(self, "fuser_")
        X, codes, weight = self._check_training_data(X, y, sample_weight, continued)
        if not continued:
            self._forget()
            # One number stands for the whole fit: every draw is a function of it.
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))

        context = self._init_callback_context(max_subtasks=self._max_tasks())
        context.call_on_fit_task_begin(
            estimator=self, X=X, y=y, metadata={"sample_weight": sample_weight}
        )
        held_out = self._held_out(codes, weight, fuser)
        grown = ~held_out
        if held_out.any():
            self._grow(X[grown], codes[grown], weight[grown], context)
        else:
            self._grow(X, codes, weight, context)
        self.fuser_ = fuser
        rows = held_out if self.select_size == "validation" else grown
        if self.select_size is not None:
            self._select_size(X[rows], self.classes_[codes[rows]], weight[rows])
        if fuser.learns:
            known = X[held_out]
            fuser.fit(
                self._predictions(known), self.classes_[codes[held_out]], known, weight[held_out]
            )
        self._refine(X, codes, weight)
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, metadata={"sample_weight": sample_weight}
        )
        return self

    def _max_tasks(self):
        """How many parts of a fit callbacks are told of; None if that is not known."""

    def _forget(self):
        """Drop what an earlier fit left for a warm start."""

    def _check_size_parameters(self):
        """Check the parameters that the template itself reads."""
        if self.select_size is not None:
            check_choice(self.select_size, "select_size", ("train", "validation"))
        check_number(
            self.validation_fraction, "validation_fraction", low=0, high=1, closed="neither"
        )

    def _check_training_data(self, X, y, sample_weight, continued):
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=np.float64, reset=not continued
        )
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if continued and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start goes on with the classes of the first fit, "
                f"{self.classes_.tolist()}, but y holds {classes.tolist()}."
            )
        weight = check_sample_weight(sample_weight, len(codes))
        weighted = np.unique(codes[weight > 0])
        if len(weighted) < 2:
            counted = "" if len(classes) < 2 else " with a sample_weight above 0"
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y{counted}, "
                f"got 1 class: {classes[weighted].tolist()[0]!r}."
            )
        if self.class_weight is not None:
            weight = weight * self._class_weights(classes, y, weight)[codes]
            if not weight.any():
                raise ValueError("class_weight leaves no row with a weight above 0.")
        self.classes_ = classes
        return X, codes, weight

    def _class_weights(self, classes, y, weight):
        given = self.class_weight
        if isinstance(given, str) and given == "balanced":
            used = weight > 0
            present = np.unique(y[used])
            balanced = compute_class_weight(
                given, classes=present, y=y[used], sample_weight=weight[used]
            )
            weights = np.zeros(len(classes))
            weights[np.isin(classes, present)] = balanced
            return weights
        if not isinstance(given, dict):
            raise ValueError(f"class_weight must be 'balanced', a dict or None, got {given!r}.")
        weights = np.asarray(compute_class_weight(given, classes=classes, y=y), dtype=float)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(f"class_weight must be finite and not negative, got {given!r}.")
        return weights

    def _held_out(self, codes, weight, fuser):
        """The rows kept from the members: a share of each class, by each row's own draw."""
        held_out = np.zeros(len(codes), dtype=bool)
        if not (fuser.learns or self.select_size == "validation"):
            return held_out
        draws = UniformRows(self._seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, len(codes))[:, 0]
        for code in range(len(self.classes_)):
            rows = np.flatnonzero((codes == code) & (weight > 0))
            if len(rows) > 1:
                wanted = round(self.validation_fraction * len(rows))
                count = min(max(1, wanted), len(rows) - 1)
                held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
        if not held_out.any():
            raise ValueError(
                "No class has two rows, so none can be held out to choose the size or to "
                "learn the fusion; use select_size=None and a fixed fusion rule."
            )
        return held_out

    def _select_size(self, X, y, weight):
        """Keep as many members as fuse best; the fewest, of equals."""
        scores = self._staged_score(X, y, weight, self.fuser_)
        self._keep_first(int(np.argmax(scores > scores.max() - 1e-12)) + 1)

    # -- predict ---------------------------------------------------------------------------

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32)
        )

    def _by_blocks(self, function, X):
        """Apply a function to blocks of rows, and put what it returns together again."""
        starts = range(0, X.shape[0], _ROWS_PER_BLOCK)
        if len(starts) == 1:
            return function(X)
        blocks = (X[start : start + _ROWS_PER_BLOCK] for start in starts)
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(function)(block) for block in blocks
        )
        return np.concatenate(parts)

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
        return self._by_blocks(self._fused_log, self._check_rows(X))

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
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """The class with the highest fused probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        winners = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winners]

    def decision_function(self, X):
        """Log-odds of the second class, or the logarithm of each class's probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def member_probabilities(self, X):
        """What each member says.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_members, n_classes)
        """
        return self._by_blocks(lambda rows: self._predictions(rows).values, self._check_rows(X))

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
        X = self._check_rows(X)
        importance = self._by_blocks(
            lambda rows: self.fuser_.importance(self._predictions(rows), rows), X
        )
        if not as_frame:
            return importance
        import pandas as pd

        return pd.DataFrame(importance, columns=self._predictions(X[:1]).names)

    # -- score -----------------------------------------------------------------------------

    def score(self, X, y, sample_weight=None):
        """Accuracy of the fused decision; with ``fusion="oracle"``, of the oracle's.

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
        return super().score(X, y, sample_weight)

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
        return float(self.staged_score(X, y, sample_weight, fusion="oracle")[-1])

    def staged_score(self, X, y, sample_weight=None, *, fusion=None):
        """Accuracy of the first member, the first two, ... and all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        fusion : str or Fuser, optional
            A fixed rule to fuse with instead of the fitted fuser, or "oracle".

        Returns
        -------
        accuracies : ndarray of shape (n_members,)
        """
        X = self._check_rows(X)
        weight = check_sample_weight(sample_weight, X.shape[0])
        fuser = self.fuser_ if fusion is None else make_fuser(fusion)
        if fuser.learns:
            raise ValueError(
                f"{type(fuser).__name__} has learnt to fuse all members and cannot fuse the "
                "first few; give staged_score a fixed rule as fusion."
            )
        return self._staged_score(X, np.asarray(y), weight, fuser)

    def _staged_score(self, X, y, weight, fuser):
        P = self._predictions(X)
        codes = P.encode(y)
        if fuser.needs_y:
            right = np.logical_or.accumulate(Oracle().right(P, y), axis=1)
        else:
            right = np.stack(
                [
                    fuser.fuse(P.first(k), X).argmax(axis=1) == codes
                    for k in range(1, P.n_members + 1)
                ],
                axis=1,
            )
        return weight @ right / weight.sum()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
