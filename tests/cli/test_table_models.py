"""Tables prepared: kinds, ids, gaps, groups of columns, and models around them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey.persistence import load, save
from covey.tables import TableClassifier, TablePreparation, TableRegressor, look
from tests.cli.conftest import patients


@parametrize_with_checks(
    [
        TableClassifier(LogisticRegression()),
        TableRegressor(LinearRegression()),
        TablePreparation(),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def looks(**columns):
    return {one.name: one for one in look(pd.DataFrame(columns))}


def test_ids_are_noticed_and_measurements_are_not():
    rng = np.random.default_rng(0)
    found = looks(
        code=[f"X{number}" for number in range(50)],
        count=range(100, 150),
        customer_id=rng.permutation(10**6)[:50],
        income=rng.permutation(10**6)[:50],
        height=rng.normal(size=50),
        review=[f"the {number}th time that I liked it" for number in range(50)],
        day=pd.date_range("2024-01-01", periods=50).astype(str),
        seen=pd.date_range("2024-01-01", periods=50),
    )
    assert {name for name, one in found.items() if one.drop} == {"code", "count", "customer_id"}
    assert {found[name].kind for name in ("day", "seen")} == {"date"}
    assert not look(pd.DataFrame({"code": list("abcdefghijklmn")}), keep=["code"])[0].drop


def test_kinds_of_columns():
    found = looks(
        flag=[True, False] * 20,
        zip=["01234", "99999"] * 20,
        category=pd.Categorical(["a", "b"] * 20),
        nested=[[1], [2]] * 20,
        empty=[None] * 40,
        constant=[1] * 40,
        sometimes=[1, None] * 20,
        mostly=["1", "2"] * 19 + ["3", "unknown"],
    )
    assert {name: one.kind for name, one in found.items()} == {
        "flag": "text",
        "zip": "text",
        "category": "text",
        "nested": "nested",
        "empty": "empty",
        "constant": "number",
        "sometimes": "number",
        "mostly": "number",
    }
    assert {name for name, one in found.items() if one.drop} == {"nested", "empty", "constant"}
    assert found["mostly"].missing == 1
    assert "'unknown'" in found["mostly"].note


def test_prepared_text_is_what_skrub_makes_of_it():
    skrub = pytest.importorskip("skrub")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Oslo", "Bath"], 80),
            "sex": rng.choice(["m", "f"], 80),
            "note": [f"word{number % 60} and more {number % 7}" for number in range(80)],
            "day": pd.date_range("2024-01-01", periods=80).astype(str),
        }
    )
    mine = TablePreparation(random_state=0).fit(table)
    theirs = skrub.TableVectorizer(
        high_cardinality=skrub.StringEncoder(n_components=10, random_state=0)
    )
    theirs.fit(table)
    new = table.sample(30, random_state=1)
    wanted = theirs.transform(new)
    wanted["day_total_seconds"] /= 24 * 60 * 60
    np.testing.assert_allclose(mine.transform(new), wanted, rtol=1e-5, atol=1e-5)
    assert mine.get_feature_names_out()[-1] == "day: days"


def test_gaps_are_filled_by_medians_and_said():
    table = pd.DataFrame({"a": [1.0, np.nan, 5.0, 100.0], "b": [1.0, 2.0, 3.0, np.inf]})
    preparation = TablePreparation().fit(table)
    made = preparation.transform(pd.DataFrame({"b": [np.nan, 1.0], "a": [np.nan, 2.0]}))
    assert list(made.columns) == ["a", "a is missing", "b", "b is missing"]
    assert made.to_numpy().tolist() == [[5, 1, 2, 1], [2, 0, 1, 0]]
    # So that a search may still make products.
    assert preparation.feature_groups_ == {}


def test_columns_of_one_variable_are_one_group_and_stay_together():
    table = patients().dropna(subset="outcome")
    model = TableClassifier(random_state=0).set_params(
        estimator=clone(TableClassifier(random_state=0)._default()).set_params(effort="fast")
    )
    model.fit(table.drop(columns="outcome"), table["outcome"])
    groups = model.preparation_.feature_groups_
    assert groups["town"] == [
        *("town = Köln", 'town = Paris, "Rive Gauche"', "town = Rome", "town is missing"),
    ]
    names = list(model.preparation_.get_feature_names_out())
    places = [names.index(name) for name in groups["town"]]
    kept = model.estimator_.support_[:, places]
    assert (kept.all(axis=1) | ~kept.any(axis=1)).all()
    importances = model.feature_importances_
    assert sum(importances.values()) == pytest.approx(1)
    assert "patient_id" not in importances


def test_reasons_are_what_the_deciding_member_adds_up():
    table = patients(60).dropna(subset="outcome").drop(columns="visited")
    X, y = table.drop(columns="outcome"), table["outcome"]
    model = TableClassifier(random_state=0).fit(X, y)
    flock = model.estimator_
    numbers = model.preparation_.transform(X)
    records = model.explain(X, top=50)
    row = 7
    importance = np.asarray(flock.explain_fusion(numbers))[row]
    member = flock.estimators_[importance.argmax()]
    assert records[row]["member"] == importance.argmax() + 1
    # The member's own log-probabilities, against those of the average row.
    average = pd.DataFrame([flock.mean_], columns=numbers.columns)
    logits = np.vstack(
        [member.predict_log_proba(rows)[0] for rows in (numbers.iloc[[row]], average)]
    )
    logits -= logits.mean(axis=1, keepdims=True)
    code = logits[0].argmax()
    assert records[row]["prediction"] == flock.classes_[code]
    by_column = {}
    for name, value, push in records[row]["because"]:
        assert push > 0
        assert value == X[name].iloc[row] or (value != value)
        by_column[name] = push
    negative = (logits[0] - logits[1])[code] - sum(by_column.values())
    assert negative <= 1e-9
    pushes = [push for _, _, push in records[row]["because"]]
    assert pushes == sorted(pushes, reverse=True)


def test_any_estimator_fits_and_scikit_learn_s_manners_are_kept(tmp_path):
    table = patients().dropna(subset="outcome")
    X, y = table.drop(columns="outcome"), table["outcome"].to_numpy(dtype=str)
    model = TableClassifier(LogisticRegression(max_iter=2000))
    assert clone(model).get_params()["estimator__max_iter"] == 2000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 2)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X)
    )
    save(model, tmp_path / "model.covey")
    np.testing.assert_array_equal(
        load(tmp_path / "model.covey").predict_proba(X), model.predict_proba(X)
    )
    with pytest.raises(ValueError, match="does not say why"):
        model.explain(X)
    regressor = TableRegressor(LinearRegression()).fit(X.drop(columns="age"), X["clinic"])
    assert regressor.score(X, X["clinic"]) > 0.9


def test_the_same_seed_gives_the_same_model_to_the_bit():
    table = patients(60).dropna(subset="outcome")
    X, y = table.drop(columns="outcome"), table["outcome"]
    one, other = (TableClassifier(random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_bad_tables_are_one_sentence():
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 5.0]}), ["x", "y", "x"]
    model = TableClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="lacks the column 'b', which the model needs"):
        model.predict(X[["a"]])
    with pytest.raises(ValueError, match="X has 3 rows and y has 2"):
        model.fit(X, y[:2])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        model.fit(X.set_axis(["a", "a"], axis=1), y)
    with pytest.raises(ValueError, match="nothing to learn"):
        model.fit(pd.DataFrame({"a": [1, 1, 1]}), y)
    with pytest.raises(ValueError, match="rows and columns"):
        model.fit(np.zeros(3), y)


def test_a_category_is_the_same_as_a_whole_number_of_any_type():
    table = pd.DataFrame({"code": ["1", "2", "x", None] * 8, "a": np.arange(32) % 7})
    preparation = TablePreparation().fit(table)
    assert preparation.categories()["code"][:3] == ["1", "2", "x"]
    wanted = preparation.transform(table.assign(code="1"))
    assert wanted["code = 1"].all()
    for code in (1, 1.0, np.float32(1), pd.Series([1.0] * 32, dtype=object)):
        pd.testing.assert_frame_equal(preparation.transform(table.assign(code=code)), wanted)
    half = preparation.transform(table.assign(code=1.5))
    assert not half.filter(like="code").to_numpy().any()


def test_thousands_of_numbers_are_prepared_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 3000))).add_prefix("x")
    table.iloc[3, ::7] = np.nan
    table.iloc[4, ::5] = np.inf
    kinds = dict.fromkeys(table.columns, "number")
    # With one that has to be looked at, all are taken one by one.
    other = table.astype({"x0": object})
    slow = TablePreparation(columns=kinds).fit(other)
    wanted = slow.transform(other)
    monkeypatch.setattr("covey.tables._preparation.as_kind", None)
    quick = TablePreparation(columns=kinds).fit(table)
    np.testing.assert_array_equal(quick.medians_, slow.medians_)
    pd.testing.assert_frame_equal(quick.transform(table), wanted)
