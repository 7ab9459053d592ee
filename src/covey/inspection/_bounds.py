"""Bounds on the error of a flock, and on the loss of a fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.fusion.rules import oracle_members
from covey._core.inspection import bounds as core
from covey._core.inspection.bounds import highest_mean
from covey._intervals import proportion_interval
from covey._validation import check_choice, check_number, check_one_each
from covey.fusers._predictions import Given, Predictions
from covey.inspection._diversity import complete_predictions
from covey.inspection._fusion_loss import Ambiguity, ambiguity

# A wrong class has at least the probability of the true one, which is then at most one half.
_LOSS_OF_AN_ERROR = float(np.log(2.0))


@dataclass(frozen=True)
class Bound:
    """A bound on the error of a flock.

    Attributes
    ----------
    value : float
        The formula, on the samples given.
    guarantee : float
        The error on new samples is below this with the given confidence.
    confidence : float
    n_samples : int
    gibbs : float or None
        The Gibbs risk on the samples: the error of one member, drawn by the weights.
    tandem : float or None
        The tandem loss on the samples: how often two members drawn in this way both err.
    disagreement : float or None
        How often just one of two such members errs, ``2 (gibbs - tandem)``; with two classes,
        how often they give different labels.
    divergence : float or None
        KL(weights || prior), the price of having learned the weights on the samples.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]], [[0.3, 0.7], [0.2, 0.8]]]
    >>> bound = covey.inspection.vote_bound(P, [0, 1])
    >>> bool(bound.value <= bound.guarantee)
    True
    """

    value: float
    guarantee: float
    confidence: float
    n_samples: int
    gibbs: float | None = None
    tandem: float | None = None
    disagreement: float | None = None
    divergence: float | None = None

    @property
    def vacuous(self) -> bool:
        """Whether the guarantee is 1 or more, and so guarantees nothing."""
        return self.guarantee >= 1.0


@dataclass(frozen=True, eq=False)
class OracleInterval:
    """The limits of the oracle's error.

    Attributes
    ----------
    low, high : float
        The limits.
    observed : float
        The oracle's error on the samples given.
    chosen_from : ndarray of shape (n_members,), bool
        The members among which the oracle chooses: those that are not constant on the samples
        (`covey.Predictions.constant_members`), or the best of the others alone, if it errs less
        than all of these.
    member_errors : ndarray of shape (n_members,)
        The members' errors on the samples given.
    member_limits : ndarray of shape (n_members, 2)
        Lower and upper limits of the members' errors, which hold for all at once.
    confidence : float

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]], [[0.3, 0.7], [0.2, 0.8]]]
    >>> found = covey.inspection.oracle_interval(P, [0, 1])
    >>> found.low <= found.observed <= found.high
    True
    """

    low: float
    high: float
    observed: float
    chosen_from: np.ndarray
    member_errors: np.ndarray
    member_limits: np.ndarray
    confidence: float


def oracle_bounds(errors: ArrayLike) -> tuple[float, float]:
    """Return Frechet's bounds on the oracle's error, from the members' errors alone.

    The oracle errs where all members do (leave out members that predict the same for every sample,
    which would make it right without any knowledge). However members depend on each other,
    ``max(0, 1 - sum_k (1 - e_k)) <= e_oracle <= min_k e_k``, and some members reach either end.

    The only assumption is that the errors are known; `oracle_interval` estimates them. The lower
    bound is 0, and guarantees nothing, once the members' accuracies sum to 1 or more: two members
    with errors below one half are enough.

    Parameters
    ----------
    errors : array of shape (n_members,)
        The members' errors.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from covey.inspection import oracle_bounds
    >>> oracle_bounds([0.5, 0.75])
    (0.25, 0.5)
    """
    try:
        errors = np.asarray(errors, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"errors must hold one number a member, got {errors!r}.") from None
    if errors.ndim != 1 or len(errors) == 0:
        raise ValueError(
            f"errors must hold one number a member, got an array of shape {errors.shape}."
        )
    outside = ~((errors >= 0) & (errors <= 1))
    if outside.any():
        raise ValueError(
            f"errors must lie between 0 and 1, but that of member {int(np.argmax(outside)) + 1} "
            f"is {errors[outside][0]:g}."
        )
    return core.oracle_bounds(errors, errors)


def oracle_interval(P: Given, y: ArrayLike, *, confidence: float = 0.95) -> OracleInterval:
    """Find limits of the oracle's error on new samples, from held-out samples.

    Each member's error gets exact binomial limits (Clopper and Pearson), all K of which hold at
    once with the given confidence (Bonferroni). The limits of the members from which the oracle
    chooses (those that are not constant on the samples) go through `oracle_bounds`, the lower ones
    into the lower bound and the upper ones into the upper.

    The samples must be held out: drawn independently from the same population as new ones, and not
    used to make the members. An interval from 0 to 1 guarantees nothing. It uses the members'
    errors alone; to use where they coincide, count the samples on which all err and give them to
    `held_out_bound`.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        Any form that `covey.fuse` takes. Every member must predict every sample.
    y : array of shape (n_samples,)
        True labels.
    confidence : float, default=0.95

    Returns
    -------
    interval : OracleInterval

    Examples
    --------
    >>> from covey.inspection import oracle_interval
    >>> first, second = [0] * 90 + [1] * 10, [1] * 5 + [0] * 95
    >>> interval = oracle_interval([first, second], [0] * 100)
    >>> interval.observed, round(interval.low, 3), round(interval.high, 3)
    (0.0, 0.0, 0.123)
    """
    wrong, P = _where_wrong(P, y)
    each = 1.0 - _delta(confidence) / wrong.shape[1]
    limits = [proportion_interval(errors, len(wrong), each)[1:] for errors in wrong.sum(axis=0)]
    limits = np.array(limits)
    chosen_from = oracle_members(~wrong, P.constant_members)
    return OracleInterval(
        *core.oracle_bounds(*limits[chosen_from].T),
        observed=float(wrong[:, chosen_from].all(axis=1).mean()),
        chosen_from=chosen_from,
        member_errors=wrong.mean(axis=0),
        member_limits=limits,
        confidence=confidence,
    )


def vote_bound(
    P: Given,
    y: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    kind: str = "tandem",
    prior: ArrayLike | None = None,
    learned: bool = True,
    confidence: float = 0.95,
) -> Bound:
    """Bound the error of a weighted majority vote by how often its members err.

    Where the vote errs, members of half the weight or more do. A tied vote counts as an error.
    If the vote's own errors on these samples can be counted, count them: `held_out_bound` is
    nearer, whatever the members are. These bounds tell what members and how they differ promise.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        Any form that `covey.fuse` takes; the members' decisions count. Every member must predict
        every sample.
    y : array of shape (n_samples,)
        True labels.
    weights : array of shape (n_members,), optional
        The members' weights in the vote, which are divided by their sum; equal by default.
    kind : {"tandem", "first_order", "c"}, default="tandem"
        The kind of bound, see the notes. "c" is for two classes.
    prior : array of shape (n_members,), optional
        Weights that were set before the samples were seen; equal by default.
    learned : bool, default=True
        Whether the weights may depend on these samples. With False they were set before; then
        ln(m / delta) / n is enough for each of m limits, and no prior is needed.
    confidence : float, default=0.95
        1 - delta, the probability with which the guarantee holds.

    Returns
    -------
    bound : Bound

    Notes
    -----
    Let R be the error of one member drawn by the weights (the Gibbs risk), and T the chance that
    two members drawn in this way both err (the tandem loss). The vote's error is at most

    - ``"first_order"``: 2 R. It is twice the best member's error at least, since it ignores how
      members complement each other. Vacuous, 1 or more, if R is one half or more.
    - ``"tandem"``: 4 T (Masegosa, Lorenzen, Igel and Seldin, 2020), since two members drawn by
      the weights both err with a chance of a quarter or more where the vote errs. It is below
      the first-order bound if two members err together less than half as often as one does.
      Vacuous if T is a quarter or more.
    - ``"c"``: ``1 - (1 - 2 R)^2 / (1 - 2 d)``, the C-bound, with d = 2 (R - T) the chance that
      two members drawn so disagree (Lacasse et al., 2006). Vacuous, 1, if R is one half or
      more; the nearer R is to one half, the more samples the guarantee needs.

    With two classes, a bound of one half or more is no better than a coin.

    The guarantee is for new samples. The n samples must be held out: drawn independently from the
    same population as new ones, and used to make neither members nor prior. Only the weights may
    kl(T_n || T) <= (2 D + L) / n hold for all weights at once with confidence 1 - delta, where L =
    ln(2 sqrt(n) / delta); the guarantee is the bound at the largest such R or T. For the C-bound
    both must hold, each with delta / 2, and the guarantee is the largest value of the formula that
    the limits of R from both sides and of T from above allow. (Germain, Lacasse, Laviolette,
    Marchand and Roy, 2015, limit R from above and d from below in their PAC-Bound 1. Limits of R
    and T stay nearer to the formula, since what raises R raises d as well.)

    Examples
    --------
    >>> from covey.inspection import vote_bound
    >>> wrong = {"a": range(10), "b": range(10, 16), "c": range(16, 24)}
    >>> P = {name: [int(row in rows) for row in range(100)] for name, rows in wrong.items()}
    >>> for kind in ("first_order", "tandem", "c"):
    ...     bound = vote_bound(P, [0] * 100, kind=kind)
    ...     print(kind, round(bound.value, 3), round(bound.guarantee, 3))
    first_order 0.16 0.412
    tandem 0.107 0.489
    c 0.103 0.507

    Members that suit these bounds best: where the vote errs, on 28 of 400 samples, one of two
    does, and nowhere else. Counting the vote's errors still promises more:

    >>> from covey.inspection import held_out_bound
    >>> P = {name: [int(row in rows) for row in range(400)]
    ...      for name, rows in {"a": range(14), "b": range(14, 28)}.items()}
    >>> for kind in ("first_order", "tandem", "c"):
    ...     print(kind, round(vote_bound(P, [0] * 400, kind=kind, learned=False).guarantee, 3))
    first_order 0.125
    tandem 0.154
    c 0.171
    >>> round(held_out_bound(n_errors=28, n_samples=400).guarantee, 3)
    0.095
    """
    check_choice(kind, "kind", ("tandem", "first_order", "c"))
    delta = _delta(confidence)
    wrong, P = _where_wrong(P, y)
    if not learned and prior is not None:
        raise ValueError("prior is for weights that were learned; leave it out.")
    weights = _distribution(weights, "weights", P.n_members)
    prior = _distribution(prior, "prior", P.n_members)
    stray = (weights > 0) & (prior == 0)
    if stray.any():
        raise ValueError(
            f"prior gives no weight to {P.names[int(np.argmax(stray))]!r}, but weights do; give "
            "every member of the vote some."
        )
    if kind == "c" and P.n_classes > 2:
        raise ValueError(
            f"kind='c' is for two classes, but P has {P.n_classes}; use kind='tandem'."
        )
    divergence = core.weight_divergence(weights, prior) if learned else 0.0
    gibbs, tandem = core.gibbs_and_tandem(wrong, weights)
    disagreement = max(2.0 * (gibbs - tandem), 0.0)
    # A limit for all weights holds on both sides at once; for given weights each side counts.
    n_limits = 1 if kind != "c" else 2 if learned else 3

    def budget(n_drawn: int) -> float:
        """Return the most divergence of this many drawn members' loss from its mean."""
        if not learned:
            return core.chernoff_budget(len(wrong), delta / n_limits)
        return core.pac_bayes_budget(len(wrong), delta / n_limits, n_drawn * divergence)

    highest_gibbs = core.highest_chance(gibbs, budget(1))
    highest_tandem = core.highest_chance(tandem, budget(2))
    if kind == "first_order":
        value, guarantee = 2.0 * gibbs, 2.0 * highest_gibbs
    elif kind == "tandem":
        value, guarantee = 4.0 * tandem, 4.0 * highest_tandem
    else:
        lowest_gibbs = core.lowest_chance(gibbs, budget(1))
        value = core.c_bound(gibbs, disagreement)
        guarantee = core.largest_c_bound(lowest_gibbs, highest_gibbs, highest_tandem)
    return Bound(value, guarantee, confidence, len(wrong), gibbs, tandem, disagreement, divergence)


