"""Certificates are compared with predictions on grids, and with slopes taken by hand."""

import dataclasses
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from covey import FlockClassifier, FlockRegressor, FusionClassifier, SubsetEnsembleRegressor
from covey._core.basis import Basis
from covey._core.inspection.monotone import least_slopes
from covey.inspection import monotone_certificate


def random_table(seed, n_rows=240):
    """Draw a table, a target that bends, and limits of a flock."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n_rows, 4)), columns=list("abcd"))
    effects = rng.standard_normal(4)
    y = X.to_numpy() @ effects + rng.normal() * X.a * X.b + rng.normal() * np.abs(X.c)
    y += rng.normal(0, 0.3, n_rows)
    signs = {name: int(rng.choice([-1, 1])) for name in rng.permutation(list("abcd"))[:2]}
    return X, y, signs


def largest_fall_on_a_grid(flock, X, column, sign, n_rows=60):
    low, high = X[column].min(), X[column].max()
    grid = np.unique(np.concatenate([np.linspace(2 * low - high, 2 * high - low, 201), X[column]]))
    rng = np.random.default_rng(0)
    # Rows of any values within the range, and not only those of the table.
    rows = pd.DataFrame({name: rng.choice(X[name], n_rows) for name in X})
    tried = rows.loc[rows.index.repeat(len(grid))].reset_index(drop=True)
    tried[column] = np.tile(grid, n_rows)
    found = (
        flock.predict_proba(tried)[:, 1] if hasattr(flock, "classes_") else flock.predict(tried)
    )
    curves = sign * found.reshape(n_rows, len(grid))
    return float((np.maximum.accumulate(curves, axis=1) - curves).max())


def assert_agrees_with_a_grid(flock, X, column, sign):
    one = monotone_certificate(flock, column, sign)
    fall = largest_fall_on_a_grid(flock, X, column, sign)
    scale = 1.0 if hasattr(flock, "classes_") else float(np.ptp(flock.y_range_))
    if one.holds:
        assert fall <= 1e-12 * scale
    if one.holds is False:
        assert one.found > 0
        assert one.between[0] < one.between[1]
    if fall > 1e-6 * scale:
        assert one.holds is not True
    return one


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", [FlockClassifier, FlockRegressor])
def test_certificates_agree_with_grids_on_random_fits(kind, seed):
    X, y, signs = random_table(seed)
    y = y > y.median() if kind is FlockClassifier else y
    how = {"effort": ("fast", "balanced")[seed == 0], "random_state": seed}
    kept, free = kind(**how, monotone=signs).fit(X, y), kind(**how).fit(X, y)
    for column, sign in signs.items():
        assert assert_agrees_with_a_grid(kept, X, column, sign).holds
        assert_agrees_with_a_grid(free, X, column, sign)
        assert_agrees_with_a_grid(free, X, column, -sign)


@pytest.mark.parametrize("pairs", ["none", [("a", "b"), ("a", "c")]])
@pytest.mark.parametrize("kind", [FlockClassifier, FlockRegressor])
def test_one_member_is_certified_or_refuted(kind, pairs):
    X, y, _ = random_table(3)
    y = y > y.median() if kind is FlockClassifier else y
    flock = kind(interactions=pairs, random_state=0).fit(X, y)
    for column in X:
        for sign in (1, -1):
            one = assert_agrees_with_a_grid(flock, X, column, sign)
            assert one.holds is not None or pairs != "none"


@pytest.mark.parametrize("interactions", ["none", "all"])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_the_fall_of_a_flock_of_logarithms_is_in_units_of_y(loss, interactions):
    X, y, _ = random_table(3)
    y = 100.0 * np.exp(y / 2.0)
    how = {"loss": loss, "interactions": interactions, "effort": "fast"}
    flock = FlockRegressor(**how, random_state=0).fit(X, y)
    falls = [
        assert_agrees_with_a_grid(flock, X, column, sign).found for column in X for sign in (1, -1)
    ]
    assert max(falls) > 10.0


@pytest.mark.parametrize("kind", [FlockClassifier, FlockRegressor])
def test_a_model_with_one_coefficient_of_the_wrong_sign_is_not_certified(kind):
    X, y, signs = random_table(0)
    y = y > y.median() if kind is FlockClassifier else y
    flock = kind(effort="fast", monotone=signs, random_state=0).fit(X, y)
    column, sign = next(iter(signs.items()))
    place = X.columns.get_loc(column)
    assert monotone_certificate(flock, column, sign).holds
    own = np.flatnonzero(flock.basis_.feature == place)
    member, strongest = np.unravel_index(
        np.abs(flock.model_.coef[:, -1, own]).argmax(), (flock.model_.n_members, len(own))
    )
    coef = flock.model_.coef.copy()
    coef[member, :, own[strongest]] *= -3.0
    flock.model_ = dataclasses.replace(flock.model_, coef=coef)
    broken = monotone_certificate(flock, column, sign)
    assert broken.holds is not True


def test_a_gate_that_sees_the_column_leaves_the_answer_open_or_refutes_it():
    X, y, _ = random_table(1)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    assert flock.gate_support_.any()
    seen = [name for name, used in zip(X, flock.gate_support_.any(axis=0), strict=True) if used]
    for column in seen:
        one = monotone_certificate(flock, column)
        assert one.holds is not True
        if one.holds is None:
            assert "a gate sees it" in one.reason


def test_without_a_direction_the_one_that_holds_is_returned():
    X, y, _ = random_table(2)
    y = y - 2 * X.a
    flock = FlockRegressor(effort="fast", monotone={"a": -1}, random_state=0).fit(X, y)
    one = monotone_certificate(flock, "a")
    assert (one.direction, one.holds) == (-1, True)
    assert str(one).startswith("never rises with a: no gate sees it")
    assert monotone_certificate(flock, 0) == one


def test_a_column_that_nothing_uses_is_the_same_for_every_value():
    X, y, _ = random_table(4)
    X["constant"] = 1.0
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    one = monotone_certificate(flock, "constant", -1)
    assert one.holds
    assert one.claim == "never rises with constant"


def test_a_gap_is_no_value_of_the_column():
    X, y, _ = random_table(5)
    X.loc[::3, "a"] = np.nan
    flock = FlockRegressor(effort="fast", monotone={"a": 1}, random_state=0).fit(X, y)
    assert monotone_certificate(flock, "a", 1).holds
    free = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    assert monotone_certificate(free, "a").column == "a"


def test_a_flock_of_an_array_is_certified_by_position():
    X, y, signs = random_table(6)
    named = {X.columns.get_loc(name): sign for name, sign in signs.items()}
    flock = FlockRegressor(effort="fast", monotone=named, random_state=0).fit(X.to_numpy(), y)
    assert all(monotone_certificate(flock, *one).holds for one in named.items())
    assert {monotone_certificate(flock, place).column for place in range(2)} == {"x0", "x1"}


@pytest.mark.parametrize("seed", range(5))
def test_least_slopes_are_those_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    seen = np.array([[-1.0, -2.0, 0.0], [1.0, 1.0, 3.0]])
    ramps = Basis.ramps([np.array([-1.0, 0.0, 0.4, 1.0]), np.zeros(1), np.zeros(1)])
    products = Basis.products(np.zeros(3, bool), rng.normal(size=3), seen)
    basis = ramps.union(products)
    coef = rng.standard_normal((3, basis.n_columns)) * (rng.random(basis.n_columns) < 0.6)
    ends, least = least_slopes(basis, coef, 0)
    assert ends[[0, -1]].tolist() == [-3.0, 3.0]
    corners = np.array([[b, c] for b in (-9.0, 9.0) for c in (-9.0, 9.0)])
    for place, (left, right) in enumerate(pairwise(ends)):
        x = np.linspace(left, right, 400)
        rows = np.array([[value, *corner] for corner in corners for value in x])
        values = (basis.rows(rows) @ coef.T).reshape(len(corners), len(x), 3)
        slopes = np.diff(values, axis=1) / np.diff(x)[:, None]
        np.testing.assert_allclose(least[:, place], slopes.min(axis=(0, 1)), atol=0.02)
        assert (least[:, place] <= slopes.min(axis=(0, 1)) + 1e-9).all()


def test_what_cannot_be_certified_is_refused():
    X, y = load_diabetes(return_X_y=True)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="column names the column 99"):
        monotone_certificate(flock, 99)
    with pytest.raises(ValueError, match="direction must be"):
        monotone_certificate(flock, 0, direction=0)
    iris = FlockClassifier(effort="fast").fit(*load_iris(return_X_y=True))
    with pytest.raises(TypeError, match="two classes"):
        monotone_certificate(iris, 0)
    with pytest.raises(TypeError, match="FusionClassifier"):
        monotone_certificate(FusionClassifier([]), 0)
    grown = SubsetEnsembleRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="SubsetEnsembleRegressor"):
        monotone_certificate(grown, 0)
    words = pd.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "x", "y")})
    flock = FlockRegressor(effort="fast", random_state=0).fit(words, y)
    with pytest.raises(ValueError, match="'word' is not read as numbers"):
        monotone_certificate(flock, "word")
