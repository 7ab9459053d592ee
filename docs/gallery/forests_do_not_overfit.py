"""Do forests overfit when trees are added?

No: with B trees a forest is an average of B draws, and more draws only bring it nearer to its
limit, so test error falls and stays. Boosting adds trees that correct what is left, and with
noisy labels and no early stopping what is left is noise: its error rises (how soon depends on
the problem; on some it has not risen after 300 trees). But a limit can be a
poor one: where labels are noisy, a forest with larger leaves ends lower, so trees can be too deep
though never too many. (It is mean squared error that cannot rise with B, on average. The share
of errors may, a little, where trees are wrong more often than not: Probst and Boulesteix, *To
tune or not to tune the number of trees in random forest*, JMLR 2018.)

A fifth of the training labels is flipped; error is counted on clean test labels after each tree.
"""

import numpy as np
from _style import BLUE, GRAY, GREEN, HERE, ORANGE, SKY, band, interval, label, panels, save, title
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)

MODELS = {
    "boosting": GradientBoostingClassifier(learning_rate=0.2, max_depth=3),
    "random forest": RandomForestClassifier(),
    "extra trees": ExtraTreesClassifier(),
    "random forest, leaves of 10 rows": RandomForestClassifier(min_samples_leaf=10),
}
COLOURS = dict(zip(MODELS, (ORANGE, BLUE, GREEN, SKY), strict=True))
# Three lines end close to each other; their names keep apart.
SHIFTS = {"random forest": 7, "random forest, leaves of 10 rows": -18}


def drawn(seed, n_train=400, n_test=1000):
    """Six features, of which three decide; training labels are wrong one time in five."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_train + n_test, 6))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    noisy = np.where(rng.uniform(size=n_train) < 0.2, 1 - y[:n_train], y[:n_train])
    return X[:n_train], noisy, X[n_train:], y[n_train:]


def errors(model, X_test, y_test):
    """Test error after each tree."""
    if hasattr(model, "staged_predict"):
        return [np.mean(predicted != y_test) for predicted in model.staged_predict(X_test)]
    votes = np.cumsum([tree.predict_proba(X_test) for tree in model.estimators_], axis=0)
    return (votes.argmax(axis=2) != y_test).mean(axis=1)


def draw(out, found, n_trees):
    figure, ax = panels(size=(8, 4.2))
    B = np.arange(1, n_trees + 1)
    for name, values in found.items():
        band(ax, B, values, COLOURS[name], ls="--" if "leaves" in name else "-")
        text = name.replace(", ", ",\n")
        label(ax, n_trees, values.mean[-1], text, COLOURS[name], offset=(6, SHIFTS.get(name, 0)))
    lowest = int(found["boosting"].mean.argmin())
    best = found["boosting"].mean[lowest]
    ax.plot(lowest + 1, best, "o", color=ORANGE, ms=6)
    text = f"best after {lowest + 1} trees,\nthen it learns noise"
    arrow = {"arrowstyle": "-", "color": GRAY, "lw": 0.8}
    label(ax, lowest + 1, best, text, GRAY, offset=(-135, -32), arrowprops=arrow)
    ax.set_xscale("log")
    ticks = [tick for tick in (1, 3, 10, 30, 100, 300) if tick <= n_trees]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_xlim(1, n_trees)
    ax.set(xlabel="trees", ylabel="test error")
    title(ax, "20 % wrong training labels: more trees do not hurt a forest; they hurt boosting")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    n_seeds, n_trees = (4, 60) if quick else (10, 300)
    curves = {name: [] for name in MODELS}
    for seed in range(n_seeds):
        X, y, X_test, y_test = drawn(seed)
        for name, model in MODELS.items():
            model.set_params(n_estimators=n_trees, random_state=seed).fit(X, y)
            curves[name].append(errors(model, X_test, y_test))
    curves = {name: np.array(values) for name, values in curves.items()}
    tenth = n_trees // 10
    for name, values in curves.items():
        end = interval(values[:, -1]).text()
        rise = interval(values[:, -1] - values[:, tenth - 1])
        print(
            f"{name:<32} error with {n_trees} trees {end}, "
            f"change since {tenth} trees {rise.mean:+.3f} ± {rise.half:.3f}"
        )
    found = {name: interval(values) for name, values in curves.items()}
    draw(out, found, n_trees)
    return {
        name: {"end": found[name].mean[-1], "rise": interval(values[:, -1] - values[:, tenth - 1])}
        for name, values in curves.items()
    }


if __name__ == "__main__":
    main()
