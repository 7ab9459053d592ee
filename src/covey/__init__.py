"""covey: grow small flocks of simple models, fuse them, and see who decided and why.

- *grow*: `SubsetEnsembleClassifier` trains members one after another, each on its own
  features, each drawn to the samples that the earlier ones get wrong.
- *fuse*: `FusionClassifier` makes one decision out of any models, `fuse` out of saved
  predictions, by votes, ranks, probabilities or dynamic selection.
- *explain*: ``explain_fusion``, ``support_`` and ``history_`` say who decided and why.
"""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives. They are imported on first use, to keep `import covey` light.
_HOMES = {
    "DecorateClassifier": "covey.members",
    "DiverseMaxEntClassifier": "covey.members",
    "FusionClassifier": "covey.members",
    "FusionRegressor": "covey.members",
    "GrownClassifier": "covey.members",
    "LinearMember": "covey.members",
    "MultiviewClassifier": "covey.members",
    "SampledFusionClassifier": "covey.members",
    "SampledFusionRegressor": "covey.members",
    "SubsetEnsembleClassifier": "covey.members",
    "SubsetEnsembleRegressor": "covey.members",
    "SubsetSearchClassifier": "covey.members",
    "from_bagging": "covey.members",
    "from_forest": "covey.members",
    "DESKNN": "covey.fusers",
    "DESP": "covey.fusers",
    "KNOP": "covey.fusers",
    "LCA": "covey.fusers",
    "OLA": "covey.fusers",
    "And": "covey.fusers",
    "Borda": "covey.fusers",
    "DynamicSelection": "covey.fusers",
    "Fuser": "covey.fusers",
    "Gate": "covey.fusers",
    "GreedySelection": "covey.fusers",
    "KOfN": "covey.fusers",
    "KnoraEliminate": "covey.fusers",
    "KnoraUnion": "covey.fusers",
    "LinearStacking": "covey.fusers",
    "Majority": "covey.fusers",
    "Max": "covey.fusers",
    "Mean": "covey.fusers",
    "Median": "covey.fusers",
    "MetaDES": "covey.fusers",
    "Min": "covey.fusers",
    "Or": "covey.fusers",
    "Oracle": "covey.fusers",
    "Predictions": "covey.fusers",
    "Product": "covey.fusers",
    "SingleBest": "covey.fusers",
    "Stacking": "covey.fusers",
    "TrimmedMean": "covey.fusers",
    "fuse": "covey.fusers",
    "make_quarter_circle": "covey.datasets",
    "ConsensusClustering": "covey.clustering",
    "consensus": "covey.clustering",
    "SubsetSelector": "covey.selection",
    "CodeBookClassifier": "covey.multiclass",
    "GeneralStackingClassifier": "covey.stacking",
    "GeneralStackingRegressor": "covey.stacking",
    "LinearStackingClassifier": "covey.stacking",
    "LinearStackingRegressor": "covey.stacking",
    "TableClassifier": "covey.tables",
    "TableRegressor": "covey.tables",
    "Report": "covey.reporting",
    "build_report": "covey.reporting",
    "load": "covey.persistence",
    "save": "covey.persistence",
    "to_onnx": "covey.onnx",
    "BiasVariance": "covey.inspection",
    "BiasVarianceDisplay": "covey.inspection",
    "CoSelectionDisplay": "covey.inspection",
    "DartsDisplay": "covey.inspection",
    "DecisionRegionsDisplay": "covey.inspection",
    "ImportanceDisplay": "covey.inspection",
    "KappaErrorDisplay": "covey.inspection",
    "SizeDisplay": "covey.inspection",
    "TrainingHistoryDisplay": "covey.inspection",
    "Bound": "covey.inspection",
    "Diversity": "covey.inspection",
    "OracleInterval": "covey.inspection",
    "bias_variance": "covey.inspection",
    "diversity": "covey.inspection",
    "held_out_bound": "covey.inspection",
    "oracle_bounds": "covey.inspection",
    "oracle_interval": "covey.inspection",
    "vote_bound": "covey.inspection",
}
_SUBPACKAGES = (
    "clustering",
    "dask",
    "datasets",
    "fusers",
    "inspection",
    "members",
    "multiclass",
    "onnx",
    "persistence",
    "reporting",
    "reproduce",
    "selection",
    "stacking",
    "tables",
)

__all__ = ["__version__", *_HOMES]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"covey.{name}")
    raise AttributeError(f"module 'covey' has no attribute {name!r}")


def __dir__():
    return sorted([*__all__, *_SUBPACKAGES])
