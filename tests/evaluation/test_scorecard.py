"""Scorecards add up, say what they stand on, and refuse what cannot be added."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from covey import FlockClassifier, FlockRegressor, SubsetEnsembleClassifier, load, save

N = 800


def table_of(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 90, N),
            "dose": rng.gamma(2.0, 0.001, N).round(5),
            "ward": rng.choice(["north", "south", "east", "west"], N),
            "smoker": rng.choice([0, 1], N),
            "height": rng.normal(170, 10, N).round(1),
        }
    )
    odds = (X["age"] - 60) / 10 + (X["ward"] == "north") + 1.5 * X["smoker"] + 300 * X["dose"] - 1
    y = np.where(rng.random(N) < expit(odds - 1), "ill", "well")
    X.loc[rng.random(N) < 0.1, "height"] = np.nan
    X.loc[X["ward"].eq("west") & (rng.random(N) < 0.3), "ward"] = None
    return X, y


X, Y = table_of()


def additive(**how):
    return FlockClassifier(interactions="none", random_state=0, **how)


@pytest.fixture(scope="module")
def flock():
    return additive(effort="fast").fit(X[::2], Y[::2])


@pytest.fixture(scope="module")
def card(flock):
    return flock.scorecard(X[1::2], Y[1::2])


def by_hand(card, row):
    """Read the printed words of the card, as a person does."""
    total = 0
    for _, one in card.points.iterrows():
        value, words = row[one["column"]], one["condition"]
        if pd.isna(value):
            met = words == "not known"
        elif words in ("known", "not known"):
            met = words == "known"
        elif isinstance(value, str):
            met = value in words.split(", ")
        elif found := re.fullmatch(r"below (.+)", words):
            met = value < float(found[1])
        elif found := re.fullmatch(r"(.+) or more", words):
            met = value >= float(found[1])
        elif found := re.fullmatch(r"(.+) to (.+)", words):
            low, high = map(float, found.groups())
            whole = float(X[one["column"]].dropna().mod(1).sum()) == 0
            met = low <= value <= high if whole else low <= value < high
        else:
            met = value == float(words)
        total += one["points"] if met else 0
    return total


def test_totals_are_what_a_person_reads_off_the_card(card):
    rows = X[1::2]
    totals = card.total(rows)
    assert totals.tolist() == [by_hand(card, row) for _, row in rows.iterrows()]
    assert np.allclose(card.probability(rows), expit(card.intercept + card.slope * totals))
    assert set(card.points["column"]) >= {"age", "smoker"}


def test_points_are_whole_few_and_begin_at_zero(flock, card):
    of_column = card.points.groupby("column")["points"]
    assert (of_column.min() == 0).all()
    assert card.points["points"].max() <= 10
    assert (of_column.max() > 0).all()
    assert flock.scorecard(X, Y, max_points=2).points["points"].max() <= 2
    rows = card.points.groupby("column")["rows"].sum()
    assert (rows == len(X[1::2])).all()


def test_the_functions_of_the_columns_are_those_of_the_flock(flock):
    """Log-odds are a sum over columns: changing two at once is the sum of both changes."""
    base, other = X.iloc[[2]], X.iloc[[7]]
    odds = flock.decision_function
    for a, b in (("age", "dose"), ("ward", "smoker"), ("age", "height")):
        moved = [base.assign(**{name: other[name].to_numpy() for name in some})
                 for some in ((a,), (b,), (a, b))]  # fmt: skip
        one, two, both = (odds(rows) - odds(base) for rows in moved)
        assert both == pytest.approx(one + two, abs=1e-9)


def test_points_follow_the_effects_of_the_flock(flock, card):
    """The mean log-odds of the rows that meet a condition, scaled and rounded, are its points."""
    rows, ill = X[1::2], 1 if flock.classes_[1] == "ill" else -1
    base = rows.iloc[[0] * len(rows)].reset_index(drop=True)
    start = ill * flock.decision_function(base[:1])
    chance = flock.predict_proba(rows)
    weight = np.maximum(chance[:, 0] * chance[:, 1], 0.01)
    means = {}
    for name, conditions in card.by_column:
        tried = base.assign(**{name: rows[name].to_numpy()})
        effect = ill * flock.decision_function(tried) - start
        for one in conditions:
            if one.codes:
                known = card.encoders[name].known
                met = rows[name].isin([known[code] for code in one.codes])
            elif np.isnan(one.low):
                met = rows[name].isna()
            else:
                met = (rows[name] >= one.low) & (rows[name] < one.high)
            assert met.sum() == one.rows
            met = met.to_numpy()
            mean = np.average(effect[met], weights=weight[met])
            means.setdefault(name, []).append((mean, one.points))
    # One factor for all columns, by which the largest is within a half of its points; neighbours
    # that became one step move the zero of their column by a half at most.
    pairs = [(m - min(some)[0], p) for some in means.values() for m, p in some]
    largest, most = max(pairs)
    for moved, points in pairs:
        share = moved / largest
        assert abs(share * most - points) <= 1.01 + 0.5 * share


def test_the_totals_count_the_rows_and_the_price_is_that_of_the_rows(flock, card):
    rows, ill = X[1::2], Y[1::2] == "ill"
    totals = card.total(rows)
    for total, (n, found) in enumerate(card.counts):
        assert (n, found) == ((totals == total).sum(), ill[totals == total].sum())
    table = card.totals
    assert table["rows"].sum() == len(rows)
    assert table["of_class"].sum() == ill.sum()
    assert table["probability"].is_monotonic_increasing
    own, whole, price = card.scores
    column = list(flock.classes_).index("ill")
    for score, chance in ((own, card.probability(rows)),
                          (whole, flock.predict_proba(rows)[:, column])):  # fmt: skip
        assert score.get("log_loss").value == pytest.approx(log_loss(ill, chance))
        assert score.get("auc").value == pytest.approx(roc_auc_score(ill, chance))
    gap = own.get("log_loss").value - whole.get("log_loss").value
    assert price.get("log_loss").value == pytest.approx(gap)
    assert gap < 0.03
    assert f"Made from {len(rows)} rows, {ill.sum()} of them 'ill'" in card.note


def test_text_page_and_workbook_say_the_same(card, tmp_path):
    text = str(card)
    page = card.to_html(tmp_path / "card.html").read_text()
    pd.testing.assert_frame_equal(
        pd.read_excel(card.to_excel(tmp_path / "card.xlsx"), "points", engine="calamine"),
        card.points,
    )
    for one in card.conditions:
        assert one.words in text
        assert one.words in page
    for _, row in card.totals.iterrows():
        assert row["chance"] in text
        assert row["chance"] in page
    assert card.note in text
    assert "<script" not in page
    assert "://" not in page
    assert "age" in card._repr_html_()


def test_names_of_a_table_stay_text_on_the_page(tmp_path):
    name = "<script>alert(1)</script>"
    rows = X[["age", "smoker"]].rename(columns={"age": name})
    flock = FlockClassifier(effort="fast", max_members=1, feature_groups=[[name], ["smoker"]])
    card = flock.fit(rows, Y).scorecard(rows, Y)
    assert "<script>" not in card.to_html(tmp_path / "card.html").read_text()
    assert "<script>" not in card._repr_html_()


def test_a_gap_alone_may_have_points_and_no_name_is_a_formula(tmp_path):
    rng = np.random.default_rng(0)
    name = "=1+1"
    rows = pd.DataFrame({name: rng.normal(size=400), "b": rng.normal(size=400)})
    gone = rng.random(400) < 0.4
    rows.loc[gone, name] = np.nan
    y = np.where(rng.random(400) < np.where(gone, 0.8, 0.1), "ill", "well")
    flock = FlockClassifier(effort="fast", max_members=1, feature_groups=[[0], [1]])
    card = flock.fit(rows, y).scorecard(rows, y, label="ill", max_points=1)
    assert card.points[["column", "condition", "points"]].to_numpy().tolist() == [
        [name, "known", 0],
        [name, "not known", 1],
    ]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(card.to_excel(tmp_path / "card.xlsx"))
    assert [cell.data_type for cell in book["points"]["A"]] == ["s"] * 3


def test_the_class_is_that_of_the_decision_the_rarer_or_the_one_asked_for(flock, card):
    counts = dict(zip(*np.unique(Y[1::2], return_counts=True), strict=True))
    assert card.label == min(counts, key=counts.get)
    other = flock.scorecard(X[1::2], Y[1::2], label="well" if card.label == "ill" else "ill")
    assert np.abs(other.probability(X) - (1 - card.probability(X))).mean() < 0.08
    try:
        flock.decide(threshold={other.label: 0.3})
        assert flock.scorecard(X[1::2], Y[1::2]).label == other.label
    finally:
        flock.decide()


def test_arrays_files_and_one_linear_model_have_cards_too(flock, card, tmp_path):
    save(flock, tmp_path / "flock.covey")
    again = load(tmp_path / "flock.covey").scorecard(X[1::2], Y[1::2])
    assert str(again) == str(card)
    numbered = X[["age", "smoker"]].set_axis([3, 7], axis=1)
    of_numbers = FlockClassifier(effort="fast", max_members=1, feature_groups=[[0], [1]])
    of_numbers = of_numbers.fit(numbered, Y).scorecard(numbered, Y)
    assert np.array_equal(of_numbers.total(numbered), of_numbers.total(numbered.to_numpy()))
    rows = X[["age", "dose", "smoker"]].to_numpy()
    plain = SubsetEnsembleClassifier(3, random_state=0).fit(rows, Y)
    assert plain.model_.is_additive
    made = plain.scorecard(rows, Y)
    assert ((made.probability(rows) > 0.5) == (made.label == Y)).mean() > 0.75


def test_rows_need_only_the_columns_of_the_card_and_values_that_it_has(card):
    on_card = list(dict.fromkeys(card.points["column"]))
    assert np.array_equal(card.total(X[on_card]), card.total(X))
    with pytest.raises(ValueError, match=r"lacks the column .*age"):
        card.total(X.drop(columns="age"))
    gap = X.astype({"age": float})
    gap.loc[3, "age"] = np.nan
    with pytest.raises(ValueError, match=r"age is nan in row 3, for which the card has no"):
        card.total(gap)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (FlockRegressor(effort="fast"), "for two classes, and this flock predicts numbers"),
        (FlockClassifier(effort="fast"), "adds points of single columns, and this flock does not"),
        (
            FlockClassifier(members=["boosting_small", "linear"], effort="fast", cv=2),
            "adds points of single columns, and this flock does not",
        ),
    ],
)
def test_flocks_that_do_not_add_are_refused(model, sentence):
    y = X["age"] if isinstance(model, FlockRegressor) else Y
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y).scorecard(X, y)


def test_a_product_of_two_columns_is_not_additive():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    y = rows[:, 0] * rows[:, 1] > 0
    flock = FlockClassifier(max_members=1, random_state=0).fit(rows, y)
    assert flock.score(rows, y) > 0.9  # which no additive one can
    assert not flock.model_.is_additive


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"y": Y[:5]}, "got 800 rows, and"),
        ({"y": np.full(N, "ill")}, "needs rows of both classes"),
        ({"y": np.full(N, "x")}, "y holds"),
        ({"label": "x"}, "label: 'x' is not a class"),
        ({"max_points": 0}, "max_points == 0, must be >= 1"),
        ({"max_points": 1000}, "max_points == 1000, must be <= 100"),
        ({"X": X.drop(columns="age")}, "lacks the column"),
    ],
)
def test_bad_input_gets_one_sentence(flock, how, sentence):
    with pytest.raises(ValueError, match=sentence):
        flock.scorecard(**({"X": X, "y": Y} | how))


def test_three_classes_dates_and_texts_are_refused():
    three = np.where(X["age"] > 70, "old", Y)
    with pytest.raises(ValueError, match="this flock predicts 3 classes"):
        additive(effort="fast").fit(X, three).scorecard(X, three)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(X["age"], "D")
    rows = X[["smoker"]].assign(day=days)
    flock = FlockClassifier(effort="fast", max_members=1, feature_groups=[["day"], ["smoker"]])
    with pytest.raises(ValueError, match="day holds dates, text or too many categories"):
        flock.fit(rows, Y).scorecard(rows, Y)


def test_odd_names_and_values_are_told_apart_in_words_and_workbooks(tmp_path):
    rng = np.random.default_rng(0)
    name = "\x1b[31mA"
    rows = pd.DataFrame({name: rng.choice([-0.2, -0.1, 0.0, 0.1], 400)})
    rows["place"] = rng.choice(["x,1", 'y"q"', "x"], 400)
    odds = 8 * rows[name] + 2 * rows["place"].eq("x,1")
    y = np.where(rng.random(400) < expit(odds), "ill", "\x1b[0mwell")
    card = additive(effort="fast").fit(rows, y).scorecard(rows, y)
    words = card.points["condition"].tolist()
    assert not any("-0 " in f"{one} " for one in words)
    assert any("'x,1'" in one for one in words)
    read = pd.read_excel(card.to_excel(tmp_path / "card.xlsx"), "points", engine="calamine")
    assert read["column"][0] == " [31mA"
