"""Reads results.csv (and times.csv, if there); writes report.md and ranks.png beside it."""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, t

HERE = Path(__file__).parent
MEASURES = {"accuracy": False, "log_loss": True, "brier": True}  # whether less is better
LINEAR, FOREST, SVC = "logistic regression CV", "random forest", "RBF SVC, tuned"


def complete(table):
    """Rivals that were run on every split of every table, and the tables on which none failed."""
    wanted = table.groupby("problem")["split"].nunique().sum()
    runs = table.groupby("rival").size()
    table = table[table["rival"].isin(runs[runs == wanted].index)]
    failed = table.loc[table["error"].notna(), "problem"].unique()
    return table[~table["problem"].isin(failed)]


def unfinished(table):
    """A line that names the rivals that `complete` leaves out, and how far they are."""
    wanted = table.groupby("problem")["split"].nunique().sum()
    runs = table.groupby("rival").size()
    left = [f"{rival} ({n} of {wanted} fits)" for rival, n in runs[runs < wanted].items()]
    return ["", f"Not yet run on every table, and left out: {', '.join(left)}."] if left else []


def by_problem(table, measure):
    """Means over splits, problems x rivals."""
    return table.pivot_table(index="problem", columns="rival", values=measure)


def critical_difference(n_rivals, n_problems):
    """Nemenyi's, at 5 %."""
    q = studentized_range.ppf(0.95, n_rivals, np.inf) / np.sqrt(2)
    return q * np.sqrt(n_rivals * (n_rivals + 1) / (6 * n_problems))


def draw_ranks(ranks, path):
    figure, axes = plt.subplots(
        1, len(ranks), figsize=(4.2 * len(ranks), 3.8), layout="constrained", squeeze=False
    )
    for ax, (measure, (mean, gap)) in zip(axes[0], ranks.items(), strict=True):
        mean = mean.sort_values(ascending=False)
        colours = ["#d9822b" if name.startswith("covey") else "#3b6ea5" for name in mean.index]
        ax.hlines(range(len(mean)), mean - gap / 2, mean + gap / 2, color=colours, lw=2, alpha=0.5)
        ax.scatter(mean, range(len(mean)), c=colours, zorder=3)
        ax.set_yticks(range(len(mean)), mean.index, fontsize=8)
        ax.set_title(f"mean rank, {measure.replace('_', '-')}", fontsize=10, loc="left")
        ax.grid(axis="x", color="#e9edf2")
        ax.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle(
        "bars that do not overlap\ndiffer by more than the critical difference", fontsize=9
    )
    figure.savefig(path, dpi=120)


def compared(table):
    """Lines of a section, and the ranks behind it."""
    lines, summary, ranks = [], {}, {}
    for measure, less_is_better in MEASURES.items():
        means = by_problem(table, measure)
        rank = means.rank(axis=1, ascending=less_is_better)
        gap = critical_difference(means.shape[1], len(means))
        ranks[measure] = rank.mean(), gap
        summary[measure] = means.mean()
        summary[f"rank, {measure}"] = rank.mean()
        chance = friedmanchisquare(*(means[name] for name in means)).pvalue
        lines.append(
            f"- {measure}: critical difference of mean ranks {gap:.2f} (Nemenyi, 5 %), "
            f"Friedman p = {chance:.2g}."
        )
    summary["median fit, s"] = by_problem(table, "fit_seconds").median()
    summary["median predict, ms"] = 1000 * by_problem(table, "predict_seconds").median()
    frame = pd.DataFrame(summary).sort_values("rank, log_loss")
    lines += ["", "| rival | " + " | ".join(frame) + " |", "|" + " --- |" * (len(summary) + 1)]
    for name, row in frame.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.4g}" for value in row) + " |")
    return lines, ranks


def against_linear(table):
    """Where covey comes closest to being worse than logistic regression."""
    runs = table.pivot_table(index=["problem", "split"], columns="rival", values="accuracy")
    difference = 100 * (runs["covey"] - runs[LINEAR])
    grouped = difference.groupby("problem").agg(["mean", "std", "count"])
    half = t.ppf(0.975, grouped["count"] - 1) * grouped["std"] / np.sqrt(grouped["count"])
    lines = [
        "",
        "## Against logistic regression",
        "",
        "Points of accuracy, covey less logistic regression, with the paired 95 % interval over "
        "splits; the five lowest of all tables:",
        "",
    ]
    for name, row in grouped.sort_values("mean").head(5).iterrows():
        lines.append(f"- {name}: {row['mean']:+.2f} ± {half[name]:.2f}")
    worse = grouped.index[(grouped["mean"] < -1) & (grouped["mean"] + half < -1)]
    lines.append(f"- More than 1 point below, outside the interval: {', '.join(worse) or 'none'}.")
    return lines


def times(path):
    """Ratios of times, from runs of a few rivals side by side."""
    table = pd.read_csv(path)
    fit = by_problem(table, "fit_seconds").median()
    predict = by_problem(table, "predict_seconds").median()
    return [
        "",
        "## Times side by side",
        "",
        f"Medians over {table['problem'].nunique()} tables, one split, one core, these rivals one "
        "after another on each table:",
        "",
        f"- fit: covey {fit['covey']:.2f} s, tuned RBF SVC {fit[SVC]:.2f} s (ratio "
        f"{fit['covey'] / fit[SVC]:.2f}); covey fast {fit['covey, fast']:.2f} s, forest of 300 "
        f"trees {fit[FOREST]:.2f} s (ratio {fit['covey, fast'] / fit[FOREST]:.2f}).",
        f"- predict: covey {1000 * predict['covey']:.2f} ms, forest "
        f"{1000 * predict[FOREST]:.2f} ms (ratio {predict[FOREST] / predict['covey']:.1f}).",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--command", default="make bench-accuracy")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.results)
    everywhere = complete(table)
    lines = [
        "# Accuracy benchmark",
        "",
        f"Made by `{arguments.command}`: stratified splits, 75 % to train, the same for all. "
        "Times are seconds on one core of the machine that a rival was run on, covey's on a "
        "faster and quieter one than others': compare the times side by side below, not these. "
        "Two rivals are limited so that they end "
        "on every table: tuned LightGBM starts no candidate of its search after 10 s (then its "
        "best is compared with the defaults), and explainable boosting has 4 bags, a larger rate, "
        "earlier stopping and fewer pairs than its defaults (`rivals.py`).",
        *unfinished(table),
        "",
        f"## {everywhere['problem'].nunique()} tables, {everywhere['split'].nunique()} splits, "
        f"{everywhere['rival'].nunique()} rivals",
        "",
    ]
    part, ranks = compared(everywhere)
    lines += part
    lines += ["", "![mean ranks](ranks.png)"]
    draw_ranks(ranks, arguments.results.with_name("ranks.png"))
    if {"covey", LINEAR} <= set(everywhere["rival"]):
        lines += against_linear(everywhere)
    if arguments.results.with_name("times.csv").exists():
        lines += times(arguments.results.with_name("times.csv"))
    means = by_problem(everywhere, "accuracy")
    lines += ["", "## Accuracy by table", "", "| table | " + " | ".join(means) + " |"]
    lines.append("|" + " --- |" * (means.shape[1] + 1))
    for name, row in means.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    failed = table[table["error"].notna()]
    if len(failed):
        lines += ["", "## Failures", ""]
        for _, row in failed.iterrows():
            lines.append(
                f"- {row['rival']} on {row['problem']}, split {row['split']}: {row['error']}"
            )
    arguments.results.with_name("report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[:60]))


if __name__ == "__main__":
    main()
