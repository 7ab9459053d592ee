"""Whether a model still holds on new rows, by what its file remembers of its own rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covey._blocks import as_table, take_rows
from covey._core.arrays import evenly
from covey._decisions import decided
from covey._intervals import Interval, holm, mean_interval_from_sums, proportion_interval
from covey.evaluation._check_record import (
    CHANCE_OF_LABELS,
    FEW_ROWS,
    MANY_REPEATS,
    Check,
    CheckedColumn,
    Shift,
)
from covey.evaluation._check_words import column_words, remarks, sentences
from covey.evaluation._drift import ColumnCounts, Spread, difference, distance, merged
from covey.evaluation._held_out import plain_label
from covey.tables._categories import column_of
from covey.tables._columns import feature_names
from covey.tables._kinds import as_frame
from covey.tables._known_columns import check_has, encoders_of, table_for

# The chance that any change but that of labels is told of a table without one.
_CHANCE = 0.04
# The least difference that counts as a change, however sure it is: of a distribution (the distance
# or the stability index), of gaps, of words that are new or of values that cannot be read.
_LEAST = {"values": 0.1, "gaps": 0.05, "new": 0.01, "written": 0.01, "later": 0.01}
# Sureness and decisions are compared with those of other fits, held out; they differ a little.
_LEAST_SHIFT, _SLACK = 0.1, 0.05
# The most rows that are looked at, and how many at once.
MOST_ROWS, _AT_ONCE, _MOST_CELLS = 100_000, 10_000, 1 << 22
# The rows held out, at least, for each of the mean errors by size.
_ROWS_OF_BIN = 20
# The place of a test that is of no column.
_NO_COLUMN, _NONE = -1, np.zeros(0)
_Z = 1.959964


def check(model: Any, X: Any, y: ArrayLike | None = None) -> Check:
    """Find out whether a fitted model still holds on new rows, with or without their truth.

    Take it for rows that a model predicts long after its fit. It needs no training rows: a model
    remembers how the values of its columns were spread. To measure a model on labelled rows as a
    whole, with all that an evaluation shows, take `evaluate` instead.

    Parameters
    ----------
    model : fitted flock, subset ensemble or fusion
        Models that were fitted in blocks of Dask collections, or saved by an older version, do not
        know how values were spread; what cannot be told is said.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        New rows. Of more than 100,000, as many are looked at, evenly spaced.
    y : array-like of shape (n_samples,), optional
        Their true labels, or numbers; None or NaN where it is not known.

    Returns
    -------
    found : Check
        ``found.holds``, ``found.sentences`` and all numbers behind them. All tests of a table
        together accuse one without any change in at most about 5 % of cases, if its rows are
        independent of each other.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from covey import FlockClassifier, check
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(random_state=0).fit(X[:400], y[:400])
    >>> new = X[400:].assign(**{"mean radius": 10 * X["mean radius"][400:]})
    >>> [one.unit for one in check(flock, new).columns if one.unit]
    ['about 10 times those seen']
    """
    X = as_table(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    n_rows = int(X.shape[0])
    truth = None if y is None else np.asarray(y)
    if truth is not None and truth.shape != (n_rows,):
        raise ValueError(f"y must have one value for each of the {n_rows:,} rows of X.")
    return RowCounts(model).looked_at(X, truth).found(n_rows)


def most_rows(n_columns: int) -> int:
    """Return how many rows of a table are looked at: fewer if it is very wide."""
    return max(1_000, min(MOST_ROWS, 50 * _MOST_CELLS // max(1, n_columns)))


class RowCounts:
    """Counts of new rows, in bounded memory, from which a `Check` is made at any time."""

    def __init__(self, model: Any) -> None:
        seen = getattr(model, "_seen_columns", None)
        if seen is None or isinstance(model, type):
            raise TypeError(
                "check takes a fitted model of covey that remembers its columns, and this "
                f"{getattr(model, '__name__', type(model).__name__)} remembers none; fit it first."
            )
        self.model, self.n_seen = model, seen.n_rows
        self.classes: Any = getattr(model, "classes_", None)
        encoders = encoders_of(model) if hasattr(model, "preparation_") else {}
        self.columns = [
            ColumnCounts(one, encoders.get(one.name), seen.n_rows)
            for one in seen.columns
            if encoders.get(one.name, True) is not None  # the model does not read the others
        ]
        self.places = [seen.names.index(one.seen.name) for one in self.columns]
        known = getattr(model, "calibration_", None)
        self.outlook = None if known is None else Outlook(model, known)
        #: How many rows are predicted as each class, and how many are of it.
        self.said, self.true = np.zeros((2, 0 if self.classes is None else len(self.classes)))
        #: Of the rows with a truth: how many, how many are right or the sum of errors, of squares.
        self.n_rows, self.repeats, self.truths = 0, 0.0, np.zeros(3)
        # Rules other than a gate give members other weights on rows that they were fitted on.
        gated = getattr(getattr(model, "model_", None), "gate_coef", None) is not None
        shares = model.model_.shares if gated else np.ones(1)
        self.shares = shares / max(1e-12, shares.sum())
        self.weights = np.zeros((2, len(shares)))  # sums over rows, and those of squares

    def looked_at(self, X: Any, y: np.ndarray | None = None) -> Self:
        """Count the rows of a table, evenly spaced ones if it is long."""
        if not X.shape[0]:
            raise ValueError("X has no rows to check.")
        rows = evenly(np.arange(X.shape[0]), most_rows(X.shape[1]))
        at_once = max(200, min(_AT_ONCE, _MOST_CELLS // max(1, X.shape[1])))
        for start in range(0, len(rows), at_once):
            own = rows[start : start + at_once]
            part = X if len(own) == X.shape[0] else take_rows(X, own)
            self.add(part, None if y is None else y[own])
        self.repeats = _repeats(X, rows)
        return self

    def add(
        self,
        X: Any,
        y: np.ndarray | None = None,
        *,
        said: np.ndarray | None = None,
        examples: bool = True,
    ) -> None:
        """Count some rows: their values, what is predicted of them, and who decides.

        ``said`` is what the model predicts of them, if that is known; ``examples`` may be told of
        strange values.
        """
        model, n_columns = self.model, self.model.n_features_in_
        X = as_frame(X) if hasattr(X, "columns") else X
        if hasattr(X, "iloc") and hasattr(model, "feature_names_in_"):
            check_has(X, feature_names(model))
            X = X[list(feature_names(model))]
        elif X.ndim != 2 or X.shape[1] != n_columns:
            raise ValueError(f"X must have the {n_columns} columns of the model, got {X.shape}.")
        is_table = said is None and hasattr(X, "iloc") and hasattr(model, "model_")
        rows = table_for(model, X) if is_table else X
        cells = X.toarray() if hasattr(X, "tocsr") else X
        if said is None:
            said = model.predict(rows) if self.classes is None else model.predict_proba(rows)
        for place, one in zip(self.places, self.columns, strict=True):
            one.add(column_of(cells, place), examples)
        self.n_rows += len(said)
        codes = None if self.classes is None else decided(model, said)
        if codes is not None:
            self.said += np.bincount(codes, minlength=len(self.said))
        if self.outlook is not None:
            self.outlook.add(said if codes is None else said[np.arange(len(codes)), codes])
        if len(self.shares) > 1:
            weights = model.model_.importance(rows)
            self.weights += weights.sum(axis=0), (weights**2).sum(axis=0)
        if y is not None:
            self._add_truth(y, said, codes)

    def _add_truth(self, y: np.ndarray, said: np.ndarray, codes: np.ndarray | None) -> None:
        import pandas as pd

        if codes is None or self.classes.dtype.kind in "biuf":
            y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy(np.float64)
        known = ~pd.isna(y)
        if codes is None:
            part = np.abs(said[known] - y[known].astype(np.float64))
        else:
            places = {label: place for place, label in enumerate(self.classes.tolist())}
            truth = np.array([places.get(one, -1) for one in y[known].tolist()], dtype=np.intp)
            self.true += np.bincount(truth[truth >= 0], minlength=len(places))
            part = (codes[known] == truth).astype(np.float64)
        self.truths += known.sum(), part.sum(), (part**2).sum()

    def _tests(self) -> dict[tuple[int, str], tuple[float, float]]:
        """Return the p-value and size of each change of a column (by place), or of decisions."""
        # Rows that repeat others tell nothing new.
        factor = 1.0 - self.repeats if self.repeats > MANY_REPEATS else 1.0
        tests = {
            (place, kind): test
            for place, one in enumerate(self.columns)
            for kind, test in one.tests(factor).items()
        }
        if len(self.shares) > 1 and self.n_rows:
            from scipy.stats import norm

            mean, square = self.weights / self.n_rows
            spread = np.maximum(square - mean**2, 0.0)
            error = np.sqrt(spread * (1 / self.n_rows + 1 / max(1, self.n_seen))) + 1e-9
            p = len(mean) * 2 * float(norm.sf((np.abs(mean - self.shares) / error).max()))
            tests[_NO_COLUMN, "who decides"] = min(1.0, p), distance(self.shares, mean, False)
        if self.outlook is not None and self.n_rows:
            spread_of, then = self.outlook.spread, self.outlook
            if spread_of is not None:
                p = difference(spread_of.then, spread_of.counts * factor, True, _SLACK)
                tests[_NO_COLUMN, "sureness"] = p, spread_of.distance()
            for kind, before, now in (
                ("decisions", then.said, self.said),
                ("classes", then.true, self.true),
            ):
                if now.sum():
                    p = difference(before, now * factor, False)
                    tests[_NO_COLUMN, kind] = p, distance(before, now, False)
        return tests

    def found(self, n_rows: int | None = None) -> Check:
        """Return the comparison of all rows that were counted."""
        tests = self._tests()
        adjusted = holm(np.array([p for p, _ in tests.values()]))
        p_values = dict(zip(tests, adjusted.tolist(), strict=True))
        columns = [
            self._column(
                one,
                {kind: (p, tests[at, kind][1]) for (at, kind), p in p_values.items() if at == k},
            )
            for k, one in enumerate(self.columns)
        ]
        changed = [one.name for one in columns if one.state == "changed"]
        changed += [
            kind
            for (at, kind), (_, size) in tests.items()
            if at == _NO_COLUMN and p_values[at, kind] < _CHANCE and size >= _LEAST_SHIFT
        ]
        measured, surprise = self._measured()
        if surprise is not None and surprise < CHANCE_OF_LABELS:
            changed.append("error" if self.classes is None else "accuracy")
        then, n = self.outlook, max(1, self.n_rows)
        members, labels = [], []
        if len(self.shares) > 1:
            names = self.model.model_.names()
            members = _shifts(names, self.shares, self.weights[0] / n)
        if then is not None and self.classes is not None:
            labels = _shifts(
                map(plain_label, self.classes), then.said / then.said.sum(), self.said / n
            )
        record = Check(
            "numbers" if self.classes is None else "classes",
            getattr(getattr(self.model, "evaluation_", None), "target", ""),
            self.n_rows if n_rows is None else n_rows,
            self.n_rows,
            int(self.truths[0]),
            columns,
            members,
            labels,
            changed=changed,
            measured=measured,
            surprise=surprise,
        )
        if then is not None and self.n_rows:
            sure = (math.nan, math.nan) if self.classes is None else (then.sure_then, then.sure)
            record = replace(record, sure_then=sure[0], sure=sure[1])
            record = replace(record, before=then.before, expected=then.expected())
        return replace(record, sentences=sentences(record), remarks=remarks(record, self))

    def _measured(self) -> tuple[Interval | None, float | None]:
        """Return the measured accuracy or error, and its chance if the expected one holds."""
        from scipy.stats import norm

        n, (total, squares) = int(self.truths[0]), self.truths[1:].tolist()
        if not n:
            return None, None
        if self.classes is not None:
            found = proportion_interval(round(total), n)
        else:
            found = mean_interval_from_sums(total / n, max(0.0, squares - total**2 / n), n, n)
        if self.outlook is None or n < 2:
            return found, None
        whole = 0.0 if self.classes is None else 0.5 / n
        gap = max(0.0, abs(found.value - self.outlook.expected().value) - whole)
        return found, float(2 * norm.sf(gap / max(1e-12, self.outlook.error(n))))

    def _column(self, one: ColumnCounts, tests: dict[str, tuple[float, float]]) -> CheckedColumn:
        known = getattr(getattr(self.model, "evaluation_", None), "columns", ())
        sure = [kind for kind, (p, size) in tests.items() if p < _CHANCE and size > 0]
        kinds = [kind for kind in sure if tests[kind][1] >= _LEAST[kind]]
        unit = one.unit() if "values" in kinds else None
        told = "changed" if kinds else "slight" if sure else "as before"
        then, now = (
            (each / max(1, each.sum())).round(6).tolist()
            for each in (
                merged(*one.both, one.spread is not None) if one.is_known else [_NONE] * 2
            )
        )
        return CheckedColumn(
            one.seen.name,
            one.seen.kind,
            told if tests else "unknown",
            column_words(one, kinds or sure, unit) if sure else "",
            unit,
            {kind: p for kind, (p, _) in tests.items()},
            one.distance,
            one.stability,
            one.seen.missing,
            one.missing,
            next((each.share for each in known if each.name == one.seen.name), None),
            then,
            now,
        )


class Outlook:
    """The accuracy, or the mean error, to expect of rows, by rows held out at the fit.

    The chance that a decision is right is a linear function of its probability, fitted to rows
    held out; a weak prior has it that probabilities are right as they are. The size of an error
    is a mean of rows held out of which about the same number is predicted.
    """

    def __init__(self, model: Any, known: Any) -> None:
        weight = known.weight
        self.said: Any = np.zeros(0)
        self.true: Any = np.zeros(0)
        self.edges: np.ndarray | None = None
        if hasattr(known, "probabilities"):
            codes = decided(model, known.probabilities)
            rows, n_classes = np.arange(len(codes)), known.probabilities.shape[1]
            key, loss = known.probabilities[rows, codes], (codes == known.label).astype(float)
            self.said = np.bincount(codes, weight, minlength=n_classes)
            self.true = np.bincount(known.label, weight, minlength=n_classes)
            prior = np.array([0.0, 1.0])
        else:
            key, loss = known.predicted, np.abs(known.error)
            n_bins = 1 if key is None else min(5, max(1, len(loss) // _ROWS_OF_BIN))
            key = np.zeros(len(loss)) if key is None else key
            self.edges = np.unique(np.quantile(key, np.arange(1, n_bins) / n_bins))
            prior = np.full(len(self.edges) + 1, np.average(loss, weights=weight))
        self.spread = Spread.of(key) if np.ptp(key) > 0 else None
        self.sure_then, mean = np.average(key, weights=weight), np.average(loss, weights=weight)
        n = max(1, round(float(weight.sum())))
        if self.edges is None:
            self.before = proportion_interval(round(mean * n), n)._replace(value=float(mean))
        else:
            squares = float(weight @ (loss - mean) ** 2)
            self.before = mean_interval_from_sums(float(mean), squares, n, n)
        z = self._terms(key)
        inverse = np.linalg.inv((z.T * weight) @ z + np.eye(len(prior)))
        self.coef = prior + inverse @ (z.T @ (weight * (loss - z @ prior)))
        left = loss - z @ self.coef
        self.variance = float(np.average(left**2, weights=weight))
        self.slack = _cluster_effect(getattr(model, "evaluation_", None), self.before)
        each = z * (weight * left)[:, None]
        self.covariance = self.slack * inverse @ (each.T @ each) @ inverse
        self.n, self.terms, self.total = 0, np.zeros(len(prior)), 0.0

    def _terms(self, key: np.ndarray) -> np.ndarray:
        if self.edges is None:
            return np.column_stack([np.ones(len(key)), key])
        return np.eye(len(self.edges) + 1)[np.searchsorted(self.edges, key)]

    def add(self, key: np.ndarray) -> None:
        """Count rows by the probability of their decisions, or by the predicted number."""
        self.n, self.total = self.n + len(key), self.total + float(key.sum())
        self.terms += self._terms(key).sum(axis=0)
        if self.spread is not None:
            self.spread.add(key)

    @property
    def sure(self) -> float:
        """The mean probability of what is predicted."""
        return self.total / self.n

    def error(self, n: int) -> float:
        """Return the standard error of the accuracy, or the mean error, of n such rows."""
        terms = self.terms / self.n
        value, before = float(terms @ self.coef), self.before.value
        of_row = self.variance * max(1.0, value / max(1e-12, before)) ** 2
        if self.edges is None:
            of_row = max(self.variance, value * (1.0 - value))
        # What rows held out show is carried over to rows that are unlike them: half of the change
        # is added for that.
        moved = (value - before) / 2 / _Z
        of_fit = float(terms @ self.covariance @ terms)
        return math.sqrt(of_fit + self.slack * of_row / n + moved**2)

    def expected(self) -> Interval:
        """Return the accuracy, or the mean error, of the rows that were counted."""
        value, half = float(self.terms @ self.coef / self.n), _Z * self.error(self.n)
        if self.edges is not None:
            return Interval(value, max(0.0, value - half), value + half)
        half += 0.5 / self.n  # rows are right or wrong as a whole
        return Interval(min(max(value, 0.0), 1.0), max(0.0, value - half), min(1.0, value + half))


def _cluster_effect(evaluation: Any, before: Interval) -> float:
    """Return how many rows of a group count as one, by the interval of the fit's own measure."""
    own = None if evaluation is None else evaluation.own
    if own is None or evaluation.split != "groups" or evaluation.n_held_out < 2:
        return 1.0
    found = own.get("mae" if evaluation.task == "numbers" else "accuracy")
    effect = ((found.high - found.low) / max(1e-12, before.high - before.low)) ** 2
    return effect if effect > 1.0 else 1.0


