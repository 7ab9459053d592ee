"""A fitted flock for people to read: who decided a row and why, and a table of members."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from covey._core.basis import Basis
from covey._core.inspection.fusion_loss import divergences, gate_shares
from covey.fusers import Predictions
from covey.tables._columns import Names, feature_names

# A member with less weight than this is left out of an explanation.
LEAST_WEIGHT = 0.01

# Smaller pushes are rounding.
_LEAST_PUSH = 1e-9

# How many features of a member a table shows.
_TOP_FEATURES = 4

# What is named for a member that predicts the same for every row.
CONSTANT = "(constant)"


def decisions(
    flock: Any, X: Any, *, top: int, max_members: int | None = None
) -> list[dict[str, Any]]:
    """Return the records of a flock's ``explain`` for checked rows.

    With ``max_members`` only so many members are named for each row.
    """
    rows = X.toarray() if hasattr(X, "toarray") else X
    columns = flock.basis_.rows(rows) - flock.model_.column_mean
    importance = flock._by_blocks(flock._importance, X)
    values = flock._by_blocks(flock._member_values, X)
    contrast, target = flock.model_.contrast(), flock._target
    names, shares = feature_names(flock), feature_shares(flock.basis_)
    if flock.preparation_ is not None:
        shares = shares @ flock._columns.shares()
    strongest = _strongest(flock, names, shares)
    records = [
        {**target.decided(flock, fused), "members": []}
        for fused in flock._by_blocks(flock._fused, X)
    ]
    if flock.model_.means is not None:
        found = flock._by_blocks(lambda rows: _gate_shares(flock, rows), X)
        for record, share in zip(records, found.tolist(), strict=True):
            record["gate_share"] = share
    # For all rows at once: the most important member of each, then the second, and so on.
    order = np.argsort(-importance, axis=1, kind="stable")[:, :max_members]
    for rank, member in enumerate(order.T):
        weight = importance[np.arange(len(member)), member]
        # The most important one is named, however many members share in a decision.
        rows = np.flatnonzero((weight > LEAST_WEIGHT) | (rank == 0))
        if not len(rows):
            break
        found = (target.decision(one) for one in values[rows, member[rows]])
        decided, code = zip(*found, strict=True)
        push = (contrast[member[rows], code] * columns[rows]) @ shares
        for row, own, pushes in zip(rows, decided, push, strict=True):
            reasons = because(pushes, names, top, either_way=not flock._classifies)
            records[row]["members"].append(
                {
                    "member": int(member[row]) + 1,
                    "weight": float(weight[row]),
                    **own,
                    "because": reasons or [(strongest[member[row]], 0.0)],
                }
            )
    return records


def _gate_shares(flock: Any, X: Any) -> np.ndarray:
    """How much of each row's prediction is the gate's, (n,); see `covey.inspection.gate_share`.

    What it replaces by means are those of the training rows, so that a row is explained alike
    whichever rows are explained with it.
    """
    P, importance = flock._predictions(X), flock._importance(X)
    usual = np.broadcast_to(flock.model_.shares, importance.shape)
    unvaried = Predictions(
        np.broadcast_to(flock.model_.means, P.values.shape),
        None if P.kind == "value" else P.classes,
        kind=P.kind,
    )
    fused, without_gate, without_members = (
        flock.fuser_.fuse_by(predictions, counted)
        for predictions, counted in ((P, importance), (P, usual), (unvaried, importance))
    )
    if P.kind == "value":
        unit = float(flock.y_scale_) ** 2
        return gate_shares((fused - without_gate) ** 2, (fused - without_members) ** 2, unit)
    return gate_shares(divergences(fused, without_gate), divergences(fused, without_members))


def because(
    pushes: np.ndarray, names: Names, top: int, *, either_way: bool
) -> list[tuple[str, float]]:
    """Return what moved a member the most; nothing where nothing moved it.

    A class is decided by what speaks for it, a number by what moves it either way. Where nothing
    speaks for a class, the member predicts it in spite of what is named.
    """
    size = pushes if not either_way and pushes.max() > _LEAST_PUSH else np.abs(pushes)
    chosen = np.argsort(-size, kind="stable")[:top]
    return [(names[k], float(pushes[k])) for k in chosen if size[k] > _LEAST_PUSH]


def _strongest(flock: Any, names: Names, shares: Any) -> list[str]:
    """Return what moves each member the most in general; "(constant)" where nothing does."""
    sizes = np.abs(flock.model_.contrast() * flock.model_.column_scale).mean(axis=1) @ shares
    return [str(names[size.argmax()]) if size.any() else CONSTANT for size in sizes]


def feature_shares(basis: Basis) -> Any:
    """The share (P, D) of each feature in each column: one, or half of a product of two."""
    paired = np.flatnonzero(basis.partner >= 0)
    every = np.arange(basis.n_columns)
    share = np.where(basis.partner >= 0, 0.5, 1.0)
    return csr_array(
        (
            np.concatenate([share, share[paired]]),
            (
                np.concatenate([every, paired]),
                np.concatenate([basis.feature, basis.partner[paired]]),
            ),
        ),
        shape=(basis.n_columns, basis.n_features),
    )


def flock_table(flock: Any) -> str:
    """The members as an HTML table: their group, mean importance, features, the heaviest."""
    names = feature_names(flock)
    sizes = np.abs(flock.model_.contrast()).mean(axis=1) * flock.model_.column_scale
    made_of = flock.preparation_
    # Only a search makes more than one group.
    groups = getattr(flock, "group_of_", np.zeros(len(sizes), dtype=int))
    rows = []
    for number, (size, support) in enumerate(zip(sizes, flock.support_, strict=True)):
        size = flock.basis_.on_features(size)
        size = size if made_of is None else size @ made_of.shares()
        heavy = np.argsort(-size, kind="stable")
        top = ", ".join(names[which] for which in heavy[:_TOP_FEATURES] if support[which])
        cells = [
            str(number + 1),
            str(groups[number] + 1),
            f"{100 * flock.model_.shares[number]:.0f} %",
            f"{int(support.sum())} of {len(support)}",
            top,
        ]
        rows.append(cells)
    heads = ("member", "group", "weight", "features", "the heaviest")
    return html_table(flock, f"{flock.n_estimators_} members", heads, rows)


def html_table(flock: Any, title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table about a flock."""
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    head = "".join(f"<th>{name}</th>" for name in heads)
    if flock._classifies:
        title += f", {len(flock.classes_)} classes"
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
