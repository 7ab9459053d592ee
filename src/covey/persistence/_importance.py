"""What the columns of a model are worth, as files hold it: what was measured, and no rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.inspection._importance import Importance
from covey.persistence._reading import Node
from covey.persistence._writing import Writer
from covey.tables._columns import feature_names

_NUMBERS = ("loss", "low", "high", "points")


def write(found: Importance, out: Writer) -> dict[str, Any]:
    """Return what was measured, without the names of the columns, which the model has."""
    group = np.full(len(found.columns), -1)
    for number, places in enumerate(found.together):
        group[list(places)] = number
    return {
        **{name: out.array(getattr(found, name)) for name in _NUMBERS},
        "group": out.array(group, "whole"),
        "rows": found.rows,
    }


def read(inner: Node, owner: Any, known: dict[str, int]) -> tuple[Importance, dict[str, int]]:
    """Return what was measured of the columns of a model."""
    names = feature_names(owner)
    n_columns = len(names)
    numbers = {name: inner.array(name, (n_columns,)) for name in _NUMBERS}
    group = inner.array("group", (n_columns,), "whole", low=-1, high=n_columns)
    together = [tuple(np.flatnonzero(group == number).tolist()) for number in range(n_columns)]
    together = tuple(filter(None, together))
    found = Importance(tuple(names), **numbers, together=together, rows=inner.text("rows"))
    return found, known
