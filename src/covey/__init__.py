"""covey: grow small flocks of simple models, fuse them, and see who decided and why.

- *grow*: `FlockClassifier` searches for a few groups of linear members, each member on its own
  features; `SubsetEnsembleClassifier.paper()` is the algorithm of the paper behind it.
- *fuse*: `FusionClassifier` makes one decision out of any models, `fuse` out of saved
  predictions, by votes, ranks, probabilities or dynamic selection.
- *explain*: ``explain_fusion``, ``support_`` and ``history_`` show who decided and why.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Where each public name lives. They are imported on first use, to keep `import covey` light.
_NAMES_BY_MODULE = {
    "members": (
        "FlockClassifier",
        "FlockRegressor",
        "FusionClassifier",
        "FusionRegressor",
        "MultiviewClassifier",
        "SubsetEnsembleClassifier",
        "SubsetEnsembleRegressor",
        "members_of",
        "out_of_bag",
    ),
    # Plain rules are given by name (fuser="median"), or as objects of `covey.fusers`.
    "fusers": (
        "Fuser",
        "Gate",
        "GreedySelection",
        "LinearStacking",
        "Predictions",
        "Stacking",
        "fuse",
    ),
    "stacking": ("GeneralStackingClassifier", "GeneralStackingRegressor"),
    "multiclass": ("CodeBookClassifier",),
    "selection": ("SubsetSelector",),
    "clustering": ("ConsensusClustering", "consensus"),
    "_table_models": ("TableClassifier", "TableRegressor"),
    "evaluation": ("Evaluation", "evaluate"),
    "reporting": ("Report", "build_report"),
    "persistence": ("load", "save"),
    "onnx": ("to_onnx",),
    "datasets": ("make_quarter_circle",),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
_MODULES = (*_NAMES_BY_MODULE, "dask", "inspection", "rivals", "tables", "utils")

__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"covey.{_MODULE_OF[name]}"), name)
    if name in _MODULES:
        return import_module(f"covey.{name}")
    raise AttributeError(f"module 'covey' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
