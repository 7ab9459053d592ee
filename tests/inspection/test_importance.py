"""What a model loses where it does not know a column."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from covey import FlockClassifier, FlockRegressor, FusionClassifier, FusionRegressor, load, save
from covey._core.inspection.importance import (
    AlikeRows,
    GatedAnswers,
    PlainAnswers,
    replaced_in,
)
from covey._core.random import Purpose, UniformRows
from covey.inspection import column_importance
from covey.inspection._importance import Importance
from covey.members._importance import HeldOutSample


def literal_importance(predict, X, y, seed=0, n_draws=4):
    """The loss of squares without each column, one row and one regression at a time."""
    n, D = X.shape
    Z = rankdata(X, axis=0)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    penalty = n * max(0.01, D / n)
    ties = UniformRows(seed, Purpose.EXPLAIN, 1, 0, 1).read(0, n)[:, 0]
    found = []
    for column in range(D):
        rest = np.delete(Z, column, axis=1)
        coef = np.linalg.solve(rest.T @ rest + penalty * np.eye(D - 1), rest.T @ Z[:, column])
        order = sorted(range(n), key=lambda row: (round(rest[row] @ coef, 9), ties[row]))
        losses = []
        for row in range(n):
            place = order.index(row)
            first = min(max(place - n_draws // 2, 0), n - 1 - n_draws)
            window = [order[first + step] for step in range(n_draws + 1)]
            others = [donor for donor in window if donor != row][:n_draws]
            said = []
            for donor in others:
                changed = X[row].copy()
                changed[column] = X[donor, column]
                said.append(predict(changed[None])[0])
            before = (y[row] - predict(X[row][None])[0]) ** 2
            losses.append(((y[row] - np.mean(said)) ** 2 - before) / y.var())
        found.append(np.mean(losses))
    return np.array(found)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] += X[:, 0]
    X[:, 2] = X[:, 2].round()
    y = X @ [2.0, 1.0, 1.0, 0.0] + rng.normal(size=60)
    return X, y


def test_it_is_what_the_definition_says_row_by_row(numbers):
    X, y = numbers
    model = LinearRegression().fit(X, y)
    found = column_importance(model, X, y)
    assert_allclose(found.loss, literal_importance(model.predict, X, y), atol=1e-12)
    assert_array_equal(found.points, found.loss)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("numeric", [False, True])
def test_only_columns_that_change_are_computed_anew_and_nothing_else_changes(effort, numeric):
    load_data, Flock = load_breast_cancer, FlockClassifier
    if numeric:
        load_data, Flock = load_diabetes, FlockRegressor
    X, y = load_data(return_X_y=True)
    X = np.ascontiguousarray(X[:200, :6])
    flock = Flock(effort=effort, random_state=0).fit(X, y[:200])
    unit, rows = np.array([0, 1, 1, 2, 3, 4]), np.arange(0, 200, 3)
    fast = GatedAnswers(
        flock.fuser_.groups,
        flock.member_coef_,
        flock.member_intercept_,
        X,
        unit,
        rows,
        is_value=numeric,
    )
    slow = PlainAnswers(flock._answers, replaced_in(X, unit), rows)
    assert_allclose(fast.known(), slow.known(), atol=1e-9)
    alike = AlikeRows(X, unit, 0)
    for units in ([0], [1], [0, 3], [4]):
        units = np.array(units)
        donors = alike.donors(units)[:, rows]
        assert (donors != rows).all()
        moved = fast.without(units, donors)
        assert_allclose(moved, slow.without(units, donors), rtol=1e-9, atol=1e-9)
    assert np.abs(moved - fast.known()).max() > 0


def test_it_is_about_what_a_fit_without_the_column_loses():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 4))
    X[:, 1] = 0.9 * X[:, 0] + np.sqrt(1 - 0.81) * X[:, 1]
    y = X @ [1.0, 0.5, 0.5, 0.0] + rng.normal(size=4000)
    fitted, held_out = slice(2000), slice(2000, None)
    model = LinearRegression().fit(X[fitted], y[fitted])
    found = column_importance(model, X[held_out], y[held_out])
    spread = y[held_out].var()
    before = np.mean((y[held_out] - model.predict(X[held_out])) ** 2)
    for column in range(4):
        rest = np.delete(X, column, axis=1)
        refitted = LinearRegression().fit(rest[fitted], y[fitted])
        after = np.mean((y[held_out] - refitted.predict(rest[held_out])) ** 2)
        rise = (after - before) / spread
        # With a quarter of the variance of four draws more.
        assert found.loss[column] == pytest.approx(1.25 * rise, rel=0.2, abs=0.002)


@pytest.mark.slow
def test_the_interval_of_noise_covers_zero_nearly_always():
    covered = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3))
        y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
        flock = FlockClassifier(random_state=seed).fit(X, y)
        found = flock.importance_
        assert found.order[0] == 0
        assert found.low[0] > 0
        covered += (found.low[1:] <= 0).tolist()
    assert np.mean(covered) >= 0.9


def test_pieces_that_cancel_do_not_count(numbers):
    X, y = numbers
    up, down = LinearRegression().fit(X, y), LinearRegression().fit(X, y)
    up.coef_ = np.array([1.0, 0.0, 0.0, 50.0])
    down.coef_ = np.array([1.0, 0.0, 0.0, -50.0])
    flock = FusionRegressor([up, down], prefit=True).fit(X, y)
    assert_allclose(flock.importance_.share, [1, 0, 0, 0], atol=1e-12)
    assert "training rows" in flock.importance_.rows


def test_columns_that_stand_in_for_each_other_are_said_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[:, 2] = X[:, 0]
    y = (2 * X[:, 0] + X[:, 1] + rng.normal(size=500) > 0).astype(int)
    found = FlockClassifier(random_state=0).fit(X, y).importance_
    assert found.together == [[0, 2]]
    assert found.loss[0] == pytest.approx(found.loss[2], rel=0.2)
    assert set(found.order[:3]) == {0, 1, 2}
    one = FlockClassifier(random_state=0).fit(X[:, [0, 1, 3]], y).importance_
    both = found.share[[0, 2]].sum()
    assert one.together == []
    assert both == pytest.approx(one.share[0], abs=0.1)


def test_columns_that_are_alike_but_not_needed_are_not_said_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 1] + 0.01 * rng.normal(size=300)
    model = LinearRegression().fit(X, X[:, 0])
    model.coef_ = np.array([1.0, 0.0, 0.0])
    found = column_importance(model, X, X[:, 0])
    assert found.together == []
    assert_array_equal(found.loss[1:], 0)


def test_shares_sum_to_one_or_are_zero():
    columns, zero = ("a", "b", "c"), np.zeros(3)
    found = Importance(
        columns, np.array([0.3, -0.1, 0.1]), zero, zero, zero, np.full(3, -1), "3 rows"
    )
    assert_allclose(found.share, [0.75, 0, 0.25])
    assert_array_equal(found.order, [0, 2, 1])
    nothing = Importance(columns, zero - 1, zero, zero, zero, np.full(3, -1), "3 rows")
    assert_array_equal(nothing.share, 0)


@pytest.fixture(scope="module")
def mixed_table():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 300)
    age = rng.integers(1, 80, 300).astype(float)
    y = np.where((sex == "f") ^ (rng.random(300) < 0.15), "yes", "no")
    age[::7] = np.nan
    cabin = pd.Categorical(rng.choice([f"c{n}" for n in range(60)], 300))
    return pd.DataFrame({"age": age, "sex": pd.Categorical(sex), "cabin": cabin}), y


MODELS = {
    "flock": FlockClassifier(random_state=0),
    "fast flock": FlockClassifier(effort="fast", random_state=0),
    "flock of two kinds": FlockClassifier(
        members=["linear", ("few trees", HistGradientBoostingClassifier(max_iter=5))],
        effort="fast",
        n_estimators=2,
        random_state=0,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_strong_column_of_two_values_is_first_and_a_file_keeps_it(name, mixed_table, tmp_path):
    X, y = mixed_table
    flock = MODELS[name].fit(X, y)
    found = flock.importance_
    assert found.columns == ("age", "sex", "cabin")
    assert found.columns[found.order[0]] == "sex"
    assert found.share[1] > 0.8
    assert (found.low <= found.loss).all()
    # To the half that is right by chance.
    assert found.points[1] == pytest.approx(0.39, abs=0.12)
    assert_array_equal(flock.feature_importances_, found.share)
    again = MODELS[name].fit(X, y).importance_
    save(flock, tmp_path / "flock.covey")
    for other in (again, load(tmp_path / "flock.covey").importance_):
        for part in ("loss", "low", "high", "points"):
            assert_array_equal(getattr(other, part), getattr(found, part))
        assert (other.columns, other.together, other.rows) == (
            found.columns,
            found.together,
            found.rows,
        )


def test_it_is_measured_when_it_is_read_and_copies_hold_what_was_measured(mixed_table):
    X, y = mixed_table
    flock = FlockClassifier(random_state=0).fit(X, y)
    assert isinstance(flock._importance_of_columns, HeldOutSample)
    copied = pickle.loads(pickle.dumps(flock))
    assert isinstance(copied._importance_of_columns, Importance)
    assert_array_equal(copied.importance_.loss, flock.importance_.loss)
    trees = [("few trees", HistGradientBoostingClassifier(max_iter=5))]
    flock = FlockClassifier(members=trees, effort="fast", random_state=0).fit(X, y)
    assert isinstance(flock._importance_of_columns, Importance)


def test_the_record_says_on_which_rows_it_stands(mixed_table):
    X, y = mixed_table
    assert MODELS["fast flock"].fit(X, y).importance_.rows == (
        "300 training rows, from which the model has learnt"
    )
    groups = np.repeat(np.arange(30), 10)
    flock = FlockClassifier(random_state=0, cv=3).fit(X, y, groups=groups)
    assert flock.importance_.rows == (
        "300 training rows, predicted by flocks that were fitted without them (3 folds, by whole "
        "groups)"
    )


def test_any_model_of_any_table_has_one(mixed_table):
    X, y = mixed_table
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    found = column_importance(model.fit(X[::2], y[::2]), X[1::2], y[1::2])
    assert found.columns[found.order[0]] == "sex"
    assert found.rows == "150 rows that were given"
    numbers = np.nan_to_num(X[["age"]].to_numpy())
    thin = sparse.csr_array(np.hstack([numbers, (X[["sex"]] == "f").to_numpy(float)]))
    flock = FlockClassifier(random_state=0).fit(thin, y)
    assert flock.importance_.order[0] == 1
    fused = FusionClassifier([GaussianNB(), LogisticRegression()]).fit(thin.toarray(), y)
    assert fused.importance_.order[0] == 1


def test_rows_of_a_group_count_as_one_in_the_interval(numbers):
    X, y = numbers
    model = LinearRegression().fit(X, y)
    alone = column_importance(model, X, y)
    same = column_importance(model, X, y, groups=np.arange(60))
    assert_allclose(same.high, alone.high)
    halves = column_importance(model, X, y, groups=np.arange(60) // 30)
    assert_allclose(halves.loss, alone.loss)
    assert not np.allclose(halves.high, alone.high)


def test_what_cannot_be_measured_is_one_sentence(numbers):
    X, y = numbers
    labels = np.where(y > 0, "up", "down")
    model = LogisticRegression().fit(X, labels)
    with pytest.raises(ValueError, match="y holds the label 'left', which is none"):
        column_importance(model, X, np.where(y > 1, "left", labels))


def test_columns_that_tell_each_other_are_measured_as_the_one_column_that_they_are_made_of():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 3, 400)
    y = np.where(rng.random(400) < np.array([0.1, 0.5, 0.9])[town], "yes", "no")
    noise = rng.normal(size=400)
    table = pd.DataFrame({"town": pd.Categorical.from_codes(town, list("abc")), "z": noise})
    whole = FlockClassifier(random_state=0).fit(table, y).importance_
    X = np.column_stack([town == 0, town == 1, town == 2, noise])
    parts = FlockClassifier(feature_groups=[[0, 1, 2]], random_state=0).fit(X, y).importance_
    assert_allclose(parts.loss[:3], parts.loss[0])
    assert parts.loss[:3].sum() == pytest.approx(whole.loss[0], rel=0.1)
    added = parts.on_columns(["town", "z"], np.array([0, 0, 0, 1]))
    assert added.low[0] == pytest.approx(whole.low[0], rel=0.2)
    assert added.order[0] == 0


@pytest.mark.parametrize("n_members", [1, 3])
def test_numbers_of_one_member_lose_what_its_columns_tell(n_members):
    X, y = load_diabetes(return_X_y=True)
    flock = FlockRegressor(max_members=n_members, random_state=0).fit(X[:, 2:4], y)
    assert (flock.importance_.low > 0).all()
    assert flock.importance_.order[0] == 0
