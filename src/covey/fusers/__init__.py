"""How members are fused into one decision."""

from covey.fusers._base import FUSERS, Fuser
from covey.fusers._dynamic import DynamicSelection
from covey.fusers._fixed import (
    Borda,
    FunctionRule,
    LastStage,
    Max,
    Mean,
    Median,
    Min,
    Oracle,
    Product,
    SingleBest,
    TrimmedMean,
    WeightedMedian,
    fuse,
    make_fuser,
    make_value_fuser,
    stage_scores,
)
from covey.fusers._gate import Gate, GatedGroups, GateFeatures, GateSums
from covey.fusers._outputs import (
    common_kind,
    gather,
    importance_frame,
    member_output,
    member_values,
)
from covey.fusers._predictions import (
    Predictions,
    align_classes,
    as_predictions,
    concatenated,
    encode_labels,
)
from covey.fusers._stacking import GreedySelection, LinearStacking, Stacking
from covey.fusers._weights import And, KOfN, Majority, Or, StaticSelection, WeightedFuser

__all__ = [
    "FUSERS",
    "And",
    "Borda",
    "DynamicSelection",
    "FunctionRule",
    "Fuser",
    "Gate",
    "GateFeatures",
    "GateSums",
    "GatedGroups",
    "GreedySelection",
    "KOfN",
    "LastStage",
    "LinearStacking",
    "Majority",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Or",
    "Oracle",
    "Predictions",
    "Product",
    "SingleBest",
    "Stacking",
    "StaticSelection",
    "TrimmedMean",
    "WeightedFuser",
    "WeightedMedian",
    "align_classes",
    "as_predictions",
    "common_kind",
    "concatenated",
    "encode_labels",
    "fuse",
    "gather",
    "importance_frame",
    "make_fuser",
    "make_value_fuser",
    "member_output",
    "member_values",
    "stage_scores",
]
