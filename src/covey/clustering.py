"""Consensus clustering: one partition of the rows out of many."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from inspect import isclass
from math import ceil
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone, is_outlier_detector
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import validate_data

from covey._core.arrays import in_parts
from covey._core.inspection import consensus as core
from covey._core.random import Purpose, UniformRows
from covey._validation import check_choice, check_number, fitted_alone
from covey.tables._categories import naming_columns

METHODS = ("co_association", "voting", "graph")
LINKAGES = ("average", "single", "complete")


# -- checks --------------------------------------------------------------------------------------


def _check_n_clusters(
    n_clusters: int | None, n_rows: int, what: str = "rows", *, low: int = 2
) -> None:
    """Refuse a number of clusters that cannot be made; None is allowed."""
    if n_clusters is None:
        return
    check_number(n_clusters, "n_clusters", whole=True)
    if n_clusters < low:
        raise ValueError(
            f"n_clusters must be at least {low}, got {n_clusters}; use None to have it chosen."
        )
    if n_clusters > n_rows:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_rows} {what}; give a smaller number."
        )


def _numbers_to_try(n_clusters_range: Any, most: int) -> list[int]:
    """Return the candidates: each leaves at least one cluster with two rows."""
    try:
        low, high = n_clusters_range
    except (TypeError, ValueError):
        raise ValueError(
            "n_clusters_range must be a pair, the lowest and the highest number of clusters to "
            f"try, got {n_clusters_range!r}."
        ) from None
    check_number(low, "n_clusters_range[0]", low=2, whole=True)
    check_number(high, "n_clusters_range[1]", low=low, whole=True)
    numbers = list(range(low, min(high, most) + 1))
    if not numbers:
        raise ValueError(
            f"n_clusters_range={n_clusters_range} starts above {most}, the most clusters that "
            "can be tried; lower it, or give more rows."
        )
    return numbers


def _share_or_count(value: float, name: str, n_all: int) -> int:
    """Return the number that a parameter stands for, given as a number or a share."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(check_number(value, name, low=1, high=n_all, whole=True))
    check_number(value, name, low=0.0, high=1.0, closed="right")
    return ceil(value * n_all)


def _codes(labels: Any) -> np.ndarray:
    """Return labels of any kind, (n, K), as numbers per column; -1 for noise or absent."""
    # Mixed kinds are unchanged: NumPy would turn 1 beside "a" into "1", and -1, too.
    labels = np.array(labels, dtype=object)
    if labels.ndim != 2:
        raise ValueError(
            "labels must have two dimensions, one row a sample and one column a partition, got "
            f"shape {labels.shape}."
        )
    n_rows, n_partitions = labels.shape
    if n_partitions < 2:
        raise ValueError(
            f"labels holds {n_partitions} partition; a consensus needs at least 2, one a column."
        )
    if n_rows < 2:
        raise ValueError(f"labels has {n_rows} row; a consensus needs at least 2.")
    codes = np.empty((n_rows, n_partitions), dtype=np.intp)
    for k, column in enumerate(labels.T):
        known: dict[Any, int] = {}
        try:
            for row, label in enumerate(column.tolist()):
                # NaN is the one label that differs from itself.
                absent = label is None or label == -1 or label != label
                codes[row, k] = -1 if absent else known.setdefault(label, len(known))
        except TypeError:
            raise ValueError(
                f"labels holds a {type(label).__name__} in column {k} (row {row}); give "
                "numbers, strings or other hashable labels."
            ) from None
    if (codes < 0).all():
        raise ValueError("labels is -1 throughout; at least one row must be in a cluster.")
    return codes


# -- the consensus of given partitions -----------------------------------------------------------


