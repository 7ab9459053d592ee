"""Reads results.csv; writes report.md beside it."""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.busy.conditions import CONDITIONS, IDLE, TWO_BUSY
from benchmarks.busy.run import KEYS, TASKS
from benchmarks.scale import methods
from benchmarks.unfinished import failures

HERE = Path(__file__).parent
LIMIT = 2.5  # times the idle seconds that covey may take beside two busy processes
QUIET = 0.1  # cores that other work may use while idle seconds are measured

HOW = (
    "Each fit runs in a process of its own with the threads that its defaults give it; busy "
    "processes are Python loops that each want a whole core. `covey fit wine.csv` is the time of "
    "the whole command; the others are fits by code that is already loaded. On one core: by "
    "`taskset`, while `os.cpu_count()` still says how many cores there are. The quota is that of "
    "cgroup v2. Numbers are seconds, medians over repeats, and in brackets their ratio to the "
    "median idle seconds. On two cores, a method that uses both well takes 2 times as long beside "
    "two busy processes, and one that uses a single core hardly longer beside one.",
)


def medians(results):
    """Median seconds: a frame of (task, method) x condition, of what ended."""
    ended = results[results["error"].isna()]
    return ended.pivot_table(
        index=["task", "method"], columns="condition", values="fit_seconds", aggfunc="median"
    ).reindex(columns=list(CONDITIONS))


def ratios(middle):
    return middle.div(middle[IDLE], axis=0)


def table(middle):
    """Markdown: seconds, and in brackets how many times the idle ones."""
    against = ratios(middle)
    shown = [name for name in CONDITIONS if middle[name].notna().any()]
    text = [f"| fit | method | {' | '.join(shown)} |", "|" + " --- |" * (len(shown) + 2)]
    for task, its_methods in TASKS.items():
        for method in its_methods:
            if (task, method) not in middle.index:
                continue
            cells = []
            for condition in shown:
                seconds = middle.loc[(task, method), condition]
                times = against.loc[(task, method), condition]
                ratio = "" if condition == IDLE else f" ({times:.2f})"
                cells.append("-" if pd.isna(seconds) else f"{seconds:.3g}{ratio}")
            text.append(f"| {task} | {method} | {' | '.join(cells)} |")
    return text


def verdict(results):
    """Whether covey keeps the limit beside two busy processes; a fit without end does not."""
    wanted = f"covey shall take at most {LIMIT} times its idle seconds {TWO_BUSY}."
    used = others(results)
    if used is not None and used > QUIET:
        return f"{wanted} No verdict: the machine was not quiet in the idle fits."
    ours = results[results["method"] == methods.COVEY]
    times = ratios(medians(ours))[TWO_BUSY].droplevel("method").dropna()
    over = [f"{task} ({ratio:.2f})" for task, ratio in times.items() if ratio > LIMIT]
    over += [f"{task} (not known)" for task in ours["task"].unique() if task not in times]
    if over:
        return f"{wanted} It does not, or is not known to: {', '.join(over)}."
    return f"{wanted} It does; the most is {times.max():.2f}, {times.idxmax()}."


def others(results):
    """The mean number of cores that other work used in idle fits; None where not measured."""
    idle = results[(results["condition"] == IDLE) & results["others_seconds"].notna()]
    return idle["others_seconds"].sum() / idle["fit_seconds"].sum() if len(idle) else None


def described(line):
    return f"{line['task']}, {line['method']}, {line['condition']}, repeat {line['repeat']}"


def compose(results, command):
    """The lines of report.md."""
    middle = medians(results)
    text = ["# Busy machines", "", f"Made by `{command}`: repeats {results['repeat'].nunique()}."]
    used = others(results)
    if used is not None:
        text[-1] += (
            f" In the fits called idle, other work used {used:.2f} cores on average; ratios are "
            "what they seem only where that is near 0."
        )
    text += ["", *HOW, "", *table(middle), "", verdict(results)]
    absent = results["error"].str.startswith("not available", na=False)
    pairs = results[absent].drop_duplicates(["condition", "error"])
    for condition, why in zip(pairs["condition"], pairs["error"], strict=True):
        text += ["", f"Not measured: {condition}, {why}."]
    return text + failures(results[results["error"].notna() & ~absent], described)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--command", default="make bench-busy")
    arguments = parser.parse_args()
    results = pd.read_csv(arguments.results, dtype={"error": "string"})
    results = results.drop_duplicates(list(KEYS), keep="last")
    text = compose(results, arguments.command)
    arguments.results.with_name("report.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
