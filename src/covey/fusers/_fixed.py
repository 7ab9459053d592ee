"""Fixed rules on probabilities and ranks, functions of users, and fusers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.metrics import r2_score

from covey._core.fusion.rules import (
    borda_counts,
    masked,
    normalized,
    share_among,
    trimmed_mean,
    trimmed_shares,
    uniform,
    weighted_mean,
)
from covey._state import Index
from covey._validation import check_number, check_one_each
from covey.fusers._base import (
    FUSERS,
    Fuser,
    agreeing_importance,
    available_weight,
    equal_shares,
    of_those_that_know,
    values_by,
)
from covey.fusers._predictions import Given, Predictions, as_predictions
from covey.fusers._weights import WeightedFuser, accuracies


def _known(P: Predictions) -> np.ndarray | None:
    """Return where members know classes, broadcastable to (n, K, C); None is everywhere."""
    available = None if P.available is None else P.available[:, :, None]
    if P.seen is None or P.seen.all():
        return available
    return P.seen[None] if available is None else available & P.seen[None]


def _mean(P: Predictions, weight: np.ndarray) -> np.ndarray:
    """Return the mean, in which members abstain on classes that they never saw."""
    sums = np.einsum("nkc,nk->nc", P.values, weight)
    return normalized(of_those_that_know(P, sums, weight), uniform(P.n_samples, P.n_classes))


class Mean(WeightedFuser, name="mean"):
    r"""The (weighted) mean of the members' probabilities: :math:`\sum_k w_k p_k(c | x)`.

    For regressors it is the mean of the numbers that they predict.

    The rule to begin with: hard to beat if members are about equally good. If one of them is much
    worse, weights or `Median` help.

    Parameters
    ----------
    weights : array of shape (n_members,) or (n_samples, n_members), str or None, default=None
        How much each member counts. "accuracy" and "log_odds" learn it from held-out samples,
        or "inverse_error" for predictions of kind "value".

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Mean().fuse([[[0.9, 0.1]], [[0.5, 0.5]]])
    array([[0.7, 0.3]])
    """

    kinds = ("probability", "label", "value")

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return values_by(P, self._importance(P, X, codes))
        return _mean(P, self._weight(P))


class Product(WeightedFuser, name="product"):
    r"""The product of the members' probabilities with their importances, eq. (10).

    .. math:: g(x) = \arg\max_j \prod_k p_k(c_j | x)^{i_k}

    renormalized to probabilities and computed in log space. Equal importances 1/K are the paper's
    g_EW. For softmax-linear members the result is itself softmax-linear, with the mean of the
    logits. A probability of zero is a veto, unless some member vetoes every class.

    Take it for members that see different features and are well calibrated; a member that gives a
    class zero rules it out, where `Mean` does not.

    Parameters
    ----------
    weights : array, "accuracy", "log_odds" or None, default=None
        The importances, of shape (n_members,) or (n_samples, n_members); they are divided by
        their sum. With one row for each sample they are ``i_k(x)``, given instead of learnt.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]]
    >>> covey.fusers.Product().fuse(P).round(3)
    array([[0.75, 0.25],
           [0.75, 0.25]])
    >>> covey.fuse(P, "product", weights=[[1, 0], [1, 3]]).round(3)  # the first sample, the second
    array([[0.9  , 0.1  ],
           [0.634, 0.366]])
    """

    def _fuse_log(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.seen is None or P.seen.all():
            logs = np.einsum("nkc,nk->nc", P.log(), self._importance(P, X, codes))
        else:
            # A member abstains on classes that it never saw; those that no member saw are ruled
            # out.
            weight = self._weight(P)[:, :, None] * P.seen
            total, veto = weight.sum(axis=1), np.log(np.finfo(np.float64).tiny)
            mean = (P.log() * weight).sum(axis=1) / np.where(total > 0, total, 1.0)
            logs = np.where(total > 0, mean, veto)
        return log_softmax(logs, axis=1)

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return np.exp(self._fuse_log(P, X, codes))


class _OrderRule(Fuser):
    """A rule that orders the members' probabilities of each class.

    It leaves out a ``proportion`` of them at either end, or writes its own ``_statistic``. For
    numbers (predictions of kind "value") the remaining members decide: the importances are their
    shares, and members with equal predictions have equal shares.
    """

    kinds: tuple[str, ...] = ("probability", "value")
    proportion = 0.5

    def _statistic(self, P: Predictions) -> np.ndarray:
        return trimmed_mean(P.values, _known(P), self.proportion)

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return self._statistic(P)
        fallback = _mean(P, available_weight(P))
        return normalized(self._statistic(P), fallback)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return trimmed_shares(P.values[:, :, 0], P.available, self.proportion)
        return agreeing_importance(P, self._fuse(P, X, codes), available_weight(P))


class Median(_OrderRule, name="median"):
    """The median of the members' probabilities of each class, renormalized.

    Where all medians are zero, the mean rule is used. For the numbers of regressors it is the
    median as it is.

    Take it if single members can be far off; with three or fewer members `Mean` loses less.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Median().fuse([[[0.9, 0.1]], [[0.6, 0.4]], [[0.1, 0.9]]])
    array([[0.6, 0.4]])
    """


class TrimmedMean(_OrderRule, name="trimmed_mean"):
    """The mean without the most extreme members, for each class, renormalized.

    For the numbers of regressors it is this mean as it is.

    It lies between `Mean` and `Median`: take it with ten members or more, if some may be far off.

    Parameters
    ----------
    proportion : float, default=0.1
        The share of members left out at either end, below one half. Of K members
        ``floor(proportion * K)`` are left out at either end.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1]], [[0.8, 0.2]], [[0.7, 0.3]], [[0.0, 1.0]]]
    >>> covey.fusers.TrimmedMean(0.25).fuse(P)
    array([[0.75, 0.25]])
    """

    def __init__(self, proportion: float = 0.1) -> None:
        self.proportion = proportion

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.proportion, "proportion", low=0, high=0.5, closed="left")


class Max(_OrderRule, name="max"):
    """The largest probability that any member gives each class, renormalized.

    Take it if one sure member should be enough; it is spoilt by members that are too sure of
    themselves.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Max().fuse([[[0.9, 0.1]], [[0.4, 0.6]]])
    array([[0.6, 0.4]])
    """

    kinds = ("probability",)

    def _statistic(self, P: Predictions) -> np.ndarray:
        return masked(P.values, _known(P), 0.0).max(axis=1)


class Min(_OrderRule, name="min"):
    """The smallest probability that any member gives each class, renormalized.

    Where every class is ruled out by some member, the mean rule is used.

    Take it if one member's doubt should be enough to rule a class out.

    Examples
    --------
    >>> import covey
    >>> covey.fusers.Min().fuse([[[0.9, 0.1]], [[0.4, 0.6]]])
    array([[0.8, 0.2]])
    """

    kinds = ("probability",)

    def _statistic(self, P: Predictions) -> np.ndarray:
        lowest = masked(P.values, _known(P), np.inf).min(axis=1)
        return np.where(np.isfinite(lowest), lowest, 0.0)


class Borda(WeightedFuser, name="borda"):
    """The Borda count: the class that members rank above most others, in total.

    A member gives each class one point for every class that it scores strictly below it, so that
    only the order of its scores matters. Probabilities are shares of all points; they are uniform
    where members score all classes equally.

    A member that never saw a class ranks those that it did see, and does not count for that class.

    Take it if members rank classes, or give scores in units of their own.

    Parameters
    ----------
    weights : array of shape (n_members,) or (n_samples, n_members), "accuracy", "log_odds" or \
            None, default=None
        How much each member's points count.

    Examples
    --------
    >>> import covey
    >>> P = covey.Predictions([[[5.0, 3.0, 1.0], [-8.0, -7.0, -9.0]]], kind="score")
    >>> covey.fusers.Borda().fuse(P)
    array([[0.5, 0.5, 0. ]])
    """

    kinds = ("probability", "score", "label")
    _by_votes = True

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        weight, counts = self._vote_weight(P), borda_counts(P.values)
        if P.seen is not None and not P.seen.all():
            # Ranks are among the classes that a member knows, and count as those among all.
            n_known = P.seen.sum(axis=1)
            counts = np.maximum(counts - (P.n_classes - n_known)[:, None], 0.0) * P.seen
            counts *= ((P.n_classes - 1) / np.maximum(n_known - 1, 1))[:, None]
            weight = weight * (n_known > 1)
        points = of_those_that_know(P, np.einsum("nkc,nk->nc", counts, weight), weight)
        return normalized(points, uniform(P.n_samples, P.n_classes))


class SingleBest(Fuser, name="single_best"):
    """The one member that was most accurate on the samples given to ``fit``.

    Take it as the baseline that a fusion has to beat.

    Attributes
    ----------
    best_ : int
        Its position; the first, of equals.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.8, 0.2]], [[0.4, 0.6], [0.3, 0.7]]]
    >>> covey.fusers.SingleBest().fit(P, [1, 1]).fuse(P)
    array([[0.4, 0.6],
           [0.3, 0.7]])
    """

    best_: Annotated[int, Index("", "K")]

    learns = True

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        self.best_ = int(np.argmax(accuracies(P, codes, sample_weight)))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return weighted_mean(P.values, self._importance(P, X, codes))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        chosen = np.zeros((P.n_samples, P.n_members))
        chosen[:, self.best_] = 1.0
        if P.available is not None:
            # Where the best is not available, all available members replace it.
            chosen = normalized(chosen * P.available, available_weight(P))
        return normalized(chosen, uniform(P.n_samples, P.n_members))


class Oracle(Fuser, name="oracle"):
    """The paper's oracle g_orc: for each sample, a member that is right, if there is one.

    It reads the true labels, so it is a bound to compare with and cannot predict. Of several
    members that are right the first counts; where none is, it is the (wrong) prediction of the
    first available member.

    As in the paper it chooses among all members that it is given. One constant member for each
    class makes it right everywhere, although none of them knows anything: ``oracle_score`` and
    ``staged_score`` leave such members out (`Predictions.constant_members`).

    Take it to measure how much a better fusion could gain.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1]], [[0.2, 0.8]]]
    >>> covey.fusers.Oracle().fuse(P, y=[1])
    array([[0.2, 0.8]])
    """

    needs_y = True
    kinds = ("probability", "label")

    def right(self, P: Predictions, codes: np.ndarray | None) -> np.ndarray:
        """Return which members are right on which samples, as (n_samples, n_members) bool."""
        if codes is None:
            raise ValueError(
                "The oracle picks a member that is right, so it needs the true labels y; "
                "it bounds what fusion can reach and cannot predict. Use oracle_score(X, y), or "
                "another fuser to predict."
            )
        return (P.labels == codes[:, None]) & P.known

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        chosen = self._importance(P, X, codes).argmax(axis=1)
        fused = P.values[np.arange(P.n_samples), chosen]
        if P.available is not None:
            # Where no member is available, none is right: a wrong class.
            empty = np.flatnonzero(~P.available.any(axis=1))
            fused[empty] = np.eye(P.n_classes)[(codes[empty] + 1) % P.n_classes]
        return normalized(fused, uniform(P.n_samples, P.n_classes))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        right = self.right(P, codes)
        # Where no member is right: the first available one.
        eligible = np.where(right.any(axis=1, keepdims=True), right, available_weight(P) > 0)
        importance = np.zeros(right.shape)
        importance[np.arange(P.n_samples), eligible.argmax(axis=1)] = 1.0
        return importance


class FunctionRule(Fuser):
    """A fixed rule that is a function of the members' predictions.

    ``fuser=function`` is short for ``fuser=FunctionRule(function)``. The members whose decision is
    the fused one have equal importances; for numbers, all members. Model files do not hold
    functions.

    Parameters
    ----------
    function : callable
        It takes probabilities (for members without any, votes as ones and zeros) of shape
        (n_samples, n_members, n_classes), and returns non-negative numbers of shape (n_samples,
        n_classes), which are divided by their sums. For regressors it takes numbers of shape
        (n_samples, n_members) and returns (n_samples,). A member that is not available has NaN.
        Samples come in blocks: the result for one must not depend on others.

    Examples
    --------
    >>> import covey
    >>> import numpy as np
    >>> P = [[[0.9, 0.1]], [[0.4, 0.6]]]
    >>> covey.fuse(P, lambda values: np.sqrt((values**2).mean(axis=1))).round(3)
    array([[0.618, 0.382]])
    """

    kinds = ("probability", "label", "value")
    keeps_certainty = False

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function = function

    def _check_parameters(self, P: Predictions) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}.")

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        values, known = P.values, P.available
        if P.kind == "value":
            values = values[:, :, 0]
        elif known is not None:
            known = known[:, :, None]
        if known is None:
            return self._called(values.copy(), P)
        # Where no member predicts there is nothing to fuse.
        spoken, fused = P.known.any(axis=1), uniform(P.n_samples, P.n_classes)
        if spoken.any():
            fused[spoken] = self._called(np.where(known, values, np.nan)[spoken], P)
        return fused

    def _called(self, values: np.ndarray, P: Predictions) -> np.ndarray:
        wanted = (len(values),) if P.kind == "value" else (len(values), P.n_classes)
        name = getattr(self.function, "__name__", repr(self.function))
        try:
            fused = np.asarray(self.function(values), dtype=np.float64)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(
                f"The fuser {name} cannot fuse an array of shape {values.shape}: {error}"
            ) from error
        if fused.shape != wanted:
            raise ValueError(
                f"The fuser {name} must turn an array of shape {values.shape} into one of shape "
                f"{wanted}, got {fused.shape}."
            )
        if not np.isfinite(fused).all():
            raise ValueError(
                f"The fuser {name} gives NaN or infinity; it must give finite numbers, also where "
                "a member is not available (NaN)."
            )
        if P.kind == "value":
            return fused[:, None]
        largest = fused.max(axis=1, keepdims=True)
        if (fused < 0).any() or (largest <= 0).any():
            raise ValueError(
                f"The fuser {name} must give numbers that are not negative, and not all zero for "
                "any sample."
            )
        fused = fused / largest
        return fused / fused.sum(axis=1, keepdims=True)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return equal_shares(P)
        return agreeing_importance(P, self._fuse(P, X, codes), available_weight(P))


class LastStage(Fuser):
    r"""The last member decides: each is the one before, corrected, as the stages of boosting are.

    A member's importance is its share of the way to the decision: how far it moves the
    probabilities (half the sum of absolute differences), or the number, from those of the member
    before. Where none moves anything, the last one decided.

    Parameters
    ----------
    start : array of shape (n_classes,), float or None, default=None
        The prediction before the first stage: the frequencies of the classes, or the mean number.
        None: equal probabilities, or the first member's number.

    Examples
    --------
    >>> import covey
    >>> stages = [[[0.6, 0.4]], [[0.7, 0.3]], [[0.9, 0.1]]]
    >>> covey.fusers.LastStage().fuse(stages)
    array([[0.9, 0.1]])
    >>> covey.fusers.LastStage().importance(stages)
    array([[0.25, 0.25, 0.5 ]])
    """

    kinds = ("probability", "value")

    def __init__(self, start: ArrayLike | float | None = None) -> None:
        self.start = start

    def _check_parameters(self, P: Predictions) -> None:
        if self.start is not None:
            what = "number" if P.kind == "value" else "number for each of the {} classes"
            check_one_each(np.atleast_1d(self.start), P.values.shape[2], "start", what)

    def _path(self, P: Predictions) -> np.ndarray:
        """Return the start and each member's prediction, (n_samples, n_members + 1, width)."""
        path = np.concatenate([self._starts(P), P.values], axis=1)
        if P.available is not None:
            # A member that is not available corrects nothing.
            known = np.hstack([np.ones((P.n_samples, 1), dtype=bool), P.available])
            last = np.maximum.accumulate(np.where(known, np.arange(P.n_members + 1), 0), axis=1)
            path = np.take_along_axis(path, last[:, :, None], axis=1)
        return path

    def _starts(self, P: Predictions) -> np.ndarray:
        if self.start is None and P.kind == "value":
            first = (
                np.zeros(P.n_samples, int) if P.available is None else P.available.argmax(axis=1)
            )
            return P.values[np.arange(P.n_samples), first][:, None]
        start = 1.0 / P.n_classes if self.start is None else np.asarray(self.start, np.float64)
        return np.broadcast_to(start, (P.n_samples, 1, P.values.shape[2]))

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return self._path(P)[:, -1]

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        moved = 0.5 * np.abs(np.diff(self._path(P), axis=1)).sum(axis=2)
        last = np.zeros(moved.shape)
        position = np.full(P.n_samples, P.n_members - 1)
        if P.available is not None:
            position -= P.available[:, ::-1].argmax(axis=1)
        last[np.arange(P.n_samples), position] = 1.0
        return normalized(moved, last)


