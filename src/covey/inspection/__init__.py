"""Looks into models: what their errors are made of, and how their members differ."""

from covey.inspection._bias_variance import bias_variance
from covey.inspection._bounds import (
    fusion_bound,
    held_out_bound,
    oracle_bounds,
    oracle_interval,
    vote_bound,
)
from covey.inspection._changes import curves, smallest_change, what_if
from covey.inspection._contributions import contributions, reasons
from covey.inspection._diversity import diversity
from covey.inspection._effects import column_effect
from covey.inspection._fusion_loss import ambiguity, gate_share
from covey.inspection._importance import column_importance
from covey.inspection._loss_displays import AmbiguityDisplay, BiasVarianceDisplay, DartsDisplay
from covey.inspection._member_displays import (
    CoSelectionDisplay,
    DecisionRegionsDisplay,
    ImportanceDisplay,
    KappaErrorDisplay,
    SizeDisplay,
    TrainingHistoryDisplay,
)
from covey.inspection._row_card import row_card

__all__ = [
    "AmbiguityDisplay",
    "BiasVarianceDisplay",
    "CoSelectionDisplay",
    "DartsDisplay",
    "DecisionRegionsDisplay",
    "ImportanceDisplay",
    "KappaErrorDisplay",
    "SizeDisplay",
    "TrainingHistoryDisplay",
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
