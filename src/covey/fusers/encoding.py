"""Members' predictions as columns for a model on top of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from covey._state import Array, refuse
from covey._validation import check_choice

# What a fuser must be given for each encoding, the most informative kind first.
KINDS_FOR = {
    "probabilities": ("probability", "label"),
    "one_hot": ("label", "probability", "score"),
    "logits": ("probability",),
    "values": ("value",),
    "ranks": ("probability", "score", "label", "value"),
    "scores": ("probability",),
}
# Without a wish: probabilities, or the numbers of regressors.
DEFAULT_KINDS = ("probability", "label", "value")
CLASS_OUTPUTS = ("probabilities", "one_hot", "logits", "ranks", "scores")
VALUE_OUTPUTS = ("values", "ranks")


@dataclass(frozen=True)
class KnownNumbers:
    """The predictions of a member in order, and the weight below each of them and in all."""

    known: Array("N", fewest=1)
    below: Array("N+1", low=0)

    def _restored(self) -> None:
        refuse("known", "does not ascend.", (np.diff(self.known) >= 0).all())
        ascends = (np.diff(self.below) >= 0).all() and self.below[-1] > 0
        refuse("below", "does not ascend.", ascends)


Ranks = list[KnownNumbers]  # one for each member


def encode_outputs(
    values: np.ndarray, outputs: Sequence[str], clip: float = 1e-6, ranks: Ranks | None = None
) -> np.ndarray:
    """Members' predictions (n, K, width) as columns for a model, (n, K, width or 1).

    Of two classes the first holds nothing that the second does not, and is left out. ``ranks`` is
    what `learn_ranks` has found, for the numbers of regressors.
    """
    encoded = np.empty(values.shape)
    for output in set(outputs):
        chosen = [k for k, name in enumerate(outputs) if name == output]
        part = values[:, chosen]
        if output == "one_hot":
            part = np.eye(values.shape[2])[part.argmax(axis=2)]
        elif output == "logits":
            part = _logits(part, clip)
        elif output == "scores":
            part = _centered_logs(part)
        elif output == "ranks" and ranks is not None:
            part = _ranks_of_values(part, [ranks[k] for k in chosen])
        elif output == "ranks":
            part = ranks_of_classes(part)
        encoded[:, chosen] = part
    return encoded[:, :, 1:] if values.shape[2] == 2 else encoded


def ranks_of_classes(values: np.ndarray) -> np.ndarray:
    """Average ranks of the classes of each row, from 0 for the last to 1 for the first."""
    ranks = rankdata(values, axis=-1) - 1.0
    return ranks / max(1, values.shape[-1] - 1)


def _logits(values: np.ndarray, clip: float) -> np.ndarray:
    clipped = np.clip(values, clip, 1.0 - clip)
    return np.log(clipped) - np.log1p(-clipped)


def _centered_logs(values: np.ndarray) -> np.ndarray:
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    return logs - logs.mean(axis=-1, keepdims=True)


def learn_ranks(values: np.ndarray, weight: np.ndarray) -> Ranks:
    """What ranks of later numbers are looked up in, for each member of values (n, K, 1)."""
    ranks = []
    for column in values[:, :, 0].T:
        order = np.argsort(column, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(weight[order])])
        ranks.append(KnownNumbers(column[order], below))
    return ranks


def _ranks_of_values(values: np.ndarray, ranks: Ranks) -> np.ndarray:
    """The share of the known predictions of each member that are lower, ties by half."""
    shares = np.empty(values.shape)
    for k, member in enumerate(ranks):
        known, below = member.known, member.below
        # Rounding makes no difference of predictions that are equal.
        equal = 1e-10 * (known[-1] - known[0])
        lower = below[np.searchsorted(known, values[:, k] - equal, side="left")]
        not_higher = below[np.searchsorted(known, values[:, k] + equal, side="right")]
        shares[:, k] = 0.5 * (lower + not_higher) / below[-1]
    return shares


def outputs_by_member(
    outputs: str | Sequence[str] | Mapping[str, str] | None,
    names: Sequence[str],
    choices: Sequence[str],
) -> list[str]:
    """One encoding for each member; the first of the choices is the default."""
    if outputs is None:
        listed = [choices[0]] * len(names)
    elif isinstance(outputs, str):
        listed = [outputs] * len(names)
    elif isinstance(outputs, Mapping):
        unknown = [name for name in outputs if name not in names]
        if unknown:
            raise ValueError(
                f"outputs names the member {unknown[0]!r}; the members are {', '.join(names)}."
            )
        listed = [outputs.get(name, choices[0]) for name in names]
    elif isinstance(outputs, list | tuple):
        listed = list(outputs)
        if len(listed) != len(names):
            raise ValueError(
                f"outputs has {len(listed)} entries for {len(names)} members; give one each."
            )
    else:
        listed = [outputs]
    return [check_choice(output, "outputs", choices) for output in listed]


def join_columns(*blocks: Any) -> Any:
    """Blocks of columns side by side, sparse if one of them is; None is no block."""
    blocks = [block for block in blocks if block is not None]
    if any(hasattr(block, "tocsr") for block in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)
