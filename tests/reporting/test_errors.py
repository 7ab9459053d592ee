import numpy as np
import pytest

from covey import FlockRegressor
from covey.reporting._class_facts import ClassFacts
from covey.reporting._errors import errors, ranges_of
from covey.reporting._inputs import check_inputs
from covey.reporting._value_facts import ValueFacts
from tests.reporting.conftest import words_of


def test_each_class_says_how_many_are_found_and_what_the_others_are_called(
    loans, loan_model, judged
):
    facts = ClassFacts(check_inputs(loan_model, *loans, judged))
    drawing = words_of(errors(facts)["drawing"])
    for one in judged.by_class():
        assert f"{one['right']} of {one['rows']}" in drawing
    assert "else “granted”" in drawing


def test_intervals_of_a_flock_are_its_own(diabetes):
    X, X_new, y, y_new = diabetes
    half = len(X_new) // 2
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    flock.calibrate(X_new[:half], y_new[:half])
    facts = ValueFacts(check_inputs(flock, X_new[half:], y_new[half:]))
    low, high = flock.predict_interval(X_new[half:], 0.9).T
    inside = ((low <= y_new[half:]) & (y_new[half:] <= high)).mean()
    found = ranges_of(facts)
    assert found.coverage == pytest.approx(inside)
    assert found.below + found.above == pytest.approx(float((high - low).mean()))


def test_intervals_of_others_are_checked_on_the_other_half(diabetes, mean_values):
    _, X, _, y = diabetes
    facts = ValueFacts(check_inputs(mean_values, X, y))
    found = ranges_of(facts)
    assert 0.8 < found.coverage < 0.99
    # Errors that are all larger in one half are not covered by the other.
    facts.y = facts.y + 1000.0 * (np.arange(len(y)) % 2)
    assert ranges_of(facts).coverage < 0.6
    facts.n_rows = 10
    assert ranges_of(facts) is None
