"""How good models are on rows that they have not seen, beside simple ones, with intervals."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covey._intervals import Interval, accuracy_interval, mean_interval, r2_interval
from covey.cli._console import CommandError
from covey.cli._fitting import Folds, PreparedRows, forward_splits, group_folds
from covey.cli._problem import Problem

# More rows than this are held out once rather than five times: the interval is narrow enough.
_MOST_ROWS_TO_CROSS_VALIDATE = 4_000
_N_FOLDS = 5
_HELD_OUT = 0.25
LEAST_PROBABILITY = 1e-15


@dataclass
class Score:
    """What a model reached on rows held out."""

    name: str
    value: float  # accuracy, or R2 for numbers, with its 95 % interval
    low: float
    high: float
    loss: float  # log-loss, or the root mean squared error
    seconds: float  # to fit it once to prepared rows, on average
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)
    correct: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # for classes
    losses: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # of each row

    @classmethod
    def of(
        cls,
        name: str,
        problem: Problem,
        rows: np.ndarray,
        correct: np.ndarray,
        losses: np.ndarray,
        seconds: float,
    ) -> Score:
        """The score of predictions for rows of a problem."""
        groups = None if problem.groups is None else problem.groups[rows]
        if problem.regression:
            interval = r2_interval(problem.y[rows], losses, groups)
        else:
            interval = accuracy_interval(correct, groups)
        loss = float(np.sqrt(losses.mean()) if problem.regression else losses.mean())
        return cls(name, *interval, loss, seconds, rows, correct, losses)

    def on_first(self, problem: Problem, n_rows: int) -> Score:
        """The score on the first rows held out alone: those of the first split."""
        parts = (part[:n_rows] for part in (self.rows, self.correct, self.losses))
        return Score.of(self.name, problem, *parts, self.seconds)

    def as_record(self, regression: bool = False) -> dict[str, Any]:
        """The score as reports and JSON have it."""
        names = ("r2", "rmse") if regression else ("accuracy", "log_loss")
        return {
            "name": self.name,
            names[0]: self.value,
            "low": self.low,
            "high": self.high,
            names[1]: self.loss,
            "seconds": self.seconds,
        }

    def text(self, regression: bool = False) -> str:
        """The value with its interval, for people to read."""
        if regression:
            return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"
        return percent(self.value, self.low, self.high)


def percent(value: float, low: float, high: float) -> str:
    """An accuracy with its interval, for people to read."""
    return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def make_splits(problem: Problem, seed: int) -> tuple[Folds, str]:
    """Pairs of rows to fit on and rows held out, and in words how they were made."""
    from sklearn.model_selection import (
        GroupShuffleSplit,
        KFold,
        ShuffleSplit,
        StratifiedKFold,
        StratifiedShuffleSplit,
    )

    y, regression = problem.y, problem.regression
    if problem.times is not None:
        splits = forward_splits(problem)
        return splits, f"{len(splits)} times later rows, forward in time"
    counts = np.array([len(y)]) if regression else np.unique(y, return_counts=True)[1]
    together = "repeated rows" if problem.copies else "groups"
    splitter: Any = None
    if problem.copies and len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        splitter = GroupShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {together} kept together"
    elif problem.groups is not None:
        n_folds = min(_N_FOLDS, len(np.unique(problem.groups)))
        how = f"{n_folds}-fold cross-validation, {together} kept together"
    elif len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        # A class of one row cannot be in both parts.
        kind = ShuffleSplit if regression or counts.min() < 2 else StratifiedShuffleSplit
        splitter = kind(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {int(np.ceil(_HELD_OUT * len(y))):,} rows"
    else:
        n_folds = max(2, min(_N_FOLDS, int(counts.max())))
        kind = KFold if regression else StratifiedKFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
        how = f"{n_folds}-fold cross-validation"
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are spread as far as they go.
        warnings.simplefilter("ignore")
        if splitter is None:
            splits = group_folds(n_folds, y, problem.groups, regression, seed)
        else:
            splits = list(splitter.split(problem.table, y, problem.groups))
    if not regression:
        splits = [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
    if not splits:
        raise CommandError(
            "holding rows out leaves one value of the target only; give more rows, or leave "
            "--group out."
        )
    return splits, how


def evaluate(
    estimators: Mapping[str, Any],
    problem: Problem,
    splits: Folds,
    seed: int = 0,
    *,
    step: Callable[..., None] = lambda text, done=0: None,
    checkpoints: Sequence[str] | None = None,
    failures: dict[str, str] | None = None,
) -> tuple[list[Score], Any]:
    """Fit estimators on each split, whose rows are prepared once, and judge them on the rest.

    ``step`` is called with a text before and with 1 after each fit. ``checkpoints`` are files, one
    for each split, from which a fit of the first estimator that was killed goes on. ``failures``
    takes the messages of estimators that fail, which are then left out; by default a failure is
    raised. Returns the scores, and the first estimator's model of the first split.
    """
    parts: dict[str, list] = {name: [] for name in estimators}
    leader, first = next(iter(estimators)), None
    for number, (train, test) in enumerate(splits):
        prepared = PreparedRows(problem, train, seed)
        held_out = prepared.preparation.transform(problem.table.iloc[test])
        for name, estimator in estimators.items():
            if failures and name in failures:
                continue
            step(f"{name}, {number + 1} of {len(splits)}")
            checkpoint = checkpoints[number] if checkpoints and name == leader else None
            started = time.perf_counter()
            try:
                model = prepared.fit(estimator, checkpoint)
            except (ValueError, FloatingPointError) as error:
                if failures is None:
                    raise
                failures[name] = str(error).splitlines()[0]
                continue
            seconds = time.perf_counter() - started
            parts[name].append((*_judged(model, held_out, problem, test), seconds))
            first = model if first is None else first
            step("", 1)
    rows = np.concatenate([test for _, test in splits])
    scores = []
    for name, found in parts.items():
        if not failures or name not in failures:
            correct, losses, seconds = zip(*found, strict=True)
            correct, losses = np.concatenate(correct), np.concatenate(losses)
            scores.append(Score.of(name, problem, rows, correct, losses, np.mean(seconds)))
    return scores, first


def _judged(
    model: Any, numbers: Any, problem: Problem, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row is predicted correctly, and its log-loss or squared error."""
    y, estimator = problem.y[rows], model.estimator_
    nothing = np.full(len(y), np.nan)
    if problem.regression:
        return nothing, (estimator.predict(numbers) - y) ** 2
    if not hasattr(estimator, "predict_proba"):
        return (estimator.predict(numbers) == y).astype(float), nothing
    return correct_and_loss(estimator.classes_, estimator.predict_proba(numbers), y)


