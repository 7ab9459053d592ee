import numpy as np


def test_a_row_that_is_wrong_is_explained(wine, fused, reports):
    _, X, _, y = wine
    assert fused.score(X, y) < 1
    wrong = np.flatnonzero(fused.predict(X) != y)
    sure = fused.predict_proba(X).max(axis=1)
    worst = wrong[np.argmax(sure[wrong])]
    card = reports["fused"].html.split(f"<h3>Row {worst}<")[1].split("</article>")[0]
    assert "surest and wrong" in card
    assert "but it is" in card
