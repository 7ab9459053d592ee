"""Flocks found by a search: a few groups of linear members, each group with a gate of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from covey._core.search.plan import Effort
from covey._decisions import decided
from covey._devices import to_numpy
from covey._state import Parameter
from covey._validation import keep_parameters
from covey.members._base_flock import Flock
from covey.members._ensemble import accepts_dask
from covey.members._roster import Classifiers, Regressors
from covey.members._searching import Searching
from covey.tables._columns import ColumnNames


class FlockClassifier(Flock, ClassifierMixin, BaseEstimator):
    """A few groups of linear members on feature subsets of their own, found by a search.

    The idea is that of Gupta, Audhkhasi and Narayanan, "Training ensemble of diverse classifiers
    on feature subsets": an ensemble of linear members, each with boundaries and a feature subset
    of its own. The method is another one. Equal weights would keep an ensemble of linear members
    linear, so members are fitted together with a gate, a learned function that gives each member a
    weight for each sample. Members begin with small random coefficients, and keep the features
    that turn out strong: nothing is flipped by a coin, as Algorithm 1 of the paper does.
    Candidates differ in size, penalty, pool and in what members and gate see: the features, ramps
    of them (which bend), products of two.

    Each candidate is a path of subsets. Its members and its gate are fitted on all features;
    then the weakest pairs of member and feature leave, a feature with all of its ramps and
    products, the gate drops its own weakest features, and all is fitted again from there, until
    2 % of the features are left. So members have subsets of their own, some larger, some
    smaller. A member that is left without features is dropped. Every point of every path is
    fitted on the folds of ``cv``, which are drawn twice below 350 rows and three times below 200.
    Greedy selection by the log-loss of the held-out rows gives points their weights. Among
    selections whose loss is within one standard error of the best one (that of the difference of
    the two), that of the fewest terms is taken, and what has a weight is fitted again on all
    rows. `summary` shows the result on one screen; `explain`, `estimators_` and `cv_results_` tell
    more.

    Of a table of more than 5,000 rows that have a weight, some are enough to compare candidates:
    all of them are fitted on 5,000 rows and compared on as many others, then the best five, with
    all points of their paths, on half of the rows, at most 20,000, and others. What is selected
    is continued on all rows. Small classes have at least 100 rows in these samples, or half of
    theirs, and each counts for less. In a table of more than 128 features groups see the 64 that
    matter most to a member alone, which is found out on each fold by itself.

    A *term* is what a person has to read: one column (a feature, a ramp or a product) in one
    member, all classes together, or one column in the gate of one group. Intercepts are not
    counted.

    Take it first for any table of rows and columns: it needs no tuning, its probabilities are
    good, and it can be read. Take boosting instead where rules over several categories decide, or
    where a table is so long that only speed counts; take `SubsetEnsembleClassifier` where
    Algorithm 1 itself is of interest.

    Parameters
    ----------
    effort : {"fast", "balanced", "best"}, default="balanced"
        How much to search. "fast": one gated group on all features that the limits allow, no
        search. "best": ``members="mixed"``, unless ``members`` or a limit below says otherwise.
        With ``members="linear"`` it is more and larger candidates, folds drawn at least twice,
        every selected candidate trained twice (of more than 5,000 rows: once each), and terms
        are not counted.
    members : {"linear", "mixed"}, list or None, default=None
        Which kinds of members there are. None: "linear", or "mixed" with ``effort="best"``.
        "mixed": the linear groups and these of scikit-learn's, as far as they suit the table:
        histogram gradient boosting ("boosting", and up to 20,000 rows and 1,000 features
        "boosting_small", of smaller trees), extra trees ("extra_trees", up to 200,000 rows),
        support vector machines with an RBF kernel and calibrated probabilities ("svm" with C = 10
        and "svm_soft" with C = 1, up to 3,000 rows), and the 25 or 10 nearest neighbors
        ("neighbors" and "neighbors_few", up to 50,000 rows). Boosting takes no sparse X, neighbors
        take no weights. A list mixes these names, estimators and (name, estimator) pairs. All are
        compared on the same folds, a greedy selection by the loss of held-out rows gives each a
        weight, and what has one is fitted on all rows. (A ``FrozenEstimator`` is taken as it is;
        it must have been fitted to other rows, or it looks better than it is.) The limits below
        are those of the linear members.
    n_estimators : int, default=6
        The number of members of each gated group, before any is dropped. ``max_members`` bounds
        the members of all groups together.
    max_features : int, float or None, default=None
        The most features that a member may have: a number, or a share of all features above 0
        and up to 1 (rounded down, but at least one). Those of ``always_keep`` count. None: no
        limit. This limit and the next two are kept exactly, and one that nothing can keep to is
        refused.
    max_members : int or None, default=None
        The most members that the flock may have, in all groups together.
    max_terms : int or None, default=None
        The most terms that the flock may have, in all members and gates together. Members alone
        then keep the ramps and products that matter most, not all of those of a feature, unless
        ``max_features``, ``feature_groups`` or ``always_keep`` is given, too.
    averaged : "auto" or bool, default="auto"
        Whether the flock is the average of what is selected as it was fitted to all rows and to
        each fold (five at most), with up to six times as many members to read. Predicted numbers
        are nearer to the truth as a rule, probabilities are not. "auto": of numbers, where there
        are 200 rows or more, and more than 150 terms, which nobody reads, and none of the three
        limits is given. Not with
        ``effort="fast"``, for more than 5,000 rows or for Dask collections, of which no flocks of
        folds are kept.
    alpha : float or None, default=None
        The L2 penalty, against the mean log-likelihood of a row, for standardized features.
        None: several, from 0.0003 to 0.1 (less for more than 500 rows), and the folds decide.
    cv : int, splitter or iterable, default=5
        The folds: a number (stratified, and by group where ``fit`` is given ``groups``), or
        anything that scikit-learn takes for ``cv``. Of more than 5,000 rows folds that are
        given, or that keep groups together, are cut to the sampled rows; a number alone is not
        needed there, for some rows are fitted on and others held out, once.
    feature_groups : sequence of column sequences, or mapping from name to columns, optional
        Columns that enter and leave a subset together, by name or number: the one-hot columns
        of one variable. Columns in no group do so alone. With groups there are no products.
    always_keep : sequence of columns, optional
        Columns that never leave a subset.
    categorical_features : "from_dtype", mapping, sequence of columns or None, \
