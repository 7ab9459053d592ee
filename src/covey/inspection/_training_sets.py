"""Models fitted on many training sets, what they predict of the same test rows, and the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from covey._blocks import take_rows
from covey._models import with_seeds
from covey._validation import check_labels, check_number

# A training set of one class is no classification problem: it is drawn again, so many times.
MAX_DRAWS = 100

# What draws are for.
SPLIT, TRAINING_SET, MODEL, TEST_SET = range(4)


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


def generator_for(seed: int, *use: int) -> np.random.RandomState:
    """A generator that is a function of its use and position, so that no order of runs matters."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, *use])))


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
        parallel = Parallel(n_jobs=n_jobs, verbose=verbose)
        return parallel(delayed(self.one)(number) for number in range(n_runs))

    def one(self, number: int) -> Run:
        """Draw a training set, fit a clone on it and predict the test rows."""
        labels = None
        for attempt in range(MAX_DRAWS):
            X, y = self._training_set(generator_for(self.seed, TRAINING_SET, number, attempt))
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
        draw = generator_for(self.seed, MODEL, number).randint
        model = with_seeds(self.estimator, lambda count: draw(2**31 - 1, size=count))
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


@dataclass(frozen=True)
class Truth:
    """The true values or class probabilities at the test rows, and the noise about them."""

    loss: str
    given: Any  # by the user: numbers, or a function of the test rows
    noise_variance: Any
    classes: Any  # the labels of the columns of probabilities

    def check(self, X_test: Any) -> None:
        """Refuse what cannot be used, before anything is fitted."""
        if self.loss == "squared" and self.classes is not None:
            raise ValueError("classes is for loss='zero_one'; leave it out with squared loss.")
        if self.loss == "zero_one" and self.noise_variance is not None:
            raise ValueError(
                "noise_variance is for loss='squared'; with zero-one loss the probabilities in "
                "truth hold the noise."
            )
        if self.given is None and self.noise_variance is not None:
            raise ValueError(
                "noise_variance needs truth: without the true values, bias and noise are one term."
            )
        if self.given is None and self.classes is not None:
            raise ValueError("classes names the columns of truth; give both or none.")
        noise_of_rows = np.ndim(self.noise_variance) > 0
        if self.noise_variance is not None and not noise_of_rows:
            check_number(self.noise_variance, "noise_variance", low=0)
        if X_test is None:
            values_of_rows = self.given is not None and not callable(self.given)
            for name, of_rows in (("truth", values_of_rows), ("noise_variance", noise_of_rows)):
                if of_rows:
                    raise ValueError(
                        f"{name} holds an entry for each test row, but X_test is not given; "
                        "give X_test too."
                    )

    def at(self, X_test: Any) -> np.ndarray | None:
        """Values (n_test,) or (n_test, n_outputs), or probabilities (n_test, n_classes)."""
        if self.given is None:
            return None
        n_test = X_test.shape[0]
        known = self.given(X_test) if callable(self.given) else self.given
        if np.ndim(known) == 0 or len(known) != n_test:
            raise ValueError(
                f"truth must have an entry for each of the {n_test} test rows, got "
                f"{'one number' if np.ndim(known) == 0 else len(known)}."
            )
        if self.loss == "squared":
            return targets(known, self.loss, "truth")
        if np.ndim(known) != 2:
            raise ValueError(
                "truth must hold a probability for each class in each row, shape (n_test, "
                f"n_classes), got shape {np.shape(known)}."
            )
        probabilities = check_array(known, dtype=np.float64, input_name="truth")
        total = probabilities.sum(axis=1)
        broken = (probabilities < 0).any(axis=1) | (np.abs(total - 1) > 1e-6)
        if broken.any():
            raise ValueError(
                "truth must hold probabilities, which are not negative and sum to one in each "
                f"row, but row {int(np.argmax(broken))} does not."
            )
        return probabilities / total[:, None]

    def noise_at(self, n_test: int) -> np.ndarray | None:
        """The noise's variance at each test row, (n_test,)."""
        if self.noise_variance is None:
            return None
        if np.ndim(self.noise_variance) == 0:
            return np.full(n_test, float(self.noise_variance))
        how = {"dtype": np.float64, "ensure_2d": False, "input_name": "noise_variance"}
        noise = check_array(self.noise_variance, **how)
        if noise.shape != (n_test,):
            raise ValueError(
                f"noise_variance must be a number or one for each of the {n_test} test rows, "
                f"got shape {noise.shape}."
            )
        if (noise < 0).any():
            entry = int(np.argmax(noise < 0))
            raise ValueError(
                f"noise_variance must not be negative, but entry {entry} is {noise[entry]:g}."
            )
        return noise


def targets(y: ArrayLike, loss: str, name: str) -> np.ndarray:
    """Labels as a flat array; numbers as floats, flat if there is one output."""
    if loss == "zero_one":
        y = column_or_1d(y, warn=True)
        check_labels(y)
        return y
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name=name)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
