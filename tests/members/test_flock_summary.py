"""What a reader gets of a flock on one screen."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError

from covey import (
    FlockClassifier,
    FlockRegressor,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    make_quarter_circle,
)
from covey._core.basis import Basis
from covey.members._flock_summary import ColumnEffects, shortened


def test_a_summary_is_one_screen_of_every_member(flock_of_table):
    flock, X = flock_of_table
    lines = flock.summary().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    members = f"{flock.n_estimators_} member"
    assert lines[0].startswith(f"{type(flock).__name__}: {members}")
    assert f", {flock.n_terms_:,} term" in lines[0]
    used = flock.support_.any(axis=0) | flock.gate_support_.any(axis=0)
    assert lines[0].endswith(f"{used.sum()} of {X.shape[1]} features")
    numbered = [line for line in lines[2:] if line.split()[0].isdigit()]
    left_out = [int(line.split()[1]) for line in lines if line.startswith("and ")]
    assert len(numbered) + sum(left_out) == flock.n_estimators_
    for line in numbered:
        k = int(line.split()[0]) - 1
        assert f"{100 * flock.model_.shares[k]:.0f} %" in line
        assert f" {flock.support_[k].sum()} feature" in line


def test_a_summary_shows_itself_in_consoles_and_notebooks():
    X, y = make_quarter_circle(60, random_state=0)
    summary = SubsetEnsembleClassifier(2, random_state=0).fit(X, y).summary()
    assert isinstance(summary, str)
    assert repr(summary) == str(summary)
    assert summary._repr_html_().startswith("<pre>SubsetEnsembleClassifier: 2 members")


def test_a_summary_needs_a_fit():
    with pytest.raises(NotFittedError):
        FlockClassifier().summary()


def test_features_without_names_are_numbered_and_fixed_rules_ask_everywhere():
    X, y = load_diabetes(return_X_y=True)
    flock = SubsetEnsembleRegressor(3, random_state=0).fit(X, y)
    lines = flock.summary().splitlines()[3:]
    assert all("asked everywhere" in line for line in lines)
    assert all(" with x" in line for line in lines)


def test_a_gate_says_where_a_member_is_asked():
    # One plane on the left, another one on the right: only a gate can tell them apart.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = np.where(X[:, 0] > 0, 5 * X[:, 1], -5 * X[:, 1])
    flock = FlockRegressor(effort="fast", n_estimators=2, max_terms=8, random_state=0).fit(X, y)
    rising, falling = sorted(flock.summary().splitlines()[3:5], key=lambda line: "falls" in line)
    assert "rises with x1" in rising
    assert "asked mostly where x0 is high" in rising
    assert "falls with x1" in falling
    assert "asked mostly where x0 is low" in falling


def test_squares_of_a_gate_ask_in_the_middle_or_far_from_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(800, 2))
    y = (np.where(np.abs(X[:, 0]) < 0.5, X[:, 1], -X[:, 1]) > 0).astype(int)
    gate = Gate(features="quadratic", alpha=1e-4)
    flock = SubsetEnsembleClassifier(2, fuser=gate, random_state=0).fit(X, y)
    text = flock.summary()
    assert "where x0 is medium" in text
    assert "where x0 is extreme" in text


def test_other_fusers_are_named():
    X, y = load_iris(return_X_y=True)
    flock = SubsetEnsembleClassifier(2, fuser="ola", random_state=0).fit(X, y)
    assert "asked as DynamicSelection('ola') decides" in flock.summary()


def test_a_member_without_features_is_said_to_be_constant():
    X, y = load_iris(return_X_y=True)
    flock = SubsetEnsembleClassifier(2, random_state=0).fit(X, y)
    flock.member_coef_[0] = 0.0
    flock.support_[0] = False
    assert "1   50 %  predicts the same for every row; asked everywhere" in flock.summary()


def test_long_names_and_many_members_stay_on_the_screen():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.columns = [f"{name} " + "of the wine " * 8 for name in X.columns]
    flock = SubsetEnsembleClassifier(40, random_state=0).fit(X, y)
    lines = flock.summary().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith("and ")


# -- what columns mean in terms of features --------------------------------------------------


def effects_of(basis, coef, mean=0.0, scale=1.0):
    n_columns = basis.n_columns
    effects = ColumnEffects(
        (basis, np.full(n_columns, mean), np.full(n_columns, scale)),
        [f"x{k}" for k in range(basis.n_features)],
    )
    return list(effects.strongest(np.atleast_2d(coef)))


def test_ramps_of_a_feature_are_one_effect_that_rises_falls_or_bends():
    basis = Basis.ramps([np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])])
    # Columns: x0, x1, two ramps of x0, two ramps of x1.
    first, second = effects_of(basis, [0.0, 0.5, 2.0, 1.0, 0.25, 0.0])
    assert (first.features, second.features) == (("x0",), ("x1",))
    assert (first.size, second.size) == (3.0, 0.75)
    assert first.rise == [3.0]
    assert second.rise == [1.25]  # twice 0.5 between 0 and 2, and a ramp of 0.25
    assert not first.bends
    (peak,) = effects_of(basis, [0.0, 0.0, 2.0, -2.0, 0.0, 0.0])
    assert peak.bends
    assert peak.peaks
    (dip,) = effects_of(basis, [0.0, 0.0, -2.0, 2.0, 0.0, 0.0])
    assert dip.bends
    assert not dip.peaks


def test_products_of_two_features_are_effects_of_their_own():
    basis = Basis.products(np.array([False, False]), np.zeros(2))
    # Columns: x0, x1, x0 squared, x0 x1, x1 squared.
    square, product = effects_of(basis, [0.0, 0.0, 3.0, -1.0, 0.0])
    assert square.features == ("x0",)
    assert square.bends
    assert not square.peaks
    assert product.features == ("x0", "x1")
    assert product.rise == [-1.0]
    assert product.name(9) == "x0 x x1"


def test_names_are_shortened_in_the_middle():
    assert shortened("proline", 12) == "proline"
    assert shortened("od280/od315_of_diluted_wines", 12) == "od280/od…nes"
    assert shortened("two\nlines", 12) == "two lines"
