"""Calls of all public functions and fusers on random predictions, labels and rows."""

import tempfile
import warnings
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import fusers, inspection
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser
from tests.fuzz.outcomes import (
    OutcomeError,
    attempt,
    check_finite,
    check_probabilities,
    check_same,
)
from tests.fuzz.tables import ODD, chance, classes, n_rows_of, one_of, table, weights

RULES = sorted(FUSERS)
PLAIN = [rule for rule in RULES if not FUSERS[rule]().learns]


def probabilities(rng, n_rows, odd=False):
    """Predictions (n, K, C); odd ones are of a wrong shape, or no probabilities."""
    n_members, n_classes = one_of(rng, [1, 2, 3, 5, 20]), one_of(rng, [2, 2, 3, 5, 500])
    values = rng.random((n_rows, n_members, n_classes))
    sharp = one_of(rng, [1.0, 1.0, 9.0, 700.0])
    values = np.exp(sharp * (values - values.max(axis=2, keepdims=True)))
    values /= values.sum(axis=2, keepdims=True)
    if chance(rng, 0.2):
        values = np.eye(n_classes)[values.argmax(axis=2)]
    if chance(rng, 0.2):
        values = values.astype(one_of(rng, [np.float32, np.float16]))
        # Half precision sums to one as well as it can.
        values /= values.sum(axis=2, keepdims=True)
    if not odd:
        return values
    if values.size and chance(rng, 0.4):
        values.flat[rng.integers(values.size)] = one_of(rng, [np.nan, np.inf, -1.0, 1e300])
        return values
    return one_of(
        rng,
        [
            values[:, :0],
            values[:, :, :0],
            values[:0],
            values[:, 0],
            values[None],
            values * 2,
            values.astype(object),
            values.astype(str),
            values.tolist(),
            None,
            "x",
        ],
    )


def labels(rng, n_rows, odd=False):
    """Decisions (n, K) of some members."""
    found = rng.integers(one_of(rng, [2, 3, 9]), size=(n_rows, one_of(rng, [2, 3, 5])))
    if not odd:
        return found if chance(rng, 0.7) else found.astype(str)
    return one_of(
        rng, [found[:0], found[:, :0], found[0], found.astype(object), found - 0.5, None]
    )


def _fuse(rng, odd):
    """Any rule on any predictions: probabilities are fused to probabilities."""
    n_rows = one_of(rng, [30, 7, 1])
    P = (probabilities if chance(rng, 0.7) else labels)(rng, n_rows, odd == "P")
    n_classes = np.shape(P)[2] if isinstance(P, np.ndarray) and P.ndim == 3 else None
    y = rng.integers(n_classes or 2, size=n_rows)
    X = table(rng, odd == "X", n_columns=3)
    X = X[:n_rows] if type(X) is np.ndarray and len(X) >= n_rows else rng.normal(size=(n_rows, 3))
    rule = one_of(rng, PLAIN if chance(rng, 0.9) else RULES)
    if odd == "rule":
        rule = one_of(rng, [*ODD, np.sum, lambda p: p.mean(axis=1)])
    how = {"X": X} if chance(rng, 0.1) else {}
    if rule == "oracle" or chance(rng, 0.1):
        how["y"] = y
    if odd == "weights":
        how["weights"] = one_of(rng, [ODD, [-1.0, 2.0], np.zeros(3), np.ones((n_rows, 3))])

    def call():
        fused = np.asarray(covey.fuse(P, rule, **how))
        if n_classes and fused.ndim == 2:
            check_probabilities(fused, len(P), n_classes)
        check_finite(fused)
        return fused

    return call, (P, X, y)


def _fuser(rng, odd):
    """Fit a fuser, fuse other rows, and see that importances are shares."""
    n_rows = one_of(rng, [30, 12])
    P = probabilities(rng, 2 * n_rows, odd == "P")
    if not isinstance(P, np.ndarray) or P.ndim != 3 or len(P) != 2 * n_rows:
        P = np.zeros((2 * n_rows, 0, 2))
    X = rng.normal(size=(2 * n_rows, 3)) * one_of(rng, [1.0, 1.0, 1e300, 1e-300])
    n_classes = P.shape[2]
    y = rng.integers(max(1, n_classes), size=2 * n_rows)
    if odd == "y":
        y = np.asarray(classes(rng, 2 * n_rows, True), dtype=object).ravel()
    weight = weights(rng, n_rows, odd == "weights")
    made = attempt(lambda: make_fuser(one_of(rng, RULES)))
    strict = chance(rng, 0.5)

    def call():
        with np.errstate(all="raise" if strict else "warn"):
            fuser = clone(made).fit(P[:n_rows], y[:n_rows], X[:n_rows], sample_weight=weight)
            known = {"y": y[n_rows:]} if isinstance(fuser, fusers.Oracle) else {}
            fused = fuser.fuse(P[n_rows:], X[n_rows:], **known)
            importance = fuser.importance(P[n_rows:], X[n_rows:], **known)
        check_probabilities(fused, n_rows, n_classes)
        check_finite(importance)
        if not np.allclose(importance.sum(axis=1), 1.0, atol=1e-6):
            raise OutcomeError("no shares", f"{type(fuser).__name__}: importances of a row")
        return np.hstack([fused, importance])

    return call, (P, X, y, weight)


