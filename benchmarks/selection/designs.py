"""Data with known answers: which columns carry something, and which of them suffice.

Each design is a function of a seed that gives X, y, all columns that carry something (None where
every column does, if little), and what is needed: a list of sets, one column of each of which
suffices. Whole numbers in y are classes, others a quantity.
"""

import numpy as np
from sklearn.datasets import load_iris, make_classification

from covey import make_quarter_circle


def _classes(odds, rng):
    return (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(int)


def _each(columns):
    return [{int(column)} for column in columns]


def quarter_circle(seed):
    X, y = make_quarter_circle(250, n_dummy_features=6, random_state=seed)
    return X, y, [0, 1], _each([0, 1])


def linear_effects(seed):
    """200 normal columns, 10 of them in a logistic model with |beta| = 0.7."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 200))
    true = rng.choice(200, 10, replace=False)
    y = _classes(X[:, true] @ (0.7 * rng.choice([-1, 1], 10)), rng)
    return X, y, true, _each(true)


def informative(seed):
    """scikit-learn's generator: clusters on the corners of a cube of ten, among 200."""
    X, y = make_classification(
        1000, 200, n_informative=10, n_redundant=0, shuffle=False, random_state=seed
    )
    return X, y, np.arange(10), _each(range(10))


def copies(seed):
    """Five true columns, a worse copy of each (r = 0.8), and 90 irrelevant ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(800, 100))
    X[:, 5:10] = 0.8 * X[:, :5] + 0.6 * X[:, 5:10]
    y = _classes(X[:, :5] @ np.array([1.0, -1, 1, -1, 1]), rng)
    return X, y, np.arange(10), _each(range(5))


def parity(seed):
    """Like Madelon: clusters on the corners of a cube of 5, labelled by chance, among 100."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 2, (1000, 5))
    labels = rng.permutation(np.arange(32) % 2)
    X = rng.normal(size=(1000, 100))
    X[:, :5] = 0.4 * X[:, :5] + 2 * corners - 1
    return X, labels[corners @ 2 ** np.arange(5)], np.arange(5), _each(range(5))


def iris(seed):
    """Four redundant columns of iris, and six of noise."""
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(seed).normal(size=(150, 6))
    return np.hstack([X, noise]), y, np.arange(4), None


def _blocks(rng, n_rows=400, n_columns=100):
    """Blocks of five columns, correlated by 0.8 within."""
    X = 0.8**0.5 * np.repeat(rng.normal(size=(n_rows, n_columns // 5)), 5, axis=1)
    return X + 0.2**0.5 * rng.normal(size=X.shape)


def blocks(seed):
    """One column of each of four blocks decides; sixteen blocks are irrelevant."""
    rng = np.random.default_rng(seed)
    X = _blocks(rng)
    y = _classes(X[:, [0, 5, 10, 15]] @ np.array([1.0, -1, 1, -1]), rng)
    return X, y, np.arange(20), _each([0, 5, 10, 15])


def blocks_numbers(seed):
    """The same for numbers, with heavy tails."""
    rng = np.random.default_rng(seed)
    X = _blocks(rng)
    y = X[:, [0, 5, 10, 15]] @ np.array([1.0, -1, 1, -1]) + 1.5 * rng.standard_t(3, len(X))
    return X, y, np.arange(20), _each([0, 5, 10, 15])


def twins(seed):
    """Three hidden causes, each seen equally well by two columns; irrelevant columns in blocks."""
    rng = np.random.default_rng(seed)
    X = _blocks(rng, 300, 30)
    causes = rng.normal(size=(300, 3))
    X[:, :6] = np.repeat(causes, 2, axis=1) + 0.15 * rng.normal(size=(300, 6))
    y = _classes(causes @ np.array([1.5, -1.5, 1.5]), rng)
    return X, y, np.arange(6), [{0, 1}, {2, 3}, {4, 5}]


def chain(seed):
    """Each column is correlated with the one before it (r = 0.7); eight of 100 decide."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 100))
    for column in range(1, 100):
        X[:, column] = 0.7 * X[:, column - 1] + 0.51**0.5 * X[:, column]
    true = rng.choice(100, 8, replace=False)
    return X, _classes(X[:, true] @ rng.choice([-1.0, 1.0], 8), rng), None, _each(true)


def bent(seed):
    """A square, a V and a wave, among 60; half of the others are correlated (r = 0.5)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 60))
    X[:, 30:] = 0.5**0.5 * (X[:, 30:] + rng.normal(size=(400, 1)))
    odds = 1.2 * (X[:, 0] ** 2 - 1) + 1.2 * (np.abs(X[:, 1]) - 0.8) + 1.5 * np.sin(2 * X[:, 2])
    return X, _classes(odds, rng), np.arange(3), _each(range(3))


def xor(seed):
    """The sign of a product of two columns, among 50, one label in ten wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 50))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(400) < 0.1)
    return X, y.astype(int), np.arange(2), _each(range(2))


def friedman(seed):
    """Friedman's first function of five columns, a number, among 50."""
    rng = np.random.default_rng(seed)
    X = rng.random((300, 50))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=300)
    return X, y, np.arange(5), _each(range(5))


def difference(seed):
    """The small difference of two columns (r = 0.95) decides, among 40."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 40))
    X[:, 1] = 0.95 * X[:, 0] + 0.3 * X[:, 1]
    return X, _classes(4 * (X[:, 0] - X[:, 1]), rng), np.arange(2), _each(range(2))


def nothing(seed):
    """Three classes, and 40 correlated columns (r = 0.64) that tell nothing of them."""
    rng = np.random.default_rng(seed)
    X = 0.8 * rng.normal(size=(150, 1)) + 0.6 * rng.normal(size=(150, 40))
    return X, rng.integers(0, 3, 150), [], None


DESIGNS = {
    "quarter circle, 2 of 8": quarter_circle,
    "iris and noise, 4 of 10": iris,
    "linear effects, 10 of 200": linear_effects,
    "make_classification, 10 of 200": informative,
    "worse copies, 5 + 5 of 100": copies,
    "blocks, 4 + 16 of 100": blocks,
    "blocks, a number": blocks_numbers,
    "twins, 3 + 3 of 30": twins,
    "chain, 8 of 100": chain,
    "a difference, 2 of 40": difference,
    "bent effects, 3 of 60": bent,
    "exclusive or, 2 of 50": xor,
    "Friedman, a number, 5 of 50": friedman,
    "parity, 5 of 100": parity,
    "nothing, 0 of 40": nothing,
}
# Those on which the rate of false discoveries is measured: most have correlated columns.
MANY_SEEDS = (
    "linear effects, 10 of 200",
    "a difference, 2 of 40",
    "exclusive or, 2 of 50",
    "iris and noise, 4 of 10",
    "worse copies, 5 + 5 of 100",
    "blocks, 4 + 16 of 100",
    "blocks, a number",
    "twins, 3 + 3 of 30",
    "nothing, 0 of 40",
)
