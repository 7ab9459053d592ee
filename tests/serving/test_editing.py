"""Corrections that a person draws on the served page: who may, what they cost, where they go."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import covey
from covey.serving import Editing, Limits, make_app
from tests.reporting.test_browser import emulate, until
from tests.serving.conftest import QUOTES, make_table, serving
from tests.serving.test_browser import click, text

OLD = [["age", None, [[30, 0.0], [60, 0.2]]]]


def corrections(given=OLD):
    return [
        {"column": column, "label": label, "points": points} for column, label, points in given
    ]


@pytest.fixture(scope="module")
def editor(model, table):
    """A client of a model whose corrected copies are kept in a list, and their list."""
    saved = []
    y = np.where(make_table()[1] > 0, "yes & <i>", "no")
    editing = Editing(model, lambda made: saved.append(made) or "Saved.", (table[1::2], y[1::2]))
    app = make_app(model, Limits(seconds=120), editing=editing)
    with TestClient(app, base_url="http://localhost") as client:

        def ask(given=OLD, column="age", key=editing.key, **more):
            body = {"corrections": corrections(given), "column": column, **more}
            content = json.dumps(body)
            headers = {"Covey-Key": key, "Content-Type": "application/json"}
            return client.post("/edit", content=content, headers=headers)

        ask.client, ask.editing, ask.saved, ask.held_out = client, editing, saved, (table, y)
        yield ask


def test_nothing_of_it_exists_unless_it_is_asked_for(client):
    assert client.get("/edit").status_code == 404
    assert client.post("/edit", json={}).status_code == 404
    assert "Covey-Key" not in client.get("/").text


def test_the_effect_and_the_price_are_those_of_the_corrected_copy(editor, model, table):
    told = editor().json()
    X, y = editor.held_out
    made = model.with_effect("age", {30: 0.0, 60: 0.2}, held_out=(X[1::2], y[1::2]))
    assert told["corrections"] == [made.corrections_[-1].said]
    assert told["cost"] in made.corrections_[-1].said
    assert re.match(r"On 120 given rows: [\d.]+ % right instead of [\d.]+ %", told["cost"])
    rise = np.interp([30, 60], told["values"], told["now"])
    assert rise[1] - rise[0] == pytest.approx(0.2, abs=0.01)
    before = editor([]).json()
    assert before["now"] == before["before"] == told["before"]
    assert before["cost"] is None


def test_corrections_of_several_columns_are_priced_together(editor):
    first = editor().json()
    second = editor([*OLD, [QUOTES, None, [["plain", 0.3]]]], column=QUOTES).json()
    assert second["corrections"][0] == first["corrections"][0]
    assert len(second["corrections"]) == 2
    assert second["cost"] != first["cost"]
    assert set(second["values"]) == {"<b>bold</b>", "plain", "東京"}


def test_what_is_saved_is_a_copy_and_the_served_model_stays(editor, model, rows):
    before = editor.client.post("/predict", json={"rows": rows[:20]}).json()
    assert editor(save=True).json()["saved"] == "Saved."
    assert editor([], save=True).json()["saved"] is None
    (made,) = editor.saved
    assert [one.column for one in made.corrections_] == ["age"]
    assert not model.corrections_
    assert editor.client.post("/predict", json={"rows": rows[:20]}).json() == before
    editor.saved.clear()


def test_nobody_edits_without_the_key_and_no_page_has_it(editor):
    for key in ("", "x", editor.editing.key[:-1], "é"):
        answer = editor(key=key.encode(), save=True)
        assert answer.status_code == 403
        assert "its end is the key" in answer.json()["error"]
    assert not editor.saved
    for path in ("/", "/edit", "/model", "/openapi.json"):
        assert editor.editing.key not in editor.client.get(path).text
    page = editor.client.get("/edit")
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    headers = {"Covey-Key": editor.editing.key, "Content-Type": "text/plain"}
    assert editor.client.post("/edit", content="{}", headers=headers).status_code == 415
    # A page of another host must first ask whether it may send the key, and is told no.
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answer = editor.client.options("/edit", headers=asked)
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    ("given", "more", "sentence"),
    [
        ([["age", None, [[30, "a"], [60, 0]]]], {}, "points: 'a' is not a number; give a number."),
        ([["age", None, [[30, np.nan], [60, 0]]]], {}, "points: nan is not a finite number"),
        ([["age", None, [[np.inf, 0], [60, 0]]]], {}, "points: inf is not a finite number"),
        ([["age", None, [[30, 1e308], [60, -1e308]]]], {}, "differ by less than 1"),
        ([[QUOTES, None, [["plain", 1e308]]]], {}, "differ by less than 1"),
        ([["age", None, [[-1e9, 0], [60, 0.1]]]], {}, "points must be values of age from"),
        ([["age", None, [[30, 0]]]], {}, "points must be 2 to 100 values of age, got 1"),
        ([["age", None, [[i, 0] for i in range(201)]]], {}, "at most 200 items"),
        ([["age", None, 3]], {}, "points: input should be a valid list, got 3."),
        ([["height", None, [[30, 0], [60, 0]]]], {}, "the column 'height'"),
        ([["seen on", None, [[30, 0], [60, 0]]]], {}, "seen on is neither"),
        ([[QUOTES, None, [["none", 0.1]]]], {}, "has no category 'none'"),
        ([["age", "maybe", [[30, 0], [60, 0]]]], {}, "'maybe' is not a class of the model"),
        ([["age", [1], [[30, 0], [60, 0]]]], {}, "label: [1] is not text"),
        (OLD * 21, {}, "at most 20 items"),
        ([], {"column": "height"}, "the column 'height'"),
        ([], {"out": "/etc/passwd"}, "The body has 'out', which is not known here."),
    ],
)
def test_what_is_no_correction_is_one_sentence(editor, given, more, sentence):
    answer = editor(given, **more)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_a_million_points_are_refused_before_they_are_read(editor):
    assert editor([["age", None, [[i, 0.1] for i in range(10**6)]]]).status_code == 413


@pytest.mark.slow
def test_requests_at_the_same_time_get_their_own_answers(editor):
    asked = [[["age", None, [[30, 0.0], [60, by / 50]]]] for by in range(8)]
    alone = [editor(one).json() for one in asked]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(editor, asked))
    for one, answer in zip(alone, together, strict=True):
        assert answer.json() == one


def test_why_a_file_cannot_be_written_is_told(model, table):
    def fail(made):
        raise OSError("better.covey may not be written; choose another place.")

    editing = Editing(model, fail, (table, np.where(make_table()[1] > 0, "yes & <i>", "no")))
    app = make_app(model, Limits(seconds=120), editing=editing)
    client = TestClient(app, base_url="http://localhost")
    body = {"corrections": corrections(), "column": "age", "save": True}
    answer = client.post("/edit", json=body, headers={"Covey-Key": editing.key})
    assert answer.status_code == 422
    assert answer.json()["error"] == "better.covey may not be written; choose another place."


# -- in a browser ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """A server of a model in a file with a table, the address of its page, and the folder."""
    folder = tmp_path_factory.mktemp("editing")
    table, score = make_table(400)
    table["ill"] = np.where(score > 0, "yes", "no")
    table[:200].to_csv(folder / "old.csv", index=False)
    table[200:].to_csv(folder / "new.csv", index=False)
    fit = ("fit", "old.csv", "--target", "ill", "--effort", "fast", "--model", "model.covey")
    subprocess.run(
        [sys.executable, "-m", "covey", *fit, "--quiet"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    how = ("--edit", str(folder / "better.covey"), "--table", str(folder / "new.csv"))
    with serving(folder / "model.covey", *how, "--port", "0", "--seconds", "120") as server:
        server.edit = server.process.stdout.readline().split()[-1]
        yield server, folder


@pytest.mark.slow
def test_a_person_drags_a_point_sees_the_price_and_saves(browser, edited):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    server, folder = edited
    emulate(browser, 1280, "light")
    browser.get_log("browser")
    browser.get(server.edit)
    until(browser, lambda: len(browser.find_elements("css selector", ".handle")) == 7)
    assert text(browser, "#effect-head") == "Effect of age"
    assert text(browser, "#cost").startswith("Nothing yet")

    def value(place):
        find = "return document.querySelectorAll('.handle')[arguments[0]].ariaValueNow"
        return float(browser.execute_script(find, place))

    before = [value(place) for place in range(7)]
    point = browser.find_elements("css selector", ".handle .dot")[3]
    ActionChains(browser).click_and_hold(point).move_by_offset(0, -40).release().perform()
    until(browser, lambda: "On 200 given rows" in text(browser, "#cost"))
    after = [value(place) for place in range(7)]
    assert after[3] > before[3] + 0.01
    assert after[:3] + after[4:] == before[:3] + before[4:]
    price = text(browser, "#cost")

    # With the keyboard, another point; and back.
    browser.find_elements("css selector", ".handle")[1].send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    until(
        browser, lambda: "given rows" in text(browser, "#cost") and text(browser, "#cost") != price
    )
    assert value(1) < before[1]
    focused = "return document.activeElement.dataset.place === arguments[0].dataset.place"
    handle = browser.find_elements("css selector", ".handle")[1]
    assert browser.execute_script(focused, handle)
    click(browser, "#undo")
    until(browser, lambda: text(browser, "#cost") == price)

    # A category, too.
    browser.execute_script(
        "const list = document.getElementById('column');"
        "list.value = [...list.options].find((one) => one.text === arguments[0]).value;"
        "list.dispatchEvent(new Event('change'))",
        QUOTES,
    )
    until(browser, lambda: len(browser.find_elements("css selector", ".handle")) == 3)
    browser.find_elements("css selector", ".handle")[0].send_keys(Keys.PAGE_UP)
    until(browser, lambda: len(browser.find_elements("css selector", "#done li")) == 2)
    until(browser, lambda: browser.find_element("id", "save").is_enabled())
    click(browser, "#save")
    until(browser, lambda: text(browser, "#saved"))
    assert text(browser, "#saved") == f"Saved {folder / 'better.covey'}."
    old, made = (covey.load(folder / name) for name in ("model.covey", "better.covey"))
    assert [one.column for one in made.corrections_] == ["age", QUOTES]
    assert made.corrections_[0].n_rows == 200
    assert price.removesuffix(".") in made.corrections_[0].said
    table = make_table(400)[0]
    table["seen on"] = pd.to_datetime(table["seen on"], format="%d/%m/%Y")
    assert not np.allclose(old.predict_proba(table), made.predict_proba(table))
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.broken") is None


@pytest.mark.slow
def test_the_page_fits_screens_and_every_control_has_a_name(browser, edited):
    server, _ = edited
    for width, theme in ((320, "light"), (390, "dark"), (1280, "light")):
        emulate(browser, width, theme)
        browser.get("about:blank")
        browser.get(server.edit)
        until(browser, lambda: browser.find_elements("css selector", ".handle"))
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('select, button, [role=slider]')].filter((one) =>"
        "!(one.labels && one.labels.length) && !one.getAttribute('aria-label')"
        "&& !one.textContent.trim()).map((one) => one.outerHTML)"
    )
    assert nameless == []


@pytest.mark.slow
def test_without_the_key_the_page_says_so_and_shows_nothing(browser, edited):
    server, _ = edited
    browser.get("about:blank")
    browser.get(server.edit.partition("#")[0])
    until(browser, lambda: "its end is the key" in text(browser, "#trouble"))
    assert not browser.find_elements("css selector", ".handle")
    browser.get_log("browser")


@pytest.mark.slow
def test_the_served_model_is_not_replaced_by_a_link_to_it(edited):
    server, folder = edited
    before = (folder / "model.covey").read_bytes()
    out = folder / "better.covey"
    out.unlink(missing_ok=True)
    out.symlink_to(folder / "model.covey")
    body = {"corrections": corrections(), "column": "age", "save": True}
    asked = urllib.request.Request(
        server.url + "/edit",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Covey-Key": server.edit.partition("#")[2]},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=120)
    assert refused.value.code == 422
    assert "is what is read, and would be replaced" in refused.value.read().decode()
    assert (folder / "model.covey").read_bytes() == before
    out.unlink()
    # Two saves: each is whole, and the last one stays.
    for _ in range(2):
        with urllib.request.urlopen(asked, timeout=120) as answer:
            assert json.loads(answer.read())["saved"] == f"Saved {out}."
    assert len(covey.load(out).corrections_) == 1
    assert sorted(one.name for one in folder.glob("*.covey")) == ["better.covey", "model.covey"]
