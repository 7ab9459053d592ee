"""How good models are on rows that they have not seen, beside simple ones, with intervals."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from covey._intervals import (
    Interval,
    accuracy_interval,
    mean_interval,
    mean_p_value,
    r2_interval,
)
from covey._judgement import Judgement, log_losses
from covey.cli._console import CommandError
from covey.cli._fitting import Folds, PreparedRows, forward_splits, group_folds
from covey.cli._problem import Problem

# More rows than this are held out once rather than five times: the interval is narrow enough.
_MOST_ROWS_TO_CROSS_VALIDATE = 4_000
# Rows that a linear model is fitted on where it is only compared with.
_MOST_ROWS_TO_COMPARE = 40_000
_N_FOLDS = 5
_HELD_OUT = 0.25


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
    # Probabilities (n, n_classes), or numbers (n,).
    predictions: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    correct: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # for classes
    losses: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # of each row

    @classmethod
    def of(
        cls,
        name: str,
        problem: Problem,
        rows: np.ndarray,
        predictions: np.ndarray,
        seconds: float = 0.0,
        knows_probabilities: bool = True,
    ) -> Score:
        """The score of predictions for rows of a problem."""
        y = problem.y[rows]
        groups = None if problem.groups is None else problem.groups[rows]
        if problem.regression:
            correct, losses = np.full(len(y), np.nan), (predictions - y) ** 2
            interval = r2_interval(y, losses, groups)
        else:
            classes = np.unique(problem.y)
            correct, losses = correct_and_loss(classes, predictions, y)
            interval = accuracy_interval(correct, groups)
            if not knows_probabilities:
                losses = np.full(len(y), np.nan)
        loss = float(np.sqrt(losses.mean()) if problem.regression else losses.mean())
        return cls(name, *interval, loss, seconds, rows, predictions, correct, losses)

    def on(self, problem: Problem, rows: np.ndarray) -> Score:
        """The score on some of its rows alone."""
        which = np.searchsorted(self.rows, rows)
        knows = bool(np.isfinite(self.losses).all())
        return Score.of(self.name, problem, rows, self.predictions[which], self.seconds, knows)

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
            # What is a little below zero is rounded to zero, not to -0.
            value, low, high = (round(one, 3) + 0.0 for one in (self.value, self.low, self.high))
            return f"{value:.3f} ({low:.3f} to {high:.3f})"
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


class Trial:
    """Models of a problem that are judged on the same rows held out.

    A part of the rows is prepared once for all models. Parts of a short table are kept, so that
    simple models can be judged before others; of a longer one there is no room for two.

    ``step`` is called with a text before each fit and with 1 after it. Where ``failures`` is
    given, it takes the messages of models that fail, which are then left out; by default a
    failure is raised. ``on_fitted`` is called with the name and the model of each fit.
    """

    def __init__(
        self,
        problem: Problem,
        splits: Folds,
        seed: int = 0,
        *,
        step: Callable[..., None] = lambda text, done=0: None,
        failures: dict[str, str] | None = None,
        on_fitted: Callable[[str, Any], None] = lambda name, model: None,
    ) -> None:
        self.problem, self.splits, self.seed = problem, splits, seed
        self.failures = failures
        self._on_fitted = on_fitted
        self.step = step
        self.keeps_parts = len(problem.y) <= _MOST_ROWS_TO_CROSS_VALIDATE
        self._parts: dict[int, tuple[PreparedRows, Any]] = {}
        self._classes = None if problem.regression else np.unique(problem.y)
        self._found: dict[str, list[_Predicted]] = {}

    def run(
        self,
        estimators: Mapping[str, Any],
        checkpoints: Sequence[str] | None = None,
        expected: float | None = None,
    ) -> None:
        """Fit estimators without each part of the rows, and let them predict it.

        ``checkpoints`` are files, one for each part, from which a fit of the first estimator that
        was killed goes on. ``expected`` are the seconds that such a fit may take, to say how
        long it all will. What is finished is kept if it is interrupted.
        """
        leader = next(iter(estimators))
        for name in estimators:
            self._found[name] = []
        for number in range(len(self.splits)):
            for name, estimator in estimators.items():
                if self.failures and name in self.failures:
                    continue
                self.step(
                    f"{name}, held-out part {number + 1} of {len(self.splits)}"
                    f"{_time_left(expected, len(self.splits) - number)}"
                )
                checkpoint = checkpoints[number] if checkpoints and name == leader else None
                try:
                    self._found[name].append(self._predicted(number, name, estimator, checkpoint))
                except Exception as error:
                    # Models of others may raise anything.
                    if self.failures is None:
                        raise
                    self.failures[name] = (str(error) or type(error).__name__).splitlines()[0]
                self.step("", 1)
        if not self.keeps_parts:
            self._parts.clear()

    def _part(self, number: int) -> tuple[PreparedRows, Any]:
        """The rows to fit on, and the numbers of those that are held out."""
        if number not in self._parts:
            if not self.keeps_parts:
                self._parts.clear()
            train, test = self.splits[number]
            prepared = PreparedRows(self.problem, train, self.seed)
            held_out = prepared.preparation.transform(self.problem.table.iloc[test])
            self._parts[number] = prepared, held_out
        return self._parts[number]

    def _predicted(
        self, number: int, name: str, estimator: Any, checkpoint: str | None
    ) -> _Predicted:
        prepared, held_out = self._part(number)
        started = time.perf_counter()
        model = prepared.fit(estimator, checkpoint)
        seconds = time.perf_counter() - started
        self._on_fitted(name, model)
        knows = self.problem.regression or hasattr(model.estimator_, "predict_proba")
        predictions = predictions_of(model.estimator_, held_out, self._classes)
        return _Predicted(self.splits[number][1], predictions, seconds, knows)

    def n_finished(self, name: str) -> int:
        """How many parts a model has predicted."""
        return len(self._found.get(name, ()))

    def scores(self) -> list[Score]:
        """The scores, all on the same rows, of the models that did not fail.

        After an interrupt these are the rows that all of them have predicted.
        """
        failed = self.failures or {}
        found = {n: parts for n, parts in self._found.items() if parts and n not in failed}
        n_parts = min(map(len, found.values()), default=0)
        if not n_parts:
            return []
        return [self._score(name, parts[:n_parts]) for name, parts in found.items()]

    def _score(self, name: str, parts: Sequence[_Predicted]) -> Score:
        rows = np.concatenate([part.rows for part in parts])
        order = np.argsort(rows, kind="stable")
        predictions = np.concatenate([part.predictions for part in parts])[order]
        seconds = float(np.mean([part.seconds for part in parts]))
        knows = all(part.knows_probabilities for part in parts)
        return Score.of(name, self.problem, rows[order], predictions, seconds, knows)


@dataclass(frozen=True, eq=False)
class _Predicted:
    """What a model predicts of a part of the rows that was held out."""

    rows: np.ndarray
    predictions: np.ndarray
    seconds: float  # of the fit
    knows_probabilities: bool


def _time_left(expected: float | None, n_parts: int) -> str:
    """About how long it still takes, in words; nothing where that is not known."""
    if expected is None:
        return ""
    seconds = expected * n_parts
    return f", about {seconds / 60:.0f} min left" if seconds > 100 else f", {seconds:.0f} s left"


def predictions_of(estimator: Any, numbers: Any, classes: np.ndarray | None) -> np.ndarray:
    """Probabilities of all classes (n, n_classes), or numbers (n,) where there are none.

    A class that the estimator has not seen has none; one that has no probabilities is sure.
    """
    if classes is None:
        return np.asarray(estimator.predict(numbers), dtype=np.float64)
    found = np.zeros((len(numbers), len(classes)))
    if not hasattr(estimator, "predict_proba"):
        labels = np.searchsorted(classes, estimator.predict(numbers))
        found[np.arange(len(found)), labels] = 1.0
        return found
    found[:, np.searchsorted(classes, estimator.classes_)] = estimator.predict_proba(numbers)
    return found


def correct_and_loss(
    classes: np.ndarray, probabilities: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row is correct, and its log-loss; an unknown class is never correct."""
    correct = (classes[probabilities.argmax(axis=1)] == y).astype(float)
    return correct, log_losses(classes, probabilities, y)


