"""What may mislead about a table is said, and what may not is not."""

import numpy as np
import pandas as pd
import pytest

from covey.cli._guards import guards, leaks

from .conftest import problem_of, some_table

N_ROWS = 300
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(N_ROWS, 2))
Y = np.where(NOISE[:, 0] > 0, "a", "b")


def table(**columns):
    return pd.DataFrame({"noise": NOISE[:, 1], **columns, "y": Y})


def leaking(**columns):
    return [guard.column for guard in leaks(problem_of(table(**columns)))]


def test_a_column_that_tells_the_target_alone_is_named_whatever_its_kind():
    codes = np.where(Y == "a", 1.0, 2.0)
    assert leaking(code=codes) == ["code"]
    assert leaking(word=np.where(Y == "a", "left", "right")) == ["word"]
    # A threshold, and gaps in just one class.
    assert leaking(cause=NOISE[:, 0]) == ["cause"]
    assert leaking(date_of_death=np.where(Y == "a", np.nan, NOISE[:, 1])) == ["date_of_death"]


def test_a_good_column_is_no_leak():
    wrong = RNG.random(N_ROWS) < 0.05
    assert leaking(mostly=np.where(wrong, "other", Y)) == []
    assert leaking(near=NOISE[:, 0] + 0.3 * NOISE[:, 1]) == []
    # Names tell nothing of other rows.
    assert leaking(name=[f"{Y[place]} of {place}th of them all" for place in range(N_ROWS)]) == []


def test_of_a_quantity_its_double_is_a_leak_and_a_relative_is_not():
    weight = NOISE[:, 0] * 12 + 70
    found = pd.DataFrame(
        {"pounds": weight * 2.2046, "height": weight + NOISE[:, 1] * 5, "y": weight}
    )
    assert [guard.column for guard in leaks(problem_of(found))] == ["pounds"]


def test_few_rows_of_another_class_tell_nothing():
    rare = np.where(np.arange(N_ROWS) < 6, "a", "b")
    found = table().assign(y=rare, flag=np.where(rare == "a", 1.0, 0.0))
    assert not list(leaks(problem_of(found)))


def drifting(times, drifts=True):
    """A table whose target follows one column, in another direction for each month."""
    rng = np.random.default_rng(1)
    x, month = rng.normal(size=(2, N_ROWS)), np.arange(N_ROWS) * 10 // N_ROWS
    y = (x[0] * np.where(drifts & (month % 3 == 2), -1, 1) + (4 * (month == 9) * drifts)) > 0
    return pd.DataFrame({"x": x[0], "z": x[1], **times, "y": np.where(y, "yes", "no")})


DAYS = pd.date_range("2020-01-01", periods=N_ROWS).astype(str)


@pytest.mark.parametrize(("name", "times"), [("visited", DAYS), ("day", np.arange(N_ROWS) // 2)])
def test_a_time_is_named_where_later_rows_are_predicted_worse(name, times):
    def about(**options):
        return [(guard.about, guard.column) for guard in problem_of(found, **options).guards]

    found = drifting({name: times, "who": np.arange(N_ROWS) % 30})
    assert about() == [("time", name)]
    (guard,) = problem_of(found).guards
    assert f"give --time {name}" in guard.sentence
    assert about(time=name) == []
    assert about(group="who") == []
    # Shuffled rows have the same dates; numbers that do not rise are no time.
    found = found.sample(frac=1, random_state=0, ignore_index=True)
    assert about() == ([("time", name)] if name == "visited" else [])


@pytest.mark.parametrize("seed", range(5))
def test_a_time_that_tells_nothing_is_not_named(seed):
    days = np.random.default_rng(seed).permutation(DAYS)
    for times in (days, DAYS):
        found = drifting({"visited": times}, drifts=False)
        assert not [guard for guard in problem_of(found).guards if guard.about == "time"]


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "many"), [(12, 60, True), (9, 60, False), (29, 900, False)]
)
def test_many_classes_are_said(n_classes, n_rows, many):
    found = some_table(n_rows, y=[f"class {place % n_classes}" for place in range(n_rows)])
    assert [guard.about for guard in guards(problem_of(found))] == ["classes"] * many
    numbered = some_table(n_rows, y=np.arange(n_rows) % n_classes)
    said = [guard.sentence for guard in guards(problem_of(numbered, task="classes"))]
    assert ["--task numbers" in one for one in said] == [True] * many
