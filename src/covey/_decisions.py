"""Rules that choose a class by probabilities: the most probable, a threshold, or costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from covey._intervals import Interval
from covey._number_words import number, quoted, rough, span
from covey._state import Index, ListOf, Number, OneOf, Plain, Record, Told, refuse
from covey._validation import check_number

KINDS = ("threshold", "find", "costs")
# A class is rare if fewer than this share of the rows have it.
RARE = 0.15
# Names of the two errors of two classes, for which costs may be given instead of for classes.
_MISS, _FALSE_ALARM = "miss", "false alarm"
_INTERVAL = ListOf(Number(), "3", make=lambda numbers: Interval(*numbers))


def rare_class(counts: np.ndarray) -> int | None:
    """Return the position of the rarer of two classes, or of the rarest beside a very common one.

    None where no class has fewer than 15 % of the rows, or many have about as few.

    Examples
    --------
    >>> rare_class(np.array([90, 10])), rare_class(np.array([90, 4, 6]))
    (1, 1)
    >>> rare_class(np.array([80, 20])), rare_class(np.array([10, 10, 10]))
    (None, None)
    """
    if counts.max() <= (1 - RARE) * counts.sum() or np.count_nonzero(counts) < 2:
        return None
    return int(np.where(counts > 0, counts, np.inf).argmin())


# By class, by true and predicted class, by kind of error, or as a table.
Costs = Mapping[Any, float] | Mapping[Any, Mapping[Any, float]] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Alarms:
    """The rows that are called a class: how many, and how many of them are right.

    Attributes
    ----------
    threshold : float
        A row is called the class if its probability is at least this.
    n_alarms, n_found : float
        How many rows are called the class, and how many of these are of it. They are whole
        numbers unless rows have weights.
    n_class, n_rows : float
        How many rows are of the class, and how many there are.
    found : Interval or None
        The share of the rows of the class that is called, with its interval of 95 %.
    right : Interval or None
        The share of the alarms that is of the class; None without any alarm.
    """

    threshold: Annotated[float, Number()]
    n_alarms: Annotated[float, Number()]
    n_found: Annotated[float, Number()]
    n_class: Annotated[float, Number()]
    n_rows: Annotated[float, Number()]
    found: Annotated[Interval | None, _INTERVAL]
    right: Annotated[Interval | None, _INTERVAL]


@dataclass(frozen=True)
class Decision:
    """A rule that makes classes of probabilities, and its results on rows held out.

    Attributes
    ----------
    kind : {"threshold", "find", "costs"}
    asked : float or tuple of tuples
        The threshold, the share to be found, or the costs: one row for each true class, one
        column for each predicted class.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    code : int or None
        The position of the class that is looked for; None where costs decide between more than
        two classes.
    threshold : float or None
        A row is of this class if its probability is at least this. Otherwise it is of the most
        probable of the other classes.
    alarms : Alarms or None
        Counts of rows held out at this threshold; None where there are none.
    cost, cost_without : Interval or None
        The mean cost of a row held out, and the mean cost of predicting the most probable class.
    source : str or None
        Which rows were held out.
    """

    kind: Annotated[str, OneOf(*KINDS)]
    asked: Annotated[Any, Plain()]
    classes: Annotated[np.ndarray, Told(lambda model: model.classes_, "C")] = field(compare=False)
    code: Annotated[int | None, Index("", "C")] = None
    threshold: Annotated[float | None, Number(0, 1)] = None
    alarms: Annotated[Alarms | None, Record(Alarms)] = None
    cost: Annotated[Interval | None, _INTERVAL] = None
    cost_without: Annotated[Interval | None, _INTERVAL] = None
    source: Annotated[str | None, OneOf("out of fold", "given rows")] = None

    def _restored(self) -> None:
        asked = self.asked if self.kind == "costs" else {self.label: self.asked}
        try:
            again = asked_decision(self.classes, **{self.kind: asked})
        except (TypeError, ValueError):
            refuse("asked", "is none.")
        found = again.threshold if self.threshold is None else self.threshold
        same = self.code == again.code and again.threshold in (None, found)
        refuse("threshold", "is another.", same and (found is None) == (self.code is None))

    @property
    def label(self) -> Any:
        """The label of the class that is looked for."""
        return None if self.code is None else self.classes[[self.code]].tolist()[0]

    def scores(self, probabilities: np.ndarray) -> np.ndarray:
        """Return scores (n, n_classes) that are highest for the predicted class."""
        if self.threshold is None:
            return -(probabilities @ np.asarray(self.asked))
        others = probabilities.copy()
        others[:, self.code] = -np.inf
        scores = probabilities - others.max(axis=1, keepdims=True)
        scores[:, self.code] = probabilities[:, self.code] - self.threshold
        return scores

    def codes(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the position of the predicted class, (n,)."""
        scores = self.scores(probabilities)
        if self.code is None or self.threshold is None:
            return scores.argmax(axis=1)
        is_class = scores[:, self.code] >= 0
        scores[:, self.code] = -np.inf
        return np.where(is_class, self.code, scores.argmax(axis=1))

    def rule(self) -> str:
        """Return the rule in words."""
        if self.threshold is None:
            return "The class with the smallest expected cost is predicted"
        at = rough(self.threshold)
        return f"{quoted(self.label)} is predicted from a probability of {at} on"

    def sentence(self) -> str:
        """Return the rule and its results on rows held out, in words."""
        label, said = quoted(self.label), self.rule()
        one = self.alarms
        if one is not None and one.found is not None:
            said += (
                f": of {one.n_rows:,.0f} rows held out {one.n_alarms:,.0f} are called so, which "
                f"finds {_between(one.found)} of the {one.n_class:,.0f} rows of {label}"
            )
            if one.right is not None:
                said += f"; {_between(one.right)} of these calls are right"
        if self.cost is not None and self.cost_without is not None:
            said += (
                f"; a row held out costs {number(self.cost.value)} on average, and "
                f"{number(self.cost_without.value)} if the most probable class is predicted"
            )
        return said + "."


