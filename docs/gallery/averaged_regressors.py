"""Two regressors that overfit, averaged: how much better is the mean?

Where their errors are uncorrelated, variance halves and bias stays. In general the mean of two
has (1 + correlation) / 2 of the variance of one: nothing is won if both saw the same rows and
are the same model, half if each has rows of its own, and something between for two bootstrap
samples of the same rows. Those are no gift: a spline on a bootstrap sample has more than twice
the variance of one on all rows, and it takes more than two of them to make up for it.

Splines with far too many knots are fitted to noisy points of a wave, on many training sets. The
members' variance, their correlation and the variance and bias of their mean are measured about
the known truth.
"""

import numpy as np
from _style import BLUE, GRAY, GREEN, HERE, INK, ORANGE, interval, label, panels, save, title
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

X_TEST = np.linspace(0.05, 0.95, 91)[:, None]
N_ROWS, NOISE = 60, 0.35


def wave(X):
    return np.sin(6 * X[:, 0])


def noisy_wave(rng):
    X = rng.uniform(0, 1, (N_ROWS, 1))
    return X, wave(X) + NOISE * rng.normal(size=N_ROWS)


def curve(X, y):
    """Predictions of the test points by a spline with too many knots."""
    knots = np.linspace(0, 1, 16)[:, None]
    return make_pipeline(SplineTransformer(knots=knots), Ridge(0.01)).fit(X, y).predict(X_TEST)


def resampled(rng, X, y):
    rows = rng.integers(len(y), size=len(y))
    return X[rows], y[rows]


def pairs_of_curves(rng):
    """Two curves of each kind of pair."""
    first, second = noisy_wave(rng), noisy_wave(rng)
    one = curve(*first)
    return {
        "the same rows": (one, one),
        "bootstrap samples\nof the same rows": (
            curve(*resampled(rng, *first)),
            curve(*resampled(rng, *first)),
        ),
        "rows of their own": (one, curve(*second)),
    }


def measured(pairs):
    """Terms of the members and of their mean, from pairs of shape (n_sets, 2, n_test)."""
    pairs = np.asarray(pairs)
    deviation = pairs - pairs.mean(axis=0)
    both = (deviation[:, 0] * deviation[:, 1]).mean()
    own, mean = deviation.var(axis=(0, 1)).mean(), pairs.mean(axis=1)
    n_sets, truth = len(pairs), wave(X_TEST)
    # Few sets leave a share of the variance in the squared bias; it is taken out.
    bias = {
        "squared_bias_of_one": (pairs[:, 0].mean(axis=0), pairs[:, 0].var(axis=0)),
        "squared_bias_of_mean": (mean.mean(axis=0), mean.var(axis=0)),
    }
    return {
        "correlation": both / own,
        "variance_of_one": own,
        "variance_of_mean": mean.var(axis=0).mean(),
        "ratio": mean.var(axis=0).mean() / own,
    } | {
        name: ((center - truth) ** 2 - spread / (n_sets - 1)).mean()
        for name, (center, spread) in bias.items()
    }


def draw(out, found):
    figure, (left, right) = panels(1, 2, width_ratios=(1.25, 1))
    rng = np.random.default_rng(21)  # a typical pair
    sets = noisy_wave(rng), noisy_wave(rng)
    curves = [curve(*each) for each in sets]
    for (X, y), predicted, color in zip(sets, curves, (BLUE, ORANGE), strict=True):
        left.scatter(X, y, s=9, color=color, alpha=0.45, linewidths=0)
        left.plot(X_TEST, predicted, color=color, lw=1.3)
    left.plot(X_TEST, wave(X_TEST), color=INK, lw=2, ls=(0, (2, 1.5)))
    left.plot(X_TEST, np.mean(curves, axis=0), color=GREEN, lw=3)
    for row, (text, color) in enumerate(
        (("regression 1", BLUE), ("regression 2", ORANGE), ("their mean", GREEN), ("truth", INK))
    ):
        left.text(0.03, 0.3 - 0.075 * row, text, color=color, transform=left.transAxes,
                  fontsize=9.5, weight="bold" if row == 2 else "normal")  # fmt: skip
    errors = [
        np.mean((predicted - wave(X_TEST)) ** 2)
        for predicted in (*curves, np.mean(curves, axis=0))
    ]
    left.set(xlabel="x", ylabel="y", ylim=(-2.1, 2.1))
    title(left, "squared errors {:.3f} and {:.3f}, of the mean {:.3f}".format(*errors))

    right.plot([0, 1], [0.5, 1], color=GRAY, lw=1.5, ls="--")
    right.text(0.36, 0.715, "(1 + correlation) / 2", rotation=32, color=GRAY, fontsize=9,
               rotation_mode="anchor", transform_rotates_text=True)  # fmt: skip
    for name, terms in found.items():
        x, y = terms["correlation"], terms["ratio"]
        if "bootstrap" in name:
            more = terms["variance_of_one"].mean / found["the same rows"]["variance_of_one"].mean
            name += f"\n(each with {more:.1f} times\nthe variance)"
        right.errorbar(x.mean, y.mean, y.half, x.half, "o", color=GREEN, ms=7, capsize=3)
        at_end = x.mean > 0.8
        label(right, x.mean, y.mean, name, INK, offset=(-9, 0) if at_end else (9, -8),
              ha="right" if at_end else "left", va="center" if at_end else "top")  # fmt: skip
    right.set(xlabel="correlation of the two curves' errors", ylim=(0.4, 1.05), xlim=(-0.1, 1.08))
    title(right, "variance of the mean / variance of one")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_sets = (4, 25) if quick else (20, 100)
    terms = {}
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        drawn = [pairs_of_curves(rng) for _ in range(n_sets)]
        for name in drawn[0]:
            terms.setdefault(name, []).append(measured([each[name] for each in drawn]))
    found = {
        name: {term: interval([each[term] for each in values]) for term in values[0]}
        for name, values in terms.items()
    }
    for name, values in found.items():
        print(name.replace("\n", " "))
        for term, value in values.items():
            print(f"    {term.replace('_', ' '):<20} {value.text(4)}")
    draw(out, found)
    return found


if __name__ == "__main__":
    main()
