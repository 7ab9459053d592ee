"""Flocks of five tables, fitted once, by the default."""

import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_friedman1,
)

from covey import FlockClassifier, FlockRegressor

TABLES = {
    "wine": (FlockClassifier, load_wine),
    "iris": (FlockClassifier, load_iris),
    "breast cancer": (FlockClassifier, load_breast_cancer),
    "diabetes": (FlockRegressor, load_diabetes),
    "friedman": (FlockRegressor, lambda return_X_y: make_friedman1(200, random_state=0)),
}


SLOW = "breast cancer", "friedman"


@pytest.fixture(
    scope="session",
    params=[pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in TABLES],
)
def flock_of_table(request):
    """A default flock, and the rows that it was fitted on."""
    kind, load = TABLES[request.param]
    X, y = load(return_X_y=True)
    return kind(random_state=0).fit(X, y), X
