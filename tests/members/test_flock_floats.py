"""What a flock makes of numbers that floats cannot hold, or hold badly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import log_loss

from covey import FlockClassifier, make_quarter_circle


def flock(**parameters):
    return FlockClassifier(**{"n_estimators": 3, "random_state": 0, **parameters})


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_sparse_columns_far_from_zero_are_known_apart(offset):
    X, y = make_quarter_circle(40, random_state=0)
    near = flock().fit(sparse.csr_array(X), y).cv_results_["log_loss"]
    far = flock().fit(sparse.csr_array(X + offset), y).cv_results_["log_loss"]
    assert_allclose(far, near, atol=0.03)


def test_entries_stored_in_parts_are_one_entry():
    X, y = make_quarter_circle(40, random_state=0)
    whole = sparse.coo_array(X)
    parts = sparse.csr_array(
        (
            np.repeat(whole.data / 2, 2),
            np.repeat(whole.col, 2),
            np.searchsorted(np.repeat(whole.row, 2), np.arange(81)),
        ),
        shape=X.shape,
    )
    assert not parts.has_canonical_format
    one, other = flock().fit(sparse.csr_array(X), y), flock().fit(parts, y)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-10)


def quarters():
    """Training rows and new ones, whose class is the sign of a product of two columns."""
    X = np.random.default_rng(0).normal(size=(620, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X[:120], X[120:], y[:120], y[120:]


@pytest.fixture(scope="module")
def loss_as_it_is():
    """The log-loss of new rows where the last column, which is noise, is as wide as others."""
    X, X_test, y, y_test = quarters()
    return log_loss(y_test, flock().fit(X, y).predict_proba(X_test))


@pytest.mark.parametrize("factor", [1e155, 1e-155, 1e100])
def test_wide_and_narrow_columns_spoil_nothing(factor, loss_as_it_is):
    X, X_test, y, y_test = quarters()
    X[:, 3] *= factor
    X_test[:, 3] *= factor
    model = flock().fit(X, y)
    assert log_loss(y_test, model.predict_proba(X_test)) < 1.2 * loss_as_it_is
    assert np.isfinite(model.member_coef_).all()
    assert np.isfinite(model.predict_proba(100 * X)).all()


@pytest.mark.parametrize("size", [1e-50, 1e45])
def test_only_ratios_of_weights_decide(size):
    X, y = make_quarter_circle(60, random_state=0)
    plain = flock(alpha=1e-2).fit(X, y)
    scaled = flock(alpha=1e-2).fit(X, y, sample_weight=np.full(len(y), size))
    assert_allclose(plain.predict_proba(X), scaled.predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="class_weight times sample_weight"):
        flock(class_weight={0: 1e-300, 1: 1e-300}).fit(X, y)
