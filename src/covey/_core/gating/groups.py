"""Groups of members, each with a gate of its own, averaged with fixed weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey._core.arrays import Array
from covey._core.gating.likelihoods import Pool, pooled, softmax_first


def group_gates(logits: Array, sizes: Sequence[int]) -> list[tuple[slice, Array]]:
    """The members of each group, and their gates (K_g, n) from gate logits (K, n), in place."""
    ends = np.cumsum(sizes)
    members = [slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]
    return [(which, softmax_first(logits[which])) for which in members]


def fused_groups(
    member_logits: Array,
    gate_logits: Array,
    sizes: Sequence[int],
    pools: Sequence[Pool],
    weights: Array,
) -> Array:
    """Probabilities (C, n) of members' logits or log-probabilities (K, C, n), group by group."""
    fused = 0.0
    for weight, pool, (members, gates) in zip(
        weights, pools, group_gates(gate_logits, sizes), strict=True
    ):
        of_group = pooled(member_logits[members][:, :, None], gates[:, None], pool)
        fused = fused + weight * of_group[:, 0]
    return fused
