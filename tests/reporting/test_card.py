"""A model card says what a model is and how good it is, whatever its names hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from covey import FlockClassifier, FlockRegressor, FusionClassifier
from covey.reporting import build_card
from covey.tables import TablePreparation

yaml = pytest.importorskip("yaml")
X, Y = load_iris(return_X_y=True, as_frame=True)


def parts_of(card):
    """The header, parsed, and the text."""
    _, header, text = card.split("---\n", 2)
    return yaml.safe_load(header), text


def fast(**how):
    return FlockClassifier(effort="fast", n_estimators=2, random_state=0, **how)


def test_the_header_holds_what_is_measured_on_the_rows_that_are_given():
    flock = fast().fit(X[::2], Y[::2])
    card = flock.model_card(X[1::2], Y[1::2], title="Irises", license="mit", about="For botany.")
    header, text = parts_of(card)
    assert header["pipeline_tag"] == "tabular-classification"
    assert header["license"] == "mit"
    (index,) = header["model-index"]
    metrics = {metric["type"]: metric["value"] for metric in index["results"][0]["metrics"]}
    assert metrics["accuracy"] == pytest.approx(flock.score(X[1::2], Y[1::2]), abs=1e-5)
    loss = log_loss(Y[1::2], flock.predict_proba(X[1::2]))
    assert metrics["log_loss"] == pytest.approx(loss, abs=1e-5)
    assert index["name"] == "Irises"
    for told in ("# Irises", "For botany.", "petal width (cm)", "0, 1, 2", "75 rows that the"):
        assert told in text
    assert flock.summary() in text
    assert "| effort | 'fast' |" in text


def test_without_rows_a_flock_goes_by_rows_held_out():
    card = parts_of(fast().fit(X, Y).model_card())
    assert "model-index" not in card[0]
    assert "It is not measured" in card[1]
    flock = fast().fit(X[::2], Y[::2]).calibrate(X[1::2], Y[1::2])
    told, measured = (
        parts_of(card)[0]["model-index"][0]["results"][0]["metrics"]
        for card in (flock.model_card(), flock.model_card(X[1::2], Y[1::2]))
    )
    assert told == measured[: len(told)]
    searched = FlockClassifier(n_estimators=2, cv=2, random_state=0).fit(X[::4], Y[::4])
    assert "training rows, each by models that were fitted without it" in searched.model_card()


def test_numbers_have_measures_of_their_own():
    X, y = load_diabetes(return_X_y=True)
    flock = FlockRegressor(effort="fast", n_estimators=2, random_state=0).fit(X[::2], y[::2])
    header, text = parts_of(flock.model_card(X[1::2], y[1::2]))
    values = {m["type"]: m["value"] for m in header["model-index"][0]["results"][0]["metrics"]}
    predicted = flock.predict(X[1::2])
    assert values["r_squared"] == pytest.approx(r2_score(y[1::2], predicted), abs=1e-5)
    off = mean_absolute_error(y[1::2], predicted)
    assert values["mae"] == pytest.approx(off, abs=1e-4)
    flock.calibrate(X[1::2], y[1::2])
    assert f"{off:.3g}" in parts_of(flock.model_card())[1]
    assert "It predicts a number." in text


def test_a_fusion_names_its_members():
    members = [("line", LogisticRegression(max_iter=500)), ("no", "drop"), ("bayes", GaussianNB())]
    text = FusionClassifier(members).fit(X, Y).model_card(X, Y)
    assert "- line: `LogisticRegression`" in text
    assert "- bayes: `GaussianNB`" in text
    assert "- no" not in text


def test_names_of_all_kinds_break_neither_header_nor_text():
    odd = ["a|b", "```", "---\nx: 1", '"q\\', "<script>"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 5)), columns=odd)
    y = np.where(frame["a|b"] > 0, "yes: |no", "---")
    card = build_card(fast().fit(frame, y), frame, y, title='---\n"t": <b>|')
    header, text = parts_of(card)
    assert header["model-index"][0]["name"] == '--- "t": <b>|'
    assert "a\\|b" in text
    assert "\\<script\\>" in text
    assert "````text" in text


def test_what_cannot_be_told_is_refused():
    with pytest.raises(NotFittedError):
        fast().model_card()
    flock = fast().fit(X, Y)
    with pytest.raises(ValueError, match="X and y, .* or neither"):
        flock.model_card(X)
    with pytest.raises(ValueError, match="y must hold one label for each of the 150 rows"):
        flock.model_card(X, Y[:3])
    with pytest.raises(ValueError, match="y holds 7, which the model was not trained on"):
        flock.model_card(X[:50], np.full(50, 7))


def test_numbers_without_spread_have_no_share_of_it_explained():
    X, y = load_diabetes(return_X_y=True)
    flock = FlockRegressor(effort="fast", n_estimators=2, random_state=0).fit(X[:50], y[:50])
    text = flock.model_card(X[:9], np.ones(9))
    assert "R²" not in text
    assert "Mean absolute error" in text
    with pytest.raises(ValueError, match="at least two rows"):
        flock.model_card(X[:1], y[:1])
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        flock.model_card(X[:9], ["a"] * 9)


def test_a_model_of_a_table_has_a_card_of_what_decides_in_it():
    table = X.assign(town=np.where(np.arange(150) % 3, "Rome", "Oslo"))
    model = fast().fit(table[::2], Y[::2])
    text = model.model_card(table[1::2], Y[1::2])
    assert model.summary() in text
    assert "town" in text
    model.calibrate(table[1::2], Y[1::2])
    assert "75 rows that the model was not fitted on" in model.model_card()
    plain = make_pipeline(TablePreparation(), GaussianNB()).fit(table, Y)
    assert "None: it is one `Pipeline`." in build_card(plain, table, Y)
