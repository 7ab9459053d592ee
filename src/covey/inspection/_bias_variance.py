"""How much of a model's expected loss is bias, how much variance, how much noise."""

import time
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from covey._core.inspection.bias_variance import (
    domingos_terms,
    kohavi_wolpert_terms,
    squared_terms,
)
from covey._validation import check_choice, check_number
from covey.inspection._truth import Truth, targets
from covey.members._fitting import take_rows

# A training set of one class is no classification problem: it is drawn again, so many times.
MAX_DRAWS = 100


class _Purpose(IntEnum):
    """What a draw is for."""

    SPLIT = 0
    TRAINING_SET = 1
    MODEL = 2
    TEST_SET = 3


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """What `bias_variance` found. Terms that do not apply are None.

    Parameters
    ----------
    loss : {"squared", "zero_one"}
    decomposition : {"domingos", "kohavi_wolpert"} or None
        None for squared loss, which has but one.
    expected_loss : float
        The mean over training sets and test rows: about ``y_test``, or about the truth with
        the noise that is known.
    variance : float
        How much predictions differ from one training set to another. With Domingos, how
        often they differ from the main prediction.
    bias : float or None
        Where the truth is known: the squared bias of squared loss and of Kohavi and Wolpert;
        with Domingos, the share of rows whose main prediction is not the likeliest class.
    bias_and_noise : float or None
        The same about ``y_test`` where the truth is not known. The noise in the test targets
        cannot be told from bias then: the two are one term.
    noise : float or None
        The loss of the best possible prediction (Kohavi and Wolpert: their own term), where
        it is known.
    unbiased_variance, biased_variance : float or None
        The parts of Domingos' variance from rows whose main prediction is right, and wrong.
        They add up to ``variance``.
    net_variance : float or None
        What Domingos' variance adds to the loss: on biased rows it helps. With two classes it
        is ``unbiased_variance - biased_variance``; with more, leaving the wrong class helps
        only as often as it leads to the right one.
    noise_effect : float or None
        What Domingos' noise adds to the loss; it can hit models that err anyway.
    row_terms : dict of str to ndarray of shape (n_test,)
        The terms of each test row, and its "expected_loss"; their means are the numbers above.
    predictions : ndarray of shape (n_runs, n_test) or (n_runs, n_test, n_outputs)
        What the model of each training set predicts.
    main_prediction : ndarray of shape (n_test,) or (n_test, n_outputs)
        The mean of the predictions; with zero-one loss the most frequent label, of equally
        frequent ones the first in sorted order.
    test_rows : ndarray of int or None
        Which rows of X were split off for the test, where no ``X_test`` was given.
    n_redrawn : int
        Training sets that held one class only and were drawn again.
    description : str
        What was decomposed, in words.
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
    row_terms: dict = field(default_factory=dict, repr=False)
    predictions: np.ndarray | None = field(default=None, repr=False)
    main_prediction: np.ndarray | None = field(default=None, repr=False)
    test_rows: np.ndarray | None = field(default=None, repr=False)
    n_redrawn: int = 0
    description: str = field(default="", repr=False)

    @property
    def parts(self):
        """The terms whose sum is ``expected_loss``, by name."""
        domingos = self.decomposition == "domingos"
        names = (
            "bias",
            "bias_and_noise",
            "net_variance" if domingos else "variance",
            "noise_effect" if domingos else "noise",
        )
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def summary(self, digits=4):
        """The terms as a small table, and what share of the expected loss each of them is.

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

    def __str__(self):
        return self.summary()


