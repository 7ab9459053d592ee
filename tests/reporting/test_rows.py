from html import escape

import numpy as np

from covey.reporting._words import percent

# The start of a card; rows are called as the frame's index does.
ROW = '<h4><span>Row <span class="name">'


def card_of(html, row):
    return html.split(f"{ROW}{row}<")[1].split("</article>")[0]


def test_a_row_that_is_wrong_is_explained(wine, fused, reports):
    _, X, _, y = wine
    assert fused.score(X, y) < 1
    wrong = np.flatnonzero(fused.predict(X) != y)
    sure = fused.predict_proba(X).max(axis=1)
    worst = X.index[wrong[np.argmax(sure[wrong])]]
    card = card_of(reports["fused"].html, worst)
    assert "surest and wrong" in card
    assert "but it is" in card


def test_a_row_says_how_much_of_it_is_the_gates(wine, gated, reports):
    _, X, _, _ = wine
    html = reports["gated"].html
    row = int(html.split(ROW)[1].split("<")[0])
    card = card_of(html, row)
    share = gated.explain(X.loc[[row]])[0]["gate_share"]
    assert f"{escape(percent(share))} of this prediction is due to the weights" in card
    assert "of this prediction is due to the weights" not in reports["product"].html
