"""Errors group by group: as pandas counts them, with intervals that hold for all groups."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression, LogisticRegression

from covey import Evaluation, evaluate
from covey.cli._console import Console
from covey.cli._fit_summary import show_answers
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._sentences import group_sentences, group_table
from covey.reporting import build_report

N = 300
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"x": RNG.normal(size=N), "z": RNG.normal(size=N)})
CLASSES = np.where(TABLE["x"] + RNG.normal(size=N) > 0.6, "ill", "well")
NUMBERS = 100 + TABLE["x"].to_numpy() * 10 + RNG.normal(size=N)
GROUPS = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M", None], N, p=[0.5, 0.4, 0.1]),
        "age": RNG.normal(50, 10, N).round(1),
        "visits": RNG.integers(1, 5, N),
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), "D"),
    }
)
# The parts that a column is cut into, by a literal rule.


def quarters(values):
    cuts = values.quantile([0.25, 0.5, 0.75])
    least, most = values.min() - (cuts.iloc[1] - cuts.iloc[0]), values.max()
    return pd.cut(values, [least, *cuts, most + (most - least)], right=False)


PARTS = {
    "sex": GROUPS["sex"].fillna("missing"),
    "age": quarters(GROUPS["age"]),
    "visits": GROUPS["visits"].astype(str),
    "since": quarters(GROUPS["since"]),
}


@pytest.fixture(scope="module")
def classifier():
    return LogisticRegression().fit(TABLE[:150], CLASSES[:150])


def test_numbers_by_group_are_those_that_pandas_counts(classifier):
    one = evaluate(classifier, TABLE, CLASSES, by=GROUPS)
    said = classifier.predict(TABLE)
    chance = classifier.predict_proba(TABLE)[:, list(classifier.classes_).index(one.called)]
    frame = pd.DataFrame(
        {
            "right": said == CLASSES,
            "is_so": one.called == CLASSES,
            "called": said == one.called,
            "chance": chance,
        }
    )
    assert list(one.by_group) == list(GROUPS)
    for column, parts in PARTS.items():
        groups = {each.label: each for each in one.by_group[column]}
        assert sum(each.rows for each in groups.values()) == N
        # Ranges of numbers are told in their order, other groups by their names.
        pandas = frame.groupby(parts, observed=True)
        assert len(pandas) == len(groups)
        for place, (label, rows) in enumerate(pandas):
            each = list(groups.values())[place] if column in ("age", "since") else groups[label]
            assert each.rows == len(rows)
            assert np.isclose(each.right.value, rows["right"].mean())
            assert np.isclose(each.missed.value, 1 - rows["called"][rows["is_so"]].mean())
            assert np.isclose(each.false.value, rows["called"][~rows["is_so"]].mean())
            assert np.isclose(each.expected, rows["chance"].mean())
            assert np.isclose(each.found.value, rows["is_so"].mean())
    assert Evaluation.from_json(one.to_json()) == one


def test_intervals_of_single_rows_are_exact_and_hold_for_all_groups_together(classifier):
    one = evaluate(classifier, TABLE, CLASSES, by=GROUPS)
    m = sum(map(len, one.by_group.values()))
    for groups in one.by_group.values():
        for each in groups:
            n_right = round(each.right.value * each.rows)
            exact = binomtest(n_right, each.rows).proportion_ci(1 - 0.05 / m, "exact")
            np.testing.assert_allclose(each.right[1:], (exact.low, exact.high))
    alone = evaluate(classifier, TABLE, CLASSES, by="x").by_group["x"]
    assert alone[0].right.high - alone[0].right.low < 0.4


@pytest.mark.slow
def test_ranges_of_all_groups_hold_in_95_of_100_tables():
    rng, n_wrong = np.random.default_rng(0), 0
    for _ in range(300):
        y = rng.integers(2, size=400)
        right = rng.random(400) < 0.8
        chances = np.eye(2)[np.where(right, y, 1 - y)]
        held_out = HeldOut(y, [Predicted("m", chances, "own")], [0, 1])
        groups = rng.integers(8, size=400).astype(str)
        one = evaluate(
            LogisticRegression().fit(np.arange(2)[:, None], [0, 1]),
            np.zeros((400, 1)),
            held_out=held_out,
            by={"group": groups},
        )
        n_wrong += any(not r.right.low <= 0.8 <= r.right.high for r in one.by_group["group"])
    assert n_wrong <= 0.05 * 300 + 10


def test_rows_that_belong_together_widen_the_ranges_of_groups(classifier):
    who = np.repeat(np.arange(15), 20)
    by = {"site": np.where(who % 2, "north", "south")}
    alone, together = (
        evaluate(classifier, TABLE, CLASSES, by=by, groups=groups).by_group["site"]
        for groups in (None, who)
    )
    assert [each.rows for each in alone] == [each.rows for each in together]
    for one, other in zip(alone, together, strict=True):
        assert one.right.value == other.right.value
        assert one.right != other.right


def test_of_numbers_the_mean_error_and_the_means_are_told():
    model = LinearRegression().fit(TABLE, NUMBERS)
    one = evaluate(model, TABLE, NUMBERS, by=GROUPS[["sex"]])
    said = model.predict(TABLE)
    frame = pd.DataFrame({"off": np.abs(said - NUMBERS), "said": said, "true": NUMBERS})
    wanted = frame.groupby(PARTS["sex"]).mean()
    assert one.called is None
    for each in one.by_group["sex"]:
        row = wanted.loc[each.label]
        found = each.right.value, each.expected, each.found.value
        np.testing.assert_allclose(found, (row["off"], row["said"], row["true"]))
        assert each.right.low < each.right.value < each.right.high
    heads, _ = group_table(one, "sex")
    assert heads == ["sex", "rows", "off by", "said", "true"]


def test_costs_are_told_where_costs_decide():
    from covey import FlockClassifier

    flock = FlockClassifier(effort="fast", random_state=0).fit(TABLE[:150], CLASSES[:150])
    flock.decide(costs={"ill": 5})
    one = evaluate(flock, TABLE, CLASSES, by=GROUPS[["sex"]])
    said = flock.predict(TABLE)
    cost = np.where(said == CLASSES, 0.0, np.where(CLASSES == "ill", 5.0, 1.0))
    wanted = pd.Series(cost).groupby(PARTS["sex"]).mean()
    for each in one.by_group["sex"]:
        assert np.isclose(each.cost.value, wanted[each.label])
        assert each.cost.low >= 0
    assert group_table(one, "sex")[0][-1] == "cost of a row"


def test_a_group_that_differs_is_named_without_a_verdict_and_small_ones_cannot_tell(classifier):
    flipped = np.arange(N) < 100
    truth = np.where(flipped, np.where(CLASSES == "ill", "well", "ill"), CLASSES)
    label = np.where(flipped, "new", "old").astype(object)
    label[-4:] = "rare"
    one = evaluate(classifier, TABLE, truth, by={"site": label})
    said = " ".join(group_sentences(one, "site"))
    assert "beyond chance: 'old', 'new'" in said
    assert "whether that is fair, no table tells" in said
    assert "Too few rows to tell: " in said
    assert "'rare'" in said.split("Too few")[1]
    chance = " ".join(group_sentences(evaluate(classifier, TABLE, CLASSES, by=GROUPS), "sex"))
    assert "No group errs more or less" in chance


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("sex", "'sex' is not a column of X"),
        (["x", "sex"], "'sex' is not a column of X"),
        ({"id": [f"p{k}" for k in range(N)]}, "'id' has lists, or more than 150 different values"),
        ({"id": [[k] for k in range(N)]}, "'id' has lists"),
        ({"sex": ["F"] * 3}, "by must hold one value for each of the 300 rows"),
    ],
)
def test_what_makes_no_groups_is_one_sentence(classifier, by, message):
    with pytest.raises(ValueError, match=message):
        evaluate(classifier, TABLE, CLASSES, by=by)


@pytest.mark.parametrize(
    "values",
    [["same"] * N, [None] * N, [1.5] * N, np.arange(N) / 7, [True, False] * (N // 2), ["'"] * N],
)
def test_odd_groups_are_told_too(classifier, values):
    one = evaluate(classifier, TABLE, CLASSES, by={"odd": values})
    assert sum(each.rows for each in one.by_group["odd"]) == N
    assert group_table(one, "odd")
    assert group_sentences(one, "odd")


def test_groups_are_on_terminal_page_and_card_and_beyond_ten_behind_a_fold(capsys, classifier):
    by = {"town": [f"town {k % 14:02}" for k in range(N)], "sex": GROUPS["sex"]}
    one = evaluate(classifier, TABLE, CLASSES, by=by, target="state")
    show_answers(Console(), one)
    terminal = capsys.readouterr().out
    html = build_report(one).html
    for column in by:
        for sentence in group_sentences(one, column):
            assert sentence.split(":")[0] in " ".join(terminal.split())
            assert sentence.split(":")[0] in html.replace("\u00a0", " ")
    assert "and 4 more groups" in terminal
    assert "All 14 groups" in html
    assert "Group by group" in html
    without = evaluate(classifier, TABLE, CLASSES)
    assert "Group by group" not in build_report(without).html
    assert json.loads(without.to_json())["by_group"] == {}
