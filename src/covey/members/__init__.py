"""Members: grown, searched for, or brought along."""

from covey.members._flock import FlockClassifier, FlockRegressor
from covey.members._fusion import FusionClassifier, FusionRegressor
from covey.members._member import LinearMember, LinearRegressionMember
from covey.members._members_of import members_of, out_of_bag
from covey.members._multiview import MultiviewClassifier
from covey.members._quantiles import FlockQuantiles
from covey.members._subset_ensemble import SubsetEnsembleClassifier, SubsetEnsembleRegressor

__all__ = [
    "FlockClassifier",
    "FlockQuantiles",
    "FlockRegressor",
    "FusionClassifier",
    "FusionRegressor",
    "LinearMember",
    "LinearRegressionMember",
    "MultiviewClassifier",
    "SubsetEnsembleClassifier",
    "SubsetEnsembleRegressor",
    "members_of",
    "out_of_bag",
]
