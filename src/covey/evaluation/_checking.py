"""Whether a model still holds on new rows, by what its file remembers of its own rows."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._blocks import as_table, take_rows
from covey._decisions import decided
from covey._intervals import Interval, holm, mean_interval_from_sums, proportion_interval
from covey._number_words import counted, listed, named, number, rough, span
from covey.evaluation._drift import LEAST, Bins, ColumnCounts
from covey.evaluation._held_out import plain_label
from covey.evaluation._record import Label, plain_data
from covey.tables._categories import column_of
from covey.tables._columns import feature_names
from covey.tables._kinds import as_frame
from covey.tables._known_columns import check_has, encoders_of, table_for
from covey.tables._seen_columns import seen_numbers

# The chances that something is told of a table without any change: of labels, and of all else.
_CHANCE_OF_LABELS, _CHANCE = 0.01, 0.04
# The least change of decisions, and how far sureness may be from that of other fits, held out.
_LEAST_SHIFT, _SLACK = 0.1, 0.05
# How many rows, and cells, are looked at at once; fewer rows show large changes only.
_AT_ONCE, _MOST_CELLS, FEW_ROWS = 10_000, 1 << 22, 100
# Of fewer rows, the spread of the weights of members is not known well enough.
_FEWEST_DECIDED = 20
# The rows held out, at least, for each of the mean errors by size.
_ROWS_OF_BIN = 20
_Z = 1.959964
_NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
# How many columns are named, and the share of the importance that makes a change of them much.
_MOST_SAID, _MUCH = 8, 0.2


@dataclass(frozen=True)
class Shift:
    """A share of something, then and now: of a member, a class, or a part of a column's values."""

    name: Label
    then: float
    now: float


