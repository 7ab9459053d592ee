"""scikit-learn's own checks, for every estimator."""

from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockClassifier, FusionClassifier, Gate, SubsetEnsembleClassifier
from covey.fusers._fixed import make_fuser

_SPLITS_ROWS = (
    "rows are held out by position to choose or learn something, so a weight of 2 and a row "
    "given twice are not the same"
)
_COUNTS_ROWS = (
    "fewer terms are preferred within a standard error, which counts rows: two rows tell more "
    "than one of weight 2"
)

MEMBERS = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]


def expected_failures(estimator):
    if isinstance(estimator, FlockClassifier) and estimator.effort != "fast":
        return {"check_sample_weight_equivalence_on_dense_data": _COUNTS_ROWS}
    if not isinstance(estimator, SubsetEnsembleClassifier):
        return {}
    refined = isinstance(estimator.fuser, Gate)
    learns = make_fuser(estimator.fuser).learns and not refined
    if learns or estimator.select_size == "validation":
        return {
            "check_sample_weight_equivalence_on_dense_data": _SPLITS_ROWS,
            "check_sample_weight_equivalence_on_sparse_data": _SPLITS_ROWS,
        }
    return {}


@parametrize_with_checks(
    [
        FlockClassifier(effort="fast"),  # the first of a class is not slow: see tests/conftest.py
        FlockClassifier(),
        SubsetEnsembleClassifier(),
        SubsetEnsembleClassifier(
            n_estimators=4,
            flip_probability=0.2,
            acceptance="metropolis",
            fuser="product",
            select_size="train",
        ),
        SubsetEnsembleClassifier(n_estimators=4, fuser="product", select_size="validation"),
        SubsetEnsembleClassifier.paper(n_estimators=4, select_size=None),
        SubsetEnsembleClassifier.paper(n_estimators=4),
        SubsetEnsembleClassifier(
            n_estimators=3, loss="exponential", reweighting="adaboost", fuser="mean"
        ),
        SubsetEnsembleClassifier(n_estimators=4, fuser="majority"),
        SubsetEnsembleClassifier(n_estimators=4, fuser="knora_e"),
        # Few iterations: hundreds of them let rounding grow from 1e-16 to 1e-7.
        SubsetEnsembleClassifier(n_estimators=4, fuser=Gate(max_iter=20)),
        FusionClassifier(MEMBERS),
        FusionClassifier(MEMBERS, "gate", cv=3),
        FusionClassifier(MEMBERS, "meta_des", cv=3),
        FusionClassifier(
            [("logistic", LogisticRegression()), ("ridge", RidgeClassifier())], "borda"
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
