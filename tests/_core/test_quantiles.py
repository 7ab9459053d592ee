import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from covey._core.blocks import MemoryBlocks
from covey._core.losses import weighted_quantile
from covey._core.quantiles import WeightedRows, in_floats, in_order, quantiles_by_sums


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_floats_have_an_order_without_gaps(a, b):
    one, other = in_order(np.array([a, b]))
    assert (one < other) == (a < b)
    assert (one == other) == (a == b)
    assert_array_equal(in_floats(np.array([one, other])), [a, b])
    if a < np.finfo(float).max:
        assert in_order(np.nextafter([a], np.inf))[0] == one + np.uint64(1)


class Part:
    """A block of sorted rows."""

    n_features = n_classes = like = None

    def __init__(self, rows):
        self.rows = rows

    def up_to(self, values):
        return (self.rows.up_to(values),)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_quantiles_by_sums_are_those_of_all_rows_together(n_blocks):
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=60), rng.integers(0, 5, 60), 1e-310 * rng.random(60)])
    weight = rng.choice([0.0, 1.0, 2.5], (3, 60))
    blocks = [
        WeightedRows(values[:, start::n_blocks], weight[:, start::n_blocks])
        for start in range(n_blocks)
    ]
    shares = np.array([0.1, 0.5, 1.0])
    rows = MemoryBlocks([Part(block) for block in blocks])
    found = quantiles_by_sums(
        rows,
        Part.up_to,
        values.min(axis=1),
        values.max(axis=1),
        shares,
    )
    expected = [
        [weighted_quantile(column, w, share) for share in shares]
        for column, w in zip(values, weight, strict=True)
    ]
    assert_array_equal(found, expected)


def test_rounding_moves_no_quantile():
    """0.07 * 100 is more than 7 in floats."""
    rows = MemoryBlocks([Part(WeightedRows(np.arange(100.0)[None], np.ones((1, 100))))])
    ends = np.array([0.0]), np.array([99.0])
    found = quantiles_by_sums(rows, Part.up_to, *ends, np.array([0.07, 0.29]))
    assert_array_equal(found, [[6.0, 28.0]])
