"""A model of all rows, and its evaluation by rows held out: one model, judged once."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from covey._callbacks import keeping_what_is_found
from covey._folds import Folds
from covey._number_words import rough
from covey._plain_words import first_line
from covey.cli._console import CommandError, Console
from covey.cli._fitting import PreparedRows, forward_splits, group_folds
from covey.cli._problem import Problem
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import Score
from covey.fusers._outputs import member_output

# More rows than this are held out once rather than five times: the interval is narrow enough.
_MOST_ROWS_TO_CROSS_VALIDATE = 4_000
# The most rows for a linear model that only serves for comparison.
_MOST_ROWS_TO_COMPARE = 40_000
_N_FOLDS = 5
_HELD_OUT = 0.25
FULL, FREE = "full flock", "flock without constraints"
# The kinds of models by their names, relative to the judged one.
_KINDS = {
    "commonest class": "simplest",
    "the mean": "simplest",
    "logistic regression, tuned": "linear",
    "ridge regression, tuned": "linear",
    "one linear model": "linear",
    FULL: "full",
    FREE: "free",
}


def make_splits(problem: Problem, seed: int) -> tuple[Folds, str]:
    """Return pairs of rows to fit on and rows held out, and a description of the splits."""
    from sklearn import model_selection as splitting

    y, regression = problem.y, problem.regression
    if problem.times is not None:
        splits = forward_splits(problem)
        return splits, f"{len(splits)} times {problem.unlike}, forward in time"
    counts = np.array([len(y)]) if regression else np.unique(y, return_counts=True)[1]
    together = "repeated rows" if problem.copies else "groups"
    splitter: Any = None
    if problem.copies and len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        splitter = splitting.GroupShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {together} kept together"
    elif problem.groups is not None:
        n_folds = min(_N_FOLDS, len(np.unique(problem.groups)))
        how = f"{n_folds}-fold cross-validation, {together} kept together"
    elif len(y) > _MOST_ROWS_TO_CROSS_VALIDATE:
        # A class of one row cannot be in both parts.
        kind = "" if regression or counts.min() < 2 else "Stratified"
        splitter = getattr(splitting, f"{kind}ShuffleSplit")
        splitter = splitter(1, test_size=_HELD_OUT, random_state=seed)
        how = f"a quarter of all, {int(np.ceil(_HELD_OUT * len(y))):,} rows"
    else:
        n_folds = max(2, min(_N_FOLDS, int(counts.max())))
        kind = splitting.KFold if regression else splitting.StratifiedKFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
        how = f"{n_folds}-fold cross-validation"
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are spread as far as they go.
        warnings.simplefilter("ignore")
        if splitter is None and problem.groups is not None:
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

    A part of the rows is prepared once for all models of a run.

    ``step`` is called with a text before each fit and with 1 after it. If ``failures`` is given,
    it gets the messages of models that fail, which are then left out; by default a failure is
    raised. ``on_fitted`` is called with the name and the model of each fit. Models with names in
    ``few`` see only some rows of a long table.
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
        few: Collection[str] = (),
    ) -> None:
        self.problem, self.splits, self.seed = problem, splits, seed
        self.failures = failures
        self._on_fitted = on_fitted
        # Folds by groups, or forward in time, cover all rows.
        self._few = few if problem.groups is None and problem.times is None else ()
        self.step = step
        self._classes = None if problem.regression else np.unique(problem.y)
        self.found: dict[str, list[Predicted]] = {}

    def run(
        self,
        estimators: Mapping[str, Any],
        checkpoints: Sequence[str] | None = None,
        expected: float | None = None,
    ) -> None:
        """Fit estimators without each part of the rows, and let them predict it.

        ``checkpoints`` are files, one for each part, from which a killed fit of the first
        estimator continues. ``expected`` are the seconds that such a fit may take, to announce the
        total. Finished parts are kept after an interruption.
        """
        leader, n_parts, left = next(iter(estimators)), len(self.splits), ""
        self.found.update({name: [] for name in estimators})
        problem = self.problem
        for number, (train, test) in enumerate(self.splits):
            prepared = PreparedRows(problem, train, self.seed)
            held_out = problem.take(test)
            if expected is not None:
                seconds = expected * (n_parts - number)
                left = f"about {seconds / 60:.0f} min" if seconds > 100 else f"{seconds:.0f} s"
                left = f", {left} left"
            for name, estimator in estimators.items():
                if self.failures and name in self.failures:
                    continue
                self.step(f"{name}, held-out part {number + 1} of {n_parts}{left}")
                checkpoint = checkpoints[number] if checkpoints and name == leader else None
                try:
                    found = self._fitted(prepared, held_out, name, estimator, checkpoint)
                    self.found[name].append(found)
                except Exception as error:
                    # Foreign models may raise anything.
                    if self.failures is None:
                        raise
                    self.failures[name] = first_line(error)
                self.step("", 1)

    def _fitted(
        self, prepared: PreparedRows, held_out: Any, name: str, estimator: Any, file: str | None
    ) -> Predicted:
        """Return a model's predictions of held-out rows, after a fit to some rows."""
        if name in self._few and len(prepared.rows) > _MOST_ROWS_TO_COMPARE:
            # With n rows the log-loss of p coefficients is about p / (2 n) above the best, so that
            # a comparison with 40,000 is fair to the third digit.
            drawn = np.random.default_rng(self.seed).permutation(len(prepared.rows))
            rows = prepared.rows[np.sort(drawn[:_MOST_ROWS_TO_COMPARE])]
            prepared = PreparedRows(self.problem, rows, self.seed)
        started = time.perf_counter()
        model = prepared.fit(estimator, file)
        seconds = time.perf_counter() - started
        self._on_fitted(name, model)
        knows = self.problem.regression or hasattr(model, "predict_proba")
        predictions = predictions_of(model, held_out, self._classes)
        return Predicted(name, predictions, "other", seconds, knows)

    def held_out(self, first: str = "", how: str = "") -> HeldOut | None:
        """Return the rows that all models without a failure have predicted; None without any.

        The model with the name ``first`` is the one that is judged.
        """
        failed = self.failures or {}
        found = {n: parts for n, parts in self.found.items() if parts and n not in failed}
        n_parts = min(map(len, found.values()), default=0)
        if not n_parts:
            return None
        rows = np.concatenate([test for _, test in self.splits[:n_parts]])
        order, problem = np.argsort(rows, kind="stable"), self.problem
        models = [
            Predicted(
                name,
                np.concatenate([part.predictions for part in parts[:n_parts]])[order],
                "own" if name == first else _KINDS.get(name, "other"),
                float(np.mean([part.seconds for part in parts[:n_parts]])),
                all(part.knows_probabilities for part in parts[:n_parts]),
            )
            for name, parts in found.items()
        ]
        models.sort(key=lambda one: (one.kind != "own", one.kind not in ("full", "free")))
        return held_out_of(problem, rows[order], models, how)


