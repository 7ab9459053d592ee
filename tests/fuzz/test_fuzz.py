"""A few cases of each kind; ``make fuzz`` tries as many as ten minutes hold."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import covey
from covey import fusers, inspection, rivals
from covey.fusers._base import FUSERS
from tests.fuzz import commands, estimators, functions
from tests.fuzz.__main__ import case
from tests.fuzz.outcomes import OutcomeError, attempt, check_probabilities, check_same


@pytest.mark.slow
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
    public |= {name: getattr(inspection, name) for name in inspection.__all__}
    grown = {name for name, one in public.items() if inspect.isclass(one) and hasattr(one, "fit")}
    grown -= {name for name in grown if issubclass(public[name], fusers.Fuser)}
    assert grown == set(estimators.ALL)
    called = {name for name, one in public.items() if inspect.isfunction(one)}
    tried = set(", ".join(functions.FUNCTIONS).split(", "))
    # Evaluations, pages, graphs and explanations are what commands write.
    written = {"build_report", "check", "evaluate", "to_onnx"}
    explained = "column_effect column_importance contributions curves reasons row_card"
    explained = {*explained.split(), "smallest_change", "what_if"}
    assert called - tried == written | explained
    assert set(functions.RULES) == set(FUSERS)
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


class Fails(ClassifierMixin, BaseEstimator):
    """A member that fails with an error."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y):
        raise self.error

    def predict(self, X):
        return X


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (IndexError("index 3 is out of bounds"), "IndexError"),
        (KeyError("x"), "KeyError"),
        (MemoryError("Unable to allocate 3 TiB."), "MemoryError"),
        (ValueError("index 3 is out of bounds for axis 0"), "words from inside"),
        (ValueError("SVD did not converge"), "words from inside"),
        (TypeError("unsupported operand type(s) for +"), "words from inside"),
        (ValueError("One. Two. Three."), "too many words"),
        (ValueError("Input X contains NaN."), "NaN that nobody has given"),
        (ValueError(), "no sentence"),
    ],
)
def test_errors_that_are_no_clear_sentence_are_found(error, why):
    X, y = np.random.default_rng(0).normal(size=(8, 2)), [0, 1] * 4
    with pytest.raises(OutcomeError, match=why):
        attempt(lambda: covey.FusionClassifier([Fails(error)], "majority").fit(X, y), X, y)
