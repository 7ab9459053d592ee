"""Why is out-of-bag quality a lower bound of a forest's quality?

Because a row is judged only by the trees that did not see it, about 37 % of them: a small
forest is judged instead of a large one. So the score is too low on average where more trees
would still help, and it is the honest score of a forest of B/e trees: out-of-bag with 2.72 B
trees meets the test score of B trees. (With a handful of trees it stays below: some rows have
more judges than others, and few cost more than many bring.) It is a bound of the mean only. On a
single split it lies above the test score often enough, with many trees the gap vanishes, and rows
must be independent (copies of a row in and out of the bag make the score too good).

Forests are grown on random halves of three sets. Votes of the first B trees are counted on the
test rows and, out of bag, on the training rows; differences are taken within a split.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, band, interval, label, panels, save, title
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

SIZES = np.array([4, 8, 16, 32, 64])
STRETCHED = np.round(SIZES * np.e).astype(int)


def problems():
    return {
        "digits": load_digits(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "made up, 10 % noise": make_classification(
            1600, n_features=12, n_informative=8, flip_y=0.1, random_state=0
        ),
    }


def accuracy(votes, y):
    """Of the rows that anyone voted on."""
    judged = votes.any(axis=1)
    return (votes.argmax(axis=1) == y)[judged].mean()


def one_split(X, y, seed):
    """Out-of-bag and test accuracy of the first B trees, by B."""
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=seed)
    n_trees = int(STRETCHED[-1])
    forest = RandomForestClassifier(n_trees, random_state=seed).fit(X, y)
    out_of_bag = np.zeros((len(y), forest.n_classes_))
    test = np.zeros((len(y_test), forest.n_classes_))
    scores, judges = {}, 0
    for number, (tree, rows) in enumerate(
        zip(forest.estimators_, forest.estimators_samples_, strict=True), start=1
    ):
        left_out = np.setdiff1d(np.arange(len(y)), rows)
        out_of_bag[left_out] += tree.predict_proba(X[left_out])
        test += tree.predict_proba(X_test)
        judges += len(left_out)
        if number in SIZES or number in STRETCHED:
            scores[number] = accuracy(out_of_bag, y), accuracy(test, y_test)
    return {
        "out of bag": [scores[B][0] for B in SIZES],
        "out of bag, 2.72 B": [scores[B][0] for B in STRETCHED],
        "test": [scores[B][1] for B in SIZES],
        "judges": judges / (len(y) * n_trees),
    }


def draw(out, found):
    figure, axes = panels(1, len(found), size=(9, 3.8), sharey=True)
    styles = (("out of bag", ORANGE, "o"), ("out of bag, 2.72 B", BLUE, "D"))
    for ax, (name, values) in zip(axes, found.items(), strict=True):
        ax.axhline(0, color=INK, lw=1.5)
        for kind, color, marker in styles:
            gap = values["gap, " + kind]
            scaled = type(gap)(100 * gap.mean, 100 * gap.half)
            band(ax, SIZES, scaled, color, marker=marker, ms=5)
        ax.set_xscale("log", base=2)
        ax.set_xticks(SIZES, [str(B) for B in SIZES])
        ax.minorticks_off()
        ax.set_xlabel("B, trees of the forest")
        title(ax, name)
    axes[0].set_ylabel("out-of-bag minus test accuracy, points")
    label(axes[0], SIZES[0], 0, "test score of B trees", INK, offset=(2, 9))
    first = found[next(iter(found))]
    at = first["gap, out of bag"].mean[1] * 100
    label(axes[0], SIZES[1], at, "out of bag, B trees", ORANGE, offset=(10, -4))
    at = first["gap, out of bag, 2.72 B"].mean[2] * 100
    label(axes[0], SIZES[2], at, "out of bag,\n2.72 B trees", BLUE, offset=(0, -20))
    axes[1].text(0.98, 0.04, "bands: 95 % over splits", transform=axes[1].transAxes,
                 ha="right", fontsize=8.5, color=GRAY)  # fmt: skip
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    found = {}
    chosen = problems()
    if quick:
        chosen = {
            name: (X[:600], y[:600]) for name, (X, y) in chosen.items() if "cancer" not in name
        }
    for name, (X, y) in chosen.items():
        runs = [one_split(X, y, seed) for seed in range(3 if quick else 16)]
        values = {kind: np.array([run[kind] for run in runs]) for kind in runs[0]}
        above = (values["out of bag"] > values["test"]).mean(axis=0)
        for kind in ("out of bag", "out of bag, 2.72 B"):
            values["gap, " + kind] = values[kind] - values["test"]
        found[name] = {kind: interval(value) for kind, value in values.items()}
        found[name]["above"] = above
        print(f"{name}: a row is judged by {found[name]['judges'].text()} of the trees")
        for position, B in enumerate(SIZES):
            gaps = [
                f"{found[name][kind].mean[position]:+.4f} ± {found[name][kind].half[position]:.4f}"
                for kind in ("gap, out of bag", "gap, out of bag, 2.72 B")
            ]
            print(
                f"    B = {B:2}: test {found[name]['test'].mean[position]:.4f}, "
                f"out of bag {gaps[0]}, with 2.72 B trees {gaps[1]}; "
                f"above test in {above[position]:.0%} of splits"
            )
    draw(out, found)
    return found


if __name__ == "__main__":
    main()
