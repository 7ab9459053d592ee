"""Looks into models: what their errors are made of, and how their members differ."""

from covey._names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    "covey.inspection",
    {
        "_displays": (
            "AmbiguityDisplay BiasVarianceDisplay CoSelectionDisplay DartsDisplay "
            "DecisionRegionsDisplay ImportanceDisplay KappaErrorDisplay SizeDisplay "
            "TrainingHistoryDisplay"
        ),
        "_fusion_loss": "ambiguity gate_share",
        "_bias_variance": "bias_variance",
        "_effects": "column_effect",
        "_importance": "column_importance",
        "_contributions": "contributions reasons",
        "_changes": "curves smallest_change what_if",
        "_diversity": "diversity",
        "_bounds": "fusion_bound held_out_bound oracle_bounds oracle_interval vote_bound",
        "_row_card": "row_card",
    },
)
