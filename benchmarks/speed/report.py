"""Reads results.csv; writes report.md, ratios.png, growth.png and fits.png beside it."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import growth
import matplotlib.pyplot as plt
import numpy as np
import results
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

HERE = Path(__file__).parent
OURS, THEIRS, BAD = "#d9822b", "#3b6ea5", "#b03a3a"

TITLES = {
    "floor": (
        "Algorithm 1 against its own matrix products",
        "All steps with flips at p = 0.01, against two products a step, and two more at each step "
        "that drew a flip; same BLAS, precision and threads.",
    ),
    "step": (
        "One step, of one run and of a stack of fifty",
        "Seconds a step against the products of the same stack.",
    ),
    "stacked": (
        "Fifty runs side by side against one by one",
        "The same steps of the same runs over one table.",
    ),
    "bagging": (
        "Twenty members against twenty bagged logistic regressions",
        "Each at the fastest of its settings. The target counts only where covey's accuracy on "
        "rows held out is not lower.",
    ),
    "default": (
        "The default, search and all, against tuned rivals",
        "Each at the fastest of its settings; rivals use all cores. Accuracies on rows held out.",
    ),
    "predict": (
        "Predicting with a product of members",
        "`decision_function` under `assume_finite=True` against the bare product. For two classes "
        "it gives one number a row, and W has one column.",
    ),
    "subset": (
        "Seconds to a subset of columns that is as good",
        "`SubsetSelector` against scikit-learn's forward search with logistic regression (5 "
        "folds); accuracies on rows held out, of the same logistic regression on the columns "
        "selected. The target is for the cheapest line that is as accurate.",
    ),
    "growth": (
        "How seconds grow",
        "`paper()` with a fixed number of steps. The slope is that of the upper half, both axes "
        "logarithmic: 1 is proportional.",
    ),
    "memory": (
        "Peak memory",
        "How far the peak of a process of its own rises above what it held before the fit.",
    ),
}


def number(text, digits=3):
    return f"{float(text):.{digits}g}" if text else ""


def in_words(row):
    """What of a line stands in the report's table."""
    unit = row["unit"]
    settings = " / ".join(filter(None, (row["our_setting"], row["other_setting"])))
    return {
        "problem": row["problem"],
        "ours": row["ours"],
        "other": row["other"],
        "ratio": number(row["ratio"]),
        "at most": number(row["target"]),
        "holds": row["holds"] and ("yes" if row["holds"] == "yes" else "**no**"),
        f"ours, {unit}": number(row["our_cost"]),
        f"other, {unit}": number(row["other_cost"]),
        "our accuracy": number(row["our_accuracy"], 4),
        "its accuracy": number(row["other_accuracy"], 4),
        "threads": settings if row["threads"] == "best" else row["threads"],
        "rounds": row["rounds"],
    }


def table(rows):
    """Markdown, without the columns that are empty."""
    words = [in_words(row) for row in rows]
    columns = [name for name in words[0] if any(row[name] for row in words)]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return lines + ["| " + " | ".join(row[name] for name in columns) + " |" for row in words]


# -- pictures ------------------------------------------------------------------------------------


def _plain(ax):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e9edf2")
    ax.set_axisbelow(True)


