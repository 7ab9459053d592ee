"""How a member is drawn to what its predecessors get wrong: eq. (8) of the paper, and others."""

from __future__ import annotations

from typing import Literal, get_args

from covey._core.arrays import Array, namespace_of
from covey._core.softmax_linear import Blocks, log_softmax, true_class

ReweightingName = Literal["mean_probability", "divergence", "adaboost"]
REWEIGHTINGS: tuple[str, ...] = get_args(ReweightingName)

# What AdaBoost's member of no error at all counts as.
_SMALLEST_ERROR = 1e-3


class Reweighting:
    """The sample weights of the next member, for a stack of runs.

    Parameters
    ----------
    base_weight : array of shape (R, n)
        The user's weights; rows of weight 0 have no say in what is left to learn.
    name : {"mean_probability", "divergence", "adaboost"} or None
        With p the mean probability that earlier members gave a row's true class:

        - "mean_probability": ``1 - p``, eq. (8).
        - "divergence": ``-log p``, the Kullback-Leibler divergence of the truth from the
          earlier members' mean. It is drawn harder to what all of them get wrong.
        - "adaboost": a row that a member gets wrong weighs ``(1 - e) / e (C - 1)`` times as
          much afterwards, e being the member's weighted error (SAMME, Zhu et al. 2009). A
          member no better than chance changes nothing.
        - None: all rows weigh the same.

        Weights of "divergence" and "adaboost" have a mean of one (over the user's weights):
        only their proportions have a meaning.
    """

    def __init__(
        self, base_weight: Array, name: ReweightingName | None = "mean_probability"
    ) -> None:
        self._xp = namespace_of(base_weight)
        self._base_weight = base_weight
        self._name = name
        self._true_probability_sum = self._xp.zeros_like(base_weight)
        self._log_weight = self._xp.zeros_like(base_weight)
        self._n_seen = 0

    def see(self, logits: Array, blocks: Blocks) -> None:
        """Take note of a member by its logits (C, R, n), rows sorted by class."""
        xp = self._xp
        self._n_seen += 1
        if self._name is None:
            return
        p_true = true_class(log_softmax(logits), blocks, xp.empty_like(self._base_weight))
        self._true_probability_sum += xp.exp(p_true)
        if self._name == "adaboost":
            self._boost(logits, blocks)

    def _boost(self, logits: Array, blocks: Blocks) -> None:
        xp = self._xp
        n_classes = logits.shape[0]
        winner = xp.argmax(logits, axis=0)
        wrong = xp.ones_like(self._base_weight)
        for label, rows in enumerate(blocks):
            wrong[:, rows] = xp.astype(winner[:, rows] != label, wrong.dtype)
        weight = self._base_weight * self.weights()
        error = xp.sum(weight * wrong, axis=1) / xp.sum(weight, axis=1)
        error = xp.clip(error, _SMALLEST_ERROR, 1.0 - 1.0 / n_classes)
        say = xp.log((1.0 - error) * (n_classes - 1) / error)
        self._log_weight += say[:, None] * wrong

    def weights(self) -> Array:
        """The weights of the next member, (R, n), to be multiplied with the user's.

        A run whose earlier members are certain of every row has nothing left to learn from;
        its weights are ones again, since zeros would leave the next member at its random
        start.
        """
        xp = self._xp
        if self._n_seen == 0 or self._name is None:
            return xp.ones_like(self._base_weight)
        if self._name == "adaboost":
            # A row of weight 0 may be wrong for ever: what it weighs must not dwarf the others.
            heard = xp.where(self._base_weight > 0, self._log_weight, -xp.inf)
            log_weight = self._log_weight - xp.max(heard, axis=1)[:, None]
            return self._of_mean_one(xp.exp(xp.clip(log_weight, None, 0.0)))
        p = self._true_probability_sum / self._n_seen
        if self._name == "mean_probability":
            weight = xp.clip(1.0 - p, 0.0, 1.0)
        else:
            weight = -xp.log(xp.clip(p, 1e-15, 1.0))
        left = xp.max(weight * (self._base_weight > 0), axis=1)[:, None] > 0
        weight = xp.where(left, weight, xp.ones_like(weight))
        return weight if self._name == "mean_probability" else self._of_mean_one(weight)

    def _of_mean_one(self, weight: Array) -> Array:
        xp = self._xp
        total = xp.sum(weight * self._base_weight, axis=1)
        return weight * (xp.sum(self._base_weight, axis=1) / total)[:, None]
