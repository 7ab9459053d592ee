"""The whole search over rows in several blocks, against that over a table in memory."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

from covey._core.losses import ValueLoss
from covey._core.moments import moments
from covey._core.search import search as search_module
from covey._core.search.bases import Features
from covey._core.search.block import ClassTarget, SearchBlock, ValueTarget
from covey._core.search.plan import (
    CLASSIFICATION,
    REGRESSION,
    Pace,
    SearchPlan,
    Watch,
    families,
)
from covey._core.search.rows import SearchInMemory, folds_of_rows
from covey._core.search.search import Search
from tests._core.several import Several

LAYOUTS = [[150], [75, 75], [22] * 6 + [18], [3, 130, 17], [60, 0, 90]]
CLASSES = np.arange(3)
# So few iterations that rounding, which other processors do otherwise, has no time to grow.
FEW = Pace(max_iter=15, path_iter=5)
OF_CLASSES, OF_VALUES = replace(CLASSIFICATION, pace=FEW), replace(REGRESSION, pace=FEW)


@pytest.fixture(scope="module", autouse=True)
def few_iterations():
    """The same where nothing is compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "_MAX_ITER", 15)
        yield


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    # Sorted, so that blocks lack classes; with noise, so that candidates differ.
    X = X + np.random.default_rng(0).normal(scale=0.4, size=X.shape)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    weight[::13] = 0.0
    return X, y, weight


def in_memory(table, beside=None):
    X, y, weight = table
    return SearchInMemory([SearchBlock(X, ClassTarget(y, 3), weight, beside=beside)])


def found(table, rows, *, effort="balanced", cv=5, alpha=None, single=False):
    """The flock that a search of these rows finds."""
    X, _, weight = table
    mean, deviation = moments(X.tocsc() if sparse.issparse(X) else X.T, weight)
    usable = deviation > 0
    n_repeats = 2 if effort == "best" else 1
    folds = []
    if effort != "fast":
        folds = folds_of_rows(rows, cv, CLASSES, seed=0, n_repeats=n_repeats)
    plan = SearchPlan(
        OF_CLASSES,
        families(OF_CLASSES, effort, 2, alpha, weight.sum()),
        seed=0,
        most_features=4,
        folds=folds,
        n_errors=0.5,
        n_restarts=n_repeats,
        single=single,
    )
    features = Features(mean, deviation, usable, np.arange(4))
    return Search(rows, features, plan).run(Watch(nullcontext))


def same(one, other):
    """The same selection and subsets, and coefficients up to what rounding does to them."""
    for name, values in one.candidates.items():
        if name.endswith("_loss"):
            assert_allclose(values, other.candidates[name], rtol=1e-5)
        else:
            assert_array_equal(values, other.candidates[name])
    assert_array_equal(one.support, other.support)
    assert_array_equal(one.gate_support, other.gate_support)
    assert_allclose(one.coef, other.coef, rtol=1e-3, atol=1e-4)
    assert_allclose(one.gate_coef, other.gate_coef, rtol=1e-3, atol=1e-4)
    assert_allclose(one.shares, other.shares, atol=1e-5)


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_blocks_find_what_a_table_finds(table, sizes):
    blocks = Several(*table, sizes, 3)
    same(found(table, in_memory(table), cv=3), found(table, blocks, cv=3))


def test_single_precision_finds_much_the_same(table):
    whole = found(table, in_memory(table), single=True)
    one_block = found(table, Several(*table, [150], 3), single=True)
    assert_array_equal(whole.coef, one_block.coef)
    assert_array_equal(whole.candidates["log_loss"], one_block.candidates["log_loss"])
    two = found(table, Several(*table, [40, 110], 3), single=True)
    assert_allclose(whole.candidates["log_loss"], two.candidates["log_loss"], atol=0.1)


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_other_efforts_do_too(table, effort):
    how = {"effort": effort, "cv": 2, "alpha": 0.01}
    blocks = Several(*table, [40, 110], 3)
    same(found(table, in_memory(table), **how), found(table, blocks, **how))


def test_sparse_blocks_do_too(table):
    X, y, weight = table
    table = sparse.csr_array(np.where(np.abs(X - 3) > 1, X, 0.0)), y, weight
    same(found(table, in_memory(table)), found(table, Several(*table, [40, 110], 3)))


@pytest.mark.torch
def test_likelihoods_may_be_computed_by_torch(table):
    torch = pytest.importorskip("torch")
    beside = torch.zeros(0, dtype=torch.float64)
    flock = found(table, in_memory(table, beside), effort="fast")
    assert isinstance(flock.coef, np.ndarray)
    same(found(table, in_memory(table), effort="fast"), flock)


def test_a_search_survives_the_loss_of_blocks(table):
    draws = np.random.default_rng(0)
    how = {"cv": 3, "alpha": 0.01}
    whole = found(table, Several(*table, [40, 0, 110], 3), **how)
    losing = Several(*table, [40, 0, 110], 3, lambda method, number: draws.random() < 0.03)
    patched = found(table, losing, **how)
    assert losing.n_lost > 20
    assert_array_equal(whole.coef, patched.coef)
    assert_array_equal(whole.candidates["log_loss"], patched.candidates["log_loss"])
    # The calls that a lost block repeats do not grow with the steps that were taken.
    n_fits = sum(len(values) for values in whole.candidates.values())
    assert len(losing.recipe.calls) < 40 + n_fits


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_numbers_are_searched_by_the_same_search_in_memory_and_in_blocks(loss):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150, :4], (y[:150] - y[:150].mean()) / y[:150].std()
    weight, loss = np.ones(150), ValueLoss(loss)
    mean, deviation = moments(X.T, weight)
    draws, flocks = np.random.default_rng(0), []

    def in_blocks(lost=None):
        sizes = [40, 0, 110]
        return Several(X, y, weight, sizes, 1, lost, lambda part, _: ValueTarget(part, loss))

    for rows in (
        SearchInMemory([SearchBlock(X, ValueTarget(y, loss), weight)]),
        in_blocks(),
        in_blocks(lambda method, number: draws.random() < 0.02),
    ):
        plan = SearchPlan(
            OF_VALUES,
            families(OF_VALUES, "balanced", 2, None, 150),
            seed=0,
            most_features=4,
            folds=folds_of_rows(rows, 3, np.zeros(1), seed=0, n_repeats=1),
            n_errors=0.5,
            single=False,
        )
        features = Features(mean, deviation, deviation > 0, np.arange(4))
        flocks.append(Search(rows, features, plan).run(Watch(nullcontext)))
    flock, cut, patched = flocks
    assert flock.coef.shape == (sum(flock.sizes), 1, flock.basis.n_columns)
    assert "pool" not in flock.candidates
    assert flock.candidates["weight"].sum() == pytest.approx(1)
    # What is selected has a lower loss than the constant 0, which is the mean of y.
    selected = flock.candidates["weight"] > 0
    assert (flock.candidates["mean_loss"][selected] < loss.value(y).mean()).all()
    same(flock, cut)
    assert rows.n_lost > 20
    assert_array_equal(cut.coef, patched.coef)
