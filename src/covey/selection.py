"""Selecting features by growing flocks: the paper's second use (section 3.1.2)."""

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._core.algorithm1.rows import in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows
from covey._core.softmax_linear import class_blocks
from covey._validation import check_all_finite, check_number, check_sample_weight
from covey.members import SubsetEnsembleClassifier
from covey.members._columns import flip_units

# Shadows beyond so many add cost and no knowledge of what chance can do.
_MOST_SHADOWS = 30


class SubsetSelector(SelectorMixin, BaseEstimator):
    """Selects the features that members of a flock keep, and the pairs that they keep together.

    Members are grown by Algorithm 1 on many halves of the rows, side by side. How often a
    feature is in a member's subset is its selection frequency, how often two of them are their
    co-selection (eq. (12)). Among the features stand *shadows*: columns whose rows were
    shuffled, which only chance can select. A feature is selected when it is kept more often
    than shadows are.

    Parameters
    ----------
    estimator : SubsetEnsembleClassifier, optional
        How members are grown on each half. By default one of 150 steps, each flipping 5 per
        cent of the features, with ``subset_penalty=0.003``: without a penalty, as printed, what
        is irrelevant leaves a subset only where that helps by chance; and one member on each
        of many halves selects better than a flock on a few. Its fusion does not matter. A
        fitted one, with ``prefit=True``, is used as it is.
    prefit : bool, default=False
        Whether ``estimator`` is fitted. There are then no resamples and no shadows.
    n_features_to_select : int, optional
        How many features to select. None: as many as stand out (``level``), or those above
        ``individual_threshold``.
    n_pairs : int, optional
        How many pairs are in ``co_selection_binary_`` and ``top_pairs_``. None: those above
        ``cross_threshold``, and ten if that is not given.
    individual_threshold, cross_threshold : float, optional
        T_indiv and T_cross of eq. (13), between 0 and 1.
    level : float, default=0.05
        The share of false ones to expect among the features that are selected (Benjamini and
        Hochberg), where their number is not given.
    n_resamples : int, default=30
        On how many halves of the rows members are grown.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    co_selection_ : ndarray of shape (n_features, n_features)
        F of eq. (12), over the members of all resamples.
    co_selection_binary_ : ndarray of shape (n_features, n_features), bool
        F^bin of eq. (13).
    individual_threshold_, cross_threshold_ : float
        The thresholds used: given, or those that leave the wanted number.
    selection_frequency_ : ndarray of shape (n_features,)
        The diagonal of F.
    frequency_interval_ : ndarray of shape (n_features, 2)
        95 % interval of each frequency over resamples. NaN with ``prefit=True``.
    null_probability_ : ndarray of shape (n_features,)
        How probable it is that an irrelevant feature is kept as often. NaN with ``prefit=True``.
    importance_ : ndarray of shape (n_features,)
        Mean size of the coefficients of standardised features; decides between equal
        frequencies.
    ranking_ : ndarray of shape (n_features,)
        1 for the feature kept most often.
    stability_ : float
        How much the resamples agree on that many features: 1 if wholly, 0 as much as chance
        would (Nogueira, Sechidis and Brown 2018). NaN with ``prefit=True``.
    top_pairs_ : list of (str or int, str or int, float)
        The pairs kept most often, by name where X has names, with their co-selection.
    support_ : ndarray of shape (n_features,), bool

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, n_dummy_features=6, random_state=0)
    >>> selector = covey.SubsetSelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    >>> selector.top_pairs_[0][:2]
    (0, 1)
    """

    def __init__(
        self,
        estimator=None,
        *,
        prefit=False,
        n_features_to_select=None,
        n_pairs=None,
        individual_threshold=None,
        cross_threshold=None,
        level=0.05,
        n_resamples=30,
        random_state=None,
    ):
        self.estimator = estimator
        self.prefit = prefit
        self.n_features_to_select = n_features_to_select
        self.n_pairs = n_pairs
        self.individual_threshold = individual_threshold
        self.cross_threshold = cross_threshold
        self.level = level
        self.n_resamples = n_resamples
        self.random_state = random_state

    # -- fit -------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Grow flocks and see which features they keep.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : SubsetSelector
        """
        self._check_parameters()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            ensure_all_finite=False,
        )
        check_all_finite(X, getattr(self, "feature_names_in_", None))
        if hasattr(X, "tocsr") and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        check_classification_targets(y)
        self._check_counts(X.shape[1])
        if self.prefit:
            masks, sizes = self._kept_by_fitted(X.shape[1])
            shadows = np.empty((*masks.shape[:2], 0), dtype=bool)
        else:
            weight = check_sample_weight(sample_weight, len(y))
            weight = weight / weight.max()
            masks, shadows, sizes = self._kept_by_resamples(X, y, weight)
        self._summarise(masks, shadows, sizes)
        return self

    def _check_parameters(self):
        if self.estimator is not None and not isinstance(self.estimator, SubsetEnsembleClassifier):
            raise TypeError(
                "estimator must be a SubsetEnsembleClassifier, whose members have subsets, got "
                f"{type(self.estimator).__name__}."
            )
        if self.prefit and self.estimator is None:
            raise ValueError("prefit=True needs a fitted estimator.")
        for name in ("individual_threshold", "cross_threshold"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, low=0, high=1)
        check_number(self.level, "level", low=0, high=1, closed="neither")
        check_number(self.n_resamples, "n_resamples", low=2, whole=True)
        for count, threshold in (
            ("n_features_to_select", "individual_threshold"),
            ("n_pairs", "cross_threshold"),
        ):
            if getattr(self, count) is not None and getattr(self, threshold) is not None:
                raise ValueError(
                    f"{count} and {threshold} both say how much to select; give one of them."
                )

    def _check_counts(self, n_features):
        n_pairs = n_features * (n_features - 1) // 2
        for name, most in (("n_features_to_select", n_features), ("n_pairs", n_pairs)):
            wanted = getattr(self, name)
            if wanted is not None:
                check_number(wanted, name, low=1, whole=True)
                if wanted > most:
                    raise ValueError(
                        f"{name}={wanted} is more than the {most} that X has; ask for fewer."
                    )

    def _kept_by_fitted(self, n_features):
        check_is_fitted(self.estimator)
        masks = self.estimator.support_
        if masks.shape[1] != n_features:
            raise ValueError(
                f"estimator was fitted on {masks.shape[1]} features, but X has {n_features}."
            )
        return masks[:, None, :], self.estimator.feature_importances_

    def _recipe(self):
        if self.estimator is not None:
            return clone(self.estimator)
        return SubsetEnsembleClassifier(
            1, flip_probability=0.05, tol=-np.inf, max_iter=150, subset_penalty=0.003
        )

    def _kept_by_resamples(self, X, y, weight):
        """Subsets (K, R, D) of features and (K, R, S) of shadows, and coefficients' sizes (D,)."""
        recipe = self._recipe()
        recipe._check_parameters()
        classes, codes = np.unique(y, return_inverse=True)
        if len(np.unique(codes[weight > 0])) < 2:
            raise ValueError(
                f"SubsetSelector needs samples of at least 2 classes in y, got {len(classes)} "
                f"class: {classes.tolist()}."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        order = np.argsort(codes, kind="stable")
        codes, weight = codes[order], weight[order]
        recipe._check_newton(2 * X.shape[1])  # with their shadows
        design, varies = self._design(X[order], weight, seed)
        n_features = X.shape[1]
        units = np.full(len(varies), -1)
        units[:n_features] = flip_units(
            recipe.feature_groups,
            recipe.always_keep,
            ~varies[:n_features],
            getattr(self, "feature_names_in_", None),
        )
        shadows = np.flatnonzero(varies[n_features:])
        units[n_features + shadows] = units.max() + 1 + np.arange(len(shadows))
        runs = list(range(self.n_resamples))
        ascent = recipe._ascent()
        rows = in_memory(
            # Which features are kept is all that is asked for: single precision will do.
            design.in_single_precision(),
            class_blocks(np.bincount(codes, minlength=len(classes))),
            self._halves(codes, weight, seed).astype(np.float32),
            ascent,
        )
        trainer = StackTrainer(
            rows,
            ascent,
            seed=seed,
            runs=runs,
            flip_probability=np.full(len(runs), float(recipe.flip_probability)),
            unit_of_feature=units,
            usable=varies,
        )
        masks, sizes = [], np.zeros(n_features)
        for _ in range(int(recipe.n_estimators)):
            grown = recipe._not_diverged(trainer.grow)
            masks.append(grown.support)
            theta = grown.theta.astype(np.float64)
            contrast = np.abs(theta - theta.mean(axis=0)).mean(axis=(0, 1))
            sizes += contrast[:n_features] / recipe.n_estimators
        masks = np.stack(masks)
        return masks[:, :, :n_features], masks[:, :, n_features + shadows], sizes

    def _design(self, X, weight, seed):
        """The features and their shadows, standardised; and which of them vary."""
        n_rows, n_features = X.shape
        n_shadows = min(n_features, _MOST_SHADOWS)
        rng = np.random.default_rng([seed, 1])
        copied = rng.choice(n_features, n_shadows, replace=False)
        if hasattr(X, "tocsr"):
            from scipy import sparse

            shuffled = [X.tocsc()[:, [column]][rng.permutation(n_rows)] for column in copied]
            columns = sparse.hstack([X, *shuffled], format="csc")
            columns.sum_duplicates()
            mean, deviation = moments(columns, weight)
        else:
            shuffled = [X[rng.permutation(n_rows), column] for column in copied]
            columns = np.concatenate([X.T, np.array(shuffled).reshape(n_shadows, n_rows)])
            mean, deviation = moments(columns, weight)
        varies = deviation > 0
        if not varies[:n_features].any():
            raise ValueError(
                f"All {n_features} feature(s) of X are constant, so there is nothing to select."
            )
        scale = np.where(varies, deviation, 1.0)
        if hasattr(columns, "tocsc"):
            return Design(columns, mean[None], scale[None]), varies
        return Design((columns - mean[:, None]) / scale[:, None]), varies

    def _halves(self, codes, weight, seed):
        """Weights (R, n): of every class one half, and in the next resample the other."""
        weights = np.zeros((self.n_resamples, len(codes)))
        for run in range(self.n_resamples):
            draws = UniformRows(seed, Purpose.FOLD, run // 2, 0, 1).read(0, len(codes))[:, 0]
            for code in np.unique(codes):
                rows = np.flatnonzero((codes == code) & (weight > 0))
                rows = rows[np.argsort(draws[rows], kind="stable")]
                half = -(-len(rows) // 2)
                rows = rows[:half] if run % 2 == 0 else rows[len(rows) - half :]
                weights[run, rows] = weight[rows]
        return weights

    # -- what it means -----------------------------------------------------------------------

    def _summarise(self, masks, shadows, sizes):
        n_features = masks.shape[2]
        flat = masks.reshape(-1, n_features).astype(np.float64)
        self.co_selection_ = flat.T @ flat / len(flat)
        frequency = self.selection_frequency_ = np.diag(self.co_selection_).copy()
        self.importance_ = sizes
        order = np.lexsort((-sizes, -frequency))
        self.ranking_ = np.empty(n_features, dtype=np.int64)
        self.ranking_[order] = np.arange(1, n_features + 1)
        by_resample = masks.mean(axis=0)
        self._set_null(frequency, by_resample, shadows)
        self._select_features(frequency, order)
        self._select_pairs()
        self._set_stability(by_resample, sizes)

    def _set_null(self, frequency, by_resample, shadows):
        n_resamples, n_features = by_resample.shape
        self.null_probability_ = np.full(n_features, np.nan)
        self.frequency_interval_ = np.full((n_features, 2), np.nan)
        if self.prefit:
            return
        half = stats.t.ppf(0.975, n_resamples - 1) * (
            by_resample.std(axis=0, ddof=1) / np.sqrt(n_resamples)
        )
        self.frequency_interval_ = np.clip(
            np.stack([frequency - half, frequency + half], axis=1), 0.0, 1.0
        )
        chance = shadows.mean(axis=(0, 1))
        if len(chance) < 2:
            return
        # What shadows show of chance, as a Student t of one more draw; never surer than the
        # frequencies' own grain.
        spread = max(chance.std(ddof=1), 1.0 / (2.0 * shadows.shape[0] * n_resamples))
        distance = (frequency - chance.mean()) / (spread * np.sqrt(1 + 1 / len(chance)))
        self.null_probability_ = stats.t.sf(distance, len(chance) - 1)

    def _select_features(self, frequency, order):
        n_features = len(frequency)
        if self.individual_threshold is not None:
            self.individual_threshold_ = float(self.individual_threshold)
            self.support_ = frequency > self.individual_threshold_
            return
        wanted = self.n_features_to_select
        if wanted is None:
            wanted = self._number_that_stands_out(order)
        self.support_ = np.zeros(n_features, dtype=bool)
        self.support_[order[:wanted]] = True
        self.individual_threshold_ = _threshold_below(frequency[order], wanted)

    def _number_that_stands_out(self, order):
        """Benjamini and Hochberg's step-up procedure."""
        if np.isnan(self.null_probability_).any():
            # Nothing is known of chance; what the members keep more often than not.
            return int((self.selection_frequency_ > 0.5).sum())
        n_features = len(order)
        limits = self.level * np.arange(1, n_features + 1) / n_features
        below = np.flatnonzero(np.sort(self.null_probability_) <= limits)
        return int(below[-1]) + 1 if len(below) else 0

    def _select_pairs(self):
        first, second = np.triu_indices(len(self.co_selection_), 1)
        values = self.co_selection_[first, second]
        order = np.argsort(-values, kind="stable")
        if self.cross_threshold is not None:
            self.cross_threshold_ = float(self.cross_threshold)
            chosen = order[values[order] > self.cross_threshold_]
        else:
            wanted = min(10, len(order)) if self.n_pairs is None else self.n_pairs
            chosen = order[:wanted]
            self.cross_threshold_ = _threshold_below(values[order], wanted)
        binary = np.zeros_like(self.co_selection_, dtype=bool)
        binary[first[chosen], second[chosen]] = True
        binary |= binary.T
        np.fill_diagonal(binary, self.support_)
        self.co_selection_binary_ = binary
        names = getattr(self, "feature_names_in_", None)
        self.top_pairs_ = [
            (
                int(first[pair]) if names is None else str(names[first[pair]]),
                int(second[pair]) if names is None else str(names[second[pair]]),
                float(values[pair]),
            )
            for pair in chosen
        ]

    def _set_stability(self, by_resample, sizes):
        self.stability_ = np.nan
        n_resamples, n_features = by_resample.shape
        wanted = int(self.support_.sum())
        if self.prefit or not 0 < wanted < n_features:
            return
        chosen = np.zeros_like(by_resample, dtype=bool)
        for resample, kept in enumerate(by_resample):
            chosen[resample, np.lexsort((-sizes, -kept))[:wanted]] = True
        share = wanted / n_features
        variance = (
            chosen.mean(axis=0) * (1 - chosen.mean(axis=0)) * n_resamples / (n_resamples - 1)
        )
        self.stability_ = float(1 - variance.mean() / (share * (1 - share)))

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _threshold_below(falling, wanted):
    """A threshold that the first ``wanted`` of falling values exceed; as eq. (13) has it."""
    if wanted == len(falling):
        return 0.0
    if wanted == 0:
        return float(falling[0])
    return float((falling[wanted - 1] + falling[wanted]) / 2)
