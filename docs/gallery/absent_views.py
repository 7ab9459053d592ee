"""What if a source of information is absent: no face, or no fingerprint?

Members on sources of their own go on deciding without it; one model of all columns has to guess
what it did not see. Computer security is the course's example of features of different nature.

Users of a computer, made up: is it the owner? A camera sees the face, a sensor the fingerprint,
and the keyboard how somebody types; each gives a few numbers, and each is wrong at times. 300
sessions to train on, 5,000 to test, drawn anew for each seed. The members are one logistic
regression for each source, fused by the mean; the rival is one of all columns, the missing ones
filled by their means. Then the camera is covered, the sensor broken, or both.

With all sources both are right equally often (94 %). Without the best source, the fingerprint,
the views lose less (81 and 79 %), and so they do where only typing is left (70 and 67 %): the one
model has learnt to count on columns that are now at their means. Its probabilities are better
while all is there, since it weighs sources by what they tell, and worse once two of them are
absent.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, interval, label, panels, save, title
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import MultiviewClassifier

VIEWS = {"face": slice(0, 4), "fingerprint": slice(4, 7), "typing": slice(7, 12)}
STRENGTH = {"face": 0.7, "fingerprint": 1.3, "typing": 0.5}
ABSENT = {
    "all there": (),
    "no face": ("face",),
    "no fingerprint": ("fingerprint",),
    "typing only": ("face", "fingerprint"),
}
MODELS = {"views, fused": BLUE, "one model, gaps filled": ORANGE}


def sessions(n_rows, rng):
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 12))
    for view, columns in VIEWS.items():
        # What disturbs a source (light, a cut, a hurry) disturbs all of its columns.
        X[:, columns] += 0.8 * rng.normal(size=(n_rows, 1))
        X[:, columns] += STRENGTH[view] * (2 * y[:, None] - 1)
    return X, y


def one_draw(seed):
    """Accuracy and log-loss of both models for each way to be incomplete."""
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = sessions(300, rng), sessions(5000, rng)
    models = {
        "views, fused": MultiviewClassifier(VIEWS, fuser="product").fit(X, y),
        "one model, gaps filled": make_pipeline(
            SimpleImputer(), StandardScaler(), LogisticRegression()
        ).fit(X, y),
    }
    found = {}
    for case, views in ABSENT.items():
        rows = X_test.copy()
        for view in views:
            rows[:, VIEWS[view]] = np.nan
        for name, model in models.items():
            p = model.predict_proba(rows)
            found[case, name] = np.mean(p.argmax(axis=1) == y_test), log_loss(y_test, p)
    return found


def draw(out, found):
    figure, axes = panels(1, 2, size=(9, 3.6))
    for term, (ax, what) in enumerate(zip(axes, ("accuracy", "log-loss"), strict=True)):
        for number, (name, color) in enumerate(MODELS.items()):
            values = [found[case, name] for case in ABSENT]
            means = np.array([value.mean[term] for value in values])
            halves = np.array([value.half[term] for value in values])
            place = np.arange(len(ABSENT)) + 0.36 * (number - 0.5)
            ax.bar(place, means, 0.34, yerr=halves, color=color, ecolor=INK, capsize=2)
            for x, mean in zip(place, means, strict=True):
                label(ax, x, mean, f"{mean:.2f}", INK, offset=(0, 7), ha="center", fontsize=7.5)
        ax.set_xticks(range(len(ABSENT)), list(ABSENT), fontsize=8.5)
        title(ax, what)
    axes[0].set_ylim(0.5, 1.02)
    for number, (name, color) in enumerate(MODELS.items()):
        axes[1].text(0.02, 0.95 - 0.08 * number, name, color=color, fontsize=9,
                     transform=axes[1].transAxes)  # fmt: skip
    axes[1].axhline(np.log(2), color=GRAY, lw=0.8, ls=":")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    draws = [one_draw(seed) for seed in range(5 if quick else 30)]
    found = {key: interval([one[key] for one in draws]) for key in draws[0]}
    print(f"{'':<18}{'':<26}accuracy          log-loss")
    for (case, name), value in found.items():
        accuracy, loss = (f"{m:.3f} ± {h:.3f}" for m, h in zip(*value, strict=True))
        print(f"{case:<18}{name:<26}{accuracy}     {loss}")
    draw(out, found)
    return found


if __name__ == "__main__":
    main()
