"""What an evaluation says is true of the rows, whatever model it is of."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from covey import Evaluation, FlockClassifier, SubsetEnsembleClassifier, evaluate
from covey._decisions import asked_decision
from covey._intervals import Interval
from covey._number_words import number, rough
from covey.evaluation._columns import Table, worst_parts
from covey.evaluation._errors import sureness
from covey.evaluation._evaluate import judged
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import Score
from covey.evaluation._sentences import answers, score_text
from covey.inspection import column_effect, column_importance
from covey.reporting import build_card, build_report


def rows_of(n=400, share=0.08, seed=0):
    """A table in which one class is rare and the probability of it depends on x."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    logit = np.log(share / (1 - share)) - 0.8 + 1.8 * table["x"]
    return table, (rng.random(n) < 1 / (1 + np.exp(-logit.to_numpy()))).astype(int)


@pytest.fixture(scope="module")
def rare():
    table, y = rows_of()
    model = LogisticRegression().fit(*rows_of(seed=1))
    return evaluate(model, table, y, target="ill"), table, y, model


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X[::2], y[::2])
    return evaluate(model, X[1::2], y[1::2], target="progression"), X[1::2], y[1::2], model


def test_a_record_is_plain_data_that_comes_back_from_json(rare, numbers):
    for one in (rare[0], numbers[0]):
        again = Evaluation.from_json(one.to_json())
        assert again.as_dict() == one.as_dict()
        assert answers(again) == answers(one)
        assert one.without_rows().dots == one.without_rows().wrong == []


@pytest.mark.parametrize(
    "change",
    [
        {"task": 3},
        {"n_rows": "many"},
        {"scores": {}},
        {"scores": [{"name": "a"}]},
        {"columns": [["x"]]},
        {"unknown": 1},
        {"sureness": {"level": "high"}},
    ],
)
def test_what_is_no_record_is_refused(rare, change):
    with pytest.raises(ValueError, match="is not as an evaluation has it"):
        Evaluation.from_dict({**rare[0].as_dict(), **change})
    for no_record in (None, [], "x", 3):
        with pytest.raises(ValueError, match="is not as an evaluation has it"):
            Evaluation.from_dict(no_record)


def test_a_rare_class_comes_first(rare):
    one, table, y, model = rare
    assert one.rare == 1
    p = model.predict_proba(table)[:, 1]
    lead = dict(answers(one))["How right is it?"][0]
    area = metrics.roc_auc_score(y, p)
    assert f"area under the curve {area:.2f}" in lead
    assert f"Average precision {metrics.average_precision_score(y, p):.2f}" in lead
    alarm = one.thresholds[0]
    at = alarm.at[alarm.alarms]
    raised, found = p >= at, (p >= at) & (y == 1)
    assert f"With {raised.sum()} alarms in 400 rows it finds {found.sum()} of" in lead
    assert abs(raised.sum() - 2 * y.sum()) <= 8
    for _, said in answers(one):
        assert "of 100 right" not in " ".join(said)
    missed = ((p < 0.5) & (y == 1)).sum()
    assert (
        f"it misses {missed} of {y.sum()} rows with ill"
        in dict(answers(one))["When is it wrong?"][0]
    )


def test_a_threshold_counts_all_rows(rare):
    one, table, y, model = rare
    p = model.predict_proba(table)[:, 1]
    for at, found, false in zip(
        *(getattr(one.thresholds[0], k) for k in ("at", "found", "false")), strict=True
    ):
        called = p >= at
        assert (found, false) == ((called & (y == 1)).sum(), (called & (y == 0)).sum())
    assert one.thresholds[0].at[one.thresholds[0].chosen] == 0.5


def test_a_model_that_was_told_how_to_decide_is_judged_by_what_it_predicts():
    flock = FlockClassifier(effort="fast", random_state=0).fit(*rows_of(seed=1))
    flock.decide(threshold={1: 0.05})
    table, y = rows_of()
    one, said = evaluate(flock, table, y, target="ill"), flock.predict(table)
    alarms, found = (said == 1).sum(), ((said == 1) & (y == 1)).sum()
    assert one.score("own").get("accuracy").value == np.mean(said == y)
    assert one.confusion == metrics.confusion_matrix(y, said).tolist()
    assert [each.right for each in one.by_class] == [(said[y == k] == k).sum() for k in (0, 1)]
    assert one.n_wrong == (said != y).sum()
    told = {question: " ".join(each) for question, each in answers(one)}
    assert f"With {alarms} alarms in 400 rows it finds {found} of" in told["How right is it?"]
    assert "a chance of 5 % or more" in told["How sure is it?"]
    assert f"it misses {y.sum() - found} of {y.sum()} rows" in told["When is it wrong?"]
    share = f"alarms on {100 * alarms / len(y):.0f} % of all rows"
    assert share in told["May I trust it?"]


