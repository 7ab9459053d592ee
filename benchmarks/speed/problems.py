"""The problems of the ruler of speed: synthetic tables with a known signal, and a few real ones.

A problem is named by its shape, rows x columns x classes. Columns share a few common factors, as
columns of real tables do: on independent columns every ascent is easy. Labels are drawn from a
softmax of a few informative columns and of products of two of them, so that there is something to
learn for linear and for other models, and something that nobody can know.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

WIDEST = "5498x200x4"  # the widest table of the paper
SEGMENT = "2310x19x7"
ABALONE = "4177x8x3"
LONG = "100000x100x2"
GENES = "1000x5000x2"
TEXT = "20000x50000x2 sparse"
SHAPES = (WIDEST, SEGMENT, ABALONE, LONG, GENES, TEXT)
SMALLER = {LONG: "20000x100x2", GENES: "1000x2000x2", TEXT: "4000x10000x2 sparse"}
BUNDLED = {"breast_cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}

N_FACTORS = 5
NONZEROS = 100  # of a row of a sparse table
MOST_INFORMATIVE = 20
SIGNAL = 6.0  # standard deviation of the logits


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to train on, and rows held out for accuracies."""

    name: str
    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray

    @property
    def n_classes(self):
        return int(self.y.max()) + 1

    def accuracy(self, model):
        """On the rows held out. A search's own ``score`` may be something else."""
        return float(np.mean(model.predict(self.X_test) == self.y_test))

    @property
    def n_bytes(self):
        """What X takes."""
        if sparse.issparse(self.X):
            return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes
        return self.X.nbytes


def shapes(quick=False):
    return tuple(SMALLER.get(name, name) if quick else name for name in SHAPES)


def size(name, quick):
    """The problem of this name, or the smaller one that stands for it."""
    return SMALLER.get(name, name) if quick else name


def make(name, n_rows=None):
    """The problem of this name, with at most ``n_rows`` rows to train on."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
        return Problem(name, X, y, X_test, y_test)
    shape, _, kind = name.partition(" ")
    wanted, n_features, n_classes = map(int, shape.split("x"))
    n_train = wanted if n_rows is None else min(wanted, n_rows)
    n_test = min(max(n_train // 2, 1000), 20_000)
    rows = _sparse_rows if kind == "sparse" else _dense_rows
    rng = np.random.default_rng([wanted, n_features, n_classes])
    X = rows(rng, n_train + n_test, n_features)
    y = _labels(rng, X, n_classes)
    if kind != "sparse":
        X -= X[:n_train].mean(axis=0)
        X /= X[:n_train].std(axis=0)
    if n_train < wanted:
        name = f"{name}, {n_train} rows"
    return Problem(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


# The largest tables are too large to keep all.
load = lru_cache(maxsize=2)(make)


def _dense_rows(rng, n_rows, n_features):
    X = rng.standard_normal((n_rows, n_features))
    X *= 0.8
    X += rng.standard_normal((n_rows, N_FACTORS)) @ (
        0.3 * rng.standard_normal((N_FACTORS, n_features))
    )
    return X


def _sparse_rows(rng, n_rows, n_features):
    """Counts of words: few words are common, most are rare."""
    share = 1.0 / (10.0 + np.arange(n_features))
    words = rng.choice(n_features, n_rows * NONZEROS, p=share / share.sum())
    rows = np.repeat(np.arange(n_rows), NONZEROS)
    X = sparse.coo_array((np.ones(len(words)), (rows, words)), (n_rows, n_features)).tocsr()
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    return sparse.csr_matrix(X)


def _labels(rng, X, n_classes):
    # Words that hardly occur could tell nothing: the common ones come first in a sparse table.
    most = min(X.shape[1], 10 * MOST_INFORMATIVE)
    n_informative = min(MOST_INFORMATIVE, X.shape[1])
    chosen = np.sort(rng.choice(most, n_informative, replace=False))
    seen = X[:, chosen].toarray() if sparse.issparse(X) else X[:, chosen]
    half = n_informative // 2
    bent = np.hstack([seen, 0.5 * seen[:, :half] * seen[:, half : 2 * half]])
    logits = bent @ rng.standard_normal((bent.shape[1], n_classes))
    logits -= logits.mean(axis=0)
    logits *= SIGNAL / logits.std()
    return (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
