"""What the columns of a model are worth, as files hold it: what was measured, and no rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.inspection import Importance
from covey.persistence._reading import Node
from covey.persistence._writing import Writer

_NUMBERS = ("loss", "low", "high", "points")


def write_importance(model: Any, out: Writer) -> dict[str, Any] | None:
    """What was measured, or is now, where the model knows rows to measure it by."""
    found = model.importance_
    if found is None:
        return None
    group = np.full(len(found.columns), -1)
    for number, places in enumerate(found.together):
        group[list(places)] = number
    return {
        **{name: out.array(getattr(found, name)) for name in _NUMBERS},
        "group": out.array(group, "whole"),
        "rows": found.rows,
    }


def read_importance(model: Any, node: Node, names: list[str]) -> None:
    """Set what was measured of these columns."""
    if not node.has("importance") or node.none("importance"):
        return
    n_columns = len(names)
    with node.child("importance") as inner:
        numbers = {name: inner.array(name, (n_columns,)) for name in _NUMBERS}
        group = inner.array("group", (n_columns,), "whole", low=-1, high=n_columns)
        rows = inner.text("rows")
    together = [tuple(np.flatnonzero(group == number).tolist()) for number in range(n_columns)]
    model._importance_of_columns = Importance(
        tuple(names), **numbers, together=tuple(filter(None, together)), rows=rows
    )
