"""Ways to fuse members of several kinds, each learnt from the same predictions out of fold."""

import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.fits import scores
from covey import FlockClassifier, Predictions
from covey._core.search.selection import greedy_selection
from covey.fusers import Gate, Mean
from covey.members._mixing import Library
from covey.members._searching import Searching

# Probabilities are kept this far from 0 before their logarithms are taken.
SUREST = 1e-3
# The strengths that a logistic regression on top is chosen from, by five folds.
STRENGTHS = np.logspace(-4, 1, 6)
FIXED = "fixed weights"


class _Everyone(Library):
    """Gives every candidate a weight, so that a flock fits all of them on all rows."""

    def may_gain(self, predicted):
        return True

    def weights(self, without=()):
        return np.full(len(self.names), 1 / len(self.names))


class _FindingEveryone(Searching):
    """Finds the members of a mixed flock, and leaves none out."""

    def _library(self, fit, held_out):
        library = super()._library(fit, held_out)
        library.__class__ = _Everyone
        return library


class EveryKind(FlockClassifier):
    """A mixed flock that keeps all kinds, and what they predict out of fold."""

    _finder = _FindingEveryone


class Greedy:
    """The weights of a mixed flock: greedy selection by the log-loss."""

    def fit(self, P, y, X):
        true = P.values[np.arange(len(y)), :, np.searchsorted(P.classes, y)]
        self._mean = Mean(weights=greedy_selection(true.T, np.ones(len(y)))).fit(P)
        return self

    def fuse(self, P, X):
        return self._mean.fuse(P)


class TwoLayers:
    """A regularized logistic regression on what members predict."""

    def __init__(self, columns):
        self._columns = columns

    def fit(self, P, y, X):
        top = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        strengths = {"logisticregression__C": STRENGTHS}
        self._top = GridSearchCV(top, strengths, scoring="neg_log_loss")
        self._top.fit(self._columns(P), y)
        return self

    def fuse(self, P, X):
        return self._top.predict_proba(self._columns(P))


def probabilities(P):
    return P.values.reshape(P.n_samples, -1)


def logarithms(P):
    logs = np.log(np.maximum(P.values, SUREST))
    return (logs - logs.mean(axis=2, keepdims=True)).reshape(P.n_samples, -1)


WAYS = {
    FIXED: Greedy,
    "equal weights": Mean,
    "a gate": Gate,
    "a gate that sees squares": lambda: Gate(features="quadratic"),
    "two layers, probabilities": lambda: TwoLayers(probabilities),
    "two layers, logarithms": lambda: TwoLayers(logarithms),
}


def compared(X, X_test, y, y_test, seed):
    """A line of scores for each way; all have the members of one fit."""
    flock = EveryKind(members="mixed", random_state=seed)
    started = time.perf_counter()
    flock.fit(X, y)
    shared = time.perf_counter() - started
    known = flock.out_of_fold_
    P = Predictions(known.members, flock.classes_)
    new = Predictions(flock.member_probabilities(X_test), flock.classes_)
    return [
        {"way": name, "shared_seconds": shared}
        | measured(make(), (P, y[known.rows], X[known.rows]), (new, y_test, X_test))
        for name, make in WAYS.items()
    ]


def measured(way, known, new):
    """Scores of one way, and the seconds that it takes beyond what all of them share."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        way.fit(*known)
    seconds = time.perf_counter() - started
    P, y_test, X_test = new
    fused = way.fuse(P, X_test)
    decisions = P.classes[fused.argmax(axis=1)]
    return scores(fused, decisions, known[1], y_test) | {"seconds": seconds}