def _later_folds(rng, odd):
    """Folds by time and group: no group on both sides, and no later row that is trained on."""
    n_rows = one_of(rng, [40, 9, 2, 1])
    times = one_of(rng, [np.arange(n_rows), rng.integers(4, size=n_rows), rng.random(n_rows)])
    groups = one_of(rng, [None, rng.integers(5, size=n_rows), np.arange(n_rows).astype(str)])
    if odd in ("P", "X"):
        days = np.datetime64("2024-01-01") + rng.integers(9, size=n_rows)
        text = np.where(rng.random(n_rows) < 0.5, "2024-01-01", "soon")
        times = one_of(
            rng, [*ODD, days, days.astype(str), text, times[None], np.full(n_rows, None)]
        )
    if odd == "y":
        groups = one_of(rng, [*ODD, groups, np.full(n_rows, None), np.zeros((n_rows, 2))])
    how = {"n_splits": one_of(rng, [1, 3, 5, 99]), "n_group_splits": one_of(rng, [2, 3, 99])}
    if odd == "rule":
        how[one_of(rng, list(how))] = one_of(rng, ODD)

    def call():
        splitter = covey.GroupTimeSplit(**how, time=times)
        folds = list(splitter.split(np.zeros((n_rows, 1)), groups=groups))
        known = times if times is None else np.asarray(times)
        for train, test in folds:
            if times is not None and max(known[train]) >= min(known[test]):
                raise OutcomeError("later rows", "GroupTimeSplit trains on later rows")
            if groups is not None and set(np.asarray(groups)[train]) & set(
                np.asarray(groups)[test]
            ):
                raise OutcomeError("groups", "GroupTimeSplit has a group on both sides")
        held_out = np.concatenate([test for _, test in folds])
        if len(np.unique(held_out)) < len(held_out):
            raise OutcomeError("twice", "GroupTimeSplit holds a row out twice")
        return held_out

    return call, (times, groups)


def _consensus(rng, odd):
    found = labels(rng, one_of(rng, [30, 8, 2]), odd == "P")
    how = {"method": one_of(rng, ["co_association", "voting", "graph"])}
    if chance(rng, 0.5):
        how["n_clusters"] = one_of(rng, [2, 3, *(ODD if odd == "rule" else [])])
    return lambda: np.asarray(covey.consensus(found, **how)), (found,)


def _diversity(rng, odd):
    P = probabilities(rng, 25, odd == "P")
    y = classes(rng, 25, True) if odd == "y" else rng.integers(2, size=25)
    return lambda: np.array(list(inspection.diversity(P, y).values.values())), (P, y)


def _vote_bound(rng, odd):
    P = probabilities(rng, 25, odd == "P")
    y = classes(rng, 25, True) if odd == "y" else rng.integers(2, size=25)
    how = {"kind": one_of(rng, ["tandem", "first_order", "c"])}
    if odd == "rule":
        how["confidence"] = one_of(rng, ODD)
    return lambda: np.asarray(inspection.vote_bound(P, y, **how).value), (P, y)


def _held_out_bound(rng, odd):
    y = rng.integers(3, size=25)
    predicted = classes(rng, 25, True) if odd == "y" else rng.integers(3, size=25)
    how = {"confidence": one_of(rng, ODD)} if odd == "rule" else {}
    return lambda: np.asarray(inspection.held_out_bound(y, predicted, **how).value), (
        y,
        predicted,
    )


def _oracle(rng, odd):
    P = probabilities(rng, 25, odd == "P")
    y = classes(rng, 25, True) if odd == "y" else rng.integers(2, size=25)
    interval = chance(rng, 0.5)
    errors = one_of(rng, [rng.random(4), np.zeros(3), *(ODD if odd == "rule" else [])])
    if interval:
        return lambda: np.asarray(inspection.oracle_interval(P, y).high), (P, y)
    return lambda: np.asarray(inspection.oracle_bounds(errors)), (errors,)


