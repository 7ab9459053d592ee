"""How a model compares with simpler ones, in words."""

import pytest

from covey._intervals import Interval
from covey.cli._fit_summary import _comparison, _verdict, _wrapped

BETTER, WORSE, NEITHER = (
    Interval(0.05, 0.02, 0.08),
    Interval(-0.05, -0.08, -0.02),
    Interval(0.0, -0.02, 0.02),
)


@pytest.mark.parametrize(
    ("gap", "loss_gap", "over", "loss_over", "verdict"),
    [
        (BETTER, WORSE, BETTER, WORSE, "better"),
        (NEITHER, WORSE, BETTER, WORSE, "better"),
        (NEITHER, NEITHER, BETTER, WORSE, "as linear"),
        (WORSE, NEITHER, BETTER, WORSE, "linear is better"),
        # By the log-loss, of which more is worse.
        (NEITHER, BETTER, BETTER, WORSE, "linear is better"),
        # A flock that learns nothing beside a linear model that does.
        (WORSE, BETTER, NEITHER, NEITHER, "linear is better"),
        (NEITHER, NEITHER, NEITHER, NEITHER, "useless"),
        (NEITHER, NEITHER, Interval(0.1, -0.1, 0.3), NEITHER, "perhaps useless"),
        # A rare class: no more often right, but its probabilities tell.
        (NEITHER, NEITHER, NEITHER, WORSE, "not more often right"),
        (None, None, BETTER, WORSE, "better"),
    ],
)
def test_the_verdict_is_by_the_intervals_of_differences(gap, loss_gap, over, loss_over, verdict):
    assert _verdict(gap, loss_gap, over, loss_over, True, ["a score"]) == verdict
    said = _comparison(verdict, gap)
    assert said or gap is None
    assert all(line.endswith(".") for line in said)


def test_a_linear_model_that_tells_nothing_itself_is_not_advised():
    assert _verdict(WORSE, BETTER, NEITHER, NEITHER, False, ["a score"]) == "useless"


def test_nothing_is_known_of_a_model_that_was_not_judged():
    assert _verdict(None, None, None, None, True, []) == "unknown"


def test_a_line_is_broken_beside_the_questions_and_never_between_number_and_unit():
    text = "On 98.9 % of rows " * 12
    lines = _wrapped(text)
    assert " ".join(lines) == text.strip()
    assert max(map(len, lines)) <= 75
    assert not any(line.startswith("%") for line in lines)
