"""Members on feature subsets that are searched for by fitting a model on every candidate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows
from covey._folds import check_cv_parameter, make_folds
from covey._models import fit_member
from covey._validation import check_choice, check_number
from covey.fusers import Fuser
from covey.fusers._outputs import member_output
from covey.rivals._learners import Rival

# Accuracies are known to this many decimals, and a gain is more than rounding may move two of them
# apart.
DECIMALS = 12
TIE = 2e-12

# The runs of `UniformRows`, so that no two uses share draws.
_ORDER, _PAIRS, _CROSSING, _CATACLYSM = range(4)

# Eshelman's divergence rate: the share of bits that a cataclysm flips.
_DIVERGENCE = 0.35


@dataclass(eq=False, repr=False)
class SubsetSearchClassifier(Rival):
    """An ensemble on feature subsets, each found by fitting a model on every candidate.

    A member is a model on a subset of the features, and a subset is as good as the accuracy of the
    model on rows that were held out from it. For this, the model is fitted again for every
    candidate, once per fold. Any classifier can be a member; the cost is in ``n_fits_``.
    (`SubsetEnsembleClassifier` chooses subset and boundary in one ascent instead.)

    - ``search="hill_climbing"`` [1]_ [2]_: each of K random subsets is improved by flipping one
      feature at a time into or out of it; a flip is kept if it raises the criterion, until none
      does. The criterion is accuracy alone as in [1]_, or with ``diversity_weight`` as in [2]_
      also how much the member disagrees with the others.
    - ``search="genetic"`` [3]_: a population of subsets evolves by the algorithm CHC [4]_, whose
      crossing keeps the features that parents have in common. The most accurate subsets of
      all populations are the members.

    Take it for comparison, or for subsets of a model that is not linear if time does not matter.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier that is fitted on every subset. None: nearest neighbours, as in [1]_ and
        [2]_; here five of them, by the Euclidean distance of standardised features, voting with
        their weight.
    n_estimators : int, default=6
        K, the number of members.
    search : {"hill_climbing", "genetic"}, default="hill_climbing"
        The method of the search.
    cv : int, splitter or iterable, default=5
        The folds that judge a subset: a number (stratified, and by group if ``fit`` is given
        ``groups``), or any form of scikit-learn's ``cv``. A single split, such as
        ``StratifiedShuffleSplit(1)``, judges on one validation part and costs one fit.
    diversity_weight : float, default=0.0
        alpha, the weight of disagreement. The criterion of a member is its accuracy plus alpha
        times the share of held-out rows that it decides otherwise, on average over the other
        members. In the genetic search accuracy alone decides which subsets survive, and the
        criterion which survivors become members.
    acceptance : {"sum", "both"}, default="sum"
        Which flips are kept when ``diversity_weight`` is above 0: those that raise the
        criterion, or those that raise accuracy or disagreement and lower neither.
    max_passes : int, default=10
        The most passes over all features of the hill climbing.
    population_size : int, default=50
        Subsets in a population of the genetic search.
    n_generations : int, default=20
        Generations of the genetic search.
    max_fits : int or None, default=None
        The most models to fit, those of the folds and the members included. A search that would
        need more ends early; see ``search_complete_``.
    fuser : str or Fuser, default="mean"
        How members are fused: a name or an object of `covey.fusers`. One that learns does so
        from a tenth of the rows, held out from the whole search; where ``fit`` is given
        ``groups``, from whole groups that come to about this share, at least one.
    n_jobs : int or None, default=None
        Threads that fit candidates, and that predict blocks of rows. It never changes a result.
    random_state : int, RandomState instance or None, default=None
        The starts, the order of flips, the crossings, the folds, and the ``random_state`` of an
        ``estimator`` that has left it open. The same int gives the same result, to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    n_estimators_ : int
        The number of members that were kept.
    support_ : ndarray of shape (n_estimators_, n_features), bool
        The subset of each member.
    feature_subsets_ : list of ndarrays
        The subsets as names of columns, or as numbers if X has no names.
    estimators_ : list of classifiers
        The members, each fitted on its columns alone. Members of one subset are one object.
    history_ : list of dict
        At the start and after each pass or generation: the ``criterion``, which never falls (of
        the flock, or of the best of the population), the ``accuracy`` and ``subset_size`` of
        each member or individual, and ``n_fits`` so far.
    n_fits_ : int
        The number of fitted models. No subset is ever judged twice.
    search_complete_ : bool
        False if ``max_fits`` ended the search.
    fuser_ : Fuser

    Notes
    -----
    The scheme is that of [1]_ to [3]_; these details are ours, and may differ from the
    authors' own programs:

    - *Disagreement* is that of pairs of members, not that with the decision of the ensemble,
      which each kept flip may change for all others. With pairs, a gain of the member is a gain
      of the flock: no flip lowers the criterion, and the climbing must end.
    - *Acceptance:* [2]_ weighs error against ambiguity; "sum" does so by a weight, "both" by
      letting neither pay for the other.
    - *Order:* each member tries the features in an order of its own, drawn anew for each pass.
      The first flip that helps is kept.
    - No subset is empty. Accuracies closer than 1e-12 are equal, and of equals the older stays.
    - In the genetic search the members' own learner scores subsets, not a quicker stand-in.
      Subsets that a restart would lose stay eligible.

    References
    ----------
    .. [1] P. Cunningham and J. Carney, "Diversity versus quality in classification ensembles
       based on feature selection", ECML 2000.
    .. [2] G. Zenobi and P. Cunningham, "Using diversity in preparing ensembles of classifiers
       based on different feature subsets to minimize generalization error", ECML 2001.
    .. [3] C. Guerra-Salcedo and D. Whitley, "Feature selection mechanisms for ensemble creation:
       a genetic search perspective", AAAI workshop, 1999; and "Genetic approach to feature
       selection for ensemble creation", GECCO 1999.
    .. [4] L. J. Eshelman, "The CHC adaptive search algorithm", Foundations of Genetic Algorithms
       1, 1991.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from covey.rivals import SubsetSearchClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> flock = SubsetSearchClassifier(n_estimators=3, cv=3, random_state=0).fit(X, y)
    >>> flock.support_.shape
    (3, 13)
    >>> flock.n_fits_ > 100
    True
    >>> flock.history_[-1]["criterion"] > flock.history_[0]["criterion"]
    True
    """

    estimator: Any = None
    n_estimators: int = 6
    _: KW_ONLY
    search: str = "hill_climbing"
    cv: Any = 5
    diversity_weight: float = 0.0
    acceptance: str = "sum"
    max_passes: int = 10
    population_size: int = 50
    n_generations: int = 20
    max_fits: int | None = None
    fuser: str | Fuser = "mean"
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    _default = staticmethod(lambda: NeighborsMember())  # which is defined below
    _has_folds = True

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_passes", "n_generations"):
            check_number(getattr(self, name), name, low=1, whole=True)
        check_number(self.population_size, "population_size", low=2, whole=True)
        check_number(self.max_fits, "max_fits", low=1, whole=True, or_none=True)
        check_choice(self.search, "search", ("hill_climbing", "genetic"))
        check_choice(self.acceptance, "acceptance", ("sum", "both"))
        check_cv_parameter(self.cv)
        check_number(self.diversity_weight, "diversity_weight", low=0)
        if self.search == "genetic" and self.n_estimators > self.population_size:
            raise ValueError(
                f"n_estimators={self.n_estimators} members cannot be chosen from a population of "
                f"population_size={self.population_size} subsets; use a larger population."
            )
        self._check_learner()

    def _grow(self, X: Any, codes: np.ndarray, sample_weight: np.ndarray, groups: Any) -> None:
        used = sample_weight > 0
        if np.bincount(codes[used]).max() < 2:
            raise ValueError(
                "No class has two rows, so none can be held out to judge a subset; give more rows."
            )
        how = {"groups": groups, "seed": self._seed, "n_repeats": 1}
        folds = make_folds(self.cv, X, codes, sample_weight, self.classes_, **how)
        folds = [(train[used[train]], test[used[test]]) for train, test in folds]
        held_out = np.concatenate([test for _, test in folds])
        learner = self._copy(1, 0, every=False)
        # Learners get the labels themselves: their parameters may name them.
        labels, name = self.classes_[codes], type(learner).__name__
        weight = sample_weight if len(np.unique(sample_weight[used])) > 1 else None

        def fit(mask: np.ndarray, rows: np.ndarray) -> Any:
            of_rows = None if weight is None else weight[rows]
            return fit_member(clone(learner), name, X[:, mask][rows], labels[rows], of_rows)

        def decide(mask: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            model = fit(mask, train)
            decided, _ = member_output(model, X[:, mask][test], self.classes_, "label", name)
            # Few classes: thousands of subsets are remembered.
            return decided.astype(np.int32)

        def judge(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            parts = parallel(delayed(decide)(mask, *fold) for mask in masks for fold in folds)
            decisions = np.concatenate(parts).reshape(len(masks), -1)
            return (decisions == codes[held_out]) @ judged.share, decisions

        genetic, n_folds = self.search == "genetic", len(folds)
        n_starts = self.population_size if genetic else self.n_estimators
        needed = n_starts * n_folds + self.n_estimators
        if self.max_fits is not None and self.max_fits < needed:
            raise ValueError(
                f"max_fits={self.max_fits} does not even pay for the start, which takes up to "
                f"{needed} fits."
            )
        judged = JudgedSubsets(
            judge, sample_weight[held_out], self._seed, self.diversity_weight, n_folds
        )
        if self.max_fits is not None:
            judged.budget = (self.max_fits - self.n_estimators) // n_folds
        starts = random_subsets(self._seed, n_starts, X.shape[1])
        with Parallel(n_jobs=self.n_jobs, require="sharedmem") as parallel:
            if genetic:
                found, complete = evolve(judged, starts, self.n_generations)
                found = choose(judged, found, self.n_estimators)
            else:
                found, complete = hill_climb(judged, starts, self.acceptance, self.max_passes)
            distinct, member_of = np.unique(found, axis=0, return_inverse=True)
            models = parallel(delayed(fit)(mask, np.flatnonzero(used)) for mask in distinct)
        self.support_, self.history_, self.search_complete_ = found, judged.history, complete
        self.n_fits_ = judged.n_fits + len(distinct)
        self.estimators_ = [models[number] for number in member_of.ravel()]
        self.n_estimators_ = len(self.estimators_)

    @property
    def feature_subsets_(self) -> list[np.ndarray]:
        """The columns of each member, by name if X has names."""
        check_is_fitted(self, "support_")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return [names[mask] for mask in self.support_]

    def _seen_by(self, k: int, X: Any) -> Any:
        return X[:, self.support_[k]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._learner()
        if hasattr(learner, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(learner).input_tags.sparse
        return tags


class NeighborsMember(ClassifierMixin, BaseEstimator):
    """A vote of the nearest rows of standardized features, each with its weight.

    If weights differ, the neighborhood is as heavy as ``n_neighbors`` average rows.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Remember the rows."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight)
        counts = weight > 0
        self._codes, self._weight = codes[counts], weight[counts] / weight[counts].mean()
        rows = X.toarray()[counts] if hasattr(X, "tocsr") else X[counts]
        self._mean, spread = moments(np.ascontiguousarray(rows.T), self._weight)
        self._scale = np.where(spread > 0, spread, 1.0)
        self._rows = NearestNeighbors().fit((rows - self._mean) / self._scale)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the classes' shares of the neighborhood, (n_samples, n_classes)."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        X = ((X.toarray() if hasattr(X, "tocsr") else X) - self._mean) / self._scale
        n_rows = len(self._codes)
        wanted = min(self.n_neighbors, n_rows)
        # If rows have equal weights, no further ones can count.
        read = wanted if (self._weight == 1).all() else n_rows
        near = self._rows.kneighbors(X, read, return_distance=False)
        weight = self._weight[near]
        # The row that fills the neighbourhood counts in part.
        taken = np.clip(wanted - (np.cumsum(weight, axis=1) - weight), 0.0, weight)
        of_class = self._codes[near][:, :, None] == np.arange(len(self.classes_))
        votes = (taken[:, :, None] * of_class).sum(axis=1)
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class with the largest share."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# -- judged subsets ------------------------------------------------------------------------------


