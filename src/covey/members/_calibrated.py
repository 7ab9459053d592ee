"""Flocks that know how wrong they are: sets of classes, intervals, and rows for a person."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from covey._core.quantiles import effective_weights, least_accuracy, upper_bound
from covey._decisions import decided
from covey._devices import returned, to_numpy
from covey._state import Array, Index, OneOf, OrAbsent, Parts
from covey._validation import check_number, check_sample_weight
from covey.members._class_flock import ClassFlock
from covey.members._ensemble import Ensemble, accepts_dask, check_numbers
from covey.members._held_out import HeldOut
from covey.members._training_rows import TrainingRows
from covey.members._value_flock import ValueFlock

OUT_OF_FOLD, GIVEN_ROWS = "out of fold", "given rows"
# The shares of rows to hand on that are compared where an accuracy is wanted.
_SHARES = np.arange(20) / 20
_CONFIDENCE = 0.95
# How far rounding may take a mean of probabilities beyond one.
_ALMOST_ONE = 1 + 1e-6
# Sums over this many rows, of this much weight, are finite.
_LARGEST_WEIGHT = 1e12


class CalibratedFlock(Ensemble):
    """What a flock keeps of rows that it was not fitted on: scores, sorted, and no rows."""

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Measure by rows that the flock was not fitted on how far off it is.

        They take the place of the training rows that folds held out. If new rows can be exchanged
        with these, as draws from one population can, levels hold exactly; see Notes of the class.
        The members stay as they are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that were **not** given to ``fit``: of those it has seen it knows too much.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "fuser_")
        for name, given in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            if hasattr(given, "__dask_graph__"):
                raise TypeError(f"calibrate takes rows in memory; give {name}.compute().")
        X, y, sample_weight = to_numpy(X), to_numpy(y), to_numpy(sample_weight)
        rows = self._check_rows(X)
        check_consistent_length(rows, y)
        truth = self._known(y)
        weight = check_sample_weight(sample_weight, len(truth))
        used = weight > 0
        predicted = self._by_blocks(self._fused, rows)[used]
        weight = effective_weights(weight[used])
        self.calibration_ = Bunch(
            source=GIVEN_ROWS, **self._scores(truth[used], predicted, weight)
        )
        return self

    def _calibrate_out_of_fold(self, y: ArrayLike, predicted: np.ndarray) -> None:
        """Measure by what flocks that were fitted alike, without a row, predict of it.

        ``predicted`` are probabilities (n, n_classes) or numbers (n,). Unlike the folds of the
        search, these have chosen nothing.
        """
        truth = self._known(np.asarray(y))
        weight = effective_weights(np.ones(len(truth)))
        self.calibration_ = Bunch(source=OUT_OF_FOLD, **self._scores(truth, predicted, weight))

    def _keep_calibration(
        self, rows: TrainingRows, held_out: HeldOut, predicted: np.ndarray
    ) -> None:
        """Keep the scores of training rows, as they were predicted by models without them.

        Where a row was held out several times, each time counts for a part of it: a mean of what
        was predicted would be closer to the truth than a single flock is.
        """
        numbers, position, count = np.unique(
            held_out.rows, return_inverse=True, return_counts=True
        )
        weight, truth = held_out.weight[numbers], rows.y[numbers]
        if not self._numeric:
            truth = np.searchsorted(self.classes_, truth)
            if rows.class_factors is not None:
                # Costs of classes are for the training; what is promised is for rows as they come.
                weight = weight / rows.class_factors[truth]
        weight = effective_weights(weight) / count
        self.calibration_ = Bunch(
            source=OUT_OF_FOLD, **self._scores(truth[position], predicted, weight[position])
        )

    def _measured(self, what: str) -> Bunch:
        """The scores, or a sentence that says why there are none."""
        check_is_fitted(self, "fuser_")
        if not hasattr(self, "calibration_"):
            raise ValueError(
                f"{what} needs predictions of rows held out, but this {type(self).__name__} was "
                "fitted without folds (effort='fast', Dask collections, or an older file); call "
                "calibrate(X, y) with rows that it was not fitted on, or fit with "
                "effort='balanced'."
            )
        return self.calibration_


class CalibratedClassifier(CalibratedFlock, ClassFlock):
    """A flock that predicts sets of classes, and may hand rows on to a person."""

    calibration_: OrAbsent(
        Parts(
            {
                "source": OneOf(OUT_OF_FOLD, GIVEN_ROWS),
                "label": Index("S", "C"),
                "probabilities": Array("S C", 0.0, _ALMOST_ONE),
                "weight": Array("S", high=_LARGEST_WEIGHT, positive=True, fewest=1),
            },
            make=Bunch,
        )
    )

    def _known(self, y: Any) -> np.ndarray:
        y = column_or_1d(y)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        found = [codes.get(label, -1) for label in y.tolist()]
        if -1 in found:
            label = y.tolist()[found.index(-1)]
            raise ValueError(
                f"y holds the label {label!r}, which this {type(self).__name__} was not fitted "
                f"on; its classes are {', '.join(map(repr, codes))}."
            )
        return np.array(found, dtype=np.int64)

    def _scores(self, codes: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> dict:
        # In an order that tells nothing of the rows.
        order = np.lexsort((weight, *predicted.T, codes))
        return {
            "label": codes[order],
            "probabilities": predicted[order],
            "weight": weight[order],
        }

    def _rows_held_out_for_decisions(self) -> tuple[Any, ...]:
        if not hasattr(self, "calibration_"):
            return super()._rows_held_out_for_decisions()
        known = self.calibration_
        return known.label, known.probabilities, known.weight, known.source

    @accepts_dask
    def predict_set(self, X: Any, level: float = 0.9, *, by_class: bool = True) -> np.ndarray:
        """The classes that a row may have: the true one is among them with a chance of ``level``.

        A class is in the set where it is at least as probable as for most rows of this class
        that were held out (split conformal prediction by class, with the probability as score),
        so that a rare class is missed no more often than the others. What is predicted is always
        in it, so that no set is empty. The Notes of the class say what is guaranteed.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        level : float, default=0.9
            How often the true class is to be in the set, at least; above 0 and below 1. A class
            of which fewer than ``level / (1 - level)`` rows were held out is in all sets, with a
            warning.
        by_class : bool, default=True
            Whether the level holds for the rows of each class by itself. False: for all rows
            together. Sets are smaller, and may never hold a rare class.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), bool
            Which of ``classes_`` are in the set of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from covey import FlockClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> sets = flock.calibrate(X[1::2], y[1::2]).predict_set(X, level=0.95)
        >>> sets.shape, flock.classes_[sets[0]].tolist()
        ((150, 3), [0])
        """
        bounds = self._bounds_of_sets(level, by_class)
        if by_class and (said := self._always_in_sets(level)):
            warnings.warn(said, UserWarning, stacklevel=3)
        probabilities = to_numpy(self.predict_proba(X))
        sets = -probabilities <= bounds
        sets[np.arange(len(sets)), decided(self, probabilities)] = True
        return returned(sets, X)

    def _bounds_of_sets(self, level: float, by_class: bool) -> np.ndarray:
        """The score (n_classes,) up to which a class is in a set; infinite if it always is."""
        check_number(level, "level", low=0, high=1, closed="neither")
        known = self._measured("predict_set")
        every = np.arange(len(known.label))
        scores = -known.probabilities[every, known.label]
        n_classes = len(self.classes_)
        if not by_class:
            return np.full(n_classes, upper_bound(scores, known.weight, level))
        of = [known.label == code for code in range(n_classes)]
        return np.array([upper_bound(scores[i], known.weight[i], level) for i in of])

    def _always_in_sets(self, level: float) -> str | None:
        """A sentence about classes that are in all sets of this level; None without any."""
        always = np.flatnonzero(np.isinf(self._bounds_of_sets(level, True)))
        if not len(always):
            return None
        known = self.calibration_
        sizes = [f"{known.weight[known.label == code].sum():.0f}" for code in always]
        labels = list(map(repr, self.classes_[always].tolist()))
        least = int(np.ceil(level / (1 - level) - 1e-9))
        few = ", ".join(f"{label} has {n}" for label, n in zip(labels[:3], sizes, strict=False))
        few += f" and {len(labels) - 3} more have too few" if len(labels) > 3 else ""
        return (
            f"A level of {level:g} needs {least:,} rows held out of a class; {few}, so every set "
            f"holds {'it' if len(labels) == 1 else 'them'}."
        )

    @accepts_dask
    def predict(self, X: Any, *, reject: float | None = None) -> np.ndarray:
        """The class with the highest fused probability, (n_samples,).

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        reject : float, optional
            The share of rows, from 0 to below 1, that the flock may leave to a person: those of
            which it is the least sure. `rejection` says how right it is about the others, and
            finds the share for an accuracy that is wanted.

        Returns
        -------
        labels : ndarray, or with ``reject`` a masked array, of shape (n_samples,)
            Rows to ask a person about are masked: ``labels.mask`` says which,
            ``labels.filled(...)`` puts a label there. (Of text they are objects, so that it may
            be longer than all of the classes.)
        """
        if reject is None:
            return super().predict(X)
        threshold = self.rejection(reject).threshold
        probabilities = to_numpy(self.predict_proba(X))
        labels = self.classes_[decided(self, probabilities)]
        if labels.dtype.kind == "U":
            labels = labels.astype(object)  # any text can be put where a row is masked
        return np.ma.masked_array(labels, mask=probabilities.max(axis=1) < threshold)

    def rejection(
        self,
        reject: float | None = None,
        *,
        accuracy: float | None = None,
        confidence: float = _CONFIDENCE,
    ) -> Bunch:
        """How right the flock is if it leaves the rows of which it is the least sure to a person.

        Parameters
        ----------
        reject : float, optional
            The share of rows that it may leave, from 0 to below 1.
        accuracy : float, optional
            In place of ``reject``: how often it is to be right about the rest. The fewest rows
            are left (none, 5 %, ..., 95 %) for which the rows held out say so.
        confidence : float, default=0.95
            How sure ``low`` and ``accuracy`` are. Where one of twenty shares is chosen by an
            accuracy, it holds for all of these at once.

        Returns
        -------
        found : Bunch
            ``reject``, the share of rows held out that are left; ``threshold``, the probability
            below which a row is; ``accuracy`` of the others, and ``low``, which it is above but
            for a chance of ``1 - confidence`` (Clopper and Pearson's limit). This is exact for
            rows that `calibrate` was given, and approximate for rows that folds held out.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from covey import FlockClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> found = flock.calibrate(X[1::2], y[1::2]).rejection(accuracy=0.95)
        >>> bool(found.low >= 0.95)
        True
        >>> flock.predict(X[:200], reject=found.reject).mask.sum() < 40
        np.True_
        """
        if (reject is None) == (accuracy is None):
            raise ValueError(
                "rejection takes a share of rows (reject=0.1) or an accuracy that is wanted of "
                "the others (accuracy=0.98): one of the two."
            )
        check_number(confidence, "confidence", low=0, high=1, closed="neither")
        known = self._measured("reject")
        if reject is not None:
            check_number(reject, "reject", low=0, high=1, closed="left")
            return self._without_the_least_sure(float(reject), 1.0 - confidence)
        check_number(accuracy, "accuracy", low=0, high=1, closed="neither")
        chance = (1.0 - confidence) / len(_SHARES)
        tried = [self._without_the_least_sure(share, chance) for share in _SHARES]
        for found in tried:
            if found.low >= accuracy:
                return found
        best = max(tried, key=lambda found: found.low)
        raise ValueError(
            f"accuracy={accuracy:g} cannot be promised: with a confidence of {confidence:g} the "
            f"most is {best.low:.3g}, for reject={best.reject:.2g}, by {known.weight.sum():.0f} "
            "rows held out; want less, or calibrate with more rows."
        )

    def _without_the_least_sure(self, share: float, chance: float) -> Bunch:
        """What is known of the rows that are answered, if at most a share of them is not."""
        known = self.calibration_
        top, right = (
            known.probabilities.max(axis=1),
            decided(self, known.probabilities) == known.label,
        )
        tops, position = np.unique(top, return_inverse=True)
        weights = np.bincount(position, known.weight)
        # How much lies below each of the probabilities that are found.
        below = np.append(0.0, np.cumsum(weights))[:-1] / weights.sum()
        first = np.flatnonzero(below <= share + 1e-12)[-1]
        answered = top >= tops[first]
        n_rows = known.weight[answered].sum()
        n_right = known.weight[answered & right].sum()
        return Bunch(
            reject=float(below[first]),
            threshold=float(tops[first]) if first else 0.0,
            accuracy=float(n_right / n_rows),
            low=least_accuracy(n_right, n_rows, chance),
        )


class CalibratedRegressor(CalibratedFlock, ValueFlock):
    """A flock that predicts intervals."""

    calibration_: OrAbsent(
        Parts(
            {
                "source": OneOf(OUT_OF_FOLD, GIVEN_ROWS),
                "error": Array("S"),
                "weight": Array("S", high=_LARGEST_WEIGHT, positive=True, fewest=1),
            },
            make=Bunch,
        )
    )

    def _known(self, y: Any) -> np.ndarray:
        return check_numbers(y)

    def _scores(self, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> dict:
        error = y - predicted
        order = np.lexsort((weight, error))
        return {"error": error[order], "weight": weight[order]}

    @accepts_dask
    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Bounds of y: it lies between them with a chance of ``level``.

        They are the prediction plus an upper and a lower quantile of the errors of rows held out
        (split conformal prediction, as much on either side), so that they are as wide for every
        row, and lie askew where errors do. The Notes of the class say what is guaranteed.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        level : float, default=0.9
            How often y is to lie between the bounds, at least; above 0 and below 1. They are
            infinite if fewer than ``(1 + level) / (1 - level)`` rows were held out.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)
            The lower and the upper bound of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from covey import FlockRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X[::2], y[::2])
        >>> low, high = flock.calibrate(X[1::2], y[1::2]).predict_interval(X, level=0.8).T
        >>> bool(((low < y) & (y < high)).mean() > 0.75)
        True
        """
        check_number(level, "level", low=0, high=1, closed="neither")
        known = self._measured("predict_interval")
        side = (1.0 + level) / 2.0
        low = -upper_bound(-known.error, known.weight, side)
        high = upper_bound(known.error, known.weight, side)
        predicted = to_numpy(self.predict(X))
        bounds = np.column_stack([predicted + low, predicted + high])
        never_negative = hasattr(self, "y_range_") and self.y_range_[0] >= 0
        return returned(np.maximum(bounds, 0.0) if never_negative else bounds, X)