def held_out_bound(
    y: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    *,
    n_errors: int | None = None,
    n_samples: int | None = None,
    confidence: float = 0.95,
) -> Bound:
    """Bound the error of any fuser, or of any classifier, by its errors on held-out samples.

    It is the upper limit of Clopper and Pearson, which is exact: the error on new samples exceeds
    it with chance 1 - confidence at most. The samples must be held out: drawn independently from
    the same population as new ones, and used to make neither the members nor the fuser, its
    weights included. It is vacuous, 1, if all samples are errors; with two classes, a bound of one
    half or more is no better than a coin.

    Parameters
    ----------
    y, y_pred : arrays of shape (n_samples,), optional
        True and predicted labels.
    n_errors, n_samples : int, optional
        Instead of labels, the number of errors and of samples.
    confidence : float, default=0.95

    Returns
    -------
    bound : Bound
        ``value`` is the error on the samples.

    Examples
    --------
    >>> from covey.inspection import held_out_bound
    >>> bound = held_out_bound(n_errors=5, n_samples=100)
    >>> bound.value, round(bound.guarantee, 3)
    (0.05, 0.102)
    """
    _delta(confidence)
    given = [sum(x is not None for x in pair) for pair in ((y, y_pred), (n_errors, n_samples))]
    if given not in ([2, 0], [0, 2]):
        raise ValueError("held_out_bound needs y and y_pred, or else n_errors and n_samples.")
    if y is not None and y_pred is not None:
        wrong, total = _counted(y, y_pred)
    else:
        total = check_number(n_samples, "n_samples", low=1, whole=True)
        wrong = check_number(n_errors, "n_errors", low=0, high=total, whole=True)
    error = proportion_interval(wrong, total, confidence, "less")
    return Bound(error.value, error.high, confidence, int(total))


