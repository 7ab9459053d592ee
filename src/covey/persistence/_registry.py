"""The classes that a file may hold, and the writer and reader of each.

A class is in here or not in a file: the reader makes objects of these classes only. Covey's own
classes declare their fields (`covey._state`); for others two functions are written by hand.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from covey._state import StateError
from covey.evaluation import Evaluation
from covey.evaluation._life import Life
from covey.persistence._formats import Format, declared_format
from covey.persistence._nodes import Node
from covey.persistence._refusals import ModelFileError, NotCoveredError
from covey.persistence._writer import Writer

# {module: its classes that declare what is stored}. Modules are imported when a class is met.
_DECLARED = {
    "covey.fusers": (
        "Borda DynamicSelection Gate GreedySelection KOfN LastStage LinearStacking Majority "
        "Max Mean Median Min Oracle Product SingleBest Stacking StaticSelection "
        "TrimmedMean WeightedMedian"
    ),
    "covey.members": (
        "FlockClassifier FlockQuantiles FlockRegressor FusionClassifier FusionRegressor "
        "LinearMember LinearRegressionMember SubsetEnsembleClassifier SubsetEnsembleRegressor"
    ),
    "covey.members._members_of": "BaggedClassifier BaggedRegressor",
    "covey.stacking": "GeneralStackingClassifier GeneralStackingRegressor",
    "covey.tables": "TablePreparation",
}
# {module: the classes that it writes and reads}.
_HOMES = {
    "_kernels": "CalibratedClassifierCV SVC SVR",
    "_linear": (
        "FrozenEstimator GaussianNB LinearRegression LogisticRegression MultiOutputClassifier "
        "MultiOutputRegressor MultinomialNB Pipeline Ridge RidgeCV StandardScaler"
    ),
    "_neighbors": "KNeighborsClassifier KNeighborsRegressor",
    "_trees": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor "
        "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
        "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor"
    ),
}
HOMES = {
    name: module
    for homes in (_DECLARED, _HOMES)
    for module, names in homes.items()
    for name in names.split()
}
# The classes that predict by training rows.
_OF_ROWS = {"DynamicSelection", "KNeighborsClassifier", "KNeighborsRegressor", "SVC", "SVR"}
# Records of plain data that go with a model.
_RECORDS: dict[str, Any] = {"evaluation": Evaluation, "life": Life}
# Classes within models that a module writes and reads by functions of its own.
_BY_HAND = {
    "Preparation": "_preparations",
    "SeenColumns": "_seen",
}


@cache
def format_of(name: str) -> Format:
    """Return the way to write and read a class of this name."""
    home = HOMES[name]
    if home in _DECLARED:
        return declared_format(getattr(importlib.import_module(home), name))
    return importlib.import_module(f"covey.persistence.{home}").FORMATS[name]


def by_hand(cls: type) -> Any:
    """Return the module that writes and reads a class whose fields are not declared; else None."""
    home = _BY_HAND.get(cls.__name__)
    return home and importlib.import_module(f"covey.persistence.{home}")


def write_model(model: Any, out: Writer) -> dict[str, Any]:
    """Return a model as an object of the document."""
    name = type(model).__name__
    if name not in HOMES or format_of(name).cls is not type(model):
        raise NotCoveredError(f"a {name}")
    if name in _OF_ROWS and not out.keeps_rows:
        raise ModelFileError(f"A {name} predicts by rows of its training; save it with rows=True.")
    written = {"kind": name, **format_of(name).write(model, out)}
    # Data that the command line keeps with a model: its evaluation, life, and hashes of its rows.
    for part in _RECORDS:
        if f"{part}_" in vars(model):
            written[part] = vars(model)[f"{part}_"].to_json()
    if "seen_" in vars(model) and out.keeps_rows:
        written["rows"] = out.array(vars(model)["seen_"], "unsigned")
    return written


def read_model(node: Node) -> Any:
    """Return the model that an object of the document describes."""
    with node:
        name = node.text("kind", HOMES)
        try:
            model = format_of(name).read(node)
        except StateError as error:
            node.refuse(error)
        for part, record in _RECORDS.items():
            if node.has(part):
                known = node.plain(part)
                node.check(isinstance(known, str), part, "is not text.")
                try:
                    setattr(model, f"{part}_", record.from_json(known))
                except (ValueError, RecursionError):
                    node.check(False, part, "is none.")
        if node.has("rows"):
            model.seen_ = node.array("rows", (None,), "unsigned")
        return model