def test_a_rule_that_raises_no_alarm_has_no_share_of_them_that_is_right():
    table, y = rows_of()
    model = LogisticRegression().fit(*rows_of(seed=1))
    model.decision_ = asked_decision(model.classes_, costs={0: 1e6})
    told = dict(answers(evaluate(model, table, y, target="ill")))["How sure is it?"][0]
    assert "or more of ill: no row has that. Of all rows" in told


@pytest.mark.parametrize("n_classes", [2, 3])
def test_costs_are_those_of_the_rows_at_every_threshold_and_in_every_account(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [1.0, 2.0][: n_classes - 1])
    costs = np.array([[0, 2, 3], [8, 1, 3], [30, 20, 0]])[:n_classes, :n_classes]
    flock = FlockClassifier(effort="fast", n_estimators=2, random_state=0, costs=costs)
    flock.fit(X[::2], y[::2])
    one = evaluate(flock, X[1::2], y[1::2])
    truth, chances = y[1::2], flock.predict_proba(X[1::2])
    cost = costs[truth, flock.predict(X[1::2])].mean()
    assert one.own.get("cost").value == pytest.approx(cost)
    assert one.own.get("cost").low < cost < one.own.get("cost").high
    simplest = costs[truth, np.full(200, np.bincount(truth).argmax())].mean()
    assert one.score("simplest").get("cost").value == pytest.approx(simplest)
    gap = one.difference("simplest").get("cost").value
    assert gap == pytest.approx(cost - simplest)
    for each in one.thresholds:
        if n_classes > 2:
            assert each.cost == []  # the class of the other rows is not known
            continue
        for at, said in zip(each.at[::20], each.cost[::20], strict=True):
            called = chances[:, each.label] >= at
            assert said == pytest.approx(
                costs[truth, np.where(called, each.label, 1 - each.label)].mean()
            )
        assert each.cost[each.chosen] == pytest.approx(cost)
    told = f"A row costs {number(cost)} on average"
    cheapest = number(costs[truth].mean(axis=0).min())
    for text in (str(one), build_report(one).html, build_card(flock, X[1::2], y[1::2])):
        assert told in text
        assert f"the cheapest answer to all, would cost {cheapest}." in text
    assert ("A row then costs" in build_report(one).html) == (n_classes == 2)
    assert Evaluation.from_json(one.to_json()) == one
    assert not evaluate(flock.decide(), X[1::2], y[1::2]).costs


def test_what_is_told_of_how_a_model_decides_fits_together():
    table, _ = rows_of()
    y = np.where(table.iloc[:, 0] > 0, "yes", "no")
    model = LogisticRegression().fit(table, y)
    flipped = y.copy()
    flipped[::5] = np.where(y[::5] == "yes", "no", "yes")
    model.decision_ = asked_decision(model.classes_, costs={"yes": 20})
    p = model.predict_proba(table)
    other = np.clip(p[:, ::-1] * 0.3 + p * 0.7, 0.0, 1.0)
    one = evaluate(model, table, flipped, rivals={"linear": other}, target="ill")
    at = model.decision_.threshold
    shares = [(np.where(q[:, 1] >= at, "yes", "no") == flipped).mean() for q in (p, other)]
    assert [score.main.value for score in one.scores[:2]] == pytest.approx(shares)
    gap = one.differences[0].get("accuracy").value
    probable = [(model.classes_[q.argmax(axis=1)] == flipped).mean() for q in (p, other)]
    assert gap == pytest.approx(probable[0] - probable[1])
    told = {question: " ".join(said) for question, said in answers(one)}
    assert "'yes' is predicted from a probability of 4.8 % on" in told["How right is it?"]
    assert "the most probable class is right on" in told["How sure is it?"]
    assert one.sureness.right.value == pytest.approx(probable[0])
    first, second = one.thresholds
    assert (first.label, second.label) == ("yes", "no")
    assert first.at[first.chosen] == pytest.approx(at, abs=1e-3)
    assert second.at[second.chosen] == pytest.approx(1 - at, abs=1e-3)


