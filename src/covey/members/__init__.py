"""How members are grown, or brought along."""

from covey.members._base import GrownClassifier
from covey.members._flock import FlockClassifier, FlockRegressor
from covey.members._fused import FusedClassifier, FusedRegressor
from covey.members._fusion import FusionClassifier
from covey.members._fusion_regression import FusionRegressor
from covey.members._linear_flock import LinearFlock
from covey.members._member import LinearMember, LinearRegressionMember
from covey.members._multiview import MultiviewClassifier
from covey.members._sampled import (
    SampledFusionClassifier,
    SampledFusionRegressor,
    from_bagging,
    from_forest,
)
from covey.members._sampled_sources import SampledClassifiers, SampledRegressors
from covey.members._subset_ensemble import SubsetEnsembleClassifier, SubsetEnsembleRegressor

__all__ = [
    "FlockClassifier",
    "FlockRegressor",
    "FusedClassifier",
    "FusedRegressor",
    "FusionClassifier",
    "FusionRegressor",
    "GrownClassifier",
    "LinearFlock",
    "LinearMember",
    "LinearRegressionMember",
    "MultiviewClassifier",
    "SampledClassifiers",
    "SampledFusionClassifier",
    "SampledFusionRegressor",
    "SampledRegressors",
    "SubsetEnsembleClassifier",
    "SubsetEnsembleRegressor",
    "from_bagging",
    "from_forest",
]
