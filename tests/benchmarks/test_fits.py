"""A table of fits that goes on where it was interrupted."""

import csv

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from benchmarks import fits


def test_lines_at_hand_are_not_made_again(tmp_path):
    path, calls = tmp_path / "results.csv", []

    def one(problem, split):
        calls.append((problem, split))
        return {"accuracy": 0.25}

    fits.fill(path, ("problem", "split"), ("accuracy",), one, [("a", 0)])
    fits.fill(path, ("problem", "split"), ("accuracy",), one, [("a", 0), ("a", 1)])
    assert calls == [("a", 0), ("a", 1)]
    with path.open() as file:
        assert list(csv.DictReader(file)) == [
            {"problem": "a", "split": "0", "accuracy": "0.25"},
            {"problem": "a", "split": "1", "accuracy": "0.25"},
        ]


def test_a_function_may_give_several_lines(tmp_path):
    path = tmp_path / "results.csv"
    fits.fill(path, ("problem",), ("terms",), lambda _: [{"terms": 1}, {"terms": 2}], [("a",)])
    assert path.read_text().splitlines() == ["problem,terms", "a,1", "a,2"]


def test_scores_by_hand():
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    line = fits.scores(probabilities, np.array([0, 1]), np.array([0, 1]), np.array([1, 1]))
    assert line["accuracy"] == 0.5
    assert line["log_loss"] == pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2)
    assert line["brier"] == pytest.approx((0.5 + 0.125) / 2)


def test_a_certain_error_costs_no_more_than_a_chance_of_one_in_a_million():
    line = fits.scores(np.array([[1.0, 0.0]]), np.array([0]), np.array([0, 1]), np.array([1]))
    assert line["log_loss"] == pytest.approx(-np.log(1e-6), rel=1e-3)


def test_a_model_that_fails_is_a_line_that_says_so():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    line = fits.measured(DummyClassifier(strategy="nonsense"), X, X, y, y)
    assert "nonsense" in line["error"]
    assert "accuracy" not in line
