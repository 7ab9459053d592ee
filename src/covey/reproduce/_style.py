"""How figures look, and how they become files that are the same each time."""

from __future__ import annotations

import io
from typing import Any

# Okabe and Ito's colors, which color-blind readers can tell apart.
COLORS = {
    "baseline": "#22272e",
    "theta": "#D55E00",
    "both": "#0072B2",
    "logistic": "#009E73",
    "covey": "#AA4499",
}
INK, GREY = "#22272e", "#7a8490"

_SETTINGS = {
    "svg.hashsalt": "covey",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure and its axes, without the frames that show nothing."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=rows == 1 or columns == 1)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def band(
    ax: Any,
    x: Any,
    intervals: Any,
    color: str,
    label: str | None = None,
    shade: float = 0.18,
    **line: Any,
) -> None:
    """A line through means, with their intervals as a band."""
    low, high = [one.low for one in intervals], [one.high for one in intervals]
    ax.fill_between(x, low, high, color=color, alpha=shade, linewidth=0)
    line = {"marker": "o", "ms": 3.5, "lw": 1.6, **line}
    ax.plot(x, [one.mean for one in intervals], color=color, label=label, **line)


def rendered(figure: Any) -> tuple[str, bytes]:
    """The figure as SVG text and as PNG bytes, free of dates and versions."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine("none")  # what it found stays
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return svg.getvalue().decode(), png.getvalue()
