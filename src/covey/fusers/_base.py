"""The base class of all fusers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from covey._core.arrays import in_parts
from covey._core.fusion.rules import normalized, settled, share_among, uniform, weighted_mean
from covey._state import Labels, Whole
from covey._validation import check_sample_weight
from covey.fusers._predictions import Given, Predictions, as_predictions

# The fusers that can be given by name; a class names itself: ``class Mean(Fuser, name="mean")``.
FUSERS: dict[str, Callable[[], Fuser]] = {}


class Fuser(BaseEstimator, metaclass=ABCMeta):
    """The protocol of all fusers: it makes one decision out of many.

    A subclass writes ``_fuse`` and ``_importance`` for blocks of rows; one that learns also
    writes ``_fit`` and sets ``learns``. ``class Mine(Fuser, name="mine")`` can also be given
    by that name.

    Subclass it for a rule of your own that has parameters, learns, or must say who decided; a
    plain function is a fuser as it is.

    Attributes
    ----------
    learns : bool
        Whether ``fit`` needs data. Fixed rules learn nothing.
    needs_X, needs_y : bool
        Whether ``fuse`` reads the features, or the true labels (only the oracle does).
    needs_all_members : bool
        Whether it compares or mixes the predictions of all members when it learns, so that none
        may be missing.
    kinds : tuple of str
        The kinds of `Predictions` that it takes.
    keeps_certainty : bool
        Whether a class to which all members give the probability 1 keeps it. A rule combines the
        members' probabilities; a model that has learnt how reliable their certainty is need not
        keep it.

    Examples
    --------
    >>> import covey
    >>> class Sharp(covey.Fuser):
    ...     def _fuse(self, P, X, y):
    ...         squared = (P.values**2).mean(axis=1)
    ...         return squared / squared.sum(axis=1, keepdims=True)
    ...     def _importance(self, P, X, y):
    ...         return P.available / P.available.sum(axis=1, keepdims=True)
    >>> covey.fuse([[[0.9, 0.1]], [[0.5, 0.5]]], Sharp()).round(2)
    array([[0.8, 0.2]])
    """

    n_members_: Annotated[int, Whole(1, letter="K")]
    classes_: Annotated[np.ndarray, Labels("C")]

    # A subclass may define them as properties.
    learns: bool = False
    needs_X: bool = False
    needs_all_members: bool = False
    needs_y: bool = False
    kinds: tuple[str, ...] = ("probability",)
    keeps_certainty: bool = True

    # An ensemble that routes metadata passes weights on, unless this is told not to.
    __metadata_request__fit = {"sample_weight": True}  # noqa: RUF012

    # How many of the members' numbers are computed at once: about as many as a cache holds.
    _block_size: int = 1 << 16

    @property
    def title(self) -> str:
        """The name in messages and reports."""
        return type(self).__name__

    def __init_subclass__(cls, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            FUSERS[name] = cls

    def fit(
        self,
        P: Given,
        y: ArrayLike | None = None,
        X: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn how to fuse from predictions of held-out samples.

        Parameters
        ----------
        P : Predictions, array or list
            Any form that `covey.fuse` takes.
        y : array of shape (n_samples,)
            True labels, or true numbers for predictions of kind "value". Fixed rules do not read
            them.
        X : array of shape (n_samples, n_features), optional
            The features, for fusers whose ``needs_X`` is set.
        sample_weight : array of shape (n_samples,), optional
        """
        return self._fit_checked(P, y, X, sample_weight)

    def _fit_checked(self, P: Any, y: Any, X: Any, sample_weight: Any, **more: Any) -> Self:
        """Check, and fit; ``more`` are further parameters of a subclass's ``_fit``."""
        P, X = self._check(P, X)
        self._check_parameters(P)
        if self.learns:
            if y is None:
                raise ValueError(f"{self.title} learns how to fuse and needs y to do so.")
            weight = check_sample_weight(sample_weight, P.n_samples)
            with np.errstate(all="ignore"):
                self._fit(P, P.encode(y), X, weight, **more)
        self.n_members_ = P.n_members
        self.classes_ = P.classes
        return self

    def fuse(self, P: Given, X: ArrayLike | None = None, y: ArrayLike | None = None) -> np.ndarray:
        """Fuse predictions into one probability per class, or into one number.

        Parameters
        ----------
        P : Predictions, array or list
            Any form that `covey.fuse` takes.
        X : array of shape (n_samples, n_features), optional
        y : array of shape (n_samples,), optional
            Only the oracle reads it.

        Returns
        -------
        fused : ndarray of shape (n_samples, n_classes)
            Rows sum to one. For predictions of kind "value" an array of shape (n_samples,);
            NaN where no member is available.
        """
        P = as_predictions(P)
        fused = self._by_blocks(self._fuse_settled, P, X, y, "classes")
        return fused[:, 0] if P.kind == "value" else fused

    def fuse_log(
        self, P: Given, X: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> np.ndarray:
        """Return logarithms of fused probabilities, without underflow where the rule allows."""
        P = as_predictions(P)
        if P.kind == "value":
            raise ValueError("fuse_log is for probabilities; predictions of kind value have none.")
        logs = self._by_blocks(self._fuse_log, P, X, y, "logarithms")
        return np.minimum(logs, 0.0)  # rounding may make a little more of members that are sure

    def importance(
        self, P: Given, X: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> np.ndarray:
        """Return who decided: the ``i_k(x)`` of eq. (10).

        The parameters are those of ``fuse``.

        Returns
        -------
        importance : ndarray of shape (n_samples, n_members)
            Non-negative, rows sum to one.
        """
        return self._by_blocks(self._importance, P, X, y, "members")

    # -- shared by the methods above ---------------------------------------------------------

    def _check(self, P: Any, X: Any) -> tuple[Predictions, Any]:
        P = as_predictions(P)
        if len(P.classes) == 0:
            raise ValueError("Predictions hold no class; give at least one row, or classes.")
        if P.kind not in self.kinds:
            raise ValueError(
                f"{self.title} fuses predictions of kind {' or '.join(self.kinds)}, got {P.kind}."
            )
        if self.needs_X:
            if X is None:
                raise ValueError(
                    f"{self.title} asks which members are competent near each sample "
                    "and needs the features X."
                )
            X = self._features(X)
            if X.shape[0] != P.n_samples:
                raise ValueError(
                    f"X has {X.shape[0]} rows, but the predictions are of {P.n_samples} samples."
                )
        return P, X

    def _features(self, X: Any) -> Any:
        try:
            return check_array(X, accept_sparse="csr", dtype=np.float64)
        except ValueError as error:
            raise ValueError(
                f"{self.title} measures distances in X and needs finite numbers in every "
                f"column: {error}"
            ) from None

    def _fuse_settled(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        fused = self._fuse(P, X, codes)
        return fused if P.kind == "value" or self._is_exact() else settled(fused)

    def _is_exact(self) -> bool:
        """Return whether equal probabilities become equal to the last bit anyway."""
        return False

    @np.errstate(all="ignore")
    def _by_blocks(
        self, function: Callable[..., np.ndarray], P: Any, X: Any, y: Any, over: str
    ) -> np.ndarray:
        P, X = self._check(P, X)
        self._check_parameters(P)
        if self.learns:
            check_is_fitted(self, "n_members_")
            self._check_learnt(P)
            P = P.aligned(self.classes_)
        codes = None if y is None else P.encode(y)
        rows = max(1, self._block_size // P.row_size)
        if P.n_samples <= rows:
            return self._fill_unavailable(function(P, X, codes), P, over)
        whole = np.empty((P.n_samples, 0))
        for block in in_parts(P.n_samples, rows):
            part = function(
                P.rows(block),
                X[block] if self.needs_X else None,
                None if codes is None else codes[block],
            )
            if not whole.size:
                whole = np.empty((P.n_samples, part.shape[1]))
            whole[block] = part
        return self._fill_unavailable(whole, P, over)

    def _check_learnt(self, P: Predictions) -> None:
        """Refuse predictions unlike those that it has learnt from."""
        if P.n_members != self.n_members_:
            raise ValueError(
                f"{self.title} has learnt to fuse {self.n_members_} members, got {P.n_members}."
            )

    def _fill_unavailable(self, fused: np.ndarray, P: Predictions, over: str) -> np.ndarray:
        """Give all classes and members equal shares where no member is available."""
        if P.available is None or self.needs_y:
            return fused
        empty = ~P.available.any(axis=1)
        if P.kind == "value" and over == "classes":
            fused[empty] = np.nan
            return fused
        even = 1.0 / fused.shape[1]
        fused[empty] = np.log(even) if over == "logarithms" else even
        return fused

    def _keep_members(self, names: Sequence[str], kept: Sequence[str]) -> None:
        """Leave out the parameters of members, by name, that are not kept."""

    def _check_parameters(self, P: Predictions) -> None:
        """Refuse parameters that do not fit the predictions."""

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        """Learn; a fixed rule has nothing to learn."""

    @abstractmethod
    def _fuse(self, P: Predictions, X: Any, codes: np.ndarray | None) -> np.ndarray:
        """Return probabilities of shape (n_samples, n_classes) of checked predictions.

        For predictions of kind "value", return the fused number of each sample, (n_samples, 1).
        """

    def _fuse_log(self, P: Predictions, X: Any, codes: np.ndarray | None) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._fuse(P, X, codes))

    @abstractmethod
    def _importance(self, P: Predictions, X: Any, codes: np.ndarray | None) -> np.ndarray:
        """Return importances of shape (n_samples, n_members) of checked predictions."""


def available_weight(P: Predictions, weights: ArrayLike | None = None) -> np.ndarray:
    """Return weights as (n_samples, n_members), 0 where a member is not available."""
    weight = np.broadcast_to(
        np.ones(P.n_members) if weights is None else weights, (P.n_samples, P.n_members)
    )
    return weight if P.available is None else weight * P.available


def effective_weight(P: Predictions, weights: ArrayLike | None = None) -> np.ndarray:
    """Return such weights, or equal ones where all available members have weight 0."""
    weight = available_weight(P, weights)
    if P.available is None:
        return weight
    return np.where(weight.any(axis=1, keepdims=True), weight, P.available)


def equal_shares(P: Predictions) -> np.ndarray:
    """Return equal importances (n_samples, n_members) of all available members."""
    return normalized(available_weight(P), uniform(P.n_samples, P.n_members))


def agreeing_importance(P: Predictions, fused: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Share importance among the members whose own decision is the fused one."""
    agrees = P.labels == settled(fused).argmax(axis=1)[:, None]
    return share_among(agrees, weight)


def of_those_that_know(P: Predictions, mass: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return sums over members (n, C), each divided by the weight of members that know the class.

    So a member abstains on a class that it never saw. A class that no member saw gets nothing.
    """
    if P.seen is None or P.seen.all():
        return mass
    known = weight @ P.seen
    return np.where(known > 0, mass / np.where(known > 0, known, 1.0), 0.0)


def values_by(P: Predictions, importance: np.ndarray) -> np.ndarray:
    """Return numbers fused by importances (n_samples, n_members), as (n_samples, 1)."""
    return np.einsum("nkc,nk->nc", P.values, importance)


def with_means_of_available(P: Predictions) -> np.ndarray:
    """Return the values; an unavailable member's are the mean of the available ones'."""
    if P.available is None:
        return P.values
    if P.kind == "value":
        means = values_by(P, equal_shares(P))
    else:
        means = weighted_mean(P.values, available_weight(P))
    return np.where(P.available[:, :, None], P.values, means[:, None, :])


def center_and_unit(y: np.ndarray, sample_weight: np.ndarray) -> tuple[float, float]:
    """Return the weighted mean of numbers, and their standard deviation, or 1 for constants."""
    center = np.average(y, weights=sample_weight)
    spread = np.sqrt(np.average((y - center) ** 2, weights=sample_weight))
    return center, spread if spread > 0 else 1.0
