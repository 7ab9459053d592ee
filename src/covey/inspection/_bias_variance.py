"""The bias, the variance and the noise in a model's expected loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from covey._blocks import take_rows
from covey._core.inspection.bias_variance import (
    domingos_terms,
    kohavi_wolpert_terms,
    squared_terms,
)
from covey._models import with_seeds
from covey._validation import check_choice, check_labels, check_number

AUTHORS = {"domingos": " (Domingos)", "kohavi_wolpert": " (Kohavi and Wolpert)"}


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """The result of `bias_variance`. Terms that do not apply are None.

    Parameters
    ----------
    loss : {"squared", "zero_one"}
    decomposition : {"domingos", "kohavi_wolpert"} or None
        None for squared loss, which has only one.
    expected_loss : float
        The mean over training sets and test rows: relative to ``y_test``, or to the truth with the
        known noise.
    variance : float
        How much predictions differ from one training set to another. With Domingos, how
        often they differ from the main prediction.
    bias : float or None
        Where the truth is known: the squared bias of squared loss and of Kohavi and Wolpert;
        with Domingos, the share of rows whose main prediction is not the likeliest class.
    bias_and_noise : float or None
        This bias relative to ``y_test``, if the truth is not known. The noise in the test targets
        cannot be separated from bias then: the two are one term.
    noise : float or None
        The loss of the best possible prediction (for Kohavi and Wolpert their own term), if it is
        known.
    unbiased_variance, biased_variance : float or None
        The parts of Domingos' variance from rows whose main prediction is right, and wrong.
        They add up to ``variance``.
    net_variance : float or None
        The part of Domingos' variance in the loss: on biased rows it helps. With two classes it is
        ``unbiased_variance - biased_variance``; with more, leaving the wrong class helps only as
        often as it leads to the right one.
    noise_effect : float or None
        The part of Domingos' noise in the loss; it can affect models that err anyway.
    row_terms : dict of str to ndarray of shape (n_test,)
        The terms of each test row, and its "expected_loss"; their means are the numbers above.
    predictions : ndarray of shape (n_runs, n_test) or (n_runs, n_test, n_outputs)
        The predictions of the model of each training set.
    main_prediction : ndarray of shape (n_test,) or (n_test, n_outputs)
        The mean of the predictions; with zero-one loss the most frequent label, of equally
        frequent ones the first in sorted order.
    target : ndarray of shape (n_test,), (n_test, n_outputs) or None
        The target of predictions of numbers: the truth if it is known, else ``y_test``.
    test_rows : ndarray of int or None
        The rows of X that were split off for the test, if no ``X_test`` was given.
    n_redrawn : int
        Training sets that held one class only and were drawn again.
    description : str
        The subject of the decomposition, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import covey
    >>> def draw(rng):
    ...     X = rng.uniform(0, 1, (40, 1))
    ...     return X, np.sin(6 * X[:, 0]) + rng.normal(0, 0.1, 40)
    >>> test = np.array([[0.2], [0.8]])
    >>> deep = covey.inspection.bias_variance(
    ...     DecisionTreeRegressor(),
    ...     draw=draw,
    ...     X_test=test,
    ...     truth=lambda X: np.sin(6 * X[:, 0]),
    ...     n_runs=20,
    ...     random_state=0,
    ... )
    >>> bool(deep.variance > deep.bias)
    True
    """

    loss: str
    decomposition: str | None
    expected_loss: float
    variance: float
    bias: float | None = None
    bias_and_noise: float | None = None
    noise: float | None = None
    unbiased_variance: float | None = None
    biased_variance: float | None = None
    net_variance: float | None = None
    noise_effect: float | None = None
    row_terms: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    predictions: np.ndarray | None = field(default=None, repr=False)
    main_prediction: np.ndarray | None = field(default=None, repr=False)
    target: np.ndarray | None = field(default=None, repr=False)
    test_rows: np.ndarray | None = field(default=None, repr=False)
    n_redrawn: int = 0
    description: str = field(default="", repr=False)

    @property
    def parts(self) -> dict[str, float]:
        """Return the terms whose sum is ``expected_loss``, by name."""
        domingos = self.decomposition == "domingos"
        names = (
            "bias",
            "bias_and_noise",
            "net_variance" if domingos else "variance",
            "noise_effect" if domingos else "noise",
        )
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def summary(self, digits: int = 4) -> str:
        """Return the terms as a small table, with the share of each in the expected loss.

        Parameters
        ----------
        digits : int, default=4
            Digits behind the point.

        Returns
        -------
        text : str
        """
        shown = {} if self.decomposition == "domingos" else {"bias": "squared bias"}
        lines = [("expected loss", self.expected_loss)]
        lines += [
            (shown.get(name, name.replace("_", " ")), value) for name, value in self.parts.items()
        ]
        width = max(len(f"{value:.{digits}f}") for _, value in lines)
        text = [self.description]
        for number, (name, value) in enumerate(lines):
            share = f"  {value / self.expected_loss:7.1%}" if self.expected_loss > 0 else ""
            text.append(f"{' =+++'[number]} {name:<14} {value:{width}.{digits}f}{share}")
        if self.decomposition == "domingos":
            text.append(
                f"variance {self.variance:.{digits}f}: {self.unbiased_variance:.{digits}f} where "
                f"the main prediction is right, {self.biased_variance:.{digits}f} where it is not"
            )
        if self.bias is None:
            text.append("Bias and noise are one term: the truth behind y_test is not known.")
        elif self.noise is None:
            text.append("The loss is about the true function: the noise is not known.")
        return "\n".join(text)

    def __str__(self) -> str:
        return self.summary()


def bias_variance(
    estimator: BaseEstimator,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    loss: str = "auto",
    decomposition: str = "domingos",
    n_runs: int = 50,
    draw: str | Callable[..., Any] = "bootstrap",
    max_samples: int | float | None = None,
    test_size: int | float = 0.25,
    truth: ArrayLike | Callable[..., ArrayLike] | None = None,
    noise_variance: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BiasVariance:
    """Decompose an estimator's expected loss into bias, variance and noise.

    The estimator is fitted on many training sets, and its predictions of the same test rows
    are compared with each other (variance) and with the truth (bias). High variance calls for
    averaging, such as bagging; high bias for a richer model, or for boosting.

    Parameters
    ----------
    estimator : estimator
        Any regressor or classifier of scikit-learn's kind. It is cloned for each run with a new
        ``random_state`` wherever it has one: its own randomness is part of the variance.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        The rows that training sets are drawn from. Leave X and y out if ``draw`` makes fresh
        ones.
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs), optional
    X_test : like X, optional
        The rows whose predictions are compared. By default a random share ``test_size`` of X
        is split off and never trained on; if ``draw`` makes fresh sets, one more is drawn.
    y_test : like y, optional
        Their targets, neither needed nor used if the truth is known.
    loss : {"auto", "squared", "zero_one"}, default="auto"
        Squared loss is for regressors, zero-one loss for classifiers; "auto" chooses. With
        several outputs the squared loss is summed over them.
    decomposition : {"domingos", "kohavi_wolpert"}, default="domingos"
        For zero-one loss. Domingos counts how often predictions differ from the main one, and
        where that helps; Kohavi and Wolpert have a squared bias and three terms that are never
        negative.
    n_runs : int, default=50
        Training sets, at least 2.
    draw : {"bootstrap", "subsample"} or callable, default="bootstrap"
        How training sets are drawn: rows with or without replacement, or ``draw(rng) -> (X, y)``,
        which makes a fresh one with the given ``numpy.random.RandomState``. The theory is about
        fresh sets; resampled ones have rows in common, and imitate it. A set of one class only is
        drawn again.
    max_samples : int or float, optional
        Rows of a resampled training set, a float being a share. By default a bootstrap sample
        has as many rows as it is drawn from, a subsample half of them.
    test_size : float or int, default=0.25
        The share or number of rows to split off, if ``X_test`` is not given.
    truth : callable or array-like, optional
        ``truth(X_test)``, or numbers for each row of ``X_test``. For squared loss it is the true
        regression function, shaped like y_test; for zero-one loss P(y | x), of shape (n_test,
        n_classes). It separates bias from noise.
    noise_variance : float or array-like of shape (n_test,), optional
        The variance of y about the true function (over several outputs, its sum). Without it the
        expected loss is relative to the true function itself.
    classes : array-like of shape (n_classes,), optional
        The labels that the columns of ``truth`` belong to, for zero-one loss; by default the
        labels seen, in sorted order.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same result for any ``n_jobs``, and the same training sets to every
        estimator: compare two of them with one int.
    n_jobs : int or None, default=None
        Processes that fit and predict.
    verbose : int, default=0
        How much joblib prints of its progress: 1 a little, 10 every run.

    Returns
    -------
    result : BiasVariance
        The terms as numbers and for each test row, the predictions, and a readable
        ``summary()``.

    Notes
    -----
    The terms add up exactly to the loss of the runs. As estimates for infinitely many
    runs, the squared biases are too high by about ``variance / n_runs``, and variances too low by
    as much.

    References
    ----------
    P. Domingos, *A unified bias-variance decomposition for zero-one and squared loss*,
    AAAI 2000.

    R. Kohavi and D. Wolpert, *Bias plus variance decomposition for zero-one loss functions*,
    ICML 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from covey.inspection import bias_variance
    >>> def noisy_sine(rng):
    ...     X = rng.uniform(0, 6, (80, 1))
    ...     return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=80)
    >>> result = bias_variance(
    ...     DecisionTreeRegressor(),
    ...     draw=noisy_sine,
    ...     truth=lambda X: np.sin(X[:, 0]),
    ...     noise_variance=0.09,
    ...     random_state=0,
    ... )
    >>> print(result)
    Squared loss of DecisionTreeRegressor: 50 fresh training sets, 80 test rows
      expected loss  0.1792   100.0%
    = squared bias   0.0013     0.7%
    + variance       0.0879    49.0%
    + noise          0.0900    50.2%
    """
    loss = _which_loss(estimator, loss)
    check_choice(decomposition, "decomposition", ("domingos", "kohavi_wolpert"))
    check_number(n_runs, "n_runs", low=2, whole=True)
    if not callable(draw) and not (isinstance(draw, str) and draw in ("bootstrap", "subsample")):
        raise ValueError(
            "draw must be 'bootstrap', 'subsample' or a function draw(rng) -> (X, y), got "
            f"{draw!r}."
        )
    truth = Truth(loss, truth, noise_variance, classes)
    truth.check(X_test)
    seed = int(check_random_state(random_state).randint(2**31 - 1))

    X, y = rows_to_draw_from(X, y, loss, draw, max_samples)
    test_rows = None
    if X_test is not None:
        X_test, y_test = checked_rows(X_test, y_test, loss, "X_test", "y_test")
    elif y_test is not None:
        raise ValueError("y_test is given without X_test; give both or none.")
    elif callable(draw):
        X_test, y_test = fresh_set(draw, loss, generator_for(seed, TEST_SET))
    else:
        train_rows, test_rows = train_test_split(
            np.arange(len(y)), test_size=test_size, random_state=generator_for(seed, SPLIT)
        )
        train_rows, test_rows = np.sort(train_rows), np.sort(test_rows)
        X_test, y_test = take_rows(X, test_rows), y[test_rows]
        X, y = take_rows(X, train_rows), y[train_rows]
    if y_test is None and truth.given is None:
        raise ValueError(
            "y_test is needed to judge the predictions of X_test; give it, or the truth."
        )
    if loss == "zero_one" and y is not None and len(np.unique(y)) < 2:
        raise ValueError(
            f"y holds the class {y[:1].tolist()[0]!r} only"
            f"{'' if test_rows is None else ' where it is not split off for the test'}; a "
            "classifier needs two."
        )

    # The truth is computed first: if it is of no use, the user learns it before long fits.
    known, noise = truth.at(X_test), truth.noise_at(X_test.shape[0])
    n_rows = None if callable(draw) else n_drawn(max_samples, draw, len(y))
    runs = Runs(estimator, X, y, X_test, loss, draw, n_rows, seed).all(
        int(n_runs), n_jobs, verbose
    )
    target = None
    if loss == "squared":
        predictions, main, row_terms = _squared(runs, y_test, known, noise)
        target = np.asarray(y_test if known is None else known, dtype=np.float64)
    else:
        predictions, main, row_terms = _zero_one(runs, y, y_test, known, classes, decomposition)
    return BiasVariance(
        loss=loss,
        decomposition=None if loss == "squared" else decomposition,
        **{name: float(values.mean()) for name, values in row_terms.items()},
        row_terms=row_terms,
        predictions=predictions,
        main_prediction=main,
        target=target,
        test_rows=test_rows,
        n_redrawn=sum(run.n_redrawn for run in runs),
        description=_description(estimator, loss, decomposition, draw, predictions.shape),
    )


# -- the arguments of the user ----------------------------------------------------------------


def _which_loss(estimator: Any, loss: str) -> str:
    check_choice(loss, "loss", ("auto", "squared", "zero_one"))
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an estimator with fit and predict, got {estimator!r}.")
    name, own, kinds = type(estimator).__name__, None, {"zero_one": "classifier"}
    # An estimator of another library may have no tags; the loss that the user names is used.
    if hasattr(estimator, "__sklearn_tags__"):
        own = "zero_one" if is_classifier(estimator) else None
        own = "squared" if is_regressor(estimator) else own
    if loss == "auto" and own is None:
        raise ValueError(
            f"{name} has no tag that makes it a classifier or a regressor; set loss to "
            "'zero_one' or 'squared'."
        )
    if loss != "auto" and own not in (loss, None):
        needed, kind = (kinds.get(one, "regressor") for one in (loss, own))
        raise ValueError(
            f"loss={loss!r} needs a {needed}, but {name} is a {kind}; use loss={own!r}."
        )
    return loss if own is None or loss != "auto" else own


# -- the terms -----------------------------------------------------------------------------------


def _squared(runs: list[Run], y_test: Any, known: Any, noise: Any) -> tuple[Any, ...]:
    """Return predictions, main prediction and the terms of each row, for squared loss."""
    target = y_test if known is None else known
    predictions = np.stack([_shaped(run.prediction, target.shape) for run in runs])
    terms = squared_terms(predictions, target, 0.0 if noise is None else noise)
    row_terms = _row_terms(terms, known, [] if noise is None else ["noise"])
    return predictions, predictions.mean(axis=0), row_terms


def _shaped(prediction: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a prediction in the shape of the targets; a column may stand for a flat array."""
    if prediction.size != np.prod(shape) or prediction.shape[0] != shape[0]:
        raise ValueError(
            f"The estimator predicts an array of shape {prediction.shape}, but the test targets "
            f"have shape {shape}; they must be alike."
        )
    prediction = prediction.reshape(shape).astype(np.float64)
    if not np.isfinite(prediction).all():
        raise ValueError("The estimator predicts NaN or infinity; scale or clean X and y.")
    return prediction


