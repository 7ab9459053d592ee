"""The names of covey.inspection, each where it is from."""

from covey.inspection._bias_variance import bias_variance as bias_variance
from covey.inspection._bounds import fusion_bound as fusion_bound
from covey.inspection._bounds import held_out_bound as held_out_bound
from covey.inspection._bounds import oracle_bounds as oracle_bounds
from covey.inspection._bounds import oracle_interval as oracle_interval
from covey.inspection._bounds import vote_bound as vote_bound
from covey.inspection._changes import curves as curves
from covey.inspection._changes import smallest_change as smallest_change
from covey.inspection._changes import what_if as what_if
from covey.inspection._contributions import contributions as contributions
from covey.inspection._contributions import reasons as reasons
from covey.inspection._displays import AmbiguityDisplay as AmbiguityDisplay
from covey.inspection._displays import BiasVarianceDisplay as BiasVarianceDisplay
from covey.inspection._displays import CoSelectionDisplay as CoSelectionDisplay
from covey.inspection._displays import DartsDisplay as DartsDisplay
from covey.inspection._displays import DecisionRegionsDisplay as DecisionRegionsDisplay
from covey.inspection._displays import ImportanceDisplay as ImportanceDisplay
from covey.inspection._displays import KappaErrorDisplay as KappaErrorDisplay
from covey.inspection._displays import SizeDisplay as SizeDisplay
from covey.inspection._displays import TrainingHistoryDisplay as TrainingHistoryDisplay
from covey.inspection._diversity import diversity as diversity
from covey.inspection._effects import column_effect as column_effect
from covey.inspection._fusion_loss import ambiguity as ambiguity
from covey.inspection._fusion_loss import gate_share as gate_share
from covey.inspection._importance import column_importance as column_importance
from covey.inspection._row_card import row_card as row_card
