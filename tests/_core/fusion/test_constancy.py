"""Which members are constant, and what an oracle reaches without them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from covey._core.fusion.rules import (
    constant_by_counts,
    constant_by_spread,
    decision_counts,
    oracle_members,
    staged_oracle,
)


def literal_constant(labels, available):
    """Member by member, decision by decision."""
    n, n_members = labels.shape
    all_decisions = [labels[i, k] for i in range(n) for k in range(n_members) if available[i, k]]
    found = []
    for k in range(n_members):
        own = [labels[i, k] for i in range(n) if available[i, k]]
        if not own:
            found.append(True)
            continue
        most = min(set(own), key=lambda label: (-own.count(label), label))
        other = sum(label != most for label in own) / len(own)
        other_of_all = sum(label != most for label in all_decisions) / len(all_decisions)
        found.append(other <= 0.01 * other_of_all)
    return found


def literal_oracle(right, constant, weight):
    """Of each number of members, row by row."""
    accuracies = []
    for k in range(1, right.shape[1] + 1):
        together = sum(
            weight[i]
            for i in range(len(right))
            if any(right[i, j] and not constant[j] for j in range(k))
        )
        alone = [weight @ right[:, j] for j in range(k) if constant[j]]
        accuracies.append(max([together, *alone]) / weight.sum())
    return accuracies


@given(st.integers(0, 10**6), st.booleans())
def test_constant_members_and_the_oracle_are_the_literal_ones(seed, gaps):
    rng = np.random.default_rng(seed)
    n, n_members, n_classes = rng.integers(1, 300), rng.integers(1, 6), rng.integers(2, 4)
    rarely = rng.choice([0.0, 0.003, 0.5], n_members)
    usual = rng.integers(0, n_classes, n_members)
    drawn = rng.integers(0, n_classes, (n, n_members))
    labels = np.where(rng.random((n, n_members)) < rarely, drawn, usual)
    available = rng.random((n, n_members)) < 0.7 if gaps else np.ones((n, n_members), bool)
    counts = decision_counts(labels, available if gaps else None, n_classes)
    constant = constant_by_counts(counts)
    assert constant.tolist() == literal_constant(labels, available)
    right = (labels == rng.integers(0, n_classes, n)[:, None]) & available
    weight = rng.uniform(0.1, 2.0, n)
    staged = staged_oracle(right, constant, weight)
    assert_allclose(staged, literal_oracle(right, constant, weight))
    assert (np.diff(staged) >= -1e-12).all()
    # Theorem 1: no member is more accurate.
    assert staged[-1] >= (weight @ right / weight.sum()).max() - 1e-12
    chosen = oracle_members(right, constant)
    even = staged_oracle(right, constant, np.ones(n))
    assert right[:, chosen].any(axis=1).mean() == pytest.approx(even[-1])


def test_members_of_rare_decisions_are_not_constant():
    labels = np.zeros((1000, 3), dtype=int)
    labels[:2] = 1
    assert not constant_by_counts(decision_counts(labels, None, 2)).any()
    # Beside one that decides for the other class half of the time, they nearly are.
    labels[:, 2] = np.arange(1000) % 2
    counts = decision_counts(labels, None, 2)
    assert constant_by_counts(counts).tolist() == [False, False, False]
    labels[1, :2] = 0
    counts = decision_counts(labels, None, 2)
    assert constant_by_counts(counts).tolist() == [True, True, False]


def test_numbers_are_compared_with_the_spread_of_all_members():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    values = np.stack([x, 0.5 + 0.005 * x, np.full(500, 0.1), 3.0 + 0.1 * x], axis=1)
    assert constant_by_spread(values, None).tolist() == [False, True, True, False]
    # The unit, and where zero lies, do not matter.
    assert constant_by_spread(1e6 * values - 3e3, None).tolist() == [False, True, True, False]
    # Where it is known how much the truth varies, that counts too.
    assert constant_by_spread(values, None, 20.0).tolist() == [False, True, True, True]
    # Numbers that differ by rounding alone are constant, even where all members are.
    assert constant_by_spread(np.full((7, 2), 0.1) * (1 + 1e-16 * x[:7, None]), None).all()
    available = np.ones((500, 4), dtype=bool)
    available[:, 0] = False
    available[x > 0, 3] = False
    assert constant_by_spread(values, available).tolist() == [True, True, True, False]
    assert constant_by_spread(values, np.zeros((500, 4), dtype=bool)).all()
