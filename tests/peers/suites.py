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
    "scikit-learn: test_multioutput": Suite(
        "sklearn",
        "scikit-learn",
        ("tests/test_multioutput.py",),
        _names("of_sklearn", sklearn__multioutput="MultiOutputClassifier MultiOutputRegressor"),
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
}
