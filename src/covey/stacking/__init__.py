"""Stacking of any models, learnt out of fold, in one layer or several."""

from covey.stacking._general import GeneralStackingClassifier, GeneralStackingRegressor

__all__ = ["GeneralStackingClassifier", "GeneralStackingRegressor"]
