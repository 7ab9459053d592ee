"""A fitted flock for people to read: who decided a row and why, and a table of members."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from covey._blocks import by_blocks
from covey._core.basis import Basis
from covey._core.inspection.fusion_loss import divergences, gate_shares
from covey._decisions import Decision
from covey.fusers import Predictions
from covey.tables._columns import Names, feature_names

# A member with less weight than this is left out of an explanation.
LEAST_WEIGHT = 0.01

# Smaller pushes are rounding.
_LEAST_PUSH = 1e-9

# How many features of a member a table shows.
_TOP_FEATURES = 4

# The name of the reason of a member that predicts the same for every row.
CONSTANT = "(constant)"


def decisions(
    model: Any,
    rows: Any,
    *,
    top: int,
    max_members: int | None = None,
    decision: Decision | None = None,
) -> list[dict[str, Any]]:
    """Return the records of ``explain`` for rows as members see them.

    With ``max_members`` only this many members are named for each row. The ``decision`` makes
    classes of probabilities, if it is not the most probable one that is predicted.
    """
    target, table = model.target, model.table
    records = decided_records(model, rows, decision)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    columns = model.basis.rows(dense) - model.column_mean
    importance = by_blocks(model.weights_of_rows, rows, finite=True)
    values = by_blocks(model.member_values, rows, finite=True)
    contrast, names = model.contrast(), feature_names(table)
    shares = table.by_feature(feature_shares(model.basis))
    # What moves each member the most in general; "(constant)" where nothing does.
    sizes = model.member_sizes()
    strongest = [str(names[size.argmax()]) if size.any() else CONSTANT for size in sizes]
    if model.means is not None:
        found = by_blocks(partial(_gate_shares, model), rows, finite=True)
        for record, share in zip(records, found.tolist(), strict=True):
            record["gate_share"] = share
    # For all rows at once: the most important member of each, then the second, and so on.
    order = np.argsort(-importance, axis=1, kind="stable")[:, :max_members]
    for rank, member in enumerate(order.T):
        weight = importance[np.arange(len(member)), member]
        # The most important one is always named, however many members share in a decision.
        named = np.flatnonzero((weight > LEAST_WEIGHT) | (rank == 0))
        if not len(named):
            break
        found = (target.decision(one) for one in values[named, member[named]])
        decided, code = zip(*found, strict=True)
        push = (contrast[member[named], code] * columns[named]) @ shares
        for row, own, pushes in zip(named, decided, push, strict=True):
            reasons = because(pushes, names, top, either_way=target.is_numeric)
            records[row]["members"].append(
                {
                    "member": int(member[row]) + 1,
                    "weight": float(weight[row]),
                    **own,
                    "because": reasons or [(strongest[member[row]], 0.0)],
                }
            )
    return records


def decided_records(model: Any, rows: Any, decision: Decision | None) -> list[dict[str, Any]]:
    """Return a record of the prediction of each row, which names no member yet."""
    fused = by_blocks(model.fused, rows, finite=True)
    if model.target.is_numeric:
        found = [model.target.decision(one)[0] for one in fused]
    else:
        codes = (fused.argmax(axis=1) if decision is None else decision.codes(fused)).tolist()
        found = [model.target.decision(*one)[0] for one in zip(fused, codes, strict=True)]
    return [{**one, "members": []} for one in found]


def _gate_shares(model: Any, rows: Any) -> np.ndarray:
    """Return the gate's share in each row's prediction, (n,); see `covey.inspection.gate_share`.

    Its means are those of the training rows, so that the explanation of a row does not depend on
    the rows that are explained with it.
    """
    P, importance = model.predictions(rows), model.weights_of_rows(rows)
    usual = np.broadcast_to(model.shares, importance.shape)
    unvaried = Predictions(
        np.broadcast_to(model.means, P.values.shape),
        None if P.kind == "value" else P.classes,
        kind=P.kind,
    )
    fused, without_gate, without_members = (
        model.fuser.fuse_by(predictions, counted)
        for predictions, counted in ((P, importance), (P, usual), (unvaried, importance))
    )
    if P.kind == "value":
        unit = float(model.target.unit) ** 2
        return gate_shares((fused - without_gate) ** 2, (fused - without_members) ** 2, unit)
    return gate_shares(divergences(fused, without_gate), divergences(fused, without_members))


def because(
    pushes: np.ndarray, names: Names, top: int, *, either_way: bool
) -> list[tuple[str, float]]:
    """Return the features that moved a member the most; none if nothing moved it.

    The reasons for a class are the features that speak for it, for a number those that move it
    either way. If nothing speaks for a class, the member predicts it in spite of the named
    features.
    """
    size = pushes if not either_way and pushes.max() > _LEAST_PUSH else np.abs(pushes)
    chosen = np.argsort(-size, kind="stable")[:top]
    return [(names[k], float(pushes[k])) for k in chosen if size[k] > _LEAST_PUSH]


def feature_shares(basis: Basis) -> Any:
    """Return the share (P, D) of each feature in each column: one, or half of a product."""
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


def flock_table(model: Any) -> str:
    """Return the members as an HTML table: their group, mean importance and main features."""
    names = feature_names(model.table)
    sizes = model.member_sizes()
    # Only a search makes more than one group.
    groups = getattr(model, "group_of", np.zeros(len(sizes), dtype=int))
    rows = []
    for number, (size, support) in enumerate(zip(sizes, model.support, strict=True)):
        heavy = np.argsort(-size, kind="stable")
        top = ", ".join(names[which] for which in heavy[:_TOP_FEATURES] if support[which])
        cells = [
            str(number + 1),
            str(groups[number] + 1),
            f"{100 * model.shares[number]:.0f} %",
            f"{int(support.sum())} of {len(support)}",
            top,
        ]
        rows.append(cells)
    heads = ("member", "group", "weight", "features", "the heaviest")
    return html_table(model, f"{model.n_members} members", heads, rows)


def html_table(model: Any, title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table about a model."""
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    head = "".join(f"<th>{name}</th>" for name in heads)
    if not model.target.is_numeric:
        title += f", {len(model.target.classes)} classes"
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
