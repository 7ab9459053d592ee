"""How members are grown, or brought along."""

from covey.members._base import GrownClassifier
from covey.members._fused import FusedClassifier
from covey.members._fused_regression import FusedRegressor
from covey.members._fusion import FusionClassifier
from covey.members._fusion_regression import FusionRegressor
from covey.members._joint_subsets import SubsetEnsembleClassifier
from covey.members._joint_subsets_regression import SubsetEnsembleRegressor
from covey.members._linear import LinearMember
from covey.members._linear_regression import LinearRegressionMember
from covey.members._multiview import MultiviewClassifier
from covey.members._sampled import (
    SampledFusionClassifier,
    SampledFusionRegressor,
    from_bagging,
    from_forest,
)
from covey.members._sampled_sources import SampledClassifiers, SampledRegressors

__all__ = [
    "FusedClassifier",
    "FusedRegressor",
    "FusionClassifier",
    "FusionRegressor",
    "GrownClassifier",
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
