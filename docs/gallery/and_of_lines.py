"""One line is too narrow a model. Are two lines and AND enough?

Yes, where the class fills a corner: what lies on the right side of both lines is a wedge, and no
single line can cut one out, not even the best of all lines on the test rows themselves. AND draws
convex regions only (their complements need OR), and someone has to find the two lines.

No one decides which line does what. The rows outside of the corner are split into two
parts by k-means, which sees no labels; each logistic regression learns to tell the corner from
one part; ``FusionClassifier(fuser="and")`` accepts what both accept.
"""

import numpy as np
from _style import BLUE, HERE, INK, ORANGE, interval, panels, save, title
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from covey import FusionClassifier


def corner(rng, n):
    """Points of a square; the upper right corner is class 1, with a blurred border."""
    X = rng.uniform(0, 1, (n, 2))
    seen = X + rng.normal(0, 0.03, (n, 2))
    return X, ((seen[:, 0] > 0.4) & (seen[:, 1] > 0.35)).astype(int)


def two_lines(X, y, seed):
    """Each line tells class 1 from one half of class 0, and AND joins them."""
    part = np.full(len(y), -1)
    part[y == 0] = KMeans(2, n_init=3, random_state=seed).fit_predict(X[y == 0])
    lines = []
    for which in (0, 1):
        rows = (y == 1) | (part == which)
        lines.append(LogisticRegression(C=100).fit(X[rows], y[rows]))
    lines.sort(key=lambda line: -abs(line.coef_[0, 0] / line.coef_[0, 1]))  # the upright one first
    names = ("classifier 1", "classifier 2")
    pairs = list(zip(names, lines, strict=True))
    return FusionClassifier(pairs, fuser="and", prefit=True).fit(X, y)


def best_line(X, y, n_angles=180):
    """Direction, threshold and accuracy of the best line on these very rows."""
    best = (None, None, 0.0)
    for angle in np.linspace(0, 2 * np.pi, n_angles, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        along = X @ direction
        order = np.argsort(along)
        # Class 1 is what lies beyond the threshold: right are zeros before it and ones after it.
        right = np.cumsum(y[order] == 0) + (y == 1).sum() - np.cumsum(y[order] == 1)
        position = right.argmax()
        if right[position] / len(y) > best[2]:
            best = (direction, along[order[position]], right[position] / len(y))
    return best


def draw(out, fused, X, y, line, scores):
    figure, axes = panels(1, 4, size=(9.6, 3.1), sharey=True)
    grid = np.linspace(0, 1, 201)
    x1, x2 = np.meshgrid(grid, grid)
    points = np.c_[x1.ravel(), x2.ravel()]
    direction, threshold, _ = line
    models = {
        "the best line of all": points @ direction - threshold,
        "classifier 1": fused.estimators_[0].decision_function(points),
        "classifier 2": fused.estimators_[1].decision_function(points),
        "1 AND 2": fused.predict_proba(points)[:, 1] - 0.5,
    }
    for ax, (name, height) in zip(axes, models.items(), strict=True):
        height = height.reshape(x1.shape)
        low, high = height.min() - 1, height.max() + 1
        ax.contourf(x1, x2, height, [low, 0, high], colors=[BLUE, ORANGE], alpha=0.18)
        ax.contour(x1, x2, height, [0], colors=INK, linewidths=2)
        for k, color, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
            ax.scatter(*X[y == k].T, s=13, c=color, marker=marker, linewidths=0, alpha=0.85)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
        task = {"classifier 1": ": left or not?", "classifier 2": ": below or not?"}
        title(ax, name + task.get(name, ""))
        found = scores[name]
        ax.set_xlabel(
            f"$x_1$\n{found.mean:.1%} ± {found.half:.1%} right",
            labelpad=-8,
            linespacing=1.8,
            weight="bold" if "AND" in name else "normal",
        )
    axes[0].set_ylabel("$x_2$", labelpad=-8)
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    scores = {name: [] for name in ("the best line of all", "classifier 1", "classifier 2")}
    scores |= {"one logistic regression": [], "1 AND 2": []}
    for seed in range(5 if quick else 30):
        rng = np.random.default_rng(seed)
        X, y = corner(rng, 200)
        X_test, y_test = corner(rng, 4000)
        fused = two_lines(X, y, seed)
        line = best_line(X_test, y_test)
        scores["the best line of all"].append(line[2])
        for member, name in zip(fused.estimators_, ("classifier 1", "classifier 2"), strict=True):
            scores[name].append(member.score(X_test, y_test))
        scores["one logistic regression"].append(
            LogisticRegression().fit(X, y).score(X_test, y_test)
        )
        scores["1 AND 2"].append(fused.score(X_test, y_test))
        if seed == 0:
            shown = fused, X, y, line
    scores = {name: interval(values) for name, values in scores.items()}
    for name, score in scores.items():
        print(f"{name:<24} accuracy {score.text()}")
    draw(out, *shown, scores)
    return scores


if __name__ == "__main__":
    main()
