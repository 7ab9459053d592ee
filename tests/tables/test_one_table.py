"""A flock, and the command line, make the same model of the same table."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from covey import FlockClassifier, FlockRegressor, SubsetEnsembleClassifier, SubsetSelector
from covey.cli._console import Console
from covey.cli._fitting import PreparedRows, flock
from covey.cli._models import keep_evaluation
from covey.cli._problem import read_problem
from covey.evaluation import Evaluation
from covey.persistence import load, save
from covey.tables import TablePreparation
from covey.tables._encoders import Categories, Dates, NumberColumn, Text
from covey.tables._known_columns import encoders_of, table_for
from tests.cli.conftest import patients

WORDS = np.array(["garden", "house", "river", "road", "bridge", "tower", "gate", "market"])


def with_gaps(X, rng):
    """Numbers with gaps."""
    return X.mask(rng.random(X.shape) < 0.1)


def with_categories(X, rng):
    """A few categories, many, and flags, each with gaps but the last."""
    few = pd.qcut(X.iloc[:, 0].rank(method="first"), 4, labels=list("abcd")).astype(object)
    many = "place " + (X.iloc[:, 1].rank(method="first") // 3).astype(int).astype(str)
    flag = X.iloc[:, 2] > X.iloc[:, 2].median()
    new = X.iloc[:, 3:].assign(few=few.mask(rng.random(len(X)) < 0.1), many=many, flag=flag)
    return new.assign(many=new["many"].mask(rng.random(len(X)) < 0.05))


def with_dates(X, rng):
    """Dates as text with gaps, prices, and a column that names the rows."""
    days = pd.to_timedelta(X.iloc[:, 0].rank(method="first").astype(int) * 5, "D")
    dates = (pd.Timestamp("2021-03-01") + days).dt.strftime("%Y-%m-%d")
    price = X.iloc[:, 1].map(lambda value: f"${1000 + 100 * value:,.2f}")
    new = X.iloc[:, 2:].assign(seen=dates.mask(rng.random(len(X)) < 0.1), price=price)
    return new.assign(id=[f"R{10_000 + row}" for row in range(len(X))])


def with_text(X, rng):
    """Prose that knows what a column of numbers knew, and gaps."""
    place = X.iloc[:, 0].rank(pct=True).to_numpy() * (len(WORDS) - 4)
    picks = np.clip(place[:, None] + 4 * rng.random((len(X), 6)), 0, len(WORDS) - 1)
    prose = [" ".join(WORDS[one.astype(int)]) for one in picks]
    return with_gaps(X.iloc[:, 1:], rng).assign(note=prose)


def table_of(data, how):
    """At most 160 rows and eight columns of one of scikit-learn's tables, as a file holds them."""
    rng = np.random.default_rng(3)
    X, y = data(return_X_y=True, as_frame=True)
    rows = np.sort(rng.permutation(len(X))[:160])
    X, y = X.iloc[rows, np.argsort(-X.nunique().to_numpy(), kind="stable")[:8]], y.iloc[rows]
    made = how(X.reset_index(drop=True), rng)
    return made.assign(target=y.to_numpy() if data is load_diabetes else [f"c{one}" for one in y])


TABLES = {
    "breast cancer, gaps": (load_breast_cancer, with_gaps),
    "breast cancer, categories": (load_breast_cancer, with_categories),
    "breast cancer, text": (load_breast_cancer, with_text),
    "wine, categories": (load_wine, with_categories),
    "wine, dates": (load_wine, with_dates),
    "iris, dates": (load_iris, with_dates),
    "iris, text": (load_iris, with_text),
    "digits, categories": (load_digits, with_categories),
    "diabetes, dates": (load_diabetes, with_dates),
    "patients": None,
}


def table_named(name):
    if name == "patients":
        return patients(80).dropna(subset="outcome").rename(columns={"outcome": "target"})
    return table_of(*TABLES[name])


def of_command(path, seed=0):
    """The model that ``covey fit --effort fast`` makes of a file."""
    problem = read_problem(str(path), "target", Console(True, False))
    learner = flock(problem, effort="fast", seed=seed)
    return problem, PreparedRows(problem, np.arange(len(problem.y)), seed).fit(learner)


@pytest.mark.parametrize("name", TABLES)
def test_a_flock_and_the_command_line_predict_the_same(name, tmp_path):
    path = tmp_path / "table.csv"
    table_named(name).to_csv(path, index=False)
    table = pd.read_csv(path, float_precision="round_trip")
    X, y = table.drop(columns="target"), table["target"]
    kind = FlockRegressor if y.dtype.kind == "f" else FlockClassifier
    own = kind(effort="fast", random_state=0).fit(X, y)
    problem, other = of_command(path)
    keep_evaluation(other, problem, Evaluation("classes"), problem.table)
    new = X.iloc[::-1].mask(np.random.default_rng(0).random(X.shape) < 0.1)
    for rows in (X, new):
        for one in (own, other):
            assert set(table_for(one, rows).columns) <= set(X.columns)
        found, wanted = (
            one.predict_proba(table_for(one, rows))
            if kind is FlockClassifier
            else one.predict(table_for(one, rows))
            for one in (own, other)
        )
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    # What is saved predicts the same to the bit, and knows how numbers are written.
    save(other, tmp_path / "model.covey")
    again = load(tmp_path / "model.covey")
    assert encoders_of(again).keys() == encoders_of(other).keys()
    np.testing.assert_array_equal(
        again.predict(table_for(again, X)), other.predict(table_for(other, X))
    )
    np.testing.assert_array_equal(again.seen_, other.seen_)


