"""Looks into models: what their errors are made of, and how their members differ."""

from covey.inspection._bias_variance import BiasVariance, bias_variance
from covey.inspection._bounds import (
    Bound,
    FusionBound,
    OracleInterval,
    fusion_bound,
    held_out_bound,
    oracle_bounds,
    oracle_interval,
    vote_bound,
)
from covey.inspection._changes import (
    Curve,
    SmallestChange,
    WhatIf,
    curves,
    smallest_change,
    what_if,
)
from covey.inspection._contributions import Contributions, contributions, reasons
from covey.inspection._diversity import MEASURES, Diversity, diversity
from covey.inspection._effects import ColumnEffect, EffectPoint, column_effect
from covey.inspection._fusion_loss import Ambiguity, GateShare, ambiguity, gate_share
from covey.inspection._importance import Importance, column_importance
from covey.inspection._loss_displays import AmbiguityDisplay, BiasVarianceDisplay, DartsDisplay
from covey.inspection._member_displays import (
    CoSelectionDisplay,
    DecisionRegionsDisplay,
    ImportanceDisplay,
    KappaErrorDisplay,
    SizeDisplay,
    TrainingHistoryDisplay,
)
from covey.inspection._row_card import RowCard, row_card

__all__ = [
    "MEASURES",
    "Ambiguity",
    "AmbiguityDisplay",
    "BiasVariance",
    "BiasVarianceDisplay",
    "Bound",
    "CoSelectionDisplay",
    "ColumnEffect",
    "Contributions",
    "Curve",
    "DartsDisplay",
    "DecisionRegionsDisplay",
    "Diversity",
    "EffectPoint",
    "FusionBound",
    "GateShare",
    "Importance",
    "ImportanceDisplay",
    "KappaErrorDisplay",
    "OracleInterval",
    "RowCard",
    "SizeDisplay",
    "SmallestChange",
    "TrainingHistoryDisplay",
    "WhatIf",
    "ambiguity",
    "bias_variance",
    "column_effect",
    "column_importance",
    "contributions",
    "curves",
    "diversity",
    "fusion_bound",
    "gate_share",
    "held_out_bound",
    "oracle_bounds",
    "oracle_interval",
    "reasons",
    "row_card",
    "smallest_change",
    "vote_bound",
    "what_if",
]
