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


def test_dates_are_named_unless_rows_are_held_out_by_time_or_group():
    dated = table(
        visited=pd.date_range("2020-01-01", periods=N_ROWS).astype(str), who=np.arange(N_ROWS) % 30
    )

    def about(**options):
        return [guard.about for guard in guards(problem_of(dated, **options))]

    assert about() == ["time"]
    assert about(time="visited") == []
    assert about(group="who") == []


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "many"), [(12, 60, True), (9, 60, False), (29, 900, False)]
)
def test_many_classes_are_said(n_classes, n_rows, many):
    found = some_table(n_rows, y=[f"class {place % n_classes}" for place in range(n_rows)])
    assert [guard.about for guard in guards(problem_of(found))] == ["classes"] * many
    numbered = some_table(n_rows, y=np.arange(n_rows) % n_classes)
    said = [guard.sentence for guard in guards(problem_of(numbered, task="classes"))]
    assert ["--task numbers" in one for one in said] == [True] * many
