"""The page as text."""

import json
import re

from covey.serving._page import Page
from tests.reporting.conftest import Outline
from tests.serving.conftest import NASTY, QUOTES


def test_the_page_is_one_file_that_names_no_other_host(client):
    html = client.get("/").text
    assert not re.findall(r"https?://", html)
    sources = re.findall(r"(?:src|href)=\"([^\"]*)\"", html)
    assert set(sources) == {"data:,", "#answer", "openapi.json", "model"}


def test_names_and_labels_are_text_wherever_they_stand(client):
    outline = Outline(client.get("/").text)
    assert outline.counts["script"] == 2
    assert outline.counts["title"] == 1


def test_facts_within_the_page_are_those_of_the_model(client):
    html = client.get("/").text
    held = re.search(r'id="facts">(.*?)</script>', html, re.DOTALL)[1]
    assert "<" not in held
    facts = json.loads(held)
    assert facts == client.get("/model").json()
    assert [one["name"] for one in facts["columns"]][1:3] == [NASTY, QUOTES]


def test_the_policy_allows_the_pages_own_script_and_nothing_else(client):
    policy = client.get("/").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", rules["script-src"])
    assert "unsafe" not in policy


def test_the_policy_changes_with_the_script(client, tmp_path, monkeypatch):
    facts = client.get("/model").json()
    one = Page(facts)
    assert one.policy == Page({**facts, "predicts": "other"}).policy
    assert one.html != Page({**facts, "predicts": "other"}).html
