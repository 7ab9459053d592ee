"""Figure 2: which features are selected together, on the synthetic set with six dummies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covey.datasets import make_quarter_circle
from covey.reproduce._ensembles import Constants, grow_on_sets
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Results, Row
from covey.reproduce._splits import whole_number

EXPERIMENT, DATASET, CONDITION = "figure2", "quarter_circle_extended", "100 per class"
N_DUMMIES = 6
N_FEATURES = 2 + N_DUMMIES
ROWS_PER_CLASS = 100
_AT_ONCE = 2


def tasks(options: Options) -> list[Task]:
    """All runs, a few at a time."""
    case = EXPERIMENT, DATASET, CONDITION, "_figure2:work"
    arguments = {"seed": options.seed}
    return in_chunks(*case, runs=options.runs, at_once=_AT_ONCE, cost=0.25, arguments=arguments)


def work(seed: int, runs: list[int]) -> Iterator[Row]:
    """F of eq. (12) for each training set, as the quantities ``F_p_q`` with p <= q."""
    sets = [
        make_quarter_circle(
            ROWS_PER_CLASS,
            n_dummy_features=N_DUMMIES,
            random_state=whole_number(seed, EXPERIMENT, run),
        )
        for run in runs
    ]
    number = whole_number(seed, EXPERIMENT, "members")
    grown = grow_on_sets(sets, Constants(), seed=number, runs=runs)
    for run, ensembles in zip(runs, grown, strict=True):
        support = ensembles["both"].support.astype(float)
        together = support.T @ support / len(support)
        for p in range(N_FEATURES):
            for q in range(p, N_FEATURES):
                yield run, f"F_{p + 1}_{q + 1}", together[p, q]


def matrices(results: Results) -> np.ndarray:
    """F of each run, as (runs, D, D)."""
    case = EXPERIMENT, DATASET, CONDITION
    F = np.empty((len(results.get(*case, "F_1_1")), N_FEATURES, N_FEATURES))
    for p in range(N_FEATURES):
        for q in range(p, N_FEATURES):
            F[:, p, q] = F[:, q, p] = results.get(*case, f"F_{p + 1}_{q + 1}")
    return F


def top_pair(F: np.ndarray) -> tuple[int, ...]:
    """The off-diagonal entry that is highest; the first of equals."""
    above = np.where(np.triu(np.ones_like(F), 1) > 0, F, -np.inf)
    return tuple(int(i) for i in np.unravel_index(np.argmax(above), F.shape))


def top_two(F: np.ndarray) -> tuple[int, ...]:
    """The two features that are selected most often; the first of equals."""
    return tuple(sorted(int(i) for i in np.argsort(-np.diag(F), kind="stable")[:2]))
