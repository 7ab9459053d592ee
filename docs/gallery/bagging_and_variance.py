"""Which learners does bagging help?

Those with high variance, if bootstrap samples make them change as fresh samples do. Among trees
what is won grows with depth and variance; logistic regression and naive Bayes have little
variance and win nothing. (It is variance that counts, not depth: on data where stumps vary as
much as deep trees, they win about as much.) Nearest neighbours show that variance alone is not
enough: a row's nearest neighbour is in 63 % of the bootstrap samples, so it wins the vote as it
did before, and next to nothing is won.

``bias_variance`` measures variance (Domingos) and expected error of each learner and of
15 bagged ones, on the same fresh training sets of a problem whose probabilities are known.
"""

import numpy as np
from _style import (
    BLUE,
    GRAY,
    GREEN,
    HERE,
    INK,
    ORANGE,
    PURPLE,
    interval,
    label,
    panels,
    save,
    title,
)
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from covey.inspection import bias_variance

LEARNERS = {
    "stump": DecisionTreeClassifier(max_depth=1),
    "depth 2": DecisionTreeClassifier(max_depth=2),
    "depth 4": DecisionTreeClassifier(max_depth=4),
    "full tree": DecisionTreeClassifier(),
    "1 neighbour": KNeighborsClassifier(1),
    "5 neighbours": KNeighborsClassifier(5),
    "25 neighbours": KNeighborsClassifier(25),
    "logistic regression": LogisticRegression(),
    "naive Bayes": GaussianNB(),
}
N_ROWS = 150


def probabilities(X):
    """P(y | x): a bent border, noise about it, and two irrelevant features."""
    height = 3 * (2 * X[:, 0] + X[:, 1] + X[:, 1] * X[:, 2])
    p = 1 / (1 + np.exp(-height))
    return np.c_[1 - p, p]


def drawn(rng):
    X = rng.normal(size=(N_ROWS, 5))
    return X, (rng.uniform(size=N_ROWS) < probabilities(X)[:, 1]).astype(int)


X_TEST = np.random.default_rng(0).normal(size=(250, 5))


def measured(model, seed, n_runs):
    return bias_variance(
        model,
        draw=drawn,
        X_test=X_TEST,
        truth=probabilities,
        n_runs=n_runs,
        random_state=seed,
    )


def color_of(name):
    if "neighbour" in name:
        return ORANGE
    return {"logistic regression": GREEN, "naive Bayes": PURPLE}.get(name, BLUE)


# Where a name does not cross a neighbour's interval.
PLACEMENTS = {
    "stump": {"offset": (0, 26), "ha": "center"},
    "logistic regression": {"offset": (-6, -28), "ha": "center"},
    "naive Bayes": {"offset": (16, -10)},
    "depth 2": {"offset": (-9, 10), "ha": "right"},
    "depth 4": {"offset": (-9, -10), "ha": "right"},
    "25 neighbours": {"offset": (0, -28), "ha": "center"},
    "1 neighbour": {"offset": (0, -16), "ha": "center"},
}


def draw(out, found):
    figure, ax = panels(size=(8, 4.3))
    ax.axhline(0, color=GRAY, lw=1, ls="--")
    for name, (x, y) in found.items():
        x, y = (type(each)(100 * each.mean, 100 * each.half) for each in (x, y))
        color = color_of(name)
        marker = "s" if color == ORANGE else "o" if color == BLUE else "D"
        ax.errorbar(x.mean, y.mean, y.half, x.half, marker, color=color, ms=7, capsize=3)
        placement = PLACEMENTS.get(name, {"offset": (9, 9)})
        label(ax, x.mean, y.mean, name, color, **placement)
    x, y = found["1 neighbour"]
    text = "the exception: bagged neighbours\nare the same neighbours"
    placement = {"offset": (0, 26), "ha": "center", "fontsize": 8.5}
    label(ax, 100 * x.mean, 100 * y.mean, text, INK, **placement)
    ax.set_xlabel("variance: % of predictions that leave the main one (Domingos)")
    ax.set_ylabel("won by bagging, points of error")
    ax.set_ylim(bottom=-0.9)
    title(ax, "Bagging helps where predictions depend on the training set, with one exception")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_runs, n_members = (2, 4, 9) if quick else (8, 8, 15)
    found = {}
    for name, learner in LEARNERS.items():
        pairs = []
        for seed in range(n_seeds):
            alone = measured(learner, seed, n_runs)
            bagged = measured(BaggingClassifier(learner, n_members), seed, n_runs)
            pairs.append((alone.variance, alone.expected_loss - bagged.expected_loss))
        found[name] = tuple(interval(values) for values in np.transpose(pairs))
        variance, gain = found[name]
        print(f"{name:<20} variance {variance.text()}   won by bagging {gain.text(4)}")
    draw(out, found)
    return {name: {"variance": each[0], "gain": each[1]} for name, each in found.items()}


if __name__ == "__main__":
    main()
