"""Reads results.csv; writes report.md and rows.png beside it."""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.scale import methods, tables
from benchmarks.scale.run import KEYS, MEASURES

HERE = Path(__file__).parent
COLOURS = {
    methods.COVEY: "#d9822b",
    methods.FAST: "#edb879",
    methods.LIGHTGBM: "#5a9367",
    methods.HISTOGRAM: "#3b6ea5",
    methods.LOGISTIC: "#7f7f7f",
    methods.SVC: "#8c6bb1",
}
BASES = (methods.LIGHTGBM, methods.HISTOGRAM)
FROM_ROWS = 10_000  # below, a fit's fixed costs hide how it grows
NUMBERS = [name for name in MEASURES if name != "error"]

HOW = (
    "Each fit runs in a process of its own that has loaded its code (a fit of 60 rows comes "
    "first), with all cores for everybody and no limit of threads. The methods take turns on each "
    "table; numbers are medians over repeats, each on new training rows, and a ratio is the "
    "median of the ratios within a repeat. Memory is what a fit adds, at its peak, to the process "
    "that has the table. Predictions are `predict_proba`, of all test rows at once (seconds a "
    "row) and of one row alone.",
    "",
    'Methods are as they come: `FlockClassifier()`, `FlockClassifier(effort="fast")`, '
    "`LGBMClassifier()`, `HistGradientBoostingClassifier()`, and `LogisticRegression` on scaled "
    "columns. The tuned SVC is a grid of 12 on three folds, and its calibration.",
    "",
    "Synthetic tables are named by rows x columns x classes: correlated columns of which at most "
    "20, and at most 60 %, tell anything; logits of a line, products, thresholds and a region "
    "with a line of its own ([tables.py](tables.py)). The truth is the log-loss of the "
    "probabilities that the labels were drawn from, on the same 20,000 test rows. wine and "
    "breast_cancer are split 75 to 25.",
)


def medians(results):
    """A frame of medians over the repeats whose fit ended, by table and method."""
    middle = results.groupby(["table", "method"])[NUMBERS].median()
    return middle.dropna(subset="fit_seconds")


def ratios(results, base):
    """Seconds of a fit as a multiple of ``base``'s in the same repeat: medians over repeats."""
    seconds = results.pivot(index=["table", "repeat"], columns="method", values="fit_seconds")
    if base not in seconds:
        return pd.Series(dtype=float)
    return seconds.div(seconds[base], axis=0).groupby("table").median().stack()


