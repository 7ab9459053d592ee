"""Records of why rows are predicted as they are, which print as text."""

from __future__ import annotations

import html
from typing import Any

from covey._number_words import number, percent, rough, signed
from covey._plain_words import reason_words, value_words

_MOST_ROWS, _MOST_MEMBERS = 20, 5
# Members with less weight are not named in short explanations.
LEAST_TOLD = 0.05
_TOGETHER = ": together, since what some of them say lies beyond all that was seen and cancels out"
# The sum of all other columns is left out if it is a smaller share of the sum of all.
_LEAST_OTHER = 1e-3


class Explanations(list[dict[str, Any]]):
    """The result of ``explain``: a list with a dict for each row, which ``print`` shows as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covey import FlockClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> found = flock.explain(X[:1])
    >>> found[0]["prediction"], str(found).splitlines()[0][:11]
    (0, 'Row 1: 0, 9')
    """

    def __str__(self) -> str:
        shown = [_text(row, record) for row, record in enumerate(self[:_MOST_ROWS], start=1)]
        left = len(self) - len(shown)
        return "\n\n".join([*shown, *([f"and {left:,} more rows"] if left else [])])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _text(row: int, record: dict[str, Any]) -> str:
    is_number = "probability" not in record

    def part(value: float, sign: bool = True) -> str:
        if is_number:
            return signed(value) if sign else number(value)
        return f"{100 * value:+.1f}" if sign else percent(value)

    answer = value_words(record["prediction"])
    chance = "" if is_number else f", {percent(record['probability'])}"
    lines = [f"Row {row}: {answer}{chance} (an average row: {part(record['baseline'], False)})"]
    for what, side in (("for it", "because"), ("against it", "against")):
        said = [f"{reason_words(one)} {part(one['push'])}" for one in record[side]]
        lines += [f"  {what + ':':<11} {', '.join(said)}"] if said else []
    if others_matter(record):
        lines.append(f"  {'others:':<11} {part(record['other'])}")
    said, end = deciders(record, record["members"][:_MOST_MEMBERS])
    left = len(record["members"]) - len(said)
    said += [f"{left} more"] if left else []
    lines += [f"  {'decided by:':<11} {', '.join(said)}{end}"] if said else []
    return "\n".join(lines)


def others_matter(record: dict[str, Any]) -> bool:
    """Return whether the sum of all other columns is more than rounding hides."""
    pushes = [one["push"] for side in ("because", "against") for one in record[side]]
    return abs(record["other"]) > _LEAST_OTHER * sum(map(abs, pushes))


def answer_words(answer: dict[str, Any]) -> str:
    """Write a prediction: ``91 % yes``, or a number."""
    said = value_words(answer["prediction"])
    return f"{rough(answer['probability'])} {said}" if "probability" in answer else said


def member_name(one: dict[str, Any]) -> str:
    """Return the name of a member, or its number."""
    return str(one.get("name", f"member {one['member']}"))


def deciders(record: dict[str, Any], members: list[dict[str, Any]]) -> tuple[list[str], str]:
    """Return members, weights and predictions, and a note if only their sum is possible."""
    together = record.get("cancelling", False)
    said = [
        f"{member_name(one)} ({rough(one['weight'])}"
        f"{'' if together else f', says {answer_words(one)}'})"
        for one in members
    ]
    return said, _TOGETHER if together else ""