def _quarter_circle(rng, odd):
    number = one_of(rng, [1, 5, *(ODD if odd == "rule" else [])])
    dummies = one_of(rng, [0, 3, *(ODD if odd == "P" else [])])

    def call():
        X, y = covey.make_quarter_circle(number, n_dummy_features=dummies, random_state=0)
        check_finite(X)
        return np.column_stack([X, y])

    return call, ()


def _bias_variance(rng, odd):
    X = table(rng, odd == "X")
    y = classes(rng, n_rows_of(X), odd == "y")
    how = {"draw": one_of(rng, ["bootstrap", *(ODD if odd == "rule" else [])])}

    def call():
        found = inspection.bias_variance(
            DecisionTreeClassifier(), X, y, n_runs=3, random_state=0, **how
        )
        check_finite(found.expected_loss)
        return np.asarray(found.expected_loss)

    return call, (X, y)


def _of_ensemble(rng, odd):
    """The members of bagging, a forest or boosting, and what a rule makes of them."""
    X = table(rng, odd == "X")
    y = classes(rng, n_rows_of(X), odd == "y")
    ensemble = one_of(
        rng,
        [
            RandomForestClassifier(3, random_state=0),
            BaggingClassifier(GaussianNB(), n_estimators=3, random_state=0),
            AdaBoostClassifier(n_estimators=3, random_state=0),
            *([GaussianNB()] if odd == "rule" else []),
        ],
    )

    def call():
        fitted = clone(ensemble).fit(X, y)
        members = covey.members_of(fitted)
        if isinstance(fitted, AdaBoostClassifier):
            return covey.FusionClassifier(members, prefit=True).fit(X, y).predict_proba(X)
        fused = covey.FusionClassifier(members, "single_best", prefit=True)
        unseen = covey.out_of_bag(fitted, n_rows_of(X))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*were seen by every member")
            return fused.fit(X, y, unseen=unseen).predict_proba(X)

    return call, (X, y)


@cache
def _small_flock():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return covey.FlockClassifier(effort="fast", n_estimators=2, random_state=0).fit(X, X[:, 0] > 0)


def _of_a_flock(rng, odd):
    """What a fitted flock shows of any rows, and that a file of it predicts the same."""
    X = table(rng, odd == "X", n_columns=3)
    n_rows = n_rows_of(X)
    y = classes(rng, n_rows, True) if odd == "y" else rng.random(n_rows) > 0.5
    weight = weights(rng, n_rows, odd == "weights")

    def loaded():
        with tempfile.TemporaryDirectory() as folder:
            covey.save(_small_flock(), f"{folder}/model.covey")
            again = covey.load(f"{folder}/model.covey")
        predicted = again.predict_proba(X)
        check_same(predicted, _small_flock().predict_proba(X), "a file predicts otherwise")
        check_probabilities(predicted, n_rows, 2)
        return predicted

    calls = [
        loaded,
        lambda: np.asarray(inspection.gate_share(_small_flock(), X, y, sample_weight=weight).loss),
        lambda: np.asarray(inspection.ambiguity(_small_flock(), X, y, sample_weight=weight).loss),
        lambda: np.asarray(inspection.fusion_bound(_small_flock(), X, y).guarantee),
        lambda: np.asarray(inspection.monotone_certificate(_small_flock(), n_rows % 4).found),
    ]
    return one_of(rng, calls), (X, y, weight)


FUNCTIONS = {
    "fuse": _fuse,
    "fusers": _fuser,
    "GroupTimeSplit": _later_folds,
    "consensus": _consensus,
    "diversity": _diversity,
    "vote_bound": _vote_bound,
    "held_out_bound": _held_out_bound,
    "oracle_bounds, oracle_interval": _oracle,
    "make_quarter_circle": _quarter_circle,
    "bias_variance": _bias_variance,
    "members_of, out_of_bag": _of_ensemble,
    "save, load, gate_share, ambiguity, fusion_bound, monotone_certificate": _of_a_flock,
}


def run(rng):
    """One call: the name of the function, and "answer" or "refused"."""
    name = one_of(rng, [*FUNCTIONS, "fuse", "fuse", "fusers", "fusers", "fusers"])
    odd = one_of(rng, [None, None, None, "P", "X", "y", "rule", "weights"])
    call, inputs = FUNCTIONS[name](rng, odd)
    found = attempt(call, *inputs)
    if found is None:
        return name, "refused"
    again = attempt(call, *inputs)
    if again is None or found.dtype != again.dtype:
        raise OutcomeError("not repeatable", f"{name} answers only once")
    if found.dtype != object:
        check_same(np.nan_to_num(found), np.nan_to_num(again), f"{name} answers otherwise")
    return name, "answer"
