"""Matrices, dense or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from covey.persistence._reading import LARGEST, Node
from covey.persistence._writing import Writer


def write_matrix(values: Any, out: Writer) -> dict[str, Any]:
    """A matrix of float64."""
    if not sparse.issparse(values):
        return {"dense": out.array(values)}
    values = sparse.csr_matrix(values)
    values.sort_indices()
    return {
        "n_columns": values.shape[1],
        "starts": out.array(values.indptr, "whole"),
        "columns": out.array(values.indices, "whole"),
        "values": out.array(values.data),
    }


def read_matrix(node: Node, shape: Sequence[int | None], largest: float = LARGEST) -> Any:
    """A matrix of this shape, in which None is any length; no number in it is larger."""
    n_rows, n_columns = shape
    with node:
        if node.has("dense"):
            return node.array("dense", shape, low=-largest, high=largest)
        width = node.whole("n_columns", 1, 1 << 31)
        node.check(n_columns in (None, width), "n_columns", "is another number.")
        starts = node.array("starts", (None if n_rows is None else n_rows + 1,), "whole")
        proper = len(starts) > 0 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        node.check(proper, "starts", "is not in ascending order.")
        n_values = int(starts[-1])
        columns = node.array("columns", (n_values,), "whole", low=0, high=width - 1)
        values = node.array("values", (n_values,), low=-largest, high=largest)
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        ascends = (np.diff(columns) > 0) | (np.diff(rows) > 0)
        node.check(ascends.all(), "columns", "is not in ascending order.")
        return sparse.csr_matrix((values, (rows, columns)), shape=(len(starts) - 1, width))
