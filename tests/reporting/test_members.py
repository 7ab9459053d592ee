"""The section about members, of flocks of all kinds."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from covey import FlockClassifier, SubsetEnsembleClassifier, diversity, gate_share, held_out_bound
from covey.inspection import vote_bound
from covey.reporting import build_report
from covey.reporting._inputs import check_inputs
from covey.reporting._members import members
from covey.reporting._value_facts import ValueFacts
from covey.reporting._words import percent
from tests.reporting.conftest import words_of


def said(html):
    """The words of the section."""
    return words_of(html, "members").replace("\u00a0", " ")


@pytest.fixture(scope="module")
def mixed(wine):
    X, _, y, _ = wine
    weak = [("stump", DecisionTreeClassifier(max_depth=1)), "neighbors_few"]
    model = FlockClassifier(members=weak, cv=3, random_state=0).fit(X, y)
    assert model.n_estimators_ == 2
    return model


@pytest.fixture(scope="module")
def mixed_page(mixed, wine):
    _, X, _, y = wine
    return build_report(mixed, X, y).html


def test_each_member_has_a_line_with_what_it_looks_at(wine, product, reports):
    X_train, X, _, y = wine
    html = reports["product"].html
    for k, member in enumerate(product.estimators_):
        line = html.split(f'data-by="member {k + 1}"')[1].split("</tr>")[0]
        assert percent(member.score(X, y)) in line
        coef = product.member_coef_[k] * X_train.std(axis=0, ddof=0).to_numpy()
        size = np.abs(coef - coef.mean(axis=0)).mean(axis=0)
        strongest = product.feature_names_in_[size.argmax()]
        favored = product.classes_[(coef - coef.mean(axis=0))[:, size.argmax()].argmax()]
        assert strongest in line
        assert favored.replace("&", "&amp;") in line.split(" → ")[1]
        assert f'data-by="{product.support_[k].sum()}"' in line


def test_equal_weights_take_one_sentence(reports):
    assert "All members alike, 20\u00a0% each" in reports["product"].html
    assert "decides-class-map" not in reports["product"].html
    assert "decides-class-map" in reports["gated"].html


def test_a_gated_flock_says_what_is_lost_without_its_gate(
    reports, wine, gated, diabetes, gated_values
):
    for kind, model, (_, X, _, y) in (
        ("gated", gated, wine),
        ("gated values", gated_values, diabetes),
    ):
        lost = percent(gate_share(model, X, y).lost_without_gate)
        assert f"<strong>{lost}</strong> is lost" in reports[kind].html
    assert "Of what this flock knows" not in reports["product"].html
    assert "Of what this flock knows" not in reports["fused"].html


def test_how_much_members_differ_is_diversity(reports, wine, product):
    _, X, _, y = wine
    found = diversity(product.member_probabilities(X), np.unique(y, return_inverse=True)[1])
    words = said(reports["product"].html)
    plain = percent(found["disagreement"]).replace("\u00a0", " ")
    assert f"just one is right on {plain} of rows" in words


def test_the_mean_errs_less_than_members_by_how_much_they_differ(diabetes, mean_values):
    _, X, _, y = diabetes
    found = members(ValueFacts(check_inputs(mean_values, X, y)))["apart"]
    values = mean_values.member_predictions(X)
    assert found["alone"] == pytest.approx(np.mean((values - y[:, None]) ** 2))
    together = np.mean((values.mean(axis=1) - y) ** 2)
    assert found["alone"] - found["spread"] == pytest.approx(together)
    gaps = [np.sqrt(np.mean((a - b) ** 2)) for k, a in enumerate(values.T) for b in values.T[:k]]
    assert found["between"] == pytest.approx(np.mean(gaps))


def test_guarantees_are_those_of_the_bounds(wine, reports, product):
    X, X_new, y, y_new = wine
    held = held_out_bound(y_new, product.predict(X_new)).guarantee
    assert f"the model errs on <strong>{percent(held)}</strong>" in reports["product"].html
    assert "a vote by how often" not in reports["product"].html
    vote = SubsetEnsembleClassifier(3, fuser="majority", max_iter=20, random_state=0).fit(X, y)
    codes = np.unique(y_new, return_inverse=True)[1]
    bound = vote_bound(vote.member_probabilities(X_new), codes).guarantee
    html = build_report(vote, X_new, y_new).html
    assert f"two members err together errs on <strong>{percent(min(bound, 1))}</strong>" in html
    assert "What is guaranteed" not in reports["mean values"].html


def test_a_single_member_leaves_nothing_empty(wine):
    X, X_new, y, y_new = wine
    single = SubsetEnsembleClassifier(1, fuser="product", random_state=0).fit(X, y)
    words = said(build_report(single, X_new, y_new).html)
    for heading in ("What they look at", "Who decides where", "How much they differ"):
        assert heading not in words
    assert "it is the whole model" in words


def test_weights_that_held_out_rows_chose_are_called_learnt(mixed_page):
    words = words_of(mixed_page, "asked")
    assert "weights learnt from held-out rows, the same for every row" in words


def test_the_first_members_are_fused_by_their_weights(mixed_page, mixed, wine):
    _, X, _, y = wine
    assert f"2 fused by mean get {100 * mixed.score(X, y):.3g}" in said(mixed_page)
    assert "has learnt to fuse all members" not in said(mixed_page)


def test_members_of_other_kinds_show_what_they_look_at_and_weigh(mixed_page, mixed):
    assert "looks-at-map" in mixed_page
    assert "gives each member the same weight on every row" in said(mixed_page)
    assert "decides-class-map" not in mixed_page
    for name in mixed.named_estimators_:
        assert name in said(mixed_page)