@dataclass(frozen=True)
class CheckedColumn:
    """A column of new rows beside what the model has seen of it.

    ``tests`` has for each kind of change (values, gaps, unread) the p-value, adjusted for all
    tests of the table; ``parts`` are shares of rows in the same bins.
    """

    name: str
    kind: str
    state: str  # "as before", "changed" or "unknown"
    sentence: str = ""
    unit: str | None = None
    tests: dict[str, float] = field(default_factory=dict)
    distance: float = 0.0
    stability: float = 0.0  # the population stability index
    missing_then: float = math.nan
    missing: float = math.nan
    share: float | None = None  # of the importance of all columns
    parts: list[Shift] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """A comparison of new rows with those that a model was fitted on, without these.

    `covey.check` makes it. It is plain data; the terminal, the page and JSON render it.

    Parameters
    ----------
    task : "classes" or "numbers"
    n_rows, n_labels : int
        How many new rows there are, and how many have a truth.
    columns : list of CheckedColumn
        The columns of the model.
    members, classes : list of Shift
        The share of each member in the decisions, and of each class in what is predicted.
    sure_then, sure : float
        The mean probability of what is predicted, of rows held out at the fit, and now.
    before, expected, measured : Interval, optional
        The share of right predictions (or the mean error of numbers): of rows held out at the fit,
        to be expected of these rows, and found where the truth is given.
    surprise : float, optional
        The chance of a measured value this far from the expected one.
    changed : list of str
        The names of columns that have changed, and "who decides", "sureness", "decisions",
        "classes" and "accuracy" or "error" if those have. The model holds if there are none.
    sentences, remarks : list of str
        The findings in words, the summary first; and what they rest on.

    Examples
    --------
    >>> from covey.evaluation import Check
    >>> Check("classes", n_rows=40).holds
    True
    """

    task: str
    n_rows: int = 0
    n_labels: int = 0
    columns: list[CheckedColumn] = field(default_factory=list)
    members: list[Shift] = field(default_factory=list)
    classes: list[Shift] = field(default_factory=list)
    sure_then: float = math.nan
    sure: float = math.nan
    before: Interval | None = None
    expected: Interval | None = None
    measured: Interval | None = None
    surprise: float | None = None
    changed: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing has changed more than by chance."""
        return not self.changed

    def as_dict(self) -> dict[str, Any]:
        """Return the record as dicts, lists, text and numbers; NaN becomes None."""
        return {"holds": self.holds, **plain_data(self)}

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_prometheus(self) -> str:
        """Return the main numbers in the text format of Prometheus."""
        found: dict[str, Any] = {"holds": self.holds, "rows": self.n_rows, "sureness": self.sure}
        for name in ("expected", "measured"):
            found[name] = getattr(getattr(self, name), "value", None)
        for one in self.columns:
            found[f"column_distance{{column={json.dumps(one.name, ensure_ascii=False)}}}"] = (
                one.distance
            )
        known = {name: one for name, one in found.items() if one is not None and one == one}
        return "".join(f"covey_check_{name} {one:.6g}\n" for name, one in known.items())

    def __str__(self) -> str:
        return "\n".join(self.sentences)


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
        New rows.
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
    counts = RowCounts(model)
    X = as_table(X if hasattr(X, "shape") else np.asarray(X, dtype=object))
    n_rows, truth = int(X.shape[0]), None if y is None else np.asarray(y)
    if not n_rows:
        raise ValueError("X has no rows to check.")
    if truth is not None and truth.shape != (n_rows,):
        raise ValueError(f"y must have one value for each of the {n_rows:,} rows of X.")
    at_once = max(200, min(_AT_ONCE, _MOST_CELLS // max(1, X.shape[-1])))
    for start in range(0, n_rows, at_once):
        own = slice(start, start + at_once)
        part = X if at_once >= n_rows else take_rows(X, own)
        counts.add(part, None if truth is None else truth[own])
    return counts.found()


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
        self.columns = {
            place: ColumnCounts(one, encoders.get(one.name), seen.n_rows)
            for place, one in enumerate(seen.columns)
            if encoders.get(one.name, True) is not None  # the model does not read the others
        }
        known = getattr(model, "calibration_", None)
        self.outlook = None if known is None else Outlook(model, known)
        #: Of the rows with a truth: how many, how many are right or the sum of errors, of squares.
        self.n_rows, self.truths = 0, np.zeros(3)
        #: Rows that are predicted as each class, and rows that are of it.
        none = np.zeros(0 if self.classes is None else len(self.classes))
        self.said, self.true = (
            Bins(getattr(self.outlook, name, none)) for name in ("said", "true")
        )
        # Rules other than a gate give members other weights on rows that they were fitted on.
        gated = getattr(getattr(model, "model_", None), "gate_coef", None) is not None
        shares = model.model_.shares if gated else np.ones(1)
        self.shares = shares / max(1e-12, shares.sum())
        self.weights = np.zeros((2, len(shares)))  # sums over rows, and those of squares

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
        if X.ndim != 2 or X.shape[1] != n_columns:
            raise ValueError(f"X must have the {n_columns} columns of the model, got {X.shape}.")
        is_table = said is None and hasattr(X, "iloc") and hasattr(model, "model_")
        rows = table_for(model, X) if is_table else X
        if said is None:
            said = model.predict(rows) if self.classes is None else model.predict_proba(rows)
        cells = X.toarray() if hasattr(X, "tocsr") else X
        for place, one in self.columns.items():
            one.add(column_of(cells, place), examples)
        self.n_rows += len(said)
        codes = None
        if self.classes is not None:
            codes = decided(model, said)
            self.said.now += np.bincount(codes, minlength=len(self.classes))
        if self.outlook is not None:
            self.outlook.add(said if codes is None else said[np.arange(len(codes)), codes])
        if len(self.shares) > 1:
            weights = model.model_.importance(rows)
            self.weights += weights.sum(axis=0), (weights**2).sum(axis=0)
        if y is None:
            return
        import pandas as pd

        if codes is None or self.classes.dtype.kind in "biuf":
            y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy(np.float64)
        known = ~pd.isna(y)
        if codes is None:
            part = np.abs(said[known] - y[known])
        else:
            places = {label: place for place, label in enumerate(self.classes.tolist())}
            truth = np.array([places.get(one, -1) for one in y[known].tolist()], dtype=np.intp)
            self.true.now += np.bincount(truth[truth >= 0], minlength=len(places))
            part = (codes[known] == truth).astype(np.float64)
        self.truths += known.sum(), part.sum(), (part**2).sum()

    def found(self) -> Check:
        """Return the comparison of all rows that were counted."""
        from scipy.stats import norm, t

        # -- tests: by the column (-1: none of them) and the kind, the p-value and the size
        n, then = max(1, self.n_rows), self.outlook
        tests = {
            (place, kind): test
            for place, one in self.columns.items()
            for kind, test in one.tests().items()
        }
        decisions = {"decisions": self.said, "classes": self.true}
        for kind, bins in decisions.items():
            if bins.then.any() and bins.now.any():
                tests[-1, kind] = bins.p_value(), bins.distance()
        if then is not None and then.spread is not None and self.n_rows:
            tests[-1, "sureness"] = then.spread.p_value(_SLACK), then.spread.distance()
        mean, square = self.weights / n
        if len(mean) > 1 and self.n_rows >= _FEWEST_DECIDED:
            spread = np.maximum(square - mean**2, 0.0) * (1 / n + 1 / max(1, self.n_seen))
            gaps = np.abs(mean - self.shares)
            p = 2 * len(mean) * float(t.sf((gaps / (np.sqrt(spread) + 1e-9)).max(), n - 1))
            tests[-1, "who decides"] = min(1.0, p), float(gaps.sum() / 2)
        adjusted = holm(np.array([p for p, _ in tests.values()]))
        p_values = dict(zip(tests, adjusted.tolist(), strict=True))
        changes = [
            (place, kind)
            for (place, kind), (_, size) in tests.items()
            if p_values[place, kind] < _CHANCE and size >= LEAST.get(kind, _LEAST_SHIFT)
        ]

        # -- the record of each column
        evaluation = getattr(self.model, "evaluation_", None)
        shares = {one.name: one.share for one in getattr(evaluation, "columns", ())}
        columns = []
        for place, one in self.columns.items():
            kinds = [kind for at, kind in changes if at == place]
            own = {kind: p for (at, kind), p in p_values.items() if at == place}
            bins = one.bins if one.bins is not None and one.bins.now.any() else None
            columns.append(
                CheckedColumn(
                    one.seen.name,
                    one.seen.kind,
                    "changed" if kinds else "as before" if own else "unknown",
                    one.sentence(kinds) if kinds else "",
                    one.unit() if "values" in kinds else None,
                    own,
                    0.0 if bins is None else bins.distance(),
                    0.0 if bins is None else bins.stability(),
                    one.missing_then,
                    one.missing,
                    shares.get(one.seen.name),
                    [Shift(*part) for part in one.parts()],
                )
            )

        # -- how right
        measured, surprise, n_labels = None, None, int(self.truths[0])
        expected = then.expected() if then is not None and self.n_rows else None
        if n_labels:
            total, squares = self.truths[1:].tolist()
            squares -= total**2 / n_labels
            measured = _mean(total / n_labels, squares, n_labels, self.classes)
        if measured is not None and expected is not None and then is not None:
            whole = 0.0 if self.classes is None else 0.5 / n_labels
            gap = max(0.0, abs(measured.value - expected.value) - whole)
            surprise = float(2 * norm.sf(gap / max(1e-12, then.error(n_labels))))
        changed = [one.name for one in columns if one.state == "changed"]
        changed += [kind for place, kind in changes if place < 0]
        if surprise is not None and surprise < _CHANCE_OF_LABELS:
            changed.append("error" if self.classes is None else "accuracy")
        members, classes, sure = [], [], (math.nan, math.nan)
        if len(mean) > 1:
            both = self.shares.tolist(), mean.tolist()
            members = list(map(Shift, self.model.model_.names(), *both))
        if then is not None and self.classes is not None:
            both = (one.tolist() for one in self.said.shares())
            classes = list(map(Shift, map(plain_label, self.classes), *both))
            sure = then.sure_then, then.total / n
        found = Check(
            "numbers" if self.classes is None else "classes",
            self.n_rows,
            n_labels,
            columns,
            members,
            classes,
            *sure,
            before=then.before if expected is not None and then is not None else None,
            expected=expected,
            measured=measured,
            surprise=surprise,
            changed=changed,
        )
        found.sentences.extend(sentences(found))
        found.remarks.extend(self._remarks(found))
        return found

    def _remarks(self, found: Check) -> list[str]:
        """Return what the findings rest on, and what cannot be told."""
        unknown = [one.name for one in found.columns if one.state == "unknown"]
        units = [one.name for one in found.columns if one.unit]
        share = sum(one.share or 0.0 for one in found.columns if one.state == "changed")
        is_told = found.expected is not None
        said = {
            f"{counted(found.n_rows, 'row')}: only large changes show.": found.n_rows < FEW_ROWS,
            f"Cannot be told of {named(unknown, 5)}: the model does not know how these values "
            "were spread (an older file, or a fit in blocks).": unknown,
            "Cannot be told how right it will be: the model was fitted without rows held out; "
            "covey fit, or calibrate(X, y), gives it some.": not is_told,
            "What to expect counts on one thing: rows that look alike still have the same truth. "
            "If that has changed, no table without labels can show it.": is_told,
            f"Columns that make up {rough(share)} of what the model looks at have changed: it is "
            "then often less right than is expected. Measure it on some rows whose truth is "
            "known.": share > _MUCH and found.measured is None and is_told,
            f"Mend {named(units, 5)} first: with values that it never saw, the model is less "
            "right than it is sure.": units,
        }
        for one in self.columns.values():
            if one.seen.kind != "number" and one.bins is not None and one.bins.values is not None:
                day = datetime.fromtimestamp(float(one.bins.values[-1]), UTC).date()
                latest = f"{one.seen.name}: the latest date of the fit is {day}."
                said[latest] = one.bins.now[-1] > 0
        independent = (
            "The tests count rows as independent of each other: rows of one person or day, and "
            "rows that repeat others, differ more often than said."
        )
        return [*(sentence for sentence, applies in said.items() if applies), independent]


def sentences(found: Check) -> list[str]:
    """Return the findings in words, the summary first."""
    columns = [one for one in found.columns if one.state == "changed"]
    columns.sort(key=lambda one: (one.unit is None, -(one.share or 0.0), -one.distance))
    n, total = len(columns), sum(one.state != "unknown" for one in found.columns)
    lead = f"{_NUMBERS[n] if n < len(_NUMBERS) else n} of {counted(total, 'column')} "
    lead += "has changed" if n < 2 else "have changed"
    lead += f": {columns[0].sentence}." if n else " beyond chance."
    if not total:
        lead = "It cannot be told whether its columns have changed."
    said = [f"{one.sentence}." for one in columns[1:_MOST_SAID]]
    if n > _MOST_SAID:
        said.append(f"{counted(n - _MOST_SAID, 'more column')} changed, too.")

    def most(shifts: list[Shift]) -> str:
        moved = sorted(shifts, key=lambda one: -abs(one.now - one.then))[:3]
        return listed(f"{one.name} {rough(one.now)} (was {rough(one.then)})" for one in moved)

    is_class, now, then = found.task == "classes", found.expected, found.before
    less = "less" if found.sure < found.sure_then else "more"
    sure = f"It is {less} sure: {rough(found.sure)} on average, not {rough(found.sure_then)}."
    moved = {
        "decisions": f"It predicts classes in other shares: {most(found.classes)}.",
        "who decides": f"Others decide: {most(found.members)}.",
        "classes": "The true classes occur in other shares than at the fit.",
        "sureness": sure if is_class else "It predicts other numbers than at the fit.",
    }
    said += [sentence for kind, sentence in moved.items() if kind in found.changed]
    show, what = (rough, "right") if is_class else (number, "off on average")

    def within(one: Interval) -> str:
        if math.isnan(one.low):
            return "no interval from one row"
        return span(one.low, one.high) if is_class else f"{number(one.low)} to {number(one.high)}"

    if now is not None and then is not None:
        before, after = show(then.value), show(now.value)
        near = now.low <= then.value <= now.high and not found.changed
        as_before = before == after or near
        same = f"about {before} {what}, as on rows held out at the fit"
        lead += f" Expect {same if as_before else f'{after} {what}, not {before}'}."
        said.append(f"Without any label, {within(now)} {what} is to be expected.")
    if found.measured is not None:
        line = f"Measured on {counted(found.n_labels, 'row')} with a truth: "
        line += f"{show(found.measured.value)} {what} ({within(found.measured)})"
        if found.surprise is not None:
            beyond = found.surprise < _CHANCE_OF_LABELS
            farther = "farther from the expected than chance"
            line += f", {farther if beyond else 'as chance may have it'}"
        said.append(f"{line}.")
    return [lead, *said]


def _mean(mean: float, squares: float, n: int, classes: Any) -> Interval:
    """Return a share of right rows, or a mean error, with its interval."""
    if classes is not None:
        return proportion_interval(round(mean * n), n)._replace(value=mean)
    if n < 2:  # one row shows no spread
        return Interval(mean, math.nan, math.nan)
    return mean_interval_from_sums(mean, max(0.0, squares), n, n)


class Outlook:
    """The accuracy, or the mean error, to expect of rows, by rows held out at the fit.

    The chance that a decision is right is a linear function of its probability, fitted to rows
    held out; a weak prior has it that probabilities are right as they are. The size of an error
    is a mean of rows held out of which about the same number is predicted.
    """

    def __init__(self, model: Any, known: Any) -> None:
        weight, self.edges = known.weight, None
        classes = getattr(model, "classes_", None)
        if classes is not None:
            codes, every = decided(model, known.probabilities), np.arange(len(known.label))
            key, loss = known.probabilities[every, codes], (codes == known.label).astype(float)
            self.said, self.true = (
                np.bincount(one, weight, len(classes)) for one in (codes, known.label)
            )
            prior = np.array([0.0, 1.0])
        else:
            loss = np.abs(known.error)
            key = np.zeros(len(loss)) if known.predicted is None else known.predicted
            n_bins = min(5, max(1, len(loss) // _ROWS_OF_BIN))
            self.edges = np.unique(np.quantile(key, np.arange(1, n_bins) / n_bins))
            prior = np.full(len(self.edges) + 1, np.average(loss, weights=weight))
        (seen,) = seen_numbers([""], key[:, None])
        known_values = np.array(seen.values), seen.shares, seen.below, len(key)
        self.spread = Bins.of_numbers(*known_values) if len(seen.values) > 1 else None
        self.sure_then, mean = (float(np.average(one, weights=weight)) for one in (key, loss))
        self.n_then = max(1, round(float(weight.sum())))
        self.before = _mean(mean, float(weight @ (loss - mean) ** 2), self.n_then, classes)
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
            self.spread.now += self.spread.counts(key)

    def error(self, n: int) -> float:
        """Return the standard error of the accuracy, or the mean error, of n such rows."""
        terms = self.terms / self.n
        value, before = float(terms @ self.coef), self.before.value
        of_fit = float(terms @ self.covariance @ terms)
        if self.edges is None:
            of_row = max(self.variance, value * (1.0 - value))
            # Even if all rows held out were right, one of the next may be wrong.
            share = (before * self.n_then + 1) / (self.n_then + 2)
            of_fit = max(of_fit, self.slack * share * (1.0 - share) / self.n_then)
            of_row = max(of_row, share * (1.0 - share)) if before in (0.0, 1.0) else of_row
        else:
            of_row = self.variance * max(1.0, value / max(1e-12, before)) ** 2
        # What rows held out show is carried over to rows that are unlike them: half of the change
        # is added for that.
        moved = (value - before) / 2 / _Z
        return math.sqrt(of_fit + self.slack * of_row / n + moved**2)

    def expected(self) -> Interval:
        """Return the accuracy, or the mean error, of the rows that were counted."""
        value, half = float(self.terms @ self.coef / self.n), _Z * self.error(self.n)
        most = math.inf if self.edges is not None else 1.0
        half += 0.5 / self.n if self.edges is None else 0.0  # rows are right or wrong as a whole
        return Interval(
            min(max(value, 0.0), most), max(0.0, value - half), min(most, value + half)
        )


def _cluster_effect(evaluation: Any, before: Interval) -> float:
    """Return how many rows of a group count as one, by the interval of the fit's own measure."""
    own = None if evaluation is None else evaluation.own
    if own is None or "groups" not in evaluation.split or evaluation.n_held_out < 2:
        return 1.0
    found = own.get("mae" if evaluation.task == "numbers" else "accuracy")
    effect = ((found.high - found.low) / max(1e-12, before.high - before.low)) ** 2
    return effect if effect > 1.0 else 1.0
