"""A card for one row: its prediction, the reasons, how sure it is, and what would change it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._decisions import decided
from covey._explanations import (
    LEAST_TOLD,
    answer_words,
    deciders,
    member_name,
    others_matter,
)
from covey._number_words import listed, quoted, rough
from covey._plain_words import one_line, reason_words, value_words
from covey.inspection._changes import Curve, SmallestChange, curves, smallest_change
from covey.inspection._contributions import reasons
from covey.inspection._mixing_rows import Row
from covey.tables._kinds import without_point

# How many columns are named on either side, and how many can be tried out.
_TOP, _MOST_CURVES = 5, 6
# Rows held out with similar sureness: their distance in probability, and their least number.
_AS_SURE, _FEWEST_ROWS = 0.05, 20
_LEVEL = 0.9
# A number gets a note if it is outside the range by this share of it: in a long table not every
# row was looked at.
_MARGIN = 0.05
# Pushes below this share of all together are not named.
_LEAST_PUSH = 0.01


@dataclass(frozen=True)
class RowCard:
    """The result of `row_card`; `text` says it in words.

    Attributes
    ----------
    record : dict
        As in `reasons`; for a flock with ``members`` as in its ``explain``.
    sure : dict
        How sure the model is: ``rows`` held out of which it was about as sure, and the share
        ``right`` among them; ``classes`` that the row may have, or the ``interval`` of its number,
        at ``level``. Unknown entries are left out.
    change : SmallestChange or None
    unusual : list of str
        Sentences about values that differ from all that the model was fitted on.
    curves : list of Curve
        For the columns that count most.
    classes : tuple
        In the order of the curves' answers; empty for a regressor.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey import inspection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> card = inspection.row_card(model, X.iloc[0], background=X)
    >>> card.record["prediction"], card.change.changes[0]["column"]
    (0, 'petal length (cm)')
    """

    record: dict[str, Any]
    sure: dict[str, Any]
    change: SmallestChange | None
    unusual: list[str]
    curves: list[Curve]
    classes: tuple[Any, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether a number is predicted."""
        return "probability" not in self.record

    @property
    def answer(self) -> str:
        """The prediction, in a few words."""
        return answer_words(self.record)

    @property
    def sentence(self) -> str:
        """The prediction, with the reasons for and against it."""
        because, against = ([reason_words(one) for one in self.record[side]] for side in _SIDES)
        if not because and not against:
            return f"{self.answer}: nothing speaks for it or against it"
        parts = [f"{self.answer}: mainly {listed(because[:2])}" if because else self.answer]
        if against:
            parts.append(f"against it: {listed(against[:2])}")
        return "; ".join(parts)

    @property
    def how_sure(self) -> str:
        """A sentence on how sure the model is; empty if that is not known."""
        sure, said = self.sure, []
        if "right" in sure:
            said.append(
                f"of {sure['rows']:,} rows held out that it was about as sure of, "
                f"{100 * sure['right']:.0f} % were right"
            )
        if "interval" in sure:
            low, high = map(value_words, sure["interval"])
            said.append(f"with {100 * sure['level']:.0f} % it is between {low} and {high}")
        if "classes" in sure and len(sure["classes"]) != 1:
            labels = listed([str(one) for one in sure["classes"]], "or") or "none of the classes"
            said.append(f"with {100 * sure['level']:.0f} % it is {labels}")
        return "; ".join(said)

    @property
    def asked(self) -> str:
        """A sentence on who decided; empty for a model without members."""
        members = [one for one in self.record.get("members", ()) if one["weight"] >= LEAST_TOLD]
        if not members:
            return ""
        if len(members) == 1 and members[0]["weight"] > 1 - LEAST_TOLD:
            return f"{member_name(members[0])} alone"
        said, end = deciders(self.record, members[:3])
        return listed(said) + end

    @property
    def would_change(self) -> str:
        """A sentence on the smallest change that changes the prediction."""
        if self.change is None:
            return "" if self.is_number else "no change of one or two columns that was tried does"
        words = [
            f"{one_line(one['column'])} {value_words(one['to'])} instead of "
            f"{value_words(one['value'])}"
            for one in self.change.changes
        ]
        return f"with {listed(words)} it would be {answer_words(self.change.after)}"

    def text(self) -> list[str]:
        """Return the card as lines for a terminal."""
        record, words = self.record, self.part_words
        whole = record.get("probability", record["prediction"])
        rows = [("on average", words(record["baseline"], whole=True))]
        rows += [
            (reason_words(one), words(one["push"])) for side in _SIDES for one in record[side]
        ]
        if others_matter(record):
            rows += [("all other columns", words(record["other"]))]
        rows += [("this row", words(whole, whole=True))]
        width = min(70, max(len(name) for name, _ in rows))
        right = max(len(part) for _, part in rows)
        table = [f"  {name:{width}s}  {part:>{right}s}" for name, part in rows]
        said = [f"{head}: {sentence}." for head, sentence in self.in_short.items()]
        notes = [f"Note: {sentence}." for sentence in self.unusual]
        return [f"{self.sentence}.", "", *table, "", *said, *notes]

    @property
    def in_short(self) -> dict[str, str]:
        """Return how sure the model is, who decided, and what would change it, as far as known."""
        said = {
            "How sure": self.how_sure,
            "Who decided": self.asked,
            "What would change it": self.would_change,
        }
        return {head: sentence for head, sentence in said.items() if sentence}

    def part_words(self, value: float, *, whole: bool = False) -> str:
        """Write a column's contribution, in points of a hundred of a probability, or the whole."""
        if self.is_number:
            shown = value_words(float(value))
            return shown if whole or value < 0 else f"+{shown}"
        # Adding zero makes one of minus zero.
        return rough(value) if whole else f"{round(100 * value, 1) + 0.0:+.1f}"

    def as_dict(self) -> dict[str, Any]:
        """Return the card as plain data, for JSON."""
        change = None if self.change is None else vars(self.change)
        return {
            **self.record,
            "sure": self.sure,
            "change": change,
            "unusual": self.unusual,
            "sentence": self.sentence,
            "what_if": [vars(curve) for curve in self.curves],
        }