def scored(model: Any, probabilities: np.ndarray) -> np.ndarray:
    """Return scores whose highest is the class that a model predicts, given its probabilities."""
    decision = getattr(model, "decision_", None)
    return probabilities if decision is None else decision.scores(probabilities)


def decided(model: Any, probabilities: np.ndarray) -> np.ndarray:
    """Return the position of the class that a model predicts, (n,), given its probabilities."""
    decision: Decision | None = getattr(model, "decision_", None)
    return probabilities.argmax(axis=1) if decision is None else decision.codes(probabilities)


def asked_decision(
    classes: np.ndarray,
    threshold: Mapping[Any, float] | None = None,
    find: Mapping[Any, float] | None = None,
    costs: Costs | None = None,
) -> Decision:
    """Check the rule that is asked for; a share to be found has no threshold yet."""
    given: dict[str, Any] = {"threshold": threshold, "find": find, "costs": costs}
    given = {name: one for name, one in given.items() if one is not None}
    if len(given) != 1:
        raise ValueError(
            "decide takes one of threshold={label: probability}, find={label: share} and costs; "
            f"got {', '.join(given) or 'none of them'}."
        )
    ((kind, asked),) = given.items()
    if kind == "costs":
        return _of_costs(classes, asked)
    if not isinstance(asked, Mapping) or len(asked) != 1:
        raise ValueError(
            f"{kind} must be a dict with one class, {{label: number}}, got {asked!r}."
        )
    ((label, number),) = asked.items()
    code = code_of(classes, label, kind)
    check_number(number, kind, low=0, high=1, closed="both" if kind == "threshold" else "right")
    at = float(number) if kind == "threshold" else None
    return Decision(kind, float(number), classes, code, at)


def code_of(classes: np.ndarray, label: Any, name: str) -> int:
    """Return the position of a class; refuse one that does not exist."""
    labels = classes.tolist()
    if label not in labels:
        shown = ", ".join(map(repr, labels[:5]))
        raise ValueError(f"{name}: {label!r} is not a class of the model ({shown}).")
    return int(labels.index(label))


def costs_by_class(classes: np.ndarray, costs: Any, counts: np.ndarray | None) -> Any:
    """Check costs; classes stand for a miss, of the rarer of two, and a false alarm.

    ``counts`` (n_classes,) say which of two classes is the rarer one.
    """
    names = set(costs) if isinstance(costs, Mapping) else set()
    if not names or not names <= {_MISS, _FALSE_ALARM} or names & set(classes.tolist()):
        _of_costs(classes, costs)
        return costs
    if len(classes) != 2 or counts is None or counts[0] == counts[1]:
        raise ValueError(
            f"costs: {_MISS!r} and {_FALSE_ALARM!r} are errors about the rarer of two classes, "
            "and which that is is not known here; name classes, as {label: cost of missing it}."
        )
    rarer, other = classes[np.argsort(counts)].tolist()
    named = {_MISS: rarer, _FALSE_ALARM: other}
    return costs_by_class(classes, {named[name]: cost for name, cost in costs.items()}, counts)


def _of_costs(classes: np.ndarray, costs: Any) -> Decision:
    """Return a decision by costs, which for two classes is a threshold."""
    n_classes = len(classes)
    if hasattr(costs, "iloc") and hasattr(costs, "columns"):
        costs = costs.to_dict("index")  # by the names of the rows and columns, in any order
    if isinstance(costs, Mapping):
        if not costs:
            raise ValueError("costs is empty; name a class, as {label: cost of missing it}.")
        table = 1 - np.eye(n_classes)
        for label, cost in costs.items():
            code = code_of(classes, label, "costs")
            if isinstance(cost, Mapping):
                for said, one in cost.items():
                    check_number(one, f"costs[{label!r}][{said!r}]", low=0)
                    table[code, code_of(classes, said, f"costs[{label!r}]")] = one
                continue
            check_number(cost, f"costs[{label!r}]", low=0)
            table[code] *= cost
    else:
        try:
            table = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.zeros(())
        if table.shape != (n_classes, n_classes) or not np.isfinite(table).all():
            raise ValueError(
                "costs must be a dict {label: cost of missing it} or {label: {predicted label: "
                f"cost}}}}, or {n_classes} rows (true classes) of {n_classes} finite numbers "
                f"(predicted classes), got {costs!r}."
            )
    excess = table - table.diagonal()[:, None]
    with np.errstate(over="ignore"):
        proper = (excess >= 0).all() and 0 < excess.sum() < np.inf
    if not proper:
        raise ValueError(
            "costs must be smallest on the diagonal, where the true class is predicted, and some "
            "must be larger, with a finite sum."
        )
    asked = tuple(map(tuple, table.tolist()))
    if n_classes > 2:
        return Decision("costs", asked, classes)
    # The class looked for is the one that is more expensive to miss.
    code = int(excess[1, 0] >= excess[0, 1])
    threshold = excess[1 - code, code] / excess.sum()
    return Decision("costs", asked, classes, code, float(threshold))


def _between(share: Interval) -> str:
    return f"{rough(share.value)} ({span(share.low, share.high)})"
