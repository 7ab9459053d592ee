"""report.md of results.csv: who is more accurate in the same time."""

from pathlib import Path

import pandas as pd
from scipy.stats import rankdata

from benchmarks.intervals import mean_with_interval

HERE = Path(__file__).parent
OURS = "covey, mixed"


def summary(lines):
    """A line for each method, over the tables that all methods ended on."""
    good = lines[lines.error.isna()]
    every = good.groupby("problem").method.nunique() == lines.method.nunique()
    common = good[good.problem.isin(every.index[every])]
    by_table = common.pivot_table(index="problem", columns="method", values="log_loss")
    ranks = pd.DataFrame(
        [rankdata(row) for row in by_table.to_numpy()], columns=by_table.columns
    ).mean()
    means = common.groupby("method")[
        ["accuracy", "log_loss", "brier", "fit_seconds", "predict_seconds", "size"]
    ].mean()
    return means.assign(rank=ranks, tables=len(by_table)).sort_values("log_loss"), by_table


def markdown(lines):
    means, by_table = summary(lines)
    text = [
        "# Beside systems that search by themselves",
        "",
        "Made by `make bench-automl`. One split of each table, 75 % to train; 30 s for each fit",
        "on all cores of one machine (covey's time limit is also 30 s, or a quarter of it). Means",
        f"over the {len(by_table)} tables on which all ended; ranks are by log-loss. *Less",
        f"covey's*: the difference to {OURS}, with its 95 % interval over tables (Student's t);",
        "above zero covey is better. These were two cores that had work of low priority",
        "besides, so that all systems had less than their seconds, and ended late.",
        "",
        "| | log-loss | less covey's | rank | accuracy | Brier | fit, s | predict, s | size, MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in means.iterrows():
        less = mean_with_interval(by_table[name] - by_table[OURS])
        difference = "" if name == OURS else f"{less[0]:+.4f} ± {less[1]:.4f}"
        text.append(
            f"| {name} | {one.log_loss:.4f} | {difference} | "
            f"{one['rank']:.2f} | {one.accuracy:.4f} | "
            f"{one.brier:.4f} | {one.fit_seconds:.1f} | {one.predict_seconds:.2f} | "
            f"{one['size'] / 1e6:.1f} |"
        )
    failed = lines[lines.error.notna()]
    if len(failed):
        text += ["", "Did not end:", ""]
        text += [f"- {one.method} on {one.problem}: {one.error}" for one in failed.itertuples()]
    text += ["", "Log-loss by table:", "", "| | " + " | ".join(by_table.columns) + " |"]
    text.append("| --- |" + " --- |" * len(by_table.columns))
    for name, row in by_table.iterrows():
        best = row.min()
        cells = (f"**{value:.4f}**" if value == best else f"{value:.4f}" for value in row)
        text.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main():
    lines = pd.read_csv(HERE / "results.csv")
    HERE.joinpath("report.md").write_text(markdown(lines))
    print(markdown(lines))


if __name__ == "__main__":
    main()
