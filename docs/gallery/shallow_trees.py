"""Why should the trees of a forest be deep?

Because averaging takes variance away and leaves bias as it is. A forest of stumps is as
oversimplified as a stump; a forest of deep trees starts from little bias and loses most of its
variance. (Deep is not always best: with strong noise larger leaves can win, see
``forests_do_not_overfit.py``; but a forest never mends a bias that its trees share.)

Single trees and forests of growing depth learn Friedman's first function, and
``covey.inspection.bias_variance`` takes their squared error apart on fresh training sets.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, interval, panels, save, squared_bias, variance
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from covey.inspection import bias_variance

DEPTHS = (1, 2, 3, 5, 8, None)


def friedman(X):
    return (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )


def noisy_friedman(rng):
    X = rng.uniform(0, 1, (200, 6))
    return X, friedman(X) + rng.normal(size=200)


X_TEST = np.random.default_rng(0).uniform(0, 1, (300, 6))


def terms(model, seed, n_runs):
    result = bias_variance(
        model,
        draw=noisy_friedman,
        X_test=X_TEST,
        truth=friedman,
        n_runs=n_runs,
        random_state=seed,
    )
    return squared_bias(result), variance(result)


def draw(out, found):
    figure, axes = panels(1, 2, sharey=True)
    places = np.arange(len(DEPTHS))
    for ax, (name, values) in zip(axes, found.items(), strict=True):
        bias, spread = values.mean.T
        total = values.mean.sum(axis=1)
        ax.bar(places, bias, 0.72, color=BLUE)
        ax.bar(places, spread, 0.72, bottom=bias, color=ORANGE)
        halves = values.half.T
        ax.errorbar(places - 0.1, bias, halves[0], fmt="none", ecolor=INK, capsize=2, lw=1)
        ax.errorbar(places + 0.1, total, halves[1], fmt="none", ecolor=INK, capsize=2, lw=1)
        for place, height, half in zip(places, total, halves[1], strict=True):
            ax.annotate(f"{height:.1f}", (place, height + half), xytext=(0, 4), ha="center",
                        textcoords="offset points", fontsize=9, color=INK)  # fmt: skip
        ax.set_xticks(places, [str(depth or "full") for depth in DEPTHS])
        ax.set_xlabel("greatest depth of a tree")
        ax.set_title(name, loc="left", fontsize=10.5, color=INK)
    axes[0].set_ylabel("squared error about the truth")
    axes[0].text(0.0, 0.45 * found["one tree"].mean[0, 0], "bias", color="white", ha="center",
                 fontsize=10, weight="bold")  # fmt: skip
    bias, spread = found["one tree"].mean[-1]
    axes[0].text(len(DEPTHS) - 1, bias + spread / 2, "vari-\nance", color="white", ha="center",
                 va="center", fontsize=9, weight="bold")  # fmt: skip
    axes[1].text(0.97, 0.9, "Variance is averaged away, bias is not:\nstumps stay stumps.",
                 transform=axes[1].transAxes, ha="right", fontsize=9.5, color=GRAY)  # fmt: skip
    axes[0].set_ylim(0, 1.12 * max(values.mean.sum(axis=1).max() for values in found.values()))
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_runs, n_trees = (2, 5, 10) if quick else (6, 12, 25)
    found = {"one tree": [], f"forest of {n_trees} such trees": []}
    for seed in range(n_seeds):
        models = {
            name: [
                DecisionTreeRegressor(max_depth=depth)
                if name == "one tree"
                else RandomForestRegressor(n_trees, max_depth=depth)
                for depth in DEPTHS
            ]
            for name in found
        }
        for name, chosen in models.items():
            found[name].append([terms(model, seed, n_runs) for model in chosen])
    found = {name: interval(values) for name, values in found.items()}
    for name, values in found.items():
        for depth, mean, half in zip(DEPTHS, values.mean, values.half, strict=True):
            print(
                f"{name:<24} depth {depth or 'full'!s:<4}  squared bias {mean[0]:6.2f} ± "
                f"{half[0]:.2f}   variance {mean[1]:6.2f} ± {half[1]:.2f}"
            )
    draw(out, found)
    return dict(zip(("tree", "forest"), found.values(), strict=True))


if __name__ == "__main__":
    main()
