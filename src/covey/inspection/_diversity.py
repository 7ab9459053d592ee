"""Measures of how much the members of a flock differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.arrays import in_parts
from covey._core.inspection import diversity as core
from covey._validation import check_one_each, check_sample_weight
from covey.fusers import Predictions
from covey.fusers._predictions import Given, as_predictions

# How many of the members' numbers are held at once: this bounds the memory.
_BLOCK_SIZE = 1 << 20


@dataclass(frozen=True)
class _Measure:
    """A formula of sums over samples."""

    sums: str  # the key of the sums in `_block_sums`
    formula: Callable[..., Any]
    more_is_diverse: bool
    pairwise: bool = True


MEASURES = {
    "q_statistic": _Measure("pairs", core.q_statistic, False),
    "correlation": _Measure("pairs", core.correctness_correlation, False),
    "disagreement": _Measure("pairs", core.disagreement, True),
    "double_fault": _Measure("pairs", core.double_fault, False),
    "interrater_kappa": _Measure("failures", core.interrater_kappa, False, pairwise=False),
    "entropy": _Measure("failures", core.entropy, True, pairwise=False),
    "kohavi_wolpert_variance": _Measure(
        "failures", core.kohavi_wolpert_variance, True, pairwise=False
    ),
    "generalized_diversity": _Measure(
        "failures", core.generalized_diversity, True, pairwise=False
    ),
    "coincident_failure_diversity": _Measure(
        "failures", core.coincident_failure_diversity, True, pairwise=False
    ),
    "label_kappa": _Measure("labels", lambda sums: core.label_kappa(*sums), False),
    "kl_divergence": _Measure("logs", core.symmetric_divergence, True),
    "posterior_cross_correlation": _Measure("posteriors", np.asarray, False),
    "posterior_correlation": _Measure("centered", core.posterior_correlation, False),
}
_OF_CORRECTNESS = ("pairs", "failures")
_OF_PROBABILITIES = ("logs", "posteriors", "centered")


@dataclass(frozen=True, eq=False)
class Diversity:
    """The result of `diversity`.

    Attributes
    ----------
    values : dict of str to float
        One number per measure; for measures between two members, the mean over all pairs.
    matrices : dict of str to ndarray of shape (n_members, n_members)
        The measures between two members, for every pair.
    names : list of str
        The members' names, in the order of the matrices.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.1, 0.9]], [[0.3, 0.7], [0.2, 0.8]]]
    >>> found = covey.inspection.diversity(P, [0, 1], measures="disagreement")
    >>> found.matrices["disagreement"]
    array([[0. , 0. , 0.5],
           [0. , 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """

    values: dict[str, float]
    matrices: dict[str, np.ndarray]
    names: list[str]

    def __getitem__(self, measure: str) -> float:
        """Return the number of one measure."""
        return self.values[measure]

    def __str__(self) -> str:
        width = max(map(len, self.values))
        return "\n".join(
            f"{name:<{width}}  {round(value, 4) + 0.0:8.4f}  "  # no minus before a zero
            f"({'higher' if MEASURES[name].more_is_diverse else 'lower'} is more diverse)"
            for name, value in self.values.items()
        )


def diversity(
    P: Given,
    y: ArrayLike | None = None,
    *,
    measures: str | list[str] | None = None,
    sample_weight: ArrayLike | None = None,
) -> Diversity:
    """Measure how much members differ, by the measures in use.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        Any form that `covey.fuse` takes. Every member must predict every sample. Labels that occur
        only in ``y`` need `Predictions` that name all ``classes``.
    y : array of shape (n_samples,), optional
        True labels, for the measures of which members are right.
    measures : str or list of str, optional
        Their names, as listed below. By default all that ``P`` and ``y`` allow.
    sample_weight : array of shape (n_samples,), optional
        How much each sample counts.

    Returns
    -------
    diversity : Diversity
        ``values`` holds one number per measure, ``matrices`` those of all pairs.

    Notes
    -----
    For two members let a, b, c and d be the shares of samples on which both are right,
    only the first, only the second, and neither. Among all K members let l be how many are right.

    Measures of pairs that need ``y`` (Kuncheva and Whitaker, 2003):

    - ``"q_statistic"``: (ad - bc) / (ad + bc); 0 for independent members, 1 at most.
    - ``"correlation"``: rho, the correlation of being right.
    - ``"disagreement"``: b + c.
    - ``"double_fault"``: d.

    Q and rho are 0/0 if a member is always right or always wrong. They then count as 1 for two
    members that agree on every sample, as -1 for two that never do, and otherwise as 0.

    Measures of the whole that need ``y``:

    - ``"interrater_kappa"``: 1 - mean(l (K - l)) / (K (K - 1) p (1 - p)), where p is the mean
      accuracy (Kuncheva and Whitaker's kappa). 1 if p is 0 or 1.
    - ``"entropy"``: E, the mean of min(l, K - l) / (K - ceil(K / 2)).
    - ``"kohavi_wolpert_variance"``: the mean of l (K - l) / K^2.
    - ``"generalized_diversity"``: GD = 1 - p(2) / p(1), with the chances that one and that two
      members drawn at random fail (Partridge and Krzanowski, 1997). 0 if none ever fails.
    - ``"coincident_failure_diversity"``: CFD, the mean of l / (K - 1) over the samples on which
      any member fails. 0 if none ever does.

    Measures of pairs that need no ``y``:

    - ``"label_kappa"``: Cohen's kappa of two members' labels, as drawn in kappa-error diagrams
      (Margineantu and Dietterich, 1997). 1 if both give one and the same label to all samples.

    Measures of pairs that need probabilities, but no ``y`` (the first two after Audhkhasi,
    Sethy, Ramabhadran and Narayanan, 2012):

    - ``"kl_divergence"``: half of KL(first || second) + KL(second || first), in nats, averaged
      over samples. A probability below 1e-12 counts as 1e-12, so that it is always finite.
    - ``"posterior_cross_correlation"``: the mean of sum_c p_c q_c, the chance that two members
      that draw a class from their posteriors draw the same.
    - ``"posterior_correlation"``: the same about 1 / C for C classes, divided by the spreads:
      the correlation of posteriors over all samples and classes, from -1 to 1. A member whose
      posteriors are all even counts as 0, with another such member as 1.

    Examples
    --------
    >>> from covey.inspection import diversity
    >>> first, second, third = [0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 1]
    >>> found = diversity([first, second, third], y=[0, 0, 1, 1], measures="disagreement")
    >>> found.matrices["disagreement"]
    array([[0.  , 0.5 , 0.25],
           [0.5 , 0.  , 0.75],
           [0.25, 0.75, 0.  ]])
    >>> print(found)
    disagreement    0.5000  (higher is more diverse)
    """
    P = complete_predictions(P)
    names = _chosen(measures, P, y)
    if P.n_members < 2:
        raise ValueError(
            f"diversity compares members and needs two or more, but P holds {P.n_members}."
        )
    codes = None if y is None else P.encode(y)
    weight = _checked_weight(sample_weight, P.n_samples)
    sums = _summed(P, codes, weight, {MEASURES[name].sums for name in names})
    values, matrices = {}, {}
    for name in names:
        measure = MEASURES[name]
        found = measure.formula(sums[measure.sums])
        if measure.pairwise:
            matrices[name] = found
            found = float(found[np.triu_indices(len(found), 1)].mean())
        values[name] = found
    return Diversity(values, matrices, P.names)


def complete_predictions(P: Any) -> Predictions:
    """Return checked predictions of classes, of every sample by every member."""
    P = as_predictions(P)
    if P.kind == "value":
        raise ValueError("P holds values of a regression; give probabilities, scores or labels.")
    if P.n_samples == 0:
        raise ValueError("P holds no sample; give at least one.")
    if P.available is not None and not P.available.all():
        sample, member = np.argwhere(~P.available)[0]
        raise ValueError(
            f"P lacks the prediction of {P.names[member]!r} for sample {sample}; leave out the "
            "samples, or the members, with gaps: all members must predict the same samples."
        )
    return P


def _chosen(measures: Any, P: Predictions, y: ArrayLike | None) -> list[str]:
    """Return the names of the measures to compute, each of them possible."""
    if measures is None:
        return [name for name in MEASURES if _obstacle(name, P, y) is None]
    names = [measures] if isinstance(measures, str) else list(measures)
    if not names:
        raise ValueError("measures names none; leave it out for all of them.")
    for name in names:
        if not (isinstance(name, str) and name in MEASURES):
            listed = ", ".join(repr(known) for known in MEASURES)
            raise ValueError(f"measures must be of {listed}, got {name!r}.")
        obstacle = _obstacle(name, P, y)
        if obstacle is not None:
            raise ValueError(obstacle)
    return names


def _obstacle(name: str, P: Predictions, y: ArrayLike | None) -> str | None:
    """Return why a measure cannot be computed, or None."""
    sums = MEASURES[name].sums
    if sums in _OF_CORRECTNESS and y is None:
        return f"measure {name!r} needs to know which members are right; give the true labels y."
    if sums in _OF_PROBABILITIES and P.kind != "probability":
        return (
            f"measure {name!r} compares probabilities, but P is of kind {P.kind!r}; give "
            "probabilities of shape (n_samples, n_members, n_classes)."
        )
    return None


def _checked_weight(sample_weight: ArrayLike | None, n_samples: int) -> np.ndarray:
    if sample_weight is not None and not isinstance(sample_weight, Real):
        check_one_each(
            sample_weight, n_samples, "sample_weight", "weight for each of the {} samples"
        )
    weight = check_sample_weight(sample_weight, n_samples)
    # Equal weights become ones: their sums are then whole numbers, and exact.
    return weight / weight.max()


def _summed(
    P: Predictions, codes: np.ndarray | None, weight: np.ndarray, kinds: set[str]
) -> dict[str, Any]:
    """Return the sums of which the measures are formulas, over blocks of rows."""
    width = P.n_classes if P.kind != "label" else 1
    sums: dict[str, Any] = {}
    for block in in_parts(P.n_samples, _BLOCK_SIZE // (P.n_members * width)):
        own_codes = None if codes is None else codes[block]
        for kind, values in _block_sums(P.rows(block), own_codes, weight[block], kinds).items():
            previous = sums.get(kind, [0.0] * len(values))
            sums[kind] = [total + more for total, more in zip(previous, values, strict=True)]
    for kind in sums.keys() - {"labels"}:
        # The formula of "pairs" divides by its own sum, the others take means over samples.
        sums[kind] = sums[kind][0] / (1.0 if kind == "pairs" else weight.sum())
    return sums


def _block_sums(
    P: Predictions, codes: np.ndarray | None, weight: np.ndarray, kinds: set[str]
) -> dict[str, Any]:
    """Return for each kind of sums a list of arrays that add up over blocks."""
    right = np.zeros(0, dtype=bool)
    if codes is not None and kinds & set(_OF_CORRECTNESS):
        right = P.labels == codes[:, None]
    makers: dict[str, Callable[[], Any]] = {
        "pairs": lambda: [core.correctness_pairs(right, weight)],
        "failures": lambda: [core.failure_weights(right, weight)],
        "labels": lambda: [
            core.same_label_weights(P.labels, weight, P.n_classes),
            core.label_weights(P.labels, weight, P.n_classes),
        ],
        "logs": lambda: [core.posterior_log_products(P.values, weight)],
        "posteriors": lambda: [core.posterior_products(P.values, weight)],
        "centered": lambda: [core.posterior_products(P.values, weight, 1.0 / P.n_classes)],
    }
    return {kind: makers[kind]() for kind in kinds}
