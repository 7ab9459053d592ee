"""Reads results.csv; writes docs/selection.md and docs/selection.png."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.selection.designs import DESIGNS
from benchmarks.selection.selectors import LEVEL, SELECTORS, TIMED

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
ORANGE, BLUE, GRAY, INK = "#d9822b", "#3b6ea5", "#9a9a9a", "#333333"
COMPARED = 10  # seeds of comparisons; those beyond are for the rate of false discoveries


def means(results, measure):
    """Designs x selectors, means over seeds."""
    table = results.pivot_table(index="design", columns="selector", values=measure)
    designs = [name for name in DESIGNS if name in table.index]
    return table.reindex(index=designs, columns=[one for one in SELECTORS if one in table])


def table(*frames, form):
    """Markdown: a row for each selector, a column for each design."""
    first = frames[0]
    lines = ["| selector | " + " | ".join(first.index) + " |", "|" + " --- |" * (len(first) + 1)]
    for selector in first.columns:
        cells = []
        for design in first.index:
            values = [
                frame[selector].get(design, np.nan) if selector in frame else np.nan
                for frame in frames
            ]
            cells.append("" if np.isnan(values[0]) else form(*values))
        lines.append(f"| {selector} | " + " | ".join(cells) + " |")
    return lines


def first_and_own(first, found):
    return f"{first:.2f}" + ("" if np.isnan(found) else f" ({found:.2f})")


def own_and_size(first, found, size):
    return f"{first:.2f}" + ("" if np.isnan(found) else f" ({found:.2f}, {size:.1f})")


def dots(ax, first, title):
    """covey beside recursive elimination, design by design."""
    order = first.index[::-1]
    place = np.arange(len(order))
    covey, rival = first.loc[order, "covey"], first.loc[order, "recursive elimination"]
    ax.hlines(place, rival, covey, color=GRAY, lw=1.2, zorder=1)
    ax.scatter(rival, place, color=BLUE, s=34, zorder=2, label="recursive elimination")
    ax.scatter(covey, place, color=ORANGE, s=34, zorder=3, label="covey")
    ax.set_yticks(place, order, fontsize=8)
    ax.set_xlim(-0.03, 1.05)
    ax.set_title(title, loc="left", fontsize=9, color=INK)


def draw(results, path):
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained")
    few = results[results["seed"] < COMPARED]
    dots(axes[0], means(few, "all_first"), "all that carry something: share among as many first")
    dots(axes[1], means(few, "needed_first"), "what is needed: share among as many first")
    axes[0].legend(fontsize=8, frameon=False, loc="lower left")
    false = means(results, "all_false")
    order = false.index[::-1]
    place = np.arange(len(order))
    axes[2].axvline(LEVEL, color=INK, lw=1, ls=":")
    shown = {"lasso, cross-validated": (GRAY, "x"), "stability selection": (GRAY, "+")}
    shown |= {"F-test, BH": (BLUE, "o"), "covey": (ORANGE, "o")}
    for selector, (color, marker) in shown.items():
        if selector in false:
            axes[2].scatter(
                false.loc[order, selector], place, color=color, marker=marker, s=34, label=selector
            )
    axes[2].set_yticks(place, order, fontsize=8)
    axes[2].legend(
        fontsize=8, frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.35, -0.07)
    )
    axes[2].set_title(
        f"false share of its own choice (level {LEVEL})",
        loc="left",
        fontsize=9,
        color=INK,
    )
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color="#eeeeee")
        ax.set_axisbelow(True)
        ax.tick_params(axis="x", labelsize=8)
    figure.savefig(path, dpi=130)


def rates(results):
    """The rate of false discoveries over all seeds, with its standard error."""
    lines = ["| design | seeds | covey | F-test, BH |", "| --- | --- | --- | --- |"]
    for design in DESIGNS:
        own = results[(results["design"] == design) & results["all_false"].notna()]
        cells = []
        for selector in ("covey", "F-test, BH"):
            values = own.loc[own["selector"] == selector, "all_false"]
            if len(values):
                error = values.std(ddof=1) / np.sqrt(len(values))
                cells.append(f"{values.mean():.3f} ± {error:.3f}")
        if cells:
            n_seeds = (own["selector"] == "covey").sum()
            lines.append(f"| {design} | {n_seeds} | " + " | ".join(cells) + " |")
    return lines


def page(results):
    few = results[results["seed"] < COMPARED]
    every, needed = means(few, "all_first"), means(few, "needed_first")
    behind = [
        f"{design} ({question}: {first.loc[design, 'covey']:.2f} against "
        f"{first.loc[design, 'recursive elimination']:.2f})"
        for question, first in (("all", every), ("needed", needed))
        for design in first.index
        if first.loc[design, "covey"] < first.loc[design, "recursive elimination"] - 1e-9
    ]
    n_better = sum(
        int((first["covey"] > first["recursive elimination"] + 1e-9).sum())
        for first in (every, needed)
    )
    long = results[(results["selector"] == "covey") & results["all_false"].notna()]
    false = long["all_false"].groupby(long["design"]).mean()
    seconds = few[few["seed"] < TIMED].groupby("selector")["seconds"].mean()
    times = ", ".join(
        f"{selector} {seconds[selector] / seconds['covey']:.2g}"
        for selector in SELECTORS
        if selector in seconds and selector != "covey"
    )
    compared = len(every) + len(needed)
    verdict = (
        f"Of {compared} comparisons of covey's first columns with those of recursive elimination, "
        f"which must be told how many to keep, covey is better in {n_better} and "
        + (f"behind in {len(behind)}: {'; '.join(behind)}." if behind else "behind in none.")
    )
    text = (HERE / "page.md").read_text()
    parts = {
        "VERDICT": [verdict],
        "ALL": table(every, means(few, "all_found"), form=first_and_own),
        "NEEDED": table(
            needed, means(few, "needed_found"), means(few, "needed_size"), form=own_and_size
        ),
        "FALSE": table(means(results, "all_false"), form=lambda value: f"{value:.2f}"),
        "RATES": rates(results),
        "WORST": [f"The largest rate of covey's is {false.max():.3f} ({false.idxmax()})."],
        "TIMES": [
            f"Processor time, as a multiple of covey's mean of {seconds['covey']:.1f} s: {times}."
        ],
    }
    for name, lines in parts.items():
        text = text.replace(f"<!-- {name} -->", "\n".join(lines))
    return text


def main():
    results = pd.read_csv(HERE / "results.csv")
    failed = results[results["error"].notna()]
    if len(failed):
        print(failed.groupby(["selector", "design"])["error"].first().to_string())
    (DOCS / "selection.md").write_text(page(results))
    draw(results, DOCS / "selection.png")


if __name__ == "__main__":
    main()
