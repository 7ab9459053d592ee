"""The template of ensembles that are grown on arrays: validate, grow, fuse, store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from covey._blocks import checked_numbers, in_blocks, training_table
from covey._callbacks import CallbackSupportMixin, with_callbacks
from covey._validation import (
    check_choice,
    check_labels,
    check_number,
    check_sample_weight,
    one_fit_at_once,
)
from covey.fusers import Fuser, make_fuser
from covey.members._fused import FusedClassifier
from covey.members._held_out import held_out_rows
from covey.members._targets import check_same_classes, check_two_classes, weighted_classes


class GrownClassifier(CallbackSupportMixin, FusedClassifier):
    """A classifier that grows members and fuses them.

    A subclass has the parameters ``fuser``, ``select_size``, ``validation_fraction``,
    ``class_weight``, ``warm_start``, ``n_jobs`` and ``random_state``, and writes
    ``_check_parameters``, ``_grow``, ``_attributes`` and ``_predictions``.

    ``fit`` is: validate; ``_grow`` members on all rows, or on the rows that are not held out
    when something is learnt from held-out ones; choose how many to keep; fit the fuser.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> grown = covey.rivals.DecorateClassifier(n_estimators=2, random_state=0).fit(X, y)
    >>> isinstance(grown, covey.members.GrownClassifier), len(grown.estimators_)
    (True, 2)
    """

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any data is read."""

    @abstractmethod
    def _grow(self, X: Any, codes: np.ndarray, sample_weight: np.ndarray, context: Any) -> None:
        """Train the members on X, (n, D) of float64, whose classes are given as positions.

        ``context`` is the CallbackContext of the whole fit, for progress.
        """

    @abstractmethod
    def _attributes(self, n_members: int) -> dict[str, Any]:
        """The fitted attributes of the first members that were grown."""

    def _keep_first(self, n_members: int) -> None:
        for name, value in self._attributes(n_members).items():
            setattr(self, name, value)

    def _reconstruction(self, n_members: int) -> dict[str, Any] | None:
        """What callbacks make a fitted flock of; None where the fuser is yet to be learnt."""
        fuser = make_fuser(self.fuser)
        if fuser.learns:
            return None
        names = ("classes_", "kind_", "mean_", "scale_")
        known = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**self._attributes(n_members), **known, "fuser_": fuser}

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X, y, sample_weight
            As for `FlockClassifier.fit`.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one speaker: where something is chosen
            by cross-validation, no fold separates them, and rows are held out by whole groups.
        """
        with one_fit_at_once(self):
            return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        self._check_parameters()
        check_size_parameters(self)
        fuser = make_fuser(self.fuser)
        check_fixed_size(self.select_size, self.fuser, fuser)
        continued = self.warm_start and hasattr(self, "fuser_")
        X, codes, weight = self._check_training_data(X, y, sample_weight, continued)
        self._keep_seen(X, weight)
        self._keep_rows(X, self.classes_[codes], weight)
        if not continued:
            # If this fit fails, nothing of an earlier one must be left.
            self.__dict__.pop("fuser_", None)
            self._forget()
            # Every draw is a function of this one number.
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        context = self._init_callback_context(max_subtasks=self._max_tasks())
        told = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        context.call_on_fit_task_begin(estimator=self, **told)
        self._prepare(X, codes, weight, groups, context)
        self.fuser_ = self._grow_and_fuse(X, codes, weight, groups, fuser, context)
        context.call_on_fit_task_end(estimator=self, **told)
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
            scores = self._stages(
                self._predictions(X[rows]), codes[rows], X[rows], weight[rows], fuser
            )
            self._keep_first(best_size(scores))
        # A fixed rule learns nothing, but still checks that it suits these members.
        rows = held_out if fuser.learns else slice(1)
        known = X[rows]
        fuser.fit(self._predictions(known), self.classes_[codes[rows]], known, weight[rows])
        return fuser

    def _prepare(self, X, codes, weight, groups, context):
        """Prepare, before anything is grown; a subclass without folds takes no groups."""
        if groups is not None:
            raise ValueError(
                "groups keeps rows together in the folds of a search, but "
                f"{type(self).__name__} makes none; leave groups out."
            )

    def _max_tasks(self) -> int | None:
        """How many subtasks of a fit callbacks can expect; None if that is not known."""

    def _forget(self) -> None:
        """Drop what an earlier fit left for a warm start."""

    def _check_training_data(self, X, y, sample_weight, continued):
        X, y = training_table(self, X, y, reset=not continued)
        check_labels(y)
        classes, codes = np.unique(y, return_inverse=True)
        if continued:
            check_same_classes(classes, self.classes_)
        weight = check_sample_weight(sample_weight, len(codes))
        largest = np.zeros(len(classes))
        np.maximum.at(largest, codes, weight)
        if self.class_weight is not None:
            sums = np.bincount(codes, weight, minlength=len(classes))
            factors, largest = weighted_classes(self.class_weight, classes, sums, largest)
            weight = weight * factors[codes]
        check_two_classes(type(self).__name__, classes, largest)
        self.classes_ = classes
        return X, codes, weight

    def _held_out(self, codes, weight, fuser, groups=None):
        """The rows kept from the members, where something is learnt from held-out rows."""
        if not (fuser.learns or self.select_size == "validation"):
            return np.zeros(len(codes), dtype=bool)
        return held_out_rows(codes, weight, self.validation_fraction, self._seed, groups)

    # -- predict ---------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        return checked_numbers(self, X)

    def _by_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        return in_blocks(function, X, self.n_jobs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_fixed_size(select_size: str | None, rule: str | Fuser, fuser: Fuser) -> None:
    """Refuse to select a size under a rule that learns."""
    if fuser.learns and select_size is not None:
        raise ValueError(
            f"select_size={select_size!r} compares flocks of different sizes under a "
            f"fixed rule, but fuser={rule!r} learns; use select_size=None."
        )


def check_size_parameters(estimator: Any) -> None:
    """Check ``select_size`` and ``validation_fraction``."""
    if estimator.select_size is not None:
        check_choice(estimator.select_size, "select_size", ("train", "validation"))
    check_number(
        estimator.validation_fraction, "validation_fraction", low=0, high=1, closed="neither"
    )


def check_warm_start(flock: Any) -> None:
    """Refuse to continue with fewer members than are grown, or with columns scaled otherwise.

    Examples
    --------
    >>> import covey
    >>> from covey.members import check_warm_start
    >>> X, y = covey.make_quarter_circle(50, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(2, warm_start=True, random_state=0).fit(X, y)
    >>> check_warm_start(flock.set_params(n_estimators=3))
    """
    layout = {"scale_features": flock.scale_features, "fit_intercept": flock.fit_intercept}
    if not flock._grown:
        flock._grown_with = layout
    if flock.n_estimators < len(flock._grown):
        raise ValueError(
            f"n_estimators={flock.n_estimators} is fewer than the {len(flock._grown)} members "
            "already grown; with warm_start=True it cannot shrink."
        )
    for name, value in flock._grown_with.items():
        if layout[name] != value:
            raise ValueError(
                f"{name}={layout[name]!r} differs from {value!r}, with which the "
                "fitted members were grown; with warm_start=True it cannot change."
            )


def best_size(scores: np.ndarray) -> int:
    """How many members score best; the fewest, of equals."""
    return int(np.argmax(scores > scores.max() - 1e-12)) + 1
