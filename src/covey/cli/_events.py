"""Events in the life of a model, as commands add them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from covey.cli._sources import located
from covey.evaluation._life import Event, Life


def remembered(
    model: Any, kind: str, path: str, n_rows: int, said: str = "", plan: Mapping[str, Any] = {}
) -> Life:
    """Return the life of a model with an event of today.

    ``plan`` are the options of ``covey fit`` by which its table is read; by default they stay.
    """
    life, digest = getattr(model, "life_", None) or Life(), None
    given = {name: value for name, value in plan.items() if value and value != "auto"}
    lists = {name: [one] if isinstance(one, str) else [*one] for name, one in given.items()}
    file = Path(located(path)[0])
    if file.is_file():
        with file.open("rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
    name = "standard input" if path == "-" else file.name
    day = datetime.now(UTC).date().isoformat()
    event = Event(kind, day, name, digest, n_rows, said)
    return Life(lists or life.plan, life.events).and_then(event)
