"""Figure 1: the synthetic set of eq. (11), from very few rows to many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from covey.datasets import make_quarter_circle
from covey.reproduce._ensembles import Constants, grow_on_sets, scores
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Results, Row
from covey.reproduce._splits import whole_number

EXPERIMENT, DATASET = "figure1", "quarter_circle"
TEST_ROWS_PER_CLASS = 50_000
# Training sets in one stack share one matrix, where each sees its own rows only: worth it while
# they are small.
_ROWS_AT_ONCE = 400


def tasks(options: Options) -> list[Task]:
    """Training sets of each size, several at a time where they are small."""
    found = []
    for size in options.sizes:
        found += in_chunks(
            *(EXPERIMENT, DATASET, f"{size} per class", "_figure1:work"),
            runs=options.runs,
            at_once=next(n for n in (10, 5, 2, 1) if n * 2 * size <= _ROWS_AT_ONCE or n == 1),
            cost=0.3 + 0.0005 * size,
            arguments={"size": size, "seed": options.seed},
        )
    return found


@lru_cache(maxsize=1)
def _test_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    number = whole_number(seed, EXPERIMENT, "test")
    return make_quarter_circle(TEST_ROWS_PER_CLASS, random_state=number)


def work(
    size: int,
    seed: int,
    runs: list[int],
    thr: float = Constants.thr,
    eta: float = Constants.eta,
    purpose: str = EXPERIMENT,
) -> Iterator[Row]:
    """Accuracies of some training sets of one size; K is tuned on the training rows."""
    sets = [
        make_quarter_circle(size, random_state=whole_number(seed, purpose, size, run))
        for run in runs
    ]
    number = whole_number(seed, purpose, size, "members")
    grown = grow_on_sets(sets, Constants(thr, eta), seed=number, runs=runs)
    for run, training, ensembles in zip(runs, sets, grown, strict=True):
        for quantity, value in scores(ensembles, training, _test_rows(seed)).items():
            yield run, quantity, value


def sizes_of(results: Results) -> list[int]:
    """The training sizes there are, in order."""
    return sorted(int(text.split()[0]) for text in results.conditions(EXPERIMENT, DATASET))


def gains(results: Results, size: int, quantity: str, over: str = "baseline") -> np.ndarray:
    """Relative improvements of one size, in per cent, run by run."""
    return results.gain(EXPERIMENT, DATASET, f"{size} per class", quantity, over)
