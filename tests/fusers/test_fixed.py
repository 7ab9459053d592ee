import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey import Oracle, Predictions, Product


def probabilities(seed, n=20, k=4, c=3):
    return np.random.default_rng(seed).dirichlet(np.full(c, 0.3), (n, k))


def test_product_by_hand():
    # sqrt(.9 * .5) : sqrt(.1 * .5) = 3 : 1
    assert_allclose(Product().fuse([[[0.9, 0.1], [0.5, 0.5]]]), [[0.75, 0.25]])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_product_rows_sum_to_one_and_member_order_does_not_matter(seed):
    P = probabilities(seed)
    P[0, 0] = [1, 0, 0]
    P[0, 1] = [0, 1, 0]
    P[0, 2] = [0, 0, 1]  # every class is vetoed by someone
    fused = Product().fuse(P)
    assert np.isfinite(fused).all()
    assert_allclose(fused.sum(axis=1), 1)
    assert_allclose(Product().fuse(P[:, ::-1]), fused)


def test_product_of_unanimous_certainty_stays_certain():
    fused = Product().fuse([[[1.0, 0.0], [1.0, 0.0]]])
    assert fused[0, 0] == 1.0
    assert_allclose(fused[0, 1], 0.0, atol=1e-300)


def test_product_leaves_out_members_that_did_not_speak():
    P = Predictions([[[0.9, 0.1], [0.2, 0.8]]], available=np.array([[True, False]]))
    assert_allclose(Product().fuse(P), [[0.9, 0.1]])
    assert_allclose(Product().importance(P), [[1.0, 0.0]])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_oracle_is_right_exactly_where_some_member_is(seed):
    P = probabilities(seed)
    y = np.random.default_rng(seed + 1).integers(0, 3, len(P))
    fused = Oracle().fuse(P, y=y)
    right = fused.argmax(axis=1) == y
    assert_array_equal(right, (P.argmax(axis=2) == y[:, None]).any(axis=1))
    importance = Oracle().importance(P, y=y)
    assert_array_equal(importance.sum(axis=1), 1)
    assert set(np.unique(importance)) <= {0.0, 1.0}


def test_oracle_without_labels_explains_itself():
    with pytest.raises(ValueError, match="needs the true labels y"):
        Oracle().fuse(probabilities(0))


def test_a_rule_refuses_kinds_it_cannot_fuse():
    with pytest.raises(ValueError, match="Product fuses predictions of kind probability"):
        Product().fuse(Predictions(probabilities(0), kind="score"))