def _zero_one(
    runs: list[Run], y: Any, y_test: Any, known: Any, classes: Any, how: str
) -> tuple[Any, ...]:
    """Return predictions, main prediction and the terms of each row, for zero-one loss."""
    predictions = np.stack([column_or_1d(run.prediction) for run in runs])
    held = [y, y_test, predictions.ravel(), *(run.labels for run in runs)]
    held = [labels for labels in held if labels is not None]
    if len({isinstance(labels[:1].tolist()[0], str) for labels in held}) > 1:
        raise ValueError(
            "y, y_test and predictions hold words as well as numbers; give labels of one kind."
        )
    labels = np.unique(np.concatenate([np.unique(labels) for labels in held]))
    if known is None:
        probabilities = (y_test[:, None] == labels).astype(np.float64)
    else:
        labels, probabilities = _in_sorted_order(known, classes, labels)
    codes = np.searchsorted(labels, predictions)
    if how == "domingos":
        terms = domingos_terms(codes, probabilities)
        further = ["unbiased_variance", "biased_variance", "net_variance", "noise", "noise_effect"]
    else:
        terms, further = kohavi_wolpert_terms(codes, probabilities), ["noise"]
    if known is None:
        further = [name for name in further if not name.startswith("noise")]
    counts = np.stack([(codes == code).sum(axis=0) for code in range(len(labels))])
    return predictions, labels[counts.argmax(axis=0)], _row_terms(terms, known, further)


