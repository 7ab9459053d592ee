"""Predicting with a flock that is one linear model, against the bare product."""

import numpy as np
import problems
from results import compared
from sklearn import config_context
from timing import race, thread_counts, with_threads

import rivals

TARGET = 1.2


def predict(options):
    """``decision_function`` of a product of members, without the check for finite numbers.

    For two classes it gives one number a row, so that the bare product has one column.
    """
    for name in (problems.WIDEST, problems.size(problems.LONG, options.quick)):
        problem = problems.load(name)
        X = problem.X
        flock = rivals.printed(20, 3).fit(X, problem.y)
        n_columns = flock.decision_function(X[:5]).reshape(5, -1).shape[1]
        W = np.random.default_rng(0).standard_normal((X.shape[1], n_columns))

        def ours(flock=flock, X=X):
            with config_context(assume_finite=True):
                return flock.decision_function(X)

        for threads in thread_counts():
            timings = race(
                {
                    "decision_function": with_threads(ours, threads),
                    "X @ W": with_threads(lambda X=X, W=W: X @ W, threads),
                },
                5 * options.repeats,
                least=0.02,
                warm=True,
                budget=10,
            )
            yield compared(
                "predict",
                name,
                timings,
                "decision_function",
                "X @ W",
                threads=threads,
                target=TARGET,
            )
