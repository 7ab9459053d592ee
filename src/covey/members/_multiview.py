"""Members that use different views of a sample: its face, its voice, its fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import chain, count
from numbers import Integral, Number
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from covey._blocks import as_table, take_columns, take_rows
from covey._core.fusion.views import class_quotas, co_em, co_train, order_of_queries
from covey._core.limits import SQUARABLE
from covey._core.random import Purpose, UniformRows
from covey._folds import Folds, check_cv_parameter, check_groups, make_folds
from covey._models import classifies, fit_member, requesting_weights, weight_parameters, with_seeds
from covey._validation import (
    check_choice,
    check_labels,
    check_number,
    check_sample_weight,
    fitted_alone,
)
from covey.fusers import Fuser, Mean, Predictions
from covey.fusers._fixed import make_fuser
from covey.fusers._outputs import common_kind, member_output
from covey.fusers._predictions import align_classes, concatenated
from covey.members._ensemble import Ensemble, check_two_classes
from covey.tables._categories import is_gap
from covey.tables._columns import chosen_columns, label_of

METHODS = ("co_training", "co_em", "supervised")
STRATEGIES = ("conservative", "aggressive", "naive")

# The points of a curve of accuracy and cost.
_CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)


@dataclass(eq=False, repr=False)
class MultiviewClassifier(Ensemble, ClassifierMixin, BaseEstimator):
    """Members on different views of a sample, fused into one decision.

    A view is a set of columns of one nature, such as the recordings of a camera, a keyboard or a
    log file. Each view has members of its own, which see nothing else. If a row lacks a view (all
    its columns are NaN), the members of the other views decide, and ``explain_fusion`` gives the
    absent ones 0. Rows whose label is ``unlabeled_label`` are labelled by views that are sure of
    them (co-training [1]_), or softly by all views (co-EM [2]_). This needs views that are each
    good enough to decide alone, and that err on different rows; a poor view teaches the others its
    errors, and ``method="supervised"`` is better. Compare them on labelled rows held out.

    Take it if columns come from different sources, some of which are absent at times, or if few
    rows have labels. If all columns are always there and of one nature, `FlockClassifier` sees
    them together and is more accurate.

    Parameters
    ----------
    views : dict, list or int, default=2
        A dict from names to columns: names, numbers, a slice of either, a boolean mask, or a
        function of X such as scikit-learn's ``make_column_selector``. A list of such columns makes
        "view 1", "view 2", ...; a number divides all columns among this many views at random.
    estimator : classifier, list, dict or None, default=None
        The members of every view: one, or a list of several; or a dict from views to these. None
        is a logistic regression of imputed (the mean) and standardised columns (sparse ones are
        divided by their largest entry), whose probabilities suit fusing and teaching.
    fuser : str or Fuser, default="mean"
        A name or an object of `covey.fusers`. With "k_of_n", k votes are needed however many
        members are available. Fusers that use X get the mean of the column for a missing value.
    unlabeled_label : label or None, default=None
        The value of ``y`` for an unknown label, such as -1. NaN (or pandas' NA) stands for None,
        NaN and NA. None: every entry of ``y`` is a label.
    method : {"co_training", "co_em", "supervised"} or None, default="co_training"
        The use of unlabelled rows; "supervised" or None leaves them out.
    agree : bool, default=True
        Whether views teach each other only rows that all of them put in the same class. Where
        views disagree, one of them may see noise, or something else [3]_.
    n_per_round : int or float, default=0.1
        Co-training: how many rows each view labels in a round, at most; a float is a share of all
        unlabelled rows. Classes share them by their frequency in the labelled rows.
    pool_size : int or None, default=None
        Co-training: how many unlabelled rows are considered in a round. None is all.
    unlabeled_weight : float, default=0.3
        The weight of a learned row without a label, relative to a labelled one.
    max_iter : int, default=30
        The most rounds.
    tol : float, default=0.001
        Co-EM ends when no probability moves by more in a round.
    view_cost : mapping from views to numbers, list or None, default=None
        The cost of having each view of a row: a test, a sensor, a question. Then views are asked
        from the cheapest on, until the fused probability of a class is ``confidence`` or more, and
        more expensive columns do not count; see `views_asked` and `cost_curve`. None: all views
        that a row has decide.
    confidence : float, default=0.95
        The probability that is sure enough, if views have costs.
    cv : int, splitter or iterable, default=5
        The folds for out-of-fold predictions of labelled rows, if the fuser learns. The views
        teach each other anew in each fold.
    n_jobs : int or None, default=None
        Processes that fit the members.
    random_state : int, RandomState instance or None, default=None
        Seeds the random views, the pool, the folds, and members that have no seed.

    Attributes
    ----------
    classes_, fuser_, kind_, n_features_in_, feature_names_in_ : as in `FusionClassifier`
    views_ : dict
        The positions of each view's columns.
    estimators_, named_estimators_, member_views_ : list, dict and list
        The fitted members, view by view; by name; and the view of each.
    support_ : ndarray of shape (n_members, n_features), bool
        The columns that each member uses.
    n_iter_ : int
        Rounds in which views were fitted and taught each other; 1 if all rows are labelled.
    transduction_ : ndarray of shape (n_samples,)
        ``y``, with predictions of unlabelled rows (by the mean rule in place of the oracle).

    Notes
    -----
    Members are fitted on the rows that have their view. In a row without any view all classes are
    equally probable and all members equally important. Neither method is exactly that of its
    paper, even with ``agree=False``: each view has labelled rows of its own and never gets a label
    back, a label once given stays, and unlabelled rows weigh less. ``benchmarks/multiview/run.py``
    measures the gain with one label in ten: co-training gains if each view is good, and loses if
    one is poor; without ``agree`` and at full weight it loses on every set, and so does co-EM.

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

    views: Mapping[str, Any] | list[Any] | int = 2
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
    random_state: int | np.random.RandomState | None = None

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
        labelled = labelled_rows(y, self.unlabeled_label)
        weight = check_sample_weight(sample_weight, len(y))
        self._keep_seen(X, weight)
        self._keep_rows(X, y, weight)
        self.classes_, codes = encode_known(y, labelled, weight, type(self).__name__)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = getattr(self, "feature_names_in_", None)
        columns = self.views_ = find_views(self.views, X, names, seed)
        if self.estimator is None:
            check_default_range(X, names, columns)
        sparse = hasattr(X, "tocsr")
        unfitted = members_by_view(self.estimator, columns, sparse=sparse, seed=seed)
        names, self.member_views_ = member_names(unfitted)
        self.kind_ = common_kind([one for view in unfitted.values() for one in view], names, fuser)
        method = "supervised" if labelled.all() or self.method is None else self.method
        check_members(unfitted, method, sample_weight is not None, self.unlabeled_weight)
        if self.view_cost is not None:
            checked_costs(self.view_cost, list(columns))
        training = ViewTrainingSet(
            self,
            method,
            X=[take_columns(X, own) for own in columns.values()],
            codes=codes,
            present=rows_with_views(X, columns),
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
        self._column_means = column_means(X, weight) if fuser.needs_X else None
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
        check_choice(self.method, "method", METHODS, or_none=True)
        if isinstance(self.n_per_round, float | np.floating):
            check_number(self.n_per_round, "n_per_round", low=0, high=1, closed="right")
        else:
            check_number(self.n_per_round, "n_per_round", low=1, whole=True)
        check_number(self.pool_size, "pool_size", low=1, whole=True, or_none=True)
        check_number(self.unlabeled_weight, "unlabeled_weight", low=0, closed="neither")
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.tol, "tol", low=0)
        check_number(self.confidence, "confidence", low=0, high=1)
        check_cv_parameter(self.cv)

    def _check_table(self, X: Any, reset: bool) -> Any:
        """Return frames unchanged, for members that read them, and anything else as numbers."""
        if not hasattr(X, "columns"):
            how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
            return validate_data(self, X, reset=reset, **how)
        X = as_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _out_of_fold(
        self, training: Any, folds: Folds, used: np.ndarray
    ) -> tuple[np.ndarray, Predictions]:
        """Return held-out labelled rows, and predictions by members taught without them."""
        unlabelled = used[training.codes[used] < 0]
        blocks = []
        for train, test in folds:
            rows = np.sort(np.concatenate([train, unlabelled]))
            fitted, _ = training.without_poor_views(train).fit(rows)
            by_view = dict(zip(training.members, fitted, strict=True))
            tables, present = [take_rows(X, test) for X in training.X], training.present[test]
            blocks.append(predict_views(by_view, tables, present, self.classes_, self.kind_))
        rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
        return rows, concatenated(blocks).rows(first)

    def _folds(self, training: Any, X: Any, y: Any, rows: Any, groups: Any, seed: int) -> Folds:
        """Return pairs of labelled rows to learn from and labelled rows held out."""
        codes = training.codes
        groups = None if groups is None else check_groups(groups, len(codes))
        if not isinstance(self.cv, int | np.integer):
            # No splitter would accept a y without values for some rows: it gets the positions of
            # the classes instead, and -1 for such a row.
            shown = codes if missing_entries(y).any() else y
            return split_labelled(self.cv, X, shown, rows, groups)
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
        return np.any(self.support_, axis=0)

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
        """Return the predictions of the members of all views that a row has."""
        fitted: dict[str, list[Any]] = {view: [] for view in self.views_}
        for view, member in zip(self.member_views_, self.estimators_, strict=True):
            fitted[view].append(member)
        present = rows_with_views(X, self.views_)
        tables = [take_columns(X, columns) for columns in self.views_.values()]
        return predict_views(fitted, tables, present, self.classes_, kind or self.kind_)

    def _member_values(self, X: Any) -> np.ndarray:
        """Return the members' predictions, NaN where a view is absent."""
        P = self._shown(X)
        return np.where(P.known[:, :, None], P.values, np.nan)

    def _features(self, X: Any, fuser: Fuser) -> Any:
        """Return a fuser's input: missing values are the means of their columns."""
        return fill_missing(X, np.asarray(self._column_means)) if fuser.needs_X else None

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
        tags.input_tags.allow_nan = all(takes_nan(member) for member in members)
        return tags

    # -- labels that would teach the most --------------------------------------------------------

    def query(
        self, X: Any, n: int = 10, *, strategy: str = "conservative", random_state: Any = None
    ) -> np.ndarray:
        """Return the rows whose labels would teach the views the most, by co-testing.

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
            sure, those on which even the least sure view is sure (among them rows with wrong
            labels and odd rows), or any.
        random_state : int, RandomState instance or None, default=None
            For "naive".

        Returns
        -------
        rows : ndarray of shape (min(n, n_samples),)
            Positions in X, the most instructive first. If views disagree on fewer rows than ``n``,
            the rows follow of which the fused members are least sure.

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
        """Return the mean prediction of each view's members, (n, V, C), and which rows have it."""
        P = self._all_predictions(X)
        values = P.values if P.kind == "probability" else P.votes
        owned = np.eye(len(self.views_))[self._owners()]
        count = P.known @ owned
        total = np.einsum("nkc,nk,kv->nvc", values, P.known, owned)
        return total / np.maximum(count, 1)[:, :, None], count > 0

    def _owners(self) -> np.ndarray:
        """Return the number of each member's view, (K,)."""
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
        """Return accuracy and cost of the flock for several levels of confidence.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows that it was not fitted on.
        y : array-like of shape (n_samples,)
        confidences : array-like of shape (n_levels,), optional
            From 0 (the cheapest view alone) to 1 (all views, except for rows that are certain).

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
        P, costs = self._all_predictions(X), checked_costs(self.view_cost, list(self.views_))
        cost, accuracy = np.empty((2, len(levels)))
        for number, level in enumerate(levels.tolist()):
            asked = self._views_asked(P, X, level)
            fused = self._fuse_rows(self._with_views(P, asked), X)
            cost[number] = (asked @ costs).mean()
            accuracy[number] = (self.classes_[fused.argmax(axis=1)] == y).mean()
        return Bunch(confidence=levels, cost=cost, accuracy=accuracy)

    def _views_asked(self, P: Predictions, X: Any, confidence: float) -> np.ndarray:
        """Return which views are asked for each row, (n, V), until it is sure enough."""
        owner = self._owners()
        each = range(len(self.views_))
        has = np.stack([P.known[:, owner == view].any(axis=1) for view in each], axis=1)
        if self.view_cost is None:
            return has
        asked, unsure = np.zeros_like(has), np.ones(P.n_samples, dtype=bool)
        costs = checked_costs(self.view_cost, list(self.views_))
        for view in np.argsort(costs, kind="stable"):
            new = np.flatnonzero(unsure & has[:, view])
            if len(new):
                asked[new, view] = True
                fused = self._fuse_rows(self._with_views(P, asked).rows(new), take_rows(X, new))
                unsure[new[fused.max(axis=1) >= confidence]] = False
        return asked

    def _with_views(self, P: Predictions, asked: np.ndarray) -> Predictions:
        """Return the predictions of the members whose view is asked for a row."""
        return P.where(asked[:, self._owners()])


# -- Views of a table: their columns, the rows that have them, and the members that learn from ---

# scikit-learn's MaxAbsScaler treats a column without larger values than this as zeros.
_SMALLEST_SPARSE = 10 * float(np.finfo(np.float64).eps)


# -- columns ------------------------------------------------------------------------------------


def find_views(views: Any, X: Any, names: np.ndarray | None, seed: int) -> dict[str, np.ndarray]:
    """Return the views that a user asks for, from their names to column positions."""
    if isinstance(views, Integral) and not isinstance(views, bool):
        return _dealt(int(views), X.shape[1], seed)
    if not isinstance(views, Mapping | list | tuple):
        raise TypeError(
            "views must be a dict from names to columns, a list of such columns, or a number of "
            f"views, got {views!r}."
        )
    if not isinstance(views, Mapping):
        views = {f"view {k}": columns for k, columns in enumerate(views, start=1)}
    if not views:
        raise ValueError("views is empty; give at least one view.")
    found: dict[str, np.ndarray] = {}
    for view, columns in views.items():
        if not isinstance(view, str):
            raise TypeError(f"views must be named by str, got {view!r}.")
        which = f"The view {view!r}"
        positions = chosen_columns(columns, which, X, names)
        if not positions:
            raise ValueError(f"{which} is empty; give it a column, or leave it out.")
        for place, position in enumerate(positions):
            if position in positions[:place]:
                raise ValueError(f"{which} names column {label_of(position, names)} twice.")
        found[view] = np.array(positions)
    return found


def _dealt(n_views: int, n_features: int, seed: int) -> dict[str, np.ndarray]:
    """Divide all columns among views at random."""
    if n_views < 1:
        raise ValueError(f"views must be at least 1, got {n_views}.")
    if n_views > n_features:
        raise ValueError(
            f"views={n_views} asks for {n_views} disjoint views, but X has {n_features} "
            "feature(s); ask for fewer views."
        )
    draws = UniformRows(seed, Purpose.START, 0, 0, 1).read(0, n_features)[:, 0]
    order = np.argsort(draws, kind="stable")
    dealt = [np.sort(order[view::n_views]) for view in range(n_views)]
    dealt.sort(key=lambda columns: columns[0])
    return {f"view {k}": columns for k, columns in enumerate(dealt, start=1)}


# -- missing values -----------------------------------------------------------------------------


def missing_values(X: Any) -> np.ndarray | None:
    """Return where a table has no value, (n, D) bool; None if it has all of them."""
    if hasattr(X, "tocsr"):
        entries = X.tocoo()
        lost = np.isnan(entries.data)
        if not lost.any():
            return None
        missing = np.zeros(X.shape, dtype=bool)
        missing[entries.row[lost], entries.col[lost]] = True
    elif hasattr(X, "isna"):
        missing = X.isna().to_numpy(dtype=bool)
    elif isinstance(X, np.ndarray):
        missing = X != X
    else:
        columns = (np.asarray(X[:, column]) for column in range(X.shape[1]))
        missing = np.stack([missing_entries(column) for column in columns], axis=1)
    return missing if missing.any() else None


def missing_entries(values: np.ndarray) -> np.ndarray:
    """Return where an array holds nothing: None, NaN or pandas' NA."""
    if values.dtype.kind != "O":
        return values != values
    return np.array([is_gap(value) for value in values], dtype=bool)


def rows_with_views(X: Any, views: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return which rows have which view, (n, V): not if all its columns are missing."""
    missing = missing_values(X)
    if missing is None:
        return np.ones((X.shape[0], len(views)), dtype=bool)
    return np.stack([~missing[:, columns].all(axis=1) for columns in views.values()], axis=1)


def column_means(X: Any, weight: np.ndarray) -> np.ndarray:
    """Return the weighted means of columns of numbers, for fusers that use X."""
    if hasattr(X, "tocsr"):
        lost, filled = X.copy(), X.copy()
        lost.data = np.isnan(X.data)
        filled.data = np.where(lost.data, 0.0, X.data)
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return np.zeros(X.shape[1])  # the fuser will refuse these columns by itself
        lost = np.isnan(X)
        filled = np.where(lost, 0.0, X)
    total, remaining = weight @ filled, weight.sum() - weight @ lost
    return np.divide(total, remaining, out=np.zeros_like(total), where=remaining > 0)


def fill_missing(X: Any, means: np.ndarray) -> Any:
    """Return a table of numbers with the means of the columns in place of missing values."""
    missing = missing_values(X)
    if missing is None:
        return X
    if hasattr(X, "tocsr"):
        X = X.copy()
        X.data = np.where(np.isnan(X.data), means[X.indices], X.data)
        return X
    return np.where(missing, means, np.asarray(X, dtype=np.float64))


# -- labels of which some are not known ---------------------------------------------------------


def labelled_rows(y: np.ndarray, unlabeled_label: Any) -> np.ndarray:
    """Return which rows have a label, (n,) bool."""
    unlabelled = missing = missing_entries(y)
    if unlabeled_label is None or not is_gap(unlabeled_label):
        if y.dtype.kind == "O" and missing.any():
            raise ValueError(
                f"y holds no label (None or NaN) in row {int(np.argmax(missing))}; give it "
                "one, or say unlabeled_label=float('nan') to learn from such rows without."
            )
        unlabelled = False if unlabeled_label is None else y == unlabeled_label
    # NumPy makes strings of numbers that stand among strings.
    other_kind, written = not isinstance(unlabeled_label, str | None), str(unlabeled_label)
    if other_kind and any(isinstance(label, str) and label == written for label in y):
        raise ValueError(
            f"unlabeled_label={unlabeled_label!r} is not a string, but y holds strings, "
            f"{written!r} among them; use unlabeled_label={written!r}."
        )
    labelled = ~np.broadcast_to(unlabelled, y.shape)
    if not labelled.any():
        raise ValueError(
            f"y holds no label at all: every entry is unlabeled_label={unlabeled_label!r}."
        )
    return labelled


def encode_known(
    y: np.ndarray, labelled: np.ndarray, weight: np.ndarray, owner: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the labels as positions in them, -1 where there is none."""
    labels = y[labelled]
    if all(isinstance(label, Number | np.generic) for label in labels):
        # Numbers that stood among None or NA are objects.
        labels = np.array(labels.tolist())
    check_labels(labels)
    classes, known = np.unique(labels, return_inverse=True)
    codes = np.full(len(y), -1)
    codes[labelled] = known
    check_two_classes(owner, classes, np.bincount(known, weight[labelled]))
    return classes, codes


# -- unfitted members ---------------------------------------------------------------------------


def members_by_view(
    given: Any, views: Iterable[str], *, sparse: bool, seed: int
) -> dict[str, list[Any]]:
    """Return the unfitted members of each view; those without a seed get one."""
    if given is None:
        given = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            MaxAbsScaler() if sparse else requesting_weights(StandardScaler()),
            requesting_weights(LogisticRegression(max_iter=1000)),
        )
    if not isinstance(given, Mapping):
        given = dict.fromkeys(views, given)
    problems = [f"names {name!r}" for name in given if name not in views]
    problems += [f"lacks {name!r}" for name in views if name not in given]
    if problems:
        raise ValueError(
            f"estimator {problems[0]}; it must have members for each of the views "
            f"{', '.join(map(repr, views))}."
        )
    found: dict[str, list[Any]] = {}
    numbers = count()
    for view in views:
        members = given[view] if isinstance(given[view], list | tuple) else [given[view]]
        if not members:
            raise ValueError(f"estimator has no member for the view {view!r}.")
        for member in members:
            if not classifies(member):
                raise ValueError(
                    f"estimator must be classifiers, but for the view {view!r} it has {member!r}."
                )
            states = np.random.SeedSequence([seed, next(numbers)]).generate_state
            numbers_of = partial(lambda made, n: made(n) % 2**31, states)
            found.setdefault(view, []).append(with_seeds(member, numbers_of, unset=True))
    return found


def check_default_range(X: Any, names: np.ndarray | None, views: Mapping[str, Any]) -> None:
    """Refuse columns that the default member cannot scale; NaN is ignored.

    A column is refused if its numbers are too large, or if it varies without any number that is
    large enough to distinguish it from a constant.
    """
    smallest, largest, reader = 1 / SQUARABLE, SQUARABLE, "the default member, which squares them,"
    if hasattr(X, "tocsr"):
        smallest, largest = _SMALLEST_SPARSE, np.inf
        reader = "the default member of sparse rows"
        low, high = X.nanmin(axis=0).toarray().ravel(), X.nanmax(axis=0).toarray().ravel()
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return  # the members will refuse these columns by themselves
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    used = np.isin(np.arange(len(size)), np.concatenate(list(views.values())))
    too_small = (high > low) & (size < smallest)
    for broken, what, remedy in (
        (size > largest, f"more than {reader} can read", "divide it by a constant"),
        (
            too_small,
            f"too little for {reader} to tell apart",
            "multiply it by a constant, or drop it",
        ),
    ):
        if (broken & used).any():
            column = int(np.argmax(broken & used))
            raise ValueError(
                f"Column {label_of(column, names)} holds numbers up to {size[column]:g}, {what}; "
                f"{remedy}."
            )


def member_names(members_by_view: Mapping[str, list[Any]]) -> tuple[list[str], list[str]]:
    """Return names of the members, and of their views."""
    names, owners = [], []
    for view, members in members_by_view.items():
        alone = len(members) == 1
        names += [view] if alone else [f"{view} {k}" for k in range(1, len(members) + 1)]
        owners += [view] * len(members)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Two members would be called {twice!r}; give the views names that differ by more "
            "than a number."
        )
    return names, owners


