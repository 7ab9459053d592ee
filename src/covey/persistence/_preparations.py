"""What becomes of gaps and categories in front of a flock."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.persistence._nodes import Node
from covey.persistence._writer import Writer
from covey.tables._preparation import Preparation

# What encodings are like: zeros and ones, log-odds, or means of a standardized target.
_LARGEST_ENCODING = 1e10


def write(preparation: Preparation, out: Writer) -> dict[str, Any]:
    """A preparation as an object of the document."""
    columns = list(preparation.words)
    return {
        "n_features": preparation.n_features,
        "fill": out.array(preparation.fill),
        "marked": out.array(preparation.marked, "whole"),
        "columns": out.array(np.array(columns, dtype=np.int64), "whole"),
        "categories": [
            {
                "words": out.texts(preparation.words[of]),
                "table": out.array(preparation.tables[of]),
                "levels": out.array(preparation.levels.get(of), "whole"),
            }
            for of in columns
        ],
        "labels": out.texts(preparation.labels),
    }


def read(inner: Node, owner: Any, known: dict[str, int]) -> tuple[Preparation, dict[str, int]]:
    """The preparation of features F, and how many columns D it makes."""
    n_features = inner.whole("n_features", 1)
    inner.check(known.get("F", n_features) == n_features, "n_features", "is another number.")
    columns = inner.array("columns", (None,), "whole", low=0, high=n_features - 1)
    inner.check((np.diff(columns) > 0).all(), "columns", "is not in ascending order.")
    fill = inner.array("fill", (None,))
    inner.check(len(fill) + len(columns) == n_features, "fill", "is not that of each column.")
    numbers = np.setdiff1d(np.arange(n_features), columns)
    marked = inner.array("marked", (None,), "whole", low=0, high=n_features - 1)
    rising = (np.diff(marked) > 0).all() and np.isin(marked, numbers).all()
    inner.check(rising, "marked", "are not columns of numbers.")
    labels = tuple(inner.texts("labels"))
    words, tables, levels = {}, {}, {}
    children = inner.children("categories", len(columns))
    for of, child in zip(columns.tolist(), children, strict=True):
        inner.check(child is not None, "categories", "lacks a column.")
        with child as part:
            _read_categories(part, of, words, tables, levels, max(1, len(labels)))
    made = Preparation(n_features, numbers, fill, marked, words, tables, levels, labels)
    return made, {"F": n_features, "D": made.n_columns}


def _read_categories(
    node: Node, of: int, words: dict, tables: dict, levels: dict, width: int
) -> None:
    known = node.texts("words")
    node.check(len(set(known)) == len(known), "words", "has a category twice.")
    words[of] = tuple(known)
    if not node.none("levels"):
        levels[of] = node.array("levels", (None,), "whole", low=0, high=len(known))
        width = len(levels[of])
    bound = {"low": -_LARGEST_ENCODING, "high": _LARGEST_ENCODING}
    tables[of] = node.array("table", (len(known) + 2, width), **bound)