def judgement_of(problem: Problem, scores: Sequence[Score], how: str) -> Judgement:
    """What is known of the first of some models, beside the others, from rows held out."""
    rows = scores[0].rows
    return Judgement(
        rows=rows,
        numbers=problem.numbers[rows],
        y=problem.y[rows],
        predictions=scores[0].predictions,
        classes=None if problem.regression else np.unique(problem.y),
        how=how,
        scores=[one.as_record(problem.regression) for one in scores],
        groups=None if problem.groups is None else problem.groups[rows],
    )


def first_look(problem: Problem, estimators: Mapping[str, Any], seed: int) -> list[Score]:
    """Scores on a few rows of a long table, for who waits for those on all."""
    rows = np.random.default_rng(seed).permutation(len(problem.y))[:_MOST_ROWS_TO_CROSS_VALIDATE]
    rows.sort()
    some = replace(
        problem,
        table=problem.table.iloc[rows],
        y=problem.y[rows],
        groups=None if problem.groups is None else problem.groups[rows],
        times=None if problem.times is None else problem.times[rows],
        note=lambda sentence: None,
    )
    trial = Trial(some, make_splits(some, seed)[0][-1:], seed)
    trial.run(estimators)
    return trial.scores()


def judged_by_search(problem: Problem, fitted: Any, others: Sequence[Score]) -> list[Score]:
    """The score of a flock by the rows that its own search held out, and others on the same.

    It flatters a little, since the search chose by these rows. Empty where it held none out.
    """
    found = getattr(fitted.estimator_, "out_of_fold_", None)
    if found is None:
        return []
    own = Score.of("flock", problem, found.rows, found.predictions)
    rows = found.rows
    for one in others:
        rows = np.intersect1d(rows, one.rows)
    return [one.on(problem, rows) for one in (own, *others)] if len(rows) else []


