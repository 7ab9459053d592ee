"""The linear model that flocks are compared with."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey.cli._evaluate import linear

from .conftest import problem_of, some_table


@pytest.mark.parametrize("n_noise", [2, 40])
def test_it_is_as_good_as_scikit_learn_s_tuned_one(n_noise):
    """With few columns, and with so many that a strong penalty is needed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2 + n_noise))
    y = np.where(X[:, 0] + X[:, 1] + rng.logistic(size=400) > 0, "a", "b")
    problem = problem_of(some_table(400, y=y))
    (ours,) = linear(problem).values()
    theirs = make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)
    )
    train, test = slice(0, 150), slice(150, None)
    losses = [
        log_loss(y[test], model.fit(X[train], y[train]).predict_proba(X[test]))
        for model in (ours, theirs)
    ]
    assert losses[0] <= losses[1] + 0.02


def test_numbers_have_no_probabilities_and_a_class_of_one_row_is_no_obstacle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    (line,) = linear(problem_of(some_table(40, y=X[:, 0]))).values()
    assert not hasattr(line.fit(X, X[:, 0]), "predict_proba")
    y = np.array(["a"] * 20 + ["b"] * 19 + ["c"])
    (line,) = linear(problem_of(some_table(40, y=y))).values()
    np.testing.assert_allclose(line.fit(X, y).predict_proba(X).sum(axis=1), 1.0)
    assert line.classes_.tolist() == ["a", "b", "c"]