class JudgedSubsets:
    """The subsets that a search has judged, each once, and no more than ``budget`` of them.

    ``judge`` takes masks (m, D), and returns accuracies (m,) and decisions (m, n).
    """

    def __init__(
        self, judge: Any, weight: Any, seed: int, diversity_weight: float = 0.0, n_folds: int = 1
    ) -> None:
        self._judge, self.share, self.n_folds = judge, weight / weight.sum(), n_folds
        self.seed, self.diversity_weight, self.budget = seed, diversity_weight, np.inf
        self._accuracy: dict[bytes, float] = {}
        self._decisions: dict[bytes, np.ndarray] = {}
        self.history: list[dict[str, Any]] = []

    @property
    def n_fits(self) -> int:
        """The number of fitted models."""
        return len(self._accuracy) * self.n_folds

    def look(self, masks: np.ndarray) -> bool:
        """Judge unknown subsets; judge nothing and return False if that is too much."""
        new = {key: mask for mask in masks if (key := mask.tobytes()) not in self._accuracy}
        if len(self._accuracy) + len(new) > self.budget:
            return False
        if new:
            accuracy, decisions = self._judge(np.array(list(new.values())))
            self._accuracy.update(zip(new, accuracy.round(DECIMALS).tolist(), strict=True))
            if self.diversity_weight:
                self._decisions.update(zip(new, decisions, strict=True))
        return True

    def accuracy(self, masks: np.ndarray) -> np.ndarray:
        """Return accuracies of masks (m, D) that were looked at."""
        return np.array([self._accuracy[mask.tobytes()] for mask in masks])

    def disagreement(self, mask: np.ndarray, others: np.ndarray) -> float:
        """Return the weighted share of rows decided otherwise, the mean over the others, or 0."""
        own = self._decisions[mask.tobytes()]
        shares = [self.share @ (own != self._decisions[other.tobytes()]) for other in others]
        return float(np.mean(shares)) if shares else 0.0

    def note(self, masks: np.ndarray, criterion: float) -> None:
        """Record the state of the search after a pass or a generation."""
        stage = {"accuracy": self.accuracy(masks), "subset_size": masks.sum(axis=1)}
        self.history.append({"criterion": criterion, **stage, "n_fits": self.n_fits})