class WeightedMedian(WeightedFuser):
    """The smallest number that members with at least half of the weight do not exceed.

    Members that predict it decided, in proportion to their weights.

    Parameters
    ----------
    weights : array of shape (n_members,), "inverse_error" or None, default=None
        How much each member counts; "inverse_error" learns it from held-out samples.

    Examples
    --------
    >>> import covey
    >>> P = covey.Predictions([[1.0, 2.0, 9.0]], kind="value")
    >>> covey.fusers.WeightedMedian([1, 1, 3]).fuse(P)
    array([9.])
    """

    kinds = ("value",)

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        order = np.argsort(P.values[:, :, 0], axis=1)
        below = np.cumsum(np.take_along_axis(self._weight(P), order, axis=1), axis=1)
        half = (below >= 0.5 * below[:, -1:]).argmax(axis=1)
        rows = np.arange(P.n_samples)
        return P.values[rows, order[rows, half]]

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        agrees = P.values[:, :, 0] == self._fuse(P, X, codes)
        return share_among(agrees, self._weight(P))


# -- the first few members -------------------------------------------------------------------


def stage_scores(
    fuser: Fuser, P: Predictions, truth: np.ndarray, X: Any, weight: np.ndarray
) -> np.ndarray:
    """Return weighted accuracies (K,) of the first members, or R^2 of numbers.

    ``truth`` holds the positions of the true classes, or the true numbers. The oracle is the
    paper's, which chooses among all members.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import Mean
    >>> from covey.fusers._predictions import as_predictions
    >>> from covey.fusers._fixed import stage_scores
    >>> P = as_predictions([[[0.4, 0.6]], [[0.9, 0.1]]])
    >>> stage_scores(Mean(), P, np.array([0]), None, np.ones(1))
    array([0., 1.])
    """
    given = fuser.get_params()
    if not (given.get("k") in (None, "all") or (given["k"] == 1 and given["weights"] is None)):
        raise ValueError(
            f"{fuser.title} has k for all members and cannot fuse the first few; use a rule "
            "without."
        )
    if fuser.needs_y:
        right = np.logical_or.accumulate(Oracle().right(P, truth), axis=1)
        return weight @ right / weight.sum()
    fused = (_for_first(fuser, P, k).fuse(P.first(k), X) for k in range(1, P.n_members + 1))
    if P.kind == "value":
        return np.array([r2_score(truth, one, sample_weight=weight) for one in fused])
    right = np.stack([one.argmax(axis=1) == truth for one in fused], axis=1)
    return weight @ right / weight.sum()


