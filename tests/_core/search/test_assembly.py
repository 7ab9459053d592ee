import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.basis import Basis, ScaledBasis
from covey._core.search.assembly import assembled
from covey._core.search.plan import Family, Group
from tests._core.bases import ramps_of

N, D = 40, 3


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    bases = {}
    for name, basis in (("features", Basis.plain(D)), ("ramps", ramps_of(X.T, np.ones(N), 3))):
        columns = basis.rows(X)
        usable = np.ones(basis.n_columns, dtype=bool)
        bases[name] = ScaledBasis(basis, columns.mean(axis=0), columns.std(axis=0), usable)
    return rng, X, bases


def group(rng, bases, family, sees):
    """A group of random members that look at some columns each; its gate does not matter yet."""
    n_columns = bases[family.basis].basis.n_columns
    support = np.zeros((family.n_members, n_columns), dtype=bool)
    support[:, sees] = True
    return Group(
        family,
        family.alphas[0],
        rng.normal(size=(family.n_members, 2, n_columns)) * support[:, None],
        rng.normal(size=(family.n_members, 2)),
        support,
        np.zeros((family.n_members, bases[family.gate].basis.n_columns)),
        np.zeros(family.n_members),
        7,
    )


def importance_of(X):
    return lambda groups: groups.importance(X).mean(axis=1)


def test_members_on_one_basis_predict_what_each_did_on_its_own(table):
    rng, X, bases = table
    groups = [
        (0.6, group(rng, bases, Family("ramps", 2, (0.1,)), [0, 4])),
        (0.2, group(rng, bases, Family("features", 1, (0.1,)), [1])),
    ]
    flock = assembled(groups, bases, {}, importance_of(X))
    assert_array_equal(flock.sizes, [2, 1])
    assert_allclose(flock.weights, [0.75, 0.25])
    assert_allclose(flock.shares, [0.375, 0.375, 0.25])
    assert_array_equal(flock.n_iter, [7, 7, 7])
    logits = np.einsum("np,kcp->knc", flock.basis.rows(X), flock.coef) + flock.intercept[:, None]
    expected = []
    for _, one in groups:
        scaled = bases[one.family.basis]
        columns = (scaled.basis.rows(X) - scaled.mean) / scaled.scale
        expected += list(np.einsum("np,kcp->knc", columns, one.theta) + one.intercept[:, None])
    assert_allclose(logits, expected, atol=1e-12)
    # Columns that neither a member nor a gate sees are gone, but for the features themselves.
    assert flock.basis.n_columns == D + 1
    assert flock.support[2].tolist() == [False, True, False]


def test_a_member_that_hardly_matters_is_dropped_unless_it_is_the_last_of_its_group(table):
    rng, X, bases = table
    two = group(rng, bases, Family("features", 2, (0.1,)), [0])
    two.gate_intercept[1] = -9.0  # a gate of about 0.0001
    two.gate[:, 1:] = 1e-3
    alone = group(rng, bases, Family("features", 1, (0.1,)), [0])
    flock = assembled([(0.999, two), (0.001, alone)], bases, {}, importance_of(X))
    assert_array_equal(flock.sizes, [1, 1])
    assert_allclose(flock.coef[0], two.theta[0] / bases["features"].scale)
    assert_allclose(flock.shares, [0.999, 0.001])
    # Who is left alone has no gate, which sees no column and has no terms.
    assert not flock.gate_coef.any()
    assert not flock.gate_intercept.any()
    assert not flock.gate_support.any()
    assert flock.n_terms == 2


def test_columns_of_members_and_of_gates_are_terms_unless_they_have_no_meaning(table):
    rng, X, bases = table
    two = group(rng, bases, Family("ramps", 2, (0.1,)), [0, 4, 5])
    bases["ramps"].usable[5] = False
    two.gate[0, [1, 2]] = 0.5
    flock = assembled([(1.0, two)], bases, {}, importance_of(X))
    assert flock.n_terms == 2 * 2 + 2
    assert flock.support.tolist() == [[True, False, False]] * 2
    assert flock.gate_support.tolist() == [[False, True, True]]