def slope(rows, seconds):
    """The exponent b of seconds ~ rows ** b, by least squares of logarithms."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def growth(middle, method, measure="fit_seconds"):
    """Rows and medians of the tables that differ in rows alone and that a method has ended."""
    known = [name for name in tables.LONGER if (name, method) in middle.index]
    rows = np.array([tables.shape(name)[0] for name in known], dtype=float)
    return rows, np.array([middle.loc[(name, method), measure] for name in known])


def without_end(results, method):
    """Rows and limits of the tables of 30 columns and 2 classes whose fit did not end."""
    lines = results[(results["method"] == method) & results["table"].isin(tables.LONGER)]
    limits = lines["error"].str.extract(r"^fit did not end in (\S+) s")[0].dropna().astype(float)
    rows = [tables.shape(name)[0] for name in lines.loc[limits.index, "table"]]
    return np.array(rows, dtype=float), limits.to_numpy()


def others(results):
    """The mean number of cores that other work used while methods were fitted."""
    known = results.dropna(subset=["fit_seconds", "others_seconds"])
    return known["others_seconds"].sum() / known["fit_seconds"].sum()


def number(value, text="{:.3g}"):
    return "-" if value is None or pd.isna(value) else text.format(value)


def failure(results, table, method):
    """What went wrong with a method on a table, in words; empty if nothing."""
    lines = results[(results["table"] == table) & (results["method"] == method)]
    return "; ".join(lines["error"].dropna().unique())


def section(results, middle, base_ratios, table):
    """One table in Markdown, in the order of the methods."""
    text = [
        "| method | fit, s | / LightGBM | / HistGradientBoosting | CPU, s | memory, MiB "
        "| predict, µs a row | one row, ms | log-loss | accuracy |",
        "|" + " --- |" * 10,
    ]
    for method in COLOURS:
        why = failure(results, table, method)
        if (table, method) not in middle.index:
            if why:
                text.append(f"| {method} | {why}" + " |" * 9)
            continue
        line = middle.loc[(table, method)]
        cells = [
            number(line["fit_seconds"]),
            *(number(base_ratios[base].get((table, method))) for base in BASES),
            number(line["cpu_seconds"]),
            number(line["peak_mib"], "{:.0f}"),
            number(1e6 * line["predict_seconds_a_row"]),
            number(1e3 * line["predict_seconds_alone"]),
            number(line["log_loss"], "{:.4f}"),
            number(line["accuracy"], "{:.4f}"),
        ]
        name = f"{method} ({why})" if why else method
        text.append(f"| {name} | " + " | ".join(cells) + " |")
    if table not in tables.REAL:
        loss, accuracy = tables.truth(table)
        text.append(f"| the truth |{' |' * 7} {loss:.4f} | {accuracy:.4f} |")
    return text


def slopes(middle):
    """How seconds grow with rows, in Markdown."""
    text = [
        "| method | from 10,000 rows to | seconds grow as rows to the power of |",
        "| --- | --- | --- |",
    ]
    for method in methods.OF_SIZE:
        rows, seconds = growth(middle, method)
        rows, seconds = rows[rows >= FROM_ROWS], seconds[rows >= FROM_ROWS]
        if len(rows) > 1:
            text.append(f"| {method} | {rows[-1]:,.0f} | {slope(rows, seconds):.2f} |")
    return text if len(text) > 2 else ["Too few tables of 10,000 rows and more have been run."]


def draw(results, path):
    middle = medians(results)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, measure in ((left, "fit_seconds"), (right, "log_loss")):
        for method in methods.OF_SIZE:
            rows, values = growth(middle, method, measure)
            width = 2.5 if method == methods.COVEY else 1.5
            ax.plot(rows, values, "o-", color=COLOURS[method], lw=width, ms=4, label=method)
            if measure == "fit_seconds":
                ax.plot(*without_end(results, method), "^", color=COLOURS[method], mfc="none")
        ax.set_xscale("log")
        ax.set_xlabel("rows to train on (30 columns, 2 classes)")
        ax.grid(color="#e9edf2")
        ax.spines[["top", "right"]].set_visible(False)
    left.set_yscale("log")
    left.set_title("seconds to fit (triangle: did not end in so many)", fontsize=10, loc="left")
    right.set_title("log-loss on 20,000 test rows", fontsize=10, loc="left")
    loss, _ = tables.truth(tables.LONGER[0])
    right.axhline(loss, color="#333333", ls="--", lw=1, label="the truth")
    lines, names = right.get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=8, loc="outside right upper")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def compose(results, command):
    """The lines of report.md."""
    middle = medians(results)
    base_ratios = {base: ratios(results, base) for base in BASES}
    present = [name for name in tables.TABLES if name in set(results["table"])]
    missing = [name for name in tables.TABLES if name not in present]
    repeats = results.groupby("table")["repeat"].nunique()
    fewer = [f"of {name} {n}" for name, n in repeats.items() if n < repeats.max()]
    text = [
        "# Size: what rows, columns and classes cost",
        "",
        f"Made by `{command}`: tables {len(present)}, repeats "
        f"{', '.join([str(repeats.max()), *fewer])}. "
        f"While methods were fitted, other work used {others(results):.2f} cores on average; "
        "seconds are what they seem only where that is near 0.",
        "",
        *HOW,
        "",
        "![seconds and log-loss against rows](rows.png)",
        "",
        *slopes(middle),
    ]
    if missing:
        text += ["", f"Tables that were not run: {', '.join(missing)}."]
    for table in present:
        text += ["", f"## {table}", "", *section(results, middle, base_ratios, table)]
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--command", default="make bench-scale")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results, dtype={"error": "string"})
    results = results.drop_duplicates(list(KEYS), keep="last")
    draw(results, arguments.results.with_name("rows.png"))
    text = compose(results, arguments.command)
    arguments.results.with_name("report.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
