"""Selectors on data with known answers: designs, measures, rivals, and the page."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.selection import designs, rates, report, run, selectors
from covey import SubsetSelector


@pytest.mark.parametrize("name", ["twins, 3 + 3 of 30", "blocks, a number", "chain, 8 of 100"])
def test_what_is_needed_is_a_part_of_what_carries_something(name):
    X, y, every, needed = designs.DESIGNS[name](0)
    assert len(X) == len(y)
    assert all(max(one) < X.shape[1] for one in needed)
    assert every is None or all(one <= set(map(int, every)) for one in needed)
    np.testing.assert_array_equal(X, designs.DESIGNS[name](0)[0])


def test_measures_count_either_of_twins():
    answer = {"ranking": np.array([1, 0, 3, 2, 4]), "chosen": np.array([1, 3, 4])}
    line = run.measures(answer, 5, [0, 1, 2, 3], [{0, 1}, {2, 3}])
    assert line["all_first"] == 1
    assert line["all_found"] == 0.5
    assert line["all_false"] == pytest.approx(1 / 3)
    assert line["needed_first"] == 0.5
    assert line["needed_found"] == 1
    assert line["needed_size"] == 3


def test_both_questions_have_their_own_answer():
    one, other = ({"ranking": np.array(order)} for order in ([0, 1], [1, 0]))
    line = run.measures({"all": one, "smallest": other}, 2, [0], [{0}])
    assert line == {"all_first": 1.0, "needed_first": 0.0}


def test_knockoffs_have_the_moments_of_the_columns_and_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    X, copies = selectors.gaussian_knockoffs(X, 0)
    own, between = np.cov(copies.T), (X.T @ copies) / len(X)
    np.testing.assert_allclose(own, np.cov(X.T), atol=0.06)
    apart = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(between[apart], np.cov(X.T)[apart], atol=0.06)
    assert np.diag(between).max() < 0.9


def test_the_page_says_where_covey_is_behind():
    lines = [
        {
            "design": "exclusive or, 2 of 50",
            "selector": name,
            "seed": seed,
            "all_first": first,
            "all_found": 1.0,
            "all_false": 0.1 * seed,
            "needed_first": 1.0,
            "needed_found": 1.0,
            "needed_size": 2,
            "needed_false": 0.0,
            "seconds": 1.0,
        }
        for name, first in (("covey", 0.5), ("recursive elimination", 0.75), ("F-test, BH", 1.0))
        for seed in (0, 1)
    ]
    text = report.page(pd.DataFrame(lines))
    assert "behind in 1: exclusive or, 2 of 50 (all: 0.50 against 0.75)." in text
    assert "| exclusive or, 2 of 50 | 2 | 0.050 ± 0.050 | 0.050 ± 0.050 |" in text
    assert "<!--" not in text


def test_rates_of_the_tests_alone_are_those_of_a_fit():
    X, y, true, _ = designs.difference(2)
    selector = SubsetSelector(n_resamples=2, random_state=0).fit(X, y)
    found = set(selector.get_support(indices=True))
    share = len(found - set(true)) / max(1, len(found))
    assert rates.false_share(designs.difference, 2, 0.05) == share > 0
