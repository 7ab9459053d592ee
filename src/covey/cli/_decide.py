"""Options that say from what probability on, or at what cost, a row is called a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from covey.cli import _options as options
from covey.cli._console import CommandError

if TYPE_CHECKING:
    import numpy as np

    from covey.cli._problem import Problem
    from covey.evaluation._held_out import HeldOut

_THRESHOLD = options.option(
    "Predict a class if its probability is at least this (0.12), and otherwise the most probable"
    " of the others. --class names it.",
    metavar="CHANCE",
)
Threshold = Annotated[float | None, _THRESHOLD]
_FIND = options.option(
    "Use the threshold that finds this share of a class (80%), on rows held out.", metavar="SHARE"
)
Find = Annotated[str | None, _FIND]
_COSTS = options.option(
    "The cost of missing a row of a class (yes=20; 1 for the others; of two classes, no=2 is the "
    "cost of a false alarm for yes): the class with the smallest expected cost is predicted; "
    "repeatable.",
    metavar="CLASS=NUMBER",
)
Costs = Annotated[list[str] | None, _COSTS]
_CLASS = options.option(
    "The class of --threshold or --find; by default the rarer one of two.",
    "--class",
    metavar="NAME",
)
Class = Annotated[str | None, _CLASS]


def decision_wanted(
    threshold: float | None, find: str | None, costs: list[str] | None, label: str | None
) -> dict[str, dict[str | None, float]] | None:
    """Return the option that is given, with the number of each class; None without any.

    The class is None that is not named.
    """
    given = {"threshold": threshold, "find": find, "costs": costs or None}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise CommandError(f"--{' and --'.join(named)}: give one of them.")
    if label is not None and (not named or costs):
        but = "; --costs names classes" if named else ", and neither is given"
        raise CommandError(f"--class: it is for --threshold or --find{but}.")
    if costs:
        return {"costs": dict(map(_cost, costs))}
    share = threshold if find is None else _share(find)
    if share is None:
        return None
    (name,) = named
    if not 0 <= share <= 1 or (find is not None and not share):
        raise CommandError(f"--{name} must be between 0 and 1, got {given[name]}.")
    return {name: {label: share}}


def _share(text: str) -> float:
    """A share such as 80% or 0.8."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(number) / (100 if percent else 1)
    except ValueError:
        raise CommandError(f"--find: {text!r} is not a share; write 80% or 0.8.") from None


def _cost(text: str) -> tuple[str, float]:
    """A class and what it costs to miss it, such as yes=20."""
    label, _, number = text.rpartition("=")
    try:
        if not label or not float(number) >= 0:
            raise ValueError
        return label.strip(), float(number)
    except ValueError:
        raise CommandError(
            f"--costs: {text!r} is not a cost; write a class and what a miss costs, as yes=20."
        ) from None


def of_classes(
    wanted: dict[str, dict[str | None, float]], classes: np.ndarray, rarer: Any = None
) -> dict[str, Any]:
    """Name the classes as the model does: the keywords of ``decide``.

    ``rarer`` is the class that is meant where none is named.
    """
    ((kind, numbers),) = wanted.items()
    labels: dict[str | None, Any] = {str(label): label for label in classes.tolist()}
    shown = ", ".join(map(repr, list(labels)[:5]))
    if None in numbers and rarer is None:
        raise CommandError(f"--{kind}: say of which class with --class ({shown}).")
    labels[None] = rarer
    for name in numbers:
        if name not in labels:
            option = "costs" if kind == "costs" else "class"
            raise CommandError(f"--{option}: {name!r} is not a class of the target ({shown}).")
    return {kind: {labels[name]: number for name, number in numbers.items()}}


def rarer_class(labels: np.ndarray) -> Any:
    """The rarer one of two classes; None of more."""
    import numpy as np

    classes, counts = np.unique(labels, return_counts=True)
    return classes[counts.argmin()].item() if len(classes) == 2 else None


def for_problem(wanted: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Name the classes as a table's target does, before a model is fitted to it."""
    import numpy as np

    if problem.regression:
        option, target = next(iter(wanted)), problem.target
        raise CommandError(f"--{option}: the target {target!r} is a number, not a class.")
    return of_classes(wanted, np.unique(problem.y), rarer_class(problem.y))


def set_decision(model: Any, how: dict[str, Any], held_out: HeldOut | None = None) -> Any:
    """Let a model decide so, by rows held out; the decision is returned."""
    from covey._decisions import asked_decision
    from covey.inspection._ranking import measured

    known, rows = getattr(model, "calibration_", None), ()
    if held_out is not None:
        predicted, groups = held_out.predictions, held_out.groups
        rows = model.classes_.searchsorted(held_out.y), predicted, None, "out of fold", groups
    elif known is not None:
        rows = known.label, known.probabilities, known.weight, known.source
    try:
        model.decision_ = measured(asked_decision(model.classes_, **how), *rows)
    except ValueError as error:
        raise CommandError(f"--{next(iter(how))}: {error}") from None
    return model.decision_


def override(model: Any, wanted: dict[str, Any]) -> Any:
    """Let a model that was loaded decide as the options say."""
    if not hasattr(model, "classes_"):
        raise CommandError(f"--{next(iter(wanted))}: the model predicts numbers, not classes.")
    decision, rarer = getattr(model, "decision_", None), None
    known = getattr(model, "calibration_", None)
    if decision is not None and decision.code is not None:
        rarer = decision.label
    elif known is not None and len(model.classes_) == 2:
        rarer = rarer_class(model.classes_[known.label])
    return set_decision(model, of_classes(wanted, model.classes_, rarer))
