"""Draw docs/architecture.png: what passes between the packages, and which may import which."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Low to high: a package may import those below it.
LAYERS = [
    ("covey._state · covey._core", "the kinds of stored fields; mathematics on plain arrays, no "
     "scikit-learn", "#dfe7ef"),
    ("covey/_*.py", "validation, decisions, devices, files, intervals, blocks of rows", "#e9edf1"),
    ("tables", "how the columns of a table are read, and become numbers", "#e9edf1"),
    ("fusers", "Predictions and rules: how members are fused", "#f6e3c5"),
    ("dask · datasets", "rows on a cluster; the paper's synthetic set", "#e9edf1"),
    ("inspection", "what can be measured and drawn of an ensemble", "#d9ead7"),
    ("evaluation · reporting", "how good a model is, as data and as a page", "#d9ead7"),
    ("members", "Flock*, SubsetEnsemble*, Fusion*, Multiview*: how members are grown", "#f3d3cf"),
    ("stacking · multiclass · selection · clustering · rivals", "built from members and fusers",
     "#f3e6e4"),
    ("onnx · utils · persistence", "models that travel; checks of what others write", "#e9edf1"),
    ("serving · cli", "a model as a web page, and the command covey", "#e9edf1"),
]  # fmt: skip


def box(ax, x, y, width, height, color, title, text, size=9.5):
    shape = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0.008", facecolor=color, edgecolor="#5a6672"
    )
    ax.add_patch(shape)
    middle = x + width / 2
    ax.text(middle, y + 0.64 * height, title, ha="center", va="center", weight="bold", size=size)
    ax.text(middle, y + 0.28 * height, text, ha="center", va="center", size=size - 1.8)


def arrow(ax, start, end, text=None):
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=14, color="#5a6672"))
    if text:
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        ax.text(x, y + 0.03, text, ha="center", size=8)


def main():
    figure, (flow, layers) = plt.subplots(
        2, 1, figsize=(9, 9.6), height_ratios=[1, 2.9], layout="constrained"
    )
    box(flow, 0.0, 0.45, 0.11, 0.3, "#ffffff", "X, y", "a table")
    box(flow, 0.2, 0.45, 0.2, 0.3, "#f3d3cf", "members: grow", "each on its own features")
    box(flow, 0.59, 0.45, 0.17, 0.3, "#f6e3c5", "fuser: fuse", "one decision")
    box(flow, 0.86, 0.45, 0.14, 0.3, "#ffffff", "decision", "predict_proba")
    box(flow, 0.4, 0.0, 0.3, 0.28, "#d9ead7", "inspection: explain", "who decided, and why")
    arrow(flow, (0.115, 0.6), (0.195, 0.6))
    arrow(flow, (0.405, 0.6), (0.585, 0.6), "Predictions\n(n, members, classes)")
    arrow(flow, (0.765, 0.6), (0.855, 0.6))
    arrow(flow, (0.5, 0.58), (0.53, 0.29))
    flow.set(xlim=(-0.02, 1.02), ylim=(-0.05, 0.85))
    height = 1 / len(LAYERS)
    for number, (title, text, color) in enumerate(LAYERS):
        box(layers, 0.06, number * height + 0.008, 0.92, height - 0.025, color, title, text)
    arrow(layers, (0.02, 0.97), (0.02, 0.02))
    layers.text(-0.015, 0.5, "may import", rotation=90, va="center", ha="center", size=9)
    layers.set(xlim=(-0.03, 1.0), ylim=(-0.01, 1.0))
    for ax in (flow, layers):
        ax.axis("off")
    figure.savefig(Path(__file__).parent / "architecture.png", dpi=110)


if __name__ == "__main__":
    main()
