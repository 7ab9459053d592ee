"""How members are grown, or brought along."""

from covey.members._algorithm1_flock import GrownMember
from covey.members._ensemble import Ensemble
from covey.members._ensembles import (
    BaggedClassifier,
    BaggedRegressor,
    members_of,
    out_of_bag,
)
from covey.members._flock import FlockClassifier, FlockRegressor
from covey.members._flock_summary import Origins
from covey.members._fusion import FusionClassifier, FusionRegressor
from covey.members._given import Classifiers, GivenModels, Regressors
from covey.members._linear_flock import LinearFlock
from covey.members._member import LinearMember, LinearRegressionMember
from covey.members._multiview import MultiviewClassifier
from covey.members._named import NamedMembers
from covey.members._routing import FitParameters, RoutesToEstimator
from covey.members._rows_in_memory import InMemoryRows
from covey.members._subset_ensemble import SubsetEnsembleClassifier, SubsetEnsembleRegressor
from covey.members._training_rows import TrainingRows

__all__ = [
    "BaggedClassifier",
    "BaggedRegressor",
    "Classifiers",
    "Ensemble",
    "FitParameters",
    "FlockClassifier",
    "FlockRegressor",
    "FusionClassifier",
    "FusionRegressor",
    "GivenModels",
    "GrownMember",
    "InMemoryRows",
    "LinearFlock",
    "LinearMember",
    "LinearRegressionMember",
    "MultiviewClassifier",
    "NamedMembers",
    "Origins",
    "Regressors",
    "RoutesToEstimator",
    "SubsetEnsembleClassifier",
    "SubsetEnsembleRegressor",
    "TrainingRows",
    "members_of",
    "out_of_bag",
]
