"""The life of a model: what it was fitted on, and what was done with it since."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from covey._number_words import counted
from covey.evaluation._record import _made, plain_data

# How many events are kept: the first, and the last ones.
MOST_EVENTS = 50


@dataclass(frozen=True)
class Event:
    """A fit, a check, an edit or a refit: its day, its table, and its outcome in a sentence."""

    kind: str
    day: str = ""
    table: str = ""  # the name of the file
    sha256: str | None = None  # of the whole file, None where there is no single one
    rows: int = 0
    said: str = ""

    def __str__(self) -> str:
        on = f" on {self.table} ({counted(self.rows, 'row')})" if self.table else ""
        mark = f", SHA-256 {self.sha256[:12]}..." if self.sha256 else ""
        return f"{self.day} {self.kind}{on}{mark}{f': {self.said}' if self.said else ''}"


@dataclass(frozen=True)
class Life:
    """The events of a model, the fit first, and the options by which its table was read.

    Examples
    --------
    >>> from covey.evaluation._life import Event, Life
    >>> life = Life().and_then(Event("fit", "2026-01-31", "wine.csv", rows=178))
    >>> str(life.events[0]), Life.from_json(life.to_json()) == life
    ('2026-01-31 fit on wine.csv (178 rows)', True)
    """

    plan: dict[str, list[str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def and_then(self, event: Event) -> Life:
        """Return the life with another event."""
        first, last = self.events[:1], [*self.events[1:], event][1 - MOST_EVENTS :]
        return replace(self, events=[*first, *last] if first else [event])

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(plain_data(self))

    @classmethod
    def from_json(cls, text: str) -> Life:
        """Make a record of a result of `to_json`; ValueError if it is not one."""
        life: Life = _made(cls, json.loads(text), "life")
        return replace(life, events=life.events[:MOST_EVENTS])
