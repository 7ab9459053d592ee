"""False discovery rates of `SubsetSelector`'s tests on many seeds that nothing else has seen.

    python -m benchmarks.selection.rates --first 100 --seeds 2000 --designs difference

p-values depend on nothing random, and members grown on halves select nothing, so the tests alone
are run: a hundredth of the time of a fit.
"""

import argparse

import numpy as np

from benchmarks.selection import designs
from covey._core.inspection.frequencies import strata_of_values
from covey._core.inspection.two_answers import two_answers

DESIGNS = ("difference", "copies", "xor", "twins", "iris", "blocks", "nothing")


def false_share(design, seed, level):
    """The share of what is selected that carries nothing."""
    X, y, true, _ = design(seed)
    classes = np.issubdtype(y.dtype, np.integer)
    strata = np.unique(y, return_inverse=True)[1] if classes else strata_of_values(y)
    unit, weight = np.arange(X.shape[1]), np.ones(len(y))
    target = strata if classes else y
    found = two_answers(X, unit, target, weight, strata, level=level, seed=0).relevant
    return len(set(found) - set(true)) / max(1, len(found))


def main():
    """Print a rate with its standard error for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--designs", nargs="*", default=DESIGNS)
    given = parser.parse_args()
    for name in given.designs:
        seeds = range(given.first, given.first + given.seeds)
        shares = [false_share(getattr(designs, name), seed, given.level) for seed in seeds]
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        print(f"{name}: {np.mean(shares):.3f} ± {error:.3f} over {len(shares)} seeds", flush=True)


if __name__ == "__main__":
    main()
