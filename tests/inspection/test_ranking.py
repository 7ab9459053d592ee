"""Alarms and thresholds of a class, beside slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.inspection._ranking import (
    at_threshold,
    threshold_curve,
    threshold_finding,
)

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40).filter(
    lambda rows: 0 < sum(of_class for of_class, _ in rows) < len(rows)
)


def columns(rows):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    return y, p / 5


@settings(max_examples=50)
@given(ROWS, st.floats(0, 1))
def test_counts_at_a_threshold_are_those_of_a_loop(rows, threshold):
    y, p = columns(rows)
    found, curve = at_threshold(y, p, True, threshold), threshold_curve(y, p, True, [threshold])
    called = [of_class for of_class, chance in zip(y, p, strict=True) if chance >= threshold]
    assert (found.n_alarms, found.n_found) == (len(called), sum(called))
    assert (curve.alarms[0], curve.found[0]) == (len(called), sum(called))
    assert (found.right is None) == (not called)
    assert found.found.value == pytest.approx(sum(called) / y.sum())


@settings(max_examples=50)
@given(ROWS, st.floats(0.01, 1))
def test_threshold_that_finds_a_share_makes_no_more_alarms_than_it_must(rows, share):
    y, p = columns(rows)
    enough = [t for t in np.unique(p) if at_threshold(y, p, True, t).found.value >= share - 1e-9]
    best = at_threshold(y, p, True, max(enough))
    for weight in (None, np.full(len(y), 0.3)):
        found = at_threshold(y, p, True, threshold_finding(y, p, True, share, weight))
        assert (found.n_alarms, found.n_found) == (best.n_alarms, best.n_found)
