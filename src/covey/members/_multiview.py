"""Members that use different views of a sample: its face, its voice, its fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from covey._blocks import as_table, take_columns, take_rows
from covey._core.fusion.views import order_of_queries
from covey._core.random import Purpose, UniformRows
from covey._folds import check_cv_parameter, check_groups, make_folds
from covey._validation import check_choice, check_number, check_sample_weight, fitted_alone
from covey.fusers import Fuser, Mean, Predictions
from covey.fusers._fixed import make_fuser
from covey.fusers._outputs import common_kind
from covey.fusers._predictions import concatenated
from covey.members import _views as views
from covey.members._ensemble import Ensemble

METHODS = ("co_training", "co_em", "supervised")
STRATEGIES = ("conservative", "aggressive", "naive")

# The points of a curve of accuracy and cost.
_CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)


@dataclass(eq=False, repr=False)
class MultiviewClassifier(Ensemble, ClassifierMixin, BaseEstimator):
    """Members on different views of a sample, fused into one decision.

    A view is a set of columns of one nature: what a camera, a keyboard and a log file record of
    a user. Each view has members of its own, which see nothing else. Where a row lacks a view
    (all its columns are NaN), its members do not count: the others decide, and
    ``explain_fusion`` gives the absent ones 0 (in a row without any view all are alike).

    Views can teach each other. Rows whose label is ``unlabeled_label`` are labelled by views
    that are sure of them (co-training [1]_), or softly by all views (co-EM [2]_).
    Both stand on views that are each good enough to decide alone, and that err on different
    rows; if a view is poor, it teaches the others its errors, and ``method="supervised"`` is
    better. Compare them on labelled rows that are held out.

    Take it where columns come from different sources, some of which are absent at times, or where
    few rows have labels. If all columns are always there and of one nature, `FlockClassifier` sees
    them together and is more accurate.

    Parameters
    ----------
    views : dict, list or int, default=2
        A dict from names to columns: by names, numbers, a slice of either, a boolean mask, or
        a function of X such as scikit-learn's ``make_column_selector``. A list of such columns
        makes "view 1", "view 2", ...; a number deals all columns out to so many views, by chance:
        every view gets some of everything and can decide alone, as teaching each other needs.
        Columns of no view are not used.
    estimator : classifier, list, dict or None, default=None
        The members of every view: one, or a list of several; or a dict from views to these.
        None is a logistic regression of imputed (the mean) and standardised columns (sparse
        ones are divided by their largest entry): it is fast, and its probabilities are fit to
        be fused and to teach by.
    fuser : str or Fuser, default="mean"
        How to fuse: a name or an object of `covey.fusers`. With "k_of_n", k votes are needed
        however many members are available. For fusers that use X (gates and dynamic
        selection) a missing value is the mean of its column.
    unlabeled_label : label or None, default=None
        What ``y`` holds where a label is not known, such as -1. NaN (or pandas' NA) stands for
        everything that is missing: None, NaN and NA. None: every entry of ``y`` is a label.
    method : {"co_training", "co_em", "supervised"} or None, default="co_training"
        How unlabelled rows are used; "supervised" or None leaves them out. Without such rows
        all are the same.
    agree : bool, default=True
        Whether views teach each other only rows that all of them put in the same class.
        Where views disagree, one of them may see noise, or something else [3]_. False leaves
        this filter out, as [1]_ and [2]_ do; what else differs from them is in the notes.
    n_per_round : int or float, default=0.1
        Co-training: how many rows each view labels in a round, at most; a float is a share of
        all unlabelled rows. They are shared among classes by their frequency in the labelled
        rows, at least one each.
    pool_size : int or None, default=None
        Co-training: how many unlabelled rows are considered in a round. None is all.
    unlabeled_weight : float, default=0.3
        What a row without a label weighs against a labelled one, once it is learnt from.
    max_iter : int, default=30
        The most rounds.
    tol : float, default=0.001
        Co-EM ends when no probability moves by more in a round.
    view_cost : mapping from views to numbers, list or None, default=None
        What it costs to have each view of a row: a test, a sensor, a question. Then views are
        asked from the cheapest on, and no more of them for a row once the fused probability of
        its class is ``confidence`` or more: dearer columns need not be known for it, and nothing
        that they hold counts. ``views_asked`` says which views a row needed, `cost_curve` what
        accuracy costs. None: all views that a row has decide.
    confidence : float, default=0.95
        How sure is sure enough, where views cost.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions of labelled rows are made for a fuser that learns. The
        views teach each other anew in each fold. A fixed rule needs none.
    n_jobs : int or None, default=None
        Processes that fit the members.
    random_state : int, RandomState instance or None, default=None
        Seeds the random partition, the pool, the folds, and members that have no seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    views_ : dict
        The positions of each view's columns.
    estimators_ : list of classifiers
        The fitted members, view by view.
    named_estimators_ : dict
        The same by name: the view's, with a number where it has several.
    member_views_ : list of str
        The view of each member.
    support_ : ndarray of shape (n_members, n_features), bool
        The columns that each member uses.
    fuser_, kind_
        As of `FusionClassifier`.
    n_iter_ : int
        Rounds in which views were fitted and taught each other; 1 if all rows are labelled.
    transduction_ : ndarray of shape (n_samples,)
        ``y``, with what the fused members predict of unlabelled rows (the mean rule in place of
        the oracle).
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Members are fitted on the rows that have their view. A fuser that learns does so from
    out-of-fold predictions, in which they are not available for the others. Where a row has no
    view at all, all classes are equally probable and all members equally important.

    Even with ``agree=False`` neither method is the papers' own to the letter:

    - *Co-training*: each view has a set of labelled rows of its own and hands those that it is
      sure of to the others that have the row and no label for it, never to itself; where several
      hand one over in a round, the surest is believed, and a label once given stays. (In [1]_
      all views learn from one set.) How many rows of each class follows ``n_per_round`` and the
      frequencies of the classes; only rows count that seem to be of the class more than of any
      other, and they weigh ``unlabeled_weight``. The pool, all rows by default, is filled in a
      random order.
    - *Co-EM* has an unlabelled row once for each class, weighing as much as the class is
      probable by the mean of the other views; shares below 0.001 are left out. The views take
      turns from the second to the last and the first, as in the paper.
    - Any classifier teaches, and where a view has several members, their mean. A pipeline's
      steps all get the weights, if they take any. Labelled rows keep their labels.

    ``benchmarks/multiview/run.py`` measures what teaching gains over the views fused, with one
    label in ten: co-training gains where each view is good, and loses where one is poor;
    without ``agree`` and at full weight it loses on every set, and so does co-EM.

    References
    ----------
    .. [1] Blum and Mitchell, "Combining labeled and unlabeled data with co-training",
       COLT 1998.
    .. [2] Nigam and Ghani, "Analyzing the effectiveness and applicability of co-training",
       CIKM 2000.
    .. [3] Christoudias, Urtasun and Darrell, "Multi-view learning in the presence of view
       disagreement", UAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from covey import MultiviewClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> fused = MultiviewClassifier(views).fit(X, y)
    >>> X[0, 10:20] = np.nan
    >>> fused.explain_fusion(X[:2], as_frame=True).round(2)
       mean  error  worst
    0  0.50   0.00   0.50
    1  0.33   0.33   0.33

    A tenth of the labels, and views that teach each other:

    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> taught = MultiviewClassifier(views, unlabeled_label=-1, max_iter=2).fit(X, some)
    >>> taught.n_iter_, taught.classes_
    (2, array([0, 1]))
    """

    views: Mapping[str, Any] | list | int = 2
    estimator: Any = None
    fuser: str | Fuser = "mean"
    _: KW_ONLY
    unlabeled_label: Any = None
    method: str | None = "co_training"
    agree: bool = True
    n_per_round: float = 0.1
    pool_size: int | None = None
    unlabeled_weight: float = 0.3
    max_iter: int = 30
    tol: float = 1e-3
    view_cost: Any = None
    confidence: float = 0.95
    cv: Any = 5
    n_jobs: int | None = None
    random_state: Any = None

    # -- fit ---------------------------------------------------------------------------------

    @fitted_alone
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the members of each view, and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            NaN in all columns of a view means that the row lacks it.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts, with a label or without.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together: no fold separates them.
        """
        self._check_parameters()
        fuser = make_fuser(self.fuser)
        X = self._check_table(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        labelled = views.labelled_rows(y, self.unlabeled_label)
        weight = check_sample_weight(sample_weight, len(y))
        self._keep_seen(X, weight)
        self._keep_rows(X, y, weight)
        self.classes_, codes = views.encode_known(y, labelled, weight, type(self).__name__)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = getattr(self, "feature_names_in_", None)
        columns = self.views_ = views.find_views(self.views, X, names, seed)
        if self.estimator is None:
            views.check_default_range(X, names, columns)
        sparse = hasattr(X, "tocsr")
        unfitted = views.members_by_view(self.estimator, columns, sparse=sparse, seed=seed)
        names, self.member_views_ = views.member_names(unfitted)
        self.kind_ = common_kind([one for view in unfitted.values() for one in view], names, fuser)
        method = "supervised" if labelled.all() or self.method is None else self.method
        views.check_members(unfitted, method, sample_weight is not None, self.unlabeled_weight)
        if self.view_cost is not None:
            views.checked_costs(self.view_cost, list(columns))
        training = views.ViewTrainingSet(
            self,
            method,
            X=[take_columns(X, own) for own in columns.values()],
            codes=codes,
            present=views.rows_with_views(X, columns),
            weight=weight,
            classes=self.classes_,
            members=unfitted,
            turn=UniformRows(seed, Purpose.START, 1, 0, 1).read(0, len(codes))[:, 0],
        )
        known = labelled & (weight > 0)
        training.check_classes(known)
        used = np.flatnonzero(known if method == "supervised" else weight > 0)
        fitted, self.n_iter_ = training.fit(used)
        self.estimators_ = [member for view in fitted for member in view]
        self.named_estimators_ = dict(zip(names, self.estimators_, strict=True))
        self.support_ = np.zeros((len(names), X.shape[1]), dtype=bool)
        for row, view in zip(self.support_, self.member_views_, strict=True):
            row[columns[view]] = True
        self._column_means = views.column_means(X, weight) if fuser.needs_X else None
        if fuser.learns:
            rows = np.flatnonzero(known & training.present.any(axis=1))
            folds = self._folds(training, X, y, rows, groups, seed)
            rows, P = self._out_of_fold(training, folds, used)
        else:
            rows = np.flatnonzero(known)[:1]
            P = self._all_predictions(take_rows(X, rows))
        seen = self._features(take_rows(X, rows), fuser)
        self.fuser_ = fuser.fit(P, self.classes_[codes[rows]], seen, weight[rows])
        self.transduction_ = np.array(y)
        if not labelled.all():
            rows = take_rows(X, np.flatnonzero(~labelled))
            P = self._predictions(rows)
            fused = Mean().fuse(P) if fuser.needs_y else self._fuse_rows(P, rows)
            self.transduction_[~labelled] = self.classes_[fused.argmax(axis=1)]
        return self

    def _check_parameters(self) -> None:
        if self.method is not None:
            check_choice(self.method, "method", METHODS)
        if isinstance(self.n_per_round, float | np.floating):
            check_number(self.n_per_round, "n_per_round", low=0, high=1, closed="right")
        else:
            check_number(self.n_per_round, "n_per_round", low=1, whole=True)
        if self.pool_size is not None:
            check_number(self.pool_size, "pool_size", low=1, whole=True)
        check_number(self.unlabeled_weight, "unlabeled_weight", low=0, closed="neither")
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.tol, "tol", low=0)
        check_number(self.confidence, "confidence", low=0, high=1)
        check_cv_parameter(self.cv)

    def _check_table(self, X: Any, reset: bool) -> Any:
        """Frames as they are, for members that read them; all else as numbers."""
        if not hasattr(X, "columns"):
            how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
            return validate_data(self, X, reset=reset, **how)
        X = as_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _out_of_fold(self, training: Any, folds: list, used: np.ndarray) -> tuple:
        """Tell which labelled rows are held out, and what members taught without them predict."""
        unlabelled = used[training.codes[used] < 0]
        blocks = []
        for train, test in folds:
            rows = np.sort(np.concatenate([train, unlabelled]))
            fitted, _ = training.without_poor_views(train).fit(rows)
            by_view = dict(zip(training.members, fitted, strict=True))
            tables, present = [take_rows(X, test) for X in training.X], training.present[test]
            blocks.append(views.predict_views(by_view, tables, present, self.classes_, self.kind_))
        rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
        return rows, concatenated(blocks).rows(first)

    def _folds(self, training: Any, X: Any, y: Any, rows: Any, groups: Any, seed: int) -> list:
        """Pairs of labelled rows to learn from and labelled rows held out."""
        codes = training.codes
        groups = None if groups is None else check_groups(groups, len(codes))
        if not isinstance(self.cv, int | np.integer):
            # Where y holds nothing for a row, no splitter would accept y: it gets the positions
            # of the classes instead, and -1 for such a row.
            shown = codes if views.missing_entries(y).any() else y
            return views.split_labelled(self.cv, X, shown, rows, groups)
        if np.bincount(codes[rows]).max() < 2:
            raise ValueError(
                f"fuser={self.fuser!r} learns from rows that are held out, but no class has "
                "two labelled rows; use a fixed rule such as 'mean'."
            )
        of = rows[:, None], codes[rows], training.weight[rows], self.classes_
        groups = None if groups is None else groups[rows]
        folds = make_folds(self.cv, *of, groups=groups, seed=seed, n_repeats=1)
        return [(rows[train], rows[test]) for train, test in folds]

    # -- predict -----------------------------------------------------------------------------

    def _columns_looked_at(self) -> np.ndarray:
        if self.fuser_.needs_X:
            return super()._columns_looked_at()
        return self.support_.any(axis=0)

    def _names(self) -> list[str]:
        return list(self.named_estimators_)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self, "fuser_")
        return self._check_table(X, reset=False)

    def _by_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        return np.errstate(all="ignore")(function)(X)

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        P = self._all_predictions(X, kind)
        if self.view_cost is None:
            return P
        return self._with_views(P, self._views_asked(P, X, self.confidence))

    def _all_predictions(self, X: Any, kind: str | None = None) -> Predictions:
        """Return what the members of all views that a row has predict."""
        fitted: dict[str, list] = {view: [] for view in self.views_}
        for view, member in zip(self.member_views_, self.estimators_, strict=True):
            fitted[view].append(member)
        present = views.rows_with_views(X, self.views_)
        tables = [take_columns(X, columns) for columns in self.views_.values()]
        return views.predict_views(fitted, tables, present, self.classes_, kind or self.kind_)

    def _member_values(self, X: Any) -> np.ndarray:
        """NaN where a member's view is absent."""
        P = self._shown(X)
        return np.where(P.known[:, :, None], P.values, np.nan)

    def _features(self, X: Any, fuser: Fuser) -> Any:
        """Return what a fuser sees of the rows: missing values are the means of their columns."""
        return views.fill_missing(X, self._column_means) if fuser.needs_X else None

    def _to_fuse(self, X: Any) -> tuple[Predictions, Any]:
        return self._predictions(X), self._features(X, self.fuser_)

    def _fuse_rows(self, P: Predictions, X: Any) -> np.ndarray:
        return self.fuser_.fuse(P, self._features(X, self.fuser_))

    def _stages(self, P: Any, truth: Any, X: Any, weight: Any, fuser: Fuser) -> np.ndarray:
        return super()._stages(P, truth, self._features(X, fuser), weight, fuser)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.estimator
        entries = given.values() if isinstance(given, Mapping) else [given]
        listed = (one if isinstance(one, list | tuple) else [one] for one in entries)
        members = [
            member
            for member in chain.from_iterable(listed)
            if hasattr(member, "__sklearn_tags__") and not isinstance(member, type)
        ]
        tags.input_tags.sparse = all(get_tags(member).input_tags.sparse for member in members)
        tags.input_tags.allow_nan = all(views.takes_nan(member) for member in members)
        return tags

    # -- labels that would teach most ----------------------------------------------------------

    def query(
        self, X: Any, n: int = 10, *, strategy: str = "conservative", random_state: Any = None
    ) -> np.ndarray:
        """The rows whose labels would teach the views most: co-testing.

        Views that are each good enough to decide alone should agree. Where they do not, at least
        one of them is wrong, and learns from the label [1]_. So ask for the labels of such rows
        (contention points), fit again, and ask again; with ``method="co_em"`` this is the robust
        learning of [2]_.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows without labels.
        n : int, default=10
            How many labels to ask for.
        strategy : {"conservative", "aggressive", "naive"}, default="conservative"
            Which of the rows on which views disagree come first: those on which views are equally
            sure, those on which even the least sure view is sure (where labels have errors or
            rows are odd, it asks about these), or any.
        random_state : int, RandomState instance or None, default=None
            For "naive".

        Returns
        -------
        rows : ndarray of shape (min(n, n_samples),)
            Positions in X, the most instructive first. If views disagree on fewer rows than ``n``,
            those follow of which the fused members are least sure.

        References
        ----------
        .. [1] Muslea, Minton and Knoblock, "Active learning with multiple views", JAIR 2006.
        .. [2] Muslea, Minton and Knoblock, "Active + semi-supervised learning = robust multi-view
           learning", ICML 2002.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from covey import MultiviewClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> views = {"mean": slice(0, 10), "worst": slice(20, 30)}
        >>> fused = MultiviewClassifier(views).fit(X[:40], y[:40])
        >>> rows = fused.query(X[40:], 5)
        >>> first, second = (fused.named_estimators_[view] for view in views)
        >>> bool((first.predict(X[40:][rows, :10]) != second.predict(X[40:][rows, 20:])).all())
        True
        """
        check_number(n, "n", low=1, whole=True)
        check_choice(strategy, "strategy", STRATEGIES)
        if len(self.views_) < 2:
            raise ValueError("query asks where views disagree, but there is one view only.")
        by_view, present = self._by_view(self._check_rows(X))
        draws = check_random_state(random_state).uniform(size=len(by_view))
        return order_of_queries(by_view, present, strategy, draws)[:n]

    def _by_view(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Tell what the members of each view predict on average, (n, V, C), and who has which."""
        P = self._all_predictions(X)
        values = P.values if P.kind == "probability" else P.votes
        owned = np.eye(len(self.views_))[self._owners()]
        count = P.known @ owned
        total = np.einsum("nkc,nk,kv->nvc", values, P.known, owned)
        return total / np.maximum(count, 1)[:, :, None], count > 0

    def _owners(self) -> np.ndarray:
        """The number of each member's view, (K,)."""
        names = list(self.views_)
        return np.array([names.index(view) for view in self.member_views_])

    # -- views that cost -----------------------------------------------------------------------

    def views_asked(self, X: Any) -> np.ndarray:
        """Return which views are asked for each row: cheap ones first, until the flock is sure.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        asked : ndarray of shape (n_samples, n_views), bool
            In the order of ``views_``. Without ``view_cost``, all views that a row has.
        """
        X = self._check_rows(X)
        return self._views_asked(self._all_predictions(X), X, self.confidence)

    def cost_curve(self, X: Any, y: ArrayLike, *, confidences: ArrayLike = _CONFIDENCES) -> Bunch:
        """Return how accurate the flock is, and what it costs, for several levels of confidence.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that it was not fitted on.
        y : array-like of shape (n_samples,)
        confidences : array-like of shape (n_levels,), optional
            From 0 (the cheapest view alone) to 1 (all views, but for rows that are certain).

        Returns
        -------
        curve : Bunch
            ``confidence``, ``cost`` (the mean of a row) and ``accuracy``, arrays of shape
            (n_levels,).
        """
        if self.view_cost is None:
            raise ValueError("cost_curve needs what views cost; give view_cost.")
        levels = np.atleast_1d(np.asarray(confidences, dtype=np.float64))
        for level in levels:
            check_number(float(level), "confidences", low=0, high=1)
        X, y = self._check_rows(X), np.asarray(y)
        check_consistent_length(X, y)
        P, costs = self._all_predictions(X), views.checked_costs(self.view_cost, list(self.views_))
        cost, accuracy = np.empty((2, len(levels)))
        for number, level in enumerate(levels.tolist()):
            asked = self._views_asked(P, X, level)
            fused = self._fuse_rows(self._with_views(P, asked), X)
            cost[number] = (asked @ costs).mean()
            accuracy[number] = (self.classes_[fused.argmax(axis=1)] == y).mean()
        return Bunch(confidence=levels, cost=cost, accuracy=accuracy)

    def _views_asked(self, P: Predictions, X: Any, confidence: float) -> np.ndarray:
        """Which views are asked for each row, (n, V): no more of them once it is sure enough."""
        owner = self._owners()
        each = range(len(self.views_))
        has = np.stack([P.known[:, owner == view].any(axis=1) for view in each], axis=1)
        if self.view_cost is None:
            return has
        asked, unsure = np.zeros_like(has), np.ones(P.n_samples, dtype=bool)
        costs = views.checked_costs(self.view_cost, list(self.views_))
        for view in np.argsort(costs, kind="stable"):
            new = np.flatnonzero(unsure & has[:, view])
            if len(new):
                asked[new, view] = True
                fused = self._fuse_rows(self._with_views(P, asked).rows(new), take_rows(X, new))
                unsure[new[fused.max(axis=1) >= confidence]] = False
        return asked

    def _with_views(self, P: Predictions, asked: np.ndarray) -> Predictions:
        """The predictions of the members whose view is asked for a row."""
        return P.where(asked[:, self._owners()])
