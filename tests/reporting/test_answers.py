"""What a reader asks first is answered before the fold, without an expert's word."""

import re

import numpy as np
import pytest

from covey.reporting import build_report
from covey.reporting._words import percent, rough
from tests.reporting.conftest import KINDS, words_of

QUESTIONS = {
    "how-sure": "How sure is it?",
    "looks-at": "What does it look at?",
    "when-wrong": "When is it wrong?",
    "what-changes": "What would change it?",
    "may-i-trust": "May I trust it on my data?",
}
FOR_EXPERTS_ONLY = (
    r"\b(oracle|kappa|clopper|diversit|log-?loss|logit|rmse|brier|calibrat|conformal|recall|"
    r"precision|confusion|posterior|entropy|residual|gate|softmax|ramp\(|auc|roc|variance)"
)


def plain(html):
    """What comes before the fold, without the contents."""
    return html[html.index('<main id="top">') : html.index('<details id="experts">')]


@pytest.mark.parametrize("name", [*KINDS, "loans"])
def test_five_questions_are_answered_before_the_fold_without_an_experts_word(
    name, reports, loan_report
):
    html = plain(loan_report.html if name == "loans" else reports[name].html)
    for key, question in QUESTIONS.items():
        words = words_of(html, key)
        assert words.startswith(question)
        assert len(words.removeprefix(question).split()) >= 8
    visible = re.sub("<(title|desc)[^>]*>.*?</(title|desc)>", "", html, flags=re.DOTALL)
    assert not re.search(FOR_EXPERTS_ONLY, words_of(visible), re.IGNORECASE)
    assert not re.search(r"= (yes|no|\S+) = [01]|is missing = ", words_of(visible))


def test_the_verdict_says_how_right_against_what_and_how_sure_that_is(loan_report, judged, loans):
    head = words_of(loan_report.html.partition("<header>")[2].partition("</header>")[0])
    right = judged.correct.mean()
    assert f"{percent(right)} of its answers are right".replace("\u00a0", " ") in head
    common = percent((loans[1] == "granted").mean()).replace("\u00a0", " ")
    assert f"always answering “ granted ” is right on {common}" in head
    assert "logistic regression, tuned: 85 %" in head
    assert "Judged on 420 rows, each by a model that had not seen it" in head
    assert "With 95 % certainty" in head


def test_a_model_that_is_no_better_than_a_guess_is_said_to_be(wine, product):
    _, X, _, y = wine
    rng = np.random.default_rng(0)
    html = build_report(product, X, rng.permutation(y)).html
    assert "No better than a guess" in html or "Hardly better than a guess" in html
    assert "Clearly better" not in html


def test_answers_are_the_numbers_of_the_rows(loan_report, judged, loan_model):
    sure = judged.predictions.max(axis=1) >= 0.9
    words = words_of(loan_report.html, "how-sure")
    assert f"{rough(judged.correct[sure].mean())} of its".replace("\u00a0", " ") in words
    assert f"on {rough(sure.mean())} of rows".replace("\u00a0", " ") in words
    first = loan_model.feature_names_in_[loan_model.feature_importances_.argmax()]
    assert f"Mostly at {first} " in words_of(loan_report.html, "looks-at")
    missed = next(one for one in judged.by_class() if one["class"] == "denied")
    share = 1 - missed["right"] / missed["rows"]
    words = words_of(loan_report.html, "when-wrong")
    assert f"it misses {rough(share)} of these rows".replace("\u00a0", " ") in words


def test_members_of_a_model_that_has_seen_the_rows_are_not_flattered(loan_report):
    html = loan_report.html
    assert "which flatters them" in html
    assert 'id="size"' not in html
    assert "best member" not in html
    assert "3-fold cross-validation" in html


def test_a_judgement_of_other_rows_or_classes_is_refused(loans, loan_model, judged):
    from dataclasses import replace

    table, y = loans
    with pytest.raises(ValueError, match="judgement is of 420 rows, but X has 9"):
        build_report(loan_model, table[:9], y[:9], judgement=judged)
    with pytest.raises(ValueError, match=r"judgement has predictions of shape \(420,\)"):
        build_report(loan_model, table, y, judgement=replace(judged, predictions=np.ones(420)))
    gaps = np.full((420, 2), np.nan)
    with pytest.raises(ValueError, match="judgement holds predictions that are missing"):
        build_report(loan_model, table, y, judgement=replace(judged, predictions=gaps))


def test_a_table_model_reports_on_itself(loans, loan_model):
    table, y = loans
    page = loan_model.report(table[:60], y[:60])
    assert page.html == build_report(loan_model, table[:60], y[:60]).html
    assert page._repr_html_().startswith("<iframe")