_SIDES = ("because", "against")


def row_card(
    model: Any, row: Any, *, to: Any = None, fixed: Collection[Any] = (), background: Any = None
) -> RowCard:
    """Describe a model's prediction of a row: why, how sure it is, and what would change it.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    row : data frame or array with one row, Series, one-dimensional array or dict
    to, fixed
        As in `smallest_change`; for a regressor no change is looked for without ``to``.
    background : array-like, sparse matrix or data frame, optional
        As in `contributions`.

    Returns
    -------
    card : RowCard

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import row_card
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> print(row_card(model, X.iloc[0], background=X).sentence)
    98 % 0: mainly petal length (cm) 1.4 (typical 4.3) and ...
    """
    asked = Row(model, row, background)
    table = asked.table
    if hasattr(model, "explain"):
        (record,) = model.explain(table, top=_TOP, background=background)
    else:
        (record,) = reasons(model, table, top=_TOP, background=background)
    record = _without_small(record)
    named = [one for side in _SIDES for one in record[side]]
    named.sort(key=lambda one: -abs(one["push"]))
    wanted = [one["column"] for one in named[:_MOST_CURVES]]
    change = None
    if to is not None or "probability" in record:
        change = smallest_change(model, table, to=to, fixed=fixed, background=background)
    return RowCard(
        record,
        _how_sure(model, table, record),
        change,
        _unusual(asked),
        curves(model, table, wanted, background=background) if wanted else [],
        tuple(model.classes_.tolist()) if "probability" in record else (),
    )


def _without_small(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record without pushes that hardly count among those of all other columns."""
    pushes = [one["push"] for side in _SIDES for one in record[side]]
    least = _LEAST_PUSH * (sum(map(abs, pushes)) + abs(record["other"]))
    kept = {side: [one for one in record[side] if abs(one["push"]) >= least] for side in _SIDES}
    left_out = sum(push for push in pushes if abs(push) < least)
    return {**record, **kept, "other": record["other"] + left_out}


def _how_sure(model: Any, table: Any, record: dict[str, Any]) -> dict[str, Any]:
    """Return the results on rows held out for predictions like this one."""
    scores = getattr(model, "calibration_", None)
    if scores is None:
        return {}
    found: dict[str, Any] = {"level": _LEVEL}
    if "probability" not in record:
        found["interval"] = [float(end) for end in model.predict_interval(table, _LEVEL)[0]]
        return found
    codes = decided(model, scores.probabilities)
    said = scores.probabilities[np.arange(len(codes)), codes]
    near = np.abs(said - record["probability"]) <= _AS_SURE
    if near.sum() >= _FEWEST_ROWS:
        found["rows"] = int(near.sum())
        found["right"] = float(
            np.average((codes == scores.label)[near], weights=scores.weight[near])
        )
    found["classes"] = model.classes_[model.predict_set(table, _LEVEL)[0]].tolist()
    return found


def _unusual(asked: Row) -> list[str]:
    """Return sentences about values unlike those that were seen."""
    said = []
    for place, (name, column) in enumerate(zip(asked.names, asked.seen, strict=True)):
        ends = column.values[:1] + column.values[-1:] if column.kind == "number" else ()
        is_known = column.kind == "word" and column.is_complete
        known = list(map(str, column.values)) if is_known else None
        said.append(unusual_words(name, asked.own(place), ends, known))
    return list(filter(None, said))


def unusual_words(
    name: str, value: Any, ends: Sequence[Any], known: Collection[str] | None = None
) -> str:
    """Return a sentence about a value unlike those that were seen; empty for others and gaps.

    The least and the greatest number that were seen are the ``ends``, and ``known`` are all
    categories.
    """
    name = one_line(name)
    if known is not None and value is not None and str(without_point(value)) not in known:
        return f"{name}: {quoted(value)} is a category that the model has not seen"
    if len(ends) < 2 or not all(isinstance(one, int | float) for one in (value, *ends)):
        return ""
    low, high = ends
    if abs(value - (low + high) / 2) <= (0.5 + _MARGIN) * (high - low):
        return ""
    between = f"{value_words(low)} to {value_words(high)}"
    return f"{name} {value_words(value)} is outside of what the model has seen ({between})"
