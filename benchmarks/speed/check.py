"""Whether covey has become slower: the ratios just measured against the committed ones.

``check.py`` exits with 1 if a ratio is more than 30 % above the baseline's, and says which.
``check.py --save`` makes what was measured the baseline, for the lines that were measured.
"""

import argparse
import csv
import sys
from pathlib import Path

import results

HERE = Path(__file__).parent
MORE = 1.3  # times the baseline's ratio that noise may make
FIELDS = (*results.KEY, "ratio")


def ratios(rows):
    """By what a line is about; lines without a ratio are left out."""
    return {
        tuple(row[name] for name in results.KEY): float(row["ratio"])
        for row in rows
        if row["ratio"]
    }


def save(path, measured):
    """Write these ratios over the baseline's."""
    merged = {**ratios(results.read(path)), **measured}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for key in sorted(merged):
            writer.writerow([*key, f"{merged[key]:.4g}"])


def compare(measured, baseline):
    """A table, and the comparisons that have become worse."""
    lines = [f"{'now':>8} {'baseline':>8} {'now / b.':>8}  comparison"]
    worse = []
    for key in sorted(set(measured) & set(baseline)):
        now, then = measured[key], baseline[key]
        _, item, problem, ours, other, threads = key
        name = f"{item}: {problem}, {ours}{' / ' * bool(other)}{other} (threads {threads})"
        slower = now > MORE * then
        times = now / then if then else float("inf")
        lines.append(f"{now:8.3g} {then:8.3g} {times:8.2f}  {name}{'  WORSE' * slower}")
        if slower:
            worse.append(name)
    return lines, worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--baseline", type=Path, default=HERE / "baseline.csv")
    parser.add_argument("--save", action="store_true", help="make the results the baseline")
    arguments = parser.parse_args()
    measured = ratios(results.read(arguments.results))
    if not measured:
        sys.exit(f"{arguments.results} has no ratios; run benchmarks/speed/run.py first.")
    if arguments.save:
        save(arguments.baseline, measured)
        print(f"{len(measured)} ratios saved in {arguments.baseline}")
        return
    baseline = ratios(results.read(arguments.baseline))
    lines, worse = compare(measured, baseline)
    if len(lines) == 1:
        sys.exit(
            f"{arguments.baseline} knows none of these comparisons (problems and threads must "
            "be the same); make a baseline with check.py --save."
        )
    print("\n".join(lines))
    unknown = len(set(measured) - set(baseline))
    if unknown:
        print(f"{unknown} comparisons are not in the baseline.")
    if worse:
        print(f"\n{len(worse)} of {len(lines) - 1} have become more than 30 % worse:")
        print("\n".join(f"- {name}" for name in worse))
        sys.exit(1)
    print(f"\nNone of {len(lines) - 1} has become more than 30 % worse.")


if __name__ == "__main__":
    main()