def test_numbers_that_are_explained_are_not_called_chance_because_one_row_is_far_off():
    rng = np.random.default_rng(0)
    y = np.exp(5 * rng.normal(size=200))
    said = y + 0.001 * rng.normal(size=200)
    said[y.argmax()] *= 0.8
    models = [
        Predicted("flock", said, "own"),
        Predicted("the mean", np.full(200, y.mean()), "simplest"),
    ]
    one = judged(Evaluation("numbers"), HeldOut(y, models))
    assert one.own.get("r2").low > 0
    assert one.difference("simplest").get("r2").low < 0
    assert "may be chance" not in " ".join(dict(answers(one))["How right is it?"])


def test_an_interval_holds_its_value_as_it_is_shown():
    score = Score("flock", "own", {"r2": Interval(0.9996, 0.9995, 0.9999)})
    assert score_text(score, "r2") == "99.9 % (99.9 to 99.9)"


def test_numbers_are_told_by_what_they_are_off(numbers):
    one, X, y, model = numbers
    off = np.abs(model.predict(X) - y)
    said = dict(answers(one))
    assert f"off by {off.mean():.1f} on average" in said["How right is it?"][0]
    always = np.abs(y - y.mean()).mean()
    assert f"always saying the mean would be off by {always:.1f}" in said["How right is it?"][0]
    # One definition of nine of ten.
    nine = f"{np.quantile(off, 0.9):.3g}"
    assert f"nine of ten by less than {nine}" in said["How sure is it?"][0]
    assert f"by less than {nine} on nine of ten rows" in said["May I trust it?"][0]
    assert one.sureness.largest == pytest.approx(off.max())
    for each in one.ranges:
        inside = ~((y < each.low) | (y >= each.high))
        assert each.found.value == pytest.approx(off[inside].mean())
        assert each.rows == inside.sum()


def test_sureness_splits_rows_by_what_is_said():
    said = np.array([[0.95, 0.05], [0.95, 0.05], [0.6, 0.4], [0.4, 0.6]])
    rows = HeldOut(np.array(["a", "a", "b", "b"]), [Predicted("one", said, "own")], ["a", "b"])
    sure = sureness(rows)
    assert (sure.level, sure.share_sure) == (0.9, 0.5)
    assert (sure.right_sure, sure.right_unsure) == (1.0, 0.5)


def test_errors_by_class_are_the_confusion_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.choice(list("abc"), 150)
    model = DecisionTreeClassifier(max_depth=2).fit(X[:50], y[:50])
    one = evaluate(model, X, y)
    matrix = metrics.confusion_matrix(y, model.predict(X))
    assert one.confusion == matrix.tolist()
    for k, each in enumerate(one.by_class):
        assert (each.rows, each.right, each.said) == (
            matrix[k].sum(),
            matrix[k, k],
            matrix[:, k].sum(),
        )
    assert sum(each.rows for each in one.calibration) == 150


@pytest.mark.parametrize("column", ["x", "town", "gaps"])
def test_the_part_with_the_most_errors_is_found_and_chance_is_not(column):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=400), "town": rng.choice(["Rome", "Oslo", "Bath"], 400)}
    )
    table["gaps"] = np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400))
    inside = {
        "x": table["x"] > np.quantile(table["x"], 0.75),
        "town": table["town"] == "Oslo",
        "gaps": table["gaps"].isna(),
    }[column].to_numpy()
    wrong = (rng.random(400) < np.where(inside, 0.5, 0.05)).astype(float)
    looked = Table(table, table.columns)
    (part, *_) = worst_parts(looked, range(3), wrong)
    assert part.column == column
    assert part.rows == inside.sum()
    assert part.error == pytest.approx(wrong[inside].mean())
    assert part.elsewhere == pytest.approx(wrong[~inside].mean())
    assert worst_parts(looked, range(3), (rng.random(400) < 0.2).astype(float)) == []


