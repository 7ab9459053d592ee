"""Constraints hold in predictions, whatever else a flock is asked to do."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import covey
from covey import FlockClassifier, FlockRegressor
from covey.inspection import monotone_certificate

NUMBERS = {"bmi": -1, "s3": 1, "s1": 1, "bp": 1}
CLASSES = {"mean radius": 1, "mean texture": 1, "mean symmetry": -1}

OTHERS = (
    {"averaged": True},
    {"max_terms": 12},
    {"loss": "huber"},
    {"feature_groups": [["bmi", "bp"]], "always_keep": ["s1"]},
)


def numbers():
    return load_diabetes(return_X_y=True, as_frame=True)


def classes():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:300, :10], y[:300]


def answers(flock, X):
    return flock.predict_proba(X)[:, 1] if hasattr(flock, "classes_") else flock.predict(X)


def worst_move(flock, X, column, sign, n_rows=40):
    """Return the largest move against a sign on a grid, far beyond the training rows."""
    X = X.reset_index(drop=True)
    low, high = X[column].min(), X[column].max()
    grid = np.linspace(low - 2 * (high - low), high + 2 * (high - low), 101)
    rows = X.iloc[np.linspace(0, len(X) - 1, n_rows).astype(int)]
    tried = rows.loc[rows.index.repeat(len(grid))].reset_index(drop=True)
    tried[column] = np.tile(grid, len(rows))
    curves = sign * answers(flock, tried).reshape(len(rows), len(grid))
    return float((np.maximum.accumulate(curves, axis=1) - curves).max())


def assert_kept(flock, X, signs):
    scale = 1.0 if hasattr(flock, "classes_") else float(np.ptp(flock.y_range_))
    for column, sign in signs.items():
        assert worst_move(flock, X, column, sign) <= 1e-12 * scale
        assert monotone_certificate(flock, column, sign).holds


# -- monotone -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {"effort": "fast"},
        {},
        {"max_features": 3, "max_members": 3},
        *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS),
    ],
    ids=str,
)
def test_a_number_never_moves_the_wrong_way(how):
    X, y = numbers()
    flock = FlockRegressor(**how, monotone=NUMBERS, random_state=0).fit(X, y)
    assert_kept(flock, X, NUMBERS)
    free = FlockRegressor(**how, random_state=0).fit(X, y)
    assert any(worst_move(free, X, *one) > 0.1 for one in NUMBERS.items())


@pytest.mark.parametrize(
    "how",
    [
        {"effort": "fast"},
        {},
        {"averaged": True},
        {"max_features": 3},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_a_probability_never_moves_the_wrong_way(how):
    X, y = classes()
    flock = FlockClassifier(**how, monotone=CLASSES, random_state=0).fit(X, y)
    assert_kept(flock, X, CLASSES)


@pytest.mark.parametrize("kind", [FlockClassifier, FlockRegressor])
def test_gates_and_products_do_not_see_a_column_that_rises(kind):
    X, y = classes()
    y = y if kind is FlockClassifier else X["mean area"] * X["mean texture"]
    flock = kind(effort="fast", monotone={"mean radius": -1, "mean area": -1}, random_state=0)
    flock.fit(X, y)
    assert flock.model_.n_members > 1
    assert flock.gate_support_.any()
    assert not flock.gate_support_[:, [0, 3]].any()
    assert not any(0 in pair or 3 in pair for pair in flock.model_.pairs)


def test_where_every_column_has_a_sign_there_is_one_member_without_a_gate():
    X, y = classes()
    signs = dict.fromkeys(X.columns, -1)
    flock = FlockClassifier(effort="fast", monotone=signs, random_state=0).fit(X, y)
    assert flock.model_.sizes.tolist() == [1]
    assert_kept(flock, X, dict(list(signs.items())[:3]))


def test_a_column_with_gaps_is_monotone_among_its_numbers():
    X, y = numbers()
    X = X.copy()
    X.loc[::4, "bmi"] = np.nan
    flock = FlockRegressor(monotone={"bmi": 1}, random_state=0).fit(X, y)
    assert_kept(flock, X, {"bmi": 1})


@pytest.mark.slow
def test_constraints_hold_on_a_long_table_that_is_searched_on_rungs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((7_000, 5)), columns=list("abcde"))
    y = np.sin(3 * X.a) - X.b**2 + X.c * X.d + rng.standard_normal(7_000)
    signs = {"a": 1, "b": -1, "c": 1}
    assert_kept(FlockRegressor(monotone=signs, random_state=0).fit(X, y), X, signs)
    flock = FlockClassifier(monotone=signs, random_state=0).fit(X, y > 0)
    assert_kept(flock, X, signs)


@pytest.mark.slow
def test_effort_best_keeps_constraints_with_linear_members():
    X, y = classes()
    flock = FlockClassifier(effort="best", monotone=CLASSES, random_state=0).fit(X, y)
    assert_kept(flock, X, CLASSES)


def test_one_bounded_member_is_scipys():
    X, y = classes()
    signs, alpha = {"mean radius": 1, "mean texture": 1, "mean area": -1}, 0.01
    how = {"effort": "fast", "n_estimators": 1, "alpha": alpha, "random_state": 0}
    flock = FlockClassifier(**how, monotone=signs).fit(X, y)
    basis, mean, scale = flock.model_.scaled_basis
    columns = (basis.rows(X.to_numpy()) - mean) / scale
    true = np.where(y == flock.classes_[1], 1.0, -1.0)

    def objective(x):
        # The contrast of two classes is their difference over the root of two.
        margin = np.sqrt(2) * true * (columns @ x[1:] + x[0])
        slope = -np.sqrt(2) * true * expit(-margin) / len(true)
        value = np.logaddexp(0, -margin).mean() + alpha / 2 * x[1:] @ x[1:]
        return value, np.concatenate([[slope.sum()], columns.T @ slope + alpha * x[1:]])

    of_columns = np.array([signs.get(name, 0) for name in X.columns])[basis.feature]
    allowed = {0: (None, None), 1: (0, None), -1: (None, 0)}
    bounds = [(None, None), *(allowed[int(sign)] for sign in of_columns)]
    start, how = np.zeros(1 + len(of_columns)), {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=how)
    (first, second), (low, high) = flock.model_.coef[0], flock.model_.intercept[0]
    found = np.append((high - low) + (second - first) @ mean, (second - first) * scale)
    found /= np.sqrt(2)
    assert (best.x[1:][of_columns != 0] == 0).any()
    assert objective(found)[0] <= best.fun + 1e-5
    np.testing.assert_allclose(
        flock.predict_proba(X)[:, 1],
        expit(np.sqrt(2) * (columns @ best.x[1:] + best.x[0])),
        atol=0.01,
    )


# -- what may meet --------------------------------------------------------------------------------


def crossed(flock, X, one, other, link):
    """Return f(a, b) - f(a, b0) - f(a0, b) + f(a0, b0), which is 0 of an additive f."""
    first = X.iloc[: len(X) // 2].reset_index(drop=True)
    second = X.iloc[len(X) // 2 :][: len(first)].reset_index(drop=True)
    found = np.zeros(len(first))
    for from_first in (True, False):
        for other_first in (True, False):
            rows = first.copy()
            rows[one] = (first if from_first else second)[one]
            rows[other] = (first if other_first else second)[other]
            found += (1 if from_first == other_first else -1) * link(answers(flock, rows))
    return np.abs(found)


@pytest.mark.parametrize("how", [{"effort": "fast"}, {}, {"max_terms": 20}], ids=str)
def test_without_interactions_log_odds_are_a_sum_of_effects(how):
    X, y = numbers()
    flock = FlockClassifier(**how, interactions="none", random_state=0).fit(X, y > 150)
    assert flock.model_.is_additive
    assert flock.model_.has_no_gate
    for pair in [("bmi", "s5"), ("bp", "s3")]:
        assert crossed(flock, X, *pair, logit).max() < 1e-9
    free = FlockClassifier(effort="fast", random_state=0).fit(X, y > 150)
    assert not free.model_.is_additive
    assert crossed(free, X, "bmi", "s5", logit).max() > 1e-3


@pytest.mark.parametrize("how", [{"effort": "fast"}, {}], ids=str)
def test_without_interactions_numbers_are_a_sum_of_effects(how):
    X, y = numbers()
    flock = FlockRegressor(**how, interactions="none", random_state=0).fit(X, y)
    assert flock.model_.is_additive
    assert "additive: no two columns meet" in flock.summary()
    assert crossed(flock, X, "bmi", "s5", lambda one: one).max() < 1e-9
    free = FlockRegressor(random_state=0).fit(X, y)
    assert not free.model_.is_additive
    assert crossed(free, X, "bmi", "s5", lambda one: one).max() > 1e-3


def test_only_named_pairs_meet():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (400, 4)), columns=list("abcd"))
    X["kind"] = np.where(rng.random(400) < 0.5, "left", "right")
    y = 3 * X.a * X.b + 2 * X.c * X.d + 3 * X.a * (X.kind == "left") + X.c
    pairs = [("b", "a"), ("a", "kind")]
    flock = FlockRegressor(interactions=pairs, alpha=1e-3, random_state=0).fit(X, y)
    assert flock.model_.pairs == [(0, 1), (0, 4)]
    assert not flock.model_.is_additive
    assert flock.model_.has_no_gate
    assert "only a x b and a x kind meet" in flock.summary()

    def itself(one):
        return one

    assert crossed(flock, X, "a", "b", itself).max() > 0.5
    assert crossed(flock, X, "a", "kind", itself).max() > 0.5
    assert crossed(flock, X, "c", "d", itself).max() < 1e-9
    assert crossed(flock, X, "b", "kind", itself).max() < 1e-9
    additive = FlockRegressor(interactions="none", random_state=0).fit(X, y)
    assert flock.score(X, y) > additive.score(X, y) + 0.2


def test_three_classes_can_be_additive():
    X, y = load_iris(return_X_y=True, as_frame=True)
    flock = FlockClassifier(interactions="none", random_state=0).fit(X, y)
    assert flock.model_.is_additive


def test_a_mean_of_probabilities_is_not_called_additive():
    X, y = classes()
    model = FlockClassifier(interactions="none", random_state=0).fit(X, y).model_
    two = {
        name: np.repeat(getattr(model, name), 2, axis=0)
        for name in ("coef", "intercept", "gate_coef", "gate_intercept", "sizes", "shares")
    }
    both = dataclasses.replace(model, **two, group_weights=np.full(2, 0.5), pools=["linear"] * 2)
    assert not both.is_additive


# -- beside the rest ------------------------------------------------------------------------------


def test_constraints_are_kept_in_files(tmp_path):
    X, y = numbers()
    how = {"monotone": {"bmi": 1, 5: -1}, "interactions": [("s1", "age")]}
    flock = FlockRegressor(effort="fast", **how, random_state=0).fit(X, y)
    covey.save(flock, tmp_path / "flock.covey")
    again = covey.load(tmp_path / "flock.covey")
    assert again.summary() == flock.summary()
    assert (
        "y never falls with bmi and never rises with s2, whatever the others are"
        in again.summary()
    )
    assert dict(again.monotone) == how["monotone"]
    assert clone(flock).interactions == how["interactions"]


@pytest.mark.slow
def test_a_fit_with_a_checkpoint_is_the_same(tmp_path):
    X, y = classes()
    plain = FlockClassifier(monotone=CLASSES, random_state=0).fit(X, y)
    kept = FlockClassifier(monotone=CLASSES, random_state=0, checkpoint=tmp_path / "x").fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), kept.predict_proba(X))
    again = FlockClassifier(monotone={}, random_state=0, checkpoint=tmp_path / "y").fit(X, y)
    assert not again.summary().count("whatever")


def test_constraints_hold_for_dask_collections():
    dd = pytest.importorskip("dask.dataframe")
    X, y = numbers()
    table = dd.from_pandas(X, npartitions=2), dd.from_pandas(y, npartitions=2)
    flock = FlockRegressor(effort="fast", monotone=NUMBERS, random_state=0).fit(*table)
    assert_kept(flock, X, NUMBERS)


def test_the_summary_tells_what_the_model_keeps_and_not_what_was_asked():
    X, y = numbers()
    flock = FlockRegressor(monotone={"bmi": 1}, random_state=0).fit(X, y)
    assert "y never falls with bmi, whatever the others are" in flock.summary()
    coef = flock.model_.coef.copy()
    coef[:, :, flock.basis_.feature == 2] *= -1
    flock.model_ = dataclasses.replace(flock.model_, coef=coef)
    assert "y never falls with bmi" not in flock.summary()
    assert "sometimes falls with bmi: by" in flock.summary()


def test_a_column_that_looks_like_an_id_is_used_if_it_is_to_rise():
    X, y = numbers()
    X = X.assign(patient_id=np.arange(len(X)))
    flock = FlockRegressor(effort="fast", monotone={"patient_id": 1}, random_state=0).fit(X, y)
    assert monotone_certificate(flock, "patient_id", 1).holds


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"monotone": {"foo": 1}}, "monotone names the column 'foo'"),
        ({"monotone": {99: 1}}, "monotone names the column 99"),
        ({"monotone": {"bmi": 2}}, "monotone has 2 for the column 'bmi'"),
        ({"monotone": {"bmi": True}}, "monotone has True"),
        ({"monotone": {"bmi": np.nan}}, "monotone has nan"),
        ({"monotone": {"bmi": 1, 2: -1}}, "column 'bmi', which is named twice"),
        ({"monotone": {"word": 1}}, "'word', which is not read as numbers"),
        ({"monotone": {"when": 1}}, "'when', which is not read as numbers"),
        ({"monotone": {"bmi": 1}, "members": "mixed"}, "monotone=.*linear members"),
        ({"monotone": {"bmi": 1}, "interactions": [("bmi", "s1")]}, "meets no column of monotone"),
        ({"interactions": "few"}, "interactions must be"),
        ({"interactions": None}, "interactions must be"),
        ({"interactions": [("bmi",)]}, "interactions must be"),
        ({"interactions": [("bmi", "foo")]}, "interactions names the column 'foo'"),
        ({"interactions": [("bmi", 2)]}, "nor itself"),
        ({"interactions": [("bmi", "s1")], "feature_groups": [["bmi", "s1"]]}, "feature_groups"),
        ({"interactions": "none", "averaged": True}, "averaged=True is not"),
        ({"interactions": "none", "members": "mixed"}, "interactions='none'.*linear members"),
    ],
    ids=str,
)
def test_constraints_that_cannot_be_kept_are_refused(how, said):
    X, y = numbers()
    X = X.assign(word=np.where(X.s1 > 0, "high", "low"), when=pd.date_range("2020", periods=442))
    with pytest.raises(ValueError, match=said):
        FlockRegressor(effort="fast", **how).fit(X, y)


def test_three_classes_cannot_rise():
    with pytest.raises(ValueError, match="y holds 3"):
        FlockClassifier(monotone={0: 1}).fit(*load_iris(return_X_y=True))


def test_monotone_must_map_columns():
    with pytest.raises(TypeError, match="monotone must map columns"):
        FlockRegressor(monotone=["bmi"]).fit(*numbers())


@pytest.mark.parametrize("scale", [1.0, 1e200])
def test_where_only_a_constant_keeps_the_constraint_the_flock_is_one(scale):
    x = np.random.default_rng(0).standard_normal((80, 1))
    flock = FlockRegressor(monotone={0: 1}, random_state=0).fit(x * scale, -x[:, 0])
    assert monotone_certificate(flock, 0, 1).holds
    assert np.ptp(flock.predict(x * scale)) == 0