def held_out_of(
    problem: Problem, rows: np.ndarray, models: Sequence[Predicted], how: str
) -> HeldOut:
    """Return rows of a problem that were held out, in rising order, with their predictions."""
    return HeldOut(
        problem.y[rows],
        models,
        None if problem.regression else np.unique(problem.y),
        rows,
        problem.numbers[rows],
        how,
        problem.split,
        None if problem.groups is None else problem.groups[rows],
        weight=None if problem.exposure is None else problem.exposure[rows],
    )


def predictions_of(estimator: Any, rows: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return probabilities of all classes (n, n_classes), or numbers (n,) for a regressor.

    A class that the estimator has not seen has probability 0; an estimator without probabilities
    is sure.
    """
    if classes is None:
        return np.asarray(estimator.predict(rows), dtype=np.float64)
    kind = "probability" if hasattr(estimator, "predict_proba") else "label"
    found, _ = member_output(estimator, rows, classes, kind, type(estimator).__name__)
    return found if kind == "probability" else np.eye(len(classes))[found]


def first_look(problem: Problem, estimators: Mapping[str, Any], seed: int) -> HeldOut | None:
    """Judge models on a few rows of a long table first, so that the user sees numbers at once."""
    rows = np.random.default_rng(seed).permutation(len(problem.y))[:_MOST_ROWS_TO_CROSS_VALIDATE]
    rows.sort()
    some = replace(
        problem,
        table=problem.table.iloc[rows],
        y=problem.y[rows],
        groups=None if problem.groups is None else problem.groups[rows],
        times=None if problem.times is None else problem.times[rows],
        exposure=None if problem.exposure is None else problem.exposure[rows],
        note=lambda sentence: None,
    )
    trial = Trial(some, make_splits(some, seed)[0][-1:], seed)
    trial.run(estimators)
    return trial.held_out()


def judged_by_search(
    problem: Problem, name: str, fitted: Any, others: HeldOut | None, how: str
) -> HeldOut | None:
    """Judge a flock on the rows that its own search held out, and others on the same rows.

    This flatters a little, since the search used these rows to choose. None if it held none out.
    """
    found = getattr(fitted, "out_of_fold_", None)
    if found is None:
        return None
    own = held_out_of(problem, found.rows, [Predicted(name, found.predictions, "own")], how)
    if others is None:
        return own
    rows = np.intersect1d(found.rows, others.rows)
    if not len(rows):
        return None
    own, others = own.on(rows), others.on(rows)
    return replace(own, models=[*own.models, *others.models])


# -- simple models ---------------------------------------------------------------------------


def simplest(problem: Problem) -> dict[str, Any]:
    """Return the model that reads no column, by name: the commonest class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if problem.regression:
        return {"the mean": DummyRegressor()}
    return {"commonest class": DummyClassifier(strategy="prior")}


def linear(problem: Problem, seed: int = 0) -> dict[str, Any]:
    """Return a tuned linear model, by name: a flock of one member that reads all columns.

    It is a logistic regression, or a ridge regression. As a flock it can be saved, explained and
    reported like any other.
    """
    from covey.fusers import Gate
    from covey.members import SubsetEnsembleClassifier, SubsetEnsembleRegressor

    kind = SubsetEnsembleRegressor if problem.regression else SubsetEnsembleClassifier
    # The "gate" of one member only chooses its penalty.
    one = kind(1, flip_probability=0.0, fuser=Gate(), random_state=seed)
    return {f"{'ridge' if problem.regression else 'logistic'} regression, tuned": one}


# -- one model, judged once -----------------------------------------------------------------------


@dataclass
class Judged:
    """A model that was fitted on all rows, and predictions of rows held out."""

    model: Any
    held_out: HeldOut | None  # with the models for comparison; None if it was stopped
    how: str  # how rows were held out
    is_whole: bool = True  # whether it was not stopped on the way


def fitted_and_judged(
    console: Console,
    problem: Problem,
    name: str,
    learner: Any,
    rivals: dict[str, Any],
    splits: Folds,
    how: str,
    seed: int,
    *,
    full: Any = None,
    free: Any = None,
    files: Sequence[str] | None = None,
) -> Judged:
    """Fit a learner on all rows, and judge it by fits without each part of them.

    Rivals are simple models, whose results are shown first to a waiting user. The model of all
    rows comes next, so that it exists even if the rest is interrupted; ``full`` is a flock of
    which this one is a simpler version, ``free`` one without its constraints. A fit with
    checkpoints (``files``) is not kept if it is stopped: it continues later.
    """
    n_rows = len(problem.y)
    is_short = n_rows <= _MOST_ROWS_TO_CROSS_VALIDATE
    own = {name: learner, FULL: full, FREE: free}
    own = {called: one for called, one in own.items() if one is not None}
    pretended, by_chance = None, problem.split == "chance"
    n_fits = (len(own) + len(rivals)) * len(splits) + 2 - by_chance
    with console.progress(n_fits, "preparing") as step:
        trial = Trial(problem, splits, seed, step=step, few=rivals)
        # The parts of a long table take time to read, so that all models are fitted in one pass.
        if is_short:
            trial.run(rivals)
        first = trial.held_out() if is_short else first_look(problem, rivals, seed)
        if first is not None:
            rare, what = first.rare is not None, "explained" if first.classes is None else "right"
            shown = [
                f"{one.name} area {one.get('auc').value:.2f}"
                if rare
                else f"{one.name} {rough(max(one.main.value, 0.0))} {what}"
                for one in map(first.score, first.models)
            ]
            said = f"First numbers ({len(first.y):,} rows held out): {', '.join(shown)}."
            console.meanwhile(said)  # for the user who waits for the flock
        step(f"{name}, on all {n_rows:,} rows")
        started = time.perf_counter()
        model, stopped = _fitted(problem, learner, seed, files[-1] if files else None)
        step("", 1)
        expected = time.perf_counter() - started
        others = {} if is_short else rivals
        try:
            if not stopped:
                trial.run({**own, **others}, files, expected)
                if not by_chance:
                    pretended = pretended_by(trial, name, learner)
        except KeyboardInterrupt:
            if files:
                raise
            stopped = True
    n_parts = len(trial.found.get(name, ()))
    if stopped and not n_parts:
        how = "those that the search itself held out and chose by, since it was stopped"
        found = judged_by_search(problem, name, model, trial.held_out(), how)
        return Judged(model, found, how if found else "none, since it was stopped", False)
    if stopped:
        how = f"{n_parts} of {len(splits)} parts, since it was stopped then"
    held_out = trial.held_out(name, how)
    if held_out is not None:
        held_out.pretended = pretended
    return Judged(model, held_out, how, not stopped)


def pretended_by(trial: Trial, name: str, learner: Any) -> Score | None:
    """Return what rows held out at random would have added to the measures of a model.

    One more fit takes as many rows as the others did on average, drawn from all, and tunes itself
    on rows drawn at random, too. Compared are its predictions and the judged ones of all other
    rows that were held out; None if there are too few of them.
    """
    problem, seed, held_out = trial.problem, trial.seed, trial.held_out(name)
    assert held_out is not None
    sizes = np.array([(len(train), len(test)) for train, test in trial.splits])
    n_train = round(np.average(sizes[:, 0], weights=sizes[:, 1]))
    order = np.random.default_rng(seed).permutation(len(problem.y))
    train, test = np.sort(order[:n_train]), np.intersect1d(order[n_train:], held_out.rows)
    if len(test) < 2 or not (problem.regression or len(np.unique(problem.y[train])) > 1):
        return None
    at_random = replace(problem, groups=None, times=None, note=lambda sentence: None)
    again = Trial(at_random, [(train, test)], seed, step=trial.step)
    again.run({f"{name}, rows at random": learner})
    ((found,),) = again.found.values()
    own = held_out.on(test)
    return replace(own.difference(found, own.models[0]), name=problem.unlike, kind="random")


def _fitted(problem: Problem, learner: Any, seed: int, checkpoint: str | None) -> tuple[Any, bool]:
    """Return a model of all rows, and whether its search was stopped."""
    with warnings.catch_warnings(record=True) as noticed, keeping_what_is_found():
        warnings.simplefilter("always")
        prepared = PreparedRows(problem, np.arange(len(problem.y)), seed)
        model = prepared.fit(learner, checkpoint)
    del prepared
    # Data that a search refers to would be kept while the parts are prepared.
    gc.collect()
    return model, any(str(one.message).startswith("Interrupted") for one in noticed)