def _draws(seed: int, purpose: Any, run: int, numbers: Any, size: int, place: int = 0) -> Any:
    """Return uniform numbers (len(numbers), size), each row of an address of its own."""
    rows = [UniformRows(seed, purpose, run, number, size).read(place, 1)[0] for number in numbers]
    return np.array(rows).reshape(-1, size)


def random_subsets(seed: int, count: int, n_features: int) -> np.ndarray:
    """Draw subsets that hold each feature with probability one half, and at least one."""
    draws = _draws(seed, Purpose.START, 0, range(count), n_features)
    return _never_empty(draws < 0.5, draws)


def _never_empty(masks: np.ndarray, draws: np.ndarray) -> np.ndarray:
    empty = np.flatnonzero(~masks.any(axis=1))
    masks[empty, draws[empty].argmin(axis=1)] = True
    return masks


# -- climbing ------------------------------------------------------------------------------------


def hill_climb(
    judged: JudgedSubsets, starts: np.ndarray, acceptance: str, max_passes: int
) -> tuple[np.ndarray, bool]:
    """Flip one feature of one subset at a time, as long as that helps.

    The criterion of subset k is ``c_k = a_k + alpha d_k``: its accuracy and ``alpha`` (the weight
    of diversity) times its mean disagreement ``d_k`` with the K - 1 others. That of the flock is
    ``J = mean_k (a_k + alpha d_k / 2)``. Disagreement is mutual, so a flip that raises ``c_k`` by
    x raises J by x / K: every flip that is kept helps the flock, and the climb must end. Features
    are tried in an order drawn for each subset and pass. With ``acceptance="sum"`` a flip is kept
    that raises ``c_k``; with "both" one that raises the accuracy or the disagreement and lowers
    neither. The result is the subsets, and whether the search ended within the budget.
    """
    support, alpha = starts.copy(), judged.diversity_weight
    members = np.arange(len(support))

    def spread(mask: np.ndarray, k: Any) -> float:
        return judged.disagreement(mask, np.delete(support, k, axis=0))

    def note() -> None:
        criterion = float(judged.accuracy(support).mean())
        if alpha:
            criterion += 0.5 * alpha * float(np.mean([spread(support[k], k) for k in members]))
        judged.note(support, criterion)

    def helps(k: Any, candidate: np.ndarray) -> bool:
        gain = float(np.diff(judged.accuracy(np.stack([support[k], candidate])))[0])
        if not alpha:
            return gain > TIE
        apart = spread(candidate, k) - spread(support[k], k)
        if acceptance == "both":
            return min(gain, apart) >= -TIE and max(gain, apart) > TIE
        return gain + alpha * apart > TIE

    judged.look(support)
    note()
    for number in range(max_passes):
        draws = _draws(judged.seed, Purpose.FLIP, _ORDER, members, support.shape[1], number)
        before, complete = support.copy(), True
        for tried in draws.argsort(axis=1, kind="stable").T:
            # The score of one subset does not depend on the others: all K are judged at once.
            flipped = support.copy()
            flipped[members, tried] ^= True
            useful = np.flatnonzero(flipped.any(axis=1))
            if not (complete := judged.look(flipped[useful])):
                break
            for k in useful:
                if helps(k, flipped[k]):
                    support[k] = flipped[k]
        changed = not np.array_equal(support, before)
        if complete or changed:
            note()
        if not (complete and changed):
            return support, complete
    return support, True


