"""One model of all rows, judged by rows held out; what is finished is kept."""

import numpy as np
import pytest

from covey.cli import _evaluate
from covey.cli._console import Console
from covey.cli._evaluate import Trial, fitted_and_judged, linear, make_splits, simplest
from covey.cli._fitting import flock
from covey.members import FlockClassifier

from .conftest import problem_of, some_table


def judged(problem, learner, **more):
    splits, how = make_splits(problem, 0)
    rivals = {**simplest(problem), **linear(problem)}
    console = Console(quiet=True)
    return fitted_and_judged(console, problem, "flock", learner, rivals, splits, how, 0, **more)


def test_the_model_is_of_all_rows_and_its_scores_come_first():
    problem = problem_of(some_table())
    found = judged(problem, flock(problem, effort="fast"))
    own = FlockClassifier(effort="fast", random_state=0).fit(problem.table, problem.y)
    np.testing.assert_allclose(
        found.model.predict_proba(problem.table), own.predict_proba(problem.table)
    )
    assert found.is_whole
    known = [(one.name, one.kind) for one in found.held_out.models]
    assert known == [
        ("flock", "own"),
        ("commonest class", "simplest"),
        ("logistic regression, tuned", "linear"),
    ]
    assert len(found.held_out.y) == 60


def test_a_simple_flock_is_compared_with_a_full_one_on_the_same_rows():
    problem = problem_of(some_table(80))
    simple = flock(problem, effort="fast", limits={"max_members": 1})
    found = judged(problem, simple, full=flock(problem, effort="fast"))
    assert [one.kind for one in found.held_out.models[:2]] == ["own", "full"]


@pytest.mark.slow
def test_who_stops_the_judging_has_the_model_and_the_parts_that_are_done(monkeypatch):
    problem = problem_of(some_table())
    fitted = Trial._fitted

    def stop(self, prepared, held_out, name, *how):
        if name == "flock" and len(self.found[name]) == 2:
            raise KeyboardInterrupt
        return fitted(self, prepared, held_out, name, *how)

    monkeypatch.setattr(Trial, "_fitted", stop)
    found = judged(problem, flock(problem, effort="fast"))
    assert not found.is_whole
    assert "2 of 5 parts" in found.how
    assert len(found.held_out.y) == 24
    assert len(found.model.predict(problem.table)) == 60
    # With checkpoints it goes on later, with all parts.
    with pytest.raises(KeyboardInterrupt):
        judged(problem, flock(problem, effort="fast"), files=[None] * 6)


@pytest.mark.slow
def test_who_stops_the_search_has_the_best_of_it_judged_by_its_own_rows(monkeypatch):
    problem = problem_of(some_table(80))
    fitted = _evaluate._fitted
    monkeypatch.setattr(_evaluate, "_fitted", lambda *how: (fitted(*how)[0], True))
    found = judged(problem, flock(problem))
    assert not found.is_whole
    assert "search itself" in found.how
    assert found.held_out.models[0].name == "flock"
    found = judged(problem, flock(problem, effort="fast"))
    assert found.held_out is None


def test_ctrl_c_ends_the_search_of_a_command_and_sigterm_does_not(monkeypatch):
    from covey._core.search.cross_fit import CrossFit
    from covey.cli._console import Terminated

    problem = problem_of(some_table(80))
    hold_out = CrossFit.hold_out

    def stopped_by(error):
        calls = []

        def stop(self, family):
            calls.append(family)
            if len(calls) == 2:
                raise error
            return hold_out(self, family)

        return stop

    monkeypatch.setattr(CrossFit, "hold_out", stopped_by(KeyboardInterrupt()))
    model, was_stopped = _evaluate._fitted(problem, flock(problem), 0, None)
    assert was_stopped
    assert len(model.predict(problem.table)) == 80
    monkeypatch.setattr(CrossFit, "hold_out", stopped_by(Terminated(15)))
    with pytest.raises(Terminated):
        _evaluate._fitted(problem, flock(problem), 0, None)