def _combine(
    labels: np.ndarray, n_clusters: int | None, method: str, linkage: str, n_clusters_range: Any
) -> tuple[np.ndarray, dict[int, float], np.ndarray | None]:
    """Return the consensus, lifetimes of numbers, and the co-association matrix or None.

    Rows that no partition places are left out, as -1.
    """
    placed = np.flatnonzero((labels >= 0).any(axis=1))
    ours = labels[placed]
    n_distinct = len(np.unique(ours, axis=0))
    what = "groups of rows that the partitions separate"
    _check_n_clusters(n_clusters, n_distinct, what, low=1)
    counts = core.cluster_counts(ours)
    by_tree = method == "co_association"
    lifetimes: dict[int, float] = {}
    if by_tree or n_clusters is None:
        shares = core.co_association(ours)
        tree = core.merge_tree(shares, linkage)
    if n_clusters is None:
        numbers = _numbers_to_try(n_clusters_range, n_distinct)
        if method == "voting":
            numbers = [number for number in numbers if number in counts]
            if not numbers:
                raise ValueError(
                    f"method='voting' needs a partition whose number of clusters is within "
                    f"n_clusters_range={n_clusters_range}; widen it, or use another method."
                )
        lifetimes = dict(zip(numbers, core.lifetimes(tree, numbers), strict=True))
        n_clusters = max(lifetimes, key=lifetimes.__getitem__)
    if method == "voting" and n_clusters > 1 and n_clusters not in counts:
        raise ValueError(
            f"method='voting' needs a partition of n_clusters={n_clusters} clusters to align the "
            f"others to, but they have {counts.min()} to {counts.max()}; use "
            "method='co_association' or 'graph'."
        )
    final = np.full(len(labels), -1, dtype=np.intp)
    if n_clusters == 1:
        final[placed] = 0
    elif by_tree:
        final[placed] = core.cut(tree, n_clusters)
    else:
        combine = core.vote if method == "voting" else core.graph_partition
        final[placed] = combine(ours, n_clusters)
    if not by_tree:
        return final, lifetimes, None
    return final, lifetimes, shares if len(ours) == len(labels) else core.co_association(labels)


def consensus(
    labels: ArrayLike,
    n_clusters: int | None = None,
    method: str = "co_association",
    *,
    linkage: str = "average",
    n_clusters_range: tuple[int, int] = (2, 10),
) -> np.ndarray:
    """Find the consensus of partitions, however they were made.

    Parameters
    ----------
    labels : array-like or data frame of shape (n_samples, n_partitions)
        The cluster of each row in each partition: any hashable labels, whose meaning is limited to
        their column. -1, None and NaN mark a row that a partition does not place; it is then left
        out where that partition counts.
    n_clusters : int, optional
        How many clusters to make. None: the number within ``n_clusters_range`` with the longest
        lifetime in the tree of co-association (Fred and Jain 2005), which takes memory for all
        pairs of rows.
    method, linkage, n_clusters_range
        The way to combine partitions, as in `ConsensusClustering`.

    Returns
    -------
    final : ndarray of shape (n_samples,)
        Clusters 0, 1, ... in the order of the rows; -1 for rows that no partition places.

    Examples
    --------
    >>> from covey import consensus
    >>> consensus([["a", 1, 0], ["a", 1, 0], ["b", 2, 0], ["b", 2, 1], ["b", 2, 1]])
    array([0, 0, 1, 1, 1])
    """
    check_choice(method, "method", METHODS)
    check_choice(linkage, "linkage", LINKAGES)
    codes = _codes(labels)
    _check_n_clusters(n_clusters, len(codes))
    return _combine(codes, n_clusters, method, linkage, n_clusters_range)[0]


# -- the estimator -------------------------------------------------------------------------------


def _number_parameter(clusterer: Any) -> str | None:
    """Return the name of the parameter that sets the number of clusters, or None."""
    prefix = ""
    while isinstance(clusterer, Pipeline):
        step, clusterer = clusterer.steps[-1]
        prefix += f"{step}__"
    params = clusterer.get_params(deep=False) if hasattr(clusterer, "get_params") else {}
    for name in ("n_clusters", "n_components"):  # mixtures call their clusters components
        if name in params:
            return prefix + name
    return None


def _partition(
    clusterer: Any,
    X: Any,
    rows: np.ndarray,
    columns: np.ndarray,
    seed: int,
    parameter: str | None,
    n_clusters: int | None,
) -> np.ndarray:
    """Make one partition of some rows by some columns; -1 for the others."""
    member = clone(clusterer)
    settings = {
        key: seed
        for key in member.get_params(deep=True)
        if key == "random_state" or key.endswith("__random_state")
    }
    if n_clusters is not None:
        settings[parameter] = n_clusters
    member.set_params(**settings)
    labels = np.full(X.shape[0], -1, dtype=np.intp)
    shown = X if len(rows) == X.shape[0] else X[rows]
    labels[rows] = member.fit_predict(shown if len(columns) == X.shape[1] else shown[:, columns])
    return np.maximum(labels, -1)  # some clusterers have several kinds of noise


