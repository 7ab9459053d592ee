"""Looks into models: what their errors are made of, and how their members differ."""

from covey.inspection._ambiguity import Ambiguity, ambiguity
from covey.inspection._ambiguity_display import AmbiguityDisplay
from covey.inspection._bias_variance import BiasVariance, bias_variance
from covey.inspection._bias_variance_displays import BiasVarianceDisplay, DartsDisplay
from covey.inspection._bounds import (
    Bound,
    OracleInterval,
    held_out_bound,
    oracle_bounds,
    oracle_interval,
    vote_bound,
)
from covey.inspection._co_selection_display import CoSelectionDisplay
from covey.inspection._contributions import Contributions, contributions
from covey.inspection._decision_regions_display import DecisionRegionsDisplay
from covey.inspection._diversity import MEASURES, Diversity, diversity
from covey.inspection._fusion_bound import FusionBound, fusion_bound
from covey.inspection._gate_share import GateShare, gate_share
from covey.inspection._importance_display import ImportanceDisplay
from covey.inspection._kappa_error_display import KappaErrorDisplay
from covey.inspection._reasons import reasons
from covey.inspection._row_card import RowCard, row_card
from covey.inspection._size_display import SizeDisplay
from covey.inspection._smallest_change import SmallestChange, smallest_change
from covey.inspection._training_history_display import TrainingHistoryDisplay
from covey.inspection._what_if import Curve, WhatIf, curves, what_if

__all__ = [
    "MEASURES",
    "Ambiguity",
    "AmbiguityDisplay",
    "BiasVariance",
    "BiasVarianceDisplay",
    "Bound",
    "CoSelectionDisplay",
    "Contributions",
    "Curve",
    "DartsDisplay",
    "DecisionRegionsDisplay",
    "Diversity",
    "FusionBound",
    "GateShare",
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
