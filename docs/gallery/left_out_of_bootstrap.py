"""How likely is it that a row is left out of its bootstrap sample, and what is the limit?

Each of N draws misses the row with probability 1 - 1/N, and the draws are independent: the
chance is (1 - 1/N)^N. It rises from 0 (N = 1) to 1/e = 0.368 and is 0.366 already at N = 100. So
each member of a bagged ensemble sees about 63 % of the rows, and 37 % are left to test it with.

The formula is compared with simulated draws and with the samples that scikit-learn's
``BaggingClassifier`` really drew (``estimators_samples_``).
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, interval, label, panels, save, title
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

SIZES = np.array([1, 2, 3, 5, 10, 20, 50, 100, 300, 1000])
BAGGED = np.array([5, 20, 100, 300, 1000])


def exact(N):
    return (1 - 1 / np.asarray(N, dtype=float)) ** N


def simulated(rng, N, n_samples):
    """The share of rows missing, over bootstrap samples of N rows."""
    shares = [1 - len(np.unique(rng.integers(N, size=N))) / N for _ in range(n_samples)]
    return np.mean(shares)


def of_bagging(seed, N, n_estimators):
    """The share of rows that trees of a bagged ensemble did not see."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 2)), np.arange(N) % 2
    tree = DecisionTreeClassifier(max_depth=1)
    bagging = BaggingClassifier(tree, n_estimators, random_state=seed).fit(X, y)
    return np.mean([1 - len(np.unique(rows)) / N for rows in bagging.estimators_samples_])


def draw(out, drawn, bagged):
    figure, ax = panels(size=(8, 4))
    N = np.geomspace(1, 1000, 300)
    ax.axhline(1 / np.e, color=GRAY, lw=1.2, ls="--")
    label(ax, 1, 1 / np.e, "1/e = 0.3679", GRAY, offset=(0, 8))
    ax.plot(N, exact(N), color=INK, lw=2, zorder=1)
    label(ax, 2.35, exact(2.35), r"exact: $(1 - 1/N)^N$", INK, offset=(12, -8))
    for x, values, shift, color, marker, text in (
        (SIZES, drawn, 0.955, BLUE, "o", "simulated draws"),
        (BAGGED, bagged, 1.045, ORANGE, "D", "BaggingClassifier's own samples"),
    ):
        ax.errorbar(x * shift, values.mean, values.half, fmt=marker, color=color, ms=5, capsize=3)
        ax.plot([], [], marker, color=color, label=f"{text} (95 % intervals)")
    ax.legend(loc="lower right", fontsize=9, frameon=False, labelcolor="linecolor")
    ax.set(xscale="log", ylim=(-0.01, 0.42), xlabel="N, rows in the training set")
    ax.set_ylabel("share of rows left out")
    ax.set_xticks([1, 2, 5, 10, 100, 1000], ["1", "2", "5", "10", "100", "1000"])
    title(ax, "A bootstrap sample leaves out 37 % of the rows, unless they are very few")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_samples, n_trees = (8, 40, 10) if quick else (20, 200, 50)
    drawn = interval(
        [
            [simulated(np.random.default_rng([seed, N]), N, n_samples) for N in SIZES]
            for seed in range(n_seeds)
        ]
    )
    bagged = interval([[of_bagging(seed, N, n_trees) for N in BAGGED] for seed in range(n_seeds)])
    print("   N   exact    simulated           BaggingClassifier")
    for position, N in enumerate(SIZES):
        own = ""
        if N in BAGGED:
            at = int(np.flatnonzero(BAGGED == N)[0])
            own = f"   {bagged.mean[at]:.4f} ± {bagged.half[at]:.4f}"
        estimate = f"{drawn.mean[position]:.4f} ± {drawn.half[position]:.4f}"
        print(f"{N:4}   {exact(N):.4f}   {estimate}{own}")
    print(f"limit  {1 / np.e:.4f}")
    draw(out, drawn, bagged)
    return {"exact": exact(SIZES), "simulated": drawn, "bagging": bagged}


if __name__ == "__main__":
    main()
