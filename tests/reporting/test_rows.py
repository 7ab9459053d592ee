from html import escape

import numpy as np

from covey.reporting._words import percent


def test_a_row_that_is_wrong_is_explained(wine, fused, reports):
    _, X, _, y = wine
    assert fused.score(X, y) < 1
    wrong = np.flatnonzero(fused.predict(X) != y)
    sure = fused.predict_proba(X).max(axis=1)
    worst = wrong[np.argmax(sure[wrong])]
    card = reports["fused"].html.split(f"<h3>Row {worst}<")[1].split("</article>")[0]
    assert "surest and wrong" in card
    assert "but it is" in card


def test_a_row_says_how_much_of_it_is_the_gates(wine, gated, reports):
    _, X, _, _ = wine
    html = reports["gated"].html
    row = int(html.split("<h3>Row ")[1].split("<")[0])
    card = html.split(f"<h3>Row {row}<")[1].split("</article>")[0]
    share = gated.explain(X[row : row + 1])[0]["gate_share"]
    assert f"{escape(percent(share))} of this prediction is due to the weights" in card
    assert "of this prediction is due to the weights" not in reports["product"].html
