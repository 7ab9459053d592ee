"""What ``explain`` gives is a list of records, and text for a person."""

import json
import pickle

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

from covey import FlockClassifier, FlockRegressor


@pytest.fixture(scope="module", params=["classes", "numbers"])
def explained(request):
    load, kind = {
        "classes": (load_wine, FlockClassifier),
        "numbers": (load_diabetes, FlockRegressor),
    }[request.param]
    X, y = load(return_X_y=True, as_frame=True)
    return kind(effort="fast", random_state=0).fit(X, y).explain(X[:30])


def test_it_is_a_list_of_records(explained):
    assert isinstance(explained, list)
    assert json.loads(json.dumps(explained))[0]["because"] == explained[0]["because"]
    assert pickle.loads(pickle.dumps(explained)) == explained


def test_printed_it_names_the_columns_and_no_brackets_of_code(explained):
    text = str(explained)
    assert not set("{}[]'") & set(text)
    first, *_ = text.split("\n\n")
    for side in ("because", "against"):
        assert all(one["column"] in first for one in explained[0][side])
    assert max(map(len, text.splitlines())) < 200
    assert text.endswith("and 10 more rows")
    assert "Row 1: " in explained._repr_html_()


def test_names_of_columns_are_escaped_on_a_page():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = pd.DataFrame({"<b>": X["proline"], "hue": X["hue"]})
    found = FlockClassifier(effort="fast", random_state=0).fit(X, y).explain(X[:1])
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
