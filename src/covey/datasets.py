"""Synthetic data whose relevant features are known."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from covey._validation import check_number

__all__ = ["make_quarter_circle"]


def make_quarter_circle(
    n_samples_per_class: int = 100,
    *,
    n_dummy_features: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Make the paper's synthetic set, eq. (11): a quarter of a disc in the unit square.

    Class 0 is ``x1**2 + x2**2 < 1``, class 1 the rest; both are equally frequent. No linear
    boundary is right everywhere, so that an ensemble of linear members can be better than one.

    Parameters
    ----------
    n_samples_per_class : int, default=100
        Rows of each class.
    n_dummy_features : int, default=0
        Further uniform columns without any influence; the paper's extended set has 6.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (2 * n_samples_per_class, 2 + n_dummy_features)
    y : ndarray of shape (2 * n_samples_per_class,)
        Rows are shuffled.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(50, n_dummy_features=6, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 8), 50)
    """
    check_number(n_samples_per_class, "n_samples_per_class", low=1, whole=True)
    check_number(n_dummy_features, "n_dummy_features", low=0, whole=True)
    rng = check_random_state(random_state)
    rows = [np.empty((0, 2)), np.empty((0, 2))]
    while min(map(len, rows)) < n_samples_per_class:
        points = rng.uniform(size=(4 * n_samples_per_class, 2))
        inside = (points**2).sum(axis=1) < 1
        rows = [
            np.concatenate([rows[0], points[inside]]),
            np.concatenate([rows[1], points[~inside]]),
        ]
    X = np.concatenate([points[:n_samples_per_class] for points in rows])
    y = np.repeat([0, 1], n_samples_per_class)
    X = np.hstack([X, rng.uniform(size=(len(X), n_dummy_features))])
    order = rng.permutation(len(X))
    return X[order], y[order]
