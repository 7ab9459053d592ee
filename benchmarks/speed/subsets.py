"""Seconds to a subset of columns that is as good: SubsetSelector against a forward search."""

import numpy as np
import problems
from results import compared
from sklearn.base import clone
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression
from timing import SETTLE, on_threads, on_workers, race

from covey import SubsetSelector

TARGET = 0.01
MODEL = LogisticRegression(max_iter=1000)
N_RESAMPLES = (2, 6, 30)  # from the cheapest to the default
FORWARD = "forward search"


def _accuracy(selector, problem):
    """Of the same model, on rows held out, with the columns that were selected."""
    columns = np.flatnonzero(selector.get_support())
    model = clone(MODEL).fit(problem.X[:, columns], problem.y)
    return model.score(problem.X_test[:, columns], problem.y_test)


def subset(options):
    """Every number of resamples has its line; the target is for the cheapest that is as good."""
    if options.quick:
        problem, n_columns = problems.load("400x30x3"), 4
    else:
        problem, n_columns = problems.load(problems.WIDEST), 10
    X, y = problem.X, problem.y

    def forward(jobs):
        return lambda: SequentialFeatureSelector(
            MODEL, n_features_to_select=n_columns, direction="forward", cv=5, n_jobs=jobs
        ).fit(X, y)

    # One round with one BLAS thread in each process is enough: it takes minutes, its products are
    # small, and what is asked for is a hundredfold.
    setting, *_ = (entry := on_workers(forward, [options.jobs]))
    timings = race({FORWARD: {setting: entry[setting]}}, 1, settle=SETTLE)
    scores = {FORWARD: _accuracy(timings[FORWARD].value, problem)}
    ours = {f"SubsetSelector, {n} resamples": n for n in N_RESAMPLES}
    timings |= race(
        {
            name: on_threads(
                lambda n=n: SubsetSelector(
                    n_features_to_select=n_columns, n_resamples=n, random_state=0
                ).fit(X, y)
            )
            for name, n in ours.items()
        },
        options.repeats,
        settle=SETTLE,
        budget=40,
    )
    scores |= {name: _accuracy(timings[name].value, problem) for name in ours}
    as_good = [name for name in ours if scores[name] >= scores[FORWARD]]
    judged = as_good[0] if as_good else list(ours)[-1]
    return [
        compared(
            "subset",
            f"{problem.name}, {n_columns} columns",
            timings,
            name,
            FORWARD,
            scores,
            **({"target": TARGET, "needs": "accuracy"} if name == judged else {}),
        )
        for name in ours
    ]
