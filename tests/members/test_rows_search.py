"""The whole search over rows in several blocks, against that over a table."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

import covey.members._linear_flock as estimator
from covey import FlockClassifier
from covey._core.search.rows import SearchBlock, SearchInMemory
from covey.members._folds import deal_folds
from covey.members._search import FlockSearch, RowsSearch
from tests._core.several import Several

LAYOUTS = [[150], [75, 75], [22] * 6 + [18], [3, 130, 17], [60, 0, 90]]


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    # Sorted, so that blocks lack classes; with noise, so that candidates differ.
    X = X + np.random.default_rng(0).normal(scale=0.4, size=X.shape)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    weight[::13] = 0.0
    return X, y, weight


def fitted(table, **parameters):
    X, y, weight = table
    model = FlockClassifier(n_estimators=2, random_state=0, **parameters)
    return model.fit(X, y, sample_weight=weight)


@pytest.fixture(autouse=True)
def precise(monkeypatch):
    """Folds in double precision, lest rounding choose between candidates."""
    monkeypatch.setattr(estimator, "FlockSearch", partial(FlockSearch, single=False))


def in_blocks(monkeypatch, sizes, lost=None, single=False):
    """From here on searches see blocks, and deal the folds among these."""
    seen = []

    def search(X, codes, weight, classes, **how):
        seen.append(Several(X, codes, weight, sizes, len(classes), lost))
        return RowsSearch(seen[-1], classes, single=single, **how)

    def folds(cv, X, codes, weight, classes, *, groups, seed, n_repeats):
        return deal_folds(seen[-1], cv, classes, groups=groups, seed=seed, n_repeats=n_repeats)

    monkeypatch.setattr(estimator, "FlockSearch", search)
    monkeypatch.setattr(estimator, "make_folds", folds)
    return seen


def same(one, other, X, atol):
    for name in ("basis", "n_members", "pool", "gate", "alpha"):
        assert_array_equal(one.cv_results_[name], other.cv_results_[name])
    # A candidate with next to no penalty ends its few iterations far from any optimum.
    assert_allclose(one.cv_results_["log_loss"], other.cv_results_["log_loss"], atol=1e-4)
    assert_allclose(one.cv_results_["weight"], other.cv_results_["weight"])
    assert_array_equal(one.support_, other.support_)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=atol)
    assert_allclose(one._member_shares, other._member_shares, atol=atol)


@pytest.mark.parametrize("sizes", LAYOUTS)
def test_blocks_find_what_a_table_finds(table, sizes, monkeypatch):
    here = fitted(table, cv=3)
    in_blocks(monkeypatch, sizes)
    same(here, fitted(table, cv=3), table[0], 1e-6)


def test_single_precision_finds_much_the_same(table, monkeypatch):
    monkeypatch.setattr(estimator, "FlockSearch", FlockSearch)
    here = fitted(table)
    in_blocks(monkeypatch, [150], single=True)
    one_block = fitted(table)
    assert_array_equal(here.coef_, one_block.coef_)
    assert_array_equal(here.cv_results_["log_loss"], one_block.cv_results_["log_loss"])
    in_blocks(monkeypatch, [40, 110], single=True)
    assert_allclose(here.cv_results_["log_loss"], fitted(table).cv_results_["log_loss"], atol=0.03)


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_other_efforts_do_too(table, effort, monkeypatch):
    here = fitted(table, effort=effort, cv=2, alpha=0.01)
    in_blocks(monkeypatch, [40, 110])
    same(here, fitted(table, effort=effort, cv=2, alpha=0.01), table[0], 1e-6)


def test_sparse_blocks_do_too(table, monkeypatch):
    X, y, weight = table
    sparse_table = sparse.csr_array(np.where(np.abs(X - 3) > 1, X, 0.0)), y, weight
    here = fitted(sparse_table)
    in_blocks(monkeypatch, [40, 110])
    same(here, fitted(sparse_table), sparse_table[0], 1e-6)


@pytest.mark.torch
def test_what_is_climbed_may_be_torch(table, monkeypatch):
    torch = pytest.importorskip("torch")
    here = fitted(table, effort="fast")

    def search(X, codes, weight, classes, **how):
        beside = torch.zeros(0, dtype=torch.float64)
        block = SearchBlock(X, codes, weight, 0, len(classes), beside)
        return RowsSearch(SearchInMemory(block), classes, **how)

    monkeypatch.setattr(estimator, "FlockSearch", search)
    there = fitted(table, effort="fast")
    assert isinstance(there.coef_, np.ndarray)
    assert_allclose(here.predict_proba(table[0]), there.predict_proba(table[0]), atol=1e-6)


def test_a_search_survives_the_loss_of_blocks(table, monkeypatch):
    draws = np.random.default_rng(0)
    in_blocks(monkeypatch, [40, 0, 110])
    whole = fitted(table, cv=3, alpha=0.01)
    seen = in_blocks(monkeypatch, [40, 0, 110], lambda method, number: draws.random() < 0.02)
    patched = fitted(table, cv=3, alpha=0.01)
    assert seen[0].n_lost > 20
    assert_array_equal(whole.coef_, patched.coef_)
    assert_array_equal(whole.cv_results_["log_loss"], patched.cv_results_["log_loss"])
    # What a lost block is told again does not grow with the steps that were taken.
    n_fits = sum(len(rows) for rows in whole.cv_results_.values())
    assert len(seen[0].recipe.calls) < 40 + n_fits
