"""What a fit needs of Dask rows is what it would need of the same rows in memory."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import covey
from covey._core.losses import ValueLoss, weighted_quantile
from covey._core.moments import moments
from covey.dask import _worker
from covey.dask._blocks import TableBlock
from covey.dask._rows import DaskRows
from covey.members._held_out import held_out_rows


@pytest.fixture
def rows_of():
    """Arrays in blocks, in this process."""
    opened = []

    def make(X, y, weight, length, numeric=False):
        kind = covey.FlockRegressor if numeric else covey.FlockClassifier
        X = da.from_array(X, (length, X.shape[1])) if isinstance(X, np.ndarray) else X
        y, weight = da.from_array(y, length), da.from_array(weight, length)
        opened.append(DaskRows.open(kind(), X, y, weight, None, reset=True, numeric=numeric))
        return opened[-1]

    yield make
    for rows in opened:
        rows.close()


def columns_of_all_sizes(rng):
    X = rng.standard_normal((60, 6)) * [1.0, 1e-200, 1e200, 1.0, 1.0, 1e6]
    X[:, 3] = 7.7  # constant
    X[:, 4] = rng.integers(0, 2, 60)  # mostly zeros
    X[:, 5] += 1e9  # far from zero
    return X


@pytest.mark.parametrize("length", [7, 60])
def test_moments_are_those_of_the_whole_table(rows_of, length):
    rng = np.random.default_rng(0)
    X, y = columns_of_all_sizes(rng), rng.integers(0, 2, 60)
    weight = rng.choice([0.0, 1.0, 3.0], 60)
    mean, deviation = rows_of(X, y, weight, length).moments()
    expected_mean, expected_deviation = moments(X.T, weight)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-14, atol=1e-210)
    np.testing.assert_allclose(deviation, expected_deviation, rtol=1e-13)
    assert deviation[3] == 0.0


@pytest.mark.parametrize("length", [7, 60])
def test_moments_of_sparse_blocks_are_those_of_the_whole_table(rows_of, length):
    rng = np.random.default_rng(0)
    X = sp.random(60, 5, density=0.4, format="csr", random_state=0)
    y, weight = rng.integers(0, 2, 60), rng.choice([0.0, 1.0, 3.0], 60)
    blocks = da.from_array(X.toarray(), (length, 5)).map_blocks(sp.csr_matrix, dtype=float)
    found = rows_of(blocks, y, weight, length).moments()
    for part, expected in zip(found, moments(X.tocsc(), weight), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.99])
def test_rows_held_out_are_those_that_are_held_out_in_memory(rows_of, fraction):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [3000, 40, 2, 1])[rng.permutation(3043)]
    weight = rng.choice([0.0, 1.0], 3043, p=[0.2, 0.8])
    weight[y > 1] = 1.0
    expected = held_out_rows(y, weight, fraction, 5)
    rows = rows_of(np.ones((3043, 1)), y, weight, 100)
    assert rows.class_counts.tolist() == np.bincount(y[weight > 0]).tolist()
    rows.hold_out(fraction, 5)
    table = rows.search_rows()
    table.gather(TableBlock.n_rows)
    held_out = []
    for number in range(31):
        block = _worker._STORES[_worker.THIS_PROCESS].buffer.get((table._fit, number))
        of_block = np.empty(len(block._order), dtype=bool)
        of_block[block._order] = block._held_out_rows
        held_out.append(of_block)
    np.testing.assert_array_equal(np.concatenate(held_out), expected)


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((90, 3)), rng.choice([0.0, 1.0, 3.0], 90)
    return X, X @ [1.0, -2.0, 0.0] + rng.standard_t(2, 90) + 5.0, weight


@pytest.mark.parametrize("length", [7, 90])
def test_the_moments_and_quantiles_of_a_numeric_target(rows_of, numbers, length):
    X, y, weight = numbers
    rows = rows_of(X, y, weight, length, numeric=True)
    assert rows.classes is None
    assert rows.n_weighted() == np.count_nonzero(weight)
    assert rows.total_weight() == weight.sum()
    np.testing.assert_allclose(rows.target_moments(), np.ravel(moments(y[None], weight)))
    for share in (0.1, 0.5, 0.9):
        assert rows.target_quantile(share) == weighted_quantile(y, weight, share)
    expected = weighted_quantile(np.abs(y - 5.0), weight, 0.5)
    assert rows.target_quantile(0.5, center=5.0) == expected


def test_a_constant_target_has_exactly_its_mean(rows_of, numbers):
    X, y, weight = numbers
    rows = rows_of(X, np.full(len(y), 0.1), weight, 20, numeric=True)
    assert rows.target_moments() == (0.1, 0.0)


def test_errors_of_a_linear_model_do_not_depend_on_blocks(rows_of, numbers):
    X, y, weight = numbers
    mean, scale = moments(X.T, weight)
    target = np.clip(np.where(weight > 0, y - 5.0, 0.0) / 2.0, -10.0, 10.0)
    found = []
    for length in (90, 13):
        rows = rows_of(X, y, weight, length, numeric=True)
        rows.standardize_target(5.0, 2.0, 10.0)
        loss = ValueLoss("huber", 0.5)
        assert rows.target_loss(loss) == pytest.approx(loss.value(target) @ weight)
        errors = rows.linear_errors(mean, scale, loss)
        found.append((errors.quantile(0.5), errors.loss(loss)))
    np.testing.assert_allclose(*found, rtol=1e-6)
    # Below the loss of the constant, which sees no column.
    assert found[0][1] < 0.8 * rows.target_loss(loss)
