"""Whoever is asked what a model looks at gives one answer."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import covey

from .conftest import as_json


def people(kind):
    """A table with gaps and categories in which three columns count, each less than the last."""
    rng = np.random.default_rng(0)
    n = 600
    sex, age = rng.choice(["f", "m"], n), rng.integers(1, 80, n).astype(float)
    deck = rng.choice(list("abcdef"), n)
    table = pd.DataFrame({"deck": deck, "noise": rng.normal(size=n).round(3), "age": age})
    table["sex"] = sex
    risk = 3.0 * (sex == "f") - 0.03 * age + 0.8 * (deck < "c") + rng.normal(0, 0.7, n)
    table.loc[::9, "age"] = np.nan
    cut = {"classes": 1.0, "rare": np.quantile(risk, 0.9)}
    saved = (
        np.round(100 * risk, 1) if kind == "numbers" else np.where(risk > cut[kind], "yes", "no")
    )
    return table.assign(saved=saved)


def order_in(text, names):
    """The names in the order in which a text gives them a share."""
    return re.findall(rf"[\d.]+ % ({'|'.join(names)})\b", text)


def order_in_page(page):
    """The columns in the order of their cards."""
    cards = re.findall(r"<h3>(.*?)</h3>", page.partition("</section>")[0])
    return [re.search(r'class="name">([^<]*)<', card)[1] for card in cards]


@pytest.mark.parametrize(
    "kind",
    ["classes", *(pytest.param(one, marks=pytest.mark.slow) for one in ("rare", "numbers"))],
)
def test_the_same_columns_come_first_wherever_they_are_told(kind, tmp_path, run):
    table = people(kind)
    table.to_csv(tmp_path / "people.csv", index=False)
    given = ("people.csv", "--target", "saved")
    shown = run("fit", *given, "--report", "page.html", cwd=tmp_path).stdout
    model = covey.load(tmp_path / "flock.covey")
    names = model.importance_.columns
    first = [names[place] for place in model.importance_.order if model.importance_.share[place]]
    assert first[0] == "sex"
    assert set(first[:3]) == {"sex", "age", "deck"}
    assert_allclose(model.feature_importances_, model.importance_.share)
    assert [one.name for one in model.evaluation_.used] == first
    lines = shown.partition("What does it look at?")[2].partition("When is it wrong?")[0]
    told = order_in(lines, names)
    assert told == first[: len(told)]
    assert len(told) >= 3
    card = model.model_card().partition("What does it look at?")[2].partition("When is")[0]
    assert order_in(card.replace("\\", ""), names) == told
    page = (tmp_path / "page.html").read_text().partition('<div class="effects">')[2]
    assert order_in_page(page) == first
    selected = as_json(run("select", *given, "--json", cwd=tmp_path))["columns"]
    ranked = [one["column"] for one in selected if one["counts"]]
    assert ranked == first
    by_name = dict(zip(names, model.importance_.share, strict=True))
    for one in selected:
        assert one["counts"] == pytest.approx(by_name[one["column"]])


@pytest.mark.parametrize("kind", ["classes", pytest.param("numbers", marks=pytest.mark.slow)])
def test_the_served_page_says_the_same(kind, tmp_path, run):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from covey.serving import make_app

    people(kind).to_csv(tmp_path / "people.csv", index=False)
    run("fit", "people.csv", "--target", "saved", "--effort", "fast", cwd=tmp_path)
    model = covey.load(tmp_path / "flock.covey")
    page = TestClient(make_app(model), base_url="http://localhost").get("/").text
    plain = " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u00a0", " ").split())
    lines = plain.partition("What does it look at?")[2].partition("When is it wrong?")[0]
    names = model.importance_.columns
    order = [names[place] for place in model.importance_.order]
    told = order_in(lines, names)
    assert told == order[: len(told)]
    assert told[:2] == ["sex", "age"]
