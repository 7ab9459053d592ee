"""Options that say from what probability on, or at what cost, a row is called a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli._console import CommandError

if TYPE_CHECKING:
    import numpy as np

    from covey.cli._problem import Problem
    from covey.evaluation._held_out import HeldOut

Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="CHANCE",
        help="Predict a class wherever its probability is at least this (0.12); else the most "
        "probable of the others. --class says which.",
    ),
]
Find = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="The threshold that finds such a share of a class (80%), on rows held out.",
    ),
]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS=NUMBER",
        help="What it costs to miss a row of a class (yes=20; 1 for the others): the class of the "
        "smallest expected cost is predicted; repeatable.",
    ),
]
Class = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="NAME",
        help="The class of --threshold or --find; of two classes by default the rarer one.",
    ),
]


def decision_wanted(
    threshold: float | None, find: str | None, costs: list[str] | None, label: str | None
) -> dict[str, Any] | None:
    """Return the option that is given with its number, and the class; None without any."""
    given = {"threshold": threshold, "find": find, "costs": costs or None}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise CommandError(f"--{' and --'.join(given)}: give one of them.")
    if not given:
        if label is not None:
            raise CommandError("--class: it is for --threshold or --find, and neither is given.")
        return None
    ((name, value),) = given.items()
    if name == "costs":
        if label is not None:
            raise CommandError("--class: it is for --threshold or --find; --costs names classes.")
        return {"costs": dict(_cost(one) for one in value)}
    share = _share(value) if name == "find" else value
    if not 0 <= share <= 1 or (name == "find" and not share):
        raise CommandError(f"--{name} must be between 0 and 1, got {value}.")
    return {name: share, "label": label}


def _share(text: str) -> float:
    """A share such as 80% or 0.8."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(number) / (100 if percent else 1)
    except ValueError:
        raise CommandError(f"--find: {text!r} is no share; write 80% or 0.8.") from None


def _cost(text: str) -> tuple[str, float]:
    """A class and what it costs to miss it, such as yes=20."""
    label, _, number = text.rpartition("=")
    try:
        if not label or not float(number) >= 0:
            raise ValueError
        return label.strip(), float(number)
    except ValueError:
        raise CommandError(
            f"--costs: {text!r} is no cost; write a class and what it costs to miss it, as yes=20."
        ) from None


def of_classes(wanted: dict[str, Any], classes: np.ndarray, rarer: Any = None) -> dict[str, Any]:
    """Name the classes as the model does: the keywords of ``decide``.

    ``rarer`` is the class that is meant where none is named.
    """
    labels = {str(label): label for label in classes.tolist()}

    def known(name: str, option: str) -> Any:
        if name not in labels:
            shown = ", ".join(map(repr, list(labels)[:5]))
            raise CommandError(f"{option}: {name!r} is no class of the target ({shown}).")
        return labels[name]

    if "costs" in wanted:
        costs = {known(name, "--costs"): cost for name, cost in wanted["costs"].items()}
        return {"costs": costs}
    ((kind, share),) = ((name, wanted[name]) for name in ("threshold", "find") if name in wanted)
    if wanted["label"] is not None:
        return {kind: {known(wanted["label"], "--class"): share}}
    if rarer is None:
        shown = ", ".join(map(repr, list(labels)[:5]))
        raise CommandError(f"--{kind}: say of which class with --class ({shown}).")
    return {kind: {rarer: share}}


def rarer_class(labels: np.ndarray) -> Any:
    """The rarer one of two classes; None of more."""
    import numpy as np

    classes, counts = np.unique(labels, return_counts=True)
    return classes[counts.argmin()].item() if len(classes) == 2 else None


def for_problem(wanted: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Name the classes as a table's target does, before a model is fitted to it."""
    import numpy as np

    if problem.regression:
        option = next(name for name in ("threshold", "find", "costs") if name in wanted)
        raise CommandError(f"--{option}: the target {problem.target!r} is a number, not a class.")
    return of_classes(wanted, np.unique(problem.y), rarer_class(problem.y))


def set_decision(model: Any, how: dict[str, Any], held_out: HeldOut | None = None) -> Any:
    """Let a model decide so, by rows held out; the decision is returned."""
    import numpy as np

    from covey._decisions import asked_decision
    from covey.inspection._ranking import measured

    known = getattr(model, "calibration_", None)
    rows: dict[str, Any] = {}
    if held_out is not None and held_out.classes is not None:
        codes = np.searchsorted(model.classes_, held_out.y)
        rows = {"codes": codes, "probabilities": held_out.models[0].predictions}
        rows.update(groups=held_out.groups, source="out of fold")
    elif known is not None:
        rows = {"codes": known.label, "probabilities": known.probabilities}
        rows.update(weight=known.weight, source=known.source)
    try:
        decision = measured(asked_decision(model.classes_, **how), **rows)
    except ValueError as error:
        raise CommandError(f"--{next(iter(how))}: {error}") from None
    model.decision_ = decision
    return decision


def override(model: Any, wanted: dict[str, Any]) -> Any:
    """Let a model that was loaded decide as the options say."""
    if not hasattr(model, "classes_"):
        option = next(name for name in ("threshold", "find", "costs") if name in wanted)
        raise CommandError(f"--{option}: the model predicts numbers, not classes.")
    decision, rarer = getattr(model, "decision_", None), None
    known = getattr(model, "calibration_", None)
    if decision is not None and decision.code is not None:
        rarer = decision.label
    elif known is not None and len(model.classes_) == 2:
        rarer = rarer_class(model.classes_[known.label])
    return set_decision(model, of_classes(wanted, model.classes_, rarer))