def test_what_it_looks_at_is_what_the_model_loses_without_it():
    table, y = rows_of(share=0.4)
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0).fit(table, y)
    one, known = evaluate(flock, table, y, target="ill"), flock.importance_
    assert [column.name for column in one.columns] == [known.columns[k] for k in known.order]
    first = known.order[0]
    column = one.columns[0]
    assert column.share == pytest.approx(known.share[first])
    assert column.loss == pytest.approx((known.loss[first], known.low[first], known.high[first]))
    effect, wanted = (
        column.effect,
        column_effect(flock, table, column.name, y, predicted=flock.predict_proba(table)),
    )
    assert effect.model == pytest.approx(wanted.curve[:, 1].tolist())
    assert effect.data == pytest.approx([point.rate[1] for point in wanted.points])
    line = dict(answers(one))["What does it look at?"][0]
    p = flock.predict_proba(table)[:, 1]
    lowest = p[table["x"] <= wanted.points[0].high].mean()
    assert f"x: ill rises from {rough(lowest)} at {wanted.points[0].label} to" in line


def test_another_model_is_measured_by_the_rows_that_are_given():
    table, y = rows_of(share=0.4)
    model = LogisticRegression().fit(table, y)
    found = column_importance(model, table, y)
    assert evaluate(model, table, y).columns[0].share == pytest.approx(found.share.max())


def test_codes_that_stand_for_gaps_are_pointed_out():
    table, y = rows_of(share=0.4)
    table = table.assign(x=np.where(np.arange(400) % 20 == 0, 999.0, table["x"]))
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0).fit(table, y)
    (remark,) = evaluate(flock, table, y).remarks
    assert remark.sentence == (
        "x: 999 is far from the rest and may stand for a gap: then give --gap x=999."
    )


def test_rows_that_are_wrong_are_those_of_which_it_was_surest():
    table, y = rows_of(share=0.4)
    model = LogisticRegression().fit(table, y)
    one = evaluate(model, table, y, row_names=[f"No {k}" for k in range(len(y))])
    p = model.predict_proba(table)
    sure = np.where(model.predict(table) != y, p.max(axis=1), 0)
    assert one.wrong[0].row == f"No {sure.argmax()}"
    assert one.wrong[0].probability == pytest.approx(sure.max())
    assert one.n_wrong == (model.predict(table) != y).sum()
    assert any("x " in words for words, _ in one.wrong[0].pushes)


def test_rivals_are_predictions_models_or_measures():
    table, y = rows_of(share=0.4)
    model = LogisticRegression().fit(table, y)
    stump = DecisionTreeClassifier(max_depth=1).fit(table, y)
    rivals = {
        "stump": stump,
        "saved": stump.predict_proba(table),
        "told": {"accuracy": 0.7, "log_loss": (0.5, 0.4, 0.6)},
    }
    one = evaluate(model, table, y, rivals=rivals)
    by_name = {score.name: score for score in one.scores}
    assert by_name["stump"].measures == by_name["saved"].measures
    assert by_name["told"].main.value == 0.7
    assert by_name["told"].get("log_loss").high == 0.6
    assert by_name["commonest class"].kind == "simplest"
    for bad in ({"log_loss": 1.0}, {"accuracy": "high"}):
        with pytest.raises(ValueError, match="rivals must have"):
            evaluate(model, table, y, rivals={"bad": bad})


def test_any_model_in_a_pipeline_is_evaluated_and_its_members_shown():
    table, y = rows_of(share=0.4)
    flock = SubsetEnsembleClassifier(3, fuser="product", random_state=0)
    one = evaluate(make_pipeline(StandardScaler(), flock).fit(table, y), table, y)
    assert one.members.number == one.n_members == 3
    assert one.members.evenly
    assert [member.name for member in one.members.shown] == ["member 1", "member 2", "member 3"]
    assert evaluate(LogisticRegression().fit(table, y), table, y).members is None


def test_a_caution_is_said_before_all_and_nothing_is_promised():
    table, y = rows_of(share=0.4)
    model = LogisticRegression().fit(table, y)
    said = dict(answers(evaluate(model, table, y, caution="it has seen all rows.")))
    assert said["May I trust it?"] == ["These numbers cannot tell: it has seen all rows."]
    assert "had not seen" not in str(said)


def test_without_rows_it_says_what_the_model_looks_at_and_no_more():
    table, y = rows_of(share=0.4)
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0).fit(table, y)
    one = evaluate(flock, table)
    said = dict(answers(one))
    assert said["How right is it?"] == ["That is not known: no row was held out to see."]
    assert one.verdict == "unknown"
    assert one.columns[0].name == "x"
