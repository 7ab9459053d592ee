"""The paper's ensemble on rows that lie on Dask workers."""

import numpy as np

from covey import members
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.search.families import CLASSIFICATION
from covey._core.search.search import Search
from covey._validation import check_sample_weight
from covey.dask._backends import current_backend
from covey.dask._blocks import TableBlock
from covey.dask._collections import delayed_blocks, is_dask, is_frame
from covey.dask._lazy import check_columns, lazily, lazy_score
from covey.dask._rows import highest_draws, moments, refine, rows_to_grow_on
from covey.dask._table import Table
from covey.fusers import FUSERS, Predictions, make_fuser
from covey.members._folds import assign_folds


class _OnDask:
    """What both estimators do with Dask collections; local data go to the local class."""

    # -- fit -------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the members, where the rows are.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Or whatever the local class takes.
        y : Dask array or series, or array-like, of shape (n_samples,)
            Labels. Cut into blocks of the rows of X, if they are not.
        sample_weight : Dask array or series, or array-like, of shape (n_samples,), optional
            How much each row counts; a weight of 2 is the row given twice.
        groups : array-like of shape (n_samples,), optional
            As for the local class; refused with Dask collections.

        Returns
        -------
        self : object
            Fitted.
        """
        if groups is not None and is_dask(X):
            raise ValueError(
                "groups needs all rows in one place, and these lie in blocks; leave it out, or "
                "fit covey.SubsetEnsembleClassifier on a sample."
            )
        self._table = None
        try:
            return super().fit(X, y, sample_weight, groups)
        finally:
            table = self.__dict__.pop("_table")
            if table is not None:
                table.close()

    def _received(self, X, y, sample_weight):
        if not is_dask(X):
            return super()._received(X, y, sample_weight)
        if self.device is not None:
            raise ValueError(
                f"device={self.device!r} is one that has all rows, but these lie in blocks; use "
                "device=None."
            )
        return X, y, sample_weight

    def _check_training_data(self, X, y, sample_weight, continued):
        if not is_dask(X):
            for name, given in (("y", y), ("sample_weight", sample_weight)):
                if is_dask(given):
                    raise TypeError(
                        f"{name} is a Dask collection, but X is not; give X as one too, or "
                        f"{name}.compute()."
                    )
            return super()._check_training_data(X, y, sample_weight, continued)
        self._check_fusion()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but y is None.")
        check_columns(self, X, reset=not continued)
        self._check_columns_are_numbers(X)
        backend = current_backend()
        with backend.computing():
            parts = delayed_blocks(X, y, sample_weight)
        self._table = Table(
            backend,
            parts,
            getattr(self, "feature_names_in_", None),
            numeric=False,
            wants_digest=self.checkpoint is not None,
        )
        self._set_classes(self._table.facts, continued)
        self._table.prepare(self.classes_, self._class_factors, self.n_features_in_)
        return X, y, sample_weight

    def _check_fusion(self):
        """Refuse what learns to fuse, but for a gate, which is fitted by sums over blocks."""
        if self._searches():
            if not (self.cv is None or isinstance(self.cv, int | np.integer)):
                raise ValueError(
                    f"cv={self.cv!r} needs all rows in one place, and these lie in blocks; use a "
                    "number of folds, or fit covey.SubsetEnsembleClassifier on a sample."
                )
            return
        fuser = make_fuser(self.fuser)
        if self._refines(fuser):
            fuser._check_parameters()
        elif fuser.learns:
            fixed = ", ".join(repr(name) for name in FUSERS if not make_fuser(name).learns)
            raise ValueError(
                f"fuser={self.fuser!r} needs all rows in one place, and these lie in blocks; "
                "fit covey.SubsetEnsembleClassifier on a sample, or use 'gate', a Gate or one of "
                f"{fixed}."
            )

    def _check_columns_are_numbers(self, X):
        if not is_frame(X):
            if X.dtype.kind not in "biufO":
                raise ValueError(f"X must hold numbers, but its dtype is {X.dtype}; encode it.")
            return
        text = [
            repr(name)
            for name, dtype in X.dtypes.items()
            if getattr(dtype, "kind", "O") not in "biuf"
        ]
        if text:
            raise ValueError(
                f"X holds other things than numbers in column {', '.join(text[:5])}"
                f"{' and others' if len(text) > 5 else ''}; encode or drop it."
            )

    def _set_classes(self, facts, continued):
        """Classes and their weights, from what is known of each block."""
        if not any(known.n_rows for known in facts):
            raise ValueError("X has no rows, but at least one is needed of each of two classes.")
        labels = [known.labels for known in facts if known.n_rows]
        if len({part.dtype.kind in "biuf" for part in labels}) > 1:
            raise ValueError("y must hold numbers or strings, not both.")
        classes = np.unique(np.concatenate(labels))
        self._check_same_classes(classes, continued)
        n_used, weight, heaviest = (np.zeros(len(classes)) for _ in range(3))
        for known in facts:
            at = np.searchsorted(classes, known.labels)
            n_used[at] += known.n_used
            weight[at] += known.weight
            np.maximum.at(heaviest, at, known.heaviest)
        check_sample_weight(heaviest, len(classes))
        self._class_factors = np.ones(len(classes))
        if self.class_weight is not None:
            # Of each class one row, which weighs what all of them do.
            self._class_factors = self._class_weights(classes, classes, weight)
            heaviest = heaviest * self._class_factors
            if heaviest.any():
                check_sample_weight(heaviest, len(classes), "class_weight times sample_weight")
        self._check_two(classes, np.flatnonzero(heaviest > 0))
        self._n_used = np.where(heaviest > 0, n_used, 0).astype(np.int64)
        self.classes_ = classes

    def _prepare(self, X, codes, weight, groups):
        if self._table is None:
            super()._prepare(X, codes, weight, groups)
            return
        # Two fits are the same if the local class would say so, given the blocks' digests.
        super()._prepare([known.digest for known in self._table.facts], None, None, None)

    def _let_go(self):
        super()._let_go()
        for name in ("_class_factors", "_n_used", "_found"):
            self.__dict__.pop(name, None)

    def _done(self, part):
        if self._table is not None:
            self._table.show(part)

    def _begun_search(self, X, codes, weight):
        if self._table is None:
            return super()._begun_search(X, codes, weight)
        self._set_scale(*moments(self._table))
        # What single precision decides would depend on how the rows are cut into blocks.
        return Search(self._table, CLASSIFICATION, **self._search_settings(), single=False)

    def _search_folds(self, X, codes, weight, groups, n_repeats):
        if self._table is None:
            return super()._search_folds(X, codes, weight, groups, n_repeats)
        # A journal need not keep them: they are a function of the seed, which it keeps.
        return assign_folds(
            self._table, self.cv, self.classes_, groups=None, seed=self._seed, n_repeats=n_repeats
        )

    def _weight_of_all(self, weight):
        if self._table is None:
            return super()._weight_of_all(weight)
        return float(self._table.sum(TableBlock.class_counts)[1][0])

    def _grow_and_fuse(self, X, codes, weight, groups, fuser, context):
        if self._table is None:
            return super()._grow_and_fuse(X, codes, weight, groups, fuser, context)
        if self._refines(fuser):
            self._grow(X, codes, weight, context)
            self._refine(X, codes, weight, fuser)
            return fuser
        if self.select_size == "validation":
            highest = highest_draws(
                self._table, self._n_used, self.validation_fraction, self._seed
            )
            self._table.broadcast(TableBlock.hold_out, self._seed, highest)
        self._grow(X, codes, weight, context)
        if self.select_size is not None:
            scores = self._stage_scores(fuser)
            self._keep_first(int(np.argmax(scores > scores.max() - 1e-12)) + 1)
        # A fixed rule learns nothing, but still checks that it suits these members.
        n_classes = len(self.classes_)
        even = np.full((1, self.n_estimators_, n_classes), 1.0 / n_classes)
        fuser.fit(Predictions(even, self.classes_), self.classes_[:1])
        return fuser

    def _refine(self, X, codes, sample_weight, fuser):
        if self._table is None:
            super()._refine(X, codes, sample_weight, fuser)
            return
        refined, shares = refine(
            self._table,
            fuser,
            self._found,
            self._grown_parts(),
            self.classes_,
            fit_intercept=bool(self.fit_intercept),
            journal=self._journal,
        )
        self._keep_refined(*refined)
        self._member_shares = shares

    def _labels(self, codes):
        return super()._labels(codes) if self._table is None else codes

    def _trainer(self, X, codes, sample_weight):
        if self._table is None:
            return super()._trainer(X, codes, sample_weight)
        self._check_newton(self.n_features_in_)
        ascent = self._ascent()
        return StackTrainer(
            self._rows_to_grow_on(ascent),
            ascent,
            seed=self._seed,
            runs=[0],
            flip_probability=np.array([float(self.flip_probability)]),
            unit_of_feature=self._units(),
            usable=self._usable,
            journal=self._journal,
        )

    def _rows_to_grow_on(self, ascent):
        """The rows on which members are grown; sets what the columns are scaled by."""
        if not self._grown:
            self._found = moments(self._table)
            self._set_scale(*self._found)
        rows = rows_to_grow_on(self._table, self.mean_, self.scale_, self._usable, ascent)
        if not self._is_gated():
            self._table.broadcast(TableBlock.drop_features)
        return rows

    def _stage_scores(self, fuser):
        right, total = self._table.sum(
            TableBlock.stage_scores,
            self.classes_,
            np.stack([member.theta for member in self._grown], axis=1),
            np.stack([member.intercept for member in self._grown], axis=1),
            fuser,
        )
        return right / total

    # -- predict ---------------------------------------------------------------------------

    def predict(self, X):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("predict", X)

    def predict_proba(self, X):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("predict_proba", X)

    def predict_log_proba(self, X):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("predict_log_proba", X)

    def decision_function(self, X):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("decision_function", X)

    def member_probabilities(self, X):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("member_probabilities", X)

    def explain_fusion(self, X, *, as_frame=False):
        """As of the local class; lazy for Dask collections."""
        return self._lazily("explain_fusion", X, as_frame=as_frame)

    def score(self, X, y, sample_weight=None):
        """As of the local class, over all blocks of a Dask collection."""
        if not is_dask(X):
            return super().score(X, y, sample_weight)
        return lazy_score(self.to_local(), X, y, sample_weight)

    def _lazily(self, method, X, **how):
        if not is_dask(X):
            return getattr(super(), method)(X, **how)
        return lazily(self.to_local(), method, X, **how)

    # -- copies ----------------------------------------------------------------------------

    def to_local(self):
        """The same flock as a `covey.SubsetEnsembleClassifier`, which needs no Dask."""
        local = getattr(members, type(self).__name__)(**self.get_params(deep=False))
        local.__setstate__(self.__getstate__())
        return local


class SubsetEnsembleClassifier(_OnDask, members.SubsetEnsembleClassifier):
    """`covey.SubsetEnsembleClassifier` for tables that lie on many machines, or on disk.

    ``fit`` takes Dask arrays and data frames. Each block of rows stays where it is loaded, and
    is asked for sums: small arrays of as many entries as there are coefficients. The flock is
    the one that the local class finds on the same rows with the same ``random_state``, up to
    rounding, however the rows are cut into blocks; with ``fuser="gate"``, up to that of single
    precision, in which the local class may compare candidates: here it is always double.
    Without a cluster, blocks are worked on here, one after another, and lie on disk if there
    are more of them than fit into memory.

    *What works.* ``fuser="gate"``, the search, with every ``effort`` and ``alpha`` and with a
    number of folds for ``cv``; a `Gate` object; all fixed rules ("product", "mean", "majority",
    ...), ``select_size`` included. Dense and sparse blocks, frames, weights. Plain arrays and
    frames are fitted here, as by the local class, with any fusion.

    *What is refused*, in a sentence that names it, before anything is loaded: any other fuser
    that learns ("stacking", "linear_stacking", "greedy_selection", those of dynamic selection),
    splitters and lists of splits for ``cv``, and ``groups``. All need the rows in one place.

    *Faults.* If a worker dies, its blocks are loaded anew from Dask's graph, on another one, are
    told what the lost ones knew, and the fit goes on. If the scheduler dies, the fit ends with
    an error; with ``checkpoint`` the next one goes on where it was.

    *How it scales.* A step of Algorithm 1 is two round trips, whatever the number of rows. Down
    to every worker go the coefficients of L lanes (one a run, a second one if a flip is tried),
    ``8 L C (D + 1)`` bytes for C classes and D columns; up come, from every block, sums of at
    most as many bytes. A step of a gate is one round trip, or one more for each time that it is
    shortened, for R runs of K members whose gate sees G columns ``8 R K (C (D + 1) + G + 1)``
    bytes down to every worker, and as many up from every block. Of a search all folds and
    penalties of a family are such runs, ``2**19 / (K C n)`` of them at once for blocks of n rows,
    but at least one: smaller blocks are asked less often. A search keeps what members see of
    each row in memory (the features twice, ramps of them, products of up to 20), at most
    ``10 D + 210`` numbers; what does not fit is read from disk at every question.

    Parameters
    ----------
    n_estimators, effort, alpha, cv, flip_probability, learning_rate, tol, n_iter_no_change, \