def _row_terms(terms: Any, known: Any, further: list[str]) -> dict[str, np.ndarray]:
    """Return terms by the names of `BiasVariance`; without the truth, bias holds the noise."""
    return {
        "expected_loss": terms.expected_loss,
        "bias_and_noise" if known is None else "bias": terms.bias,
        "variance": terms.variance,
        **{name: getattr(terms, name) for name in further},
    }


def _in_sorted_order(
    probabilities: np.ndarray, classes: Any, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels, sorted, and the columns of the probabilities in their order."""
    labels = seen if classes is None else column_or_1d(classes)
    if probabilities.shape[1] != len(labels):
        raise ValueError(
            f"truth has {probabilities.shape[1]} columns, but there are {len(labels)} classes, "
            f"{labels.tolist()}; name with classes the labels that its columns belong to."
        )
    labels, order = np.unique(labels, return_index=True)
    if len(labels) < probabilities.shape[1]:
        raise ValueError("classes must name each label once.")
    unknown = np.setdiff1d(seen, labels)
    if len(unknown):
        raise ValueError(
            f"classes lacks the label {unknown[:1].tolist()[0]!r}, which is among those seen; "
            "add it, with its column of truth."
        )
    return labels, probabilities[:, order]


def _description(
    estimator: BaseEstimator, loss: str, decomposition: str, draw: Any, shape: tuple[int, ...]
) -> str:
    sets = {"bootstrap": "bootstrap samples", "subsample": "subsamples"}
    kind = "Squared loss" if loss == "squared" else f"Zero-one loss{AUTHORS[decomposition]}"
    drawn = "fresh training sets" if callable(draw) else sets[draw]
    return f"{kind} of {type(estimator).__name__}: {shape[0]} {drawn}, {shape[1]} test rows"


# -- Models fitted on many training sets, and their predictions of the same test rows -----------

# A training set of one class is no classification problem: it is drawn again, this many times.
MAX_DRAWS = 100

# The purposes of draws.
SPLIT, TRAINING_SET, MODEL, TEST_SET = range(4)


def checked_rows(
    X: Any, y: Any, loss: str, X_name: str, y_name: str
) -> tuple[Any, np.ndarray | None]:
    """Return X as an object whose rows can be taken, y as an array; y may be None."""
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
    """Return X and y, checked; None if ``draw`` makes fresh training sets."""
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
    """Return the number of rows of a resampled training set."""
    if max_samples is None:
        return n_rows if draw == "bootstrap" else max(1, n_rows // 2)
    if isinstance(max_samples, float | np.floating):
        check_number(max_samples, "max_samples", low=0, high=1, closed="right")
        return max(1, int(max_samples * n_rows))
    return int(check_number(max_samples, "max_samples", low=1, high=n_rows, whole=True))


def generator_for(seed: int, *use: int) -> np.random.RandomState:
    """Return a generator by its use and position, so that the order of runs does not matter."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, *use])))


def fresh_set(
    draw: Callable[..., Any], loss: str, generator: np.random.RandomState
) -> tuple[Any, Any]:
    """Return a training set that the user's function draws, checked."""
    drawn = draw(generator)
    if not (isinstance(drawn, tuple | list) and len(drawn) == 2) or drawn[1] is None:
        raise TypeError(f"draw must return a pair (X, y), got {type(drawn).__name__}.")
    return checked_rows(drawn[0], drawn[1], loss, "The X that draw returned", "the y")


@dataclass(frozen=True)
class Run:
    """The predictions of the model of one training set."""

    prediction: np.ndarray
    labels: np.ndarray | None  # the classes of the training set
    n_redrawn: int


@dataclass(frozen=True)
class Runs:
    """The settings that all runs have in common."""

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
        """Refuse a truth that cannot be used, before anything is fitted."""
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
        """Return values (n_test,) or (n_test, n_outputs), or probabilities (n_test, n_classes)."""
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
        """Return the noise's variance at each test row, (n_test,)."""
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
    """Return labels as a flat array; numbers as floats, flat if there is one output."""
    if loss == "zero_one":
        y = column_or_1d(y, warn=True)
        check_labels(y)
        return y
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name=name)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
