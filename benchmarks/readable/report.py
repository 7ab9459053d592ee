"""Reads results.csv; writes report.md and front.png beside it."""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import ScalarFormatter

from benchmarks.intervals import mean_with_interval
from benchmarks.noise import tables
from benchmarks.readable.front import BUDGETS, CONSTANT, at_budgets, complete, pareto
from benchmarks.readable.methods import METHODS
from benchmarks.unfinished import failures, not_run

HERE = Path(__file__).parent
COLOURS = {
    "covey": "#d9822b",
    "explainable boosting": "#3b6ea5",
    "L1 logistic": "#7f7f7f",
    "abess": "#c44e52",
    "decision tree": "#5a9367",
    "FIGS": "#8c6bb1",
}
MEASURES = {"log_loss": "log-loss", "accuracy": "accuracy"}


HOW = (
    "A term is one condition with what it adds to the classes, the numbers of all classes "
    "together; intercepts are not counted:",
    "",
    "- covey: `n_terms_`, one column (a feature, a ramp of it, a product of two) in one "
    "member, and one column in one group's gate. `max_terms` is the limit; the flock is "
    "chosen by its own rule on rows held out.",
    "- L1 logistic: a feature with any nonzero coefficient. 24 strengths.",
    "- abess: best subsets of 1 to 100 features, all classes on the same ones. (skglm's group "
    "lasso is the alternative; its logistic datafit knows two classes only, and a third of "
    "these tables have more.)",
    "- explainable boosting: a step of a shape function, which is a bin or several neighbours "
    "of equal values. Main effects only, 4 or 16 bins, on all features or on the 1 to 16 that "
    "matter most to a fit on all.",
    "- decision tree: a leaf. Fifteen trees of the cost-complexity path, at least five rows "
    "in a leaf, shares by Laplace's rule.",
    "- FIGS: a leaf of any of its trees. 1 to 64 splits; shares clipped to 0.01 and 0.99.",
    "",
    "For each table, split and limit, a method gives its model of at most so many terms that "
    "has the least log-loss by three folds of the *training* rows; test rows have no say. "
    "Where it has no model so small, it says the class frequencies. Numbers are means of test "
    "scores over splits, then over tables.",
)


def by_table(chosen, measure):
    """Means over splits: a frame of tables x (method, budget)."""
    return chosen.pivot_table(index="problem", columns=["method", "budget"], values=measure)


def unlimited(results):
    """Each method without a limit: its mean log-loss, accuracy and median number of terms."""
    # A flock without a limit is chosen by its own rule.
    biggest = at_budgets(results[results["method"] != "covey"], (np.inf,))
    defaults = results[(results["method"] == "covey") & results["budget"].isna()]
    biggest = pd.concat([biggest, defaults])
    tables = biggest.groupby(["method", "problem"])[["terms", "log_loss", "accuracy"]].mean()
    means = tables.groupby("method").mean()
    means["terms"] = tables["terms"].groupby("method").median()
    return means


def draw(chosen, whole, path):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    methods = sorted(chosen["method"].unique(), key=list(COLOURS).index)
    for ax, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        table = by_table(chosen, measure)
        for method in methods:
            means = table[method].mean()
            style = {"color": COLOURS[method], "lw": 2.5 if method == "covey" else 1.3}
            ax.plot(means.index, means, marker="o", ms=4, label=method, **style)
            ax.scatter(
                whole.loc[method, "terms"],
                whole.loc[method, measure],
                marker="D",
                facecolors="none",
                edgecolors=COLOURS[method],
            )
        ax.set_xscale("log")
        ax.set_xticks(BUDGETS)
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.minorticks_off()
        ax.set_xlabel("terms that a person must read, at most")
        ax.set_title(f"{title}, mean over tables", fontsize=10, loc="left")
        ax.grid(color="#e9edf2")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        "open diamonds: without a limit, at the median number of terms over tables", fontsize=9
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def table_of(chosen, whole, measure):
    """Means over tables in Markdown: methods x numbers of terms."""
    table = by_table(chosen, measure)
    text = [
        "| method | "
        + " | ".join(f"at most {budget}" for budget in BUDGETS)
        + " | no limit (median terms) |",
        "|" + " --- |" * (len(BUDGETS) + 2),
    ]
    for method in sorted(chosen["method"].unique(), key=list(COLOURS).index):
        cells = [
            "{:.4f} ± {:.4f}".format(*mean_with_interval(table[method][budget]))
            for budget in BUDGETS
        ]
        end = f"{whole.loc[method, measure]:.4f} ({whole.loc[method, 'terms']:.0f})"
        text.append(f"| {method} | " + " | ".join([*cells, end]) + " |")
    return text


def differences(chosen, measure):
    """covey less each rival on the same tables and splits, with its interval."""
    table = by_table(chosen, measure)
    text = [
        "| covey less | " + " | ".join(f"at most {budget}" for budget in BUDGETS) + " |",
        "|" + " --- |" * (len(BUDGETS) + 1),
    ]
    for method in sorted(chosen["method"].unique(), key=list(COLOURS).index):
        if method != "covey":
            cells = [
                "{:+.4f} ± {:.4f}".format(
                    *mean_with_interval(table["covey"][budget] - table[method][budget])
                )
                for budget in BUDGETS
            ]
            text.append(f"| {method} | " + " | ".join(cells) + " |")
    return text


def on_the_front(chosen):
    """Methods and budgets that no other beats with as many terms or fewer."""
    means = by_table(chosen, "log_loss").mean()
    kept = means[pareto(means.index.get_level_values("budget"), means.to_numpy())]
    kept = kept.sort_index(level="budget")
    return [f"- at most {budget}: {method}, {loss:.4f}" for (method, budget), loss in kept.items()]


def tables_of(chosen, whole):
    """The report's tables and the front."""
    text = []
    for measure, name in MEASURES.items():
        text += ["", f"Mean {name} over tables, ± the 95 % interval of the mean:", ""]
        text += table_of(chosen, whole, measure)
    if "covey" in set(chosen["method"]):
        text += ["", "Log-loss, differences on the same tables; below 0 covey is better:", ""]
        text += differences(chosen, "log_loss")
    text += ["", "The Pareto front of mean log-loss (no other is as low with as few terms):", ""]
    return text + on_the_front(chosen)


def described(line):
    """Which fit a line of the results is of."""
    return f"{line['method']} ({line['setting']}) on {line['problem']}, split {line['split']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results)
    failed = results[results["error"].notna()]
    results = complete(results[results["error"].isna()])
    constant = results.loc[results["method"] == CONSTANT, ["accuracy", "log_loss"]].mean()
    chosen, whole = at_budgets(results), unlimited(results)
    draw(chosen, whole, arguments.results.with_name("front.png"))
    text = [
        "# Log-loss against the number of terms",
        "",
        f"Made by `make bench-readable`: {results['problem'].nunique()} tables (those of "
        "[bench-noise](../noise/report.md), without noise; at most 1,500 rows of each), "
        f"{results['split'].nunique()} splits (75 % to train, the same for all; the number of a "
        "split is every seed).",
        "",
        "![log-loss against the number of terms](front.png)",
        "",
        *HOW,
        "",
        f"The class frequencies alone: log-loss {constant['log_loss']:.4f}, accuracy "
        f"{constant['accuracy']:.4f}.",
    ]
    text += not_run("method", METHODS, tables.NAMES, results)
    text += tables_of(chosen, whole)
    text += failures(failed, described)
    arguments.results.with_name("report.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
