"""Dynamic selection: the members that were right on similar samples decide about a sample.

Every method is a row of `METHODS`: the space in which neighbors are looked up, the measure of a
member's competence, and the members that are selected by it. `DynamicSelection` runs all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from covey import _state as stored
from covey._core.arrays import in_parts
from covey._core.fusion.competence import (
    alike,
    divergence,
    double_faults,
    exponential,
    keep_highest,
    least_difference,
    local_hits,
    local_mean,
    logarithmic,
    near_highest,
    oracle_reach,
    potentials,
    rare_class_weights,
    reference_wins,
    true_probability,
)
from covey._core.fusion.rules import normalized, uniform, vote_shares, weighted_mean
from covey._core.limits import FAR, SQUARABLE, TINY
from covey._state import Array, Where, refuse
from covey._validation import check_choice, check_flag, check_number, keep_parameters
from covey.fusers._base import FUSERS, Fuser, available_weight, equal_shares, values_by
from covey.fusers._predictions import Predictions

# How many distances are held at once.
_MOST_DISTANCES = 1 << 22

# -- the competence of members: (fuser, P, region, distance) -> (n_samples, n_members) ------------


def _mean_worth(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    """Return the mean worth of a member at the neighbors."""
    row, worth = fuser._row, fuser.right_
    if row.worth is not None:
        worth = fuser.worth_
    elif P.kind == "value":
        worth = -fuser.squared_errors_
    weight = None if row.weight is None else row.weight(fuser, P, region, distance)
    classes = (fuser.truth_, P.labels) if row.of_class else None
    return local_mean(worth, region, weight, fuser.available_, classes)


def _above_chance(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    """Return accuracy less 1/C; for numbers 1 less the squared error in units of the mean's."""
    if P.kind != "value":
        return _mean_worth(fuser, P, region, distance) - 1.0 / P.n_classes
    errors = local_mean(fuser.squared_errors_, region, available=fuser.available_)
    of_mean = np.broadcast_to(fuser.squared_errors_of_mean_[:, None], fuser.right_.shape)
    of_mean = local_mean(of_mean, region, available=fuser.available_)
    # If the mean has no error, no member is better.
    return np.where(of_mean > 0, 1.0 - errors / np.where(of_mean > 0, of_mean, 1.0), 0.0)


