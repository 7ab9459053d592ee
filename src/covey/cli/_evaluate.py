"""How good models are on rows that they have not seen, beside simple ones, with intervals."""

import time
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

from covey.cli._console import CommandError
from covey.cli._fitting import fit_rows, forward_splits, group_folds, table_model

# More rows than this are held out once rather than five times: the interval is narrow enough.
_MOST_ROWS_TO_CROSS_VALIDATE = 4_000
_N_FOLDS = 5
_HELD_OUT = 0.25
_N_BOOTSTRAP = 1_000
LEAST_PROBABILITY = 1e-15


@dataclass
class Score:
    """What a model reached on rows held out.

    Attributes
    ----------
    name : str
    value, low, high : float
        Accuracy, or R2 for numbers, and its 95 % interval.
    loss : float
        Log-loss, or the root mean squared error.
    seconds : float
        To fit it once, on average.
    rows : ndarray
        The rows held out.
    right : ndarray
        Whether each was right, or its squared error.
    losses : ndarray
        The log-loss of each, or its squared error.
    """

    name: str
    value: float
    low: float
    high: float
    loss: float
    seconds: float
    rows: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)
    losses: np.ndarray = field(repr=False)

    def on_first(self, n_rows, groups=None):
        """The accuracy on the first rows held out alone: those of the first split."""
        right, losses = self.right[:n_rows], self.losses[:n_rows]
        groups = None if groups is None else groups[self.rows[:n_rows]]
        value, low, high = accuracy_interval(right, groups)
        loss = float(losses.mean())
        return replace(
            self,
            value=value,
            low=low,
            high=high,
            loss=loss,
            rows=self.rows[:n_rows],
            right=right,
            losses=losses,
        )

    def as_baseline(self, numbers=False):
        """The score as reports and JSON have it."""
        names = ("r2", "rmse") if numbers else ("accuracy", "log_loss")
        return {
            "name": self.name,
            names[0]: self.value,
            "low": self.low,
            "high": self.high,
            names[1]: self.loss,
            "seconds": self.seconds,
        }


