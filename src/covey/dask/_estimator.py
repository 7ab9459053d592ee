"""The paper's ensemble on rows that lie on Dask workers."""

import numpy as np

from covey import members
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.search.families import CLASSIFICATION
from covey._core.search.search import Search
from covey._validation import check_sample_weight
from covey.dask._collections import check_numeric_columns, is_dask
from covey.dask._lazy import check_columns, lazily, lazy_score
from covey.dask._rows import DaskRows
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
        check_numeric_columns(X)
        self._table = DaskRows.open(
            X,
            y,
            sample_weight,
            numeric=False,
            names=getattr(self, "feature_names_in_", None),
            wants_digest=self.checkpoint is not None,
        )
        self._set_classes(self._table, continued)
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

    def _set_classes(self, rows, continued):
        classes, heaviest = rows.classes, rows.largest_weights
        self._check_same_classes(classes, continued)
        check_sample_weight(heaviest, len(classes))
        if self.class_weight is not None:
            # Of each class one row, which weighs what all of them do.
            factors = self._class_weights(classes, classes, rows.class_weight_sums)
            heaviest = heaviest * factors
            if heaviest.any():
                check_sample_weight(heaviest, len(classes), "class_weight times sample_weight")
            rows.set_class_weight(factors)
        self._check_two(classes, np.flatnonzero(heaviest > 0))
        self.classes_ = classes

    def _prepare(self, X, codes, weight, groups):
        if self._table is None:
            super()._prepare(X, codes, weight, groups)
            return
        # Two fits are the same if the local class would say so, given the blocks' digests.
        super()._prepare(self._table.digest(), None, None, None)

    def _let_go(self):
        super()._let_go()
        self.__dict__.pop("_found", None)

    def _done(self, part):
        if self._table is not None:
            self._table.show(part)

    def _begun_search(self, X, codes, weight):
        if self._table is None:
            return super()._begun_search(X, codes, weight)
        self._set_scale(*self._table.moments())
        # What single precision decides would depend on how the rows are cut into blocks.
        return Search(
            self._table.search_rows(), CLASSIFICATION, **self._search_settings(), single=False
        )

    def _search_folds(self, X, codes, weight, groups, n_repeats):
        if self._table is None:
            return super()._search_folds(X, codes, weight, groups, n_repeats)
        # A journal need not keep them: they are a function of the seed, which it keeps.
        return assign_folds(
            self._table.search_rows(),
            self.cv,
            self.classes_,
            groups=None,
            seed=self._seed,
            n_repeats=n_repeats,
        )

    def _weight_of_all(self, weight):
        if self._table is None:
            return super()._weight_of_all(weight)
        return self._table.total_weight()

    def _grow_and_fuse(self, X, codes, weight, groups, fuser, context):
        if self._table is None:
            return super()._grow_and_fuse(X, codes, weight, groups, fuser, context)
        if self._refines(fuser):
            self._grow(X, codes, weight, context)
            self._refine(X, codes, weight, fuser)
            return fuser
        if self.select_size == "validation":
            self._table.hold_out(self.validation_fraction, self._seed)
        self._grow(X, codes, weight, context)
        if self.select_size is not None:
            scores = self._table.stage_scores(*self._grown_parts()[:2], fuser)
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
        theta, intercept, self._member_shares = self._table.refine(
            fuser,
            self._grown_parts(),
            self._found,
            fit_intercept=bool(self.fit_intercept),
            journal=self._journal,
        )
        shares = self._member_shares
        self._keep_refined(theta, intercept)
        self._member_shares = shares

    def _labels(self, codes):
        return super()._labels(codes) if self._table is None else codes

    def _trainer(self, X, codes, sample_weight):
        if self._table is None:
            return super()._trainer(X, codes, sample_weight)
        self._check_newton(self.n_features_in_)
        settings = self._settings()
        return StackTrainer(
            self._rows_to_grow_on(settings),
            settings,
            seed=self._seed,
            runs=[0],
            flip_probability=np.array([float(self.flip_probability)]),
            unit_of_feature=self._units(),
            usable=self._usable,
            journal=self._journal,
        )

    def _rows_to_grow_on(self, settings):
        """The rows on which members are grown; sets what the columns are scaled by."""
        if not self._grown:
            self._found = self._table.moments()
            self._set_scale(*self._found)
        rows = self._table.grow_on(self.mean_, self.scale_, self._usable, settings)
        if not self._is_gated():
            self._table.drop_features()
        return rows

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
    """`covey.SubsetEnsembleClassifier` for Dask collections."""


class FlockClassifier(_OnDask, members.FlockClassifier):
    """`covey.FlockClassifier` for tables that lie on many machines, or on disk."""


def on_dask(estimator):
    """The same unfitted estimator, for Dask collections."""
    of_name = {kind.__name__: kind for kind in (FlockClassifier, SubsetEnsembleClassifier)}
    return of_name[type(estimator).__name__](**estimator.get_params(deep=False))
