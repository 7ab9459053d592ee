"""How much of the way from equal weights to the oracle a gate goes: ``make bench-gap``.

The sum over all tables of (gate - g_EW) over the sum of (oracle - g_EW). Equal weights and
oracle come from one setting of Algorithm 1 with 8 members; the gate is a single one over 8
members that are refined with it: those very members, or members (and a gate) on ramps of the
features, as ``effort="fast"`` has them. The oracle does not choose among members that are
constant on the test rows: one for each class would be right everywhere for nothing.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy import problems
from covey import FlockClassifier, Gate, SubsetEnsembleClassifier

SETTINGS = {
    "defaults": SubsetEnsembleClassifier,
    "paper()": lambda *args, **kw: SubsetEnsembleClassifier.paper(
        n_estimators=args[0], select_size=None, **kw
    ),
}


def one(name, number, setting):
    """Accuracies of equal weights, oracle and gate on one split."""
    X, X_test, y, y_test = problems.split(*problems.load(name), number)
    make = SETTINGS[setting]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal = make(8, random_state=number, fuser="product").fit(X, y)
        gated = make(8, random_state=number, fuser=Gate()).fit(X, y)
        ramps = FlockClassifier(n_estimators=8, random_state=number, effort="fast").fit(X, y)
    return (
        equal.score(X_test, y_test),
        equal.oracle_score(X_test, y_test),
        gated.score(X_test, y_test),
        ramps.score(X_test, y_test),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="twelve sets instead of all")
    arguments = parser.parse_args()
    names = problems.names(arguments.quick)
    fits = [(name, number) for name in names for number in range(arguments.splits)]
    for setting in SETTINGS:
        rows = np.array(
            Parallel(n_jobs=arguments.jobs)(delayed(one)(*fit, setting) for fit in fits)
        )
        equal, oracle, *gates = rows.T
        print(
            f"{setting}: {len(names)} tables x {arguments.splits} splits, mean accuracy equal "
            f"weights {equal.mean():.4f}, oracle {oracle.mean():.4f}"
        )
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(rows), (2000, len(rows)))
        for name, gate in zip(("features", "ramps"), gates, strict=True):
            ratio = (gate - equal).sum() / (oracle - equal).sum()
            spread = (gate - equal)[drawn].sum(axis=1) / (oracle - equal)[drawn].sum(axis=1)
            low, high = np.percentile(spread, [2.5, 97.5])
            print(
                f"  gate on {name}: {gate.mean():.4f}, {ratio:.3f} of the way "
                f"(95 % interval {low:.3f} to {high:.3f})"
            )


if __name__ == "__main__":
    main()
