"""Rivals of the paper's method: other ways to grow diverse members, for comparison."""

from covey.rivals._decorate import DecorateClassifier
from covey.rivals._diverse_maxent import DiverseMaxEntClassifier
from covey.rivals._subset_search import SubsetSearchClassifier

__all__ = ["DecorateClassifier", "DiverseMaxEntClassifier", "SubsetSearchClassifier"]