@dataclass(frozen=True)
class FusionBound:
    """The result of `fusion_bound`.

    Attributes
    ----------
    loss, member_loss, ambiguity : float
        The mean log-loss on the samples, which is ``member_loss - ambiguity``; see
        `covey.inspection.ambiguity`.
    guarantee : float
        The mean log-loss on new samples is below this with the given confidence; losses of more
        than ``largest_loss`` count as that.
    member_guarantee : float
        Such a limit for the members on average, which is all that is known of a fusion before its
        ambiguity is measured.
    error : float
        The share of the samples that are predicted wrongly.
    error_by_loss : float
        ``guarantee / ln 2``: the error on new samples is no larger, with the same confidence.
    error_guarantee : float
        The exact upper limit of the error on new samples, of Clopper and Pearson, with the given
        confidence.
    largest_loss, confidence : float
    n_samples : int

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X[:80], y[:80])
    >>> bound = covey.inspection.fusion_bound(flock, X[80:], y[80:])
    >>> bool(abs(bound.loss - (bound.member_loss - bound.ambiguity)) < 1e-9)
    True
    """

    loss: float
    member_loss: float
    ambiguity: float
    guarantee: float
    member_guarantee: float
    error: float
    error_by_loss: float
    error_guarantee: float
    largest_loss: float
    confidence: float
    n_samples: int

    @property
    def vacuous(self) -> bool:
        """Whether the limit of the error by the loss is 1 or more, and so guarantees nothing."""
        return self.error_by_loss >= 1.0


