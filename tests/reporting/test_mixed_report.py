"""The page of a flock of several kinds of members."""

import re

import pytest
from sklearn.tree import DecisionTreeClassifier

from covey import FlockClassifier
from covey.reporting import build_report


@pytest.fixture(scope="module")
def mixed(wine):
    X, _, y, _ = wine
    weak = [("stump", DecisionTreeClassifier(max_depth=1)), "neighbors_few"]
    model = FlockClassifier(members=weak, cv=3, random_state=0).fit(X, y)
    assert model.n_estimators_ == 2
    return model


@pytest.fixture(scope="module")
def page(mixed, wine):
    _, X, _, y = wine
    return build_report(mixed, X, y).html


def text_of(page, section):
    """The words of a section of the page."""
    inside = page.partition(f'id="{section}"')[2].partition("</section>")[0]
    return " ".join(re.sub("<[^>]*>", " ", inside).split())


def test_weights_that_held_out_rows_chose_are_called_learnt(page):
    assert "weights learnt from held-out rows, the same for every row" in text_of(page, "asked")


def test_the_first_members_are_fused_by_their_weights(page, mixed, wine):
    _, X, _, y = wine
    words = text_of(page, "size")
    assert f"2 fused by mean get {100 * mixed.score(X, y):.3g}" in words.replace("\u00a0", " ")
    assert "has learnt to fuse all members" not in words


def test_every_member_shows_what_it_looks_at(page, mixed):
    assert "Bars show how much features matter to a member" in text_of(page, "members")
    for k in range(mixed.n_estimators_):
        assert f"weights-{k}" in page
    assert "looks-at-map" in page


def test_weights_that_no_row_changes_take_a_table(page, mixed):
    words = text_of(page, "decides")
    assert "gives each member the same weight on every row" in words
    assert "decides-class-map" not in page
    for name in mixed.named_estimators_:
        assert name in words


def test_a_single_member_leaves_no_section_empty(wine):
    X, test, y, labels = wine
    one = FlockClassifier(members=["neighbors_few"], cv=3, random_state=0).fit(X, y)
    assert "What members look at" not in build_report(one, test, labels).html
