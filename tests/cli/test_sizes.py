"""How large models are."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import SubsetEnsembleClassifier
from covey.cli._sizes import Size, size_of

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] + X[:, 1] > 0).astype(int)


def test_linear_models_have_terms_and_trees_have_bytes():
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert size_of(line).terms == 4
    flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    assert size_of(flock).terms == flock.support_.sum()
    forest = size_of(RandomForestClassifier(5, random_state=0).fit(X, y))
    assert forest.terms is None
    assert forest.n_bytes > 1_000


def test_sizes_are_written_as_people_read_them():
    assert str(Size(1, 5)) == "1 term"
    assert str(Size(1_200, 5)) == "1,200 terms"
    assert str(Size(None, 2_345_678)) == "2.3 MB"
    assert str(Size(None, 23_456)) == "23 kB"


def test_a_model_that_cannot_be_pickled_has_no_size_and_does_no_harm():
    assert size_of(lambda row: row).n_bytes == 0
