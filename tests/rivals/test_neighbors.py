"""Nearest neighbors whose votes have weights."""

import numpy as np
import pytest
from scipy import sparse

from covey.rivals._subset_search import NeighborsMember


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 6))
    X[:, :3] += 1.5 * np.eye(3)[y]
    return X, y


@pytest.mark.parametrize("scale", [2.0**-996, 2.0**996])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_neighbors_are_the_same_whatever_the_unit(table, scale, form):
    X, y = table
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    weight = 1.0 + np.arange(90) % 2
    plain = NeighborsMember().fit(form(X), y, weight).predict_proba(form(X))
    far = NeighborsMember().fit(form(X * scale), y, weight).predict_proba(form(X * scale))
    # Powers of two leave all digits as they are, so no tie is turned.
    np.testing.assert_array_equal(far, plain)


def test_rows_without_weight_are_as_good_as_absent_for_the_neighbors(table):
    X, y = table
    weight = np.ones(90)
    weight[60:] = 0
    part, whole = NeighborsMember().fit(X[:60], y[:60]), NeighborsMember().fit(X, y, weight)
    np.testing.assert_array_equal(part.predict_proba(X), whole.predict_proba(X))
    scaled = NeighborsMember().fit(X, y, np.full(90, 1 / 3))
    np.testing.assert_array_equal(
        scaled.predict_proba(X), NeighborsMember().fit(X, y).predict_proba(X)
    )


def test_neighborhood_is_as_heavy_as_five_average_rows():
    X = np.arange(8.0)[:, None]
    y = np.array([0, 1, 1, 1, 1, 1, 0, 0])
    weight = np.array([4.0, 1, 1, 1, 1, 1, 1, 6])  # 2 on average: a neighborhood of 10
    # From the left: 4 of class 0, five of class 1, and 1 of class 0.
    shares = NeighborsMember().fit(X, y, weight).predict_proba([[-1.0]])
    np.testing.assert_allclose(shares, [[0.5, 0.5]])
