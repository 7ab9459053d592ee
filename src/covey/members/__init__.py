"""How members are grown."""

from covey.members._base import GrownClassifier
from covey.members._joint_subsets import SubsetEnsembleClassifier
from covey.members._linear import LinearMember

__all__ = ["GrownClassifier", "LinearMember", "SubsetEnsembleClassifier"]
