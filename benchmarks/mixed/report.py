"""Reads results.csv; writes report.md beside it."""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.intervals import mean_with_interval
from benchmarks.mixed import ways
from benchmarks.mixed.run import MAX_ROWS

HERE = Path(__file__).parent


def by_table(results, measure):
    """Means over splits: a frame of tables x ways."""
    return results.pivot_table(index="problem", columns="way", values=measure)[list(ways.WAYS)]


def differences(results):
    """For each way its means, and its differences to fixed weights with their intervals."""
    accuracy, loss = by_table(results, "accuracy"), by_table(results, "log_loss")
    seconds = by_table(results, "seconds")
    lines = []
    for way in ways.WAYS:
        points = 100 * (accuracy[way] - accuracy[ways.FIXED])
        more = loss[way] - loss[ways.FIXED]
        lines.append(
            {
                "way": way,
                "accuracy": accuracy[way].mean(),
                "points": mean_with_interval(points),
                "log_loss": loss[way].mean(),
                "more": mean_with_interval(more),
                "better": int((more < 0).sum()),
                "seconds": seconds[way].median(),
            }
        )
    return lines


def section(lines, n_tables):
    """A table in Markdown, the lowest log-loss first."""
    text = [
        "| way | accuracy | points more than fixed weights | log-loss | log-loss more than fixed "
        "weights | lower log-loss on | median seconds, beyond the members |",
        "|" + " --- |" * 7,
    ]
    for line in sorted(lines, key=lambda line: line["log_loss"]):
        of_fixed = line["way"] == ways.FIXED
        points, more = (
            "" if of_fixed else f"{mean:+.{digits}f} ± {half:.{digits}f}"
            for (mean, half), digits in ((line["points"], 2), (line["more"], 4))
        )
        better = "" if of_fixed else f"{line['better']} of {n_tables} tables"
        text.append(
            f"| {line['way']} | {line['accuracy']:.4f} | {points} | {line['log_loss']:.4f} "
            f"| {more} | {better} | {line['seconds']:.3f} |"
        )
    return text


def conclusion(lines):
    """Which ways differ from fixed weights beyond their interval, in a sentence."""
    told = []
    for which, sign in (("lower", -1), ("higher", 1)):
        names = [line["way"] for line in lines if sign * line["more"][0] > line["more"][1]]
        told.append(f"{which} for {', '.join(names) or 'none'}")
    return f"Log-loss differs from that of fixed weights beyond the interval: {'; '.join(told)}."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results)
    table, lines = by_table(results, "log_loss"), differences(results)
    text = [
        "# Ways to fuse members of several kinds",
        "",
        f"Made by `make bench-mixed`: {len(table)} tables of the accuracy benchmark (its quick "
        f"ones), at most {MAX_ROWS:,} rows of each, {results['split'].nunique()} splits (75 % to "
        "train; the number of a split is the seed). The kinds of "
        '`FlockClassifier(members="mixed")` are fitted once for each table and split, on folds '
        "and on all rows, and every way to fuse them learns from the same predictions out of "
        "fold, so that all of them have the same members and the same time but for the last "
        "column.",
        "",
        "- *fixed weights*: greedy selection by the log-loss, which is what a mixed flock does;",
        "- *equal weights*: the mean of all kinds;",
        "- *a gate*: `covey.Gate`, weights that are a softmax of the features (or of their "
        "squares, too), its penalty chosen by folds: who is right where;",
        "- *two layers*: a logistic regression on the probabilities, or their logarithms, of all "
        "kinds, its strength chosen by folds.",
        "",
        "The ± is the 95 % interval of the mean over tables (Student's t).",
        "",
        *section(lines, len(table)),
        "",
        conclusion(lines),
        "",
        f"Members take {results['shared_seconds'].median():.0f} seconds (median; on one core of "
        "a busy machine).",
        "",
        "## Log-loss by table",
        "",
        "| table | " + " | ".join(table.columns) + " |",
        "|" + " --- |" * (len(table.columns) + 1),
    ]
    for name, row in table.iterrows():
        text.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    arguments.results.with_name("report.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
