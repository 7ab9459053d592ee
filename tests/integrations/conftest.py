"""Small tables and flocks that every tool is tried with."""

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from covey import FlockClassifier, FlockRegressor

NAMES = ["radius", "texture", "perimeter", "area", "smooth"]


@pytest.fixture(scope="session")
def classes():
    """A frame and text labels."""
    X, y = load_breast_cancer(return_X_y=True)
    return pd.DataFrame(X[:200, :5], columns=NAMES), pd.Series(y[:200]).map({0: "ill", 1: "well"})


@pytest.fixture(scope="session")
def values():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X.iloc[:200, :5], y.iloc[:200]


@pytest.fixture(scope="session")
def classifier(classes):
    """A fitted flock; nobody may change it."""
    return small().fit(*classes)


@pytest.fixture(scope="session")
def mixed(classes):
    return small(members=["linear", "extra_trees"], cv=2).fit(*classes)


@pytest.fixture(scope="session")
def regressor(values):
    return FlockRegressor(effort="fast", n_estimators=2, random_state=0).fit(*values)


def small(**how):
    return FlockClassifier(**{"effort": "fast", "n_estimators": 2, "random_state": 0, **how})
