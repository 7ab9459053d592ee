"""What would change the answer: rows that are changed on purpose, and the smallest change."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from covey import FlockClassifier, FlockRegressor, FusionClassifier, SubsetEnsembleClassifier
from covey.inspection import _changes as module
from covey.inspection import curves, smallest_change, what_if

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["Rome", "Oslo", "Bath"], n),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "weight": rng.normal(70, 10, n),
        }
    )
    table.loc[::5, "weight"] = np.nan
    ill = np.where((table["age"] > 50) ^ (table["town"] == "Rome"), "yes", "no")
    return table, FlockClassifier(random_state=0).fit(table, ill)


def literal(model, row, values, scales, to):
    """All changes of one column and of two, and the nearest that gives the class."""
    rows, distances = [], []
    for size in (1, 2):
        for columns in combinations(range(row.size), size):
            for chosen in product(*(values[column] for column in columns)):
                changed = row.copy()
                changed[list(columns)] = chosen
                rows.append(changed)
                distances.append((np.abs(changed - row) / scales).sum())
    return np.array(distances)[model.predict(np.array(rows)) == to].min()


@pytest.mark.parametrize("number", [0, 60, 110])
def test_the_smallest_change_is_the_nearest_of_all_that_are_tried(number, monkeypatch):
    monkeypatch.setattr(module, "_VALUES_OF_PAIRS", 21)
    monkeypatch.setattr(
        module.Row, "are_like_seen", lambda _, changes: np.ones(len(changes), bool)
    )
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), Y)
    fused = FusionClassifier([model]).fit(X.to_numpy(), Y)
    row = X.to_numpy()[number]
    columns = fused._seen_columns.columns
    values = [
        [one for one in column.values if one != own]
        for column, own in zip(columns, row, strict=True)
    ]
    to = (Y[number] + 1) % 3
    found = fused.smallest_change(row, to=to)
    assert found.after["prediction"] == to
    assert_allclose(
        found.distance, literal(fused, row, values, [one.scale for one in columns], to), rtol=1e-9
    )


def test_the_change_that_is_named_gives_the_answer_that_is_named(people):
    table, model = people
    for number in range(10):
        found = model.smallest_change(table.iloc[number])
        changed = table.iloc[[number]].copy()
        for one in found.changes:
            assert one["to"] in set(table[one["column"]])
            changed[one["column"]] = one["to"]
        assert model.predict(changed)[0] == found.after["prediction"] != found.before["prediction"]
        assert "seen" not in [one["column"] for one in found.changes]


@pytest.fixture(scope="module")
def workers():
    """Children are young, pensioners old; the model looks at the kind of work alone."""
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 90, 400).round()
    work = np.where(age < 16, "child", np.where(age < 65, "worker", "pensioner"))
    table = pd.DataFrame({"age": age, "work": work, "noise": rng.normal(size=400)})
    encode = make_column_transformer((OneHotEncoder(), ["work"]))
    model = make_pipeline(encode, LogisticRegression())
    return table, model.fit(table, np.where(work == "child", "no", "yes"))


def test_no_change_is_proposed_that_was_not_seen_with_values_like_the_others(workers):
    table, model = workers
    old = {"age": 80.0, "work": "pensioner", "noise": 0.0}
    assert model.predict(pd.DataFrame([{**old, "work": "child"}]))[0] == "no"
    found = smallest_change(model, old, background=table)
    to = {one["column"]: one["to"] for one in found.changes}
    assert to["work"] == "child"
    assert to["age"] < 30
    assert smallest_change(model, old, background=table, max_columns=1) is None
    assert smallest_change(model, old, background=table, fixed="age") is None
    young = {"age": 17.0, "work": "worker", "noise": 0.0}
    assert len(smallest_change(model, young, background=table).changes) == 1


def test_a_change_that_is_asked_for_is_told_to_be_like_rows_seen_or_not(workers):
    table, _ = workers
    y = np.where(table["work"] == "child", "no", "yes")
    model = FlockClassifier(effort="fast", random_state=0).fit(table, y)
    old = {"age": 80.0, "work": "pensioner", "noise": 0.0}
    assert not what_if(model, old, {"work": "child"}).is_like_seen
    assert what_if(model, old, {"work": "child", "age": 9}).is_like_seen
    # A column that goes along with no other may have any value, and a strange row may stay so.
    assert what_if(model, old, {"noise": 1.0}).is_like_seen
    assert what_if(model, {**old, "work": "child"}, {"noise": 1.0}).is_like_seen


def test_columns_that_are_fixed_stay_and_fewer_columns_may_change(people):
    table, model = people
    for fixed in ("age", ["town"]):
        found = model.smallest_change(table.iloc[0], fixed=fixed)
        assert not {one["column"] for one in found.changes} & {
            *([fixed] if fixed == "age" else fixed)
        }
    assert len(model.smallest_change(table.iloc[0], max_columns=1).changes) == 1
    assert model.smallest_change(table.iloc[0], fixed=list(table.columns)) is None


def test_a_number_is_reached_from_either_side():
    values, y = load_diabetes(return_X_y=True, as_frame=True)
    model = Ridge().fit(values, y)
    low = smallest_change(model, values.iloc[0], to=100.0, background=values)
    assert low.before["prediction"] > 100 >= low.after["prediction"]
    high = smallest_change(model, values.iloc[1], to=160.0, background=values)
    assert high.before["prediction"] < 160 <= high.after["prediction"]
    with pytest.raises(ValueError, match="to must be a number"):
        smallest_change(model, values.iloc[0], background=values)


def test_mistakes_get_a_sentence(people):
    table, model = people
    with pytest.raises(ValueError, match="fixed names 'agee', which is not a column"):
        model.smallest_change(table.iloc[0], fixed="agee")
    with pytest.raises(ValueError, match="not a class of the model"):
        model.smallest_change(table.iloc[0], to="maybe")
    with pytest.raises(ValueError, match="must be one row, got 2"):
        model.smallest_change(table.head(2))
    with pytest.raises(ValueError, match="max_columns"):
        model.smallest_change(table.iloc[0], max_columns=3)
    with pytest.raises(ValueError, match="lacks the column 'town'"):
        model.what_if({"age": 3}, {"age": 4})
    with pytest.raises(ValueError, match="changes names 'nobody'"):
        model.what_if(table.iloc[0], {"nobody": 4})
    with pytest.raises(ValueError, match="'x' for 'age', a column of numbers"):
        model.what_if(table.iloc[0], {"age": "x"})
    with pytest.raises(ValueError, match="changes must be a dict"):
        model.what_if(table.iloc[0], {})


# -- what if --------------------------------------------------------------------------------------


def test_what_moved_adds_up_to_the_difference(people):
    table, model = people
    found = model.what_if(table.iloc[3], {"age": 79, "town": "Rome", "weight": None})
    before = found.before["prediction"]
    moved = found.after["probabilities"][before] - found.before["probabilities"][before]
    assert_allclose(sum(one["push"] for one in found.moved), moved, atol=1e-12)
    changed = table.iloc[[3]].assign(age=79, town="Rome", weight=np.nan)
    assert_allclose(list(found.after["probabilities"].values()), model.predict_proba(changed)[0])
    assert [one["to"] for one in found.moved] == [79, "Rome", None]


@pytest.mark.parametrize(
    "row", [X.iloc[0], X.iloc[[0]], X.iloc[0].to_dict()], ids=["series", "frame", "dict"]
)
def test_a_row_may_be_given_in_any_form(row):
    model = LogisticRegression(max_iter=500).fit(X, Y)
    found = what_if(model, row, {"petal length (cm)": 6.0})
    assert found.before["prediction"] == 0 != found.after["prediction"]


def test_columns_of_arrays_are_named_by_position():
    flock = SubsetEnsembleClassifier(2, max_iter=20, random_state=0).fit(X.to_numpy(), Y)
    one = flock.what_if(X.to_numpy()[0], {2: 6.0})
    other = flock.what_if(X.to_numpy()[:1], {"x2": 6.0})
    in_rows = flock.what_if(sparse.csr_array(X.to_numpy()[:1]), {2: 6.0})
    assert one.after == other.after
    assert_allclose(
        list(in_rows.after["probabilities"].values()), list(one.after["probabilities"].values())
    )


def test_curves_are_the_models_answers_at_each_value(people):
    table, model = people
    found = curves(model, table.iloc[7])
    assert [curve.column for curve in found] == list(table.columns)
    for curve in found:
        own = curve.values[curve.own]
        assert str(own) == str(table[curve.column].iloc[7]) or own is None
        for value, answer in zip(curve.values, curve.answers, strict=True):
            value = pd.Timestamp(value) if curve.kind == "time" else value
            changed = table.iloc[[7]].copy()
            changed[curve.column] = [value]
            assert_allclose(model.predict_proba(changed)[0], answer, atol=1e-12)
        if curve.kind == "number":
            assert (np.diff([v for v in curve.values if v is not None]) > 0).all()


def test_curves_of_numbers_have_one_answer_a_value(people):
    table, _ = people
    model = FlockRegressor(effort="fast", random_state=0).fit(table, table["age"] * 2.0)
    (curve,) = curves(model, table.iloc[0], ["age"])
    assert curve.answers.shape == (len(curve.values),)
    assert (np.diff(curve.answers) > 0).all()
