"""Fusers by name, for every parameter that takes one."""

from sklearn.base import clone

from covey.fusers._base import Fuser
from covey.fusers._dynamic import (
    DESKNN,
    DESP,
    KNOP,
    LCA,
    OLA,
    KnoraEliminate,
    KnoraUnion,
    MetaDES,
)
from covey.fusers._fixed import (
    Borda,
    Max,
    Mean,
    Median,
    Min,
    Oracle,
    Product,
    SingleBest,
    TrimmedMean,
)
from covey.fusers._gate import Gate
from covey.fusers._model_stacking import Stacking
from covey.fusers._stacked import GreedySelection, LinearStacking
from covey.fusers._votes import And, KOfN, Majority, Or

FUSERS = {
    "and": And,
    "borda": Borda,
    "des_knn": DESKNN,
    "des_p": DESP,
    "gate": Gate,
    "greedy_selection": GreedySelection,
    "k_of_n": KOfN,
    "knop": KNOP,
    "knora_e": KnoraEliminate,
    "knora_u": KnoraUnion,
    "lca": LCA,
    "linear_stacking": LinearStacking,
    "majority": Majority,
    "max": Max,
    "mean": Mean,
    "median": Median,
    "meta_des": MetaDES,
    "min": Min,
    "ola": OLA,
    "or": Or,
    "oracle": Oracle,
    "product": Product,
    "single_best": SingleBest,
    "stacking": Stacking,
    "trimmed_mean": TrimmedMean,
}


def make_fuser(rule, parameter="fuser", **parameters):
    """An unfitted fuser from its name, or a copy of the one given.

    Parameters
    ----------
    rule : str or Fuser
    parameter : str
        What the user called it, for the message.
    **parameters
        The fuser's own parameters, with a name only.
    """
    if isinstance(rule, Fuser):
        if parameters:
            raise ValueError(
                f"{', '.join(parameters)} cannot be set on the {type(rule).__name__} given; "
                "give the rule by name, or set it there."
            )
        return clone(rule)
    if not (isinstance(rule, str) and rule in FUSERS):
        listed = ", ".join(repr(name) for name in FUSERS)
        raise ValueError(f"{parameter} must be one of {listed} or a Fuser, got {rule!r}.")
    fuser = FUSERS[rule]()
    known = fuser.get_params()
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"The rule {rule!r} has no parameter {name!r}; it has {listed}.")
    return fuser.set_params(**parameters)