def fusion_bound(
    ensemble: Any, X: Any, y: ArrayLike, *, largest_loss: float = 5.0, confidence: float = 0.95
) -> FusionBound:
    r"""Bound the log-loss and the error of members fused by eq. (10), by a gate or by a mean.

    The paper asks for bounds on an ensemble, given its fusion and its members. For the fusions of
    `ambiguity` there is one that holds on every row: with importances :math:`i_k(x)`,

    .. math::

        \mathbb{1}[g(x) \ne y] \;\le\; \frac{L(g)}{\ln 2}
        \;=\; \frac{\sum_k i_k L(p_k) - A}{\ln 2},

    since the true class of a row that is predicted wrongly has a probability of one half at most.
    So an ensemble errs less if its members are better and if they differ more, and never more than
    its members' mean loss allows. The result holds the terms on held-out samples, with limits for
    new ones.

    The limits of losses are empirical Bernstein bounds (Maurer and Pontil, 2009). The samples must
    be held out: drawn independently from the same population as new ones, and used to make neither
    the members nor the fuser.

    Parameters
    ----------
    ensemble : FlockClassifier, SubsetEnsembleClassifier or other fitted classifier
        Fused by ``"product"``, ``"mean"`` or a gate.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    largest_loss : float, default=5.0
        A log-loss has no largest value, but a bound needs one: losses above this (a probability
        of the true class below .007) count as this. It must be ln 2 at least.
    confidence : float, default=0.95

    Returns
    -------
    bound : FusionBound

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(600, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(5, random_state=0).fit(X[::2], y[::2])
    >>> bound = covey.inspection.fusion_bound(flock, X[1::2], y[1::2])
    >>> bound.error <= bound.loss / 0.6931 and bound.loss <= bound.member_loss
    True
    >>> bool(bound.error_guarantee < bound.error_by_loss)
    True
    """
    delta = _delta(confidence)
    check_number(largest_loss, "largest_loss", low=_LOSS_OF_AN_ERROR)
    if hasattr(ensemble, "fuser_") and not hasattr(ensemble, "classes_"):
        raise ValueError(
            "fusion_bound is for classifiers, whose errors are counted; ambiguity takes the loss "
            f"of a {type(ensemble).__name__} apart."
        )
    found: Ambiguity = ambiguity(ensemble, X, y)
    wrong = ensemble.predict(X) != np.asarray(y)
    guarantee, of_members = (
        highest_mean(np.minimum(losses, largest_loss), largest_loss, delta)
        for losses in (found.row_loss, found.row_member_loss)
    )
    error = proportion_interval(int(wrong.sum()), len(wrong), confidence, "less")
    return FusionBound(
        found.loss,
        found.member_loss,
        found.ambiguity,
        guarantee,
        of_members,
        error.value,
        guarantee / _LOSS_OF_AN_ERROR,
        error.high,
        largest_loss,
        confidence,
        len(wrong),
    )


