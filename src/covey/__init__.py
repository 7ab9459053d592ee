"""covey: grow small flocks of simple models, fuse them, and see who decided and why.

- *grow*: `FlockClassifier` searches for a few groups of linear members, each member on its own
  features; `SubsetEnsembleClassifier.paper()` is the algorithm of the paper behind it.
- *fuse*: `FusionClassifier` makes one decision out of any models, `fuse` out of saved
  predictions, by votes, ranks, probabilities or dynamic selection.
- *explain*: ``explain_fusion``, ``support_`` and ``history_`` show who decided and why.
"""

from covey._names import lazy_names

__version__ = "0.2.0"

_names, __getattr__, __dir__ = lazy_names(
    "covey",
    {
        "members": (
            "FlockClassifier FlockRegressor FusionClassifier FusionRegressor MultiviewClassifier "
            "SubsetEnsembleClassifier SubsetEnsembleRegressor members_of out_of_bag"
        ),
        # Plain rules are given by name (fuser="median"), or as objects of `covey.fusers`.
        "fusers": "Fuser Gate GreedySelection LinearStacking Predictions Stacking fuse",
        "stacking": "GeneralStackingClassifier GeneralStackingRegressor",
        "multiclass": "CodeBookClassifier",
        "selection": "SubsetSelector",
        "clustering": "ConsensusClustering consensus",
        "evaluation": "Evaluation evaluate",
        "reporting": "Report build_report",
        "persistence": "load save",
        "onnx": "to_onnx",
        "datasets": "make_quarter_circle",
        # Their names are imported from there.
        **dict.fromkeys(("dask", "inspection", "rivals", "tables", "utils"), ""),
    },
)
__all__ = ["__version__", *_names]
