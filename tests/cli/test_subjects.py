"""Rows of one subject are found, with an id or without, and only where they matter."""

import numpy as np
import pandas as pd
import pytest

from covey.cli._guards import guards, repeated_subjects

from .conftest import problem_of

N_SUBJECTS, N_EACH = 36, 8


def subjects(seed=0, n_features=6):
    """Rows of subjects that differ from each other in all features, and the number of each."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(N_SUBJECTS), N_EACH)
    own = rng.normal(size=(N_SUBJECTS, n_features))
    X = own[who] + 0.3 * rng.normal(size=(len(who), n_features))
    table = pd.DataFrame(X, columns=[f"protein {k}" for k in range(n_features)])
    return table, who, rng


def said(table, **options):
    return [(one.about, one.sentence) for one in guards(problem_of(table, **options))]


def test_a_column_of_subjects_that_decides_alone_is_offered_as_groups_and_not_to_be_dropped():
    table, who, rng = subjects()
    treated = rng.integers(2, size=N_SUBJECTS)[who]
    table = table.assign(mouse=[f"m{one}" for one in who], y=np.where(treated, "a", "b"))
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    for one in (table, shuffled):
        problem = problem_of(one)
        (guard,) = problem.guards
        sentence = guard.sentence
        assert guard.about == "group"
        assert "mouse: its 36 values repeat (8 rows each)" in sentence
        assert "held out at random" in sentence
        assert "where all rows of one mouse are held out together" in sentence
        assert "give --group mouse" in sentence
        assert "--drop" not in sentence
        found = repeated_subjects(problem)
        # The features tell nothing of the treatment of a subject that is new.
        assert found.mixed > 0.9
        assert found.together < 0.65
    assert said(table, group="mouse") == []


def test_a_code_of_the_target_that_repeats_is_still_a_leak():
    table, who, rng = subjects()
    ill = table["protein 0"] + rng.normal(size=len(who)) > 0
    code = np.where(ill, 10, 20) + rng.integers(9, size=len(who))
    ((about, sentence),) = said(table.assign(code=code, y=np.where(ill, "a", "b")))
    assert about == "leak"
    assert "--drop code" in sentence


def test_a_value_that_most_rows_have_is_no_subject():
    table, who, rng = subjects()
    ill = table["protein 0"] + rng.normal(size=len(who)) > 0.8
    cause = np.where(ill, rng.integers(1, 9, len(who)), 0)
    assert [about for about, _ in said(table.assign(cause=cause, y=np.where(ill, "a", "b")))] == [
        "leak"
    ]


@pytest.mark.slow
def test_subjects_without_an_id_are_found_by_what_never_varies_within_them():
    table, who, rng = subjects()
    constants = {
        "age": rng.integers(40, 90, N_SUBJECTS)[who],
        "sex": rng.choice(["f", "m"], N_SUBJECTS)[who],
        "height": rng.integers(150, 195, N_SUBJECTS)[who],
    }
    score = rng.normal(size=N_SUBJECTS)[who] + 0.1 * rng.normal(size=len(who))
    table = table.assign(**constants, y=score)
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    for one in (table, shuffled):
        problem = problem_of(one)
        (guard,) = problem.guards
        assert guard.about == "group"
        found = repeated_subjects(problem)
        assert {"age", "height"} <= set(found.columns) <= set(constants)
        assert found.n_subjects == pytest.approx(N_SUBJECTS, abs=2)
        assert found.mixed > 0.7
        assert found.together < 0.2
        remedy = guard.sentence.split("give --group ")[1].rstrip(".")
        grouped = problem_of(one, group=remedy)
        assert grouped.guards == []
        # Their columns are still learned from.
        assert "age" in grouped.kinds


def test_columns_that_change_at_every_second_row_are_no_runs():
    rng = np.random.default_rng(0)
    where = np.repeat(np.arange(120), np.tile([2, 3], 60))
    slow = {name: rng.integers(30, size=120)[where] for name in ("price", "discount")}
    table = pd.DataFrame(slow).assign(y=rng.choice(["a", "b"], len(where)))
    assert repeated_subjects(problem_of(table)) is None


def test_runs_of_rows_are_subjects_where_few_columns_stay_the_same():
    table, who, rng = subjects()
    constants = {name: rng.choice(["f", "m", "x"], N_SUBJECTS)[who] for name in ("sex", "smokes")}
    treated = rng.integers(2, size=N_SUBJECTS)[who]
    table = table.assign(**constants, y=np.where(treated, "a", "b"))
    problem = problem_of(table)
    found = repeated_subjects(problem)
    assert found.by_runs
    assert set(found.columns) == {"sex", "smokes"}
    # Neighbours that are alike in both cannot be told apart.
    assert 0.75 * N_SUBJECTS < found.n_subjects <= N_SUBJECTS
    (guard,) = problem.guards
    assert "number the runs in a column of their own and give it to --group" in guard.sentence
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    assert problem_of(shuffled).guards == []


@pytest.mark.parametrize("sort", [None, ["town", "year", "sex"], ["y"]])
def test_ordinary_tables_have_no_subjects_however_they_are_sorted(sort):
    rng = np.random.default_rng(0)
    n_rows = 600
    town = rng.integers(30, size=n_rows)
    table = pd.DataFrame(
        {
            "town": [f"town {one}" for one in town],
            "region": [f"region {one % 5}" for one in town],  # which a town decides
            "year": rng.integers(2000, 2020, n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "x": rng.normal(size=n_rows).round(1),
            "z": rng.normal(size=n_rows),
        }
    )
    table["y"] = np.where(table["x"] + rng.normal(size=n_rows) > 0, "a", "b")
    if sort:
        table = table.sort_values(sort, kind="stable").reset_index(drop=True)
    assert problem_of(table).guards == []


def test_a_factorial_design_has_no_subjects():
    levels = np.meshgrid(range(4), range(4), range(3), range(4), indexing="ij")
    table = pd.DataFrame({name: one.ravel() for name, one in zip("abcd", levels, strict=True)})
    table["y"] = np.where((table["a"] > 1) & (table["c"] > 0), "in", "out")
    assert problem_of(table).guards == []


def test_rows_that_are_held_out_by_time_or_group_are_not_searched():
    table, who, rng = subjects()
    treated = rng.integers(2, size=N_SUBJECTS)[who]
    table = table.assign(mouse=who, day=np.arange(len(who)), y=np.where(treated, "a", "b"))
    assert "group" not in [about for about, _ in said(table, time="day")]


def test_several_columns_make_a_group_and_gaps_are_a_value():
    table = pd.DataFrame(
        {"a": [1, 1, 2, 2, None, None] * 5, "b": list("xxyyzz") * 5, "y": list("pq") * 15}
    )
    table["x"] = np.arange(30.0) ** 2 % 7
    found = problem_of(table, group="a+b")
    assert len(np.unique(found.groups)) == 3
    assert {"a", "b"} <= {column.name for column in found.columns}


def test_an_id_that_is_left_out_is_offered_first_with_both_numbers():
    table, who, rng = subjects()
    treated = rng.integers(2, size=N_SUBJECTS)[who]
    table = table.assign(patient_id=1000 + 7 * who, y=np.where(treated, "a", "b"))
    problem = problem_of(table)
    assert "patient_id" not in problem.kinds
    ((about, sentence),) = said(table)
    assert about == "group"
    assert "% right where all rows of one patient_id are held out together" in sentence
    assert sentence.endswith("give --group patient_id.")


def test_a_name_of_several_words_is_quoted_as_a_terminal_wants_it():
    table, who, rng = subjects()
    treated = rng.integers(2, size=N_SUBJECTS)[who]
    table = table.assign(y=np.where(treated, "a", "b"), **{"the mouse": [f"m{k}" for k in who]})
    ((_, sentence),) = said(table)
    assert "give --group 'the mouse'" in sentence
