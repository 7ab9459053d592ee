"""Which rows should be labelled next, if labels are dear and views are plenty?

Those on which views disagree: at least one of them is wrong there, and learns from the label.
Rows on which all agree teach little, however many are drawn. This is co-testing of Muslea, Minton
and Knoblock, which the paper cites for views that are given.

Handwritten digits, told apart by the upper and the lower half of the picture, each half with a
classifier of its own. Twenty labels to begin with, then ten more at a time: drawn at random, of
the rows of which the fused members are least sure, or of those on which the halves disagree:
where both are equally sure ("conservative", the default), or where both are as sure as can be
("aggressive"). Accuracy is that on 600 rows that are never asked about, over draws of all rows.

With 150 labels conservative co-testing is right on four points more rows than with labels drawn
at random, and needs about 90 labels for what random ones reach with 150. Aggressive co-testing
asks for rows that are odd rather than instructive, and gains two points. To ask for the least
sure rows is as good as co-testing here, and needs no views.
"""

import numpy as np
from _style import BLUE, GRAY, GREEN, HERE, ORANGE, band, interval, label, panels, save, title
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from covey import MultiviewClassifier

VIEWS = {"upper half": slice(0, 32), "lower half": slice(32, 64)}
FIRST, MORE, LAST = 20, 10, 150
WAYS = {"random": GRAY, "least sure": GREEN, "conservative": BLUE, "aggressive": ORANGE}


def asked(way, model, rows, rng):
    """The next rows to be labelled."""
    if way == "random":
        return rng.choice(len(rows), MORE, replace=False)
    if way != "least sure":
        return model.query(rows, MORE, strategy=way)
    p = np.sort(model.predict_proba(rows), axis=1)
    return np.argsort(p[:, -1] - p[:, -2])[:MORE]


def one_draw(seed, last):
    """Accuracies after each question, for each way to ask."""
    rng = np.random.default_rng(seed)
    X, y = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    test, pool = order[:600], order[600:]
    first = [rng.choice(pool[y[pool] == digit], FIRST // 10, replace=False) for digit in range(10)]
    learner = make_pipeline(MinMaxScaler(), LogisticRegression(C=10, max_iter=2000))
    found = {}
    for way in WAYS:
        known, scores = np.concatenate(first), []
        while True:
            model = MultiviewClassifier(VIEWS, learner).fit(X[known], y[known])
            scores.append(model.score(X[test], y[test]))
            if len(known) >= last:
                break
            rest = np.setdiff1d(pool, known)
            known = np.concatenate([known, rest[asked(way, model, X[rest], rng)]])
        found[way] = scores
    return found


def draw(out, numbers, found):
    figure, ax = panels(size=(7, 3.8))
    for way, color in WAYS.items():
        band(ax, numbers, found[way], color)
        above = 5 if way == "least sure" else -5 if way == "conservative" else 0
        label(ax, numbers[-1], found[way].mean[-1], way, color, offset=(5, above))
    ax.set_xlim(numbers[0], numbers[-1] * 1.18)
    ax.set_xlabel("labels")
    title(ax, "accuracy on new rows")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    last = 60 if quick else LAST
    draws = [one_draw(seed, last) for seed in range(3 if quick else 10)]
    numbers = np.arange(FIRST, last + 1, MORE)
    found = {way: interval([one[way] for one in draws]) for way in WAYS}
    gain = interval([one["conservative"][-1] - one["random"][-1] for one in draws])
    for way, values in found.items():
        print(f"{way:<12} with {last} labels: {values.mean[-1]:.3f} ± {values.half[-1]:.3f}")
    enough = numbers[int(np.argmax(found["conservative"].mean >= found["random"].mean[-1]))]
    print(f"co-testing less random: {gain.text()}; as good with {enough} labels")
    draw(out, numbers, found)
    return {**found, "gain": gain, "enough": int(enough)}


if __name__ == "__main__":
    main()