def _few_ticks(axis, values):
    """Of a logarithmic axis: a few values, as they read."""
    low, high = np.log10([min(values), max(values)])
    places = (
        np.logspace(low, high, 4) if high - low > 0.3 else [np.sqrt(min(values) * max(values))]
    )
    axis.set_major_locator(FixedLocator([float(f"{place:.1g}") for place in places]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def draw_ratios(rows, path):
    """A bar for each ratio that has a target, as a share of it."""
    judged = [row for row in rows if row["target"]][::-1]
    share = np.array([float(row["ratio"]) / float(row["target"]) for row in judged])
    labels = [
        f"{row['item']}: {row['problem']}, {row['ours']} (threads: {row['threads']})"
        for row in judged
    ]
    # One far above its target must not hide the others.
    widest = min(4.0, 1.15 * share.max(initial=1.0))
    height = 1.2 + 0.22 * len(judged)
    figure, ax = plt.subplots(figsize=(11, height), layout="constrained")
    ax.barh(
        range(len(judged)), share, color=[OURS if r["holds"] == "yes" else BAD for r in judged]
    )
    for place, row in enumerate(judged):
        ax.text(
            min(share[place], 0.9 * widest),
            place,
            f" {number(row['ratio'])}",
            va="center",
            fontsize=7,
        )
    ax.axvline(1.0, color="black", lw=1)
    ax.set_yticks(range(len(judged)), labels, fontsize=7)
    ax.set_xlim(0, widest)
    ax.set_xlabel("ratio / target; beside the bar the ratio; red: target not reached", fontsize=8)
    _plain(ax)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def growth_series(rows):
    """Sizes and seconds of each series, by what grows."""
    series = {}
    for row in rows:
        if row["item"] == "growth" and row["our_cost"]:
            size, name = row["ours"].split()
            series.setdefault(name, []).append((float(size), float(row["our_cost"])))
    return {
        name: tuple(map(np.array, zip(*points, strict=True))) for name, points in series.items()
    }


def draw_growth(series, path):
    figure, axes = plt.subplots(
        1, len(series), figsize=(3.2 * len(series), 3), layout="constrained", squeeze=False
    )
    for ax, (name, (sizes, seconds)) in zip(axes[0], series.items(), strict=True):
        slope = growth.slope(sizes, seconds)
        upper = sizes[len(sizes) // 2 :]
        middle = np.exp(np.log(seconds[len(sizes) // 2 :]).mean())
        fitted = middle * (upper / np.exp(np.log(upper).mean())) ** slope
        ax.loglog(sizes, seconds, "o", color=OURS)
        ax.loglog(upper, fitted, color=THEIRS, label=f"slope {slope:.2f}")
        ax.set_xlabel(name)
        _few_ticks(ax.xaxis, sizes)
        _few_ticks(ax.yaxis, seconds)
        ax.legend(fontsize=8, frameon=False)
        _plain(ax)
    axes[0, 0].set_ylabel("seconds")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_fits(rows, path):
    """Seconds and accuracy of the default and its rivals, a panel a table."""
    found = [row for row in rows if row["item"] == "default"]
    names = list(dict.fromkeys(row["problem"] for row in found))
    n_columns = min(4, len(names))
    n_lines = -(-len(names) // n_columns)
    figure, axes = plt.subplots(
        n_lines,
        n_columns,
        figsize=(max(6.5, 3.2 * n_columns), 3 * n_lines + 0.6),
        layout="constrained",
        squeeze=False,
    )
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    rivals = list(dict.fromkeys(row["other"] for row in found))
    colours = {name: plt.cm.tab10(place) for place, name in enumerate(rivals)}
    handles = {}
    for ax, name in zip(axes.flat, names, strict=False):
        part = [row for row in found if row["problem"] == name]
        ours = float(part[0]["our_cost"]), float(part[0]["our_accuracy"])
        handles["covey"] = ax.scatter(*ours, marker="*", s=120, color="black", zorder=3)
        for row in part:
            point = float(row["other_cost"]), float(row["other_accuracy"])
            handles[row["other"]] = ax.scatter(*point, color=[colours[row["other"]]])
        ax.set_xscale("log")
        costs = [ours[0], *(float(row["other_cost"]) for row in part)]
        _few_ticks(ax.xaxis, costs)
        ax.set_xlim(0.7 * min(costs), 1.4 * max(costs))
        ax.set_title(name, fontsize=9, loc="left")
        _plain(ax)
    axes[-1, 0].set_xlabel("seconds to fit")
    axes[0, 0].set_ylabel("accuracy")
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


# -- the page ------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--out", type=Path, help="report.md beside the results")
    parser.add_argument("--command", default="python benchmarks/speed/run.py")
    arguments = parser.parse_args()
    rows = sorted(results.read(arguments.results), key=lambda row: list(TITLES).index(row["item"]))
    if not rows:
        raise SystemExit(f"{arguments.results} is empty; run benchmarks/speed/run.py first.")
    out = arguments.out or arguments.results.with_name("report.md")
    judged = [row for row in rows if row["target"]]
    reached = sum(row["holds"] == "yes" for row in judged)
    lines = [
        "# Speed benchmark",
        "",
        f"Made by `{arguments.command}`. What is compared ran in turns on one machine; a ratio is "
        "that of medians, ours / other, and below 1 covey is faster. Seconds are those of this "
        "machine and stand beside.",
        "",
    ]
    if any(row["size"] == "quick" for row in rows):
        lines += ["These are small problems in few rounds (`--quick`), to see that it works.", ""]
    for machine in dict.fromkeys(row["machine"] for row in rows):
        items = list(dict.fromkeys(row["item"] for row in rows if row["machine"] == machine))
        lines.append(f"- {', '.join(items)}: {machine}.")
    lines += ["", f"{reached} of {len(judged)} targets are reached."]
    if judged:
        draw_ratios(rows, out.with_name("ratios.png"))
        lines += ["", "![Ratios as shares of their targets.](ratios.png)"]
    for item, (title, text) in TITLES.items():
        part = [row for row in rows if row["item"] == item]
        if not part:
            continue
        lines += ["", f"## {title}", "", text, "", *table(part)]
        if item == "growth":
            draw_growth(growth_series(rows), out.with_name("growth.png"))
            lines += ["", "![Seconds against sizes, with the fitted slopes.](growth.png)"]
        if item == "default":
            draw_fits(rows, out.with_name("fits.png"))
            lines += ["", "![Seconds to fit and accuracies.](fits.png)"]
    out.write_text("\n".join(lines) + "\n")
    print(f"{out}: {reached} of {len(judged)} targets are reached")


if __name__ == "__main__":
    main()
