"""Measures, their intervals and their differences, of rows that were held out."""

import numpy as np
import pytest
from sklearn import metrics

from covey._intervals import Interval, average_precision_interval
from covey.evaluation._held_out import HeldOut, Predicted, verdict
from covey.evaluation._record import Score


def chances(n=300, share=0.3, seed=0, **how):
    """Rows of two classes with a model that knows something, and one that knows less."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "yes", "no")
    models = []
    for name, strength, kind in (("one", 1.5, "own"), ("other", 0.7, "linear")):
        logit = strength * (y == "yes") - 1 + rng.normal(size=n)
        p = 1 / (1 + np.exp(-logit))
        models.append(Predicted(name, np.column_stack([1 - p, p]), kind))
    models.append(Predicted("commonest class", np.tile([0.7, 0.3], (n, 1)), "simplest"))
    return HeldOut(y, models, ["no", "yes"], **how)


def test_measures_of_classes_are_those_of_scikit_learn():
    rows = chances()
    p = rows.predictions[:, 1]
    found = rows.score(rows.models[0])
    wanted = {
        "accuracy": metrics.accuracy_score(rows.y, rows.said),
        "log_loss": metrics.log_loss(rows.y, rows.predictions),
        "auc": metrics.roc_auc_score(rows.y == "yes", p),
        "brier": metrics.brier_score_loss(rows.y, rows.predictions, scale_by_half=False),
    }
    for name, value in wanted.items():
        assert found.get(name).value == pytest.approx(value)
        assert found.get(name).low < value < found.get(name).high
    assert found.main == found.get("accuracy")
    few = chances(share=0.08)
    assert few.rare == 1
    precise = few.score(few.models[0]).get("average_precision")
    p = few.predictions[:, 1]
    assert precise.value == pytest.approx(metrics.average_precision_score(few.y == "yes", p))
    assert precise.low < precise.value < precise.high


def test_several_classes_have_the_mean_area_of_each_against_the_others():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 90), rng.dirichlet(np.ones(3), 90)
    rows = HeldOut(y, [Predicted("one", p, "own")], [0, 1, 2])
    wanted = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert rows.score(rows.models[0]).get("auc").value == pytest.approx(wanted)


def test_measures_of_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    said = y + rng.normal(size=80)
    rows = HeldOut(y, [Predicted("one", said, "own")])
    found = rows.score(rows.models[0])
    assert found.get("r2").value == pytest.approx(metrics.r2_score(y, said))
    assert found.get("mae").value == pytest.approx(metrics.mean_absolute_error(y, said))
    assert found.get("rmse").value == pytest.approx(metrics.root_mean_squared_error(y, said))


def test_the_interval_of_the_area_is_delong_s():
    rows = chances(80)
    p, is_class = rows.predictions[:, 1], rows.y == "yes"
    own, others = p[is_class], p[~is_class]
    wins = (own[:, None] > others) + 0.5 * (own[:, None] == others)
    error = np.sqrt(
        wins.mean(axis=1).var(ddof=1) / len(own) + wins.mean(axis=0).var(ddof=1) / len(others)
    )
    found = rows.score(rows.models[0]).get("auc")
    assert found.value == pytest.approx(wins.mean())
    assert found.high - found.value == pytest.approx(1.99 * error, rel=0.03)


def test_a_perfect_ranking_is_not_certain():
    y = np.array([0] * 20 + [1] * 20)
    p = np.linspace(0, 1, 40)
    rows = HeldOut(y, [Predicted("one", np.column_stack([1 - p, p]), "own")], [0, 1])
    found = rows.score(rows.models[0]).get("auc")
    assert found.value == found.high == 1
    assert found.low < 0.9


def test_a_difference_is_that_of_the_two_scores():
    rows = chances()
    one, other = rows.models[:2]
    gap = rows.difference(one, other)
    for name, found in gap.measures.items():
        values = [rows.score(model).get(name).value for model in (one, other)]
        assert found.value == pytest.approx(values[0] - values[1])
        assert found.low < found.value < found.high


def test_rows_of_one_group_count_less_than_as_many_rows():
    groups = np.arange(300) // 10
    alone, together = (
        rows.score(rows.models[0]).get("log_loss") for rows in (chances(), chances(groups=groups))
    )
    assert alone.value == together.value
    assert together != alone


def test_the_average_precision_of_a_tie_does_not_depend_on_the_order():
    truth = np.array([True, False, True, False, False])
    scores = np.array([0.5, 0.5, 0.5, 0.2, 0.1])
    forth = average_precision_interval(truth, scores).value
    back = average_precision_interval(truth[::-1], scores[::-1]).value
    assert forth == back == pytest.approx(metrics.average_precision_score(truth, scores))


def test_a_model_without_probabilities_has_its_answers_only():
    rows = chances()
    sure = np.eye(2)[rows.predictions.argmax(axis=1)]
    bare = Predicted("bare", sure, "other", None, False)
    assert set(rows.score(bare).measures) == {"accuracy"}
    assert np.isnan(rows.chance(bare, rows.models[0], "log_loss"))


def test_a_class_that_is_not_known_is_never_right():
    p = np.tile([0.6, 0.4], (3, 1))
    rows = HeldOut(np.array(["a", "b", "z"]), [Predicted("one", p, "own")], ["a", "b"])
    assert rows.codes.tolist() == [0, 1, -1]
    assert rows.correct.tolist() == [True, False, False]
    assert rows.parts(rows.models[0])["log_loss"][2] > 30


@pytest.mark.parametrize(
    ("counts", "rare"),
    [((90, 10), 1), ((80, 20), None), ((90, 8, 2), 2), ((10,) * 10, None), ((100, 0), None)],
)
def test_a_class_is_rare_beside_one_that_is_very_common(counts, rare):
    y = np.repeat(np.arange(len(counts)), counts)
    p = np.full((len(y), len(counts)), 1 / len(counts))
    rows = HeldOut(y, [Predicted("one", p, "own")], np.arange(len(counts)))
    assert rows.rare == rare


def test_predictions_that_do_not_fit_are_refused_by_name():
    y = np.zeros(5)
    with pytest.raises(ValueError, match=r"shape \(4,\) by 'one'"):
        HeldOut(y, [Predicted("one", np.zeros(4))])
    with pytest.raises(ValueError, match="missing predictions by 'one'"):
        HeldOut(y, [Predicted("one", np.full(5, np.nan))])


UP, DOWN, EVEN = (
    Interval(0.05, 0.02, 0.08),
    Interval(-0.05, -0.08, -0.02),
    Interval(0, -0.02, 0.02),
)
OWN = Score("flock", "own", {"accuracy": Interval(0.8, 0.7, 0.9), "auc": Interval(0.5, 0.4, 0.6)})


def compared(gap, loss_gap, over, loss_over):
    found = [Score("constant", "simplest", {"accuracy": over, "log_loss": loss_over})]
    if gap is not None:
        found.append(Score("line", "linear", {"accuracy": gap, "log_loss": loss_gap}))
    return found


@pytest.mark.parametrize(
    ("gap", "loss_gap", "over", "loss_over", "wanted"),
    [
        (UP, DOWN, UP, DOWN, "better"),
        (EVEN, DOWN, UP, DOWN, "better"),
        (EVEN, EVEN, UP, DOWN, "as linear"),
        (DOWN, EVEN, UP, DOWN, "linear is better"),
        # By the log-loss, of which more is worse.
        (EVEN, UP, UP, DOWN, "linear is better"),
        # A flock that learns nothing beside a linear model that does.
        (DOWN, UP, EVEN, EVEN, "linear is better"),
        (EVEN, EVEN, EVEN, EVEN, "useless"),
        (EVEN, EVEN, Interval(0.1, -0.1, 0.3), EVEN, "perhaps useless"),
        # No more often right, but its probabilities tell.
        (EVEN, EVEN, EVEN, DOWN, "not more often right"),
        (None, None, UP, DOWN, "better"),
    ],
)
def test_the_verdict_is_by_the_intervals_of_differences(gap, loss_gap, over, loss_over, wanted):
    assert verdict(compared(gap, loss_gap, over, loss_over), OWN, True) == wanted


def test_no_better_than_a_guess_needs_ranking_and_probabilities_to_say_so():
    ranks = Score("flock", "own", {**OWN.measures, "auc": Interval(0.8, 0.7, 0.9)})
    nothing = compared(EVEN, EVEN, EVEN, EVEN)
    assert verdict(nothing, OWN, True) == "useless"
    assert verdict(nothing, ranks, True) == "not more often right"


def test_a_linear_model_that_tells_nothing_itself_is_not_advised():
    assert verdict(compared(DOWN, UP, EVEN, EVEN), OWN, False) == "useless"
    assert verdict([], None, True) == "unknown"
