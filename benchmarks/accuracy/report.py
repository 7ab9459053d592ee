"""Reads results.csv; writes report.md and ranks.png beside it."""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

HERE = Path(__file__).parent
MEASURES = {"accuracy": False, "log_loss": True, "brier": True}  # whether less is better


def by_problem(table, measure):
    """Means over splits, problems x rivals; problems on which some rival failed are left out."""
    return table.pivot_table(index="problem", columns="rival", values=measure).dropna()


def critical_difference(n_rivals, n_problems):
    """Nemenyi's, at 5 %."""
    q = studentized_range.ppf(0.95, n_rivals, np.inf) / np.sqrt(2)
    return q * np.sqrt(n_rivals * (n_rivals + 1) / (6 * n_problems))


def draw_ranks(ranks, path):
    figure, axes = plt.subplots(
        1, len(ranks), figsize=(4.2 * len(ranks), 3.8), layout="constrained"
    )
    for ax, (measure, (mean, gap)) in zip(axes, ranks.items(), strict=True):
        mean = mean.sort_values(ascending=False)
        colours = ["#d9822b" if name.startswith("covey") else "#3b6ea5" for name in mean.index]
        ax.hlines(range(len(mean)), mean - gap / 2, mean + gap / 2, color=colours, lw=2, alpha=0.5)
        ax.scatter(mean, range(len(mean)), c=colours, zorder=3)
        ax.set_yticks(range(len(mean)), mean.index, fontsize=8)
        ax.set_title(f"mean rank, {measure.replace('_', '-')}", fontsize=10, loc="left")
        ax.grid(axis="x", color="#e9edf2")
        ax.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle(
        "bars that do not overlap differ by more than the critical difference", fontsize=9
    )
    figure.savefig(path, dpi=140)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--command", default="make bench-accuracy")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.results)
    failed = table[table["error"].notna()]
    lines = [
        "# Accuracy benchmark",
        "",
        f"Made by `{arguments.command}`: {table['problem'].nunique()} tables, "
        f"{table['split'].nunique()} stratified splits (75 % to train), "
        f"{table['rival'].nunique()} rivals. Times are seconds on one core.",
        "",
    ]
    summary, ranks = {}, {}
    for measure, less_is_better in MEASURES.items():
        means = by_problem(table, measure)
        rank = means.rank(axis=1, ascending=less_is_better)
        gap = critical_difference(means.shape[1], len(means))
        ranks[measure] = rank.mean(), gap
        summary[measure] = means.mean()
        summary[f"rank, {measure}"] = rank.mean()
        chance = friedmanchisquare(*(means[name] for name in means)).pvalue
        lines.append(
            f"- {measure}: {len(means)} tables without a failure, critical difference of mean "
            f"ranks {gap:.2f} (Nemenyi, 5 %), Friedman p = {chance:.2g}."
        )
    for seconds in ("fit_seconds", "predict_seconds"):
        summary[f"median {seconds}"] = by_problem(table, seconds).median()
    frame = pd.DataFrame(summary).sort_values("rank, accuracy")
    lines += ["", "![mean ranks](ranks.png)", "", "| rival | " + " | ".join(frame) + " |"]
    lines.append("|" + " --- |" * (frame.shape[1] + 1))
    for name, row in frame.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.4g}" for value in row) + " |")
    lines += ["", "## Accuracy by table", ""]
    means = by_problem(table, "accuracy")[frame.index]
    lines.append("| table | " + " | ".join(means) + " |")
    lines.append("|" + " --- |" * (means.shape[1] + 1))
    for name, row in means.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    if len(failed):
        lines += ["", "## Failures", ""]
        for _, row in failed.iterrows():
            lines.append(
                f"- {row['rival']} on {row['problem']}, split {row['split']}: {row['error']}"
            )
    arguments.results.with_name("report.md").write_text("\n".join(lines) + "\n")
    draw_ranks(ranks, arguments.results.with_name("ranks.png"))
    print("\n".join(lines[:40]))


if __name__ == "__main__":
    main()
