"""What is said where a model fails inside."""

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse
from sklearn.linear_model import Ridge
from sklearn.utils import check_array

from covey._models import explaining

FAR = np.array([[1.0, 1e200], [2.0, -3e200]])
TINY = np.array([[1.0, 1e-200], [2.0, 0.0]])


def fail():
    linalg.inv(np.array([[np.inf]]))


def refuse():
    check_array(np.array([[np.nan]]), input_name="X")


@pytest.mark.parametrize("raises", [fail, refuse])
@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (FAR, None, "Ridge cannot work with this: column 1 holds numbers up to 3e+200, whose "),
        (sparse.csr_array(FAR), None, "column 1 holds numbers up to 3e+200"),
        (pd.DataFrame(FAR, columns=["a", "b"]).assign(c="text"), None, "column 'b' holds numbers"),
        (TINY, None, "column 1 holds numbers up to 1e-200, whose squares floating point does not"),
        (np.eye(2), [1.0, 1e200], "y holds numbers up to 1e+200"),
    ],
)
def test_the_column_that_is_out_of_range_is_named(raises, X, y, said):
    with pytest.raises(ValueError, match="by a constant") as raised, explaining(Ridge(), X, y):
        raises()
    assert said in str(raised.value)


@pytest.mark.parametrize("X", [np.eye(2), np.array([["text"]]), sparse.csr_array((3, 0)), None])
def test_without_such_a_column_the_reason_stays(X):
    said = "infs or NaNs; change its parameters, or leave it out"
    with pytest.raises(ValueError, match=said), explaining(Ridge(), X):
        fail()
    with pytest.raises(ValueError, match="^Input X contains NaN"), explaining(Ridge(), X):
        refuse()


def test_what_a_model_says_itself_stays():
    with pytest.raises(ValueError, match="^I want two rows"), explaining(Ridge(), FAR):
        raise ValueError("I want two rows.")
    gaps = np.array([[np.nan, 1e200]])
    with pytest.raises(ValueError, match="^Input X contains NaN"), explaining(Ridge(), gaps):
        refuse()
