"""How members are fused into one decision."""

from covey.fusers._base import Fuser
from covey.fusers._fixed import Oracle, Product
from covey.fusers._predictions import Predictions
from covey.fusers._registry import make_fuser

__all__ = ["Fuser", "Oracle", "Predictions", "Product", "make_fuser"]
