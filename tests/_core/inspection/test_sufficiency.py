"""The fewest units that suffice, and their twins."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.inspection import two_answers as core
from covey._core.inspection.relevance import unit_columns, value_scores


def fewest_of(X, y, pairs=(), n_folds=5):
    weight = np.ones(len(y))
    units = unit_columns(X, np.arange(X.shape[1]), X.shape[1], weight)
    folds = [np.arange(start, len(y), n_folds) for start in range(n_folds)]
    return core.fewest(
        units, value_scores(y, weight), range(X.shape[1]), pairs, folds[:n_folds], len(y)
    )


def test_what_is_not_needed_leaves_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    found = fewest_of(X, X[:, 3] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=300))
    assert found.order[:2] == [3, 1]
    assert found.n_enough == 2
    assert found.twins == []


def test_twins_are_those_that_may_stand_in():
    rng = np.random.default_rng(1)
    inner = rng.normal(size=(300, 2))
    # The first two see the same, the third sees it worse, the others see something else.
    X = np.repeat(inner, [3, 2], axis=1)
    X += rng.normal(size=X.shape) * [0.2, 0.2, 1.5, 0.2, 0.2]
    found = fewest_of(X, inner @ [1.0, -1.0] + 0.3 * rng.normal(size=300))
    groups = [set(group) for group in found.twins]
    assert all(group <= {0, 1} or group <= {3, 4} for group in groups)
    alone = X[:, [0, 3]]
    copied = np.hstack([alone, alone])
    found = fewest_of(copied, inner @ [1.0, -1.0] + 0.3 * rng.normal(size=300))
    assert found.n_enough == 2
    assert sorted(map(sorted, found.twins)) == [[0, 2], [1, 3]]


def test_products_leave_with_either_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300)
    assert set(fewest_of(X, y, [(0, 1)]).order[:2]) == {0, 1}
    assert fewest_of(X, y, [(0, 1)]).n_enough == 2
    weight = np.ones(300)
    units = unit_columns(X, np.arange(4), 4, weight)
    model = core._Model(units, units.of(range(4)), [(0, 1)], 300)
    assert len(model.inside([0, 1])) == len(model.inside([0, 2])) + 1 == 8


def test_bent_columns_are_those_of_units_that_bend():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    target = value_scores(X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=200), np.ones(200))
    units = unit_columns(X, np.arange(3), 3, np.ones(200))
    used = core._columns_used(units, target, range(3), 200)
    assert_array_equal(np.bincount(units.unit[used]), [3, 1, 1])
    # Where rows are too few for all of that, straight columns are.
    assert_array_equal(np.bincount(units.unit[core._columns_used(units, target, [0], 8)]), [1])


def test_losses_are_those_of_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    target = value_scores(X[:, 0] + rng.normal(size=60), np.ones(60))
    units = unit_columns(X, np.arange(2), 2, np.ones(60))
    model = core._Model(units, units.of(range(2)), [], 60)
    rows = np.arange(20)
    found = core._Fold(model, target, rows).losses([0])
    columns = np.hstack([units.root[:, None], units.columns[:, units.of([0])]])
    padded = np.vstack([columns[20:], np.eye(4) / 60**0.5])
    coef = np.linalg.lstsq(padded, np.append(target[20:, 0], np.zeros(4)), rcond=None)[0]
    assert_allclose(found, (target[:20, 0] - columns[:20] @ coef) ** 2)


def test_without_folds_or_choice_all_are_needed():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert fewest_of(X, X[:, 0], n_folds=0).n_enough == 2
    assert_array_equal(fewest_of(X[:, :1], X[:, 0]).order, [0])


def test_of_copies_the_first_is_needed_also_where_it_explains_all():
    x = np.random.default_rng(0).normal(size=(60, 1))
    found = fewest_of(np.tile(x, (1, 6)), x[:, 0])
    assert found.order == [0, 1, 2, 3, 4, 5]
    assert found.n_enough == 1
    assert found.twins == [[0, 1, 2, 3, 4, 5]]
