"""The selection of features by growing flocks: the paper's second use (section 3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from covey._core.algorithm1.rows import in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.inspection import frequencies as core
from covey._core.inspection.two_answers import FeatureAnswers, two_answers
from covey._core.moments import moments
from covey._core.softmax_linear import class_blocks
from covey._devices import HostDevice
from covey._validation import (
    check_choice,
    check_flag,
    check_labels,
    check_number,
    check_sample_weight,
    fitted_alone,
    holds_numbers,
)
from covey.members import SubsetEnsembleClassifier, SubsetEnsembleRegressor
from covey.members._base_flock import Flock
from covey.members._ensemble import check_two_classes
from covey.members._growing import Growing
from covey.members._prepared_fit import PreparedFit, check_newton
from covey.members._rows_in_memory import InMemoryRows
from covey.members._targets import Classes, Numbers
from covey.tables._checked import checked_table
from covey.tables._columns import ColumnNames, column_positions, flip_units
from covey.tables._preparation import (
    Preparation,
    frequent_categories,
    nothing_varies,
)
from covey.tables._table_reader import TableReader

# The way to grow members unless the user gives an estimator. The penalty is in weighted accuracy
# for classes, in weighted loss of a standardized y for numbers.
GROWTH: dict[str, Any] = {
    "flip_probability": 0.05,
    "tol": -np.inf,
    "max_iter": 150,
    "subset_penalty": 0.003,
}


@dataclass(eq=False, repr=False)
class SubsetSelector(SelectorMixin, BaseEstimator):
    """A selector of all features that are related to y, or of the fewest that suffice.

    There are two answers; ``select`` says which one `transform` uses. *All* features that carry
    something about y are found by tests, at a false discovery rate of ``level``. The null
    hypothesis of a feature is that y does not depend on it, whichever of the other features are
    known, or none. So a feature that is correlated with a relevant one is relevant: twins are
    found together. Each feature is tested alone (a straight and a bent effect), beside all others
    if there are enough rows, given those that were found before, and in products with others;
    these p-values become one, and Benjamini and Hochberg's procedure selects. Tests use ranks, so
    that outliers and units do not matter.

    The *smallest* set that suffices is sought among these. A linear model of them drops its
    weakest features, again and again, and the smallest set is taken whose error on held-out rows
    is within one standard error (of the difference) of the best. Where features left out could
    replace one of it, ``twins_`` says "either of these". No rate is promised beyond that of the
    features it is chosen from.

    In addition, Algorithm 1 grows members on many halves of the rows. How often a feature is in a
    member's subset is its selection frequency, how often two of them are their co-selection (eq.
    (12)), which shows pairs that work together. Members keep one of two twins, so frequencies
    select nothing, unless ``individual_threshold`` is given.

    Take it to learn which columns matter, with a guarantee about false ones. For prediction, a
    flock needs no selection before it: it chooses subsets while it learns.

    Parameters
    ----------
    estimator : SubsetEnsembleClassifier or SubsetEnsembleRegressor, optional
        The way to grow members on each half; its kind decides whether y holds labels or numbers.
        By default one member of 150 steps, each flipping 5 per cent of the features, with
        ``subset_penalty=0.003``: without a penalty, as printed, an irrelevant feature leaves a
        subset only by chance. It is a regressor if y holds numbers that are not whole, or more
        than 30 different ones, each in fewer than 5 rows on average. Its fuser does not matter. A
        fitted one, with ``prefit=True``, is used as it is. Features of its ``always_keep`` are
        always selected.
    select : {"all", "smallest"}, default="all"
        The answer that ``support_``, ``ranking_`` and `transform` give.
    feature_groups : sequence of column sequences, or mapping from name to columns, optional
        Columns that are one feature, by name or number, such as the one-hot columns of one
        variable: they are tested, selected and counted together. None: those of ``estimator``.
    prefit : bool, default=False
        Whether ``estimator`` is fitted. Then the features are selected that more than half of its
        members keep, and there are no tests, no resamples and no shadows.
    n_features_to_select : int, optional
        How many features to select, the first ones of ``ranking_`` (groups that do not fit are
        skipped). None: as many as the answer has.
    n_pairs : int, optional
        How many pairs are in ``co_selection_binary_`` and ``top_pairs_``. None: those above
        ``cross_threshold``, and ten if that is not given.
    individual_threshold, cross_threshold : float, optional
        T_indiv and T_cross of eq. (13), between 0 and 1. With the first, the features that members
        keep more often are selected, whatever tests say.
    level : float, default=0.05
        The false discovery rate of all features that carry something: the share that carries
        nothing, on average over data sets.
    n_resamples : int, default=30
        The number of halves of the rows that members are grown on.
    categorical_features : "from_dtype", mapping, sequence of columns or None
        As in `FlockClassifier`, and so are gaps and categories: a feature is selected with all
        columns that are made of it, and its shadow has them all, too.
    random_state : int, RandomState instance or None, default=None
        The halves and the members; the folds of the smallest set; and, if there are more than
        20,000 rows, which ones the tests use. With fewer rows, p-values depend on nothing random.

    Attributes
    ----------
    support_, support_all_, support_smallest_ : ndarrays of shape (n_features,), bool
        The selected features, and both answers (not with ``prefit=True``).
    twins_ : list of lists of str or int
        "Either of these": the first of each list is in the smallest set, and each of the others
        could replace it: it is correlated with it, and the error on held-out rows rises by at most
        two standard errors. By name if X has names. Not with ``prefit=True``.
    pvalues_ : ndarray of shape (n_features,)
        The chance of as much evidence for a feature that carries nothing. NaN with
        ``prefit=True``.
    scores_ : ndarray of shape (n_features,)
        ``-log10(pvalues_)``, also where p-values are too small for floating point.
    ranking_ : ndarray of shape (n_features,)
        1 for the first feature of the selected answer: for "all" that of the least p-value, for
        "smallest" the one needed most, with relevant features that are not needed after those that
        are. With ``prefit=True`` or ``individual_threshold``: the feature kept most often.
    co_selection_, co_selection_binary_ : ndarrays of shape (n_features, n_features)
        F of eq. (12), over the members of all resamples, and F^bin of eq. (13).
    individual_threshold_, cross_threshold_ : float
        The thresholds used: given, or those that leave the wanted number. None for the first
        where tests select.
    selection_frequency_ : ndarray of shape (n_features,)
        The diagonal of F.
    frequency_interval_ : ndarray of shape (n_features, 2)
        95 % interval of each frequency over resamples. NaN with ``prefit=True``.
    null_probability_ : ndarray of shape (n_features,)
        The chance that members keep as often a *shadow*, a column whose rows were shuffled. NaN
        with ``prefit=True``.
    coefficient_sizes_ : ndarray of shape (n_features,)
        The mean size of standardized coefficients; decides between equal frequencies.
    stability_ : float
        How much the resamples agree on this many features: 1 if wholly, 0 as much as chance would
        (Nogueira, Sechidis and Brown 2018). NaN with ``prefit=True``.
    top_pairs_ : list of (str or int, str or int, float)
        The pairs kept most often, by name where X has names, with their co-selection.

    Examples
    --------
    >>> import covey
    >>> import numpy as np
    >>> X, y = covey.make_quarter_circle(100, n_dummy_features=6, random_state=0)
    >>> selector = covey.SubsetSelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    >>> selector.top_pairs_[0][:2]
    (0, 1)

    A copy of the first feature is relevant too, and may replace it:

    >>> X = np.hstack([X, X[:, :1]])
    >>> selector = covey.SubsetSelector(select="smallest", random_state=0).fit(X, y)
    >>> selector.support_all_.nonzero()[0], selector.get_support(indices=True)
    (array([0, 1, 8]), array([0, 1]))
    >>> selector.twins_
    [[0, 8]]
    """

    estimator: SubsetEnsembleClassifier | SubsetEnsembleRegressor | None = None
    _: KW_ONLY
    select: str = "all"
    feature_groups: Sequence[Any] | Mapping[str, Any] | None = None
    prefit: bool = False
    n_features_to_select: int | None = None
    n_pairs: int | None = None
    individual_threshold: float | None = None
    cross_threshold: float | None = None
    level: float = 0.05
    n_resamples: int = 30
    categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype"
    random_state: int | np.random.RandomState | None = None

    # -- fit -------------------------------------------------------------------------------

    @fitted_alone
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Test the features, and count those that members on halves of the rows keep."""
        self._check_parameters()
        X, y, reading = checked_table(self, X, y)
        self._check_counts(self.n_features_in_)
        if self.prefit:
            masks, sizes = self._kept_by_fitted(self.n_features_in_)
            shadows = np.empty((*masks.shape[:2], 0), dtype=bool)
            answers = None
        else:
            recipe = self._recipe(y)
            Growing(recipe).check_parameters()
            weight = check_sample_weight(sample_weight, len(y))
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            masks, shadows, sizes, answers = self._kept_by_resamples(
                recipe, X, reading, y, weight / weight.max(), seed
            )
        self._summarize(masks, shadows, sizes, answers)
        return self

    def _check_parameters(self) -> None:
        check_flag(self.prefit, "prefit")
        # The members of any fitted flock can be read; only these can be grown on halves.
        known = Flock if self.prefit else SubsetEnsembleClassifier | SubsetEnsembleRegressor
        if self.estimator is not None and not isinstance(self.estimator, known):
            raise TypeError(
                "estimator must be a SubsetEnsembleClassifier or SubsetEnsembleRegressor, whose "
                f"members have subsets, got {type(self.estimator).__name__}."
            )
        if self.prefit and self.estimator is None:
            raise ValueError("prefit=True needs a fitted estimator.")
        check_choice(self.select, "select", ("all", "smallest"))
        for name, given in (
            ("prefit=True", self.prefit),
            ("individual_threshold", self.individual_threshold is not None),
        ):
            if given and self.select != "all":
                raise ValueError(
                    f"{name} selects by what members keep, so there is no select={self.select!r}; "
                    "leave out one of them."
                )
        for name in ("individual_threshold", "cross_threshold"):
            check_number(getattr(self, name), name, low=0, high=1, or_none=True)
        check_number(self.level, "level", low=0, high=1, closed="neither")
        check_number(self.n_resamples, "n_resamples", low=2, whole=True)
        for count, threshold in (
            ("n_features_to_select", "individual_threshold"),
            ("n_pairs", "cross_threshold"),
        ):
            if getattr(self, count) is not None and getattr(self, threshold) is not None:
                raise ValueError(
                    f"{count} and {threshold} both set how much to select; give one of them."
                )

    def _check_counts(self, n_features: int) -> None:
        n_pairs = n_features * (n_features - 1) // 2
        for name, most in (("n_features_to_select", n_features), ("n_pairs", n_pairs)):
            wanted = getattr(self, name)
            if wanted is not None:
                check_number(wanted, name, low=1, whole=True)
                if wanted > most:
                    raise ValueError(
                        f"{name}={wanted} is more than the {most} that X has; give less."
                    )

    def _kept_by_fitted(self, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self.estimator)
        if self.estimator is None or not hasattr(self.estimator, "support_"):
            raise ValueError(
                "estimator has members of several kinds, which have no subsets of features; give "
                "estimator.named_estimators_['linear'], or use members='linear'."
            )
        masks = self.estimator.support_
        if masks.shape[1] != n_features:
            raise ValueError(
                f"estimator was fitted on {masks.shape[1]} features, but X has {n_features}."
            )
        return masks[:, None, :], self.estimator.coefficient_sizes_

    def _recipe(self, y: np.ndarray) -> SubsetEnsembleClassifier | SubsetEnsembleRegressor:
        """Return the ensemble that grows members; its kind decides what y is."""
        if self.estimator is not None:
            recipe = clone(self.estimator)
        elif holds_numbers(y):
            recipe = SubsetEnsembleRegressor(1, **GROWTH)
        else:
            recipe = SubsetEnsembleClassifier(1, **GROWTH)
        if self.feature_groups is not None:
            recipe.set_params(feature_groups=self.feature_groups)
        if isinstance(recipe, SubsetEnsembleClassifier):
            check_labels(y)
        return recipe

    def _kept_by_resamples(
        self,
        recipe: Any,
        X: Any,
        reading: TableReader | None,
        y: np.ndarray,
        weight: np.ndarray,
        seed: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, FeatureAnswers]:
        """Return features' subsets (K, R, D), shadows' (K, R, S), sizes (D,) and test results."""
        n_features = X.shape[1] if reading is None else len(reading.encoders)
        classifies = isinstance(recipe, SubsetEnsembleClassifier)
        if classifies:
            classes, strata = np.unique(y, return_inverse=True)
            check_two_classes("SubsetSelector", classes, np.bincount(strata, weight))
        else:
            y = np.asarray(y, dtype=np.float64)
            strata = core.strata_of_values(y)
        rows = InMemoryRows(
            X, y, weight, None, numeric=not classifies, device=HostDevice(), reading=reading
        )
        feature_of = np.arange(n_features)
        tested, preparation = (feature_of, np.zeros((len(y), 0)), feature_of[:0]), None
        if rows.needs_preparation:
            preparation, rows = rows.prepared(None, seed)
            feature_of = preparation.column_of
            tested = frequent_categories(preparation, X)
        n_columns = len(feature_of)
        check_newton(recipe.learning_rate, 2 * n_columns)  # with their shadows
        order = np.argsort(strata, kind="stable")
        X, y, strata, weight = rows.X[order], y[order], strata[order], weight[order]
        design, varies, every = self._design(X, weight, seed, feature_of, n_features, preparation)
        used, first = core.first_columns(every, varies)
        unit_of = np.full(int(every.max()) + 1, -1)
        unit_of[:n_features] = flip_units(
            recipe.feature_groups,
            recipe.always_keep,
            ~np.isin(np.arange(n_features), used),
            getattr(self, "feature_names_in_", None),
        )
        shadows = used >= n_features
        unit_of[used[shadows]] = unit_of.max() + 1 + np.arange(int(shadows.sum()))
        units = np.where(varies, unit_of[every], -1)
        # Only the subsets of the members are used: single precision is enough.
        design = design.in_single_precision()
        weights = core.halves(strata, weight, self.n_resamples, seed).astype(np.float32)
        options: dict[str, Any] = {
            "seed": seed,
            "runs": list(range(self.n_resamples)),
            "flip_probability": np.full(self.n_resamples, float(recipe.flip_probability)),
            "unit_of_feature": units,
            "usable": varies,
        }
        if classifies:
            truth = class_blocks(np.bincount(strata, minlength=len(classes)))
            settings = Growing(recipe).settings(Classes(classes))
        else:
            rows = InMemoryRows(X, y, weight, None, numeric=True, device=HostDevice())
            target = Numbers.learnt(PreparedFit(recipe, rows, n_columns, seed=seed), None)
            truth = rows.target.astype(np.float32)
            settings = replace(Growing(recipe).settings(target), finish=0)
        trainer = StackTrainer(in_memory(design, truth, weights, settings), settings, **options)
        masks, sizes = [], np.zeros(n_columns)
        for _ in range(int(recipe.n_estimators)):
            grown = recipe._not_diverged(trainer.grow)
            masks.append(grown.support)
            theta = np.asarray(grown.theta, dtype=np.float64)
            if classifies:
                theta = theta - theta.mean(axis=0)
            sizes += np.abs(theta).mean(axis=(0, 1))[:n_columns] / recipe.n_estimators
        masks = np.stack(masks)
        kept = np.zeros((*masks.shape[:2], n_features), dtype=bool)
        # The columns of a feature are kept together.
        kept[:, :, used[~shadows]] = masks[:, :, first[~shadows]]
        sizes = np.bincount(feature_of, sizes, minlength=n_features)
        free, more, more_of = tested
        if len(free) < n_columns or len(more_of):
            X = np.hstack([X[:, free], more[order]])
            varies = np.append(varies[free], np.ptp(more, axis=0) > 0)
            feature_of = np.append(feature_of[free], more_of)
        answers = self._answers(
            recipe, X, feature_of, varies[: len(feature_of)], n_features, y, strata, weight, seed
        )
        return kept, masks[:, :, first[shadows]], sizes, answers

    def _answers(
        self,
        recipe: Any,
        X: Any,
        feature_of: np.ndarray,
        varies: np.ndarray,
        n_features: int,
        y: np.ndarray,
        strata: np.ndarray,
        weight: np.ndarray,
        seed: int,
    ) -> FeatureAnswers:
        """Return the tests' answers about features; ``feature_of`` is that of each column of X."""
        names = getattr(self, "feature_names_in_", None)
        constant = np.bincount(feature_of, weights=varies, minlength=n_features) == 0
        kept = [] if recipe.always_keep is None else recipe.always_keep
        always = np.zeros(n_features, dtype=bool)
        always[column_positions(kept, "always_keep", n_features, names)] = True
        unit = flip_units(recipe.feature_groups, None, constant, names)
        found = two_answers(
            X,
            np.where(varies, unit[feature_of], -1),
            strata if isinstance(recipe, SubsetEnsembleClassifier) else y,
            weight,
            strata,
            level=self.level,
            seed=seed,
        )
        return FeatureAnswers(found, unit, always)

    def _design(
        self,
        X: Any,
        weight: np.ndarray,
        seed: int,
        feature_of: np.ndarray,
        n_features: int,
        preparation: Preparation | None,
    ) -> tuple[Design, np.ndarray, np.ndarray]:
        """Return standardized features and shadows, which of them vary, and their features."""
        columns, every = core.columns_and_shadows(X, seed, feature_of, n_features)
        mean, deviation = moments(columns, weight)
        varies = deviation > 0
        if not varies[: len(feature_of)].any():
            why = nothing_varies(n_features, preparation).partition(", so there is")[0]
            raise ValueError(f"{why}, so there is nothing to select.")
        scale = np.where(varies, deviation, 1.0)
        if hasattr(columns, "tocsc"):
            return Design(columns, mean[None], scale[None]), varies, every
        return Design((columns - mean[:, None]) / scale[:, None]), varies, every

    # -- the meaning of the results --------------------------------------------------------

    def _summarize(
        self,
        masks: np.ndarray,
        shadows: np.ndarray,
        sizes: np.ndarray,
        answers: FeatureAnswers | None,
    ) -> None:
        n_members, n_resamples, n_features = masks.shape
        flat = masks.reshape(-1, n_features).astype(np.float64)
        self.co_selection_ = flat.T @ flat / len(flat)
        frequency = self.selection_frequency_ = np.diag(self.co_selection_).copy()
        self.coefficient_sizes_ = sizes
        self.null_probability_ = np.full(n_features, np.nan)
        self.frequency_interval_ = np.full((n_features, 2), np.nan)
        by_resample = masks.mean(axis=0)
        if answers is not None:
            self.frequency_interval_ = core.frequency_intervals(by_resample)
            self.null_probability_ = core.null_probabilities(
                frequency, shadows.mean(axis=(0, 1)), 1.0 / (2.0 * n_members * n_resamples)
            )
        self._select_features(np.lexsort((-sizes, -frequency)), answers)
        self._select_pairs()
        wanted = 0 if self.prefit else int(self.support_.sum())
        self.stability_ = core.stability(by_resample, sizes, wanted)

    def _select_features(self, kept_first: np.ndarray, answers: FeatureAnswers | None) -> None:
        """Set the selection and all that describes it; ``kept_first`` orders by frequency."""
        frequency = self.selection_frequency_
        n_features = len(frequency)
        self.scores_ = np.full(n_features, np.nan)
        if answers is not None:
            names = getattr(self, "feature_names_in_", np.arange(n_features)).tolist()
            self.scores_ = -answers.log_p / np.log(10.0)
            self.support_all_ = answers.masks["all"]
            self.support_smallest_ = answers.masks["smallest"]
            self.twins_ = [[names[feature] for feature in group] for group in answers.twins]
        self.pvalues_ = np.power(10.0, -self.scores_)
        wanted = self.n_features_to_select
        if answers is not None and self.individual_threshold is None:
            order = answers.order[self.select]
            self.individual_threshold_ = None
            self.support_ = answers.first(order, wanted) if wanted else answers.masks[self.select]
        else:
            order = kept_first
            falling = frequency[order]
            if self.individual_threshold is not None:
                self.individual_threshold_ = float(self.individual_threshold)
            else:
                # Nothing is known about chance, so these are the features that members keep more
                # often than not.
                wanted = wanted or int((frequency > 0.5).sum())
                self.individual_threshold_ = core.threshold_below(falling, wanted)
            chosen = falling > self.individual_threshold_ if wanted is None else slice(wanted)
            self.support_ = np.zeros(n_features, dtype=bool)
            self.support_[order[chosen]] = True
        self.ranking_ = np.empty(n_features, dtype=np.int64)
        self.ranking_[order] = np.arange(1, n_features + 1)

    def _select_pairs(self) -> None:
        first, second = np.triu_indices(len(self.co_selection_), 1)
        values = self.co_selection_[first, second]
        order = np.argsort(-values, kind="stable")
        if self.cross_threshold is not None:
            self.cross_threshold_ = float(self.cross_threshold)
            chosen = order[values[order] > self.cross_threshold_]
        else:
            wanted = min(10, len(order)) if self.n_pairs is None else self.n_pairs
            chosen = order[:wanted]
            self.cross_threshold_ = core.threshold_below(values[order], wanted)
        binary = np.zeros_like(self.co_selection_, dtype=bool)
        binary[first[chosen], second[chosen]] = True
        binary |= binary.T
        np.fill_diagonal(binary, self.support_)
        self.co_selection_binary_ = binary
        names: list[Any] = [str(name) for name in getattr(self, "feature_names_in_", ())]
        names = names or list(range(len(binary)))
        self.top_pairs_ = [
            (names[first[pair]], names[second[pair]], float(values[pair])) for pair in chosen
        ]

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
