"""The section about how often a classifier is right, beside baselines."""

from __future__ import annotations

from typing import NamedTuple

from covey._intervals import proportion_interval
from covey.reporting._charts import Dot, dot_plot
from covey.reporting._class_facts import ClassFacts
from covey.reporting._words import (
    Cell,
    described,
    interval,
    name_cell,
    number_cell,
    one_line,
    percent,
    percent_cell,
)


class Compared(NamedTuple):
    """A model beside others; ``kind`` is own, other or limit."""

    name: str
    kind: str
    score: float
    limits: tuple[float | None, float | None] = (None, None)
    losses: tuple[float | None, ...] = (None,)
    seconds: float | None = None


def ordered(compared: list[Compared]) -> list[Compared]:
    """The model itself, then the others from the best to the worst."""
    return [compared[0], *sorted(compared[1:], key=lambda one: (-one.score, one.name))]


def compared_rows(compared: list[Compared], score_cell, show_interval) -> list[list]:
    """The rows of a table; with seconds where those of some model are known."""
    timed = any(one.seconds is not None for one in compared)
    return [
        [
            name_cell(one.name),
            score_cell(one.score),
            Cell(show_interval(one.limits), -1e300 if one.limits[0] is None else one.limits[0]),
            *map(number_cell, one.losses),
            *([number_cell(one.seconds)] if timed else []),
        ]
        for one in compared
    ]


def accuracy(facts: ClassFacts) -> dict:
    """How well it does against others."""
    common, share = facts.most_common
    always = f"always “{one_line(facts.classes[common])}”"
    compared = [
        Compared("this model", "own", facts.accuracy.value, facts.accuracy[1:], (facts.log_loss,)),
        *(
            Compared(
                one_line(record["name"]),
                "other",
                float(record["accuracy"]),
                (record.get("low"), record.get("high")),
                (record.get("log_loss"),),
                record.get("seconds"),
            )
            for record in facts.details.baselines or ()
        ),
        Compared(always, "limit", share.value, share[1:]),
    ]
    if facts.n_members > 1:
        best = facts.best_member
        found = proportion_interval(
            facts.member_right[:, best].sum(), facts.available[:, best].sum()
        )
        label = f"best member ({one_line(facts.names[best])})"
        compared.append(Compared(label, "limit", found.value, found[1:]))
        compared.append(Compared("oracle", "limit", facts.oracle_accuracy))
    compared = ordered(compared)
    drawing = dot_plot(
        "accuracy-dots",
        [Dot(one.name, one.score, *one.limits, one.kind, _tip(one)) for one in compared],
        title="Accuracy of this model and of what it is compared with",
        description=described((one.name, percent(one.score)) for one in compared),
    )
    rivals = facts.details.baselines or ()
    return {
        "drawing": drawing,
        "rows": compared_rows(compared, percent_cell, interval),
        "timed": any(one.seconds is not None for one in compared),
        "best": max(rivals, key=lambda record: record["accuracy"], default=None),
    }


def _tip(one: Compared) -> str:
    between = "" if one.limits[0] is None else f", interval {interval(one.limits)}"
    return f"{one.name}: {percent(one.score)}{between}"
