"""Which classes a file may hold, and who writes and reads each of them.

A class is in here or not in a file: the reader makes objects of these classes only, by functions
that are written for each. To add one, write its two functions in the module that is named here.
"""

from __future__ import annotations

import importlib
from typing import Any

from covey.inspection._ranking import decision_of
from covey.persistence._errors import NotCoveredError
from covey.persistence._formats import Format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer, plain

# {module: the classes that it writes and reads}. Modules are imported when a class is met.
_HOMES = {
    "_flocks": (
        "FlockClassifier FlockRegressor SubsetEnsembleClassifier SubsetEnsembleRegressor "
        "LinearMember LinearRegressionMember"
    ),
    "_fusers": (
        "And Borda DynamicSelection Gate GreedySelection KOfN LastStage LinearStacking Majority "
        "Max Mean Median Min Or Oracle Product SingleBest Stacking StaticSelection "
        "TrimmedMean WeightedMedian"
    ),
    "_fusions": (
        "FusionClassifier FusionRegressor GeneralStackingClassifier GeneralStackingRegressor"
    ),
    "_kernels": "CalibratedClassifierCV SVC SVR",
    "_linear": ("GaussianNB LinearRegression LogisticRegression MultinomialNB Ridge RidgeCV"),
    "_neighbors": "KNeighborsClassifier KNeighborsRegressor",
    "_pipelines": "BaggedClassifier BaggedRegressor FrozenEstimator Pipeline",
    "_preprocessing": "StandardScaler",
    "_tables": "TableClassifier TableRegressor TablePreparation",
    "_targets": "MultiOutputClassifier MultiOutputRegressor",
    "_trees": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor "
        "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
        "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor"
    ),
}
HOMES = {name: module for module, names in _HOMES.items() for name in names.split()}


def format_of(name: str) -> Format:
    """How a class of this name is written and read."""
    module = importlib.import_module(f"covey.persistence.{HOMES[name]}")
    return module.FORMATS[name]


def write_model(model: Any, out: Writer) -> dict[str, Any]:
    """A model as an object of the document."""
    name = type(model).__name__
    if name not in HOMES or format_of(name).cls is not type(model):
        raise NotCoveredError(f"a {name}")
    written = {"kind": name, **format_of(name).write(model, out)}
    decision = vars(model).get("decision_")
    return written if decision is None else {**written, "decision": plain(decision.as_record())}


def read_model(node: Node) -> Any:
    """The model that an object of the document describes."""
    with node:
        name = node.text("kind", HOMES)
        model = format_of(name).read(node)
        if node.has("decision"):
            _read_decision(model, node)
        return model


def _read_decision(model: Any, node: Node) -> None:
    """Set how a classifier makes classes of probabilities."""
    try:
        model.decision_ = decision_of(node.plain("decision"), model.classes_)
    except (AttributeError, KeyError, TypeError, ValueError):
        node.check(False, "decision", "is none.")
