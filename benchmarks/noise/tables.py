"""The tables of the benchmarks of noise and of readability, and columns of noise beside theirs."""

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import problems

MAX_ROWS = 1_500
SPLITS = 2
TIMES = (0, 5, 20)

# Chosen before any result was seen: the twelve quick ones, and six more with few columns, with
# many, with curved boundaries (banana) and with products of features (monk-2).
NAMES = (*problems.QUICK, "australian", "banana", "heart", "monk-2", "saheart", "wine")


def load(name):
    """X and y, at most MAX_ROWS rows by stratified sampling."""
    X, y = problems.load(name)
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    return X, y


def with_noise(X, times, seed=0):
    """X beside ``times`` copies of it, each column of a copy permuted on its own over the rows.

    A column of noise is distributed as a true one is and tells nothing of the class. Columns are
    put in random order, so that no rival gains by preferring the first of two.
    """
    rng = np.random.default_rng(seed)
    noise = [rng.permuted(X, axis=0) for _ in range(times)]
    everything = np.hstack([X, *noise])
    return everything[:, rng.permutation(everything.shape[1])]


def split(name, times, number):
    """Training and test rows of a table with noise; the same for every rival."""
    X, y = load(name)
    if times:
        X = with_noise(X, times, seed=number)
    return problems.split(X, y, number)
