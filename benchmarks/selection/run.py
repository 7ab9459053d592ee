"""Selectors on data with known answers: ``make bench-selection``.

Writes one line of results.csv for each design, selector and seed, and goes on after an
interruption; ``report.py`` makes docs/selection.md of it.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks import fits
from benchmarks.selection.designs import DESIGNS, MANY_SEEDS
from benchmarks.selection.selectors import SELECTORS

HERE = Path(__file__).parent
KEYS = ("design", "selector", "seed")
MEASURES = (
    "all_first",  # the share of the columns that carry something among as many first ones
    "all_found",  # the same of those that a selector chooses by itself
    "all_false",  # the share of its choice that carries nothing
    "needed_first",  # the share of what is needed among as many first ones
    "needed_found",
    "needed_size",  # how many columns are chosen
    "needed_false",
    "seconds",
    "error",
)


def covered(columns, needed):
    """The share of the sets of which one column is there."""
    return np.mean([bool(one & set(map(int, columns))) for one in needed])


def measures(answer, n_columns, every, needed):
    """The measures of one answer to both questions."""
    line = {}
    for question, prefix in (("all", "all"), ("smallest", "needed")):
        own = answer.get(question, answer)
        ranking, chosen = own["ranking"], own.get("chosen")
        false = None
        if chosen is not None and every is not None:
            false = float((~np.isin(chosen, every)).sum() / max(1, len(chosen)))
            line[f"{prefix}_false"] = false
        if question == "all" and every is not None and len(every):
            line["all_first"] = float(np.isin(ranking[: len(every)], every).mean())
            if chosen is not None:
                line["all_found"] = float(np.isin(every, chosen).mean())
        if question == "smallest" and needed is not None:
            line["needed_first"] = float(covered(ranking[: len(needed)], needed))
            if chosen is not None:
                line["needed_found"] = float(covered(chosen, needed))
                line["needed_size"] = len(chosen)
    return line


def one(design, selector, seed):
    X, y, every, needed = DESIGNS[design](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        try:
            answer = SELECTORS[selector][0](X, y, seed)
        except Exception as error:
            return {"error": fits.failure(error)}
        seconds = time.process_time() - started
    return measures(answer, X.shape[1], every, needed) | {"seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--selectors", nargs="*", default=list(SELECTORS))
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    arguments = parser.parse_args()
    wanted = [
        (design, selector, seed)
        for selector in arguments.selectors
        for design in arguments.designs
        for seed in range(min(SELECTORS[selector][1], 100 if design in MANY_SEEDS else 10))
    ]
    # What is compared comes first, the many seeds of the rates last.
    wanted.sort(key=lambda key: key[2] // 10)
    fits.fill(arguments.out, KEYS, MEASURES, one, wanted, arguments.jobs)


if __name__ == "__main__":
    main()
