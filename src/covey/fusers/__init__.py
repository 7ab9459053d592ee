"""Fusers: rules and models that make one decision of the predictions of members."""

from covey.fusers._base import Fuser
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
)
from covey.fusers._gate import Gate
from covey.fusers._predictions import Predictions
from covey.fusers._stacking import GreedySelection, LinearStacking, Stacking
from covey.fusers._weights import KOfN, Majority, StaticSelection

__all__ = [
    "Borda",
    "DynamicSelection",
    "FunctionRule",
    "Fuser",
    "Gate",
    "GreedySelection",
    "KOfN",
    "LastStage",
    "LinearStacking",
    "Majority",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Oracle",
    "Predictions",
    "Product",
    "SingleBest",
    "Stacking",
    "StaticSelection",
    "TrimmedMean",
    "WeightedMedian",
    "fuse",
]
