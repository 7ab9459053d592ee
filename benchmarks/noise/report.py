"""Reads results.csv; writes report.md and noise.png beside it."""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.intervals import mean_with_interval
from benchmarks.noise import rivals, tables
from benchmarks.unfinished import failures, not_run

HERE = Path(__file__).parent
COLOURS = {
    "covey": "#d9822b",
    "explainable boosting": "#3b6ea5",
    "LightGBM": "#5a9367",
    "random forest": "#8c6bb1",
    "L1 logistic, tuned": "#7f7f7f",
}


def complete(results):
    """The tables on which every rival was run on every split with every amount of noise."""
    keys = ["rival", "times", "split"]
    whole = len(results[keys].drop_duplicates())
    runs = results[results["error"].isna()].groupby("problem").size()
    return results[results["problem"].isin(runs[runs == whole].index)]


def by_table(results, measure):
    """Means over splits: a frame of tables x (rival, times)."""
    return results.pivot_table(index="problem", columns=["rival", "times"], values=measure)


def losses(results):
    """What noise costs: for each rival and amount of noise, points of accuracy and log-loss."""
    accuracy, loss = by_table(results, "accuracy"), by_table(results, "log_loss")
    seconds = by_table(results, "fit_seconds")
    lines = []
    for rival in accuracy.columns.levels[0]:
        for times in accuracy[rival].columns:
            points = 100 * (accuracy[rival][0] - accuracy[rival][times])
            more = loss[rival][times] - loss[rival][0]
            lines.append(
                {
                    "rival": rival,
                    "times": times,
                    "accuracy": accuracy[rival][times].mean(),
                    "points lost": mean_with_interval(points),
                    "log_loss": loss[rival][times].mean(),
                    "log-loss gained": mean_with_interval(more),
                    "ratio": loss[rival][times].mean() / loss[rival][0].mean(),
                    "seconds": seconds[rival][times].median(),
                }
            )
    return lines


def section(lines, times):
    """A table in Markdown of one amount of noise, the lowest log-loss first."""
    text = [
        "| rival | accuracy | points lost | log-loss | log-loss gained | log-loss / without noise "
        "| median fit, s |",
        "|" + " --- |" * 7,
    ]
    chosen = [line for line in lines if line["times"] == times]
    for line in sorted(chosen, key=lambda line: line["log_loss"]):
        points, more = line["points lost"], line["log-loss gained"]
        text.append(
            f"| {line['rival']} | {line['accuracy']:.4f} | {points[0]:.2f} ± {points[1]:.2f} "
            f"| {line['log_loss']:.4f} | {more[0]:+.4f} ± {more[1]:.4f} | {line['ratio']:.3f} "
            f"| {line['seconds']:.2f} |"
        )
    return text


def draw(lines, path):
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    titles = {"points lost": "points of accuracy lost", "log-loss gained": "log-loss gained"}
    names = sorted({line["rival"] for line in lines}, key=list(COLOURS).index)
    for ax, (measure, title) in zip(axes, titles.items(), strict=True):
        for place, rival in enumerate(names):
            own = [line for line in lines if line["rival"] == rival]
            shift = 0.08 * (place - (len(names) - 1) / 2)
            ax.errorbar(
                np.arange(len(own)) + shift,
                [line[measure][0] for line in own],
                [line[measure][1] for line in own],
                color=COLOURS[rival],
                marker="o",
                capsize=2,
                lw=2 if rival == "covey" else 1,
                label=rival,
            )
        ax.set_xticks(range(len(own)), [f"{line['times']} times" for line in own])
        ax.set_xlabel("columns of noise, as a multiple of the true ones")
        ax.set_title(title, fontsize=10, loc="left")
        ax.axhline(0, color="#9aa5b1", lw=0.8)
        ax.grid(axis="y", color="#e9edf2")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle("mean over tables, with the 95 % interval; lower is better", fontsize=9)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def described(line):
    """Which fit a line of the results is of."""
    return f"{line['rival']} on {line['problem']}, {line['times']} times, split {line['split']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results)
    failed = results[results["error"].notna()]
    results = complete(results)
    lines = losses(results)
    text = [
        "# Columns of noise",
        "",
        f"Made by `make bench-noise`: {results['problem'].nunique()} tables of the accuracy "
        "benchmark, chosen before any result was seen, at most 1,500 rows of each, "
        f"{results['split'].nunique()} splits (75 % to train, the same for all; the number of a "
        "split is the seed of the split, of the noise and of every model). Noise is 5 or 20 times "
        "as many columns as the table has: copies of its own columns, each permuted on its own "
        "over the rows, so that a column of noise looks like a true one and tells nothing. All "
        "columns are then put in random order.",
        "",
        "Points lost and log-loss gained are against the same table and split without noise; the "
        "± is the 95 % interval of the mean over tables (Student's t). Rivals are as in the "
        "[accuracy benchmark](../accuracy/report.md), explainable boosting within the limits "
        "stated there (no pairs above 100 columns); the strength of L1 logistic regression is the "
        "best of six by three folds. Times are seconds on one core of a busy machine.",
    ]
    text += not_run("rival", rivals.RIVALS, tables.NAMES, results)
    for times in sorted(results["times"].unique()):
        title = f"{times} times as many columns of noise" if times else "Without noise"
        text += ["", f"## {title}", "", *section(lines, times)]
    draw(lines, arguments.results.with_name("noise.png"))
    text += ["", "![what noise costs](noise.png)", "", "## Log-loss by table", ""]
    table = by_table(results, "log_loss")
    names = [f"{rival}, {times}x" for rival, times in table.columns]
    text += ["| table | " + " | ".join(names) + " |", "|" + " --- |" * (len(names) + 1)]
    for name, row in table.iterrows():
        text.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    text += failures(failed, described)
    arguments.results.with_name("report.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