def _hits(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    return local_hits(fuser.right_, region)


def _reach(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    return oracle_reach(fuser.right_, region, fuser.available_)


def _accurate_and_diverse(fuser: Any, P: Any, region: np.ndarray, distance: Any) -> np.ndarray:
    """Return the accuracy of the least alike of the most accurate members; 0 for the others."""
    accuracy = local_mean(fuser.right_, region, available=fuser.available_)
    n_members = accuracy.shape[1]
    n_accurate = max(1, int(n_members * fuser._option("accurate_share")))
    n_diverse = min(n_accurate, int(np.ceil(n_members * fuser._option("diverse_share"))))
    faults = double_faults(fuser.right_, region, fuser.available_)
    # Few common failures first; of equally diverse members, the more accurate.
    diversity = np.where(keep_highest(accuracy, n_accurate), accuracy - 1e6 * faults, -np.inf)
    # Accuracies may be zero and still selected: ratings begin at one.
    return keep_highest(diversity, n_diverse) * (1.0 + accuracy)


def _of_cluster(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    return fuser.competence_[region[:, 0]]


def learnt(fuser: Any, P: Predictions, region: np.ndarray, distance: Any) -> np.ndarray:
    """Return the probability that each member is right."""
    if fuser._all_alike:
        return np.ones((P.n_samples, P.n_members))
    profiles = fuser._profiles(P)
    similar = fuser._profile_index.kneighbors(profiles, return_distance=False)
    evidence = _evidence(fuser, P, region[:, : fuser._n_nearest], similar[:, : fuser._n_alike])
    return fuser.meta_classifier_.predict_proba(evidence)[:, 1].reshape(P.n_samples, -1)


# -- how much a neighbor counts: (fuser, P, region, distance) -> (n_samples, n_neighbors) ---------


def _by_nearness(fuser: Any, P: Any, region: np.ndarray, distance: Any) -> np.ndarray:
    return 1.0 / np.maximum(distance, 1e-10)


def _by_potential(fuser: Any, P: Any, region: np.ndarray, distance: Any) -> np.ndarray:
    return potentials(distance)


def _by_rarity(fuser: Any, P: Any, region: np.ndarray, distance: Any) -> np.ndarray:
    return rare_class_weights(fuser.truth_, region, fuser._option("alpha"))


def by_likeness(fuser: Any, P: Any, region: np.ndarray, distance: Any) -> np.ndarray:
    share, known = fuser._option("similarity"), fuser.available_
    return alike(fuser._known_labels, region, P.labels, share, known, P.available)


# -- the members that are selected: (fuser, competence) -> (n_samples, n_members) -----------------


def _take_best(fuser: DynamicSelection, competence: np.ndarray) -> np.ndarray:
    return keep_highest(competence, 1)


def _take_nearly_best(fuser: DynamicSelection, competence: np.ndarray) -> np.ndarray:
    return near_highest(competence, fuser._threshold())


def _take_above(fuser: DynamicSelection, competence: np.ndarray) -> np.ndarray:
    return competence > fuser._threshold() + 1e-12


def _take_share(fuser: DynamicSelection, competence: np.ndarray) -> np.ndarray:
    share = fuser._option("accurate_share")
    return keep_highest(competence, max(1, int(competence.shape[1] * share)))


def _take_all(fuser: DynamicSelection, competence: np.ndarray) -> np.ndarray:
    return competence


# -- the table ------------------------------------------------------------------------------------

_OF_CLASSES = ("label", "probability")
_OF_BOTH = (*_OF_CLASSES, "value")
_OF_PROBABILITIES = ("probability",)
_NEIGHBORS = {"n_neighbors": 7}


@dataclass(frozen=True)
class Method:
    """One method of dynamic selection, made of the functions above.

    ``worth`` is the worth of members at known samples, a function of their probabilities and of
    the true classes (None: whether they are right); ``of_class`` asks for neighbors of the class
    that a member predicts. ``space`` is where neighbors are looked up: "features", "profiles" (of
    predictions) or "clusters". ``options`` are its own parameters, with their defaults.
    """

    measure: Callable[..., np.ndarray] = _mean_worth
    take: Callable[..., np.ndarray] = _take_best
    worth: Callable[..., np.ndarray] | None = None
    weight: Callable[..., np.ndarray] | None = None
    of_class: bool = False
    space: str = "features"
    fuses: tuple[str, ...] = _OF_CLASSES
    options: Mapping[str, Any] = field(default_factory=lambda: _NEIGHBORS)


_a_priori = Method(
    take=_take_nearly_best,
    worth=true_probability,
    weight=_by_nearness,
    fuses=_OF_PROBABILITIES,
    options={**_NEIGHBORS, "threshold": 0.1},
)
_diverse = {"accurate_share": 0.5, "diverse_share": 0.3}
_spread = Method(
    take=_take_above,
    weight=_by_potential,
    fuses=_OF_PROBABILITIES,
    # All known samples count; a member that guesses has a competence of 0.
    options={"n_neighbors": None, "threshold": 0.0},
)
METHODS: dict[str, Method] = {
    "ola": Method(fuses=_OF_BOTH),
    "lca": Method(of_class=True),
    "mla": Method(of_class=True, weight=_by_nearness),
    "rank": Method(_reach),
    "a_priori": _a_priori,
    "a_posteriori": replace(_a_priori, of_class=True),
    "mcb": Method(
        take=_take_nearly_best,
        weight=by_likeness,
        options={**_NEIGHBORS, "threshold": 0.1, "similarity": 0.7},
    ),
    "knora_e": Method(_reach, _take_nearly_best, fuses=_OF_BOTH),
    "knora_u": Method(_hits, _take_all, fuses=_OF_BOTH),
    "knop": Method(_hits, _take_all, space="profiles", fuses=_OF_PROBABILITIES),
    "des_p": Method(_above_chance, _take_above, fuses=_OF_BOTH),
    "des_knn": Method(_accurate_and_diverse, _take_above, options={**_NEIGHBORS, **_diverse}),
    "des_mi": Method(
        take=_take_share,
        weight=_by_rarity,
        options={**_NEIGHBORS, "accurate_share": 0.4, "alpha": 0.9},
    ),
    "des_clustering": Method(
        _of_cluster,
        _take_above,
        space="clusters",
        options={"n_clusters": 5, **_diverse, "diverse_share": 0.33},
    ),
    "meta_des": Method(
        learnt,
        _take_above,
        worth=true_probability,
        fuses=_OF_PROBABILITIES,
        options={**_NEIGHBORS, "n_profiles": 5, "threshold": 0.5, "meta_classifier": None},
    ),
    "rrc": replace(
        _spread, worth=reference_wins, options={"n_neighbors": None, "threshold": None}
    ),
    "des_kl": replace(_spread, worth=divergence),
    "exponential": replace(_spread, worth=exponential),
    "logarithmic": replace(_spread, worth=logarithmic),
    "minimum_difference": replace(_spread, worth=least_difference),
}
_LIMITS: dict[str, dict[str, Any]] = {
    "n_neighbors": {"low": 1, "whole": True},
    "threshold": {"low": 0, "high": 1},
    "accurate_share": {"low": 0, "high": 1, "closed": "right"},
    "diverse_share": {"low": 0, "high": 1, "closed": "right"},
    "similarity": {"low": 0, "high": 1},
    "alpha": {"low": 0, "closed": "neither"},
    "n_profiles": {"low": 1, "whole": True},
    "n_clusters": {"low": 1, "whole": True},
}


class DynamicSelection(Fuser):
    """A fuser that selects, for each sample, the members that are competent near it.

    ``fuser="knora_e"`` is short for ``fuser=DynamicSelection("knora_e")``. The page "Dynamic
    selection" says for each method how it measures competence, which members it selects, and when
    to choose it.

    ``fit`` keeps the held-out samples it is given: their features, in scikit-learn's own neighbor
    index, and which members were right on them. Rows of weight 0 are left out; otherwise weights
    are not used.

    The numbers of regressors (predictions of kind "value") are fused by "ola", "knora_e",
    "knora_u" and "des_p", too. There a member is right on a sample if its error is not larger than
    that of the mean of all members.

    Parameters
    ----------
    method : str
        "ola", "lca", "mla", "rank", "a_priori", "a_posteriori", "mcb", "knora_e", "knora_u",
        "knop", "des_p", "des_knn", "des_mi", "des_clustering", "meta_des", "rrc", "des_kl",
        "exponential", "logarithmic" or "minimum_difference".
    n_neighbors : int or None, default=None
        The size of the region around a sample; at most as many as there are samples. None is 7;
        for "rrc", "des_kl", "exponential", "logarithmic" and "minimum_difference", which count
        neighbors by ``exp(-d^2)``, None is all.
    voting : {"hard", "soft"}, default="hard"
        Whether the selected members vote, so that probabilities are shares of votes, or average
        their probabilities. Numbers are averaged in any case. Methods that select one member
        ("ola", "lca", "mla", "rank") use its probabilities.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine", "mahalanobis"} or callable, \
            default="euclidean"
        The distance of two samples. A function takes two rows and returns a number; it is slow,
        and model files do not hold it. Sparse rows allow the first two and "cosine". ("knop"
        measures distances of predictions and "des_clustering" those of k-means: Euclidean ones.)
    scale : bool, default=True
        Whether features are standardized first, by the samples given to ``fit``. False uses them
        as they are.
    threshold : float or None, default=None
        For "a_priori", "a_posteriori" and "mcb": members whose competence is less than this below
        the highest are selected; None is 0.1, and with 0 only the highest are. For "meta_des":
        those whose probability to be right is above it; None is 0.5. For the methods that count by
        ``exp(-d^2)``: those whose competence is above it; None is the competence of a member that
        gives every class the same probability, 1/C for "rrc" and 0 for the others.
    accurate_share : float or None, default=None
        For "des_knn" and "des_clustering": the share of members that are accurate enough, None is
        0.5. For "des_mi": the share of members that are selected, None is 0.4.
    diverse_share : float or None, default=None
        The share of members, of all, that are selected among the accurate ones; None is 0.3 for
        "des_knn" and 0.33 for "des_clustering".
    similarity : float or None, default=None
        For "mcb": a neighbor counts if more than this share of the members decide it as they
        decide the sample (None is 0.7). If there is no such neighbor, all count.
    alpha : float or None, default=None
        For "des_mi": how much more rare classes count; None is 0.9.
    n_profiles : int or None, default=None
        For "meta_des": the number of similar output profiles; None is 5.
    meta_classifier : classifier or None, default=None
        For "meta_des": the classifier that learns when a member is right. None is a naive Bayes
        classifier on evidence in ten levels, as in the paper.
    n_clusters : int or None, default=None
        For "des_clustering": at most as many as there are different samples; None is 5.
    random_state : int, default=0
        Seeds the k-means of "des_clustering".

    Attributes
    ----------
    right_ : ndarray of shape (n_known, n_members), bool
        Which members were right on which of the samples given to ``fit``.
    available_ : ndarray of shape (n_known, n_members), bool, or None
        Where members are available; None is everywhere. A member is judged on those samples.
    truth_ : ndarray of shape (n_known,)
        Their classes, as positions in ``classes_``; or their numbers.
    worth_ : ndarray of shape (n_known, n_members)
        For methods that measure competence by probabilities: the worth of each member at each of
        these samples.
    squared_errors_, squared_errors_of_mean_ : ndarray of shape (n_known, n_members) or (n_known,)
        For numbers the squared errors of members, and of their mean; None for classes.
    centers_ : ndarray of shape (n_clusters, n_features)
        For "des_clustering" the centers, of scaled features.
    competence_ : ndarray of shape (n_clusters, n_members)
        For each cluster 1 and the accuracy of a member that is selected, 0 for others.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey import FusionClassifier
    >>> from covey.fusers import DynamicSelection
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    >>> fuser = DynamicSelection("knora_u", n_neighbors=5)
    >>> fused = FusionClassifier(members, fuser).fit(X[::2], y[::2])
    >>> fused.predict(X[[1, 61, 131]])
    array([0, 2, 2])
    """

    meta_classifier: Annotated[Any, stored.Parameter(BaseEstimator)]
    right_: Annotated[np.ndarray, stored.Flags("N K", fewest=1)]
    available_: Annotated[np.ndarray | None, stored.Flags("N K")]
    squared_errors_: Annotated[np.ndarray | None, Array("N K", low=0)]
    squared_errors_of_mean_: Annotated[np.ndarray | None, Array("N", low=0)]
    truth_: Annotated[np.ndarray, Where("_of_numbers", Array("N"), stored.Index("N", "C"))]
    worth_: Annotated[np.ndarray, Where("_has_worth", Array("N K", -FAR, FAR))]
    _known_labels: Annotated[np.ndarray, Where("_has_likeness", stored.Index("N K", "C"))]
    _known_profiles: Annotated[np.ndarray, Where("needs_all_members", Array("N W", -FAR, FAR))]
    _scaler: Annotated[
        StandardScaler | None, Where("needs_X", stored.OrNone(stored.Model(StandardScaler)))
    ]
    _points: Annotated[np.ndarray, Where("_has_points", stored.Matrix("N D", FAR))]
    centers_: Annotated[np.ndarray, Where("_has_clusters", Array("L D", -FAR, FAR, fewest=1))]
    competence_: Annotated[np.ndarray, Where("_has_clusters", Array("L K", 0.0, 2.0))]
    _n_nearest: Annotated[int, Where("_has_judge", stored.Whole(1, "N"))]
    _n_alike: Annotated[int, Where("_has_judge", stored.Whole(1, "N"))]
    _all_alike: Annotated[bool, Where("_has_judge", stored.Flag())]
    _judge: Annotated[BaseEstimator, Where("_judges", stored.Model())]

    learns = True

    # Searching neighbors pays off for many rows at once.
    _block_size = 1 << 20

    def __init__(
        self,
        method: str,
        n_neighbors: int | None = None,
        voting: str = "hard",
        *,
        metric: Metric = "euclidean",
        scale: bool = True,
        threshold: float | None = None,
        accurate_share: float | None = None,
        diverse_share: float | None = None,
        similarity: float | None = None,
        alpha: float | None = None,
        n_profiles: int | None = None,
        meta_classifier: Any = None,
        n_clusters: int | None = None,
        random_state: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    # -- the form in files --------------------------------------------------------------------

    def _why_not_stored(self) -> str | None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            return "whose method is none that is known"
        if callable(self.metric):
            return "whose metric is a function"
        if not isinstance(self.metric, str) or not isinstance(self.scale, bool | np.bool_):
            return "whose metric or scale is none that files hold"
        for name in ("n_neighbors", "n_profiles"):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and value is not True and value > 0
            if value is not None and not (whole and name in self._row.options):
                return f"whose {name} is not a whole number above 0"
        return None

    _of_numbers = property(lambda self: self.squared_errors_ is not None)
    _has_worth = property(lambda self: self._row.worth is not None)
    _has_likeness = property(lambda self: self._row.weight is by_likeness)
    _has_points = property(lambda self: self._row.space == "features")
    _has_clusters = property(lambda self: self._row.space == "clusters")
    _has_judge = property(lambda self: self._row.measure is learnt)
    _judges = property(lambda self: self._has_judge and not self._all_alike)

    def _restored(self) -> None:
        known = self.squared_errors_of_mean_ is not None
        of_numbers = self._of_numbers and "value" in self.kinds
        refuse("squared_errors", "belong to nothing.", known == self._of_numbers == of_numbers)
        if self.needs_X:
            scaler, points = self._scaler, getattr(self, "_points", None)
            points = self.centers_ if points is None else points
            refuse("scaler", "is missing, or belongs to nothing.", self.scale == bool(scaler))
            fits = scaler is None or getattr(scaler, "n_features_in_", 0) == points.shape[1]
            refuse("scaler", "does not scale these columns.", fits)
        if self._row.worth is true_probability:
            inside = ((self.worth_ >= 0) & (self.worth_ <= 1)).all()
            refuse("worth", "are not probabilities.", inside)
        if self._n_profiles():
            n_members, n_classes = self.right_.shape[1], len(self.classes_)
            width = n_members * (1 if n_classes == 2 else n_classes)
            fits = self._known_profiles.shape[1] == width
            refuse("known_profiles", "are not those of the members.", fits)
            self._set_profiles(self._known_profiles)
        if self._has_points:
            try:
                self._set_points(self._points)
            except (ValueError, ArithmeticError) as error:
                refuse("points", f"cannot be searched: {str(error).splitlines()[0]}")
        if self._has_judge:
            fits = self._n_nearest <= self._n_near() and self._n_alike <= self._n_profiles()
            refuse("n_nearest", "is more than are looked up.", fits)
            self.meta_classifier_ = self.meta_classifier or default_meta()
        if self._judges:
            judge, width = self._judge, 2 * self._n_nearest + 1 + self._n_alike + 1
            fits = hasattr(judge, "predict_proba") and getattr(judge, "n_features_in_", 0) == width
            fits = fits and getattr(judge, "classes_", np.empty(0)).tolist() == [False, True]
            refuse("judge", "does not fit the evidence.", fits)
            if self.meta_classifier is None:
                refuse("judge", "is none by default.", isinstance(judge, MultinomialNB))
                (_, levels), (name, _) = self.meta_classifier_.steps
                levels.n_features_in_ = width
                self.meta_classifier_.steps[-1] = (name, judge)
            else:
                self.meta_classifier_ = judge

    # -- the row of the table -----------------------------------------------------------------

    @property
    def _row(self) -> Method:
        return METHODS[check_choice(self.method, "method", METHODS)]

    @property
    def title(self) -> str:
        """The name in messages and reports."""
        return f"DynamicSelection({self.method!r})"

    @property
    def needs_X(self) -> bool:  # type: ignore[override]
        """Whether neighbors are looked up by features."""
        return self._row.space != "profiles"

    @property
    def needs_all_members(self) -> bool:  # type: ignore[override]
        """Whether predictions of all members are compared."""
        return self._n_profiles() > 0

    @property
    def _takes_one(self) -> bool:
        return self._row.take is _take_best

    @property
    def kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the kinds that are fused, votes or probabilities, the preferred one first."""
        fuses = self._row.fuses
        soft = self._takes_one or self.voting == "soft"
        return ("probability", "label", *fuses[2:]) if soft and len(fuses) > 1 else fuses

    def _option(self, name: str) -> Any:
        given = getattr(self, name)
        return self._row.options[name] if given is None else given

    def _threshold(self) -> float:
        if "threshold" not in self._row.options:
            return 0.0
        threshold = self._option("threshold")
        return 1.0 / len(self.classes_) if threshold is None else threshold

    def _check_parameters(self, P: Predictions) -> None:
        options = self._row.options
        check_choice(self.voting, "voting", ("hard", "soft"))
        check_metric(self.metric)
        check_flag(self.scale, "scale")
        for name in (*_LIMITS, "meta_classifier"):
            value = getattr(self, name)
            if value is not None and name not in options:
                listed = ", ".join(options)
                raise ValueError(
                    f"The rule {self.method!r} has no parameter {name!r}; it has {listed}."
                )
            if value is not None and name in _LIMITS:
                free = name == "threshold" and self._row.weight is _by_potential
                check_number(value, name, **({} if free else _LIMITS[name]))
        if "diverse_share" in options:
            accurate, diverse = self._option("accurate_share"), self._option("diverse_share")
            if diverse > accurate:
                raise ValueError(
                    f"diverse_share={diverse} must not exceed accurate_share={accurate}: the "
                    "diverse are chosen among the accurate."
                )
        if self.meta_classifier is not None and not hasattr(self.meta_classifier, "predict_proba"):
            raise ValueError("meta_classifier must have predict_proba.")

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        used = np.flatnonzero(sample_weight > 0)
        if len(used) < P.n_samples:
            P, codes = P.rows(used), codes[used]
        row = self._row
        self.available_ = P.available
        self.truth_ = codes
        self.squared_errors_ = self.squared_errors_of_mean_ = None
        right = self._measured_errors(P) if P.kind == "value" else P.labels == codes[:, None]
        self.right_ = right & P.known
        if self.needs_X:
            self._scaler = scaler_of(X[used]) if self.scale else None
            self._set_points(self._scaled(X[used]))
        if row.worth is not None:
            self.worth_ = row.worth(P.values, codes)
        if row.weight is by_likeness:
            self._known_labels = P.labels
        if self._n_profiles():
            self._set_profiles(self._profiles(P))
        if row.measure is learnt:
            _learn_when_right(self, P)

    def _measured_errors(self, P: Predictions) -> np.ndarray:
        y = self.truth_
        errors = np.abs(P.values[:, :, 0] - y[:, None])
        of_mean = np.abs(values_by(P, equal_shares(P)) - y[:, None])
        self.squared_errors_ = np.minimum(errors, SQUARABLE) ** 2
        self.squared_errors_of_mean_ = np.minimum(of_mean[:, 0], SQUARABLE) ** 2
        # If all members predict the same, all are right, whatever the rounding of the mean.
        return np.isfinite(errors) & (errors <= of_mean * (1.0 + 1e-12))

    def _n_near(self) -> int:
        """Return how many neighbors a region has."""
        n_neighbors, n_known = self._option("n_neighbors"), len(self.truth_)
        return n_known if n_neighbors is None else min(n_neighbors, n_known)

    def _scaled(self, X: Any) -> Any:
        if self._scaler is None:
            check_size(X)
            return X
        return bounded(self._scaler.transform(X))

    def _set_points(self, points: Any) -> None:
        """Index the known samples, scaled; or cluster them, and keep none of them."""
        if self._row.space == "features":
            self._points = points
            self._neighbors = Neighbors(points, self._n_near(), self.metric)
            return
        self.centers_ = self._find_centers(points)
        clusters = pairwise_distances_argmin(points, self.centers_)
        self.competence_ = np.zeros((len(self.centers_), self.right_.shape[1]))
        for cluster in np.unique(clusters):
            region = np.flatnonzero(clusters == cluster)[None, :]
            self.competence_[cluster] = _accurate_and_diverse(self, None, region, None)[0]

    def _find_centers(self, points: Any) -> np.ndarray:
        # Only fits with clusters wait for the package that finds them.
        from sklearn.cluster import KMeans

        count = min(self._option("n_clusters"), _count_different(points))
        means = KMeans(count, n_init=10, random_state=self.random_state).fit(points)
        return np.asarray(means.cluster_centers_, dtype=np.float64)

    def _n_profiles(self) -> int:
        """Return how many known samples of similar predictions are looked up."""
        if self._row.space == "profiles":
            return self._option("n_neighbors")
        return self._option("n_profiles") if "n_profiles" in self._row.options else 0

    def _profiles(self, P: Predictions) -> np.ndarray:
        values = np.where(P.known[:, :, None], P.values, 1.0 / P.n_classes)
        if P.n_classes == 2:
            values = values[:, :, :1]  # the other class is its complement
        return values.reshape(P.n_samples, -1)

    def _set_profiles(self, profiles: np.ndarray) -> None:
        """Keep the known samples' predictions, and index them."""
        self._known_profiles = profiles
        self._profile_index = neighbor_index(profiles, min(self._n_profiles(), len(profiles)))

    # -- fusing -------------------------------------------------------------------------------

    def _region(self, P: Predictions, X: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the distances of the nearest known samples, and their positions."""
        space = self._row.space
        if space == "profiles":
            return self._profile_index.kneighbors(self._profiles(P))
        if space == "clusters":
            return None, pairwise_distances_argmin(self._scaled(X), self.centers_)[:, None]
        return self._neighbors.nearest(self._scaled(X))

    def _rated(self, P: Predictions, X: Any) -> np.ndarray:
        """Return the competences of checked predictions."""
        if self._row.weight is not _by_potential or self._n_near() < len(self.truth_):
            distance, region = self._region(P, X)
            return self._row.measure(self, P, region, distance)
        # All known samples count, in whatever order: sums over them are products of matrices.
        known = np.ones(self.worth_.shape) if self.available_ is None else self.available_
        worth, rows = self.worth_ * known, self._scaled(X)
        competence = np.empty((P.n_samples, P.n_members))
        for block in in_parts(P.n_samples, _MOST_DISTANCES // len(known)):
            weight = potentials(self._neighbors.distances(rows[block]))
            total = weight @ known
            competence[block] = (weight @ worth) / np.where(total > 0, total, 1.0)
        return competence

    def _selected(self, P: Predictions, X: Any) -> np.ndarray:
        """Return the weights of selected members; equal ones, where none is selected."""
        competence = np.where(P.known, self._rated(P, X), -np.inf)
        weight = np.where(P.known, self._row.take(self, competence).astype(float), 0.0)
        return np.where(weight.any(axis=1, keepdims=True), weight, available_weight(P))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        weight = self._selected(P, X)
        return normalized(weight, uniform(*weight.shape))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            importance = self._importance(P, X, codes)
            # A member that is not selected must not count, even if it is infinite.
            chosen = np.where(importance[:, :, None] > 0, P.values, 0.0)
            return np.einsum("nkc,nk->nc", chosen, importance)
        if self.voting == "soft" or self._takes_one:
            return weighted_mean(P.values, self._importance(P, X, codes))
        fused = vote_shares(P.labels, None, P.n_classes)
        # Where all members agree, the selection makes no difference.
        split = np.flatnonzero((P.labels != P.labels[:, :1]).any(axis=1))
        if len(split):
            P = P.rows(split)
            # Whole votes: fractions of them would break ties by rounding.
            weight = self._selected(P, X[split] if self.needs_X else None)
            fused[split] = vote_shares(P.labels, weight, P.n_classes)
        return fused

    def _check_learnt(self, P: Predictions) -> None:
        super()._check_learnt(P)
        if (P.kind == "value") != (self.squared_errors_ is not None):
            learnt = "classes" if P.kind == "value" else "numbers"
            raise ValueError(
                f"{self.title} has learnt to fuse {learnt} and cannot fuse predictions "
                f"of kind {P.kind}."
            )


FUSERS.update({name: partial(DynamicSelection, name) for name in METHODS})


def _count_different(points: Any) -> int:
    """Return how many rows differ from all before them, by more than k-means can see."""
    if not hasattr(points, "tocsr"):
        return len(np.unique(np.round(points / max(np.abs(points).max(), 1.0), 12), axis=0))
    ends = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    return len({(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in ends})


# -- META-DES: a classifier learns when a member is right -----------------------------------------


def default_meta() -> Pipeline:
    """Return the classifier for ``meta_classifier=None``."""
    # Each number becomes the number of tenths that it reaches, 0 to 10.
    levels = {"bins": np.linspace(0.1, 1.0, 10)}
    return make_pipeline(FunctionTransformer(np.digitize, kw_args=levels), MultinomialNB())


def _learn_when_right(fuser: DynamicSelection, P: Predictions) -> None:
    """Fit the classifier of "meta_des"; each known sample is judged by others."""
    alone = P.n_samples - 1
    if not alone:
        raise ValueError(
            f"{fuser.title} judges samples by others and needs two or more to learn from."
        )
    near = fuser._neighbors.index.kneighbors(
        n_neighbors=min(fuser._n_near(), alone), return_distance=False
    )
    similar = fuser._profile_index.kneighbors(
        n_neighbors=min(fuser._n_profiles(), alone), return_distance=False
    )
    fuser._n_nearest, fuser._n_alike = near.shape[1], similar.shape[1]
    by_default = fuser.meta_classifier is None
    fuser.meta_classifier_ = default_meta() if by_default else clone(fuser.meta_classifier)
    known = P.known.ravel()
    right = fuser.right_.ravel()[known]
    fuser._all_alike = right.all() or not right.any()
    if not fuser._all_alike:
        fitted = fuser.meta_classifier_.fit(_evidence(fuser, P, near, similar)[known], right)
        fuser._judge = fitted[-1] if by_default else fitted


def _evidence(
    fuser: DynamicSelection, P: Predictions, near: np.ndarray, similar: np.ndarray
) -> np.ndarray:
    """Return one row per sample and member, with one column per piece of evidence."""

    def by_member(values: np.ndarray) -> np.ndarray:  # (n, k, K) -> (n * K, k)
        return values.swapaxes(1, 2).reshape(-1, values.shape[1])

    # A member that is not available is neither right nor wrong.
    known = fuser.available_
    right = fuser.right_ if known is None else np.where(known, fuser.right_, 0.5)
    right_near = by_member(right[near])
    return np.hstack(
        [
            right_near,
            by_member(fuser.worth_[near]),
            right_near.mean(axis=1, keepdims=True),
            by_member(right[similar]),
            P.values.max(axis=2).reshape(-1, 1),
        ]
    )


# -- known samples that are near ------------------------------------------------------------------


METRICS = ("euclidean", "manhattan", "chebyshev", "cosine", "mahalanobis")
_OF_SPARSE_ROWS = ("euclidean", "manhattan", "cosine")
_IN_TREES = ("euclidean", "manhattan", "chebyshev")

Metric = str | Callable[[np.ndarray, np.ndarray], float]

# Powers of two up to this have squares, and sums of them, that are neither infinite nor zero.
_ORDINARY = 300


def neighbor_index(
    points: Any, n_neighbors: int, metric: Metric = "euclidean"
) -> NearestNeighbors:
    """Return scikit-learn's index of the fastest kind for this many points and columns.

    A tree is faster only if points are many for their dimension: measured, more than 250 * 2**D.
    (scikit-learn's "auto" uses one for up to 15 columns, where it can be ten times slower.)
    """
    n_points, n_columns = points.shape
    many = not hasattr(points, "tocsr") and np.log2(n_points / 250) > n_columns
    tree = many and metric in _IN_TREES
    return NearestNeighbors(
        n_neighbors=n_neighbors, metric=metric, algorithm="kd_tree" if tree else "brute"
    ).fit(points)


def check_metric(metric: Any) -> None:
    """Refuse anything but a metric of dynamic selection."""
    if not callable(metric) and not (isinstance(metric, str) and metric in METRICS):
        listed = ", ".join(repr(name) for name in METRICS)
        raise ValueError(
            f"metric must be one of {listed} or a function of two rows, got {metric!r}."
        )


def _distance(metric: Callable[[np.ndarray, np.ndarray], float], one: Any, other: Any) -> float:
    """Return a user's distance of two rows, if it is one."""
    try:
        found = float(metric(one, other))
    except (TypeError, ValueError) as error:
        raise ValueError(f"metric must give a number for two rows: {error}") from error
    if not 0.0 <= found < np.inf:
        raise ValueError(
            f"metric must give distances that are finite and not negative, got {found} for two "
            "rows."
        )
    return found


def check_size(X: Any) -> None:
    """Refuse numbers whose squares overflow."""
    numbers = X.data if hasattr(X, "tocsr") else X
    largest = np.abs(numbers).max(initial=0.0)
    if largest > FAR:
        raise ValueError(
            f"X holds a number of size {largest:.3g}, whose square is beyond floating point; "
            "rescale X, or set scale=True."
        )


def scaler_of(X: Any) -> StandardScaler:
    """Return a scaler that standardizes columns of any finite size.

    Those whose squares are infinite or zero are divided by a power of two, which rounds nothing.
    """
    sparse = hasattr(X, "tocsr")
    scaler = StandardScaler(with_mean=not sparse)
    size = abs(X).max(axis=0).toarray().ravel() if sparse else np.abs(X).max(axis=0)
    power = np.frexp(size)[1]
    power[np.abs(power) < _ORDINARY] = 0
    if not power.any():
        return scaler.fit(X)
    if sparse:
        X = X.tocsr(copy=True)
        X.data = np.ldexp(X.data, -power[X.indices])
    else:
        X = np.ldexp(X, -power)
    scaler.fit(X)
    scaler.mean_ = None if scaler.mean_ is None else np.ldexp(scaler.mean_, power)
    scaler.scale_ = np.maximum(np.ldexp(scaler.scale_, power), np.finfo(np.float64).tiny)
    scaler.var_ = scaler.scale_**2
    return scaler


def bounded(X: Any) -> Any:
    """Return rows whose distances are finite: numbers beyond `FAR` are clipped."""
    if hasattr(X, "tocsr"):
        X = X.copy()
        np.clip(X.data, -FAR, FAR, out=X.data)
        return X
    return np.clip(X, -FAR, FAR)


class Neighbors:
    """Known samples (n_known, D) and a metric.

    Mahalanobis distances are Euclidean ones along the axes of the known samples' covariance, in
    units of their standard deviations there; axes along which they do not vary are left out.
    """

    def __init__(self, points: Any, n_neighbors: int, metric: Metric) -> None:
        if hasattr(points, "tocsr") and metric not in _OF_SPARSE_ROWS:
            listed = ", ".join(repr(name) for name in _OF_SPARSE_ROWS)
            raise ValueError(
                f"metric={metric!r} needs dense rows; sparse ones have {listed}, or give "
                "X.toarray()."
            )
        self._axes = None
        if metric == "mahalanobis":
            self._axes, metric = _axes_of(points), "euclidean"
        if callable(metric):
            metric = partial(_distance, metric)
        self._metric = metric
        self._points = self._turned(points)
        self.index = neighbor_index(self._points, n_neighbors, metric)

    def nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of the nearest known samples of scaled rows, and their positions.

        Both are (n, k), the nearest first.
        """
        distance, region = self.index.kneighbors(self._turned(X))
        return distance, region

    def distances(self, X: Any) -> np.ndarray:
        """Return the distances of all known samples, (n, n_known), in their own order."""
        return pairwise_distances(self._turned(X), self._points, metric=self._metric)

    def _turned(self, X: Any) -> Any:
        return X if self._axes is None else bounded(X @ self._axes)


def _axes_of(points: np.ndarray) -> np.ndarray:
    """Return the axes (D, m) along which points vary, divided by their standard deviations."""
    centered = points - points.mean(axis=0)
    _, deviation, axes = np.linalg.svd(centered, full_matrices=False)
    varies = deviation > 1e-10 * max(deviation.max(initial=0.0), TINY)
    if not varies.any():
        return np.eye(points.shape[1])
    return axes[varies].T * (np.sqrt(max(1, len(points) - 1)) / deviation[varies])
