"""Weights of a sum of members, from predictions for rows that they were not fitted on.

Both losses can pull the weights towards ``1/K``: ``uniform_penalty * sum_k (w_k - 1/K)^2`` is
added to the mean loss of a row.
"""

from __future__ import annotations

import numpy as np

from covey._core.arrays import FloatArray
from covey._core.limits import TINY

# No member counts as surer than this that a class is impossible.
_FLOOR = 1e-6
# Newton's last step promises less than this of the mean loss, whose rounding errors hide so small
# a fall.
_GAIN = 1e-12
_ROUNDING = 1e-15
_MOST_STEPS = 100


def squared_weights(
    A: FloatArray,
    b: FloatArray,
    sample_weight: FloatArray,
    uniform_penalty: float = 0.0,
    nonnegative: bool = True,
    sum_to_one: bool = True,
) -> FloatArray:
    """Return weights ``w`` of the least mean of ``(A w - b)^2``, exact under either constraint.

    ``A`` (n, K) holds the members' predictions for the rows, and ``b`` the truth. Without
    constraints this is ridge regression towards ``1/K``, as strong as ``uniform_penalty``, and
    plain least squares (the shortest solution) without a penalty; then members with equal
    predictions share their weight in an arbitrary way if weights are non-negative. Non-negative
    weights come from the active-set method of Lawson and Hanson. Weights that sum to one need no
    method of their own, because the error ``A w - b`` is then linear in ``w``: see
    `_on_the_plane`.
    """
    n_members = A.shape[1]
    root = np.sqrt(sample_weight / sample_weight.sum())[:, None]
    pull = np.sqrt(uniform_penalty) * np.eye(n_members)
    if sum_to_one:
        # On the plane, the squared distance to 1/K and the squared length differ by 1/K only.
        return _on_the_plane(np.concatenate([root * (A - b[:, None]), pull]), nonnegative)
    rows = np.concatenate([root * A, pull])
    target = np.concatenate([root[:, 0] * b, pull.sum(axis=1) / n_members])
    return _least_squares(rows, target, nonnegative)


def log_weights(
    true: FloatArray, sample_weight: FloatArray, uniform_penalty: float = 0.0
) -> FloatArray:
    """Return weights of the mixture of least log-loss; non-negative, they sum to one.

    ``true`` (n, K) holds the members' probabilities of the true class of each row. This is
    Newton's method under the constraints. With ``r_ik = p_ik / sum_j w_j p_ij`` the quadratic
    model of the loss at ``w`` is half the mean of ``(r v - 2)^2``, so that each step is a problem
    of `squared_weights`; it is halved until the loss falls. The loss is convex. About ten steps
    are taken; EM, which has the same fixed points, would need thousands where a weight is zero.
    """
    true = np.maximum(true, _FLOOR)
    n_rows, n_members = true.shape
    share = sample_weight / sample_weight.sum()
    even = 1.0 / n_members

    def loss(w: FloatArray) -> float:
        return float(-share @ np.log(true @ w) + uniform_penalty * ((w - even) ** 2).sum())

    weights = np.full(n_members, even)
    value = loss(weights)
    for _ in range(_MOST_STEPS):
        ratio = true / (true @ weights)[:, None]
        gradient = -(share @ ratio) + 2.0 * uniform_penalty * (weights - even)
        step = squared_weights(ratio, np.full(n_rows, 2.0), share, 2.0 * uniform_penalty) - weights
        slope = float(gradient @ step)
        if slope > -_GAIN:
            # A step that promises nothing for its length is one between equals, and is not taken.
            if slope < -_ROUNDING * np.abs(step).sum():
                weights = weights + step
            break
        length = 1.0
        while length > 1e-10 and loss(weights + length * step) > value + 1e-4 * length * slope:
            length /= 2.0
        weights = weights + length * step
        value = loss(weights)
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum()


def _on_the_plane(rows: FloatArray, nonnegative: bool) -> FloatArray:
    """Return the weights that sum to one, of the least ``|rows w|^2``.

    One more equation, ``sum(u) = 1``, stands in for the constraint. With ``f = |rows w|^2`` the
    best of all ``u = t w`` has ``t = 1 / (1 + f)`` and an error of ``f / (1 + f)``, which is
    least where ``f`` is: ``u`` divided by its sum is the solution, not an approximation.
    """
    n_members = rows.shape[1]
    sizes = np.sqrt((rows**2).sum(axis=0))
    if not sizes.any():
        return np.full(n_members, 1.0 / n_members)
    # In units of the best member's error, unless that is almost zero, t is far from 0.
    unit = max(sizes.min(), 1e-6 * sizes.max())
    system = np.concatenate([rows / unit, np.ones((1, n_members))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    u = _least_squares(system, target, nonnegative)
    return u / u.sum()


def _least_squares(rows: FloatArray, target: FloatArray, nonnegative: bool) -> FloatArray:
    n_members = rows.shape[1]
    # A triangle of K + 1 rows has the same least squares as millions of them.
    triangle: FloatArray = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
    rows, target = triangle[:, :n_members], triangle[:, n_members]
    return _nonnegative_solution(rows, target) if nonnegative else _solution(rows, target)


def _solution(rows: FloatArray, target: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(rows, target, rcond=None)[0], dtype=np.float64)


def _nonnegative_solution(rows: FloatArray, target: FloatArray) -> FloatArray:
    """Solve by Lawson and Hanson: members enter one by one, and leave when they turn negative.

    SciPy's ``nnls`` solves the normal equations in some versions, and does not end where
    members repeat each other. Here each step is an orthogonal solution, and a member that does
    not lower the error when it enters is not tried again until another one has.
    """
    size = np.sqrt((rows**2).sum(axis=0))
    size[size == 0.0] = 1.0
    rows = rows / size
    n_members = rows.shape[1]
    x, inside = np.zeros(n_members), np.zeros(n_members, dtype=bool)
    refused = np.zeros(n_members, dtype=bool)
    error = float(target @ target)
    least = 10.0 * n_members * np.finfo(np.float64).eps * np.sqrt(error)
    while True:
        gain = np.where(inside | refused, -np.inf, rows.T @ (target - rows @ x))
        entering = int(np.argmax(gain))
        if gain[entering] <= least:
            break
        tried, within = x, inside.copy()
        within[entering] = True
        while within.any():
            aim = np.zeros(n_members)
            aim[within] = _solution(rows[:, within], target)
            falling = within & (aim <= 0.0)
            if not falling.any():
                tried = aim
                break
            # The step goes as far as the first member that would turn negative, which leaves.
            reach = tried[falling] / np.maximum(tried[falling] - aim[falling], TINY)
            tried = tried + reach.min() * (aim - tried)
            within &= ~falling | (tried > 0.0)
            within[np.flatnonzero(falling)[reach.argmin()]] = False
            tried = np.where(within, tried, 0.0)
        missed = target - rows @ tried
        if float(missed @ missed) < error:
            x, inside, error = tried, within, float(missed @ missed)
            refused[:] = False
        else:
            refused[entering] = True
    return x / size
