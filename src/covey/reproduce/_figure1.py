"""Figure 1: the synthetic set of eq. (11), from very few rows to many."""

from functools import lru_cache

import numpy as np

from covey.datasets import make_quarter_circle
from covey.reproduce._ensembles import Constants, grow, scores
from covey.reproduce._jobs import Task
from covey.reproduce._options import chunks
from covey.reproduce._splits import whole_number

EXPERIMENT, DATASET = "figure1", "quarter_circle"
TEST_ROWS_PER_CLASS = 50_000
# Training sets in one stack share one matrix, where each sees its own rows only: worth it while
# they are small.
_ROWS_AT_ONCE = 400


def tasks(options):
    """Training sets of each size, several at a time where they are small."""
    found = []
    for size in options.sizes:
        at_once = next(n for n in (10, 5, 2, 1) if n * 2 * size <= _ROWS_AT_ONCE or n == 1)
        found += [
            Task(
                EXPERIMENT,
                DATASET,
                f"{size} per class",
                "_figure1:work",
                {"size": size, "seed": options.seed, "runs": runs},
                cost=(0.3 + 0.0005 * size) * len(runs),
            )
            for runs in chunks(options.runs, at_once)
        ]
    return found


@lru_cache(maxsize=1)
def _test_rows(seed):
    number = whole_number(seed, EXPERIMENT, "test")
    return make_quarter_circle(TEST_ROWS_PER_CLASS, random_state=number)


def work(size, seed, runs, thr=Constants.thr, eta=Constants.eta, purpose=EXPERIMENT):
    """Accuracies of some training sets of one size; K is tuned on the training rows."""
    sets = [
        make_quarter_circle(size, random_state=whole_number(seed, purpose, size, run))
        for run in runs
    ]
    X = np.concatenate([rows for rows, _ in sets])
    codes = np.concatenate([labels for _, labels in sets])
    own = np.arange(len(X)).reshape(len(runs), -1)
    grown = grow(
        X,
        codes,
        2,
        list(own),
        Constants(thr, eta),
        seed=whole_number(seed, purpose, size, "members"),
        runs=runs,
    )
    for run, rows, ensembles in zip(runs, own, grown, strict=True):
        values = scores(ensembles, (X[rows], codes[rows]), _test_rows(seed), ties=True)
        for quantity, value in values.items():
            yield run, quantity, value


def sizes_of(results):
    """The training sizes there are, in order."""
    return sorted(int(text.split()[0]) for text in results.conditions(EXPERIMENT, DATASET))


def gains(results, size, quantity, over="baseline"):
    """Relative improvements of one size, in per cent, run by run."""
    return results.gain(EXPERIMENT, DATASET, f"{size} per class", quantity, over)