# -- genetic -------------------------------------------------------------------------------------


def evolve(
    judged: JudgedSubsets, population: np.ndarray, n_generations: int
) -> tuple[np.ndarray, bool]:
    """Run Eshelman's CHC: crossing of unlike parents, survival of the best, restarts.

    Parents are paired at random. A pair is crossed if half of the bits in which it differs are
    more than a threshold: D/4 at first, one less after each generation that no child survives.
    Children swap half of those bits (HUX), so that the common bits of parents are kept. The best
    of old and new survive, the older of equals. When the threshold is below 0, all but the best
    are replaced by copies of it with 35 % of the bits flipped. The result is the best N different
    subsets of all populations, the best first (fewer, if there were not as many), and whether the
    search ended within the budget.
    """
    (size, n_features), seed = population.shape, judged.seed

    def best_first(*masks: np.ndarray) -> np.ndarray:
        """Sort masks by accuracy; equals stay in their order."""
        masks = np.concatenate(masks)
        return masks[np.argsort(-judged.accuracy(masks), kind="stable")]

    judged.look(population)
    population, past = best_first(population), population[:0]
    judged.note(population, float(judged.accuracy(population)[0]))
    threshold, complete = n_features // 4, True
    for generation in range(n_generations):
        children = _children(population, threshold, seed, generation)
        if not (complete := judged.look(children)):
            break
        survivors = best_first(population, children)[:size]
        threshold -= np.array_equal(survivors, population)
        population = survivors
        if threshold < 0 and generation + 1 < n_generations:
            past = np.concatenate([past, population])
            address = seed, Purpose.FLIP, _CATACLYSM, range(1, size), n_features, generation
            draws = _draws(*address)
            copies = _never_empty(population[0] ^ (draws < _DIVERGENCE), draws)
            restarted = np.concatenate([population[:1], copies])
            if not (complete := judged.look(restarted)):
                break
            population = best_first(restarted)
            threshold = int(_DIVERGENCE * (1 - _DIVERGENCE) * n_features)
        judged.note(population, float(judged.accuracy(population)[0]))
    everyone = best_first(past, population)
    first = np.unique(everyone, axis=0, return_index=True)[1]
    return everyone[np.sort(first)][:size], complete


