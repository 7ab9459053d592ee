"""Draws the README's picture: ``make picture`` writes docs/flock.png."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from covey import FlockClassifier, SubsetEnsembleClassifier, make_quarter_circle

BLUE, ORANGE, INK, PALE = "#3b6ea5", "#d9822b", "#22272e", "#e9edf2"
# How thin a member is drawn at least, as a share of all weight.
THINNEST = 0.035


def draw_boundaries(ax):
    """Members of a flock on the paper's square, and the line that their product draws."""
    X, y = make_quarter_circle(20, random_state=2)
    flock = SubsetEnsembleClassifier.paper(n_estimators=6, select_size=None, random_state=2)
    flock.fit(X, y)
    for label, color, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
        ax.scatter(*X[y == label].T, s=26, c=color, marker=marker, alpha=0.75, linewidths=0)
    angle = np.linspace(0, np.pi / 2, 200)
    ax.plot(np.cos(angle), np.sin(angle), color=INK, ls=":", lw=1.5, label="true boundary")
    x1 = np.array([0.0, 1.0])

    def line(member, **style):
        (a, b), c = member.coef_[1] - member.coef_[0], np.diff(member.intercept_)[0]
        ax.plot(x1, -(a * x1 + c) / b, **style)

    for number, member in enumerate(flock.estimators_):
        line(member, color="#8a95a3", lw=1, label="members" if number == 0 else None)
    line(flock.collapse(), color=INK, lw=2.2, label="fused: product")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
    ax.set_xlabel("$x_1$", labelpad=-8)
    ax.set_ylabel("$x_2$", labelpad=-8)
    ax.legend(loc="lower left", fontsize=8, framealpha=0.95)
    ax.set_title("grow and fuse: six linear members", fontsize=10, loc="left")


def draw_subsets(ax):
    """Which member of a default flock looks at which feature of the breast cancer data."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    flock = FlockClassifier(random_state=0).fit(X, y)
    # How much each feature moves each member, as a share of what moves it most.
    moved = np.abs(np.ptp(flock.member_coef_, axis=1) * flock.model_.column_scale)
    strength = np.stack([flock.basis_.on_features(member) for member in moved])
    strength /= strength.max(axis=1, keepdims=True)
    order = np.argsort(-flock.feature_importances_, kind="stable")
    shown = np.where(flock.support_, np.sqrt(strength), np.nan)[:, order]
    # Members are as wide as their weight, but never too thin to be seen.
    weights = flock.explain_fusion(X).mean(axis=0)
    widths = np.maximum(weights, THINNEST)
    edges = np.concatenate([[0.0], np.cumsum(widths / widths.sum())])
    colors = plt.get_cmap("Blues").copy()
    colors.set_bad("white")
    ax.pcolormesh(
        edges,
        np.arange(len(order) + 1),
        shown.T,
        cmap=colors,
        vmin=-0.25,
        vmax=1,
        edgecolors="white",
        linewidth=1.0,
    )
    ax.set_yticks(np.arange(len(order)) + 0.5, X.columns[order], fontsize=6.5)
    ax.invert_yaxis()
    middle = (edges[1:] + edges[:-1]) / 2
    labels = [
        f"{number}\n{100 * weight:.0f} %" if weight > THINNEST else str(number)
        for number, weight in enumerate(weights, 1)
    ]
    ax.set_xticks(middle, labels, fontsize=7)
    ax.tick_params(which="both", length=0)
    ax.set_xlabel("member, as wide as its mean weight", fontsize=9)
    ax.set_title("explain: who looks at what (white: not at all)", fontsize=10, loc="left")
    for spine in ax.spines.values():
        spine.set_color(PALE)
    print(flock.summary())


def main():
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 4.4), width_ratios=(1, 1.25), layout="constrained"
    )
    draw_boundaries(left)
    draw_subsets(right)
    path = Path(__file__).with_name("flock.png")
    figure.savefig(path, dpi=160)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
