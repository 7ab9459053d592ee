"""Fusers by name, for every parameter that takes one."""

from sklearn.base import clone

from covey.fusers._base import Fuser
from covey.fusers._fixed import Oracle, Product

FUSERS = {"oracle": Oracle, "product": Product}


def make_fuser(rule, parameter="fusion"):
    """An unfitted fuser from its name, or a copy of the one given."""
    if isinstance(rule, Fuser):
        return clone(rule)
    if isinstance(rule, str) and rule in FUSERS:
        return FUSERS[rule]()
    listed = ", ".join(repr(name) for name in FUSERS)
    raise ValueError(f"{parameter} must be one of {listed} or a Fuser, got {rule!r}.")
