"""Terminal, page, served page and model card say the same sentences of one evaluation."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier, FlockRegressor, evaluate
from covey.cli._console import Console
from covey.cli._fit_summary import show_answers
from covey.evaluation import _sentences as sentences
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import Readable
from covey.evaluation._sentences import answers
from covey.reporting import build_card, build_report


def of(kind):
    """A model of a table of a kind, evaluated on rows held out, and kept with it."""
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "income": rng.gamma(4, 12_000, n).round(),
            "work": rng.choice(["Self-employed", "Private", None], n, p=[0.3, 0.6, 0.1]),
            "dose": rng.normal(0, 1e-3, n).round(6),
        }
    )
    risk = table["income"] / 40_000 + 900 * table["dose"] + (table["work"] == "Private")
    if kind == "numbers":
        y = (1e6 * risk + rng.normal(0, 3e5, n)).to_numpy()
        model = FlockRegressor(effort="fast", random_state=0)
    else:
        cut = np.quantile(risk, 0.94 if kind == "rare" else 0.5)
        y = (risk + rng.normal(0, 0.2, n) > cut).astype(int).to_numpy()
        model = FlockClassifier(effort="fast", random_state=0)
    model.fit(table[::2], y[::2])
    one = evaluate(model, table[1::2], y[1::2], target="stroke", n_rows=200)
    model.evaluation_ = one
    return model, one


@pytest.fixture(scope="module", params=["classes", "rare", "numbers"])
def known(request):
    return of(request.param)


def words_of(text):
    return " ".join(text.replace("\u00a0", " ").split())


def plain(html):
    html = re.sub(r"<(style|script)[^>]*>.*?</\1>", " ", html, flags=re.DOTALL)
    return words_of(unescape(re.sub(r"<[^>]*>", " ", html)).replace(" ,", ",").replace(" .", "."))


def test_the_same_sentences_are_in_terminal_page_served_page_and_card(known, capsys):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from covey.serving import make_app

    model, one = known
    show_answers(Console(), one)
    terminal = words_of(capsys.readouterr().out)
    page = plain(build_report(one).html)
    served = plain(TestClient(make_app(model), base_url="http://localhost").get("/").text)
    card = words_of(re.sub(r"\\(.)", r"\1", build_card(model)))
    said = answers(one)
    assert [question for question, _ in said] == list(sentences.QUESTIONS)
    for place, text in {
        "terminal": terminal,
        "page": page,
        "served": served,
        "card": card,
    }.items():
        for _, lines in said:
            for line in lines:
                shown = words_of(line)
                if place == "page":
                    # Its first number stands in large letters.
                    text, shown = (re.sub(r"\s+", "", each) for each in (text, shown))
                assert shown in text, (place, shown)


def test_numbers_are_written_as_people_write_them(known, capsys):
    _, one = known
    show_answers(Console(), one, verbose=False)
    texts = [capsys.readouterr().out, " ".join(s for _, said in answers(one) for s in said)]
    texts.append(plain(build_report(one).html))
    for text in texts:
        assert not re.search(r"\de[+-]\d", text)
        assert not re.search(r"\b(\d+) to \1 %", text)
        assert "nan" not in text
    # A category stands within quotes, behind what is said of it.
    lines = dict(answers(one))["What does it look at?"]
    (work,) = [line for line in lines if " work: " in line]
    assert re.search(r"(of|for) '(Self-employed|Private)'", work)


def test_how_much_there_is_to_read_is_said_at_once(known, capsys):
    model, one = known
    terms = f"{model.n_terms_:,} term"
    show_answers(Console(), one)
    assert terms in capsys.readouterr().out.split("How right")[0]
    head = build_report(one).html.partition("<header>")[2].partition("</header>")[0]
    assert terms in plain(head)


@pytest.mark.parametrize(
    ("value", "price"),
    [
        (0.819, ("0.4 points less often", "0.00", "0.4 points less")),
        (0.863, ("4.0 points more often", "0.04 higher", "4.0 points more")),
        (0.8231, ("as often", "the same", "as much")),
    ],
)
def test_the_price_of_reading_is_a_difference_on_the_same_rows(known, value, price):
    _, one = known
    readable = replace(one, n_terms=400, readable=Readable(38, value, 0.823))
    which = 2 if one.task == "numbers" else int(one.rare is not None)
    wanted = "the same" if price[which] == "0.00" else price[which]
    assert f"{wanted}: --max-terms 40" in sentences.size(readable)
    # Who reads 40 terms anyway is offered no version with fewer.
    assert "--max-terms" not in sentences.size(replace(readable, n_terms=40))


def test_a_useless_model_is_called_so():
    rng = np.random.default_rng(0)
    p = np.full((200, 2), 0.5) + rng.normal(0, 0.01, 200)[:, None] * [1, -1]
    y = rng.choice(["heads", "tails"], 200)
    models = [
        Predicted("flock", p, "own"),
        Predicted("commonest class", np.full((200, 2), 0.5), "simplest"),
    ]
    held_out = HeldOut(y, models, ["heads", "tails"])
    table = pd.DataFrame({"x": rng.normal(size=200)})
    model = FlockClassifier(effort="fast", random_state=0).fit(table, y)
    one = evaluate(model, table, held_out=held_out)
    assert one.verdict in ("useless", "perhaps useless")
    assert "a guess that looks at no column" in " ".join(dict(answers(one))["How right is it?"])
