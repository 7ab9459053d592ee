"""A collapsed flock as a plain model of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from covey.fusers import Product
from tests.onnx._helpers import X_TWO, X_WINE, Y_TWO, Y_WINE, flock


@pytest.mark.parametrize(("X", "y"), [(X_WINE, Y_WINE), (X_TWO, np.array(["no", "yes"])[Y_TWO])])
@pytest.mark.parametrize("fuser", ["product", Product("accuracy")])
def test_a_collapsed_flock_is_a_logistic_regression(X, y, fuser):
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    model = flock(fuser=fuser).fit(frame, y)
    plain = model.to_sklearn()
    assert type(plain) is LogisticRegression
    np.testing.assert_allclose(
        plain.predict_proba(frame), model.predict_proba(frame), rtol=0, atol=1e-12
    )
    assert plain.predict(frame).tolist() == model.predict(frame).tolist()
    assert list(plain.feature_names_in_) == list(frame.columns)
    assert plain.coef_.shape == (1 if len(plain.classes_) == 2 else 3, X.shape[1])
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(frame[frame.columns[::-1]])
    plain.coef_[:] = 0
    assert model.coef_.any()


def test_a_plain_model_needs_no_covey(tmp_path):
    plain = flock(fuser="product").fit(X_WINE, Y_WINE).to_sklearn()
    (tmp_path / "plain.pickle").write_bytes(pickle.dumps(plain))
    assert b"covey" not in (tmp_path / "plain.pickle").read_bytes()


def test_only_a_product_is_plain():
    with pytest.raises(ValueError, match="what Mean fuses cannot collapse"):
        flock(fuser="mean").fit(X_WINE, Y_WINE).to_sklearn()


def test_a_plain_model_of_unnamed_columns_has_no_names():
    plain = flock(fuser="product", fit_intercept=False).fit(X_WINE, Y_WINE).to_sklearn()
    assert not hasattr(plain, "feature_names_in_")
    assert not plain.intercept_.any()
