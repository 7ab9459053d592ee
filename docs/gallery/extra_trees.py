"""Do extra trees have more bias, less variance and faster training?

Faster: yes, since a threshold is drawn and not searched for. More bias and less variance for each
tree than in a random forest: yes where leaves hold several rows. Grown to single rows it is the
other way round for a tree: bootstrap rows cost the random forest more bias than random
thresholds cost, and these dice are variance too. What holds in both cases is that a forest of
extra trees varies less: dice are averaged away, and less of the variance comes from the training
set, which no averaging removes.

Bias is the same for a tree and for its forest, so one picture shows both: on many training sets
forests learn Friedman's first function, and the variance of their trees is split into what the
training set and what the dice (random thresholds; bootstrap rows) contribute. Fit times are
medians of interleaved fits in one process.
"""

from time import process_time

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, SKY, interval, panels, save, title
from shallow_trees import X_TEST, friedman, noisy_friedman
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

FORESTS = {"random forest": RandomForestRegressor, "extra trees": ExtraTreesRegressor}
LEAVES = (1, 5)
TERMS = ("bias", "training set", "dice")


def terms(forest, leaf, seed, n_sets, n_trees):
    """Squared bias, and variance by training set and by dice, of one tree of the forest."""
    rng = np.random.RandomState(seed)
    predicted = np.empty((n_sets, n_trees, len(X_TEST)))
    for position in range(n_sets):
        model = forest(n_trees, min_samples_leaf=leaf, random_state=seed * 1000 + position)
        model.fit(*noisy_friedman(rng))
        predicted[position] = [tree.predict(X_TEST) for tree in model.estimators_]
    dice = predicted.var(axis=1, ddof=1).mean()
    means = predicted.mean(axis=1)
    between = means.var(axis=0, ddof=1).mean()  # holds a share of the dice, as forests do
    bias = ((means.mean(axis=0) - friedman(X_TEST)) ** 2).mean() - between / n_sets
    return bias, between - dice / n_trees, dice


def seconds(n_rounds, n_rows):
    """Median fit times, all models in turn in each round."""
    rng = np.random.RandomState(0)
    X = rng.uniform(0, 1, (n_rows, 20))
    y = friedman(X) + rng.normal(size=n_rows)
    models = {
        ("one tree", "best split"): DecisionTreeRegressor(random_state=0),
        ("one tree", "random split"): ExtraTreeRegressor(max_features=1.0, random_state=0),
        ("ten trees", "best split"): RandomForestRegressor(10, random_state=0),
        ("ten trees", "random split"): ExtraTreesRegressor(10, random_state=0),
    }
    times = {name: [] for name in models}
    for _ in range(n_rounds):
        for name, model in models.items():
            start = process_time()
            model.fit(X, y)
            times[name].append(process_time() - start)
    ratios = {
        size: interval(np.divide(times[size, "best split"], times[size, "random split"]))
        for size in ("one tree", "ten trees")
    }
    return {name: float(np.median(each)) for name, each in times.items()}, ratios


def draw(out, found, times, n_trees):
    figure, axes = panels(1, 3, size=(9.2, 4), width_ratios=(1, 1, 0.72))
    colors = dict(zip(TERMS, (BLUE, ORANGE, SKY), strict=True))
    highest = max(values.mean.sum() for values in found.values())
    positions = (0, 0.8, 2, 2.8)
    for ax, leaf in zip(axes, LEAVES, strict=False):
        for position, (kind, forest) in zip(
            positions, [(kind, f) for kind in ("one", "forest") for f in FORESTS], strict=True
        ):
            values = found[forest, leaf]
            shown = values.mean * (1, 1, 1 if kind == "one" else 1 / n_trees)
            base = 0.0
            for term, height in zip(TERMS, shown, strict=True):
                ax.bar(position, height, 0.66, bottom=base, color=colors[term])
                if kind == "one":
                    ax.text(position, base + height / 2, f"{height:.1f}", ha="center", va="center",
                            fontsize=8.5, color=INK if term == "dice" else "white")  # fmt: skip
                base += height
            ax.text(position, base + 0.15, f"{base:.1f}", ha="center", va="bottom", fontsize=9)
        ax.set_xticks(positions, ["random\nforest", "extra\ntrees"] * 2, fontsize=8)
        for middle, text in ((0.4, "one tree"), (2.4, f"mean of {n_trees}")):
            ax.text(middle, -0.17, text, ha="center", va="top", fontsize=9.5,
                    transform=ax.get_xaxis_transform())  # fmt: skip
        ax.set_ylim(0, 1.1 * highest)
        title(ax, "full depth" if leaf == 1 else f"leaves of {leaf} rows or more")
    axes[0].set_ylabel("squared error about the truth")
    for row, (term, text) in enumerate(
        (("dice", "variance by dice"), ("training set", "variance by training set"),
         ("bias", "squared bias"))
    ):  # fmt: skip
        axes[1].text(1.0, 0.97 - 0.07 * row, text, transform=axes[1].transAxes, fontsize=9.5,
                     ha="right", va="top", color=colors[term], weight="bold")  # fmt: skip
    medians, ratios = times
    ax = axes[2]
    for position, value in zip(positions, medians.values(), strict=True):
        ax.bar(position, 1000 * value, 0.66, color=GRAY)
        ax.text(
            position, 1000 * value, f"{1000 * value:.0f}", ha="center", va="bottom", fontsize=9
        )
    ax.set_xticks(positions, ["best\nsplit", "random\nsplit"] * 2, fontsize=8)
    for middle, (size, ratio) in zip((0.4, 2.4), ratios.items(), strict=True):
        ax.text(middle, -0.17, f"{size}:\n{ratio.mean:.1f} times\nas fast", ha="center", va="top",
                fontsize=9.5, transform=ax.get_xaxis_transform())  # fmt: skip
    title(ax, "fit, milliseconds")
    ax.set_xlabel(" \n \n ", labelpad=14)  # room for the words below the ticks
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_sets, n_trees = (3, 6, 8) if quick else (8, 12, 25)
    runs = {
        (name, leaf): [terms(forest, leaf, seed, n_sets, n_trees) for seed in range(n_seeds)]
        for leaf in LEAVES
        for name, forest in FORESTS.items()
    }
    found = {key: interval(values) for key, values in runs.items()}
    for (name, leaf), values in found.items():
        one = interval([sum(run[1:]) for run in runs[name, leaf]])
        of_all = interval([run[1] + run[2] / n_trees for run in runs[name, leaf]])
        print(
            f"{name}, leaves of {leaf}: squared bias {values.mean[0]:.2f} ± {values.half[0]:.2f}, "
            f"variance of one tree {one.text(2)} (training set {values.mean[1]:.2f} ± "
            f"{values.half[1]:.2f}, dice {values.mean[2]:.2f} ± {values.half[2]:.2f}), "
            f"of {n_trees} trees {of_all.text(2)}"
        )
    times = seconds(5, 500) if quick else seconds(15, 2000)
    for (size, kind), value in times[0].items():
        print(f"fit of {size}, {kind}: {1000 * value:.1f} ms")
    for size, ratio in times[1].items():
        print(f"{size}: extra trees {ratio.text(2)} times as fast")
    draw(out, found, times, n_trees)
    return {"terms": found, "speed": times[1]}


if __name__ == "__main__":
    main()
