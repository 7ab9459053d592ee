"""Members on feature subsets that are searched for by fitting a model on every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from covey._core.random import Purpose, UniformRows
from covey._core.rivals.subset_search import Judged, choose, evolve, hill_climb, random_subsets
from covey._folds import check_cv_parameter, check_groups, make_folds
from covey._models import classifies, fit_member
from covey._validation import check_choice, check_number
from covey.fusers import Fuser, common_kind, gather, make_fuser, member_output
from covey.members import GrownClassifier, check_tree_range
from covey.rivals._neighbors import NeighborsMember


class SubsetSearchClassifier(GrownClassifier):
    """An ensemble on feature subsets, each found by fitting a model on every candidate.

    A member is a model on a subset of the features, and a subset is as good as the accuracy of
    the model on rows that were held out from it. To know that, the model is fitted again for
    every candidate, once a fold. Any classifier can be a member; what it costs is in
    ``n_fits_``. (`SubsetEnsembleClassifier` chooses subset and boundary in one ascent instead.)

    - ``search="hill_climbing"`` [1]_ [2]_: each of K random subsets is improved by flipping one
      feature at a time into or out of it; a flip is kept if it raises the criterion, until none
      does. The criterion is accuracy alone as in [1]_, or with ``diversity_weight`` as in [2]_
      also how much the member disagrees with the others.
    - ``search="genetic"`` [3]_: a population of subsets evolves by the algorithm CHC [4]_, whose
      crossing keeps the features that parents have in common. The most accurate subsets of
      all populations are the members.

    Take it to compare with, or where subsets for a model that is not linear are wanted and time
    does not count.

    Parameters
    ----------
    estimator : classifier, default=None
        What is fitted on every subset. None: nearest neighbours, as in [1]_ and [2]_; here five
        of them, by the Euclidean distance of standardised features, voting with their weight.
    n_estimators : int, default=6
        K, the number of members.
    search : {"hill_climbing", "genetic"}, default="hill_climbing"
        How subsets are searched for.
    cv : int, splitter or iterable, default=5
        The folds that judge a subset: a number (stratified, and by group where ``fit`` is given
        ``groups``), or whatever scikit-learn takes for ``cv``. A single split, such as
        ``StratifiedShuffleSplit(1)``, judges on one validation part and costs one fit.
    diversity_weight : float, default=0.0
        alpha: what disagreement is worth. The criterion of a member is its accuracy plus alpha
        times the share of held-out rows that it decides otherwise, on average over the other
        members. In the genetic search accuracy alone decides who survives, and the criterion
        who of the survivors becomes a member.
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
        The most models to fit, those of the folds and the members included. A search that
        would need more ends where it stands; see ``search_complete_``.
    fuser : str or Fuser, default="mean"
        How members are fused: a name or an object of `covey.fusers`. One that learns does so
        from rows that are held out from the whole search (``validation_fraction``).
    select_size, class_weight
        As for `SubsetEnsembleClassifier`.
    validation_fraction : float, default=0.1
        The share of each class that is held out when something is chosen or learnt from
        held-out rows. Where ``fit`` is given ``groups``, whole groups are held out that come to
        about this share, at least one.
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
        How many members were kept.
    support_ : ndarray of shape (n_estimators_, n_features), bool
        The subset of each member.
    feature_subsets_ : list of ndarrays
        The same as names of columns, or as numbers where X has no names.
    estimators_ : list of classifiers
        The members, each fitted on its columns alone. Members of one subset are one object.
    history_ : list of dict
        At the start and after each pass or generation: the ``criterion``, which never falls (of
        the flock, or of the best of the population), the ``accuracy`` and ``subset_size`` of
        each member or individual, and ``n_fits`` so far.
    n_fits_ : int
        How many models were fitted. No subset is ever judged twice.
    search_complete_ : bool
        False if ``max_fits`` ended the search.
    fuser_ : Fuser

    Notes
    -----
    The scheme is that of [1]_ to [3]_; these details are ours, and may differ from what the
    authors' own programs do:

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

    # A search that is over has nothing to go on from.
    warm_start = False

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 6,
        *,
        search: str = "hill_climbing",
        cv: Any = 5,
        diversity_weight: float = 0.0,
        acceptance: str = "sum",
        max_passes: int = 10,
        population_size: int = 50,
        n_generations: int = 20,
        max_fits: int | None = None,
        fuser: str | Fuser = "mean",
        select_size: str | None = None,
        validation_fraction: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.search = search
        self.cv = cv
        self.diversity_weight = diversity_weight
        self.acceptance = acceptance
        self.max_passes = max_passes
        self.population_size = population_size
        self.n_generations = n_generations
        self.max_fits = max_fits
        self.fuser = fuser
        self.select_size = select_size
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fit -------------------------------------------------------------------------------

    def _check_parameters(self):
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_choice(self.search, "search", ("hill_climbing", "genetic"))
        check_cv_parameter(self.cv)
        check_number(self.diversity_weight, "diversity_weight", low=0)
        check_choice(self.acceptance, "acceptance", ("sum", "both"))
        check_number(self.max_passes, "max_passes", low=1, whole=True)
        check_number(self.population_size, "population_size", low=2, whole=True)
        check_number(self.n_generations, "n_generations", low=1, whole=True)
        if self.max_fits is not None:
            check_number(self.max_fits, "max_fits", low=1, whole=True)
        if self.search == "genetic" and self.n_estimators > self.population_size:
            raise ValueError(
                f"n_estimators={self.n_estimators} members cannot be chosen from a population of "
                f"population_size={self.population_size} subsets; use a larger population."
            )
        learner = self._learner()
        if not classifies(learner):
            raise ValueError(
                "estimator must be a classifier (an object, not a class) to be fitted on feature "
                f"subsets, got {learner!r}."
            )
        # Whether the fuser can use what members say is known before any is fitted.
        common_kind([learner], [type(learner).__name__], make_fuser(self.fuser))

    def _check_training_data(self, X, y, sample_weight, continued):
        X, codes, weight = super()._check_training_data(X, y, sample_weight, continued)
        check_tree_range(self._learner(), X, getattr(self, "feature_names_in_", None))
        return X, codes, weight

    def _learner(self):
        return NeighborsMember() if self.estimator is None else self.estimator

    def _seeded_learner(self):
        """The learner, with a seed wherever it has left one open."""
        learner = clone(self._learner())
        draw = UniformRows(self._seed, Purpose.START, 1, 0, 1).read(0, 1)[0, 0]
        seeds = {
            name: int(draw * (2**31 - 1))
            for name, value in sorted(learner.get_params(deep=True).items())
            if (name == "random_state" or name.endswith("__random_state")) and value is None
        }
        return learner.set_params(**seeds) if seeds else learner

    def _prepare(self, X, codes, weight, groups, context):
        """Keep the groups of the rows that members will be grown on."""
        self._groups = None
        if groups is not None:
            held_out = self._held_out(codes, weight, make_fuser(self.fuser), groups)
            self._groups = check_groups(groups, len(codes))[~held_out]

    def _grow(self, X, codes, sample_weight, context):
        groups = self.__dict__.pop("_groups")
        used = sample_weight > 0
        if np.bincount(codes[used]).max() < 2:
            raise ValueError(
                "No class has two rows, so none can be held out to judge a subset; give more rows."
            )
        folds = make_folds(
            self.cv,
            X,
            codes,
            sample_weight,
            self.classes_,
            groups=groups,
            seed=self._seed,
            n_repeats=1,
        )
        folds = [(train[used[train]], test[used[test]]) for train, test in folds]
        learner = self._seeded_learner()
        given = sample_weight if self._passes_weight(learner, sample_weight[used]) else None
        table = X.tocsc() if hasattr(X, "tocsc") else X
        held_out = np.concatenate([test for _, test in folds])
        with Parallel(n_jobs=self.n_jobs, require="sharedmem") as parallel:
            judged = Judged(
                _Judge(
                    learner,
                    table,
                    codes,
                    self.classes_,
                    given,
                    folds,
                    sample_weight[held_out],
                    parallel,
                    keep_decisions=self.diversity_weight > 0,
                ),
                sample_weight[held_out],
                self._budget(len(folds)),
            )
            support, history = self._searched(judged, X.shape[1])
            distinct, member_of = np.unique(support, axis=0, return_inverse=True)
            labels = self.classes_[codes]
            # Without rows that count for nothing, as in the folds.
            table, labels = table[used], labels[used]
            given = None if given is None else given[used]
            fitted = parallel(
                delayed(_fitted)(learner, table[:, mask], labels, given) for mask in distinct
            )
        self.n_fits_ = judged.count * len(folds) + len(distinct)
        self.history_ = [
            {
                "criterion": stage.criterion,
                "accuracy": stage.accuracy,
                "subset_size": stage.subset_size,
                "n_fits": stage.n_subsets * len(folds),
            }
            for stage in history
        ]
        self._grown = (support, [fitted[number] for number in member_of.ravel()])
        self._keep_first(len(support))

    def _passes_weight(self, learner, weight):
        """Whether the learner is given weights; refuses those that it cannot take."""
        if (weight == 1).all():
            return False
        last = learner[-1] if isinstance(learner, Pipeline) else learner
        if has_fit_parameter(learner, "sample_weight") or has_fit_parameter(last, "sample_weight"):
            return True
        if (weight == weight[0]).all():
            return False
        raise TypeError(
            f"estimator={type(last).__name__} cannot be fitted with sample_weight or "
            "class_weight; leave the weights out, or use an estimator that takes them."
        )

    def _budget(self, n_folds):
        """How many subsets may be judged."""
        if self.max_fits is None:
            return None
        genetic = self.search == "genetic"
        n_starts = int(self.population_size if genetic else self.n_estimators)
        needed = n_starts * n_folds + self.n_estimators
        if self.max_fits < needed:
            raise ValueError(
                f"max_fits={self.max_fits} does not even pay for the start: {n_starts} subsets "
                f"in {n_folds} folds and {self.n_estimators} members take up to {needed} fits."
            )
        return (int(self.max_fits) - int(self.n_estimators)) // n_folds

    def _searched(self, judged, n_features):
        """The members' subsets and the history of the search."""
        alpha = float(self.diversity_weight)
        if self.search == "genetic":
            population = random_subsets(self._seed, int(self.population_size), n_features)
            found = evolve(
                judged, population, seed=self._seed, n_generations=int(self.n_generations)
            )
            support = choose(judged, found.support, int(self.n_estimators), alpha)
        else:
            found = hill_climb(
                judged,
                random_subsets(self._seed, int(self.n_estimators), n_features),
                seed=self._seed,
                diversity_weight=alpha,
                acceptance=self.acceptance,
                max_passes=int(self.max_passes),
            )
            support = found.support
        self.search_complete_ = found.complete
        return support, found.history

    def _forget(self):
        self.__dict__.pop("_grown", None)

    def _attributes(self, n_members):
        names = ("support_", "estimators_")
        parts = {name: part[:n_members] for name, part in zip(names, self._grown, strict=True)}
        return {"n_estimators_": n_members, **parts}

    @property
    def feature_subsets_(self) -> list[np.ndarray]:
        """The columns of each member, by name where X has names."""
        check_is_fitted(self, "support_")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return [names[mask] for mask in self.support_]

    # -- predict ---------------------------------------------------------------------------

    def _predictions(self, X, kind=None):
        names = self._names()
        if kind is None:
            fuser = self.fuser_ if hasattr(self, "fuser_") else make_fuser(self.fuser)
            kind = common_kind(self.estimators_, names, fuser)
        said = {}
        for mask, member, name in zip(self.support_, self.estimators_, names, strict=True):
            if id(member) not in said:
                said[id(member)] = member_output(member, X[:, mask], self.classes_, kind, name)
        outputs = [said[id(member)] for member in self.estimators_]
        return gather(outputs, self.classes_, names, kind)

    def _member_values(self, X):
        """Probabilities if all members have them, whatever the fuser asks for."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        return self._predictions(X, "probability" if every else None).values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        learner = self._learner()
        if hasattr(learner, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(learner).input_tags.sparse
        return tags


class _Judge:
    """Accuracies of subsets by models that are fitted on the folds, all at once."""

    def __init__(
        self, learner, table, codes, classes, given, folds, weight, parallel, *, keep_decisions
    ):
        self.learner, self.table, self.given = learner, table, given
        # Learners are shown the labels themselves: parameters of theirs may name them.
        self.labels, self.classes = classes[codes], classes
        self.folds, self.share, self.parallel = folds, weight / weight.sum(), parallel
        self.truth = np.concatenate([codes[test] for _, test in folds])
        self.keep_decisions = keep_decisions

    def __call__(self, masks):
        parts = self.parallel(
            delayed(self._decide)(mask, train, test)
            for mask in masks
            for train, test in self.folds
        )
        n_folds = len(self.folds)
        decisions = np.stack(
            [
                np.concatenate(parts[start : start + n_folds])
                for start in range(0, len(parts), n_folds)
            ]
        )
        accuracy = (decisions == self.truth) @ self.share
        return accuracy, decisions if self.keep_decisions else None

    def _decide(self, mask, train, test):
        """What a model that is fitted on some rows decides of others."""
        columns = self.table[:, mask]
        if hasattr(columns, "tocsr"):
            columns = columns.tocsr()
        given = None if self.given is None else self.given[train]
        model = _fitted(self.learner, columns[train], self.labels[train], given)
        name = type(self.learner).__name__
        decided, _ = member_output(model, columns[test], self.classes, "label", name)
        # Few classes: thousands of subsets are remembered.
        return decided.astype(np.int32)


def _fitted(learner, X, y, weight):
    return fit_member(clone(learner), type(learner).__name__, X, y, weight)