def correct_and_loss(
    classes: np.ndarray, probabilities: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row is correct, and its log-loss; an unknown class is never correct."""
    correct = (classes[probabilities.argmax(axis=1)] == y).astype(float)
    known = np.flatnonzero(np.isin(y, classes))
    of_truth = np.zeros(len(y))
    of_truth[known] = probabilities[known, np.searchsorted(classes, y[known])]
    return correct, -np.log(np.clip(of_truth, LEAST_PROBABILITY, 1.0))


def difference(one: Score, other: Score, problem: Problem) -> Interval:
    """By how much one accuracy is above another on the same rows, with a 95 % interval."""
    groups = None if problem.groups is None else problem.groups[one.rows]
    return mean_interval(one.correct - other.correct, groups)


# -- simple models ---------------------------------------------------------------------------


def simplest(problem: Problem) -> dict[str, Any]:
    """The model that reads no column, by its name: the commonest class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if problem.regression:
        return {"the mean": DummyRegressor()}
    return {"commonest class": DummyClassifier(strategy="prior")}


def linear(problem: Problem) -> dict[str, Any]:
    """A tuned linear model, by its name."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if problem.regression:
        learner, name = RidgeCV(np.logspace(-3, 5, 17)), "ridge regression, tuned"
    elif (fewest := int(np.unique(problem.y, return_counts=True)[1].min())) < 4:
        # Too few rows of a class to tune by folds.
        learner, name = LogisticRegression(max_iter=1000), "logistic regression"
    else:
        settings = {
            "Cs": 10,
            "cv": min(5, fewest // 2),
            "scoring": _log_likelihood,
            "max_iter": 1000,
        }
        name = "logistic regression, tuned"
        try:
            learner = LogisticRegressionCV(
                use_legacy_attributes=False, l1_ratios=(0.0,), **settings
            )
        except TypeError:  # an older scikit-learn
            learner = LogisticRegressionCV(**settings)
    # Squares of numbers beyond 1e150 are none, so that these are divided by the largest before.
    return {name: make_pipeline(MaxAbsScaler(), StandardScaler(), learner)}


def _log_likelihood(estimator: Any, X: Any, y: np.ndarray) -> float:
    """The mean log-likelihood; unlike scikit-learn's, of rows that lack a class too."""
    return -float(correct_and_loss(estimator.classes_, estimator.predict_proba(X), y)[1].mean())