@dataclass(eq=False, repr=False)
class ConsensusClustering(ClusterMixin, BaseEstimator):
    """A clusterer that makes many different partitions of the rows and combines them.

    Partitions differ in the rows and columns that they see, in their random start and, if wanted,
    in their clusterer. The consensus is more stable than any of them, tolerates irrelevant
    columns, and has a confidence for each row.

    Take it if clusterings differ from run to run, or if the number of clusters is in question. Its
    map of pairs of rows takes memory in the square of their number; cluster long tables once
    instead.

    Parameters
    ----------
    n_clusters : int, optional
        How many clusters to make. None: chosen within ``n_clusters_range``. With one clusterer
        whose number can be set, it is the largest number at which partitions agree as much as at
        any (mean adjusted Rand index over pairs of partitions, each on the rows that both see;
        within a standard error or 0.01). Otherwise it is the number with the longest lifetime in
        the tree of co-association, as in `consensus`.
    estimator : clusterer or list of clusterers, optional
        Anything with ``fit_predict``; by default ``KMeans(n_init=5)``. One clusterer with a
        parameter ``n_clusters`` (or ``n_components``) is given the number of the
        consensus. Clusterers in a list take turns and keep their own numbers:
        ``[KMeans(20)]`` makes many small clusters, which the consensus joins into shapes that
        k-means cannot draw.
    n_partitions : int, default=30
        How many partitions to make.
    method : {"co_association", "voting", "graph"}, default="co_association"
        How they are combined. "co_association" merges rows that are often together; it needs
        memory for all pairs of rows. "voting" gives clusters common names and takes a majority
        vote. "graph" cuts the graph of rows and clusters. The last two suit many rows.
    linkage : {"average", "single", "complete"}, default="average"
        How the tree of co-association is built; "single" follows chains of rows.
    max_features : int or float, default=1.0
        How many columns, or which share of them, each partition sees, drawn at random.
    max_samples : int or float, default=0.8
        How many rows, or which share of them, each partition sees, drawn at random without
        replacement.
    n_clusters_range : (int, int), default=(2, 10)
        The lowest and the highest number to try.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Processes that make the partitions. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters 0, 1, ... in the order of the rows; -1 for rows that no partition places,
        because none has seen them or all treat them as noise.
    n_clusters_ : int
        How many clusters there are.
    partitions_ : ndarray of shape (n_samples, n_partitions)
        The partitions; -1 for rows that are noise, or were not seen.
    co_association_ : ndarray of shape (n_samples, n_samples)
        The share of partitions that put two rows together, of those that place both. Only with
        ``method="co_association"``.
    confidence_ : ndarray of shape (n_samples,)
        How often a row is put together with the other rows of its cluster, between 0 and 1.
    stability_ : dict
        For each number tried, how much the partitions agree (at most 1), or its lifetime in the
        tree (between 0 and 1). Empty if the number was given to clusterers that keep their own.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from covey import ConsensusClustering
    >>> X, _ = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> clusters = ConsensusClustering(random_state=0).fit(X)
    >>> clusters.n_clusters_
    3
    >>> float(clusters.confidence_.min())
    1.0
    """

    n_clusters: int | None = None
    _: KW_ONLY
    estimator: Any = None
    n_partitions: int = 30
    method: str = "co_association"
    linkage: str = "average"
    max_features: float = 1.0
    max_samples: float = 0.8
    n_clusters_range: tuple[int, int] = (2, 10)
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def _clusterers(self) -> tuple[list[Any], str | None]:
        """Return the clusterers, and the parameter for their number if it can be set."""
        if self.estimator is None:
            return [KMeans(n_init=5)], "n_clusters"
        several = isinstance(self.estimator, list | tuple)
        clusterers = list(self.estimator) if several else [self.estimator]
        if not clusterers:
            raise ValueError("estimator is an empty list; give at least one clusterer.")
        for position, clusterer in enumerate(clusterers):
            tagged = hasattr(clusterer, "__sklearn_tags__") and not isclass(clusterer)
            outliers = tagged and is_outlier_detector(clusterer)
            if isclass(clusterer) or outliers or not hasattr(clusterer, "fit_predict"):
                raise ValueError(
                    f"{f'estimator[{position}]' if several else 'estimator'} is not a clusterer: "
                    f"{clusterer!r}; give one with fit_predict, such as KMeans()."
                )
        if len(clusterers) > self.n_partitions:
            raise ValueError(
                f"n_partitions={self.n_partitions} is less than the {len(clusterers)} "
                "clusterers in estimator; raise it, so that each makes a partition."
            )
        return clusterers, None if several else _number_parameter(clusterers[0])

    @fitted_alone
    def fit(self, X: Any, y: None = None) -> Self:
        """Make the partitions and combine them; X may be sparse if the clusterers accept it."""
        check_choice(self.method, "method", METHODS)
        check_choice(self.linkage, "linkage", LINKAGES)
        check_number(self.n_partitions, "n_partitions", low=2, whole=True)
        clusterers, parameter = self._clusterers()
        with naming_columns(X):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=3
            )
        n_rows, n_columns = X.shape
        _check_n_clusters(self.n_clusters, n_rows, low=1)
        if self.n_clusters == 1:
            # scikit-learn's checks fit every clusterer with one cluster, so that one is not
            # refused.
            warnings.warn(
                "n_clusters=1 puts all rows into one cluster, which leaves nothing to find; use "
                "None to have the number chosen.",
                UserWarning,
                stacklevel=3,
            )
        n_shown = _share_or_count(self.max_samples, "max_samples", n_rows)
        if parameter is None:
            numbers: list[Any] = [None]
        elif self.n_clusters is None:
            numbers = _numbers_to_try(self.n_clusters_range, n_shown - 1)
        else:
            numbers = [self.n_clusters]
            if self.n_clusters > n_shown:
                raise ValueError(
                    f"n_clusters={self.n_clusters} is more than the {n_shown} rows that each "
                    f"partition is shown; raise max_samples={self.max_samples}."
                )
        draws = self._draws(n_rows, n_shown, n_columns)
        made = Parallel(n_jobs=self.n_jobs)(
            delayed(_partition)(clusterers[k % len(clusterers)], X, *draw, parameter, number)
            for number in numbers
            for k, draw in enumerate(draws)
        )
        tried = [np.stack(made[one], axis=1) for one in in_parts(len(made), self.n_partitions)]
        if all((partitions < 0).all() for partitions in tried):
            raise ValueError(
                "estimator takes every row for noise in every partition; change its settings."
            )
        n_clusters = self.n_clusters
        if parameter is not None:
            means, errors = zip(*map(core.stability, tried), strict=True)
            self.stability_ = dict(zip(numbers, means, strict=True))
            n_clusters = core.most_stable(numbers, list(means), list(errors))
            tried = [tried[numbers.index(n_clusters)]]
        self.partitions_ = tried[0]
        self.labels_, lifetimes, shares = _combine(
            self.partitions_, n_clusters, self.method, self.linkage, self.n_clusters_range
        )
        if parameter is None:
            self.stability_ = lifetimes
        self.__dict__.pop("co_association_", None)  # of an earlier fit, by another method
        if shares is not None:
            self.co_association_ = shares
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.confidence_ = core.confidence(self.partitions_, self.labels_)
        return self

    def _draws(
        self, n_rows: int, n_shown: int, n_columns: int
    ) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """Yield rows, columns and a seed per partition, the same for every number of clusters."""
        n_seen = _share_or_count(self.max_features, "max_features", n_columns)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        draws = [
            (
                core.drawn(seed, Purpose.HOLD_OUT, k, n_rows, n_shown),
                core.drawn(seed, Purpose.FLIP, k, n_columns, n_seen),
                int(UniformRows(seed, Purpose.START, 0, k, 1).read(0, 1)[0, 0] * (2**31 - 1)),
            )
            for k in range(self.n_partitions)
        ]
        n_missed = n_rows - len(np.unique(np.concatenate([rows for rows, _, _ in draws])))
        if n_missed:
            warnings.warn(
                f"{n_missed} of {n_rows} rows are shown to no partition and get the label -1; "
                "raise n_partitions or max_samples.",
                UserWarning,
                stacklevel=4,
            )
        return draws

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = self.estimator if isinstance(self.estimator, list | tuple) else [self.estimator]
        inner = [get_tags(one) for one in given if hasattr(one, "fit") and not isclass(one)]
        tags.input_tags.sparse = all(tag.input_tags.sparse for tag in inner)
        return tags
