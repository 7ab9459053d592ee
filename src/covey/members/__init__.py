"""How members are grown, or brought along."""

from covey.members._base import GrownClassifier
from covey.members._fused import FusedClassifier
from covey.members._fusion import FusionClassifier
from covey.members._joint_subsets import SubsetEnsembleClassifier
from covey.members._linear import LinearMember

__all__ = [
    "FusedClassifier",
    "FusionClassifier",
    "GrownClassifier",
    "LinearMember",
    "SubsetEnsembleClassifier",
]
