"""Which tests of which peers are run, and what takes the place of what in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Suite:
    """Files of tests of a peer's package, and what is replaced: names by module, with ours."""

    package: str
    distribution: str
    files: tuple[str, ...]
    replaced: Callable[[], dict[str, dict[str, Any]]]


def _names(ours: str, **names_by_module: str) -> Callable[[], dict[str, dict[str, Any]]]:
    def replaced() -> dict[str, dict[str, Any]]:
        module = import_module(f"tests.peers.{ours}")
        return {
            place.replace("__", "."): {name: getattr(module, name) for name in names.split()}
            for place, names in names_by_module.items()
        }

    return replaced


def _selectors(file: str) -> Suite:
    """Tests of a feature selector, which then selects by a flock."""
    return Suite(
        "sklearn",
        "scikit-learn",
        (f"feature_selection/tests/{file}",),
        _names(
            "of_flocks",
            sklearn__linear_model="LogisticRegression SGDClassifier LinearRegression",
            sklearn__svm="LinearSVC SVC SVR LinearSVR",
            sklearn__ensemble="RandomForestClassifier HistGradientBoostingClassifier "
            "HistGradientBoostingRegressor",
        ),
    )


# DESlib's own tests import each method from its module.
_DESLIB_BY_MODULE = {
    "deslib__dcs__a_posteriori": "APosteriori",
    "deslib__dcs__a_priori": "APriori",
    "deslib__dcs__lca": "LCA",
    "deslib__dcs__mcb": "MCB",
    "deslib__dcs__mla": "MLA",
    "deslib__dcs__ola": "OLA",
    "deslib__dcs__rank": "Rank",
    "deslib__des__des_clustering": "DESClustering",
    "deslib__des__des_knn": "DESKNN",
    "deslib__des__des_mi": "DESMI",
    "deslib__des__des_p": "DESP",
    "deslib__des__knop": "KNOP",
    "deslib__des__knora_e": "KNORAE",
    "deslib__des__knora_u": "KNORAU",
    "deslib__des__meta_des": "METADES",
    "deslib__des__probabilistic": "RRC DESKL MinimumDifference",
    "deslib__static__oracle": "Oracle",
    "deslib__static__single_best": "SingleBest",
    "deslib__static__stacked": "StackedClassifier",
    "deslib__static__static_selection": "StaticSelection",
}
# Not those of base classes, which ours have none of, nor of METADES, which pytest cannot collect.
_DESLIB_FILES = (
    "dcs/test_a_posteriori dcs/test_a_priori dcs/test_lca dcs/test_mcb dcs/test_mla dcs/test_ola "
    "dcs/test_rank des/test_des_clustering des/test_des_knn des/test_des_mi des/test_desp "
    "des/test_knop des/test_knorae des/test_knorau des/test_probabilistic static/test_oracle "
    "static/test_single_best static/test_stacked static/test_static_selection"
)
_ENSEMBLES = "VotingClassifier VotingRegressor StackingClassifier StackingRegressor"

SUITES = {
    "scikit-learn: test_voting": Suite(
        "sklearn",
        "scikit-learn",
        ("ensemble/tests/test_voting.py",),
        _names("of_sklearn", sklearn__ensemble=_ENSEMBLES),
    ),
    "scikit-learn: test_stacking": Suite(
        "sklearn",
        "scikit-learn",
        ("ensemble/tests/test_stacking.py",),
        _names("of_sklearn", sklearn__ensemble=_ENSEMBLES),
    ),
    "scikit-learn: ensembles' test_common": Suite(
        "sklearn",
        "scikit-learn",
        ("ensemble/tests/test_common.py",),
        _names("of_sklearn", sklearn__ensemble=_ENSEMBLES),
    ),
    "scikit-learn: test_multiclass": Suite(
        "sklearn",
        "scikit-learn",
        ("tests/test_multiclass.py",),
        _names(
            "of_sklearn",
            sklearn__multiclass="OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
        ),
    ),
    "scikit-learn: SelectFromModel over a flock": _selectors("test_from_model.py"),
    "scikit-learn: RFE over a flock": _selectors("test_rfe.py"),
    "scikit-learn: SequentialFeatureSelector over a flock": _selectors("test_sequential.py"),
    "DESlib: integration": Suite(
        "deslib",
        "DESlib",
        ("tests/test_des_integration.py", "tests/test_des_integration_multiclass.py"),
        _names(
            "of_deslib",
            deslib__dcs="OLA LCA MLA Rank MCB APriori APosteriori",
            deslib__dcs__a_priori="APriori",
            deslib__dcs__mcb="MCB",
            deslib__des="KNORAE KNORAU KNOP DESP DESKNN METADES RRC DESKL MinimumDifference "
            "DESClustering",
            deslib__des__des_mi="DESMI",
            deslib__des__des_p="DESP",
            deslib__des__knop="KNOP",
            deslib__des__meta_des="METADES",
            deslib__static="SingleBest Oracle StackedClassifier StaticSelection",
        ),
    ),
    "DESlib: methods and what is static": Suite(
        "deslib",
        "DESlib",
        tuple(f"tests/{file}.py" for file in _DESLIB_FILES.split()),
        _names("of_deslib", **_DESLIB_BY_MODULE),
    ),
    "mlxtend: votes and stacks": Suite(
        "mlxtend",
        "mlxtend",
        (
            "classifier/tests/test_ensemble_vote_classifier.py",
            "classifier/tests/test_stacking_classifier.py",
            "classifier/tests/test_stacking_cv_classifier.py",
            "regressor/tests/test_stacking_regression.py",
            "regressor/tests/test_stacking_cv_regression.py",
        ),
        _names(
            "of_mlxtend",
            mlxtend__classifier="EnsembleVoteClassifier StackingClassifier StackingCVClassifier",
            mlxtend__regressor="StackingRegressor StackingCVRegressor",
            mlxtend__utils="assert_raises",
            mlxtend__externals__estimator_checks="NotFittedError",
            sklearn__linear_model="LogisticRegression",
        ),
    ),
}