def _for_first(fuser: Fuser, P: Predictions, number: int) -> Fuser:
    """Return the rule for the first members, with their weights if it has some."""
    weights = fuser.get_params().get("weights")
    if weights is None:
        return fuser
    # If only members without weight are left, all count alike.
    first = np.asarray(weights)[..., :number]
    return clone(fuser).set_params(weights=np.where(first.any(axis=-1, keepdims=True), first, 1.0))


# -- fusers by name, and one function over saved predictions --------------------------------------


Rule = str | Fuser | Callable[[np.ndarray], np.ndarray]


def make_fuser(rule: Rule, parameter: str = "fuser", **parameters: Any) -> Fuser:
    """Return an unfitted fuser by its name and its own parameters, or a copy of the given one.

    A function becomes a `FunctionRule`. The message of an error names the user's ``parameter``.

    Examples
    --------
    >>> from covey.fusers._fixed import make_fuser
    >>> make_fuser("knora_e", n_neighbors=5)
    DynamicSelection(method='knora_e', n_neighbors=5)
    """
    if isinstance(rule, Fuser):
        if parameters:
            raise ValueError(
                f"{', '.join(parameters)} cannot be set on the {type(rule).__name__} given; "
                "give the rule by name, or set it there."
            )
        return clone(rule)
    if isinstance(rule, type):
        raise ValueError(
            f"{parameter} must be an object and not a class; write {rule.__name__}(...)."
        )
    if callable(rule) and not hasattr(rule, "predict"):  # a model cannot be a rule
        if parameters:
            raise ValueError(
                f"{', '.join(parameters)} cannot be set on a function; give one that has them, "
                "such as functools.partial(function, ...)."
            )
        return FunctionRule(rule)
    if not (isinstance(rule, str) and rule in FUSERS):
        listed = ", ".join(repr(name) for name in sorted(FUSERS))
        raise ValueError(
            f"{parameter} must be one of {listed}, a Fuser or a function, got {rule!r}."
        )
    fuser = FUSERS[rule]()
    known = fuser.get_params()
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"The rule {rule!r} has no parameter {name!r}; it has {listed}.")
    return fuser.set_params(**parameters)


