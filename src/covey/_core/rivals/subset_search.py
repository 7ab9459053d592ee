"""Search for feature subsets when a subset can only be judged by fitting a model on it.

Two searches, both over sets of subsets, masks of shape (K, D): climbing by single flips, and a
genetic algorithm. They know nothing of models; `Judged` shows them how good a subset is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray
from covey._core.random import Purpose, UniformRows

IntArray = npt.NDArray[np.integer]

# Of masks (m, D): accuracies (m,) and, where diversity counts, decisions (m, n).
Judge = Callable[[BoolArray], tuple[FloatArray, IntArray | None]]

# Rounding decides nothing: accuracies are known to so many decimals, and a gain is more than
# what that may move two of them apart.
DECIMALS = 12
TIE = 2e-12

# The runs of `UniformRows`, so that no two things share draws.
_ORDER, _PAIRS, _CROSSING, _CATACLYSM = range(4)

# Eshelman's divergence rate: the share of bits that a cataclysm flips.
_DIVERGENCE = 0.35


class Judged:
    """What is known of subsets; each is judged once, and no more than ``budget`` of them."""

    def __init__(self, judge: Judge, weight: FloatArray, budget: int | None = None) -> None:
        self._judge = judge
        self._share = weight / weight.sum()
        self._budget = budget
        self._accuracy: dict[bytes, float] = {}
        self._decisions: dict[bytes, IntArray] = {}

    @property
    def count(self) -> int:
        """How many subsets have been judged."""
        return len(self._accuracy)

    def look(self, masks: BoolArray) -> bool:
        """Judge what is not known yet; judge nothing and return False if that is too much."""
        new = {
            mask.tobytes(): number
            for number, mask in enumerate(masks)
            if mask.tobytes() not in self._accuracy
        }
        if self._budget is not None and self.count + len(new) > self._budget:
            return False
        if new:
            accuracy, decisions = self._judge(masks[list(new.values())])
            self._accuracy.update(zip(new, accuracy.round(DECIMALS).tolist(), strict=True))
            if decisions is not None:
                self._decisions.update(zip(new, decisions, strict=True))
        return True

    def accuracy(self, masks: BoolArray) -> FloatArray:
        """Accuracies of masks (m, D) that were looked at."""
        return np.array([self._accuracy[mask.tobytes()] for mask in masks])

    def disagreement(self, mask: BoolArray, others: BoolArray) -> float:
        """Weighted share of rows decided otherwise, mean over the others; 0 without any."""
        if not len(others):
            return 0.0
        decisions = self._decisions[mask.tobytes()]
        return float(
            np.mean(
                [self._share @ (decisions != self._decisions[other.tobytes()]) for other in others]
            )
        )


@dataclass
class Stage:
    """Where a search stood after a pass or a generation."""

    criterion: float
    accuracy: FloatArray  # of each subset
    subset_size: IntArray  # of each subset
    n_subsets: int  # judged so far


@dataclass
class Found:
    """What a search ended with."""

    support: BoolArray  # (K, D)
    history: list[Stage]
    complete: bool  # False: the budget ended it


def random_subsets(seed: int, count: int, n_features: int) -> BoolArray:
    """Subsets that hold each feature with probability one half, and at least one."""
    draws = np.stack(
        [
            UniformRows(seed, Purpose.START, 0, number, n_features).read(0, 1)[0]
            for number in range(count)
        ]
    )
    return _never_empty(draws < 0.5, draws)


def _never_empty(masks: BoolArray, draws: FloatArray) -> BoolArray:
    empty = np.flatnonzero(~masks.any(axis=1))
    masks[empty, draws[empty].argmin(axis=1)] = True
    return masks


# -- climbing ------------------------------------------------------------------------------------


def hill_climb(
    judged: Judged,
    starts: BoolArray,
    *,
    seed: int,
    diversity_weight: float,
    acceptance: str,
    max_passes: int,
) -> Found:
    """Flip one feature of one subset at a time, for as long as that helps.

    The criterion of subset k is ``c_k = a_k + alpha d_k``: its accuracy and ``alpha`` (the weight
    of diversity) times its mean disagreement ``d_k`` with the K - 1 others. That of the flock is
    ``J = mean_k (a_k + alpha d_k / 2)``. Disagreement is mutual, so a flip that raises ``c_k`` by
    x raises J by x / K: every flip that is kept helps the flock, and the climb must end. Features
    are tried in an order drawn for each subset and pass. With ``acceptance="sum"`` a flip is kept
    that raises ``c_k``; with "both" one that raises the accuracy or the disagreement and lowers
    neither.
    """
    support = starts.copy()
    n_members, n_features = support.shape
    judged.look(support)
    history = [_flock_stage(judged, support, diversity_weight)]
    for number in range(max_passes):
        order = np.stack(
            [
                UniformRows(seed, Purpose.FLIP, _ORDER, k, n_features).read(number, 1)[0]
                for k in range(n_members)
            ]
        ).argsort(axis=1, kind="stable")
        changed = False
        for tried in order.T:
            # What one subset scores does not depend on the others: all K are judged at once.
            flipped = support.copy()
            flipped[np.arange(n_members), tried] ^= True
            useful = np.flatnonzero(flipped.any(axis=1))
            if not judged.look(flipped[useful]):
                if changed:
                    history.append(_flock_stage(judged, support, diversity_weight))
                return Found(support, history, complete=False)
            for k in useful.tolist():
                if _helps(judged, support, k, flipped[k], diversity_weight, acceptance):
                    support[k] = flipped[k]
                    changed = True
        history.append(_flock_stage(judged, support, diversity_weight))
        if not changed:
            break
    return Found(support, history, complete=True)


def _helps(
    judged: Judged,
    support: BoolArray,
    k: int,
    candidate: BoolArray,
    diversity_weight: float,
    acceptance: str,
) -> bool:
    accuracies = judged.accuracy(np.stack([support[k], candidate]))
    gain = float(accuracies[1] - accuracies[0])
    if diversity_weight == 0:
        return gain > TIE
    others = np.delete(support, k, axis=0)
    spread = judged.disagreement(candidate, others) - judged.disagreement(support[k], others)
    if acceptance == "both":
        return min(gain, spread) >= -TIE and max(gain, spread) > TIE
    return gain + diversity_weight * spread > TIE


def _flock_stage(judged: Judged, support: BoolArray, diversity_weight: float) -> Stage:
    accuracy = judged.accuracy(support)
    criterion = float(accuracy.mean())
    if diversity_weight:
        others = [np.delete(support, k, axis=0) for k in range(len(support))]
        spread = [judged.disagreement(*pair) for pair in zip(support, others, strict=True)]
        criterion += 0.5 * diversity_weight * float(np.mean(spread))
    return Stage(criterion, accuracy, support.sum(axis=1), judged.count)


# -- genetic -------------------------------------------------------------------------------------


def evolve(judged: Judged, population: BoolArray, *, seed: int, n_generations: int) -> Found:
    """Eshelman's CHC: crossing of unlike parents, survival of the best, no mutation but restarts.

    Parents are paired at random. A pair is crossed if half of the bits in which it differs are
    more than a threshold: D/4 at first, one less after each generation that no child survives.
    Children swap half of those bits (HUX), so what parents have in common is kept. The best of old
    and new survive, the older of equals. When the threshold is below 0, all but the best are
    replaced by copies of it with 35 % of the bits flipped. Returns the best N different subsets of
    all populations, the best first; fewer, if there were not as many.
    """
    size, n_features = population.shape
    judged.look(population)
    population = _best_first(judged, population)
    threshold = n_features // 4
    history = [_best_stage(judged, population)]
    past = population[:0]
    complete = True
    for generation in range(n_generations):
        children = _children(population, threshold, seed, generation)
        if not judged.look(children):
            complete = False
            break
        everyone = _best_first(judged, np.concatenate([population, children]))[:size]
        if np.array_equal(everyone, population):
            threshold -= 1
        population = everyone
        if threshold < 0 and generation + 1 < n_generations:
            past = np.concatenate([past, population])
            restarted = _cataclysm(population, seed, generation)
            if not judged.look(restarted):
                complete = False
                break
            population = _best_first(judged, restarted)
            threshold = int(_DIVERGENCE * (1 - _DIVERGENCE) * n_features)
        history.append(_best_stage(judged, population))
    everyone = _best_first(judged, np.concatenate([past, population]))
    return Found(_distinct(everyone)[:size], history, complete)


def _best_first(judged: Judged, masks: BoolArray) -> BoolArray:
    """Sorted by accuracy; equals stay in their order."""
    return masks[np.argsort(-judged.accuracy(masks), kind="stable")]


def _distinct(masks: BoolArray) -> BoolArray:
    first = np.unique(masks, axis=0, return_index=True)[1]
    return masks[np.sort(first)]


def _best_stage(judged: Judged, population: BoolArray) -> Stage:
    accuracy = judged.accuracy(population)
    return Stage(float(accuracy[0]), accuracy, population.sum(axis=1), judged.count)


def _children(population: BoolArray, threshold: int, seed: int, generation: int) -> BoolArray:
    """Half-uniform crossing of random pairs that differ enough; only subsets that are new."""
    size, n_features = population.shape
    draws = UniformRows(seed, Purpose.FLIP, _PAIRS, 0, size).read(generation, 1)[0]
    pairs = draws.argsort(kind="stable")[: size // 2 * 2].reshape(-1, 2)
    known = {mask.tobytes() for mask in population}
    children = []
    for number, (one, other) in enumerate(pairs):
        differing = np.flatnonzero(population[one] ^ population[other])
        n_swapped = len(differing) // 2
        if n_swapped <= threshold:
            continue
        lots = UniformRows(seed, Purpose.FLIP, _CROSSING, number, n_features).read(generation, 1)
        swapped = differing[lots[0, differing].argsort(kind="stable")[:n_swapped]]
        for parent in (one, other):
            child = population[parent].copy()
            child[swapped] ^= True
            if child.any() and child.tobytes() not in known:
                known.add(child.tobytes())
                children.append(child)
    return np.array(children, dtype=bool).reshape(-1, n_features)


def _cataclysm(population: BoolArray, seed: int, generation: int) -> BoolArray:
    """The best, and copies of it with many bits flipped."""
    size, n_features = population.shape
    draws = np.stack(
        [
            UniformRows(seed, Purpose.FLIP, _CATACLYSM, number, n_features).read(generation, 1)[0]
            for number in range(1, size)
        ]
    )
    copies = _never_empty(population[0] ^ (draws < _DIVERGENCE), draws)
    return np.concatenate([population[:1], copies])


def choose(
    judged: Judged, support: BoolArray, n_members: int, diversity_weight: float
) -> BoolArray:
    """The best subset, then each time the one with the best ``a_k + alpha d_k``.

    ``d_k`` is the mean disagreement with those chosen before, and ``alpha`` the weight of
    diversity. ``support`` (N, D) has the most accurate subsets first. Where there are fewer of
    them than members, they are taken again in the same order.
    """
    left = list(range(len(support)))
    chosen: list[int] = []
    accuracy = judged.accuracy(support)
    while left and len(chosen) < n_members:
        scores = accuracy[left]
        if diversity_weight:
            spread = [judged.disagreement(support[i], support[chosen]) for i in left]
            scores = scores + diversity_weight * np.array(spread)
        chosen.append(left.pop(int(np.argmax(scores > scores.max() - TIE))))
    again = [chosen[k % len(chosen)] for k in range(n_members)]
    return support[again]
