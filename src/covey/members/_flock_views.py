"""A fitted flock for people to read: who decided a row and why, and a table of members."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# A member with less weight than this is left out of an explanation.
_LEAST_WEIGHT = 0.01

# Smaller pushes are rounding.
_LEAST_PUSH = 1e-9

# How many features of a member a table shows.
_TOP_FEATURES = 4


def decisions(
    flock: Any,
    X: Any,
    *,
    top: int,
    names: ArrayLike | None = None,
    shares: np.ndarray | None = None,
    max_members: int | None = None,
) -> list[dict[str, Any]]:
    """The records of a flock's ``explain`` for checked rows.

    With ``names`` (M,) and ``shares`` (P, M) the pushes of the columns are added up by name; with
    ``max_members`` only so many members are named for each row.
    """
    columns = flock.basis_.rows(X.toarray() if hasattr(X, "toarray") else X) - flock._column_mean
    importance = flock._by_blocks(flock._importance, X)
    values = flock._by_blocks(flock._member_values, X)
    contrast = flock._contrast()
    names = flock.estimators_[0].column_names() if names is None else names
    records = [
        {**flock._decision(fused)[0], "members": []} for fused in flock._by_blocks(flock._fused, X)
    ]
    # For all rows at once: the most important member of each, then the second, and so on.
    order = np.argsort(-importance, axis=1, kind="stable")[:, :max_members]
    for rank, member in enumerate(order.T):
        weight = importance[np.arange(len(member)), member]
        # The most important one is named, however many members share in a decision.
        rows = np.flatnonzero((weight > _LEAST_WEIGHT) | (rank == 0))
        if not len(rows):
            break
        decided, code = zip(*map(flock._decision, values[rows, member[rows]]), strict=True)
        push = contrast[member[rows], code] * columns[rows]
        push = push if shares is None else push @ shares
        # A class is decided by what speaks for it, a number by what moves it either way.
        size = np.abs(push) if flock._numeric else push
        strongest = np.argsort(-size, axis=1, kind="stable")[:, :top]
        for row, own, chosen, pushes, sizes in zip(
            rows, decided, strongest, push, size, strict=True
        ):
            records[row]["members"].append(
                {
                    "member": int(member[row]) + 1,
                    "weight": float(weight[row]),
                    **own,
                    "because": [
                        (names[k], float(pushes[k])) for k in chosen if sizes[k] > _LEAST_PUSH
                    ],
                }
            )
    return records


def flock_table(flock: Any) -> str:
    """The members as an HTML table: their group, mean importance, features, the heaviest."""
    names = getattr(flock, "feature_names_in_", None)
    if names is None:
        names = [f"x{position}" for position in range(flock.n_features_in_)]
    sizes = np.abs(flock._contrast()).mean(axis=1) * flock._column_scale
    # Only a search makes more than one group.
    groups = getattr(flock, "group_of_", np.zeros(len(sizes), dtype=int))
    rows = []
    for number, (size, support) in enumerate(zip(sizes, flock.support_, strict=True)):
        heavy = np.argsort(-flock.basis_.on_features(size), kind="stable")
        top = ", ".join(str(names[which]) for which in heavy[:_TOP_FEATURES] if support[which])
        cells = [
            str(number + 1),
            str(groups[number] + 1),
            f"{100 * flock._member_shares[number]:.0f} %",
            f"{int(support.sum())} of {len(support)}",
            top,
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = ("member", "group", "weight", "features", "the heaviest")
    head = "".join(f"<th>{name}</th>" for name in heads)
    title = f"{flock.n_estimators_} members"
    if not flock._numeric:
        title += f", {len(flock.classes_)} classes"
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
