"""What to ask for next: labels of rows on which views disagree, and views that cost something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_consistent_length

from covey._blocks import take_rows
from covey._core.fusion import contention
from covey._validation import check_choice, check_number
from covey.fusers import Predictions

STRATEGIES = ("conservative", "aggressive", "naive")

# The points of a curve of accuracy and cost.
_CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)


def checked_costs(costs: Any, views: list[str]) -> np.ndarray:
    """The cost of each view, (V,), by a mapping from names or one number a view."""
    if isinstance(costs, Mapping):
        for name in costs:
            if name not in views:
                raise ValueError(
                    f"view_cost names the view {name!r}, which there is not; the views are "
                    f"{', '.join(map(repr, views))}."
                )
        for name in views:
            if name not in costs:
                raise ValueError(f"view_cost has no cost of the view {name!r}; give one.")
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


def views_needed(
    P: Predictions,
    owner: np.ndarray,
    order: np.ndarray,
    confidence: float,
    fuse: Callable[[Predictions, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Which views are asked for each row, (n, V), the first of ``order`` first.

    ``owner`` (K,) is the view of each member. No more views are asked for a row once the members
    of those that it has are fused into a probability of ``confidence`` or more; ``fuse`` takes
    predictions and the numbers of their rows.
    """
    known = np.ones((P.n_samples, P.n_members), dtype=bool)
    if P.available is not None:
        known = P.available
    asked = np.zeros((P.n_samples, len(order)), dtype=bool)
    open_rows = np.arange(P.n_samples)
    for view in order:
        has = known[:, owner == view].any(axis=1)
        new = open_rows[has[open_rows]]
        asked[new, view] = True
        if not len(new):
            continue
        fused = fuse(with_views(P, owner, asked).rows(new), new)
        sure = new[fused.max(axis=1) >= confidence]
        open_rows = np.setdiff1d(open_rows, sure, assume_unique=True)
    return asked


def with_views(P: Predictions, owner: np.ndarray, asked: np.ndarray) -> Predictions:
    """The predictions of the members whose view is asked for a row."""
    available = asked[:, owner]
    if P.available is not None:
        available = available & P.available
    return Predictions(
        P.classes[P.labels] if P.kind == "label" else P.values,
        P.classes,
        P.names,
        P.kind,
        available=available,
        seen=P.seen,
    )


class ViewQueries:
    """What a multiview classifier can say about rows and views that it has not seen yet."""

    def query(
        self,
        X: Any,
        n: int = 10,
        *,
        strategy: str = "conservative",
        random_state: Any = None,
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
        X = self._check_rows(X)
        views, present = self._by_view(X)
        points = contention.contention_points(views, present)
        if strategy == "naive":
            priority = check_random_state(random_state).uniform(size=len(points))
        elif strategy == "aggressive":
            priority = contention.surest_disagreement(views, present)
        else:
            priority = contention.evenest_disagreement(views, present)
        share = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
        mean = np.sort(np.einsum("nvc,nv->nc", views, share), axis=1)
        margin = mean[:, -1] - mean[:, -2]
        return contention.in_order(points, priority, margin)[:n]

    def _by_view(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """What the members of each view predict on average, (n, V, C), and who has which."""
        P = self._all_predictions(X)
        values = P.votes if P.kind != "probability" else P.values
        known = np.ones(values.shape[:2], dtype=bool) if P.available is None else P.available
        owner = self._owners()
        views = np.zeros((len(values), len(self.views_), values.shape[2]))
        present = np.zeros(views.shape[:2], dtype=bool)
        for view in range(len(self.views_)):
            own = known[:, owner == view]
            count = own.sum(axis=1)
            total = (values[:, owner == view] * own[:, :, None]).sum(axis=1)
            views[:, view] = total / np.maximum(count, 1)[:, None]
            present[:, view] = count > 0
        return views, present

    def _owners(self) -> np.ndarray:
        """The number of each member's view, (K,)."""
        names = list(self.views_)
        return np.array([names.index(view) for view in self.member_views_])

    # -- views that cost ---------------------------------------------------------------------

    def views_asked(self, X: Any) -> np.ndarray:
        """Which views are asked for each row: cheap ones first, until the flock is sure.

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
        """How accurate the flock is, and what it costs, for several levels of confidence.

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
        P, costs = self._all_predictions(X), self._costs()
        found = []
        for level in levels:
            asked = self._views_asked(P, X, float(level))
            fused = self._fuse_rows(with_views(P, self._owners(), asked), X)
            right = self.classes_[fused.argmax(axis=1)] == y
            found.append((float((asked @ costs).mean()), float(right.mean())))
        cost, accuracy = np.array(found).T
        return Bunch(confidence=levels, cost=cost, accuracy=accuracy)

    def _costs(self) -> np.ndarray:
        return checked_costs(self.view_cost, list(self.views_))

    def _views_asked(self, P: Predictions, X: Any, confidence: float) -> np.ndarray:
        owner = self._owners()
        if self.view_cost is None:
            known = np.ones((P.n_samples, P.n_members), dtype=bool)
            known = known if P.available is None else P.available
            views = range(len(self.views_))
            return np.stack([known[:, owner == view].any(axis=1) for view in views], axis=1)
        order = np.argsort(self._costs(), kind="stable")
        return views_needed(
            P,
            owner,
            order,
            confidence,
            lambda some, rows: self._fuse_rows(some, take_rows(X, rows)),
        )

    def _frugal(self, P: Predictions, X: Any) -> Predictions:
        """The predictions of those members whose views are asked."""
        if self.view_cost is None:
            return P
        return with_views(P, self._owners(), self._views_asked(P, X, self.confidence))
