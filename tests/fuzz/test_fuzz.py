"""A few cases of each kind; ``make fuzz`` tries as many as ten minutes hold."""

import inspect

import numpy as np
import pytest

import covey
from covey import fusers, rivals
from tests.fuzz import commands, estimators, functions
from tests.fuzz.__main__ import case
from tests.fuzz.outcomes import OutcomeError, attempt, check_probabilities, check_same


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [("estimators", range(30)), ("functions", range(40)), ("commands", range(6))],
)
def test_every_outcome_is_a_right_answer_or_a_sentence(kind, seeds):
    found = [case(kind, seed)[1] for seed in seeds]
    assert {"answer", "refused"} == set(found)


def test_all_public_estimators_and_functions_are_tried():
    public = {name: getattr(covey, name) for name in covey.__all__ if name != "__version__"}
    public |= {name: getattr(rivals, name) for name in rivals.__all__}
    grown = {name for name, one in public.items() if inspect.isclass(one) and hasattr(one, "fit")}
    grown -= {name for name in grown if issubclass(public[name], fusers.Fuser)}
    assert grown == set(estimators.ALL)
    called = {name for name, one in public.items() if inspect.isfunction(one)}
    tried = set(", ".join(functions.FUNCTIONS).split(", "))
    # Pages and graphs are what commands write.
    assert called - tried == {"build_report", "to_onnx"}
    assert set(functions.RULES) == set(fusers.FUSERS)
    assert {"fit", "predict", "select", "fuse", "report"} <= set(
        inspect.getsource(commands).split('"')
    )


def test_wrong_outcomes_are_found():
    X = np.zeros((3, 2))

    def changes():
        X[0, 0] = 1.0

    wrong = [
        lambda: attempt(changes, X),
        lambda: attempt(lambda: np.zeros(2).reshape(3)),
        lambda: attempt(lambda: {}["x"]),
        lambda: check_probabilities(np.array([[0.5, np.nan]]), 1, 2),
        lambda: check_probabilities(np.array([[0.5, 0.4]]), 1, 2),
        lambda: check_same(np.zeros(2), np.ones(2), "it"),
    ]
    for call in wrong:
        with pytest.raises(OutcomeError):
            call()
    assert attempt(lambda: covey.FlockClassifier(effort="x").fit(X, [0, 1, 0])) is None
