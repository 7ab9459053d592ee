"""Looks into models: what their errors are made of, and how their members differ."""

from covey.inspection._bias_variance import BiasVariance, bias_variance
from covey.inspection._bounds import (
    Bound,
    OracleInterval,
    c_bound,
    first_order_bound,
    held_out_bound,
    oracle_bounds,
    oracle_interval,
    tandem_bound,
)
from covey.inspection._diversity import Diversity, diversity

__all__ = [
    "BiasVariance",
    "Bound",
    "Diversity",
    "OracleInterval",
    "bias_variance",
    "c_bound",
    "diversity",
    "first_order_bound",
    "held_out_bound",
    "oracle_bounds",
    "oracle_interval",
    "tandem_bound",
]
