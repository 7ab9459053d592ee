"""A check tells what has changed since a fit, and nothing where only chance is at work."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression

import covey
from covey import FlockClassifier, FlockRegressor, FusionClassifier, check
from covey.evaluation._checking import FEW_ROWS, RowCounts
from covey.evaluation._drift import Bins, two_shares
from covey.tables._seen_columns import seen_numbers


def people(n_rows, seed=0):
    """Numbers, a category, a date and gaps; whether somebody is ill follows from three columns."""
    rng = np.random.default_rng(seed)
    age, weight = rng.normal(50, 12, n_rows), rng.lognormal(4.2, 0.2, n_rows)
    town = rng.choice(["Oslo", "Rome", "Porto"], n_rows, p=[0.5, 0.3, 0.2])
    risk = (age - 50) / 10 + 2.0 * (town == "Rome") + rng.logistic(0, 0.5, n_rows) - 0.5
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.05, np.nan, age),
            "weight": weight,
            "height": rng.normal(170, 9, n_rows),
            "town": town,
            "seen": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 700, n_rows), "D"),
        }
    )
    return table, np.where(risk > 0, "ill", "well")


@pytest.fixture(scope="module")
def flock():
    return FlockClassifier(random_state=0).fit(*people(600))


@pytest.fixture(scope="module")
def regressor():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return FlockRegressor(random_state=0).fit(X[:300], y[:300]), X[300:], y[300:]


def changed(flock, change, n_rows=400, y=None):
    X, truth = people(n_rows, seed=7)
    return check(flock, change(X), truth if y else None)


CHANGES = {
    "shift": (lambda X: X.assign(age=X["age"] + 9), "age"),
    "scale": (lambda X: X.assign(height=170 + 2.5 * (X["height"] - 170)), "height"),
    "ten times": (lambda X: X.assign(weight=10 * X["weight"]), "weight"),
    "pounds": (lambda X: X.assign(weight=X["weight"] / 0.45359237), "weight"),
    "new category": (lambda X: X.assign(town=X["town"].where(X.index % 9 > 0, "Bern")), "town"),
    "other shares": (lambda X: X.assign(town=X["town"].where(X.index % 3 > 0, "Rome")), "town"),
    "gaps": (lambda X: X.assign(height=X["height"].where(X.index % 4 > 0)), "height"),
    "later": (lambda X: X.assign(seen=X["seen"] + pd.Timedelta(900, "D")), "seen"),
    "written otherwise": (
        lambda X: X.assign(weight=X["weight"].map("{:.1f} kg?".format)),
        "weight",
    ),
    "swapped": (lambda X: X.assign(age=X["height"], height=X["age"]), "height"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_change_is_found_in_the_column_that_it_is_in(flock, kind):
    change, column = CHANGES[kind]
    found = changed(flock, change)
    assert column in found.changed
    assert not found.holds
    allowed = {column, "age", "who decides", "decisions", "sureness"} if kind != "shift" else None
    assert allowed is None or set(found.changed) <= allowed
    sentence = next(one.sentence for one in found.columns if one.name == column)
    assert sentence.startswith(column)
    assert any(sentence in said for said in found.sentences)


def test_units_are_named(flock):
    for kind, words in {
        "ten times": "about 10 times",
        "pounds": "kilograms had become pounds",
    }.items():
        units = [one.unit for one in changed(flock, CHANGES[kind][0]).columns if one.unit]
        assert len(units) == 1
        assert words in units[0]


def test_tables_without_change_are_rarely_accused(flock):
    accused = sum(not check(flock, *people(150, seed)).holds for seed in range(100, 140))
    assert accused <= 4  # 5 % of 40 are 2; five or more have a chance of 5 %


def test_the_same_rows_in_another_order_make_the_same_record(flock):
    X, y = people(200, seed=3)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = check(flock, X, y), check(flock, X.iloc[order], y[order])
    assert one.expected.value == pytest.approx(other.expected.value)
    assert [c.tests for c in one.columns] == [c.tests for c in other.columns]


def test_counting_in_pieces_is_counting_at_once(flock):
    X, y = people(300, seed=3)
    pieces = RowCounts(flock)
    for start in range(0, 300, 70):
        pieces.add(X.iloc[start : start + 70], y[start : start + 70])
    one, other = pieces.found(), check(flock, X, y)
    assert one.measured == other.measured
    assert one.n_rows == other.n_rows
    assert one.expected.value == pytest.approx(other.expected.value)
    assert [c.distance for c in one.columns] == [c.distance for c in other.columns]


def test_a_model_that_is_loaded_checks_as_the_one_that_was_saved(flock, tmp_path):
    covey.save(flock, tmp_path / "a.covey")
    X, y = people(200, seed=3)
    again = check(covey.load(tmp_path / "a.covey"), X, y)
    assert again.to_json() == check(flock, X, y).to_json()


def test_accuracy_is_expected_without_labels_and_measured_with_them(flock):
    inside = 0
    for seed in range(200, 220):
        found = check(flock, *people(300, seed))
        assert found.before.low < found.expected.value < found.before.high
        inside += found.expected.low <= found.measured.value <= found.expected.high
    assert inside >= 17


def test_labels_show_a_change_of_the_truth_that_no_column_shows(flock):
    X, y = people(400, seed=5)
    turned = np.where(np.arange(400) % 2, y, np.where(y == "ill", "well", "ill"))
    assert check(flock, X).holds
    found = check(flock, X, turned)
    assert "accuracy" in found.changed
    assert found.surprise < 1e-6
    assert "farther from the expected than chance" in " ".join(found.sentences)


def test_an_error_is_expected_of_numbers(regressor):
    model, X, y = regressor
    found = check(model, X, y)
    assert found.surprise > 0.01
    assert found.expected.low < found.before.value < found.expected.high
    assert check(model, X, y + 100).changed[-1] == "error"


def test_the_record_is_plain_data(flock):
    found = changed(flock, CHANGES["gaps"][0], y=True)
    record = json.loads(found.to_json())
    assert record["holds"] is False
    assert len(record["columns"]) == 5
    assert 'covey_check_column_distance{column="height"}' in found.to_prometheus()


def test_strange_tables_are_refused_in_one_sentence_or_checked(flock, regressor):
    X, y = people(50)
    with pytest.raises(ValueError, match="no rows"):
        check(flock, X[:0])
    with pytest.raises(ValueError, match="lacks the columns 'age', 'weight'"):
        check(flock, X.rename(columns={"age": "a", "weight": "w"}))
    with pytest.raises(ValueError, match="5 columns"):
        check(flock, np.ones((3, 2)))
    with pytest.raises(ValueError, match="one value for each"):
        check(flock, X, y[:7])
    with pytest.raises(TypeError, match="remembers none"):
        check(LogisticRegression(), X)
    one = check(flock, X[:1])
    assert one.holds
    assert "1 row: only large changes" in " ".join(one.remarks)
    gaps = check(flock, X.assign(**dict.fromkeys(X.columns, np.nan)))
    assert {"age", "height"} <= set(gaps.changed)
    text = check(flock, X.astype(str).assign(age="x", weight="y", height="z", seen="never"))
    assert {"age", "weight", "height", "seen"} <= set(text.changed)
    other_target = check(flock, X, np.arange(50.0))
    assert other_target.measured.value == 0.0
    assert check(regressor[0], regressor[1], ["high"] * len(regressor[1])).measured is None


@pytest.mark.slow
def test_models_that_know_less_say_what_cannot_be_told():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    fusion = FusionClassifier([LogisticRegression(max_iter=5000)], "mean").fit(X[:300], y[:300])
    found = check(fusion, X[300:].assign(**{"mean area": 1000 * X["mean area"]}), y[300:])
    assert found.expected is None
    assert found.measured is not None
    assert "mean area" in found.changed
    assert any(said.startswith("Cannot be told how right") for said in found.remarks)
    mixed = FlockClassifier(effort="fast", members="mixed", random_state=0).fit(X[:200], y[:200])
    assert "mean area" in check(mixed, X[300:].assign(**{"mean area": 0.0})).changed


def test_a_file_of_before_tells_what_it_cannot_tell(flock):
    from dataclasses import replace

    table, seen = flock.model_.table, flock.model_.table.seen
    older = [replace(one, shares=(), below=(), missing=np.nan) for one in seen.columns]
    model = FlockClassifier(random_state=0)
    known = replace(table, seen=replace(seen, columns=tuple(older), n_rows=0))
    model.model_ = replace(flock.model_, table=known)
    found = check(model, people(200)[0])
    assert found.holds
    assert {one.state for one in found.columns} == {"unknown"}
    assert found.sentences[0].startswith("It cannot be told whether its columns have changed.")
    assert sum(said.startswith("Cannot be told") for said in found.remarks) == 2


def test_flags_may_be_written_in_two_ways(flock):
    X, y = people(300)
    X = X[["age", "weight"]].assign(smokes=np.random.default_rng(0).random(300) < 0.4)
    model = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    for kind in (int, float, str):
        found = check(model, X.assign(smokes=X["smokes"].astype(kind)))
        assert found.holds
        assert found.columns[2].distance == pytest.approx(0.0)


def test_dates_are_earlier_or_later_than_all_that_were_seen(flock):
    X, _ = people(200)
    for days, word in ((-2000, "earlier"), (2000, "later")):
        found = check(flock, X.assign(seen=X["seen"] + pd.Timedelta(days, "D")))
        assert f"seen has 100 % of its dates {word} than all that were seen" in str(found)


def test_one_row_shows_no_other_members_and_no_interval(flock, regressor):
    X, _ = people(60)
    for row in range(60):
        assert "who decides" not in check(flock, X.iloc[[row]]).changed
    model, X, y = regressor
    found = check(model, X[:1], y[:1])
    assert json.loads(found.to_json())["measured"][1:] == [None, None]
    assert "no interval from one row" in str(found)


def test_a_model_that_was_always_right_may_be_wrong_once():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.r_[rng.normal(-50, 1, 60), rng.normal(50, 1, 60)]})
    X["b"], y = rng.normal(size=120), np.repeat(["low", "high"], 60)
    model = FlockClassifier(random_state=0).fit(X, y).calibrate(X, y)
    again = np.resize(y, 240)
    again[0] = "high"
    found = check(model, X.iloc[np.arange(240) % 120], again)
    assert found.before.value == 1.0
    assert "accuracy" not in found.changed


def test_units_are_named_for_each_conversion():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"warm": rng.normal(20, 5, 300), "b": rng.normal(size=300)})
    model = FlockClassifier(effort="fast", random_state=0).fit(X, X["warm"] > 20)
    for change, words in {
        (10.0, 0.0): "about 10 times those seen",
        (0.01, 0.0): "about one 100th of those seen",
        (2.54, 0.0): "as if inches had become centimetres",
        (1 / 2.54, 0.0): "as if centimetres had become inches",
        (1.8, 32.0): "as if Celsius had become Fahrenheit",
        (1.0, 273.15): "as if Celsius had become Kelvin",
        (2.0, 0.0): None,
    }.items():
        found = check(model, X.assign(warm=change[0] * X["warm"] + change[1]))
        assert found.columns[0].unit == words


def test_few_rows_are_told_so(flock):
    assert any("only large" in one for one in check(flock, people(FEW_ROWS - 1)[0]).remarks)
    assert not any("only large" in one for one in check(flock, people(FEW_ROWS)[0]).remarks)


# -- counts and tests ---------------------------------------------------------------------------


def bins_of(then, now):
    """Numbers of now, in bins of those of before."""
    (seen,) = seen_numbers([""], then[:, None])
    bins = Bins.of_numbers(np.array(seen.values), seen.shares, seen.below, len(then))
    bins.now += bins.counts(now)
    return bins


def test_the_distance_at_known_values_is_at_most_that_of_all_values():
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(0)
    for shift in (0.0, 0.3, 2.0):
        then, now = rng.normal(size=500).round(1), rng.normal(shift, 1, size=300).round(1)
        spread = bins_of(then, now)
        exact = ks_2samp(then, now).statistic
        # The literal distance at the known values, from either side.
        sides = [
            abs(np.mean(side(then, value)) - np.mean(side(now, value)))
            for value in spread.values
            for side in (np.less, np.less_equal)
        ]
        assert spread.distance() == pytest.approx(max(sides))
        assert spread.distance() <= exact + 1e-12
        assert spread.distance() >= exact - 0.06


def test_every_value_is_counted_in_one_cell():
    new = np.array([0.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 9.0])
    spread = bins_of(np.array([1.0, 2.0, 2.0, 3.0]), new)
    assert spread.now.tolist() == [1, 1, 1, 2, 1, 1, 1]
    assert spread.then.tolist() == [0, 1, 0, 2, 0, 1, 0]


def test_p_values_of_equal_distributions_are_not_too_small():
    rng, small = np.random.default_rng(0), 0
    for _ in range(400):
        spread = bins_of(rng.normal(size=200), rng.normal(size=120))
        small += spread.p_value() < 0.05
    assert small <= 32


def test_bins_are_joined_until_they_have_rows():
    bins = Bins([50.0, 1, 1, 40, 8])
    bins.now += [50.0, 0, 0, 50, 0]
    assert bins.merged().sum(axis=1).tolist() == [100, 100]
    assert (bins.merged().sum(axis=0) >= 8).all()
    assert bins.distance() == pytest.approx(0.1)


def test_shares_are_compared_exactly():
    assert two_shares(0, 100, 0, 50) == 1.0
    assert two_shares(1, 1000, 30, 100) < 1e-10
