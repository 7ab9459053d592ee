"""Fixed rules on plain arrays."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from covey._core.fusion.rules import trimmed_mean, trimmed_shares


def literal_shares(values, spoken, proportion):
    """Row by row: who is left when the extremes are, equals sharing what they hold."""
    shares = np.zeros(values.shape)
    for row, share in enumerate(shares):
        heard = [k for k in range(values.shape[1]) if spoken is None or spoken[row, k]]
        if not heard:
            share[:] = 1 / len(share)
            continue
        cut = min(int(proportion * len(heard)), (len(heard) - 1) // 2)
        ranked = sorted(heard, key=lambda k: values[row, k])
        for k in ranked[cut : len(ranked) - cut]:
            equals = [other for other in heard if values[row, other] == values[row, k]]
            share[equals] += 1 / len(equals)
        share /= share.sum()
    return shares


@pytest.mark.parametrize("silence", [False, True])
@pytest.mark.parametrize("proportion", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("n_members", [1, 2, 5, 12])
def test_trimmed_shares_are_the_literal_ones(n_members, proportion, silence):
    rng = np.random.default_rng(n_members)
    values = rng.integers(0, 6, (60, n_members)).astype(float)
    values[:10] = rng.normal(size=(10, n_members))
    values[10:20][rng.random((10, n_members)) < 0.3] = np.inf
    spoken = rng.random(values.shape) < 0.6 if silence else None
    shares = trimmed_shares(values, spoken, proportion)
    assert_allclose(shares, literal_shares(values, spoken, proportion), atol=1e-15)
    finite = np.isfinite(values).all(axis=1)
    if silence:
        finite &= spoken.any(axis=1)
    fused = trimmed_mean(
        values[finite][:, :, None],
        None if spoken is None else spoken[finite][:, :, None],
        proportion,
    )
    by_shares = (shares[finite] * values[finite]).sum(axis=1)
    assert_allclose(by_shares, fused[:, 0], atol=1e-12)


def test_shares_of_many_members_take_no_comparison_of_all_pairs():
    rng = np.random.default_rng(0)

    def seconds(n_members):
        values = rng.normal(size=(30, n_members))
        taken = []
        for _ in range(5):
            start = time.process_time()
            trimmed_shares(values, None, 0.5)
            taken.append(time.process_time() - start)
        return min(taken)

    # Eight times the members: 64 times the pairs, but about 10 times the sorting.
    assert seconds(3200) < 30 * seconds(400)