def make_splits(question, seed):
    """Pairs of rows to fit on and rows held out, and in words how they were made."""
    from sklearn.model_selection import (
        GroupShuffleSplit,
        KFold,
        ShuffleSplit,
        StratifiedKFold,
        StratifiedShuffleSplit,
    )

    y, numbers = question.y, question.numbers
    if question.times is not None:
        splits = forward_splits(question)
        return splits, f"{len(splits)} times later rows, forward in time"
    together = "repeated rows" if question.copies else "groups"
    if question.copies and len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        splitter = GroupShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {together} kept together"
    elif question.groups is not None:
        n_folds = min(_N_FOLDS, len(np.unique(question.groups)))
        splitter = None
        how = f"{n_folds}-fold cross-validation, {together} kept together"
    elif len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        kind = ShuffleSplit if numbers else StratifiedShuffleSplit
        if not numbers and np.unique(y, return_counts=True)[1].min() < 2:
            kind = ShuffleSplit  # a class of one row cannot be in both parts
        splitter = kind(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {int(np.ceil(_HELD_OUT * len(y))):,} rows"
    else:
        n_folds = _N_FOLDS
        if not numbers:
            n_folds = max(2, min(n_folds, int(np.unique(y, return_counts=True)[1].max())))
        kind = KFold if numbers else StratifiedKFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
        how = f"{n_folds}-fold cross-validation"
    with warnings.catch_warnings():
        # Of classes with fewer rows than folds; they are told apart as well as they can be.
        warnings.simplefilter("ignore")
        if splitter is None:
            splits = group_folds(n_folds, y, question.groups, numbers, seed)
        else:
            splits = list(splitter.split(question.table, y, question.groups))
    if not numbers:
        splits = [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
    if not splits:
        raise CommandError(
            "holding rows out leaves one value of the target only; give more rows, or leave "
            "--group out."
        )
    return splits, how


def score(name, model, question, splits, on_fold=None, checkpoints=None):
    """Fit a model on each split and say how good it is on the rest.

    Parameters
    ----------
    name : str
    model : TableClassifier or TableRegressor
        Unfitted.
    question : Question
    splits : list of (ndarray, ndarray)
    on_fold : callable, optional
        Called with a text before and with 1 after each fit.
    checkpoints : list of str, optional
        A file for each split, from which a fit that was killed goes on.

    Returns
    -------
    score : Score
    first : TableClassifier or TableRegressor
        Fitted on the first split.
    """
    fold_loss, fold_right, seconds, first = [], [], 0.0, None
    for number, (train, test) in enumerate(splits, start=1):
        if on_fold:
            on_fold(f"{name}, {number} of {len(splits)}")
        started = time.perf_counter()
        checkpoint = None if checkpoints is None else checkpoints[number - 1]
        fitted = fit_rows(model, question, train, checkpoint)
        seconds += time.perf_counter() - started
        right, loss = _judged(fitted, question, test)
        fold_right.append(right)
        fold_loss.append(loss)
        first = fitted if first is None else first
        if on_fold:
            on_fold(f"{name}, {number} of {len(splits)}", 1)
    rows = np.concatenate([test for _, test in splits])
    right, loss = np.concatenate(fold_right), np.concatenate(fold_loss)
    groups = None if question.groups is None else question.groups[rows]
    if question.numbers:
        value, low, high = r2_interval(question.y[rows], right, groups)
        total = float(np.sqrt(right.mean()))
    else:
        value, low, high = accuracy_interval(right, groups)
        total = float(loss.mean())
    seconds /= len(splits)
    return Score(name, value, low, high, total, seconds, rows, right, loss), first


def _judged(fitted, question, test):
    """Whether each row is right (or its squared error), and its log-loss."""
    table, y = question.table.iloc[test], question.y[test]
    if question.numbers:
        squared = (fitted.predict(table) - y) ** 2
        return squared, squared
    if not hasattr(fitted.estimator_, "predict_proba"):
        return (fitted.predict(table) == y).astype(float), np.full(len(y), np.nan)
    probabilities = fitted.predict_proba(table)
    return right_and_loss(fitted.classes_, probabilities, y)


def right_and_loss(classes, probabilities, y):
    """Whether each row is right, and its log-loss; a class that was not fitted is never right."""
    right = (classes[probabilities.argmax(axis=1)] == y).astype(float)
    place = np.searchsorted(classes, y)
    rows = np.flatnonzero(np.isin(y, classes))
    said = np.zeros(len(y))
    said[rows] = probabilities[rows, place[rows]]
    return right, -np.log(np.clip(said, LEAST_PROBABILITY, 1.0))


def accuracy_interval(right, groups=None):
    """Accuracy with Wilson's 95 % interval; with groups, that of a mean over groups.

    Parameters
    ----------
    right : ndarray of shape (n_rows,)
        1 for right, 0 for wrong.
    groups : ndarray of shape (n_rows,), optional
        Rows of one group are not independent of each other.

    Returns
    -------
    accuracy, low, high : float
    """
    from scipy import stats

    n_rows, accuracy = len(right), float(np.mean(right))
    if groups is None:
        return wilson_interval(accuracy, n_rows)
    _, place = np.unique(groups, return_inverse=True)
    n_groups = place.max() + 1
    if n_groups < 2:
        return accuracy, 0.0, 1.0
    if accuracy in (0.0, 1.0):
        # Groups that do not differ say nothing of those to come.
        return wilson_interval(accuracy, n_groups)
    # The ratio estimator of a mean over clusters.
    excess = np.bincount(place, right - accuracy)
    error = np.sqrt(n_groups / (n_groups - 1) * np.sum(excess**2)) / n_rows
    half = stats.t.ppf(0.975, n_groups - 1) * error
    return accuracy, float(max(0.0, accuracy - half)), float(min(1.0, accuracy + half))


def wilson_interval(accuracy, n_rows):
    """An accuracy on so many rows with Wilson's 95 % interval."""
    from scipy import stats

    z = stats.norm.ppf(0.975)
    middle = (accuracy + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    half = np.sqrt(accuracy * (1 - accuracy) / n_rows + z**2 / (4 * n_rows**2))
    half *= z / (1 + z**2 / n_rows)
    # Rounding must not put the middle of nothing below nothing.
    return accuracy, float(max(0.0, middle - half)), float(min(1.0, middle + half))


def r2_interval(y, squared_errors, groups=None):
    """R2 with a 95 % interval by a bootstrap over rows, or over groups."""
    rng = np.random.default_rng(0)
    units = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = units.max() + 1
    # All that R2 needs of a unit: its size and four sums.
    centred = y - y.mean()
    sums = np.stack(
        [
            np.bincount(units, part)
            for part in (np.ones(len(y)), centred, centred**2, squared_errors)
        ]
    )

    def r2(count, first, second, errors):
        spread = second - first**2 / count
        return 1.0 - errors / np.where(spread > 0, spread, np.nan)

    draws = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=_N_BOOTSTRAP)
    low, high = np.nanquantile(r2(*(draws @ sums.T).T), [0.025, 0.975])
    return float(r2(*sums.sum(axis=1))), float(low), float(high)


def difference(one, other, groups=None):
    """By how much one accuracy is above another on the same rows, with a 95 % interval."""
    gap = one.right - other.right
    if groups is not None:
        groups = groups[one.rows]
        place = np.unique(groups, return_inverse=True)[1]
        excess = np.bincount(place, gap - gap.mean())
        n_units = len(excess)
    else:
        excess, n_units = gap - gap.mean(), len(gap)
    return difference_interval(float(gap.mean()), np.sum(excess**2), n_units, len(gap))


def difference_interval(gap, squares, n_units, n_rows):
    """A mean difference with its 95 % interval.

    Parameters
    ----------
    gap : float
    squares : float
        The sum over units of what each differs from the mean, squared.
    n_units, n_rows : int
        Units are rows, or groups of them.

    Returns
    -------
    gap, low, high : float
    """
    from scipy import stats

    error = np.sqrt(n_units / max(1, n_units - 1) * squares) / n_rows
    half = stats.t.ppf(0.975, max(1, n_units - 1)) * error
    return gap, float(gap - half), float(gap + half)


# -- simple models ---------------------------------------------------------------------------


def simplest(question):
    """The model that looks at nothing: the commonest class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if question.numbers:
        return "the mean", table_model(question, DummyRegressor())
    return "commonest class", table_model(question, DummyClassifier(strategy="prior"))


def linear(question, seed):
    """A tuned linear model on the same preparation."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if question.numbers:
        learner = RidgeCV(np.logspace(-3, 5, 17))
        return "ridge regression, tuned", table_model(
            question, make_pipeline(StandardScaler(), learner), seed
        )
    fewest = int(np.unique(question.y, return_counts=True)[1].min())
    if fewest >= 4:
        learner = _quiet_logistic(
            LogisticRegressionCV,
            Cs=10,
            cv=min(5, fewest // 2),
            scoring=_log_likelihood,
            max_iter=1000,
        )
        name = "logistic regression, tuned"
    else:
        # Too few rows of a class to tune by folds.
        learner, name = LogisticRegression(max_iter=1000), "logistic regression"
    return name, table_model(question, make_pipeline(StandardScaler(), learner), seed)


def _log_likelihood(estimator, X, y):
    """The mean log-likelihood; rows held out by group or time may lack a class."""
    said = estimator.predict_proba(X)[np.arange(len(y)), np.searchsorted(estimator.classes_, y)]
    return float(np.log(np.clip(said, LEAST_PROBABILITY, 1.0)).mean())


def _quiet_logistic(kind, **parameters):
    """The model with the attributes of newer scikit-learn where there is a choice."""
    try:
        return kind(use_legacy_attributes=False, l1_ratios=(0.0,), **parameters)
    except TypeError:
        return kind(**parameters)


def percent(value, low=None, high=None):
    """An accuracy for people to read, with its interval."""
    if low is None:
        return f"{100 * value:.1f} %"
    return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def measured(result, numbers):
    """A score for people to read."""
    if numbers:
        return f"{result.value:.3f} ({result.low:.3f} to {result.high:.3f})"
    return percent(result.value, result.low, result.high)
