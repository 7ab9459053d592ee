import re

import numpy as np
import pytest

from covey.reporting._diversity import ambiguity
from covey.reporting._inputs import check_inputs
from covey.reporting._value_facts import ValueFacts


def test_ambiguity_is_what_the_mean_errs_less_than_members(diabetes, mean_values):
    _, X, _, y = diabetes
    found = ambiguity(ValueFacts(check_inputs(mean_values, X, y)))
    alone, spread, together = (cell.by for _, cell in found["rows"])
    members = mean_values.member_predictions(X)
    assert alone == pytest.approx(np.mean((members - y[:, None]) ** 2))
    assert alone - spread == pytest.approx(together)
    assert together == pytest.approx(np.mean((members.mean(axis=1) - y) ** 2))


def test_each_pair_of_members_is_shown_once(reports):
    drawn = re.search('aria-labelledby="diversity-map-t".*?</svg>', reports["product"].html, re.S)
    assert drawn[0].count("<title>member") == 5 * 4 / 2
