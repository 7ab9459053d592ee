"""The template of every grown ensemble: validate, grow, fuse, store."""

from abc import abstractmethod

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from covey._blocks import checked_numbers, in_blocks
from covey._callbacks import CallbackSupportMixin, with_callbacks
from covey._core.random import Purpose, UniformRows
from covey._validation import (
    check_all_finite,
    check_choice,
    check_number,
    check_sample_weight,
)
from covey.fusers import make_fuser
from covey.members._folds import check_groups
from covey.members._fused import FusedClassifier


class GrownClassifier(CallbackSupportMixin, FusedClassifier):
    """A classifier that grows members and fuses them.

    A subclass has the parameters ``fusion``, ``select_size``, ``validation_fraction``,
    ``class_weight``, ``warm_start``, ``n_jobs`` and ``random_state``, and writes
    ``_check_parameters``, ``_grow``, ``_keep_first`` and ``_predictions``.

    ``fit`` is: validate; ``_grow`` members on all rows, or on the rows that are not held out
    when something is learnt from held-out ones; choose how many to keep; fit the fuser, or
    ``_refine`` members and fuser together where ``_refines`` says so.
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

    def _refines(self, fuser):
        """Whether members and fuser are fitted together, by ``_refine``."""
        return False

    def _refine(self, X, codes, sample_weight, fuser):
        """Fit members and fuser together, from the members that were grown."""
        raise NotImplementedError

    # -- fit -------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; a weight of 2 is the row given twice.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one speaker: where something is chosen
            by cross-validation, no fold separates them, and rows are held out by whole groups.

        Returns
        -------
        self : object
            Fitted.
        """
        self._check_parameters()
        fuser = make_fuser(self.fuser)
        if fuser.learns and self.select_size is not None:
            raise ValueError(
                f"select_size={self.select_size!r} compares flocks of different sizes under a "
                f"fixed rule, but fuser={self.fuser!r} learns; use select_size=None."
            )
        continued = self.warm_start and hasattr(self, "fuser_")
        X, y, sample_weight = self._received(X, y, sample_weight)
        X, codes, weight = self._check_training_data(X, y, sample_weight, continued)
        if not continued:
            # Should this fit fail, what an earlier one left would fit neither.
            self.__dict__.pop("fuser_", None)
            self._forget()
            # One number stands for the whole fit: every draw is a function of it.
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._prepare(X, codes, weight, groups)
        try:
            context = self._init_callback_context(max_subtasks=self._max_tasks())
            context.call_on_fit_task_begin(
                estimator=self, X=X, y=y, metadata={"sample_weight": sample_weight}
            )
            found = self._search(X, codes, weight, groups, context)
            self.fuser_ = (
                self._grow_and_fuse(X, codes, weight, groups, fuser, context)
                if found is None
                else found
            )
        finally:
            self._let_go()
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, metadata={"sample_weight": sample_weight}
        )
        return self

    def _grow_and_fuse(self, X, codes, weight, groups, fuser, context):
        held_out = self._held_out(codes, weight, fuser, groups)
        grown = ~held_out
        if held_out.any():
            self._grow(X[grown], codes[grown], weight[grown], context)
        else:
            self._grow(X, codes, weight, context)
        if self.select_size is not None:
            rows = held_out if self.select_size == "validation" else grown
            self._select_size(X[rows], codes[rows], weight[rows], fuser)
        if self._refines(fuser):
            self._refine(X, codes, weight, fuser)
        else:
            # A fixed rule learns nothing, but still checks that it suits these members.
            rows = held_out if fuser.learns else slice(1)
            known = X[rows]
            fuser.fit(self._predictions(known), self.classes_[codes[rows]], known, weight[rows])
        return fuser

    def _received(self, X, y, sample_weight):
        """The data as given, before anything is checked."""
        return X, y, sample_weight

    def _prepare(self, X, codes, weight, groups):
        """Get ready for a fit of checked data, before anything is grown."""

    def _let_go(self):
        """Drop what only the fit needed."""

    def _search(self, X, codes, weight, groups, context):
        """Find members and fuser together; None where they are grown and fused instead."""

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
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            reset=not continued,
            ensure_all_finite=False,
        )
        check_all_finite(X, getattr(self, "feature_names_in_", None))
        if hasattr(X, "tocsr") and not X.has_canonical_format:
            # An entry may be stored in parts; their squares are not its square.
            X = X.copy()
            X.sum_duplicates()
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self._check_same_classes(classes, continued)
        weight = check_sample_weight(sample_weight, len(codes))
        if self.class_weight is not None:
            weight = weight * self._class_weights(classes, y, weight)[codes]
            if weight.any():
                check_sample_weight(weight, len(codes), "class_weight times sample_weight")
        self._check_two(classes, np.unique(codes[weight > 0]))
        self.classes_ = classes
        return X, codes, weight

    def _check_same_classes(self, classes, continued):
        """Refuse to go on with other classes than those of the first fit."""
        if continued and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start goes on with the classes of the first fit, "
                f"{self.classes_.tolist()}, but y holds {classes.tolist()}."
            )

    def _check_two(self, classes, weighted):
        """Refuse data in which fewer than two classes, of these positions, weigh something."""
        if len(weighted) < 2:
            counted = (
                "" if len(classes) < 2 else " whose sample_weight and class_weight are above 0"
            )
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y{counted}, "
                f"got {len(weighted)} class: {classes[weighted].tolist()}."
            )

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

    def _held_out(self, codes, weight, fuser, groups=None):
        """The rows kept from the members: a share of each class, by each row's own draw.

        With groups, it is whole groups, by each group's own draw: see `_held_out_groups`.
        """
        held_out = np.zeros(len(codes), dtype=bool)
        learns = fuser.learns and not self._refines(fuser)
        if not (learns or self.select_size == "validation"):
            return held_out
        draws = UniformRows(self._seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, len(codes))[:, 0]
        if groups is not None:
            groups = check_groups(groups, len(codes))
            return _held_out_groups(codes, weight > 0, groups, draws, self.validation_fraction)
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

    def _select_size(self, X, codes, weight, fuser):
        """Keep as many members as fuse best; the fewest, of equals."""
        scores = self._stages(self._predictions(X), codes, X, weight, fuser)
        self._keep_first(int(np.argmax(scores > scores.max() - 1e-12)) + 1)

    # -- predict ---------------------------------------------------------------------------

    def _check_rows(self, X):
        return checked_numbers(self, X)

    def _by_blocks(self, function, X):
        return in_blocks(function, X, self.n_jobs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _held_out_groups(codes, used, groups, draws, fraction):
    """Rows of whole groups that are held out, about a share of each class.

    Groups are taken in the order of their draws, each if a class of it still lacks held-out
    rows, and if no class loses more than its share or half of its rows, nor its last one. Where
    every row is a group, this is the share of each class itself.

    Parameters
    ----------
    codes : array of shape (n,)
    used : array of shape (n,), bool
        Rows that count; others are not held out.
    groups : array of shape (n,)
        From 0 to the number of groups.
    draws : array of shape (n,)
        The first are those of the groups.
    fraction : float

    Returns
    -------
    held_out : ndarray of shape (n,), bool
    """
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=np.intp)
    np.add.at(counts, (groups[used], codes[used]), 1)
    size = counts.sum(axis=0)
    wanted = np.clip(np.rint(fraction * size), 1, np.maximum(size - 1, 0))
    most = np.clip(np.maximum(wanted, size // 2), 0, np.maximum(size - 1, 0))
    taken, held = np.zeros(len(counts), dtype=bool), np.zeros_like(size)
    for group in np.argsort(draws[: len(counts)], kind="stable"):
        after = held + counts[group]
        if (held < wanted)[counts[group] > 0].any() and (after <= most).all():
            taken[group], held = True, after
    if not taken.any():
        raise ValueError(
            "groups has no group that can be held out, to choose the size or to learn the fusion, "
            "without most rows of a class; use select_size=None and a fixed fusion rule, or "
            "smaller groups."
        )
    return taken[groups] & used
