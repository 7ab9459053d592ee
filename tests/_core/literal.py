"""Algorithm 1 as the paper prints it, line by line, slow and readable.

Given the same random draws, `covey._core.algorithm1.trainer` must follow it step by step.
"""

import numpy as np


def probabilities(x, lam, theta, b):
    """Eqs. (5) and (6), with an intercept: p[m, j]."""
    a = x @ np.diag(lam) @ theta.T + b
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def by_log_true(loss, q):
    """The derivative of minus a loss by log q, q being the probability of the true class."""
    return {
        "log": np.ones_like(q),
        "exponential": 0.5 / np.sqrt(q * (1 - q)),
        "focal": (1 - q) ** 2 - 2 * q * (1 - q) * np.log(q),
    }[loss]


def gradient(x, y, w, lam, theta, b, loss="log"):
    """The derivative of eq. (9), or of its relative by another loss, by theta and b."""
    p = probabilities(x, lam, theta, b)
    pull = by_log_true(loss, p[np.arange(len(y)), y])
    r = (w * pull)[:, None] * (np.eye(len(theta))[y] - p)
    return r.T @ x @ np.diag(lam), r.sum(axis=0)


def weights(earlier, y, v, name="mean_probability"):
    """Eq. (8), or its relatives: what the earlier members' probabilities leave to learn."""
    if not earlier or name is None:
        return np.ones(len(y))
    q = np.mean([p[np.arange(len(y)), y] for p in earlier], axis=0)
    if name == "mean_probability":
        return 1 - q
    if name == "divergence":
        w = -np.log(q)
    else:  # SAMME
        w = np.ones(len(y))
        for p in earlier:
            wrong = p.argmax(axis=1) != y
            e = (v * w * wrong).sum() / (v * w).sum()
            w = w * np.where(wrong, (1 - e) / e * (p.shape[1] - 1), 1.0)
    return w / (v * w).sum() * v.sum()


def accuracy(x, y, w, lam, theta, b, m):
    """Eqs. (4) and (7)."""
    f = probabilities(x, lam, theta, b).argmax(axis=1)
    return (w * (f == y)).sum() / m


def algorithm_1(
    x,
    y,
    K,
    eta,
    thr,
    p_lambda,
    starts,
    uniforms,
    v=None,
    max_iter=10**6,
    cost=0,
    loss="log",
    reweighting="mean_probability",
):
    """Lines 1 to 23; yields (k, Theta, b, Lambda).

    ``v`` are the user's sample weights, ``cost`` a penalty on the subset's size that the paper
    has not; ``loss`` and ``reweighting`` are the paper's by default.
    """
    v = np.ones(len(x)) if v is None else v
    M, D, earlier = v.sum(), x.shape[1], []
    for k in range(K):
        theta, b = starts(k)
        lam = np.ones(D)
        w = v * weights(earlier, y, v, reweighting)
        for step in range(max_iter):
            u_bin = uniforms(k, step) < p_lambda
            lam2 = np.logical_xor(lam, u_bin).astype(float)
            g, gb = gradient(x, y, w, lam, theta, b, loss)
            theta_new, b_new = theta + eta * g, b + eta * gb
            g, gb = gradient(x, y, w, lam2, theta, b, loss)
            theta_new2, b_new2 = theta + eta * g, b + eta * gb
            a_old = accuracy(x, y, w, lam, theta, b, M) - cost * lam.sum() * w.sum() / M
            a_new = accuracy(x, y, w, lam, theta_new, b_new, M) - cost * lam.sum() * w.sum() / M
            a_new2 = accuracy(x, y, w, lam2, theta_new2, b_new2, M)
            a_new2 -= cost * lam2.sum() * w.sum() / M
            delta = max(a_new, a_new2) - a_old
            if delta < thr - 1e-13:  # rounding is no gain and no loss
                break
            if a_new < a_new2 - 1e-13:
                theta, b, lam = theta_new2, b_new2, lam2
            else:
                theta, b = theta_new, b_new
            yield k, theta, b, lam
        earlier.append(probabilities(x, lam, theta, b))
