"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import SubsetEnsembleClassifier

_SPLITS_ROWS = (
    "rows are held out by position to choose the size, so a weight of 2 and a row given twice "
    "are not the same"
)


def expected_failures(estimator):
    if getattr(estimator, "select_size", None) == "validation":
        return {
            "check_sample_weight_equivalence_on_dense_data": _SPLITS_ROWS,
            "check_sample_weight_equivalence_on_sparse_data": _SPLITS_ROWS,
        }
    return {}


@parametrize_with_checks(
    [
        SubsetEnsembleClassifier(),
        SubsetEnsembleClassifier(
            n_estimators=4, flip_probability=0.2, acceptance="metropolis", select_size="train"
        ),
        SubsetEnsembleClassifier(n_estimators=4, select_size="validation"),
        SubsetEnsembleClassifier.paper(n_estimators=4, select_size=None),
        SubsetEnsembleClassifier.paper(n_estimators=4),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
