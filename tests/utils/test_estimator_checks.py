"""Our own contract, for every fuser and every fused classifier; and that it can fail."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from covey import FlockClassifier, Fuser, FusionClassifier, SubsetEnsembleClassifier
from covey.fusers import KOfN, Majority, Mean, Product, Stacking
from covey.fusers._base import FUSERS
from covey.utils.estimator_checks import (
    FUSED_CLASSIFIER_CHECKS,
    FUSER_CHECKS,
    check_fuser,
    check_unanimous_certainty_stays,
)

EVERY_FUSER = [
    *(make() for make in FUSERS.values()),
    KOfN(3),
    KOfN(2.5, weights=[1, 2, 0.5, 1, 1]),
    Mean([1, 2, 3, 4, 5]),
    Mean("accuracy"),
    Majority("log_odds"),
    Product("accuracy"),
    Stacking(keep_certainty=True),
]

MEMBERS = [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]


@pytest.mark.parametrize("check", FUSER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("fuser", EVERY_FUSER, ids=repr)
def test_fuser_keeps_the_contract(fuser, check):
    check(fuser)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "classifier",
    [
        FlockClassifier(n_estimators=2, random_state=0),
        SubsetEnsembleClassifier(n_estimators=4, fuser="product", random_state=0),
        *(
            SubsetEnsembleClassifier(n_estimators=4, fuser=rule, random_state=0)
            for rule in FUSERS
            if rule != "oracle"
        ),
        *(FusionClassifier(MEMBERS, rule, cv=2) for rule in FUSERS if rule != "oracle"),
    ],
    ids=repr,
)
def test_fused_classifier_keeps_the_contract(classifier, check):
    check(classifier)


def test_certainty_is_asked_only_of_fusers_that_promise_it():
    class Doubtful(Mean):
        """Never quite sure."""

        keeps_certainty = False

        def _fuse(self, P, X, codes):
            return 0.9 * super()._fuse(P, X, codes) + 0.1 / P.n_classes

    check_unanimous_certainty_stays(Doubtful())
    Doubtful.keeps_certainty = True
    with pytest.raises(AssertionError):
        check_unanimous_certainty_stays(Doubtful())


def test_the_contract_can_be_broken():
    class Loud(Fuser):
        """Sums without dividing."""

        def _fuse(self, P, X, codes):
            return P.values.sum(axis=1)

        def _importance(self, P, X, codes):
            return np.ones((P.n_samples, P.n_members))

    with pytest.raises(AssertionError):
        check_fuser(Loud())