max_iter, init_scale, acceptance, temperature, subset_penalty, loss, focal_gamma, reweighting, \
feature_groups, always_keep, fit_intercept, scale_features, fuser, select_size, \
validation_fraction, class_weight, warm_start, n_jobs, random_state, checkpoint, device, \
verbose
        As for `covey.SubsetEnsembleClassifier`.
    client : distributed.Client, str or None, default=None
        The cluster, or the address of its scheduler. None: the client that is there, if any;
        otherwise no cluster. It is not pickled, and clones share it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_estimators_, coef_, intercept_, support_, \
mean_, scale_, n_iter_, history_, basis_, group_of_, group_weights_, cv_results_, \
feature_importances_, estimators_, fuser_
        As of `covey.SubsetEnsembleClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_wine
    >>> from covey.dask import SubsetEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(60, 13)), da.from_array(y, chunks=60)
    >>> flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> flock.predict_proba(X).chunks
    ((60, 60, 58), (3,))
    >>> flock.score(X, y) > 0.97
    True
    """


class FlockClassifier(_OnDask, members.FlockClassifier):
    """`covey.FlockClassifier` for tables that lie on many machines, or on disk."""


def on_dask(estimator):
    """The same unfitted estimator, for Dask collections."""
    of_name = {kind.__name__: kind for kind in (FlockClassifier, SubsetEnsembleClassifier)}
    return of_name[type(estimator).__name__](**estimator.get_params(deep=False))
