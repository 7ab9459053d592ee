"""The page of a check shows what the record says, as text, and loads nothing."""

import re

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier, check
from covey.evaluation import Check
from covey.reporting import build_check_page

ODD = "</script><b>name</b>"


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(50, 9, 300), ODD: rng.choice(["a", "b"], 300)})
    ill = np.where(table["age"] > 50, "yes", "no")
    model = FlockClassifier(effort="fast", random_state=0).fit(table, ill).calibrate(table, ill)
    return check(model, table.assign(**{"age": table["age"] + 30, ODD: "<i>c</i>"}), ill)


def test_the_page_says_what_the_record_says(found):
    page = build_check_page(found, title="Now").html
    assert "Something has changed" in page
    assert found.sentences[0].split(":")[0] in page
    assert page.count("<h3>") == sum(one.state == "changed" for one in found.columns)


def test_names_and_values_are_text_and_nothing_is_loaded(found):
    page = build_check_page(found).html
    assert "<b>name" not in page
    assert "<i>c" not in page
    assert not re.search(r"(src|href)=|<script|url\(", page)
    assert "default-src 'none'" in page


def test_a_record_of_which_little_is_known_is_shown():
    page = build_check_page(Check("numbers", sentences=["Nothing is known."])).html
    assert "It holds" in page
    assert "Nothing is known." in page
