"""How many terms a person must read to follow a model's decision.

A term is one condition with what it adds to each class: "0.7 times the age", "plus 0.3 where the
income is below 20", "1 in 5 in this leaf". The numbers of all classes are one term; intercepts are
not counted. covey's own count (`n_terms_`) is by the same rule: one column (a feature, a ramp of
it, a product of two) in one member, and one column in one group's gate.
"""

import numpy as np


def of_coefficients(coef):
    """Features with a nonzero coefficient; ``coef`` is of shape (classes, features)."""
    return int((np.atleast_2d(coef) != 0).any(axis=0).sum())


def of_steps(values, tolerance=1e-9):
    """Steps of a shape function: values of shape (bins,) or (bins, classes), bins in order.

    Neighbouring bins of the same values are one step. A function without a jump says nothing and
    counts as none.
    """
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    jumps = (np.abs(np.diff(values, axis=0)) > tolerance).any(axis=1).sum()
    return int(jumps + (jumps > 0))


def of_shapes(term_scores):
    """Steps of all shape functions of an explainable boosting machine without interactions.

    The first and the last value of each are for missing and for unknown values.
    """
    return sum(of_steps(values[1:-1]) for values in term_scores)


def of_leaves(n_leaves):
    """Leaves of a tree, or of several that are summed; a single leaf says nothing."""
    return int(n_leaves) if n_leaves > 1 else 0
