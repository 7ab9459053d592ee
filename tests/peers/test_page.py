"""The page about peers' tests, and what counts in it."""

from importlib import import_module

from tests.peers.page import page_of, summary_of
from tests.peers.standing_in import TOUCHED
from tests.peers.suites import SUITES


def test_a_failure_is_told_with_its_reason_or_counted_as_without():
    tests = [
        {"test": "test_one", "outcome": "passed", "error": ""},
        {"test": "test_voting_verbose[estimator0]", "outcome": "failed", "error": "assert None"},
        {"test": "test_of_tomorrow", "outcome": "failed", "error": "boom"},
    ]
    name = "scikit-learn: test_voting"
    page, unexplained = page_of({name: {"peer": "scikit-learn 9", "tests": tests}})
    assert "| scikit-learn: test_voting | scikit-learn 9 | 1 of 3 | 2 |" in page
    assert "| 1 | `test_voting_verbose` | verbose=1 says it in other words. |" in page
    assert "| 1 | `test_of_tomorrow` | Not known yet. |" in page
    assert unexplained == 1
    assert summary_of(name, tests) == f"{name}: 1 of 3\n  test_of_tomorrow: boom"


def test_what_takes_the_place_of_a_peers_class_is_noted():
    replaced = SUITES["scikit-learn: test_voting"].replaced()["sklearn.ensemble"]
    TOUCHED.clear()
    vote = replaced["VotingClassifier"]([])
    assert {"VotingClassifier"} == TOUCHED
    TOUCHED.clear()
    vote.get_params()
    assert not TOUCHED
    assert callable(vote.fit)
    assert {"VotingClassifier"} == TOUCHED
    assert import_module("sklearn.ensemble").VotingClassifier is not type(vote)
