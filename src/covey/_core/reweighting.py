"""How a member is drawn to what its predecessors get wrong: eq. (8) of the paper."""

from __future__ import annotations

from covey._core.arrays import Array, namespace_of


def sample_weights(true_probability_sum: Array, n_earlier: int, base_weight: Array) -> Array:
    """Eq. (8): one minus the mean probability that earlier members gave the true class.

    Parameters
    ----------
    true_probability_sum : array of shape (R, n)
        ``sum_k' p_k'(y_m | x_m)`` over the earlier members.
    n_earlier : int
        How many they are. Without any, all weights are one.
    base_weight : array of shape (R, n)
        The user's weights; rows of weight 0 have no say in what is left to learn.

    Returns
    -------
    weight : array of shape (R, n)
        Between 0 and 1. A run whose earlier members are certain of every row has nothing
        left to learn from; its weights are ones again, since zeros would leave the next
        member at its random start.
    """
    xp = namespace_of(true_probability_sum)
    if n_earlier == 0:
        return xp.ones_like(true_probability_sum)
    weight = xp.clip(1.0 - true_probability_sum / n_earlier, 0.0, 1.0)
    left = xp.max(weight * (base_weight > 0), axis=1)[:, None] > 0
    return xp.where(left, weight, xp.ones_like(weight))