def bias_variance(
    estimator,
    X=None,
    y=None,
    *,
    X_test=None,
    y_test=None,
    loss="auto",
    decomposition="domingos",
    n_runs=50,
    draw="bootstrap",
    max_samples=None,
    test_size=0.25,
    true_function=None,
    true_values=None,
    noise_variance=None,
    true_probabilities=None,
    classes=None,
    random_state=None,
    n_jobs=None,
    verbose=0,
):
    """Decompose an estimator's expected loss into bias, variance and noise.

    The estimator is fitted on many training sets, and its predictions of the same test rows
    are compared with each other (variance) and with the truth (bias). High variance asks for
    averaging, such as bagging; high bias for a richer model, or for boosting.

    Parameters
    ----------
    estimator : estimator
        Any regressor or classifier of scikit-learn's kind. It is cloned for each run, and
        every ``random_state`` in it is set anew: its own randomness is part of the variance.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        The rows that training sets are drawn from. Leave X and y out if ``draw`` makes fresh
        ones.
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs), optional
    X_test : like X, optional
        The rows whose predictions are compared. By default a random share ``test_size`` of X
        is split off and never trained on; if ``draw`` makes fresh sets, one more is drawn.
    y_test : like y, optional
        Their targets, not needed (nor looked at) where the truth is known.
    loss : {"auto", "squared", "zero_one"}, default="auto"
        Squared loss is for regressors, zero-one loss for classifiers; "auto" chooses. With
        several outputs the squared loss is summed over them.
    decomposition : {"domingos", "kohavi_wolpert"}, default="domingos"
        Of zero-one loss. Domingos counts how often predictions leave the main one, and where
        that helps; Kohavi and Wolpert have a squared bias and three terms that are never
        negative.
    n_runs : int, default=50
        Training sets, at least 2.
    draw : {"bootstrap", "subsample"} or callable, default="bootstrap"
        How training sets come about: rows with or without replacement, or
        ``draw(rng) -> (X, y)``, which makes a fresh one with the ``numpy.random.RandomState``
        it is given. Only fresh sets are what theory speaks of; resampled ones have rows in
        common with each other, and imitate it. A set of one class only is drawn again.
    max_samples : int or float, optional
        Rows of a resampled training set, a float being a share. By default a bootstrap sample
        has as many rows as it is drawn from, a subsample half of them.
    test_size : float or int, default=0.25
        The share or number of rows to split off, where ``X_test`` is not given.
    true_function : callable, optional
        ``true_function(X_test)`` is the true regression function. It tells bias from noise.
    true_values : array-like, shaped like y_test, optional
        The same as numbers, one for each row of ``X_test``.
    noise_variance : float or array-like of shape (n_test,), optional
        The variance of y about the true function (over several outputs, its sum). Without it
        the expected loss is about the true function itself.
    true_probabilities : callable or array-like of shape (n_test, n_classes), optional
        P(y | x) of the test rows, for zero-one loss, or what computes it from ``X_test``.
    classes : array-like of shape (n_classes,), optional
        The labels that the columns of ``true_probabilities`` belong to; by default the labels
        seen, in sorted order.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same result whatever ``n_jobs``, and the same training sets to
        every estimator: compare two of them with one int.
    n_jobs : int or None, default=None
        Processes that fit and predict.
    verbose : int, default=0
        With 1, prints a line for every tenth of the runs.

    Returns
    -------
    result : BiasVariance
        The terms as numbers and for each test row, the predictions, and a readable
        ``summary()``.

    Notes
    -----
    The terms add up exactly to the loss of the runs at hand. As estimates of what endless runs
    would give, the squared biases are too high by about ``variance / n_runs``, and variances
    too low by as much.

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
    ...     true_function=lambda X: np.sin(X[:, 0]),
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
    truth = Truth(true_function, true_values, noise_variance, true_probabilities, classes)
    truth.check(loss, X_test)
    seed = int(check_random_state(random_state).randint(2**31 - 1))

    X, y = _rows_to_draw_from(X, y, loss, draw, max_samples)
    test_rows = None
    if X_test is not None:
        X_test, y_test = _checked_rows(X_test, y_test, loss, "X_test", "y_test")
    elif y_test is not None:
        raise ValueError("y_test is given without X_test; give both or none.")
    elif callable(draw):
        X_test, y_test = _fresh(draw, loss, _generator(seed, _Purpose.TEST_SET))
    else:
        train_rows, test_rows = train_test_split(
            np.arange(len(y)), test_size=test_size, random_state=_generator(seed, _Purpose.SPLIT)
        )
        train_rows, test_rows = np.sort(train_rows), np.sort(test_rows)
        X_test, y_test = take_rows(X, test_rows), y[test_rows]
        X, y = take_rows(X, train_rows), y[train_rows]
    if y_test is None and not truth.is_known:
        raise ValueError(
            "y_test is needed to judge the predictions of X_test; give it, or what is known of "
            "the truth."
        )
    if loss == "zero_one" and y is not None and len(np.unique(y)) < 2:
        raise ValueError(
            f"y holds the class {y[:1].tolist()[0]!r} only"
            f"{'' if test_rows is None else ' where it is not split off for the test'}; a "
            "classifier needs two."
        )

    # The truth is asked for first: if it is of no use, that is better known before long fits.
    known = truth.at(X_test)
    n_rows = None if callable(draw) else _n_drawn(max_samples, draw, len(y))
    task = _Task(estimator, X, y, X_test, loss, draw, n_rows, seed)
    runs = _all_runs(task, int(n_runs), n_jobs, verbose)
    if loss == "squared":
        predictions, main, row_terms = _squared(runs, y_test, known)
    else:
        predictions, main, row_terms = _zero_one(runs, y, y_test, known, classes, decomposition)
    return BiasVariance(
        loss=loss,
        decomposition=None if loss == "squared" else decomposition,
        **{name: float(values.mean()) for name, values in row_terms.items()},
        row_terms=row_terms,
        predictions=predictions,
        main_prediction=main,
        test_rows=test_rows,
        n_redrawn=sum(run.n_redrawn for run in runs),
        description=_description(estimator, loss, decomposition, draw, predictions.shape),
    )


# -- what the user gave --------------------------------------------------------------------------


def _which_loss(estimator, loss):
    check_choice(loss, "loss", ("auto", "squared", "zero_one"))
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an estimator with fit and predict, got {estimator!r}.")
    # Estimators from elsewhere may not say what they are; they are taken at the user's word.
    tagged = hasattr(estimator, "__sklearn_tags__")
    classifies, regresses = tagged and is_classifier(estimator), tagged and is_regressor(estimator)
    if loss == "auto":
        if not (classifies or regresses):
            raise ValueError(
                f"{type(estimator).__name__} does not say whether it is a classifier or a "
                "regressor; set loss to 'zero_one' or 'squared'."
            )
        return "zero_one" if classifies else "squared"
    if loss == "zero_one" and regresses:
        raise ValueError(
            f"loss='zero_one' needs a classifier, but {type(estimator).__name__} is a regressor; "
            "use loss='squared'."
        )
    if loss == "squared" and classifies:
        raise ValueError(
            f"loss='squared' needs a regressor, but {type(estimator).__name__} is a classifier; "
            "use loss='zero_one'."
        )
    return loss


def _checked_rows(X, y, loss, X_name, y_name):
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


def _rows_to_draw_from(X, y, loss, draw, max_samples):
    if not callable(draw):
        if X is None or y is None:
            raise ValueError(
                f"X and y are needed for draw={draw!r}; give both, or a function that draws "
                "fresh training sets."
            )
        return _checked_rows(X, y, loss, "X", "y")
    if X is not None or y is not None:
        raise ValueError(
            "X and y must be left out where draw makes the training sets; give rows to be "
            "judged as X_test and y_test."
        )
    if max_samples is not None:
        raise ValueError(
            "max_samples must be left out where draw makes the training sets: it says how many "
            "rows they have."
        )
    return None, None


def _n_drawn(max_samples, draw, n_rows):
    """How many rows a resampled training set has."""
    if max_samples is None:
        return n_rows if draw == "bootstrap" else max(1, n_rows // 2)
    if isinstance(max_samples, float | np.floating):
        check_number(max_samples, "max_samples", low=0, high=1, closed="right")
        return max(1, int(max_samples * n_rows))
    return int(check_number(max_samples, "max_samples", low=1, high=n_rows, whole=True))


# -- the runs ------------------------------------------------------------------------------------


def _generator(seed, purpose, *place):
    """A generator that is a function of what it is for, so that no order of runs matters."""
    sequence = np.random.SeedSequence([seed, purpose, *place])
    return np.random.RandomState(np.random.MT19937(sequence))


def _fresh(draw, loss, generator):
    """A training set of the user's own making, checked."""
    drawn = draw(generator)
    if not (isinstance(drawn, tuple | list) and len(drawn) == 2) or drawn[1] is None:
        raise TypeError(f"draw must return a pair (X, y), got {type(drawn).__name__}.")
    return _checked_rows(*drawn, loss, "The X that draw returned", "the y")


