import numpy as np
import pytest

from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs
from covey.reporting._regions import parts_of, range_words, worst_regions


@pytest.fixture
def facts(loans, loan_model, judged):
    return ClassFacts(check_inputs(loan_model, *loans, judged))


def test_a_part_that_is_worse_is_found_with_its_share(facts, loans):
    table, _ = loans
    facts.row_losses = (table["work"] == "none").to_numpy().astype(float)
    (first, *_) = worst_regions(facts)
    assert (first.column, first.words) == ("work", "is “none”")
    assert (first.loss, first.rest) == (1.0, 0.0)
    assert first.n_rows == (table["work"] == "none").sum()


def test_gaps_are_a_part(facts, loans):
    table, _ = loans
    facts.row_losses = table["debt"].isna().to_numpy().astype(float)
    assert worst_regions(facts)[0].words == "is missing"


def test_errors_at_random_make_no_part(facts):
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(20):
        facts.row_losses = (rng.random(facts.n_rows) < 0.1).astype(float)
        said += bool(worst_regions(facts))
    assert said <= 3


def test_parts_are_quarters_in_words():
    numbers = np.append(np.arange(100.0), np.nan)
    parts = list(parts_of(numbers))
    assert [rows.sum() for _, _, rows in parts] == [25, 25, 25, 25]
    assert [range_words(low, high) for low, high, _ in parts] == [
        "below 24.8",
        "between 24.8 and 49.5",
        "between 49.5 and 74.2",
        "74.2 or more",
    ]
    assert not list(parts_of(np.ones(9)))
    assert not list(parts_of(np.full(9, np.nan)))