def check_members(
    members: Mapping[str, list[Any]], method: str, weighted: bool, unlabeled_weight: float
) -> None:
    """Refuse members that the method for unlabelled rows cannot use."""
    teaches = method != "supervised"
    if teaches and len(members) < 2:
        raise ValueError(
            f"method={method!r} lets views teach each other and needs two or more, got one view; "
            "use method='supervised', or more views."
        )
    why = ""
    if not weighted:
        needed = f"unlabeled_weight={unlabeled_weight} needs; use 1"
        why = ", which co-EM needs" if method == "co_em" else f", which {needed}"
    every = (member for view in members.values() for member in view)
    for name, member in zip(member_names(members)[0], every, strict=True):
        if teaches and not hasattr(member, "predict_proba"):
            raise ValueError(
                f"method={method!r} compares how sure views are, but the member {name!r} has "
                "no predict_proba; calibrate it, or use method='supervised'."
            )
        if weighted or method == "co_em" or (teaches and unlabeled_weight != 1):
            try:
                weight_parameters(member, name, np.ones(1))
            except TypeError as error:
                raise TypeError(f"{str(error).rstrip('.')}{why}.") from None


def takes_nan(member: Any) -> bool:
    """Return whether missing values pass through a classifier, or are imputed in a pipeline."""
    if not isinstance(member, Pipeline):
        return get_tags(member).input_tags.allow_nan
    for _, step in member.steps:
        if step is not None and not isinstance(step, str):
            if not takes_nan(step):
                return False
            if type(step).__module__.startswith("sklearn.impute"):
                break
    return True


