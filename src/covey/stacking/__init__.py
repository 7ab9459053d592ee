"""Stacking: how to fuse is learnt from what members say of rows that they have not seen."""

from covey.stacking._general import GeneralStackingClassifier, GeneralStackingRegressor
from covey.stacking._linear import LinearStackingClassifier, LinearStackingRegressor

__all__ = [
    "GeneralStackingClassifier",
    "GeneralStackingRegressor",
    "LinearStackingClassifier",
    "LinearStackingRegressor",
]
