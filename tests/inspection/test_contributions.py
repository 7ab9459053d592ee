"""Contributions of the user's columns add up to the prediction, for every fusion and member."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey import (
    CodeBookClassifier,
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
    MultiviewClassifier,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    members_of,
)
from covey.fusers._base import FUSERS
from covey.inspection import contributions, reasons, row_card
from covey.tables import TablePreparation

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
CLASS_RULES = sorted(name for name, make in FUSERS.items() if not make().needs_y)


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def assert_adds_up(model, X, **how):
    found = contributions(model, X, **how)
    total = found.baseline + found.values.sum(axis=1)
    size = max(1.0, float(np.abs(found.prediction).max()))
    assert_allclose(total, found.prediction, atol=1e-9 * size)
    assert_allclose(found.prediction, answers(model, X), atol=1e-9 * size)
    assert found.values.shape == found.standard_error.shape
    assert found.values.shape[1] == len(found.columns) == len(found.typical)
    return found


@pytest.fixture(scope="module")
def patients():
    """Numbers with gaps, categories, dates with a zone, yes and no, prose, and a target."""
    rng = np.random.default_rng(0)
    n = 240
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n),
            "seen": pd.Timestamp("2020-01-01", tz="Europe/Rome")
            + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "born": (
                pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
            ).strftime("%Y-%m-%d"),
            "note": [" ".join(words) for words in rng.choice(WORDS, (n, 4))],
            "weight": rng.normal(70, 10, n),
            "smokes": rng.random(n) < 0.3,
        }
    )
    table.loc[::7, "weight"] = np.nan
    table.loc[::11, "town"] = None
    ill = (table["age"] > 50) ^ (table["town"] == "Rome")
    return table, np.where(ill, "yes", "no"), table["age"] + 5.0 * ill


WORDS = ["good", "bad", "fine", "slow", "quick"]


@pytest.fixture(scope="module")
def table_model(patients):
    table, ill, _ = patients
    flock = FlockClassifier(effort="fast", random_state=0)
    return flock.fit(table, ill)


# -- they add up ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", CLASS_RULES)
def test_contributions_add_up_for_every_fusion_rule(rule):
    members = [LogisticRegression(max_iter=300), GaussianNB(), DecisionTreeClassifier(max_depth=2)]
    model = FusionClassifier(members, rule, cv=2).fit(X_IRIS[::2], Y_IRIS[::2])
    assert_adds_up(model, X_IRIS[1::30])


@pytest.mark.parametrize("rule", ["mean", "median", "linear_stacking", "stacking", "gate", "ola"])
def test_contributions_add_up_for_fusion_rules_of_numbers(rule):
    members = [Ridge(0.1), KNeighborsRegressor(15), DecisionTreeRegressor(max_depth=3)]
    model = FusionRegressor(members, rule, cv=2).fit(X_VALUES, Y_VALUES)
    assert_adds_up(model, X_VALUES[:3])


@pytest.mark.parametrize(
    "model",
    [
        FlockClassifier(effort="fast", random_state=0),
        FlockClassifier(members=["linear", "extra_trees"], effort="fast", random_state=0),
        SubsetEnsembleClassifier(3, max_iter=20, random_state=0),
        SubsetEnsembleClassifier(3, fuser="gate", max_iter=20, random_state=0),
        MultiviewClassifier({"sepal": slice(0, 2), "petal": slice(2, 4)}),
        GeneralStackingClassifier([GaussianNB(), DecisionTreeClassifier(max_depth=2)], cv=2),
        CodeBookClassifier(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_contributions_add_up_for_every_kind_of_ensemble_of_classes(model):
    model.fit(X_IRIS, Y_IRIS)
    found = assert_adds_up(model, X_IRIS[::30])
    assert_allclose(found.values.sum(axis=2), 0.0, atol=1e-9)
    assert_allclose(model.contributions(X_IRIS[::30]).values, found.values)


@pytest.mark.parametrize(
    "model",
    [
        FlockRegressor(effort="fast", random_state=0),
        FlockRegressor(members=["linear", "boosting"], effort="fast", random_state=0),
        SubsetEnsembleRegressor(3, max_iter=20, random_state=0),
        GeneralStackingRegressor([Ridge(), DecisionTreeRegressor(max_depth=2)], cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_contributions_add_up_for_every_kind_of_ensemble_of_numbers(model):
    model.fit(X_VALUES[::2], Y_VALUES[::2])
    assert_adds_up(model, X_VALUES[1:4])


def test_members_of_a_forest_that_are_fused_know_what_is_typical():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    fused = FusionClassifier(members_of(forest), prefit=True).fit(X, y)
    assert_adds_up(fused, X[:1])


def test_columns_of_all_kinds_are_the_users_own(patients, table_model):
    table, _, _ = patients
    found = assert_adds_up(table_model, table[:10])
    assert found.columns == table_model.feature_names_in_.tolist()
    assert found.typical["town"] in ("Rome", "Oslo", "Bath")
    assert found.typical["note"] is None
    assert found.typical["born"] in set(table["born"])
    assert found.typical["smokes"] == "False"
    # A typical value counts where other rows have another one; of prose no row is kept.
    same = table.assign(town=found.typical["town"], note=None)[:10]
    again = assert_adds_up(table_model, same)
    assert np.abs(again.values[:, again.columns.index("town")]).max() > 0.05
    assert_array_equal(again.values[:, again.columns.index("note")], 0.0)


def test_any_estimator_of_a_table_is_explained(patients):
    table, ill, _ = patients
    model = make_pipeline(TablePreparation(), RandomForestClassifier(5, random_state=0)).fit(
        table, ill
    )
    found = contributions(model, table[:3], background=table)
    assert_allclose(
        found.baseline + found.values.sum(axis=1), model.predict_proba(table[:3]), atol=1e-9
    )


def test_a_flock_with_gaps_and_categories_is_explained_by_its_features(patients):
    table, ill, _ = patients
    X = table[["age", "town", "weight", "smokes"]].assign(
        town=table["town"].astype("category"), smokes=table["smokes"].astype(float)
    )
    flock = FlockClassifier(effort="fast", random_state=0).fit(X, ill)
    found = assert_adds_up(flock, X[:5])
    assert found.columns == list(X.columns)
    assert found.typical["town"] in ("Rome", "Oslo", "Bath")


def test_models_of_others_are_explained_given_a_background(patients):
    table, ill, _ = patients
    X = table[["town", "smokes"]].fillna("none")
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X, ill)
    assert_adds_up(model, X[:4], background=X)
    with pytest.raises(ValueError, match="background="):
        contributions(model, X[:4])
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        contributions(LinearSVC().fit(X_IRIS, Y_IRIS), X_IRIS[:1], background=X_IRIS)
    forest = RandomForestRegressor(3, random_state=0).fit(X_VALUES, Y_VALUES)
    assert_adds_up(forest, X_VALUES[:2], background=X_VALUES)


def test_sparse_rows_are_explained_like_dense_ones():
    X = np.where(X_IRIS > 2, X_IRIS, 0.0)
    flock = SubsetEnsembleClassifier(2, max_iter=20, random_state=0).fit(
        sparse.csr_array(X), Y_IRIS
    )
    found = assert_adds_up(flock, sparse.csr_array(X[::40]))
    assert_allclose(flock.contributions(X[::40]).values, found.values, atol=1e-12)


# -- and are what they should be ------------------------------------------------------------------


@settings(max_examples=8)
@given(seed=st.integers(0, 100))
def test_a_linear_regression_contributes_slope_times_distance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 13))
    model = Ridge().fit(X, X @ rng.normal(size=13))
    found = contributions(model, X[:3], background=X[:16])
    assert set(list(found.typical.values())[:1]) <= set(X[:, 0])
    assert_allclose(found.values, model.coef_ * (X[:3] - X[:16].mean(axis=0)), atol=1e-9)


def test_one_member_alone_of_a_regression_contributes_its_columns():
    flock = SubsetEnsembleRegressor(1, max_iter=30, random_state=0).fit(X_VALUES, Y_VALUES)
    found = flock.contributions(X_VALUES[:3], background=X_VALUES[5:12])
    distance = X_VALUES[:3] - X_VALUES[5:12].mean(axis=0)
    assert_allclose(found.values, flock.member_coef_[0, 0] * distance, atol=1e-8)


def test_a_mean_of_models_contributes_the_mean_of_their_contributions():
    members = [LogisticRegression(max_iter=300), GaussianNB()]
    model = FusionClassifier(members, "mean").fit(X_IRIS, Y_IRIS)
    others = X_IRIS[::10]
    each = [
        contributions(member, X_IRIS[::40], background=others).values
        for member in model.estimators_
    ]
    found = model.contributions(X_IRIS[::40], background=others)
    assert_allclose(found.values, np.mean(each, axis=0), atol=1e-12)


def test_the_baseline_is_about_the_mean_prediction_of_the_training_rows(patients, table_model):
    table, _, _ = patients
    found = table_model.contributions(table[:1])
    wanted = table_model.predict_proba(table).mean(axis=0)
    assert_allclose(found.baseline, wanted, atol=0.05)
    X, y = load_breast_cancer(return_X_y=True)
    flock = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    found = flock.contributions(X[:1])
    assert_allclose(found.baseline, flock.predict_proba(X).mean(axis=0), atol=0.08)


def test_a_value_that_is_typical_still_counts():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(200) < 0.7, rng.normal(size=200)]).astype(float)
    model = Ridge(1e-6).fit(X, 10.0 * X[:, 0] + X[:, 1])
    (record,) = reasons(model, X[X[:, 0] == 1][:1], background=X)
    (one,) = (one for one in record["because"] + record["against"] if one["column"] == "x0")
    assert one["value"] == one["typical"] == 1
    assert one["push"] == pytest.approx(3.0, abs=0.8)


def test_columns_that_no_member_uses_contribute_nothing_at_all():
    rng = np.random.default_rng(0)
    X = np.column_stack([X_IRIS, rng.normal(size=(150, 30))])
    flock = FlockClassifier(max_features=2, n_estimators=1, effort="fast", random_state=0)
    flock.fit(X, Y_IRIS)
    unused = ~(flock.support_.any(axis=0) | flock.gate_support_.any(axis=0))
    assert unused.any()
    found = assert_adds_up(flock, X[:5])
    assert_array_equal(found.values[:, unused], 0.0)


def test_rows_in_another_order_and_alone_are_explained_alike(patients, table_model):
    table, _, _ = patients
    found = table_model.contributions(table[:6]).values
    assert_allclose(table_model.contributions(table[:6][::-1]).values[::-1], found, atol=1e-12)
    assert_allclose(table_model.contributions(table[3:4]).values[0], found[3], atol=1e-12)


@pytest.mark.parametrize("kind", ["flock", "mixed", "grown", "fusion", "stack", "table"])
def test_saved_and_loaded_models_give_the_same(kind, patients, table_model, tmp_path):
    table, ill, _ = patients
    X = table[["age", "smokes"]].astype(float)
    model, rows = {
        "flock": (FlockClassifier(effort="fast", random_state=0), X),
        "mixed": (
            FlockClassifier(members=["linear", "neighbors"], effort="fast", random_state=0),
            X,
        ),
        "grown": (SubsetEnsembleClassifier(2, max_iter=10, random_state=0), X),
        "fusion": (FusionClassifier([GaussianNB(), KNeighborsClassifier()]), X),
        "stack": (GeneralStackingClassifier([GaussianNB(), KNeighborsClassifier()], cv=2), X),
        "table": (table_model, table),
    }[kind]
    if kind != "table":
        model.fit(rows, ill)
    covey.save(model, tmp_path / "model.covey")
    found, again = (
        one.contributions(rows[:4]) for one in (model, covey.load(tmp_path / "model.covey"))
    )
    assert_array_equal(again.values, found.values)
    assert again.typical == found.typical


def test_a_model_of_an_older_file_asks_for_rows_that_show_what_is_typical():
    flock = SubsetEnsembleClassifier(2, max_iter=10, random_state=0).fit(X_IRIS, Y_IRIS)
    flock.model_ = replace(flock.model_, table=replace(flock.model_.table, seen=None))
    with pytest.raises(ValueError, match="give rows to learn that from as background="):
        flock.explain(X_IRIS[:1])
    assert flock.explain(X_IRIS[:1], background=X_IRIS)[0]["because"]


# -- reasons --------------------------------------------------------------------------------------


def test_reasons_and_the_baseline_sum_to_the_probability(patients, table_model):
    table, _, _ = patients
    for top in (1, 3, None):
        for record in reasons(table_model, table[:20], top=top):
            named = record["because"] + record["against"]
            total = record["baseline"] + record["other"] + sum(one["push"] for one in named)
            assert_allclose(total, record["probability"], atol=1e-12)
            assert all(one["push"] > 0 for one in record["because"])
            assert all(one["push"] < 0 for one in record["against"])
            assert len(record["because"]) <= (top or 99)


def test_reasons_for_a_number_move_it_from_the_baseline_to_the_prediction():
    model = Ridge().fit(X_VALUES, Y_VALUES)
    for record in reasons(model, X_VALUES[:20], background=X_VALUES):
        moved = record["prediction"] - record["baseline"]
        assert all(one["push"] * moved > 0 for one in record["because"])
        assert all(one["push"] * moved < 0 for one in record["against"])


def test_values_are_those_of_the_users_table(patients, table_model):
    table, _, _ = patients
    for row, record in enumerate(reasons(table_model, table[:10], top=None)):
        for one in record["because"] + record["against"]:
            value = table[one["column"]].iloc[row]
            assert (one["value"] is None and pd.isna(value)) or str(one["value"]) == str(value)


def test_flocks_and_tables_explain_in_the_same_shapes(patients, table_model):
    table, ill, _ = patients
    flock = FlockClassifier(effort="fast", random_state=0).fit(table[["age"]], ill)
    (of_flock,), (of_table,) = flock.explain(table[["age"]][:1]), table_model.explain(table[:1])
    assert list(of_flock) == list(of_table)
    assert set(of_flock["because"][0]) == {"column", "value", "typical", "push"}
    assert len(flock.explain(table[["age"]][:1], max_members=1)[0]["members"]) == 1


# -- odd tables -----------------------------------------------------------------------------------


def odd_tables():
    rng = np.random.default_rng(1)
    n = 60
    x = rng.normal(size=n)
    days = [f"{day:02d}.{month:02d}.2020" for day, month in rng.integers(1, (28, 13), (n, 2))]
    flags = pd.DataFrame(
        {
            "a": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "b": pd.array(rng.choice(["q", "r"], n), dtype="string"),
            "c": pd.Categorical(rng.choice(["u", "v"], n)),
            "d": rng.random(n) < 0.5,
        }
    )
    flags.loc[3, ["a", "b"]] = pd.NA
    return {
        "mostly gaps": pd.DataFrame({"x": x, "k": np.where(rng.random(n) < 0.8, np.nan, x)}),
        "huge": pd.DataFrame({"x": x * 1e30, "k": x[::-1]}),
        "odd names": pd.DataFrame({"a\n<b>": x, "=cmd|\x1b[0m": rng.choice(["\u202e", "x"], n)}),
        "types of pandas": flags,
        "lengths of time": pd.DataFrame({"x": pd.to_timedelta(rng.integers(1, 99, n), "h")}),
        "days first": pd.DataFrame({"x": x, "t": days}),
        "numbers as names": pd.DataFrame(rng.normal(size=(n, 2))),
        "an array": rng.normal(size=(n, 3)),
    }


@pytest.mark.parametrize("name", odd_tables())
def test_odd_tables_are_explained_all_the_same(name):
    X = odd_tables()[name]
    y = np.arange(len(X)) % 3 == 0
    model = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    assert_adds_up(model, X[:4])
    model.explain(X[:2])
    model.smallest_change(X[:1])
    assert row_card(model, X[:1]).text()


def test_the_middle_of_dates_is_found_as_they_are_written():
    X = odd_tables()["days first"]
    model = FlockClassifier(effort="fast", random_state=0).fit(X, np.arange(len(X)) % 3 == 0)
    middle = pd.to_datetime(X["t"], format="%d.%m.%Y").sort_values().iloc[len(X) // 2 - 1]
    assert model.contributions(X[:1]).typical["t"] == middle.strftime("%d.%m.%Y")


def test_a_flock_of_columns_without_proper_names_calls_them_by_position():
    X = odd_tables()["numbers as names"]
    flock = SubsetEnsembleClassifier(2, max_iter=20, random_state=0)
    (record,) = flock.fit(X, np.arange(60) % 2).explain(X[:1])
    for one in record["because"] + record["against"]:
        assert one["typical"] is not None
        assert one["column"] in ("x0", "x1")


def test_a_background_without_rows_or_with_other_columns_is_refused():
    model = GaussianNB().fit(X_IRIS, Y_IRIS)
    for background in (X_IRIS[:0], X_IRIS[:, :3]):
        with pytest.raises(ValueError, match="background must have rows, and the 4 columns"):
            contributions(model, X_IRIS[:1], background=background)


def test_what_is_typical_has_occurred_and_rows_of_no_weight_do_not_count():
    X = np.array([[0.0], [0.0], [1.0], [5.0], [5.0], [5.0], [5.0]])
    weight = np.array([1.0, 1, 1, 1, 0, 0, 0])
    model = FusionClassifier([GaussianNB()]).fit(X, [0, 0, 1, 1, 1, 1, 1], weight)
    assert model.contributions(X[:1]).typical == {"x0": 0}