def _children(population: np.ndarray, threshold: int, seed: int, generation: int) -> np.ndarray:
    """Return half-uniform crossings of random pairs that differ enough, without known subsets."""
    size, n_features = population.shape
    draws = _draws(seed, Purpose.FLIP, _PAIRS, [0], size, generation)[0]
    pairs = draws.argsort(kind="stable")[: size // 2 * 2].reshape(-1, 2)
    known = {mask.tobytes() for mask in population}
    children = []
    for number, (one, other) in enumerate(pairs):
        differing = np.flatnonzero(population[one] ^ population[other])
        n_swapped = len(differing) // 2
        if n_swapped <= threshold:
            continue
        lots = _draws(seed, Purpose.FLIP, _CROSSING, [number], n_features, generation)[0]
        swapped = differing[lots[differing].argsort(kind="stable")[:n_swapped]]
        for parent in (one, other):
            child = population[parent].copy()
            child[swapped] ^= True
            if child.any() and child.tobytes() not in known:
                known.add(child.tobytes())
                children.append(child)
    return np.array(children, dtype=bool).reshape(-1, n_features)


def choose(judged: JudgedSubsets, support: np.ndarray, n_members: int) -> np.ndarray:
    """Choose the best subset, then each time the one with the best ``a_k + alpha d_k``.

    ``d_k`` is the mean disagreement with those chosen before, and ``alpha`` the weight of
    diversity. ``support`` (N, D) has the most accurate subsets first. If there are fewer of them
    than members, they are chosen again in the same order.
    """
    left, chosen = list(range(len(support))), list[int]()
    accuracy = judged.accuracy(support)
    while left and len(chosen) < n_members:
        scores = accuracy[left]
        if judged.diversity_weight:
            apart = [judged.disagreement(support[i], support[chosen]) for i in left]
            scores = scores + judged.diversity_weight * np.array(apart)
        chosen.append(left.pop(int(np.argmax(scores > scores.max() - TIE))))
    return support[np.resize(chosen, n_members)]