@dataclass(frozen=True)
class _Task:
    """What all runs have in common."""

    estimator: Any
    X: Any
    y: Any
    X_test: Any
    loss: str
    draw: Any
    n_rows: int | None
    seed: int


@dataclass(frozen=True)
class _Run:
    prediction: np.ndarray
    labels: np.ndarray | None  # the classes of the training set
    n_redrawn: int


def _training_set(task, generator):
    if callable(task.draw):
        return _fresh(task.draw, task.loss, generator)
    n_rows = len(task.y)
    if task.draw == "bootstrap":
        rows = generator.randint(n_rows, size=task.n_rows)
    else:
        rows = np.sort(generator.permutation(n_rows)[: task.n_rows])  # keeps the order of X
    return take_rows(task.X, rows), task.y[rows]


def _seeded(estimator, generator):
    """A clone whose random states, nested ones included, are set."""
    model = clone(estimator)
    names = sorted(
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    return model.set_params(**{name: int(generator.randint(2**31 - 1)) for name in names})


def _one_run(task, run):
    labels = None
    for attempt in range(MAX_DRAWS):
        X, y = _training_set(task, _generator(task.seed, _Purpose.TRAINING_SET, run, attempt))
        if task.loss == "squared":
            break
        labels = np.unique(y)
        if len(labels) > 1:
            break
    else:
        raise ValueError(
            f"draw gave {MAX_DRAWS} training sets of one class only in a row; draw more rows, or "
            "from rows of which more belong to the rare class."
        )
    model = _seeded(task.estimator, _generator(task.seed, _Purpose.MODEL, run)).fit(X, y)
    return _Run(np.asarray(model.predict(task.X_test)), labels, attempt)


def _all_runs(task, n_runs, n_jobs, verbose):
    started = time.perf_counter()
    # Not every backend can hand over results one by one, so they are asked to only if it shows.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator" if verbose else "list")
    runs = []
    for run in parallel(delayed(_one_run)(task, number) for number in range(n_runs)):
        runs.append(run)
        if verbose and len(runs) * 10 // n_runs > (len(runs) - 1) * 10 // n_runs:
            print(
                f"[bias_variance] run {len(runs)}/{n_runs}, {time.perf_counter() - started:.2f} s"
            )
    return runs


# -- the terms -----------------------------------------------------------------------------------


def _squared(runs, y_test, known):
    """Predictions, main prediction and the terms of each row, for squared loss."""
    target = y_test if known.values is None else known.values
    predictions = np.stack([_shaped(run.prediction, target.shape) for run in runs])
    terms = squared_terms(predictions, target, 0.0 if known.noise is None else known.noise)
    row_terms = {
        "expected_loss": terms.expected_loss,
        "bias_and_noise" if known.values is None else "bias": terms.bias,
        "variance": terms.variance,
    }
    if known.noise is not None:
        row_terms["noise"] = terms.noise
    return predictions, predictions.mean(axis=0), row_terms


def _shaped(prediction, shape):
    """A prediction in the shape of the targets; a column may stand for a flat array."""
    if prediction.size != np.prod(shape) or prediction.shape[0] != shape[0]:
        raise ValueError(
            f"The estimator predicts an array of shape {prediction.shape}, but the test targets "
            f"have shape {shape}; they must be alike."
        )
    prediction = prediction.reshape(shape).astype(np.float64)
    if not np.isfinite(prediction).all():
        raise ValueError("The estimator predicts NaN or infinity; scale or clean X and y.")
    return prediction


def _zero_one(runs, y, y_test, known, classes, decomposition):
    """Predictions, main prediction and the terms of each row, for zero-one loss."""
    predictions = np.stack([column_or_1d(run.prediction) for run in runs])
    held = [y, y_test, predictions.ravel(), *(run.labels for run in runs)]
    labels = _all_labels([labels for labels in held if labels is not None])
    if known.probabilities is None:
        probabilities = (y_test[:, None] == labels).astype(np.float64)
    else:
        labels, probabilities = _in_sorted_order(known.probabilities, classes, labels)
    codes = np.searchsorted(labels, predictions)
    decompose = domingos_terms if decomposition == "domingos" else kohavi_wolpert_terms
    terms = decompose(codes, probabilities)
    row_terms = {
        "expected_loss": terms.expected_loss,
        "bias_and_noise" if known.probabilities is None else "bias": terms.bias,
        "variance": terms.variance,
    }
    further = ["unbiased_variance", "biased_variance", "net_variance", "noise", "noise_effect"]
    if decomposition == "kohavi_wolpert":
        further = ["noise"]
    for name in further:
        if known.probabilities is not None or not name.startswith("noise"):
            row_terms[name] = getattr(terms, name)
    counts = np.stack([(codes == code).sum(axis=0) for code in range(len(labels))])
    return predictions, labels[counts.argmax(axis=0)], row_terms


def _in_sorted_order(probabilities, classes, seen):
    """The labels, sorted, and the columns of the probabilities in their order."""
    labels = seen if classes is None else column_or_1d(classes)
    if probabilities.shape[1] != len(labels):
        raise ValueError(
            f"true_probabilities has {probabilities.shape[1]} columns, but there are "
            f"{len(labels)} classes, {labels.tolist()}; say with classes which labels its columns "
            "belong to."
        )
    labels, order = np.unique(labels, return_index=True)
    if len(labels) < probabilities.shape[1]:
        raise ValueError("classes must name each label once.")
    unknown = np.setdiff1d(seen, labels)
    if len(unknown):
        raise ValueError(
            f"classes lacks the label {unknown[:1].tolist()[0]!r}, which is among those seen; "
            "add it, with its column of true_probabilities."
        )
    return labels, probabilities[:, order]


def _all_labels(arrays):
    """All labels, sorted; words and numbers do not mix."""
    if len({isinstance(labels[:1].tolist()[0], str) for labels in arrays}) > 1:
        raise ValueError(
            "y, y_test and predictions hold words as well as numbers; give labels of one kind."
        )
    return np.unique(np.concatenate([np.unique(labels) for labels in arrays]))


def _description(estimator, loss, decomposition, draw, shape):
    by = {"domingos": " (Domingos)", "kohavi_wolpert": " (Kohavi and Wolpert)"}
    sets = {"bootstrap": "bootstrap samples", "subsample": "subsamples"}
    return (
        f"{'Squared' if loss == 'squared' else 'Zero-one'} loss"
        f"{'' if loss == 'squared' else by[decomposition]} of {type(estimator).__name__}: "
        f"{shape[0]} {'fresh training sets' if callable(draw) else sets[draw]}, {shape[1]} test "
        "rows"
    )
