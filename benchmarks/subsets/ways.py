"""Ways to choose the subsets of one gated group; each gives groups from many features to few.

A way is a function of rows, of where the group starts, of the CPU seconds that it may take and of
a generator of random numbers. The two paths and the dense group take the iterations that the
search gives them; the others go on until their time has passed.
"""

import copy
from functools import partial

from benchmarks.subsets.flips import flipped_path
from benchmarks.subsets.group import N_MEMBERS, refined, within
from benchmarks.subsets.group_penalty import penalty_path
from covey._core.gating.paths import gate_squares, member_squares, path_sizes

# Iterations of L-BFGS on all features, and at each further point of a path: those of the search.
MAX_ITER = 50
PATH_ITER = 12
# Shares of the penalty alpha.
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
# What a feature costs in nats of the whole likelihood. A parameter costs 1 by Akaike's criterion
# and log(n) / 2 by the Bayesian one; shrunk parameters count for less than one.
PRICES = (0.1, 0.3, 1.0, 3.0, 10.0)
# Of the greatest useful group penalty.
STRENGTHS = (0.03, 0.1, 0.3, 0.7, 1.5)


def dense(rows, start, seconds, rng):
    """All features."""
    yield refined(rows, start, MAX_ITER)


def dense_penalties(rows, start, seconds, rng):
    """All features, but several penalties to choose from, weak to strong."""
    for share in PENALTIES:
        shrunk = copy.copy(rows)
        shrunk.alpha = share * rows.alpha
        yield refined(shrunk, start, MAX_ITER)


def path(rows, start, seconds, rng, *, together):
    """The weakest features leave, of each member as many or of all members together."""
    group = refined(rows, start, MAX_ITER)
    yield group
    features = rows.features
    for size in path_sizes(features.n_units, features.n_units)[1:]:
        strength = features.strength(member_squares(group.theta[None]))  # (1, K, U)
        if not together:
            strength = strength.reshape(N_MEMBERS, 1, -1)
        kept = features.strongest(strength, size, features.n_features)
        strength = features.strength(gate_squares(group.gate[None]))[:, None]
        gate_kept = features.strongest(strength, size, features.n_features)
        pruned = within(rows, group, kept.reshape(N_MEMBERS, -1), gate_kept[0, 0])
        group = refined(rows, pruned, PATH_ITER)
        yield group


def flips(rows, start, seconds, rng, *, temperature):
    """Flips accepted by the priced likelihood, for rising prices."""
    return flipped_path(rows, start, PRICES, seconds, temperature, rng)


def group_penalty(rows, start, seconds, rng):
    """A group penalty, rising."""
    return penalty_path(rows, start, STRENGTHS, seconds)


# The way whose time the others get.
TIMED_BY = "path, pairs together"
WAYS = {
    TIMED_BY: partial(path, together=True),
    "path, each member its share": partial(path, together=False),
    "dense": dense,
    "dense, penalty chosen": dense_penalties,
    "flips, greedy": partial(flips, temperature=0.0),
    "flips, Metropolis": partial(flips, temperature=1.0),
    "group penalty": group_penalty,
}
