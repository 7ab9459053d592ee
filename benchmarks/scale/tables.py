"""The tables of the benchmark of size: synthetic ones with a known truth, and two real ones.

A synthetic table is named by its shape, rows x columns x classes. Its columns share a few common
factors, as in ``benchmarks/speed/problems.py``. At most 20 of them, and at most 60 %, are
informative; the others are noise. The logits of the classes are the sum of four parts of equal
variance, so that lines, trees and gates all have something to learn:

- a line: ``u @ A``, where u are the informative columns;
- products of two neighbouring columns;
- thresholds: whether a column is above a value, one value for each column;
- a region: where the sum of the first two columns is positive, a second line is added.

Labels are drawn from the softmax of the logits, so there is something that nobody can know: the
log-loss of the true probabilities, which ``truth`` gives.

The function from columns to logits depends on the numbers of columns and classes alone. Tables
that differ in rows have it in common, and their test rows too; a longer one begins with the rows
of a shorter one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.model_selection import train_test_split

from benchmarks.speed.problems import BUNDLED, N_FACTORS

ROWS_OF_TEST = 20_000
MOST_INFORMATIVE = 20
SHARE_INFORMATIVE = 0.6
SIGNAL = 3.0  # standard deviation of the logits
BLOCK = 1000  # rows at a time, so that making the widest table takes little more than the table

LONGER = ("1000x30x2", "10000x30x2", "100000x30x2", "1000000x30x2")
OTHERS = (
    "100000x10x2",
    "10000x30x6",
    "100000x30x6",
    "10000x30x50",
    "1080x1024x20",
    "300x2325x2",
    "2000x10000x3",
)
REAL = ("wine", "breast_cancer")
TABLES = (*REAL, *LONGER, *OTHERS)
QUICK = LONGER[:2]


def shape(name):
    """Rows, columns and classes of a synthetic table."""
    return tuple(map(int, name.split("x")))


@dataclass(frozen=True, eq=False)
class Signal:
    """The function from columns to logits, for a number of columns and of classes."""

    loadings: np.ndarray  # factors x columns
    chosen: np.ndarray  # the informative columns
    thresholds: np.ndarray
    coef: tuple  # of the line, the products, the thresholds and the region
    shift: np.ndarray

    def rows(self, rng, factor_rng, n_rows):
        X = rng.standard_normal((n_rows, self.loadings.shape[1]))
        for start in range(0, n_rows, BLOCK):
            block = X[start : start + BLOCK]
            block *= 0.8
            block += factor_rng.standard_normal((len(block), N_FACTORS)) @ self.loadings
        return X

    def logits(self, X):
        parts = _parts(X[:, self.chosen], self.thresholds)
        return sum(part @ coef for part, coef in zip(parts, self.coef, strict=True)) - self.shift


def _parts(seen, thresholds):
    inside = seen[:, 0] + seen[:, 1] > 0
    return (
        seen,
        seen[:, :-1] * seen[:, 1:],
        (seen > thresholds).astype(float),
        seen * inside[:, None],
    )


def signal(n_columns, n_classes):
    rng = np.random.default_rng([n_columns, n_classes])
    n_informative = min(MOST_INFORMATIVE, int(SHARE_INFORMATIVE * n_columns))
    loadings = 0.3 * rng.standard_normal((N_FACTORS, n_columns))
    chosen = np.sort(rng.choice(n_columns, n_informative, replace=False))
    thresholds = rng.uniform(-1, 1, n_informative)
    # Scales are taken from rows of their own: the function must not depend on a table's rows.
    noise = 0.8 * rng.standard_normal((5000, n_informative))
    factors = rng.standard_normal((len(noise), N_FACTORS))
    parts = _parts(noise + factors @ loadings[:, chosen], thresholds)
    coef, total = [], 0.0
    for part in parts:
        drawn = rng.standard_normal((part.shape[1], n_classes))
        values = part @ drawn
        coef.append(drawn / (values - values.mean(axis=0)).std())
        total = total + part @ coef[-1]
    scale = SIGNAL / (total - total.mean(axis=0)).std()
    shift = scale * total.mean(axis=0)
    return Signal(loadings, chosen, thresholds, tuple(scale * c for c in coef), shift)


def _drawn(name, n_rows, purpose, repeat):
    _, n_columns, n_classes = shape(name)
    known = signal(n_columns, n_classes)
    # Each draw has a generator of its own, so that a longer table begins like a shorter one.
    rng, factor_rng, label_rng = (
        np.random.default_rng([n_columns, n_classes, purpose, repeat, what]) for what in range(3)
    )
    X = known.rows(rng, factor_rng, n_rows)
    logits = known.logits(X)
    y = (logits + label_rng.gumbel(size=logits.shape)).argmax(axis=1)
    return X, y, logits


def _split(name, repeat):
    X, y = BUNDLED[name](return_X_y=True)
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=repeat)


def train(name, repeat):
    """X and y to fit; of a synthetic table new rows for every repeat, of a real one 75 %."""
    if name in BUNDLED:
        X, _, y, _ = _split(name, repeat)
        return X, y
    return _drawn(name, shape(name)[0], 0, repeat)[:2]


def held_out(name, repeat, n_rows=ROWS_OF_TEST):
    """X and y that no fit has seen; of a synthetic table the same rows for every repeat."""
    if name in BUNDLED:
        _, X, _, y = _split(name, repeat)
        return X, y
    return _drawn(name, n_rows, 1, 0)[:2]


def truth(name, n_rows=ROWS_OF_TEST):
    """Log-loss and accuracy of the true probabilities on the test rows of a synthetic table."""
    _, y, logits = _drawn(name, n_rows, 1, 0)
    probabilities = softmax(logits, axis=1)
    loss = -np.log(probabilities[np.arange(n_rows), y]).mean()
    return float(loss), float((logits.argmax(axis=1) == y).mean())
