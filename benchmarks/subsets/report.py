"""Writes report.md from results.csv."""

import pandas as pd

from benchmarks.intervals import mean_with_interval
from benchmarks.subsets.ways import TIMED_BY

# The ways that go on until their time has passed.
TIMED = ("flips, greedy", "flips, Metropolis", "group penalty")
MEASURES = ("accuracy", "log_loss", "share", "gate_share", "members", "terms", "cpu_seconds")

HEAD = """# How a gated group should choose its subsets

One gated group: six members on ramps and a gate on ramps, with the penalty alpha = 0.03
min(1, (500 / n)^0.8), started from thirty steps of Algorithm 1. These are ways to choose which
features each member and the gate have, while both are refined by L-BFGS:

- **dense**: all features. **dense, penalty chosen**: all features, and alpha times 0.1, 0.3, 1, 3
  or 10.
- **path, pairs together**: members are fitted, the weakest pairs of member and feature leave (a
  member has at most twice the average), members left empty are dropped, the gate loses its own
  weakest features, all are refitted, and so on, for shares of 1 to 0.02. **This is what the search
  does.**
- **path, each member its share**: the same, but every member keeps equally many features.
- **flips, greedy**: every five iterations a flip of each pair of member and feature is proposed,
  and accepted if the penalized likelihood plus a price for each feature falls; prices of 0.1 to 10
  nats.
- **flips, Metropolis**: the same, a rise accepted by chance at a temperature that falls to zero.
- **group penalty**: sqrt(size) times the length of each block of coefficients, by iterated
  reweighting, of rising strength; then refitted on the blocks that stay.

The tables are {problems}, at most 500 rows of each. Seeds of splits go from 0 to {last_split}; a
quarter of the rows is for testing. Every way gives groups of falling size; the smallest one
within half a standard error of the best, on a fifth of the training rows, is chosen, and the way
is gone again on all of them. **Equal time**: the flips and the group penalty get the
CPU seconds (`time.process_time`, one thread) that the search's path took on the same rows to make
its choice, and a little more where one sweep or reweighting for each price takes longer; see the
last column. Log-loss is of probabilities of at least 1e-6. *Share* is the mean share of features
of a member that remains, *terms* are the columns of members and gate together. *Difference*: less
that of the search's path, with its 95 % interval over tables (Student's t, means over splits);
below zero is better in log-loss, above zero in accuracy. Made by `make bench-subsets`.
"""


def with_sign(values, digits):
    mean, half = mean_with_interval(values)
    return f"{mean:+.{digits}f} ± {half:.{digits}f}"


def table(means, reference):
    """Markdown of means over tables; ``means`` has a line for each way and table."""
    lines = [
        "| way | accuracy | difference, points | log-loss | difference | tables below | share | "
        "gate's share | members | terms | CPU seconds |",
        "| --- |" + " ---: |" * 10,
    ]
    for way, of_way in means.groupby(level="way", sort=False):
        of_way = of_way.droplevel("way")
        mean = of_way.mean()
        change = of_way - reference
        cells = [way, f"{mean.accuracy:.4f}", "", f"{mean.log_loss:.4f}", "", ""]
        if way != TIMED_BY:
            cells[2] = with_sign(100 * change.accuracy, 2)
            cells[4] = with_sign(change.log_loss, 4)
            cells[5] = f"{(change.log_loss < 0).sum()} of {len(change)}"
        cells += [f"{mean.share:.2f}", f"{mean.gate_share:.2f}", f"{mean.members:.1f}"]
        cells += [f"{mean.terms:.0f}", f"{mean.cpu_seconds:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(results):
    """The tables of the report, one for each multiple of the path's time."""
    parts = []
    for times, of_times in results.groupby("times"):
        means = of_times.groupby(["way", "problem"], sort=False)[list(MEASURES)].mean()
        n_splits = len(of_times.drop_duplicates(["problem", "split"]))
        name = "Equal time" if times == 1 else f"{times} times the path's time"
        parts += [
            f"## {name}",
            f"{of_times.problem.nunique()} tables, {n_splits} splits in all.",
            table(means, means.loc[TIMED_BY]),
        ]
    return "\n\n".join(parts)


def write(source, target):
    """The report; what it means, below its last heading, is written by hand and kept."""
    results = pd.read_csv(source)
    names = list(results.problem.unique())
    head = HEAD.format(
        problems=", ".join(names),
        last_split=results.split.max(),
    )
    conclusion = ""
    if target.exists() and "## What follows" in target.read_text():
        conclusion = "\n## What follows" + target.read_text().split("## What follows")[1]
    target.write_text(f"{head}\n{summary(results)}\n{conclusion}")
