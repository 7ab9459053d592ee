"""Flocks found by a search: a few groups of linear members, each group with a gate of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from covey._core.search.plan import Effort
from covey._decisions import Costs, decided
from covey._devices import to_numpy
from covey._state import Parameter
from covey._validation import keep_parameters
from covey.members import _correcting as correcting
from covey.members._base_flock import Flock
from covey.members._ensemble import accepts_dask
from covey.members._roster import Classifiers, Regressors
from covey.members._searching import Searching
from covey.tables._columns import ColumnNames


class FlockClassifier(Flock, ClassifierMixin, BaseEstimator):
    """A few groups of linear members on feature subsets of their own, found by a search.

    Take it first for any table of rows and columns: it needs no tuning, its probabilities are
    good, and it can be read. Each member is a linear model on a few features. A *gate*, a learned
    function of the row, weighs the members, so that different ones decide about different rows.
    Candidates differ in size, penalty and columns (features, ramps, products of two). The loss of
    held-out rows selects among them, and of nearly equal ones the one with the fewest terms. As in
    the paper, a member's features and boundary are chosen together, but by gradient, not by coin.
    `summary` shows the result on one screen, `explain` shows who decided about a row, and why.

    Take boosting instead if rules over several categories decide, or if only speed counts; take
    `SubsetEnsembleClassifier` for the paper's algorithm. The guide has more: "A flock in detail".

    Parameters
    ----------
    effort : {"fast", "balanced", "best"}, default="balanced"
        How much to search. "fast": one gated group on all allowed features, without a search.
        "best": "mixed" members, unless ``members``, a limit or a constraint says otherwise.
    members : {"linear", "mixed"}, list or None, default=None
        The kinds of members. None: "linear", or "mixed" with ``effort="best"``: also those of
        "boosting", "boosting_small", "extra_trees", "svm", "svm_soft", "neighbors" and
        "neighbors_few" that suit the table, weighted by the loss of held-out rows. A list has such
        names, estimators, or pairs (name, estimator).
    n_estimators : int, default=6
        The number of members of each gated group, before any is dropped.
    max_features : int, float or None, default=None
        The most features of a member: a number, or a share of all features above 0 and up to 1.
        This limit and the next two are kept exactly, and one that cannot be kept is refused.
    max_members, max_terms : int or None, default=None
        The most members, and the most terms, in all groups together. A *term* is one column in one
        member, all classes together, or in the gate of one group, and may be a single ramp.
    averaged : "auto" or bool, default="auto"
        Whether to average the flock of all rows with those of the folds (five at most), which has
        more members to read. "auto": if there are 200 rows and 150 terms or more, and no limits.
    alpha : float or None, default=None
        The L2 penalty, relative to the mean log-likelihood of a row, for standardized features.
        None: the folds choose among several from 0.0003 to 0.1 (less for more than 500 rows).
    cv : int, splitter or iterable, default=5
        The folds: a number (stratified, and by group if ``fit`` is given ``groups``), or any other
        form of scikit-learn's ``cv``. Tables of more than 5,000 rows need no number.
    feature_groups : sequence of column sequences, or mapping from name to columns, optional
        Columns that enter and leave a subset together, by name or number. There are no products.
    always_keep : sequence of columns, optional
        Columns that never leave a subset.
    monotone : mapping from columns to 1 or -1, optional
        Numbers with which the second class's probability never falls (1) or rises (-1).
    interactions : {"all", "none"} or list of pairs of columns, default="all"
        Which may meet: with "none" in nothing (one additive member), pairs in products only.
    categorical_features : "from_dtype", mapping, sequence of columns or None, default="from_dtype"
        The kinds of a data frame's columns. "from_dtype": by their types and values. A mapping
        from names to "number", "text", "date" or "season" (the parts of a date that recur in later
        years): only these. A sequence, slice or mask: these are categories. None: all are numbers.
    gaps : mapping from columns to values, optional
        Values that stand for gaps in all rows, such as ``{"age": [96, 98], "job": "unknown"}``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    costs : dict, data frame, array or None, default=None
        The cost of each error, by which classes are predicted: the fit ends with `decide` of it.
    scoring : str, callable or None, default=None
        The measure by which kinds of members are weighted, as in scikit-learn. None: the log-loss.
    time_limit : float or None, default=None
        About how many seconds a fit may take; the best flock by then depends on the machine.
    n_jobs : int or None, default=None
        Threads that predict blocks of rows, or fit other kinds of members. It changes no result.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and the starts. The same int gives the same result, to the bit.
    checkpoint : path or None, default=None
        A file from which the same fit continues after a kill, with the same result, to the bit.
    device : str, torch.device or None, default=None
        Where members are trained: None (the CPU, or the device of X), or "cuda" (extra ``gpu``).
    verbose : int, default=0
        With 1, prints progress. A fit interrupted at a prompt keeps its best flock, and warns.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_estimators_, n_terms_ : int
        The members in all groups, and the terms to read in all members and gates.
    member_coef_ : ndarray (n_estimators_, n_classes, n_columns); member_intercept_ without columns
        Coefficients of the columns of ``basis_``, in their units; zero outside a member's subset.
    support_, gate_support_ : ndarrays (n_estimators_, n_features) and (n_groups, n_features), bool
        The features of each member, and of the gate of each group.
    basis_, mean_, scale_, preparation_ : Basis, two ndarrays (n_features,), Preparation or None
        The columns that members see, their standardization, and the columns made of each feature.
    group_of_, group_weights_, n_iter_ : ndarrays (n_estimators_,), (n_groups,), (n_estimators_,)
        The group of each member, the weights of groups, and the iterations of the optimizer.
    cv_results_ : dict of ndarrays
        The candidates, their ``log_loss`` on held-out rows, and the ``weight`` they were given.
    out_of_fold_ : Bunch
        ``rows`` and ``predictions`` by members fitted without them, and with several kinds
        ``members`` and ``importance``. Not with ``effort="fast"``, nor for Dask collections.
    readable_ : Bunch or None
        The price of at most 40 terms: ``n_terms``, ``score`` and ``score_of_all``, out of fold.
    calibration_ : SetCalibration
        Rows held out or given to `calibrate`, on which sets and rejections are based.
    named_estimators_, weights_ : Bunch and ndarray of shape (n_estimators_,)
        With several kinds: the members and their weights; the linear ones are the flock "linear".
    importance_, feature_importances_ : Importance and ndarray of shape (n_features,)
        The loss of the flock without each feature, and its share in all that is lost.
    coefficient_sizes_ : ndarray of shape (n_features,)
        How far each feature moves the logits of single members and gates; sums to one.
    model_, estimators_, fuser_, corrections_ : GatedModel or MixedModel, list, Fuser, tuple
        All that it predicts by, as data; the members; their fuser; what `without` and so on did.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from covey import FlockClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> FlockClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    >>> small = FlockClassifier(effort="fast", max_members=3, max_features=4, random_state=0)
    >>> small.fit(X, y).summary()
    FlockClassifier: 2 members in 1 group, 84 terms, 6 of 13 features
    needs most: proline (42 %), flavanoids (27 %), alcohol (14 %)
    member, weight, features (which class gains with more of each), where it is asked:
    1   28 %  4 features: flavanoids and hue against 2, color_intensity for 2, ...;
              asked mostly where flavanoids and od280/od315_of_diluted_wines are low
    2   72 %  4 features: proline for 0, flavanoids against 2, color_intensity against 1, ...;
              asked slightly more where flavanoids and od280/od315_of_diluted_wines are high
    """

    members: Annotated[Any, Parameter(members=True)]

    _models, _finder = Classifiers, Searching
    without, with_effect = correcting.without, correcting.with_effect
    merge_categories, with_monotone = correcting.merge_categories, correcting.with_monotone

    def __init__(
        self,
        *,
        effort: Effort = "balanced",
        members: str | Sequence[Any] | None = None,
        n_estimators: int = 6,
        max_features: float | None = None,
        max_members: int | None = None,
        max_terms: int | None = None,
        averaged: bool | str = "auto",
        alpha: float | None = None,
        cv: Any = 5,
        feature_groups: Sequence[Any] | Mapping[str, Any] | None = None,
        always_keep: ColumnNames | None = None,
        monotone: Mapping[Any, int] | None = None,
        interactions: str | Sequence[tuple[Any, Any]] = "all",
        categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype",
        gaps: Mapping[Any, Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        costs: Costs | None = None,
        scoring: str | Callable[..., float] | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        checkpoint: str | PathLike[str] | None = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @accepts_dask
    def predict(self, X: Any, *, reject: float | None = None) -> np.ndarray:
        """Return the class with the highest fused probability, (n_samples,).

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        reject : float, optional
            The share of rows, from 0 to below 1, that the flock may leave to a person: the least
            sure ones. `rejection` says how right it is about the others, and finds the share for a
            wanted accuracy.

        Returns
        -------
        labels : ndarray, or with ``reject`` a masked array, of shape (n_samples,)
            Rows to ask a person about are masked: ``labels.mask`` says which,
            ``labels.filled(...)`` puts a label there. (Of text they are objects, so that it may
            be longer than all of the classes.)
        """
        if reject is None:
            return super().predict(X)
        threshold = self.rejection(reject).threshold
        probabilities = to_numpy(self.predict_proba(X))
        labels = self.classes_[decided(self, probabilities)]
        if labels.dtype.kind == "U":
            labels = labels.astype(object)  # any text can be put where a row is masked
        return np.ma.masked_array(labels, mask=probabilities.max(axis=1) < threshold)


class FlockRegressor(Flock, RegressorMixin, BaseEstimator):
    r"""A few groups of linear regressors on feature subsets of their own, found by a search.

    Take it first for numbers that change smoothly with the features, and for models that must be
    read. Trees learn steps and rules better: ``members="mixed"`` includes them.

    It is the regression sibling of `FlockClassifier`. Groups of linear members are fitted together
    with a gate, which weighs the members for each row: :math:`f(x) = \sum_k g_k(x) f_k(x)` with
    :math:`g` a softmax of a linear function, by L-BFGS on the mean loss and an L2 penalty.
    Candidates, among them single members (ridge regressions if the loss is squared), are paths of
    subsets, selected by the loss of held-out rows and by their terms, as for `FlockClassifier`;
    a member's features and coefficients are chosen together as there, by gradient.

    Parameters
    ----------
    effort, members, n_estimators, max_features, max_members, max_terms, averaged
        As in `FlockClassifier`. For ``loss="quantile"``, "mixed" has boosting beside the linear
        members; others predict means.
    loss : {"squared", "huber", "quantile", "poisson", "gamma", "tweedie"}, default="squared"
        The loss that is minimized. "huber" is squared for small errors and grows evenly beyond, so
        that outliers pull no more than others. "quantile" predicts a number above a share of the
        rows. "poisson" is for counts and rates, "gamma" for amounts above 0, "tweedie" for amounts
        that are often 0: half the mean deviance, of a prediction whose logarithm members and gates
        compute. (A rate is ``fit(X, y / exposure, sample_weight=exposure)``, which is exact.)
    epsilon : float, default=1.35
        Where "huber" turns, in units of the residuals' scale (as in scikit-learn's
        ``HuberRegressor``), which is estimated by the median absolute residual of a linear
        model.
    quantile : float, default=0.5
        The share of rows below the prediction, for ``loss="quantile"``. The corner of that
        loss is rounded within 0.05 of the residuals' scale, which is estimated as for "huber".
    power : float, default=1.5
        The power of the mean that the variance is, for ``loss="tweedie"``; above 1 and below 2.
    alpha : float or None, default=None
        The L2 penalty, against the mean loss of a row, for standardized features and y. (For n
        rows and one member this is ``Ridge(n * alpha)`` of standardized columns.) None: several,
        and the folds decide; with ``effort="fast"`` 0.1 (for n > 500 rows, times
        ``(500 / n) ** 0.8``) times the share of a constant's loss that a linear model leaves.
        Each member of a group is penalized separately: six equal ones are shrunk like one with
        six times the penalty.
    cv : int, splitter or iterable, default=5
        As in `FlockClassifier`, without strata.
    feature_groups, always_keep, monotone, interactions, categorical_features, gaps
        As in `FlockClassifier`.
    scoring, time_limit
        As in `FlockClassifier`; without ``scoring`` members are weighted by the ``loss``.
    n_jobs, random_state, checkpoint, device, verbose
        As in `FlockClassifier`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_estimators_, support_, gate_support_, n_terms_
        As in `FlockClassifier`, and so are ``mean_`` and ``scale_``.
    member_coef_, member_intercept_ : ndarrays
        As in `FlockClassifier`, with one output instead of the classes, in units of y; for
        "poisson", "gamma" and "tweedie" of its logarithm.
    y_center_, y_scale_ : float
        The center and scale of y: mean and standard deviation; for "huber" and "quantile" the
        median (or quantile) and the median absolute deviation, which outliers do not move. For
        "poisson", "gamma" and "tweedie" the logarithm of the mean, and 1.
    y_range_ : ndarray of shape (2,)
        The least and the greatest number that is predicted: see Notes.
    n_iter_, basis_, group_of_, group_weights_, fuser_, out_of_fold_, named_estimators_, weights_
        As in `FlockClassifier`.
    calibration_ : IntervalCalibration
        The basis of intervals: the ``error`` of each row held out or given to `calibrate`, which
        is the truth less the prediction, and its ``weight``.
    cv_results_ : dict of ndarrays
        The candidates: ``basis``, ``n_members``, ``gate``, ``alpha``, ``n_features``,
        ``n_terms``, ``n_rows``, their ``mean_loss`` on held-out rows (of standardized y), and the
        ``weight`` they were given.
    importance_, feature_importances_, coefficient_sizes_, model_, corrections_
        As in `FlockClassifier`, with the squared error as a share of the variance of y, and R^2.
    estimators_ : list of LinearRegressionMember
        The members, each a fitted regressor.

    Notes
    -----
    Intervals (`predict_interval`) are as sure as the sets of a `FlockClassifier`: exactly after
    `calibrate`, approximately without it. On four tables those of ``level=0.9`` held .897 to .915
    of the new numbers (``make bench-coverage``).

    Predictions stay bounded. A value far outside of the training rows counts as no farther out
    than once the length of their range, and predictions stay in the range of the training rows' y
    (``y_range_``), with a margin on either side: 5 % of its length, or 50 / n of it for fewer than
    1,000 rows, at most all of it. If no y is negative, no prediction and no bound of an interval
    is. (Tighter limits cost much on small linear tables: ``benchmarks/regression/limits.md``.)
    Coefficients, `collapse` and `to_sklearn` ignore ``y_range_``.

    Gaps and categories are as in `FlockClassifier`; more than 20 categories are encoded by the
    mean of y in each.

    Constant columns change nothing, and other units of the columns or of y change the rounding.
    The order of the rows and of the columns changes predictions, and so does a row that is given
    twice in place of a weight of 2: on one table by .04 to .09 standard deviations of y on
    average, another ``random_state`` by .06 (``python benchmarks/laws.py``).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import FlockRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    >>> bool(flock.score(X, y) > 0.5)
    True
    >>> flock.explain_fusion(X).shape == (442, flock.n_estimators_)
    True
    >>> small = FlockRegressor(effort="fast", max_members=2, max_terms=12, random_state=0)
    >>> small.fit(X, y).summary()
    FlockRegressor: 2 members in 1 group, 12 terms, 8 of 10 features
    needs most: bmi (38 %), s5 (29 %), bp (15 %)
    member, weight, features (what y does with more of each), where it is asked:
    1   48 %  3 features: falls with sex, bmi and age; asked slightly more where s5 and bmi are low
    2   52 %  5 features: rises with bmi, falls with s1, rises with age, ...;
              asked slightly more where s5 and bmi are high
    """

    members: Annotated[Any, Parameter(members=True)]

    _models, _finder = Regressors, Searching
    without, with_effect = correcting.without, correcting.with_effect
    merge_categories, with_monotone = correcting.merge_categories, correcting.with_monotone

    def __init__(
        self,
        *,
        effort: Effort = "balanced",
        members: str | Sequence[Any] | None = None,
        n_estimators: int = 6,
        max_features: float | None = None,
        max_members: int | None = None,
        max_terms: int | None = None,
        averaged: bool | str = "auto",
        loss: str = "squared",
        epsilon: float = 1.35,
        quantile: float = 0.5,
        power: float = 1.5,
        alpha: float | None = None,
        cv: Any = 5,
        feature_groups: Sequence[Any] | Mapping[str, Any] | None = None,
        always_keep: ColumnNames | None = None,
        monotone: Mapping[Any, int] | None = None,
        interactions: str | Sequence[tuple[Any, Any]] = "all",
        categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype",
        gaps: Mapping[Any, Any] | None = None,
        scoring: str | Callable[..., float] | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        checkpoint: str | PathLike[str] | None = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
