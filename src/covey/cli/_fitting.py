"""Models of a problem, fitted on some of its rows, with folds by its groups or times."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from covey._folds import Folds, later_folds
from covey.cli._console import CommandError
from covey.cli._problem import Problem, check_column
from covey.tables import TablePreparation

# Folds of a search by groups are stratified up to this many groups; beyond, it takes too long.
_MOST_GROUPS_TO_STRATIFY = 4_000


def checked_limits(
    max_features: str | None, max_members: int | None, max_terms: int | None
) -> dict[str, float]:
    """Return the given limits as parameters of a flock; refuse impossible ones."""
    limits: dict[str, float] = {}
    if max_features is not None:
        limits["max_features"] = _number_or_share(max_features)
    for option, given in (("max_members", max_members), ("max_terms", max_terms)):
        if given is None:
            continue
        if given < 1:
            raise CommandError(
                f"--{option.replace('_', '-')}: {given} is below 1; give a whole number from 1 on."
            )
        limits[option] = given
    return limits


def checked_search(members: str | None, time_limit: float | None) -> dict[str, Any]:
    """Return the kinds of members and the time limit as parameters of a flock."""
    found: dict[str, Any] = {} if members is None else {"members": members}
    if time_limit is not None:
        if not 0 < time_limit < float("inf"):
            raise CommandError(
                f"--time-limit: {time_limit:g} is not a time to search in; give seconds above 0."
            )
        found["time_limit"] = time_limit
    return found


def checked_constraints(
    rising: Sequence[str] | None, falling: Sequence[str] | None, interactions: Sequence[str] | None
) -> dict[str, Any]:
    """Return the constraints as parameters of a flock; refuse those that contradict each other."""
    for name in set(rising or ()).intersection(falling or ()):
        raise CommandError(f"--rising and --falling both name {name!r}; leave one out.")
    monotone = {**dict.fromkeys(rising or (), 1), **dict.fromkeys(falling or (), -1)}
    found: dict[str, Any] = {"monotone": monotone} if monotone else {}
    if not interactions or list(interactions) in (["all"], ["none"]):
        return {**found, "interactions": "none"} if interactions == ["none"] else found
    found["interactions"] = [tuple(map(str.strip, one.split("*"))) for one in interactions]
    for one, pair in zip(interactions, found["interactions"], strict=True):
        if len(pair) != 2 or pair[0] == pair[1] or monotone.keys() & pair:
            raise CommandError(
                f"--interactions: {one!r} is not a pair of columns that may meet; give pairs such "
                "as age*bmi, without columns that rise or fall, or once none or all."
            )
    return found


def check_constraints(problem: Problem, constraints: Mapping[str, Any]) -> None:
    """Refuse, by the name of the option, constraints that the problem does not allow."""
    monotone, pairs = constraints.get("monotone", {}), constraints.get("interactions", "none")
    many = not problem.regression and len(np.unique(problem.y)) > 2
    for name in [*monotone, *(name for pair in pairs for name in pair if pairs != "none")]:
        option = {1: "--rising", -1: "--falling"}.get(monotone.get(name), "--interactions")
        kind = problem.kinds.get(name)
        if kind is None and name != problem.target:
            check_column(problem.table, name, option)
        if kind is None:
            raise CommandError(f"{option}: the column {name!r} is not learned from.")
        if name in monotone and (many or kind != "number"):
            why = f"{problem.target!r} has more than two classes" if many else f"it is a {kind}"
            raise CommandError(f"{option}: nothing rises or falls with {name!r}, since {why}.")


def checked_loss(loss: str | None, power: float | None, task: str) -> dict[str, Any]:
    """Return the loss of a quantity and its power as parameters of a flock."""
    found = {
        name: given for name, given in (("loss", loss), ("power", power)) if given is not None
    }
    if power is not None and (loss != "tweedie" or not 1 < power < 2):
        raise CommandError(
            f"--power: {power:g} is not of --loss tweedie, whose power is between 1 and 2; "
            "0 is --loss squared, 1 is poisson and 2 is gamma."
        )
    if loss is not None and task == "classes":
        raise CommandError("--loss: it is for quantities, and --task classes says otherwise.")
    return found


def check_target(problem: Problem, loss: str | None) -> None:
    """Refuse numbers that a loss is not for."""
    from covey._core.losses import POWERS
    from covey.members._targets import unsuited

    if loss not in POWERS:
        return
    if why := unsuited(loss, problem.y.min(), problem.y.max(), repr(problem.target)):
        raise CommandError(f"--loss: {loss} is for {why}")


def _number_or_share(text: str) -> float:
    """Return a whole number from 1 on, or a share above 0 and up to 1."""
    try:
        value = float(text) if any(mark in text for mark in ".eE") else int(text)
    except ValueError:
        value = 0
    if isinstance(value, int) and value >= 1:
        return value
    if isinstance(value, float) and 0 < value <= 1:
        return value
    raise CommandError(
        f"--max-features: {text!r} is neither a whole number from 1 on, such as 5, nor a share of "
        "all features up to 1.0, such as 0.3."
    )


def flock(
    problem: Problem,
    *,
    effort: str = "balanced",
    fuser: str | None = None,
    limits: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Any:
    """Return an unfitted flock: searched for, or grown by Algorithm 1 with a named fuser."""
    from covey import members

    kind = "Regressor" if problem.regression else "Classifier"
    if fuser is None:
        return getattr(members, f"Flock{kind}")(effort=effort, random_state=seed, **(limits or {}))
    _check_fuser(problem, fuser)
    if limits:
        option = next(iter(limits)).replace("_", "-")
        raise CommandError(
            f"--{option}: it is for the search, which --fuser replaces by Algorithm 1; leave one "
            "of them out."
        )
    if effort != "balanced":
        problem.note("--effort: it is for the search, which --fuser replaces by Algorithm 1.")
    return getattr(members, f"SubsetEnsemble{kind}")(fuser=fuser, random_state=seed)


def named_fuser(name: str, option: str) -> Any:
    """Return the fuser of a name that an option gives."""
    from covey.fusers._fixed import make_fuser

    try:
        return make_fuser(name, option)
    except ValueError as error:
        raise CommandError(str(error).replace(", a Fuser or a function", "")) from None


def _check_fuser(problem: Problem, fuser: str) -> None:
    rule = named_fuser(fuser, "--fuser")
    if fuser == "oracle":
        raise CommandError("--fuser: the oracle reads the truth and cannot predict.")
    if problem.regression and "value" not in rule.kinds:
        raise CommandError(
            f"--fuser: {fuser} fuses classes, and the target is a quantity; use mean, median, "
            "trimmed_mean, linear_stacking or gate."
        )


class PreparedRows:
    """Some rows of a problem, made numbers once for all models that accept only numbers."""

    def __init__(self, problem: Problem, rows: np.ndarray, seed: int = 0):
        self.problem, self.rows, self.seed = problem, rows, seed
        self.table = problem.take(rows)

    @cached_property
    def prepared(self) -> tuple[TablePreparation, pd.DataFrame]:
        preparation = TablePreparation(columns=self.problem.kinds, random_state=self.seed)
        return preparation, preparation.fit_transform(self.table, self.problem.y[self.rows])

    def fit(self, estimator: Any, checkpoint: str | None = None) -> Any:
        """Fit a model of the table; all that it tunes, it tunes by groups or forward in time, too.

        A flock takes the table itself; another model is the last step of a pipeline. With a
        checkpoint, a killed fit continues from that file.
        """
        from sklearn.base import clone
        from sklearn.pipeline import Pipeline
        from sklearn.utils import get_tags

        from covey.members._base_flock import Flock

        problem, estimator = self.problem, clone(estimator)
        given = {name: estimator.get_params()[name] for name in _fold_parameters(estimator)}
        if given and (problem.groups is not None or problem.times is not None):
            folds = tuning_folds(problem, self.rows, self.seed)
            if folds:
                estimator.set_params(**dict.fromkeys(given, folds))
            elif problem.copies:
                pass  # a class has hardly any rows: then folds of any rows are drawn
            elif hasattr(estimator, "effort"):
                # Before anything is written to a checkpoint, which another effort could not read.
                estimator.set_params(effort="fast")
                problem.note(f"flock: {_no_folds(problem)}, so it is fitted with --effort fast.")
            else:
                problem.note(f"tuned models: {_no_folds(problem)}; they are tuned on any rows.")
        if checkpoint is not None:
            given["checkpoint"] = None
            estimator.set_params(checkpoint=checkpoint)
        y, model = problem.y[self.rows], estimator
        counted = {}
        if problem.exposure is not None:
            counted["sample_weight"] = problem.exposure[self.rows]
        if isinstance(estimator, Flock):
            estimator.set_params(categorical_features=problem.kinds, gaps=problem.gaps or None)
            estimator.fit(self.table, y, **counted)
        elif get_tags(estimator).no_validation:  # it reads no column
            estimator.fit(self.table, y, **counted)
        else:
            preparation, numbers = self.prepared
            model = Pipeline([("table", preparation), ("model", estimator.fit(numbers, y))])
        # The folds are of these rows alone; another fit of the model has other rows.
        estimator.set_params(**given)
        return model


def _fold_parameters(estimator: Any) -> list[str]:
    """Return the parameters that take folds, if the estimator tunes anything."""
    if getattr(estimator, "effort", None) == "fast":
        return []
    return [name for name in estimator.get_params() if name.rpartition("__")[2] == "cv"]


def _no_folds(problem: Problem) -> str:
    what = {"time": "times", "groups and time": "groups and times"}.get(problem.split, "groups")
    return f"the rows have too few {what} to choose by any of them that are held out"


def tuning_folds(problem: Problem, rows: np.ndarray, seed: int | None = 0) -> Folds:
    """Return folds within some rows that keep groups together, go forward in time, or both.

    They are positions in ``rows``; every class is in each part that is fitted on. The result is
    empty if there are no such folds.
    """
    y = problem.y[rows]
    n_classes = 0 if problem.regression else len(np.unique(y))

    def whole(train: np.ndarray) -> bool:
        return problem.regression or len(np.unique(y[train])) == n_classes

    if problem.times is not None:
        return [fold for fold in _later(problem, rows) if whole(fold[0])]
    assert problem.groups is not None
    groups = np.unique(problem.groups[rows], return_inverse=True)[1]
    n_groups = groups.max() + 1
    # A few groups may hold all rows of a class: then there are fewer folds.
    for n_folds in (5, 3, 2):
        if n_folds <= n_groups:
            folds = group_folds(n_folds, y, groups, problem.regression, seed)
            if all(whole(train) and len(test) for train, test in folds):
                return folds
    return []


def group_folds(
    n_folds: int, y: np.ndarray, groups: np.ndarray, regression: bool, seed: int | None
) -> Folds:
    """Return folds that keep groups together, stratified if there are classes."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if regression or len(np.unique(groups)) > _MOST_GROUPS_TO_STRATIFY:
        splitter = GroupKFold(n_folds)
    else:
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are spread as far as they go.
        warnings.simplefilter("ignore")
        return list(splitter.split(y, y, groups))


def _later(problem: Problem, rows: Any = slice(None)) -> Folds:
    """Return folds of some rows that hold out later ones, of groups that are not trained on."""
    assert problem.times is not None
    if problem.groups is None:
        return later_folds(problem.times[rows], 5)
    groups = np.unique(problem.groups[rows], return_inverse=True)[1]
    # Up to nine fits, each on a third of the rows on average.
    return later_folds(problem.times[rows], 3, groups)


def forward_splits(problem: Problem) -> Folds:
    """Return splits of all rows that hold out later ones, with two classes or more to train on."""
    splits = [
        (train, test)
        for train, test in _later(problem)
        if problem.regression or len(np.unique(problem.y[train])) > 1
    ]
    if not splits:
        of = "" if problem.groups is None else " of other groups"
        raise CommandError(
            f"--time: no row is later than rows{of} with two values of the target, which it takes "
            "to learn from; leave --time out."
        )
    return splits
