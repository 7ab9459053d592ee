"""Hugging Face's own reader takes our model cards."""

import pytest

hub = pytest.importorskip("huggingface_hub")


@pytest.mark.parametrize("kind", ["classifier", "mixed", "regressor"])
def test_the_hub_reads_a_card(kind, request, classes, values):
    flock = request.getfixturevalue(kind)
    X, y = values if kind == "regressor" else classes
    card = hub.ModelCard(flock.model_card(X, y, title="A flock", license="bsd-3-clause"))
    assert card.data.library_name == "covey"
    assert card.data.license == "bsd-3-clause"
    assert card.data.model_name == "A flock"
    wanted = "r_squared" if kind == "regressor" else "accuracy"
    found = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert found[wanted] == pytest.approx(flock.score(X, y), abs=1e-5)
    assert "## Members" in card.text