def kinds_read(model):
    return {name: type(encoder) for name, encoder in encoders_of(model).items()}


def test_each_column_is_read_by_what_it_holds():
    table = table_of(load_wine, with_dates).assign(note=table_of(load_wine, with_text)["note"])
    table = table.assign(many=table_of(load_wine, with_categories)["many"])
    X, y = table.drop(columns="target"), table["note"].str.count("garden|house|river") > 3
    found = kinds_read(FlockClassifier(effort="fast", random_state=0).fit(X, y))
    assert found["seen"] is Dates
    assert found["price"] is NumberColumn
    assert found["note"] is Text
    assert found["many"] is Categories
    assert found["id"] is type(None)


def test_what_a_user_says_of_columns_counts():
    table = table_of(load_wine, with_dates)
    X, y = table.drop(columns="target"), table["target"]
    kinds = {"seen": "season", "price": "text", "id": "text"}
    model = SubsetEnsembleClassifier(2, categorical_features=kinds, random_state=0).fit(X, y)
    found = encoders_of(model)
    assert "days" not in found["seen"].names("seen")[-1]
    assert found["id"] is not None
    assert found[X.columns[0]] is None  # those that are not named are left out
    with pytest.raises(ValueError, match="names the column 'size', which X does not have"):
        FlockClassifier(categorical_features={"size": "number"}).fit(X, y)
    with pytest.raises(ValueError, match="gives the kind 'colour'; give one of 'number', 'text'"):
        FlockClassifier(categorical_features={"id": "colour"}).fit(X, y)
    with pytest.raises(ValueError, match="No column of X is left to learn from"):
        FlockClassifier().fit(X[["id"]], y)


def test_a_selection_takes_the_same_table():
    table = table_of(load_wine, with_dates)
    selector = SubsetSelector(n_resamples=4, random_state=0)
    selector.fit(table.drop(columns="target"), table["target"])
    assert len(selector.support_) == table.shape[1] - 1
    assert not selector.support_[-1]  # the names of the rows


def test_names_that_do_not_help_are_left_out_and_those_that_do_are_not():
    rng = np.random.default_rng(2)
    text = with_text(pd.DataFrame({"a": rng.normal(size=300)}), rng)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    noise = [
        " ".join("".join(rng.choice(letters, size)) for size in rng.integers(3, 9, 2))
        for _ in range(300)
    ]
    table = text.assign(x=rng.normal(size=300), name=noise)
    y = text["note"].str.count("garden|house|river") > 3
    found = kinds_read(FlockClassifier(effort="fast", random_state=0).fit(table, y))
    assert (found["note"], found["name"]) == (Text, type(None))


def test_columns_may_come_in_any_order_with_others_beside_them():
    table = table_of(load_wine, with_dates)
    X, y = table.drop(columns="target"), table["target"]
    model = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(table[table.columns[::-1]]), model.predict(X))
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(X.drop(columns="seen"))


def test_explanations_speak_of_the_columns_of_the_table():
    table = table_of(load_wine, with_dates)
    X, y = table.drop(columns="target"), table["target"]
    model = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    (record,) = model.explain(X.iloc[[5]])
    assert {one["column"] for one in record["because"]} <= set(X.columns)
    assert list(model.importance_.columns) == list(X.columns)
    assert model.importance_.share[-1] == 0
    what_if = model.what_if(X.iloc[[5]], {"seen": "2021-06-01", "price": 900.0})
    assert what_if.before["probability"] != what_if.after["probability"]


def test_other_models_get_the_same_numbers():
    table = table_of(load_wine, with_categories)
    X, y = table.drop(columns="target"), table["target"]
    preparation = TablePreparation(random_state=0)
    out_of_fold = preparation.fit_transform(X, y)
    made = preparation.transform(X[X.columns[::-1]])
    assert list(made.columns) == list(out_of_fold.columns)
    encoded = [name for name in made if name.startswith("many")]
    assert len(encoded) == y.nunique()  # log-odds of each class, by other rows
    assert not np.allclose(made[encoded], out_of_fold[encoded])
    rest = made.columns.difference(encoded)
    pd.testing.assert_frame_equal(made[rest], out_of_fold[rest])
    assert preparation.groups()["few"][0] == "few = a"
    with pytest.raises(ValueError, match="lacks the column 'few', which the model needs"):
        preparation.transform(X.drop(columns="few"))


def test_numbers_as_people_write_them_are_kept_with_a_model(tmp_path):
    rows = "price;size;target\n" + "".join(
        f"1.{row % 9}00,50 €;{row % 7};{'ab'[row % 9 > 4]}\n" for row in range(60)
    )
    (tmp_path / "prices.csv").write_text(rows)
    problem, model = of_command(tmp_path / "prices.csv")
    assert model.preparation_ is None
    keep_evaluation(model, problem, Evaluation("classes"), problem.table)
    save(model, tmp_path / "model.covey")
    again = load(tmp_path / "model.covey")
    new = pd.read_csv(StringIO(rows), sep=";")
    np.testing.assert_array_equal(
        again.predict_proba(table_for(again, new)), model.predict_proba(problem.table)
    )
