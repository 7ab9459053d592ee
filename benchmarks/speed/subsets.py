"""Seconds to a subset of columns that is as good: what a flock finds against a forward search.

Two ways to ask a flock: `SubsetSelector`, which also says how stable its answer is, and dropping
a fifth of the columns again and again by the ``feature_importances_`` of a member.
"""

import numpy as np
import problems
from results import compared
from sklearn.base import clone
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression
from timing import SETTLE, on_threads, on_workers, race

from covey import SubsetEnsembleClassifier, SubsetSelector

TARGET = 0.01
MODEL = LogisticRegression(max_iter=1000)
N_RESAMPLES = (2, 6, 30)  # from the cheapest to the default
FORWARD = "forward search"
RECURSIVE = "a fifth less each time"


class Recursive:
    """Columns that are left when the least important fifth is dropped again and again."""

    def __init__(self, n_columns):
        self.n_columns = n_columns

    def fit(self, X, y):
        columns = np.arange(X.shape[1])
        while len(columns) > self.n_columns:
            member = SubsetEnsembleClassifier(
                n_estimators=1,
                flip_probability=0.0,
                learning_rate="newton",
                max_iter=8,
                fuser="product",
                random_state=0,
            ).fit(X[:, columns], y)
            left = max(self.n_columns, int(0.8 * len(columns)))
            columns = columns[np.argsort(-member.feature_importances_)[:left]]
        self._support = np.isin(np.arange(X.shape[1]), columns)
        return self

    def get_support(self):
        return self._support


def _accuracy(selector, problem):
    """Of the same model, on rows held out, with the columns that were selected."""
    columns = np.flatnonzero(selector.get_support())
    model = clone(MODEL).fit(problem.X[:, columns], problem.y)
    return model.score(problem.X_test[:, columns], problem.y_test)


def subset(options):
    """Every way has its line; the target is for the first that is as good.

    As good is an accuracy within one standard error of the forward search's.
    """
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
    ours = {RECURSIVE: Recursive(n_columns)} | {
        f"SubsetSelector, {n} resamples": SubsetSelector(
            n_features_to_select=n_columns, n_resamples=n, random_state=0
        )
        for n in N_RESAMPLES
    }
    timings |= race(
        {
            name: on_threads(lambda selector=selector: selector.fit(X, y))
            for name, selector in ours.items()
        },
        options.repeats,
        settle=SETTLE,
        budget=40,
    )
    scores |= {name: _accuracy(timings[name].value, problem) for name in ours}
    error = np.sqrt(scores[FORWARD] * (1 - scores[FORWARD]) / len(problem.y_test))
    as_good = [name for name in ours if scores[name] >= scores[FORWARD] - error]
    judged = as_good[0] if as_good else list(ours)[-1]
    return [
        compared(
            "subset",
            f"{problem.name}, {n_columns} columns",
            timings,
            name,
            FORWARD,
            scores,
            **({"target": TARGET} if name == judged and as_good else {}),
        )
        for name in ours
    ]
