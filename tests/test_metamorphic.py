"""What changes nothing of a question changes nothing of the answer, or as little as is said.

``python benchmarks/laws.py`` measures the same on whole tables.
"""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from covey import (
    FlockClassifier,
    FlockRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)

WINE, CULTIVAR = load_wine(return_X_y=True)
ROWS, COLUMNS = np.arange(0, 178, 2), [0, 6, 9, 11, 12]
CLASSES = WINE[ROWS][:, COLUMNS], CULTIVAR[ROWS]
X, y = load_diabetes(return_X_y=True)
NUMBERS = X[:120, :5], y[:120]

CLASSIFIERS = {
    "search": lambda: FlockClassifier(n_estimators=2, cv=2, alpha=0.01, random_state=0),
    "fast": lambda: FlockClassifier(effort="fast", n_estimators=3, random_state=0),
    "algorithm 1": lambda: SubsetEnsembleClassifier(3, flip_probability=0.05, random_state=0),
    "newton": lambda: SubsetEnsembleClassifier(3, learning_rate="newton", random_state=0),
}
REGRESSORS = {
    "numbers": lambda: FlockRegressor(n_estimators=2, cv=2, alpha=0.1, random_state=0),
    "robust": lambda: FlockRegressor(effort="fast", loss="huber", random_state=0),
    "numbers, algorithm 1": lambda: SubsetEnsembleRegressor(3, random_state=0),
}
ALL = {**CLASSIFIERS, **REGRESSORS}
# Those that draw no folds, and so know nothing of the order of rows.
WITHOUT_FOLDS = ["fast", "algorithm 1", "newton", "robust", "numbers, algorithm 1"]


def table(name):
    return CLASSES if name in CLASSIFIERS else NUMBERS


def predicted(name, X, y, rows=None, **how):
    """Probabilities, or numbers in standard deviations of y, of the rows that are fitted."""
    model = ALL[name]().fit(X, y, **how)
    rows = X if rows is None else rows
    return model.predict_proba(rows) if name in CLASSIFIERS else model.predict(rows) / np.std(y)


def tolerance(name):
    # Regressors of Algorithm 1 end when a step gains little, which is before the optimum.
    return 1e-4 if name == "numbers, algorithm 1" else 1e-8


@pytest.fixture(scope="module")
def as_it_is():
    return {name: predicted(name, *table(name)) for name in ALL}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_names_of_labels_do_not_matter(name, as_it_is):
    X, y = CLASSES
    np.testing.assert_array_equal(
        predicted(name, X, np.array(["ale", "b", "z"])[y]), as_it_is[name]
    )


@pytest.mark.parametrize("name", ALL)
def test_units_of_columns_do_not_matter(name, as_it_is):
    X, y = table(name)
    doubled = 2.0 ** np.arange(-2, 3)
    np.testing.assert_array_equal(predicted(name, X * doubled, y), as_it_is[name])
    if name not in ("search", "numbers"):
        # A search may take one of two candidates that are as good as equal for the other.
        moved = X * np.linspace(0.3, 9.0, 5) + [0.0, 7.0, -30.0, 1.0, 0.1]
        np.testing.assert_allclose(predicted(name, moved, y), as_it_is[name], atol=tolerance(name))


@pytest.mark.parametrize("name", ["search", "fast", *REGRESSORS])
def test_a_constant_column_changes_nothing(name, as_it_is):
    X, y = table(name)
    wide = np.insert(X, 3, 7.3, axis=1)
    np.testing.assert_allclose(predicted(name, wide, y), as_it_is[name], atol=tolerance(name))


def test_constant_columns_do_not_count_among_those_that_are_multiplied():
    X, y = CLASSES
    wide = np.hstack([X, np.ones((len(X), 30))])  # 35 columns, more than are multiplied
    flock = CLASSIFIERS["search"]().fit(wide, y)
    assert "products" in flock.cv_results_["basis"]
    np.testing.assert_array_equal(
        flock.cv_results_["log_loss"], CLASSIFIERS["search"]().fit(X, y).cv_results_["log_loss"]
    )
    assert flock.support_.shape[1] == 35
    assert not flock.support_[:, 5:].any()


@pytest.mark.parametrize("name", WITHOUT_FOLDS)
def test_the_order_of_rows_does_not_matter_without_folds(name, as_it_is):
    X, y = table(name)
    order = np.random.default_rng(0).permutation(len(y))
    found = predicted(name, X[order], y[order], X)
    np.testing.assert_allclose(found, as_it_is[name], atol=tolerance(name))


@pytest.mark.parametrize("name", ["fast", "algorithm 1", "newton"])
def test_a_weight_of_two_is_the_row_twice_without_folds(name):
    X, y = CLASSES
    twice = np.arange(0, len(y), 3)
    weight = np.ones(len(y))
    weight[twice] = 2
    copies = predicted(name, np.r_[X, X[twice]], np.r_[y, y[twice]], X)
    np.testing.assert_allclose(copies, predicted(name, X, y, sample_weight=weight), atol=1e-8)


@pytest.mark.parametrize("name", ["search", "fast", "algorithm 1", "numbers"])
def test_orders_that_draws_depend_on_matter_little(name, as_it_is):
    """As the docstrings say; another seed changes as much."""
    X, y = table(name)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(5)
    changes = [
        predicted(name, X[rows], y[rows], X) - as_it_is[name],
        predicted(name, X[:, columns], y) - as_it_is[name],
    ]
    if name in CLASSIFIERS:
        changes.append(predicted(name, X, -y)[:, ::-1] - as_it_is[name])
    for change in changes:
        assert np.abs(change).mean() < (0.03 if name in CLASSIFIERS else 0.15)