def make_value_fuser(rule: Rule, parameter: str = "fuser") -> Fuser:
    """Return an unfitted fuser of numbers; refuse one that fuses classes only.

    Examples
    --------
    >>> from covey.fusers._fixed import make_value_fuser
    >>> make_value_fuser("median")
    Median()
    """
    fuser = make_fuser(rule, parameter)
    if "value" not in fuser.kinds:
        known = [name for name in sorted(FUSERS) if "value" in FUSERS[name]().kinds]
        raise ValueError(
            f"{parameter}={rule!r} fuses what classifiers predict; regressors are fused by "
            f"{', '.join(map(repr, known))} or another Fuser of kind 'value'."
        )
    return fuser


def fuse(
    P: Given,
    rule: Rule = "mean",
    weights: ArrayLike | None = None,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    kind: str | None = None,
    **parameters: Any,
) -> np.ndarray:
    """Fuse saved predictions into one probability per class, or one number; no model is needed.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        An array of shape (n_samples, n_members, n_classes) holds probabilities, one of shape
        (n_samples, n_members) labels. A list, or a mapping from names, holds one array per member:
        (n_samples, n_classes), or (n_samples,) for labels. A data frame holds labels, one column
        per member. A member with only NaN for a sample is not available there.
    rule : str, Fuser or callable, default="mean"
        A fixed rule: "mean", "product", "median", "trimmed_mean", "max", "min", "majority",
        "k_of_n", "and", "or", "borda" or "oracle"; a fuser of any kind, fitted if it
        learns; or a function, see `covey.fusers.FunctionRule`.
    weights : array of shape (n_members,) or (n_samples, n_members), optional
        How much each member counts, for the rules that weigh: "mean", "product", "majority",
        "borda" and "k_of_n". Weights of each sample are importances ``i_k(x)`` of your own.
    X : array of shape (n_samples, n_features), optional
        Features, for dynamic selection.
    y : array of shape (n_samples,), optional
        True labels, for the oracle.
    classes : array of shape (n_classes,), optional
        The labels.
    kind : {"probability", "score", "label", "value"}, optional
        The kind of the predictions, if not as above. "value" are the numbers of regressors, one
        for each sample and member; "mean", "median", "trimmed_mean" and a fitted fuser of
        `covey.FusionRegressor` fuse them.
    **parameters
        The rule's own, such as ``k`` and ``positive_class`` of "k_of_n".

    Returns
    -------
    fused : ndarray of shape (n_samples, n_classes)
        Rows sum to one; the decision is their argmax. With ``kind="value"`` an array of shape
        (n_samples,).

    Examples
    --------
    >>> import covey
    >>> forest = [[0.8, 0.2], [0.4, 0.6]]
    >>> boosting = [[0.6, 0.4], [0.1, 0.9]]
    >>> covey.fuse([forest, boosting])
    array([[0.7 , 0.3 ],
           [0.25, 0.75]])
    >>> covey.fuse([["cat", "dog"], ["dog", "dog"], ["dog", "cat"]], "majority").round(2)
    array([[0.33, 0.67],
           [0.33, 0.67]])
    >>> covey.fuse([[1.0, 7.0], [2.0, 8.0], [9.0, 0.0]], "median", kind="value")
    array([2., 7.])
    """
    P = as_predictions(P, classes=classes, kind=kind)
    if weights is not None:
        parameters["weights"] = weights
    fitted = isinstance(rule, Fuser) and hasattr(rule, "n_members_") and not parameters
    fuser = rule if isinstance(rule, Fuser) and fitted else make_fuser(rule, "rule", **parameters)
    if fuser.learns and not fitted:
        raise ValueError(
            f"{fuser.title} learns how to fuse: fit it on held-out predictions first, "
            "fuser.fit(P, y, X), and give the fitted fuser as rule."
        )
    return fuser.fuse(P, X, y)
