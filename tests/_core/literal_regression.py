"""The members of a regression as the documents describe them, slow and readable.

Given the same random draws, `covey._core.algorithm1.trainer` must follow it step by step.
"""

import numpy as np


def loss(e, name, threshold=1.0, q=0.5, band=0.05):
    """The loss of one error."""
    if name == "squared":
        return e**2 / 2
    if name == "huber":
        return e**2 / 2 if abs(e) <= threshold else threshold * (abs(e) - threshold / 2)
    if e > band:
        return q * e
    if e < -band:
        return (q - 1) * e
    # A parabola that meets both lines, with their slopes.
    return (q - 0.5) * e + e**2 / (4 * band) + band / 4


def half_deviance(y, mu, power):
    """Half the deviance of one number of a Tweedie distribution, by the formulas of textbooks."""
    if power == 1:
        return (y * np.log(y / mu) if y else 0.0) - y + mu
    if power == 2:
        return y / mu - np.log(y / mu) - 1
    first = y ** (2 - power) / ((1 - power) * (2 - power))
    return first - y * mu ** (1 - power) / (1 - power) + mu ** (2 - power) / (2 - power)


def slope(e, name, threshold=1.0, q=0.5, band=0.05):
    """Its derivative by the error."""
    if name == "squared":
        return e
    if name == "huber":
        return min(max(e, -threshold), threshold)
    if e > band:
        return q
    if e < -band:
        return q - 1
    return q - 0.5 + e / (2 * band)


def typical(lost, v, name):
    """The loss that others are measured by: the mean, or what outliers do not move."""
    if name == "squared":
        return (v * lost).sum() / v.sum()
    half = v.sum() / 2
    median = next(one for one in np.sort(lost) if v[lost <= one].sum() >= half)
    return median / np.log(2)


def members(
    x,
    y,
    v,
    K,
    *,
    kind,
    eta,
    p,
    starts,
    flips,
    accepts,
    alpha=0.0,
    cost=0.0,
    max_iter=30,
    tol=0.0,
    patience=10,
    temperature=None,
):
    """Yields (theta, b, lambda, losses, F, taken) of one member after another."""
    n, D = x.shape
    earlier = []
    for k in range(K):
        theta, b = starts(k)
        lam = np.ones(D)
        if earlier:
            trust = [np.exp(-lost / typical(lost, v, kind["name"])) for lost in earlier]
            w = v * (1 - np.mean(trust, axis=0))
        else:
            w = v.copy()
        w = w / w.sum()

        def said(theta, b, lam):
            return np.array([sum(row[d] * lam[d] * theta[d] for d in range(D)) + b for row in x])

        def weighted(theta, b, lam, w=w):
            errors = y - said(theta, b, lam)
            return sum(w[m] * loss(errors[m], **kind) for m in range(n))

        def objective(theta, b, lam):
            size = sum((lam[d] * theta[d]) ** 2 for d in range(D))
            return weighted(theta, b, lam) + alpha / 2 * size + cost * lam.sum()

        def step(theta, b, lam, w=w):
            pull = np.array(
                [w[m] * slope(e, **kind) for m, e in enumerate(y - said(theta, b, lam))]
            )
            gradient = lam * (x.T @ pull - alpha * theta)
            return theta + eta * gradient, b + eta * pull.sum()

        unit = sum(w[m] * loss(y[m], **kind) for m in range(n))
        best, kept = objective(theta, b, lam), (theta, b, lam)
        losses, values, taken = [weighted(theta, b, lam)], [best], [False]
        waited = 0
        for t in range(max_iter):
            flip = flips(k, t) < p
            other = np.where(flip, 1 - lam, lam)
            plain = (*step(theta, b, lam), lam)
            flipped = (*step(theta, b, other), other)
            rise = objective(*flipped) - objective(*plain)
            if temperature is None:
                takes = rise < -1e-12 * unit
            else:
                takes = accepts(k, t) < np.exp(-max(rise / unit, 0) / (temperature * 0.98**t))
            takes = takes and flip.any()
            theta, b, lam = flipped if takes else plain
            F = objective(theta, b, lam)
            losses.append(weighted(theta, b, lam))
            values.append(F)
            taken.append(takes)
            waited = 0 if best - F > tol else waited + 1
            if best > F:
                best, kept = F, (theta, b, lam)
            if waited >= patience:
                break
        theta, b, lam = kept
        errors = y - said(theta, b, lam)
        earlier.append(np.array([loss(e, **kind) for e in errors]))
        yield theta * lam, b, lam, losses, values, taken
