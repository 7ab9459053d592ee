import numpy as np
import pytest

from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs


def test_accuracy_and_oracle_are_those_of_the_model(wine, product, reports):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(product, X, y))
    assert facts.accuracy.value == product.score(X, y)
    assert facts.oracle_accuracy == pytest.approx(product.oracle_score(X, y))
    right = round(product.score(X, y) * len(y))
    assert f"{right} of {len(y)} rows are predicted rightly" in reports["product"].html


def test_members_are_judged_as_a_loop_would(wine, gated):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(gated, X, y))
    said = gated.member_probabilities(X)
    for k in range(gated.n_estimators_):
        labels = gated.classes_[said[:, k].argmax(axis=1)]
        assert facts.member_score[k] == pytest.approx(np.mean(labels == y))
        for code, label in enumerate(gated.classes_):
            assert facts.member_parts[k, code] == pytest.approx(
                np.mean(labels[y == label] == label)
            )
        assert facts.mean_importance[k] == pytest.approx(gated.explain_fusion(X)[:, k].mean())