def _repeats(X: Any, rows: np.ndarray) -> float:
    """Return the share of rows that repeat another one, more than a table of few values would."""
    if not hasattr(X, "iloc") or len(rows) < FEW_ROWS:
        return 0.0
    import pandas as pd

    most = max(FEW_ROWS, min(_AT_ONCE, _MOST_CELLS // 4 // max(1, X.shape[1])))
    some = X.iloc[evenly(rows, most)].astype(str).astype(object)
    hashes = [pd.util.hash_array(some.iloc[:, k].to_numpy()) for k in range(some.shape[1])]
    counts = [np.unique(one, return_counts=True)[1] / len(some) for one in hashes]
    chance = math.prod(float((share**2).sum()) for share in counts)
    row = sum(one * np.uint64(2 * k + 1) for k, one in enumerate(hashes))
    sizes = np.unique(row, return_counts=True)[1]
    pairs = float(np.sum(sizes * (sizes - 1.0))) / len(some) ** 2
    return 0.0 if pairs <= 10 * chance else 1.0 - len(sizes) / len(some)


def _shifts(names: Iterable[Any], then: np.ndarray, now: np.ndarray) -> list[Shift]:
    every = zip(names, then.tolist(), now.tolist(), strict=True)
    return [Shift(*one) for one in every]