# -- members that learn -------------------------------------------------------------------------


@dataclass
class ViewTrainingSet:
    """The rows that views learn from, and the members that have learnt from them.

    ``model`` has the parameters that say how views teach each other; ``method`` is its method, or
    "supervised" if there is nothing to teach.
    """

    model: Any
    method: str
    X: list[Any]  # one table per view
    codes: np.ndarray  # (n,), -1 where there is no label
    present: np.ndarray  # (n, V), bool
    weight: np.ndarray  # (n,)
    classes: np.ndarray
    members: dict[str, list[Any]]  # the unfitted members of each view
    turn: np.ndarray  # in which co-training takes rows into its pool

    def __post_init__(self) -> None:
        self.fitted: list[list[Any]] = [[None] * len(members) for members in self.members.values()]

    def check_classes(self, rows: np.ndarray) -> None:
        """Refuse views whose members would see fewer than two classes."""
        for view, seen in zip(self.members, self._classes_seen(rows), strict=True):
            if len(seen) < 2:
                raise ValueError(
                    f"The view {view!r} has labelled rows of {len(seen)} class(es), "
                    f"{self.classes[seen].tolist()}, where it is not absent; it needs two."
                )

    def without_poor_views(self, rows: np.ndarray) -> Self:
        """Return these rows without views that see fewer than two classes in some of them."""
        poor = np.array([len(seen) < 2 for seen in self._classes_seen(rows)])
        return replace(self, present=self.present & ~poor) if poor.any() else self

    def _classes_seen(self, rows: np.ndarray) -> list[np.ndarray]:
        return [np.unique(self.codes[rows][present]) for present in self.present[rows].T]

    def fit(self, rows: np.ndarray) -> tuple[list[list[Any]], int]:
        """Fit members of each view on some rows; return them, and the number of rounds."""
        model, codes = self.model, self.codes[rows]
        part = replace(
            self,
            X=self.X if len(rows) == len(self.codes) else [take_rows(one, rows) for one in self.X],
            codes=codes,
            present=self.present[rows],
            weight=self.weight[rows] * np.where(codes < 0, model.unlabeled_weight, 1.0),
        )
        known = (part._fit_view, codes, part.present, part.weight)
        rounds, agree, n_iter = model.max_iter, bool(model.agree), 1
        if self.method == "supervised":
            hard = [np.flatnonzero((codes >= 0) & present) for present in part.present.T]
            part._fit_members(
                [(v, own, codes[own], part.weight[own]) for v, own in enumerate(hard)]
            )
        elif self.method == "co_em":
            _, n_iter = co_em(*known, len(self.classes), rounds, model.tol, agree)
        else:
            hard, unlabelled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
            frequency: np.ndarray = np.bincount(codes[hard], part.weight[hard], len(self.classes))
            share = isinstance(model.n_per_round, float | np.floating)
            quota = class_quotas(frequency, model.n_per_round * (len(unlabelled) if share else 1))
            order = unlabelled[np.argsort(self.turn[rows][unlabelled], kind="stable")]
            _, n_iter = co_train(*known, quota, order, model.pool_size, rounds, agree)
        return part.fitted, n_iter

    def _fit_members(self, tasks: list[tuple[Any, ...]]) -> None:
        """Fit the members of views, given (view, rows, codes, weight), if there are rows."""
        views = list(self.members)
        # Rows with equal weights need none, and not every member accepts weights.
        equal = all((weight == 1).all() for *_, weight in tasks)
        parts = [
            (view, number, member, rows, codes, None if equal else weight)
            for view, rows, codes, weight in tasks
            for number, member in enumerate(self.members[views[view]])
            if len(rows)
        ]
        fitted = Parallel(n_jobs=self.model.n_jobs)(
            delayed(_fit)(
                member, views[view], take_rows(self.X[view], rows), self.classes[y], weight
            )
            for view, _, member, rows, y, weight in parts
        )
        for (view, number, *_), member in zip(parts, fitted, strict=True):
            self.fitted[view][number] = member

    def _fit_view(
        self, view: int, rows: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Fit a view's members; return their mean prediction of unlabelled rows, (n, C)."""
        predicted = np.zeros((len(self.codes), len(self.classes)))
        self._fit_members([(view, rows, codes, weight)])
        unlabelled = np.flatnonzero((self.codes < 0) & self.present[:, view])
        if len(rows) and len(unlabelled):
            table, name = take_rows(self.X[view], unlabelled), list(self.members)[view]
            for member in self.fitted[view]:
                with explaining(table, name):
                    output = np.asarray(member.predict_proba(table))
                predicted[unlabelled] += align_classes(output, member.classes_, self.classes)[0]
            predicted /= len(self.fitted[view])
        return predicted


def _fit(unfitted: Any, view: str, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    """Return a fitted copy; all steps of a pipeline get the weights, if they accept any."""
    member, routed = clone(unfitted), get_config()["enable_metadata_routing"]
    with explaining(X, view):
        if weight is None or routed or not isinstance(member, Pipeline):
            return fit_member(member, view, X, y, weight)
        taking = [
            f"{name}__sample_weight"
            for name, step in member.steps
            if hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")
        ]
        return member.fit(X, y, **dict.fromkeys(taking, weight))


def predict_views(
    fitted: Mapping[str, list[Any]],
    X: list[Any],
    present: np.ndarray,
    classes: np.ndarray,
    kind: str,
) -> Predictions:
    """Return the predictions of views' members for the rows that have them, ``present`` (n, V).

    A member that is None was not fitted, and is not available.
    """
    names, owners = member_names(fitted)
    n_rows, n_members, n_classes = len(present), len(names), len(classes)
    values = np.full((n_rows, n_members, n_classes), 1.0 / n_classes)
    if kind == "label":
        values = np.zeros((n_rows, n_members), dtype=int)
    available = np.zeros((n_rows, n_members), dtype=bool)
    seen = np.ones((n_members, n_classes), dtype=bool)
    position = {view: number for number, view in enumerate(fitted)}
    members = [member for view in fitted.values() for member in view]
    for k, (view, member) in enumerate(zip(owners, members, strict=True)):
        rows = np.flatnonzero(present[:, position[view]])
        if member is None or not len(rows):
            continue
        table, available[rows, k] = take_rows(X[position[view]], rows), True
        with explaining(table, view):
            values[rows, k], seen[k] = member_output(member, table, classes, kind, view)
    known = None if available.all() else available
    seen = None if kind == "label" or seen.all() else seen
    values = classes[values] if kind == "label" else values
    P = Predictions(values, classes, names, kind, available=known, seen=seen)
    P.check_probabilities()
    return P


@contextmanager
def explaining(table: Any, view: str) -> Iterator[None]:
    """Name the view in a member's error and, if it is about a missing value, the column."""
    try:
        yield
    except ValueError as error:
        missing = missing_values(table)
        if missing is None or "NaN" not in str(error):
            raise ValueError(
                f"A member of the view {view!r} cannot work with these rows: {error}"
            ) from error
        names, column = getattr(table, "columns", None), int(missing.any(axis=0).argmax())
        owner = "its column" if names is None else "column"
        label = label_of(column, None if names is None else list(names))
        raise ValueError(
            f"The view {view!r} holds NaN in {owner} {label}, but not in all of its columns, and "
            "a member of it takes no NaN; impute it first (a Pipeline), or set the whole view to "
            "NaN where it is absent."
        ) from error


def split_labelled(
    cv: Any, X: Any, y: np.ndarray, rows: np.ndarray, groups: np.ndarray | None
) -> Folds:
    """Return the folds of a splitter of all rows of X, reduced to labelled rows."""
    splits = check_cv(cv, y, classifier=True).split(X, y, groups)
    folds = [(np.intersect1d(train, rows), np.intersect1d(test, rows)) for train, test in splits]
    folds = [(train, test) for train, test in folds if len(train) and len(test)]
    if not folds:
        raise ValueError("cv holds out no labelled row from which to learn the fusion.")
    return folds


# -- views that cost ----------------------------------------------------------------------------


def checked_costs(costs: Any, views: list[str]) -> np.ndarray:
    """Return the cost of each view, (V,), by a mapping from names or one number per view."""
    if isinstance(costs, Mapping):
        strange = [name for name in costs if name not in views]
        absent = [name for name in views if name not in costs]
        if strange:
            raise ValueError(
                f"view_cost names the view {strange[0]!r}, which there is not; the views are "
                f"{', '.join(map(repr, views))}."
            )
        if absent:
            raise ValueError(f"view_cost has no cost of the view {absent[0]!r}; give one.")
        costs = [costs[name] for name in views]
    try:
        found = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(views),) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            f"view_cost must hold a number from 0 on for each of the {len(views)} views, got "
            f"{costs!r}."
        )
    return found
