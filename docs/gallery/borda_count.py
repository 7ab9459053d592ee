"""Why count ranks where members have scores that cannot be compared?

Because the mean of scores is the decision of whoever has the largest numbers. Borda's count asks
only in which order a member puts the classes, so that units do not matter, and it uses more than
a vote, which forgets all but the first class.

Ten handwritten digits, and three members of which each sees a part of the picture and none gives
probabilities: distances to the boundaries of a linear support vector machine (upper lines),
logarithms of naive Bayes' densities, which are in hundreds (middle), and counts of the nearest
rows (lower). They are fused by the mean of their scores as they are, by a majority vote and by
Borda's count, and the first member's scores are multiplied by numbers from a hundredth to ten
thousand.

Alone the three are right on 69, 82 and 76 % of new rows. The mean of scores is right on 70 to 93
%, as the unit happens to be. Borda's count is right on 94 % whatever the unit, the vote on 86 %:
where the three name three classes, second places decide.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, ORANGE, band, interval, label, panels, save, title
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from covey import Predictions
from covey.fusers import Borda, Majority

UNITS = np.logspace(-2, 4, 13)
COLORS = {"mean of scores": ORANGE, "majority vote": GRAY, "Borda's count": BLUE}
# The upper, middle and lower lines of a picture of 8 x 8: one part for each member.
PARTS = (slice(0, 24), slice(20, 44), slice(40, 64))


def one_draw(seed):
    """Accuracies of each rule for each unit of the first member, and of the members alone."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    upper, middle, lower = PARTS
    svm = make_pipeline(StandardScaler(), LinearSVC(C=0.01, max_iter=5000)).fit(X[:, upper], y)
    bayes = GaussianNB(var_smoothing=0.01).fit(X[:, middle], y)
    near = KNeighborsClassifier(15).fit(X[:, lower], y)
    scores = np.stack(
        [
            svm.decision_function(X_test[:, upper]),
            bayes.predict_joint_log_proba(X_test[:, middle]),
            15 * near.predict_proba(X_test[:, lower]),
        ],
        axis=1,
    )
    found = {name: [] for name in COLORS}
    for unit in UNITS:
        scaled = scores * np.array([unit, 1.0, 1.0])[None, :, None]
        P = Predictions(scaled, kind="score")
        decided = {
            "mean of scores": scaled.mean(axis=1),
            "majority vote": Majority().fit(P, y_test).fuse(P),
            "Borda's count": Borda().fit(P, y_test).fuse(P),
        }
        for name, values in decided.items():
            found[name].append(np.mean(values.argmax(axis=1) == y_test))
    alone = (scores.argmax(axis=2) == y_test[:, None]).mean(axis=0)
    return found, alone


def draw(out, rules, alone):
    figure, ax = panels(size=(7, 3.8))
    for name, values in rules.items():
        band(ax, UNITS, values, COLORS[name])
        label(ax, UNITS[-1], values.mean[-1], name, COLORS[name])
    members = zip(("linear SVM", "naive Bayes", "15 nearest"), alone.mean, strict=True)
    for name, accuracy in members:
        ax.axhline(accuracy, color=GRAY, lw=0.8, ls=":")
        label(ax, UNITS[0], accuracy, f"{name} alone", GRAY, offset=(2, 5), fontsize=8)
    ax.set_xscale("log")
    ax.set_xlim(UNITS[0], UNITS[-1] * 40)
    ax.set_xlabel("unit of the linear SVM's scores")
    title(ax, "accuracy on new rows")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    draws = [one_draw(seed) for seed in range(4 if quick else 20)]
    rules = {name: interval([each[name] for each, _ in draws]) for name in COLORS}
    alone = interval([each for _, each in draws])
    print("members alone:", ", ".join(f"{value:.3f}" for value in alone.mean))
    for name, values in rules.items():
        print(f"{name:<16} {values.mean.min():.3f} to {values.mean.max():.3f} over units")
    better = interval(
        [np.subtract(e["Borda's count"][0], e["majority vote"][0]) for e, _ in draws]
    )
    print(f"Borda's count less majority vote: {better.text()}")
    draw(out, rules, alone)
    return {"rules": rules, "alone": alone, "better": better}


if __name__ == "__main__":
    main()
