"""How much memory the fit of a flock takes beside its table."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import covey.members._rows_in_memory as rows_in_memory
from covey import FlockClassifier
from covey._core.search import block


def peak_of(fit):
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_wide_table_is_copied_once_in_double_and_once_in_single_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 1_500))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    model = FlockClassifier(random_state=0, cv=3)
    taken = peak_of(lambda: model.fit(X, y))
    # Both are 1.5 times the table; candidates, and what is remembered of columns, add to it.
    assert taken < 2.8 * X.nbytes


@pytest.mark.slow
def test_many_classes_are_predicted_a_few_rows_at_a_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5_000, 3)), np.arange(5_000) % 80
    model = FlockClassifier(effort="fast", random_state=0)
    # Six members' predictions of all rows would be 19 MB, and twice as much on the way to them.
    assert peak_of(lambda: model.fit(X, y)) < 50e6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_computed_a_few_rows_at_a_time_is_the_same(monkeypatch, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X @ rng.normal(size=(4, n_classes))).argmax(axis=1)
    at_once = FlockClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(rows_in_memory, "_NUMBERS_AT_ONCE", 50)
    monkeypatch.setattr(block, "NUMBERS_AT_ONCE", 50)
    one = FlockClassifier(random_state=0).fit(X, y)
    assert_allclose(one.model_.means, at_once.model_.means, rtol=1e-12)
    assert_allclose(one.group_weights_, at_once.group_weights_)
    assert_allclose(one.predict_proba(X), at_once.predict_proba(X), atol=1e-12)
