"""Models fitted on many training sets, and what they predict of the same test rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed

from covey._blocks import take_rows
from covey._validation import check_number
from covey.inspection._truth import targets

# A training set of one class is no classification problem: it is drawn again, so many times.
MAX_DRAWS = 100


class Purpose(IntEnum):
    """What a draw is for."""

    SPLIT = 0
    TRAINING_SET = 1
    MODEL = 2
    TEST_SET = 3


def checked_rows(
    X: Any, y: Any, loss: str, X_name: str, y_name: str
) -> tuple[Any, np.ndarray | None]:
    """X as what has rows to take, y as an array; y may be None."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) == 0:
        raise ValueError(f"{X_name} must hold rows, got {X!r}.")
    if X.shape[0] == 0:
        raise ValueError(f"{X_name} has no rows; give at least one.")
    if y is None:
        return X, None
    y = targets(y, loss, y_name)
    if len(y) != X.shape[0]:
        raise ValueError(
            f"{X_name} has {X.shape[0]} rows, but {y_name} has {len(y)}; give one target a row."
        )
    return X, y


def rows_to_draw_from(X: Any, y: Any, loss: str, draw: Any, max_samples: Any) -> tuple[Any, Any]:
    """X and y, checked; None if ``draw`` makes fresh training sets."""
    if not callable(draw):
        if X is None or y is None:
            raise ValueError(
                f"X and y are needed for draw={draw!r}; give both, or a function that draws "
                "fresh training sets."
            )
        return checked_rows(X, y, loss, "X", "y")
    if X is not None or y is not None:
        raise ValueError(
            "X and y must be left out where draw makes the training sets; give test rows as "
            "X_test and y_test."
        )
    if max_samples is not None:
        raise ValueError(
            "max_samples must be left out where draw makes the training sets, which have as many "
            "rows as it draws."
        )
    return None, None


def n_drawn(max_samples: Any, draw: str, n_rows: int) -> int:
    """The number of rows of a resampled training set."""
    if max_samples is None:
        return n_rows if draw == "bootstrap" else max(1, n_rows // 2)
    if isinstance(max_samples, float | np.floating):
        check_number(max_samples, "max_samples", low=0, high=1, closed="right")
        return max(1, int(max_samples * n_rows))
    return int(check_number(max_samples, "max_samples", low=1, high=n_rows, whole=True))


def generator_for(seed: int, purpose: Purpose, *position: int) -> np.random.RandomState:
    """A generator that is a function of what it is for, so that no order of runs matters."""
    sequence = np.random.SeedSequence([seed, purpose, *position])
    return np.random.RandomState(np.random.MT19937(sequence))


def fresh_set(
    draw: Callable[..., Any], loss: str, generator: np.random.RandomState
) -> tuple[Any, Any]:
    """A training set that the user's function draws, checked."""
    drawn = draw(generator)
    if not (isinstance(drawn, tuple | list) and len(drawn) == 2) or drawn[1] is None:
        raise TypeError(f"draw must return a pair (X, y), got {type(drawn).__name__}.")
    return checked_rows(*drawn, loss, "The X that draw returned", "the y")


@dataclass(frozen=True)
class Run:
    """What the model of one training set predicts."""

    prediction: np.ndarray
    labels: np.ndarray | None  # the classes of the training set
    n_redrawn: int


@dataclass(frozen=True)
class Runs:
    """What all runs have in common."""

    estimator: BaseEstimator
    X: Any
    y: Any
    X_test: Any
    loss: str
    draw: Any
    n_rows: int | None
    seed: int

    def all(self, n_runs: int, n_jobs: int | None, verbose: int) -> list[Run]:
        """Fit and predict ``n_runs`` times."""
        started = time.perf_counter()
        # Not every backend returns results one by one; they are requested so only to be printed.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator" if verbose else "list")
        runs: list[Run] = []
        for run in parallel(delayed(self.one)(number) for number in range(n_runs)):
            runs.append(run)
            if verbose and len(runs) * 10 // n_runs > (len(runs) - 1) * 10 // n_runs:
                seconds = time.perf_counter() - started
                print(f"[bias_variance] run {len(runs)}/{n_runs}, {seconds:.2f} s")
        return runs

    def one(self, number: int) -> Run:
        """Draw a training set, fit a clone on it and predict the test rows."""
        labels = None
        for attempt in range(MAX_DRAWS):
            X, y = self._training_set(
                generator_for(self.seed, Purpose.TRAINING_SET, number, attempt)
            )
            if self.loss == "squared":
                break
            labels = np.unique(y)
            if len(labels) > 1:
                break
        else:
            raise ValueError(
                f"draw gave {MAX_DRAWS} training sets of one class only in a row; draw more rows, "
                "or from rows of which more belong to the rare class."
            )
        model = _seeded(self.estimator, generator_for(self.seed, Purpose.MODEL, number))
        model.fit(X, y)
        return Run(np.asarray(model.predict(self.X_test)), labels, attempt)

    def _training_set(self, generator: np.random.RandomState) -> tuple[Any, Any]:
        if callable(self.draw):
            return fresh_set(self.draw, self.loss, generator)
        n_rows = len(self.y)
        if self.draw == "bootstrap":
            rows = generator.randint(n_rows, size=self.n_rows)
        else:
            rows = np.sort(generator.permutation(n_rows)[: self.n_rows])  # keeps the order of X
        return take_rows(self.X, rows), self.y[rows]


def _seeded(estimator: BaseEstimator, generator: np.random.RandomState) -> BaseEstimator:
    """A clone whose random states, nested ones included, are set."""
    model = clone(estimator)
    names = sorted(
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    return model.set_params(**{name: int(generator.randint(2**31 - 1)) for name in names})
