"""Flocks of tables with gaps and categories, which speak of the user's columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from covey import (
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    SubsetSelector,
)


def table(n_rows=240, n_codes=40):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, n_rows)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n_rows),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo", "Bath"], n_rows)),
            "code": [f"c{code}" for code in codes],
            "size": rng.normal(size=n_rows),
        }
    )
    score = 2.0 * (X["town"] == "Rome") + np.where(codes < n_codes / 2, 1.5, -1.5) + X["size"]
    missing = rng.random(n_rows) < 0.2
    X.loc[missing, "age"] = np.nan
    return X, (score + 2.0 * missing > 0.5).map({True: "yes", False: "no"}), score


X, Y, SCORE = table()
KINDS = {
    "fast": FlockClassifier(effort="fast", random_state=0),
    "algorithm 1": SubsetEnsembleClassifier(3, flip_probability=0.2, random_state=0),
    "gate": SubsetEnsembleClassifier(2, fuser="gate", max_iter=20, random_state=0),
    "neighbors": SubsetEnsembleClassifier(2, fuser="knora_e", max_iter=20, random_state=0),
    "mixed": FlockClassifier(
        members=["linear", LogisticRegression(max_iter=1000)], effort="fast", random_state=0
    ),
    "numbers": FlockRegressor(effort="fast", random_state=0),
    "numbers by algorithm 1": SubsetEnsembleRegressor(2, random_state=0),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_variable_is_one_feature_whatever_is_made_of_it(name):
    model = KINDS[name]
    model.fit(X, SCORE if "numbers" in name else Y)
    assert model.score(X, SCORE if "numbers" in name else Y) > 0.8
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    if name != "mixed":
        assert model.support_.shape == (model.n_estimators_, 4)
        assert model.estimators_[0].predict(X[:2]).shape == (2,)
        assert " of 4 features" in model.summary()
    for record in model.explain(X[:3]):
        for member in record["members"]:
            assert {column for column, _ in member["because"]} <= {*X.columns, "(constant)"}
    # Neither the category nor the gap were there before.
    odd = pd.DataFrame({"age": [50.0], "town": ["Paris"], "code": [None], "size": [np.nan]})
    assert model.predict(odd).shape == (1,)
    assert_array_equal(model.predict(pl.from_pandas(X)), model.predict(X))
    assert model.preparation_.names(model.feature_names_in_) == [
        "age",
        "size",
        "age is missing",
        "town = Bath",
        "town = Oslo",
        "town = Rome",
        "code (encoded)",
    ]


def test_features_are_counted_and_not_their_columns():
    model = FlockClassifier(effort="fast", max_features=1, random_state=0)
    model.fit(X[["age", "town"]], Y)
    assert (model.support_.sum(axis=1) == 1).all()


@pytest.mark.parametrize(("columns", "multiplies"), [(["age", "size"], True), (["size"], False)])
def test_products_are_of_numbers_alone(columns, multiplies):
    model = FlockClassifier(n_estimators=1, alpha=0.01, cv=2, random_state=0)
    model.fit(X[[*columns, "town"]], Y)
    assert ("products" in model.cv_results_["basis"]) == multiplies


def test_groups_and_kept_columns_are_the_users():
    how = {"feature_groups": [["age", "town"]], "always_keep": ["code"], "max_features": 1}
    model = FlockClassifier(effort="fast", random_state=0, **how).fit(X, Y)
    assert_array_equal(
        model.support_, np.tile([False, False, True, False], (len(model.support_), 1))
    )


def test_numbers_without_gaps_are_left_as_they_are_and_gaps_of_new_rows_filled():
    numbers = X[["size"]].assign(twice=2 * X["size"] + 10)
    model = FlockClassifier(effort="fast", random_state=0).fit(numbers, Y)
    assert model.preparation_ is None
    row = pd.DataFrame({"size": [np.nan], "twice": [np.nan]})
    average = numbers.mean().to_frame().T
    np.testing.assert_allclose(model.predict_proba(row), model.predict_proba(average))


def test_a_warm_start_continues_with_the_same_columns():
    kept = SubsetEnsembleClassifier(1, warm_start=True, random_state=0).fit(X, Y)
    kept.set_params(n_estimators=2).fit(X, Y)
    whole = SubsetEnsembleClassifier(2, random_state=0).fit(X, Y)
    assert_array_equal(kept.predict_proba(X), whole.predict_proba(X))


def test_numbers_can_be_categories():
    rows = np.column_stack([np.arange(60.0) % 5, np.arange(60.0)])
    odd = np.isin(rows[:, 0], [1, 3])
    model = FlockClassifier(effort="fast", categorical_features=[0], random_state=0)
    assert model.fit(rows, odd).score(rows, odd) == 1
    assert_array_equal(model.predict(rows.tolist()), odd)


def test_tags_say_who_takes_gaps_and_categories():
    flock = FlockClassifier()
    takes = [FusionClassifier([flock]), flock, SubsetEnsembleClassifier()]
    refuses = [FusionClassifier([flock], "knora_e"), FusionClassifier([LogisticRegression()])]
    for models, expected in ((takes, True), (refuses, False)):
        for tags in (get_tags(model).input_tags for model in models):
            assert tags.allow_nan is expected
            assert tags.categorical is expected


def test_what_cannot_take_them_says_so():
    model = SubsetEnsembleClassifier(2, max_iter=5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="no linear model of scikit-learn takes"):
        model.to_sklearn()
    with pytest.raises(ValueError, match="infinity in column 'age'"):
        model.predict(X.assign(age=np.inf))
    sparse = csr_array(np.ones((2, 4)))
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="X is sparse, but the model was fitted to .*categories"),
    ):
        model.predict(sparse)


def test_many_categories_that_know_nothing_are_not_said_to_be_constant():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: [f"w{one}" for one in rng.integers(0, 60, 200)] for name in "ab"})
    labels = rng.integers(0, 2, 200)
    model = FlockClassifier(effort="fast", n_estimators=2, random_state=0)
    with pytest.raises(ValueError, match="categories of X tell no more about y than chance would"):
        model.fit(rows, labels)
    with pytest.raises(ValueError, match="tell no more about y than chance .*nothing to select"):
        SubsetSelector(n_resamples=2, random_state=0).fit(rows, labels)
    with pytest.raises(ValueError, match="All 1 feature.* constant.* one column that varies"):
        model.fit(pd.DataFrame({"a": ["x"] * 20}), [0, 1] * 10)
    # A column that varies is enough, and those beside it have no weight.
    rows = rows.assign(c=rng.normal(size=200))
    assert model.fit(rows, rows["c"] > 0).score(rows, rows["c"] > 0) > 0.95


def test_rows_without_weight_change_no_encoding_by_the_target():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=300), "m": [f"w{n % 40}" for n in range(300)]})
    labels = (np.arange(300) % 40 < 20) ^ (rng.random(300) < 0.2)
    weight = (np.arange(300) % 7 > 0).astype(float)
    for model, y in (
        (FlockClassifier(effort="fast", n_estimators=2, random_state=0), labels),
        (FlockRegressor(effort="fast", n_estimators=2, random_state=0), labels + rows["a"]),
    ):
        weighted = model.fit(rows, y, weight)(rows)
        alone = model.fit(rows[weight > 0], y[weight > 0])(rows)
        np.testing.assert_allclose(weighted, alone, rtol=0, atol=1e-4)
