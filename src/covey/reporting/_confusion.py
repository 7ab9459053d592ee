"""The section about which classes are taken for which."""

from __future__ import annotations

import numpy as np

from covey.reporting._class_facts import ClassFacts
from covey.reporting._drawing import heat_map
from covey.reporting._facts import shares
from covey.reporting._words import (
    count,
    counted,
    described,
    name_cell,
    number_cell,
    percent,
    percent_cell,
    width_of,
)

# More classes than this have no room in a matrix, and more than that none in a table.
_MOST_CLASSES, _MOST_LISTED = 20, 40


def confusion(facts: ClassFacts) -> dict:
    """Which classes are taken for which."""
    matrix = facts.confusion
    wrong = matrix - np.diag(np.diag(matrix))
    kept = np.arange(facts.n_classes)
    if facts.n_classes > _MOST_CLASSES:
        trouble = wrong.sum(axis=0) + wrong.sum(axis=1)
        kept = np.sort(np.argsort(-trouble, kind="stable")[:_MOST_CLASSES])
    support = matrix.sum(axis=1)
    recall, precision = (shares(np.diag(matrix), total) for total in (support, matrix.sum(axis=0)))
    actual, called = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return {
        "drawing": _map(facts, kept),
        "n_kept": len(kept),
        "rows": [
            [
                name_cell(facts.classes[code], 26),
                number_cell(support[code], count),
                percent_cell(recall[code]),
                percent_cell(precision[code]),
            ]
            for code in range(facts.n_classes)
        ],
        "most_listed": _MOST_LISTED,
        "n_wrong": int(wrong.sum()),
        "most": int(wrong.max()),
        "actual": facts.classes[actual],
        "called": facts.classes[called],
    }


def _map(facts: ClassFacts, kept: np.ndarray) -> str:
    """The confusion matrix of the classes that are kept."""
    matrix = facts.confusion
    names = [facts.classes[code] for code in kept]
    found = matrix[np.ix_(kept, kept)]
    of_class = found / np.maximum(matrix.sum(axis=1), 1)[kept, None]
    across = 26.0
    if len(kept) <= 12:
        across = max(34, max(width_of(count(v)) for v in found.ravel()) + 12)
    if len(kept) <= 6:
        # There is room for names that stand upright.
        across = max(across, min(84, max(width_of(label) for label in names) + 12))
    return heat_map(
        "confusion-map",
        of_class,
        names,
        names,
        cell=(across, 34 if len(kept) <= 12 else 24),
        shown=lambda row, column: count(found[row, column]) if found[row, column] else "",
        tip=lambda row, column: (
            f"true {names[row]}, called {names[column]}: "
            f"{counted(found[row, column], 'row')}, {percent(of_class[row, column])} of the class"
        ),
        highest=1.0,
        legend=("0 %", "100 % of the class"),
        longest=90,
        title="Confusion matrix",
        description=described(
            (f"{facts.classes[c]} called {facts.classes[d]}", counted(matrix[c, d], "row"))
            for c, d in np.argwhere(matrix)[:200]
        ),
    )
