"""Draws the README's picture: ``make picture`` writes docs/flock.png."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from covey import FlockClassifier

COLORS, PALE = ("#d9822b", "#3b6ea5", "#5a9e6f"), "#e9edf2"
MARKERS = "os^"
ACROSS, UP = "color_intensity", "flavanoids"


def draw_asked(ax, flock, X, y, right):
    """Which member each held-out wine mostly asks; its shape is its true cultivar."""
    asked = flock.explain_fusion(X).argmax(axis=1)
    for member in range(flock.n_estimators_):
        for cultivar, marker in enumerate(MARKERS):
            rows = (asked == member) & (y == cultivar).to_numpy()
            points = X.loc[rows, ACROSS], X.loc[rows, UP]
            ax.scatter(*points, s=34, c=COLORS[member], marker=marker, alpha=0.85, linewidths=0)
        name = f"member {member + 1}, alone right on {100 * right[member]:.0f} %"
        ax.scatter([], [], s=34, c=COLORS[member], marker="s", label=name)
    ax.set(xlabel=f"{ACROSS}   (the shape is the true cultivar)", ylabel=UP, ylim=(0, 7))
    ax.legend(fontsize=8, framealpha=0.95, title="asked most", title_fontsize=8)


def draw_subsets(ax, flock, X):
    """Which member looks at which column, with how large coefficients."""
    sizes = np.abs(np.ptp(flock.member_coef_, axis=1) * flock.model_.column_scale)
    sizes = np.stack([flock.basis_.on_features(member) for member in sizes])
    sizes = np.sqrt(sizes / sizes.max(axis=1, keepdims=True))
    seen = np.flatnonzero(flock.support_.any(axis=0))
    # Columns of the first member first, then those that the next ones add.
    seen = seen[np.lexsort((-sizes[:, seen].max(axis=0), flock.support_[:, seen].argmax(axis=0)))]
    for row, column in enumerate(seen):
        for member in np.flatnonzero(flock.support_[:, column]):
            place = (member + 0.03, row + 0.05)
            how = {"color": COLORS[member], "alpha": 0.25 + 0.75 * sizes[member, column]}
            ax.add_patch(plt.Rectangle(place, 0.94, 0.9, linewidth=0, **how))
    n_members = flock.n_estimators_
    ax.set(xlim=(0, n_members), ylim=(len(seen), 0))
    ax.set_xticks(np.arange(n_members) + 0.5, [f"member {k + 1}" for k in range(n_members)])
    ax.set_yticks(np.arange(len(seen)) + 0.5, X.columns[seen], fontsize=8)
    ax.tick_params(which="both", length=0)
    for spine in ax.spines.values():
        spine.set_color(PALE)


def main():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    flock = FlockClassifier(effort="fast", max_members=3, max_features=3, random_state=0)
    flock.fit(X_train, y_train)
    alone = [member.score(X_test, y_test) for member in flock.estimators_]
    together = flock.score(X_test, y_test)
    print(flock.summary())
    print(
        f"right on {together:.3f} of {len(y_test)} held-out rows, members alone",
        np.round(alone, 3),
    )
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 4.2), width_ratios=(1.35, 1), layout="constrained"
    )
    draw_asked(left, flock, X_test, y_test, alone)
    left.set_title(
        f"who is asked: {len(y_test)} held-out wines, {100 * together:.0f} % right together",
        fontsize=10,
        loc="left",
    )
    draw_subsets(right, flock, X)
    right.set_title("who looks at what: three columns each", fontsize=10, loc="left")
    path = Path(__file__).with_name("flock.png")
    figure.savefig(path, dpi=160)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
