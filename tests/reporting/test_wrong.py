import numpy as np
import pytest

from covey import FusionClassifier
from covey.reporting import build_report
from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs
from covey.reporting._wrong import reasons_of
from tests.reporting.conftest import words_of


def test_the_surest_wrong_rows_are_named_as_the_user_does(loan_report, judged):
    wrong = np.flatnonzero(~judged.correct)
    sure = judged.predictions.max(axis=1)[wrong]
    worst = wrong[np.argsort(-sure, kind="stable")][:3]
    words = words_of(loan_report.html, "wrong")
    for row in worst:
        assert f"Row {judged.numbers[row]} " in words
    assert "it was granted" in words or "it was denied" in words


def test_reasons_are_the_contributions_of_the_model(loans, loan_model, judged):
    facts = ClassFacts(check_inputs(loan_model, *loans, judged))
    rows = facts.wrong_rows(2)
    found = loan_model.contributions(loans[0].iloc[rows])
    for place, (row, reasons) in enumerate(zip(rows, reasons_of(facts, rows), strict=True)):
        of_said = found.values[place, :, facts.predicted[row]]
        shown = [push.value for push in reasons.pushes]
        assert max(shown, key=abs) == pytest.approx(of_said[np.abs(of_said).argmax()])
        assert reasons.typical == pytest.approx(found.baseline[facts.predicted[row]])
        assert all("(typical " in push.name for push in reasons.pushes)


def test_rows_are_called_as_asked_or_as_the_index_has_it(wine, fused, reports, product):
    _, X, _, y = wine
    wrong = X.index[fused.predict(X) != y].astype(str)
    html = reports["fused"].html.partition('id="wrong"')[2].partition("</section>")[0]
    shown = [part.split("<")[0] for part in html.split('Row <span class="name">')[1:]]
    assert shown
    assert set(shown) <= set(wrong)
    called = [f"bottle {k}" for k in range(len(X))]
    html = build_report(product, X, y, row_names=called).html
    assert 'Row <span class="name">bottle' in html
    with pytest.raises(ValueError, match="row_names has 2 names, but X has 60 rows"):
        build_report(product, X, y, row_names=["a", "b"])


def test_where_no_row_is_wrong_there_is_no_such_section(wine):
    from sklearn.tree import DecisionTreeClassifier

    X, _, y, _ = wine
    known = DecisionTreeClassifier(random_state=0).fit(X, y)
    model = FusionClassifier([known, known], fuser="mean", prefit=True).fit(X, y)
    html = build_report(model, X, y).html
    assert 'id="wrong"' not in html
    assert "On none of these rows" in html
