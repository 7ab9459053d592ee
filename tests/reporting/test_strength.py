import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import FusionClassifier
from covey.reporting import build_report
from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs
from covey.rivals import DiverseMaxEntClassifier
from tests.reporting.conftest import Outline


def test_strength_is_what_one_deviation_does_to_the_logits(wine, product):
    X, X_new, _, y_new = wine
    facts = ClassFacts(check_inputs(product, X_new, y_new))
    for k, j in ((0, 0), (3, 12)):
        coef = product.member_coef_[k, :, j] * X.iloc[:, j].std(ddof=0)
        centred = coef - coef.mean()
        assert facts.strength.size[k, j] == pytest.approx(np.abs(centred).mean())
        if coef.any():
            assert facts.strength.towards[k, j] == centred.argmax()


def test_linear_members_without_subsets(wine):
    X, X_new, y, y_new = wine
    flock = DiverseMaxEntClassifier(3, random_state=0).fit(X, y)
    page = Outline(build_report(flock, X_new, y_new).html)
    assert "looks-at-map-t" in page.ids


def test_members_of_a_fusion_that_are_pipelines_show_their_weights(wine):
    X, X_new, y, y_new = wine
    members = [
        ("scaled", make_pipeline(StandardScaler(), LogisticRegression())),
        ("bare", LogisticRegression(max_iter=5)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        flock = FusionClassifier(members).fit(X, y)
    facts = ClassFacts(check_inputs(flock, X_new, y_new))
    steps = flock.estimators_[0]
    moved = steps[1].coef_ * steps[0].transform(X_new).std(axis=0)
    expected = np.abs(moved - moved.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(facts.strength.size[0], expected)
