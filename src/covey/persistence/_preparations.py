"""The preparation of gaps and categories in front of a flock, in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.persistence._nodes import Node
from covey.persistence._writer import Writer
from covey.tables._preparation import Preparation
from covey.tables._table_reader import TableReader

# The kinds of encodings: zeros and ones, log-odds, or means of a standardized target.
_LARGEST_ENCODING = 1e10

_Arrays = dict[int, np.ndarray]


def write(preparation: Preparation, out: Writer) -> dict[str, Any]:
    """Return a preparation as an object of the document."""
    columns, reading = list(preparation.tables), preparation.reading
    return {
        "n_features": preparation.n_features,
        "reading": None if reading is None else out.record(reading),
        "fill": out.array(preparation.fill),
        "marked": out.array(preparation.marked, "whole"),
        "categories": [
            {
                "table": out.array(preparation.tables[of]),
                "levels": out.array(preparation.levels.get(of), "whole"),
            }
            for of in columns
        ],
        "labels": out.texts(preparation.labels),
    }


def read(inner: Node, owner: Any, known: dict[str, int]) -> tuple[Preparation, dict[str, int]]:
    """Return the preparation of features F, and how many columns D it makes."""
    n_features = inner.whole("n_features", 1)
    inner.check(known.get("F", n_features) == n_features, "n_features", "is another number.")
    reading, n_read, words = None, n_features, {}
    if not inner.none("reading"):
        reading, _ = inner.record("reading", TableReader, owner, {"F": n_features})
        n_read, words = len(reading.feature_of), reading.words
    numbers = np.setdiff1d(np.arange(n_read), list(words)).astype(np.intp)
    fill = inner.array("fill", (len(numbers),))
    marked = inner.array("marked", (None,), "whole", low=0, high=n_read - 1)
    rising = (np.diff(marked) > 0).all() and np.isin(marked, numbers).all()
    inner.check(rising, "marked", "are not columns of numbers.")
    labels = tuple(inner.texts("labels"))
    tables, levels = dict[int, np.ndarray](), dict[int, np.ndarray]()
    children = inner.children("categories", len(words))
    for (of, known), child in zip(words.items(), children, strict=True):
        with child as part:
            _read_table(part, of, len(known), tables, levels, max(1, len(labels)))
    made = Preparation(n_features, reading, numbers, fill, marked, tables, levels, labels)
    return made, {"F": n_features, "D": made.n_columns}


def _read_table(
    node: Node, of: int, n_known: int, tables: _Arrays, levels: _Arrays, width: int
) -> None:
    if not node.none("levels"):
        levels[of] = node.array("levels", (None,), "whole", low=0, high=n_known)
        width = len(levels[of])
    largest = _LARGEST_ENCODING
    tables[of] = node.array("table", (n_known + 2, width), low=-largest, high=largest)