def _where_wrong(P: Any, y: ArrayLike) -> tuple[np.ndarray, Predictions]:
    """Return where each member errs, (n_samples, n_members), and the checked predictions."""
    P = complete_predictions(P)
    return P.labels != P.encode(y)[:, None], P


def _delta(confidence: float) -> float:
    return 1.0 - check_number(confidence, "confidence", low=0, high=1, closed="neither")


def _distribution(weights: ArrayLike | None, name: str, n_members: int) -> np.ndarray:
    """Return weights divided by their sum; equal ones for None."""
    if weights is None:
        return np.full(n_members, 1.0 / n_members)
    weights = np.asarray(weights, dtype=np.float64)
    check_one_each(weights, n_members, name, "number for each of the {} members")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"{name} must be finite, not negative and not all zero, got {weights}.")
    return weights / weights.sum()


def _counted(y: ArrayLike, y_pred: ArrayLike) -> tuple[int, int]:
    """Return the number of wrong labels and the number of labels."""
    y, y_pred = np.asarray(y), np.asarray(y_pred)
    if y.ndim != 1 or y.shape != y_pred.shape or len(y) == 0:
        raise ValueError(
            "y and y_pred must hold one label a sample, of the same samples, "
            f"got arrays of shape {y.shape} and {y_pred.shape}."
        )
    for name, labels in (("y", y), ("y_pred", y_pred)):
        if (labels != labels).any():  # NaN differs from itself
            raise ValueError(f"{name} holds NaN; leave out the samples without a label.")
    return int((y != y_pred).sum()), len(y)