default="from_dtype"
        What the columns of a data frame hold. "from_dtype": it is looked up. A mapping from names
        to "number", "text", "date" or "season" (of a date what comes again in later years): these
        columns only. A sequence of names or numbers (-1 is the last), a slice or a mask: these are
        categories, and all others numbers. None: all are numbers. See Notes.
    gaps : mapping from columns to values, optional
        Values that stand for gaps, such as ``{"age": [96, 98], "job": "unknown"}``: in these
        columns they are taken as NaN or None, in all rows that the flock is given.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    scoring : str, callable or None, default=None
        What kinds of members are weighted by, as scikit-learn's ``scoring``. None: the log-loss.
    time_limit : float or None, default=None
        About how many seconds a fit may take. No candidate is begun when most of them are over, a
        kind that is being compared when all are over is left out, and so is one that would take
        too long on all rows, by what it took on the folds; then the best flock found so far is
        fitted on all rows. How many candidates there were depends on the machine.
    n_jobs : int or None, default=None
        Threads that predict blocks of rows, or that fit members of other kinds on the folds
        (None: all cores). It never changes a result.
    random_state : int, RandomState instance or None, default=None
        The folds, the starts and the flips. The same int gives the same result, to the bit.
    checkpoint : path or None, default=None
        A file to which a fit writes what it has done. If the process is killed, the same fit with
        the same file continues and ends with the same result, to the bit; at most a tenth of the
        steps is done again. The file stays when the fit is over, and is refused for other data
        or parameters.
    device : str, torch.device or None, default=None
        Where members are trained. None: on the CPU by NumPy, or on the device of X if it is a
        tensor of PyTorch. "cuda" or "cuda:1": on a GPU (extra ``gpu``). In double precision the
        members are the same; X in single precision is computed in single precision there. Sparse
        X is for the CPU. Fitted attributes are NumPy's; the methods that predict return tensors
        for tensors under scikit-learn's ``array_api_dispatch``.
    verbose : int, default=0
        With 1, prints what will be tried, a line for each family of candidates, and where one
        takes long its iterations. scikit-learn's progress bar works too, where the installed
        version has it:
        ``set_callbacks(sklearn.callback.ProgressBar())``. Who interrupts a fit at a prompt or in a
        notebook gets the best flock so far, with a warning.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    n_estimators_ : int
        How many members there are, in all groups.
    member_coef_ : ndarray of shape (n_estimators_, n_classes, n_columns)
        Coefficients of the columns of ``basis_``, in their units; zero outside a member's
        subset. The first ``n_features_in_`` columns are the features themselves (of a table with
        gaps or categories: the columns that ``preparation_`` makes of them).
    member_intercept_ : ndarray of shape (n_estimators_, n_classes)
    support_ : ndarray of shape (n_estimators_, n_features), bool
        The subset of each member. A constant column is in none.
    gate_support_ : ndarray of shape (n_groups, n_features), bool
        The features that the gate of each group sees; none for a group of one member.
    n_terms_ : int
        How many terms there are to read, in all members and gates.
    mean_, scale_ : ndarrays of shape (n_features,)
        What the features (or the columns that are made of them) were standardized by.
    preparation_ : Preparation or None
        What became of gaps and categories: ``column_of`` is the feature of each column that
        members see, ``names(features)`` what they are called. None where there were none.
    n_iter_ : ndarray of shape (n_estimators_,)
        Iterations of the optimizer for the group of each member.
    basis_ : Basis
        The columns that members see.
    group_of_ : ndarray of shape (n_estimators_,)
        The group of each member.
    group_weights_ : ndarray of shape (n_groups,)
        The weight of each group; they sum to one.
    cv_results_ : dict of ndarrays
        The candidates, which are points of paths: ``basis``, ``n_members``, ``pool``, ``gate``,
        ``alpha``, ``n_features`` (how many a member has on average; where it has single ramps
        and products, how many of these), ``n_terms`` (how many it can have at most), ``n_rows``
        (how many there were to fit on: of long tables a candidate that may win is listed again
        with more of them), their ``log_loss`` on held-out
        rows, and the ``weight`` they were given.
    out_of_fold_ : Bunch
        What is predicted of rows by the same members as they were fitted without them:
        ``rows`` (their numbers), ``predictions`` (n_rows, n_classes), and of several kinds
        ``members`` (n_rows, n_estimators_, n_classes) and ``importance`` (n_rows,
        n_estimators_). Of long tables only the rows on which candidates were compared. Not
        with ``effort="fast"``, nor for Dask collections.
    readable_ : Bunch or None
        The price of at most 40 terms (``max_terms=40``), by the rows of ``out_of_fold_``: about
        how many ``n_terms`` the best such flock of the same search has, its ``score`` (accuracy,
        the area under the curve where a class has less than 15 % of the rows, or R2), and that
        of the flock itself, ``score_of_all``. None where the flock has no more terms, or fewer
        are not known to do. Not in files.
    calibration_ : SetCalibration
        What sets and rejections go by, of rows held out (or given to `calibrate`, as ``source``
        says), in an order that tells nothing of the rows: ``label``, the number of the true
        class, ``probabilities`` (n_rows, n_classes) and ``weight``. Not with ``effort="fast"``,
        nor for Dask collections.
    named_estimators_, weights_ : Bunch and ndarray of shape (n_estimators_,)
        Of several kinds: the members that have a weight, and what it is. The linear members are
        one of them, "linear", a flock whose ``model_`` is theirs; the flock itself then has
        no ``member_coef_``, ``member_intercept_``, ``support_``, ``gate_support_``, ``n_terms_``,
        ``mean_``, ``scale_``, ``basis_``, ``group_of_``, ``group_weights_`` and ``n_iter_``,
        and its ``cv_results_`` have ``member``, ``log_loss``, ``weight``,
        ``seconds`` and, with ``scoring``, ``score``.
    importance_ : covey.inspection._importance.Importance
        What the flock loses where it does not know a feature: the rise of the log-loss, with its
        95 % interval, the fall of accuracy, and which features stand in for each other. Measured
        on rows of ``out_of_fold_`` in the fit; without these on some training rows, when it is
        first asked for. ``importance_.rows`` says on which.
    feature_importances_ : ndarray of shape (n_features,)
        The part of each feature in all that is lost: ``importance_.share``, which sums to one.
    coefficient_sizes_ : ndarray of shape (n_features,)
        How far each feature moves the logits of single members and gates: the mean size of
        coefficients of scaled columns over classes and members (by their mean importance); sums
        to one. Coefficients that cancel add up here. Of several kinds: what members say
        themselves, or how far their predictions move on some rows when a feature takes its
        median, by the members' weights.
    model_ : GatedModel or MixedModel
        All that it predicts by, as data; most attributes above are parts of it.
    estimators_ : list of LinearMember
        The members, each a fitted classifier.
    fuser_ : Fuser

    Notes
    -----
    *How sure sets are* (`predict_set`, `rejection`). If `calibrate` is given rows that were not
    fitted on, and a new row can be exchanged with these, its class is in its set with a chance of
    ``level`` at least: over new rows and calibration rows together, of each class by itself (with
    ``by_class=False`` of all classes together), not for every kind of row. This holds whatever
    the flock is. Without `calibrate` the scores are those of training rows, each predicted by
    members that were fitted without it; but the search chose the members by the same rows, and
    what predicts is fitted again on all of them, so that no theorem applies. On five tables with
    a class of 3 to 6 % of the rows, sets of ``level=0.9`` held .88 of the new rows of this class,
    .83 on the table where they did so least often, and a threshold that was to find .80 of them
    found .73. By rows that whole fits held out, as ``covey fit`` does it, this was .92, .90 and
    .78; for all rows together sets held .26. On eight tables of 75 to 250 training rows the rows
    that are left with ``reject=0.1`` were right in .771, where `rejection` had said .779 (``make
    bench-coverage``). Weights count by the number of equal ones that
    say as much.

    Of a sparse X members see the columns alone, for neither ramps nor products of centered columns
    are sparse. Where X has at most 100 columns, a warning says so: ``X.toarray()`` is another
    flock, and often a better one.

    A gap (NaN, None) is filled with the median of its column, and where training rows have some, a
    further column marks them. Up to 20 categories are a column each; of more, a column has the
    log-odds of the class (each class, if there are more than two) in a row's category, drawn to
    those of all rows where the category is small. Those of a training row are made of other rows,
    by folds that keep ``groups`` together, so that no row knows its own label. All columns of a
    feature enter and leave a subset together, and count as one. A category that no training row
    has, and a gap where none has one, is taken as an average row is. Medians and lists of
    categories are those of all training rows, in every fold: on three tables that changed
    out-of-fold log-loss by .2 % at most, upwards (``python -m benchmarks.categories.folds``). In
    the members of other kinds, and in models that a user gives, these columns stand for the
    features. Dask collections must be without gaps and categories.

    Other columns of a data frame become several numbers, too: a date its parts and the days since
    1970, and text that hardly repeats itself, or is prose, the leading directions of its n-grams.
    Numbers may be written as "$41,000", "86.5 %" or "1.200,50 €". Ids are left out, and names of
    rows that do not help a linear model on rows held out. So does `covey fit`: both make the same
    model of the same rows. (Text is read as numbers or dates where pyarrow is installed.)

    A value of a new row that is far outside of what was seen counts as no farther out than once
    the length of the range of the training rows.

    New names of the labels and columns that are constant change nothing. Other units of the
    columns change the rounding, of which a search once made another selection (of three tables,
    by .02 at most). The order of the rows does more, for it decides which rows are folds;
    and so do the order of the columns and of the classes, which have random starts. A row that
    is given twice may be fitted on and held out, one that has a weight of 2 may not. On three
    tables these change a probability by .001 to .01 on average, as another ``random_state``
    does, and by up to .37 for a single row (``python benchmarks/laws.py``). With
    ``effort="fast"``, which has no folds, weights are copies and the order of rows is nothing,
    but for more than 20 categories, whose means of the target are made by folds of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from covey import FlockClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(random_state=0).fit(X, y)
    >>> flock.score(X, y)
    1.0
    >>> reasons = flock.explain(X.iloc[:1])[0]
    >>> reasons["prediction"], len(reasons["members"]) > 0, "because" in reasons
    (0, True, True)

    A flock that is read at a glance:

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
        categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype",
        gaps: Mapping[Any, Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
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
        """The class with the highest fused probability, (n_samples,).

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape \
(n_samples, n_features)
        reject : float, optional
            The share of rows, from 0 to below 1, that the flock may leave to a person: those of
            which it is the least sure. `rejection` says how right it is about the others, and
            finds the share for an accuracy that is wanted.

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

    The regression sibling of `FlockClassifier`. The mean of linear members is linear again, so
    groups of members are fitted together with a gate, which gives each member a weight for each
    row: :math:`f(x) = \sum_k g_k(x) f_k(x)` with :math:`g` a softmax of a linear function, by
    L-BFGS on the mean loss and an L2 penalty. Candidates differ in size, penalty and in what
    members and gate see: the features, ramps of them (which bend), products of two (of values
    clipped to the range of the training rows, so that a row far outside is not predicted beyond
    all sense); single members, which are ridge regressions if the loss is squared, are among them.
    Each candidate is a path of subsets, and points of the paths are selected by the loss of
    held-out rows and by how many terms they have, as for `FlockClassifier`.

    Take it first for numbers to predict that change smoothly with the features, and where the
    model shall be read. Steps and rules are better learnt by trees: ``members="mixed"`` has them,
    too.

    Parameters
    ----------
    effort, members, n_estimators, max_features, max_members, max_terms, averaged
        As for `FlockClassifier`. For ``loss="quantile"``, "mixed" has boosting beside the linear
        members; others predict means.
    loss : {"squared", "huber", "quantile"}, default="squared"
        What is minimized. "huber" is squared for small errors and grows evenly beyond, so that
        outliers pull no more than others. "quantile" leaves a share of the rows below what is
        predicted.
    epsilon : float, default=1.35
        Where "huber" turns, in units of the residuals' scale (as in scikit-learn's
        ``HuberRegressor``), which is estimated by the median absolute residual of a linear
        model.
    quantile : float, default=0.5
        The share of rows below the prediction, for ``loss="quantile"``. The corner of that
        loss is rounded within 0.05 of the residuals' scale, which is estimated as for "huber".
    alpha : float or None, default=None
        The L2 penalty, against the mean loss of a row, for standardized features and y. (For n
        rows and one member this is ``Ridge(n * alpha)`` of standardized columns.) None: several,
        and the folds decide; with ``effort="fast"`` 0.1 (for n > 500 rows, times
        ``(500 / n) ** 0.8``) times the share of a constant's loss that a linear model leaves.
        Each member of a group is penalized by itself: six equal ones are shrunk like one with
        six times the penalty.
    cv : int, splitter or iterable, default=5
        As for `FlockClassifier`, without strata.
    feature_groups, always_keep, categorical_features, gaps, scoring, time_limit
        As for `FlockClassifier`; without ``scoring`` members are weighted by the ``loss``.
    n_jobs, random_state, checkpoint, device, verbose
        As for `FlockClassifier`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_estimators_, support_, gate_support_, n_terms_
        As of `FlockClassifier`, and so are ``mean_`` and ``scale_``.
    member_coef_, member_intercept_ : ndarrays
        As of `FlockClassifier`, with one output instead of the classes, in units of y.
    y_center_, y_scale_ : float
        What y was standardized by: mean and standard deviation; for "huber" and "quantile" the
        median (or quantile) and the median absolute deviation, which outliers do not move.
    y_range_ : ndarray of shape (2,)
        The least and the greatest number that is predicted: see Notes.
    n_iter_, basis_, group_of_, group_weights_, fuser_, out_of_fold_, named_estimators_, weights_
        As of `FlockClassifier`.
    calibration_ : IntervalCalibration
        What intervals go by, of rows held out or given to `calibrate`: the ``error`` of each,
        what is true less what is predicted, and its ``weight``.
    cv_results_ : dict of ndarrays
        The candidates: ``basis``, ``n_members``, ``gate``, ``alpha``, ``n_features``,
        ``n_terms``, ``n_rows``, their ``mean_loss`` on held-out rows (of standardized y), and the
        ``weight`` they were given.
    importance_, feature_importances_, coefficient_sizes_, model_
        As of `FlockClassifier`, with the squared error as a share of the variance of y, and R^2.
    estimators_ : list of LinearRegressionMember
        The members, each a fitted regressor.

    Notes
    -----
    Intervals (`predict_interval`) are as sure as the sets of a `FlockClassifier`: exactly so after
    `calibrate`, about so without it. On four tables those of ``level=0.9`` held .897 to .915 of
    the new numbers (``make bench-coverage``).

    Predictions do not run away. A value far outside of what was seen counts as no farther out than
    once the length of the training range, and what is predicted stays in the range of the training
    rows' y (``y_range_``), with a margin on either side: 5 % of its length, or 50 / n of it for
    fewer than 1,000 rows, at most all of it. Where no y is negative, no prediction and no bound of
    an interval is. (Tighter limits cost much on tables of few rows that are linear:
    ``benchmarks/regression/limits.md``.) Coefficients, `collapse` and `to_sklearn` know of no
    ``y_range_``.

    Gaps and categories are as in `FlockClassifier`; more than 20 categories are encoded by the
    mean of y in each.

    Columns that are constant change nothing, other units of the columns or of y the rounding. The
    order of the rows and of the columns does, and so does a row that is given
    twice in place of a weight of 2, as in `FlockClassifier`: on one table by .04 to .09 standard
    deviations of y on average, another ``random_state`` by .06 (``python benchmarks/laws.py``).

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
        alpha: float | None = None,
        cv: Any = 5,
        feature_groups: Sequence[Any] | Mapping[str, Any] | None = None,
        always_keep: ColumnNames | None = None,
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
