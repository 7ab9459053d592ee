"""From probabilities to a class: the most probable one, a threshold, or the smallest cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covey._intervals import Interval
from covey._validation import check_number

if TYPE_CHECKING:
    from covey.inspection._ranking import Alarms

KINDS = ("threshold", "find", "costs")
# A class is rare if fewer than this share of the rows have it.
RARE = 0.15


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


@dataclass(frozen=True)
class Decision:
    """A rule that makes classes of probabilities, and what it does on rows held out.

    Attributes
    ----------
    kind : {"threshold", "find", "costs"}
    asked : float or tuple of tuples
        The threshold, the share to be found, or the costs: one row for each true class, one
        column for each predicted class.
    code : int or None
        The position of the class that is looked for; None where costs decide between more than
        two classes.
    label : object
        Its label.
    threshold : float or None
        A row is of this class if its probability is at least this. Else it is of the most
        probable of the other classes.
    alarms : Alarms or None
        Counts of rows held out at this threshold; None where there are none.
    cost, cost_without : Interval or None
        The mean cost of a row held out, and what it is if the most probable class is predicted.
    source : str or None
        Which rows were held out.
    """

    kind: str
    asked: Any
    code: int | None = None
    label: Any = None
    threshold: float | None = None
    alarms: Alarms | None = None
    cost: Interval | None = None
    cost_without: Interval | None = None
    source: str | None = None

    def scores(self, probabilities: np.ndarray) -> np.ndarray:
        """Scores (n, n_classes) that are highest for the class that is predicted."""
        if self.threshold is None:
            return -(probabilities @ np.asarray(self.asked))
        others = probabilities.copy()
        others[:, self.code] = -np.inf
        scores = probabilities - others.max(axis=1, keepdims=True)
        scores[:, self.code] = probabilities[:, self.code] - self.threshold
        return scores

    def codes(self, probabilities: np.ndarray) -> np.ndarray:
        """The position of the class that is predicted, (n,)."""
        scores = self.scores(probabilities)
        if self.threshold is None:
            return scores.argmax(axis=1)
        is_class = scores[:, self.code] >= 0
        scores[:, self.code] = -np.inf
        return np.where(is_class, self.code, scores.argmax(axis=1))

    def sentence(self) -> str:
        """What is decided, and what it does on rows held out, for people."""
        if self.threshold is None:
            said = "The class with the smallest expected cost is predicted"
        else:
            said = (
                f"{self.label!r} is predicted from a probability of {_percent(self.threshold)} on"
            )
        if self.alarms is not None and self.alarms.found is not None:
            one = self.alarms
            said += (
                f": of {one.n_rows:,.0f} rows held out {one.n_alarms:,.0f} are called so, which "
                f"finds {_between(one.found)} of the {one.n_class:,.0f} rows of {self.label!r}"
            )
            if one.right is not None:
                said += f"; {_between(one.right)} of these calls are right"
        if self.cost is not None and self.cost_without is not None:
            said += (
                f"; a row held out costs {self.cost.value:.3g} on average, and "
                f"{self.cost_without.value:.3g} if the most probable class is predicted"
            )
        return said + "."

    def as_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        return {
            **vars(self),
            "label": label,
            "alarms": None if self.alarms is None else self.alarms.as_record(),
            "cost": None if self.cost is None else list(self.cost),
            "cost_without": None if self.cost_without is None else list(self.cost_without),
        }


def scored(model: Any, probabilities: np.ndarray) -> np.ndarray:
    """Scores whose highest is the class that a model predicts, given its probabilities."""
    decision = getattr(model, "decision_", None)
    return probabilities if decision is None else decision.scores(probabilities)


def decided(model: Any, probabilities: np.ndarray) -> np.ndarray:
    """The position of the class that a model predicts, (n,), given its probabilities."""
    decision = getattr(model, "decision_", None)
    if decision is None:
        return probabilities.argmax(axis=1)
    found: np.ndarray = decision.codes(probabilities)
    return found


def asked_decision(
    classes: np.ndarray,
    threshold: Mapping[Any, float] | None = None,
    find: Mapping[Any, float] | None = None,
    costs: Mapping[Any, float] | Sequence[Sequence[float]] | None = None,
) -> Decision:
    """Check what is asked for; a share to be found has no threshold yet."""
    given = {"threshold": threshold, "find": find, "costs": costs}
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
    return Decision(kind, float(number), code, classes[code : code + 1].tolist()[0], at)


def code_of(classes: np.ndarray, label: Any, name: str) -> int:
    """The position of a class, which is refused if there is none."""
    labels = classes.tolist()
    if label not in labels:
        shown = ", ".join(map(repr, labels[:5]))
        raise ValueError(f"{name}: {label!r} is no class of the model ({shown}).")
    return int(labels.index(label))


def _of_costs(classes: np.ndarray, costs: Any) -> Decision:
    """A decision by costs, which of two classes is a threshold."""
    n_classes = len(classes)
    if isinstance(costs, Mapping):
        missed = np.ones(n_classes)
        for label, cost in costs.items():
            check_number(cost, f"costs[{label!r}]", low=0)
            missed[code_of(classes, label, "costs")] = cost
        table = missed[:, None] * (1 - np.eye(n_classes))
    else:
        try:
            table = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.zeros(())
        if table.shape != (n_classes, n_classes) or not np.isfinite(table).all():
            raise ValueError(
                f"costs must be a dict {{label: cost of missing it}} or {n_classes} rows (true "
                f"classes) of {n_classes} numbers (predicted classes), got {costs!r}."
            )
    excess = table - table.diagonal()[:, None]
    if (excess < 0).any() or not excess.any():
        raise ValueError(
            "costs must be smallest on the diagonal, where the true class is predicted, and some "
            "must be larger."
        )
    asked = tuple(map(tuple, table.tolist()))
    if n_classes > 2:
        return Decision("costs", asked)
    # The class that is dearer to miss is looked for.
    code = int(excess[1, 0] >= excess[0, 1])
    threshold = excess[1 - code, code] / excess.sum()
    label = classes[code : code + 1].tolist()[0]
    return Decision("costs", asked, code, label, float(threshold))


def _percent(share: float) -> str:
    """A share in percent, with a decimal where it is small: ``12 %``, ``0.8 %``."""
    return f"{100 * share:.1f} %" if 0 < share < 0.095 else f"{100 * share:.0f} %"


def _between(share: Interval) -> str:
    low = _percent(share.low).removesuffix(" %")
    return f"{_percent(share.value)} ({low} to {_percent(share.high)})"