def difference(one: Score, other: Score, problem: Problem) -> Interval:
    """By how much one accuracy (or R2) is above another on the same rows, with a 95 % interval."""
    groups = None if problem.groups is None else problem.groups[one.rows]
    if not problem.regression:
        return mean_interval(one.correct - other.correct, groups)
    spread = float(np.var(problem.y[one.rows])) or np.nan
    return mean_interval((other.losses - one.losses) / spread, groups)


def chance_of_difference(one: Score, other: Score, problem: Problem, measure: str) -> float:
    """How likely two models differ as much on these rows by chance; NaN where it is not known.

    ``measure`` is "correct" or "losses".
    """
    between = getattr(one, measure) - getattr(other, measure)
    if not np.isfinite(between).all():
        return np.nan
    return mean_p_value(between, None if problem.groups is None else problem.groups[one.rows])


def loss_difference(one: Score, other: Score, problem: Problem) -> Interval:
    """By how much one log-loss is above another on the same rows, with a 95 % interval."""
    groups = None if problem.groups is None else problem.groups[one.rows]
    return mean_interval(one.losses - other.losses, groups)


# -- simple models ---------------------------------------------------------------------------


def simplest(problem: Problem) -> dict[str, Any]:
    """The model that reads no column, by its name: the commonest class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if problem.regression:
        return {"the mean": DummyRegressor()}
    return {"commonest class": DummyClassifier(strategy="prior")}


def linear(problem: Problem, seed: int = 0) -> dict[str, Any]:
    """A tuned linear model, by its name: a flock of one member that reads all columns.

    That is a logistic regression, or a ridge regression. As a flock it can be saved, explained
    and reported as any other.
    """
    from covey.fusers import Gate
    from covey.members import SubsetEnsembleClassifier, SubsetEnsembleRegressor

    kind = SubsetEnsembleRegressor if problem.regression else SubsetEnsembleClassifier
    # The "gate" of one member only chooses its penalty.
    one = kind(1, flip_probability=0.0, fuser=Gate(), random_state=seed)
    name = f"{'ridge' if problem.regression else 'logistic'} regression, tuned"
    return {name: one}


def quick(estimators: Mapping[str, Any], problem: Problem, seed: int = 0) -> dict[str, Any]:
    """The same models, which of a long table see some rows only: a linear one needs no more."""
    if len(problem.y) <= _MOST_ROWS_TO_COMPARE or problem.groups is not None:
        return dict(estimators)
    if problem.times is not None:  # folds that go forward in time are of all rows
        return dict(estimators)
    return {name: OnSomeRows(one, _MOST_ROWS_TO_COMPARE, seed) for name, one in estimators.items()}


class OnSomeRows(BaseEstimator):
    """A model that is fitted on some rows at most, drawn at random.

    With n rows the log-loss of p coefficients is about ``p / (2 n)`` above the best, so that a
    comparison with 40,000 rows is fair to the third digit.
    """

    def __init__(self, estimator: Any, max_rows: int, random_state: int = 0) -> None:
        self.estimator = estimator
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray) -> OnSomeRows:
        """Fit the model on a sample of the rows of a data frame."""
        order = np.random.default_rng(self.random_state).permutation(len(y))
        rows = np.sort(order[: self.max_rows])
        self.estimator_ = clone(self.estimator).fit(X.iloc[rows], np.asarray(y)[rows])
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
            self.predict_proba = self.estimator_.predict_proba
        return self

    def predict(self, X: Any) -> np.ndarray:
        """What the model predicts."""
        return self.estimator_.predict(X)
