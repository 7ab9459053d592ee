"""Scorecards: additive flocks of two classes as whole points for conditions, added by hand.

The log-odds of such a flock are a sum of functions of single columns. A function of a number is
replaced by a few steps, and all are multiplied by one factor and rounded; then the chance of each
total is learnt from given rows, by a logistic curve.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from covey._decisions import code_of
from covey._devices import to_numpy
from covey._files import replacing, write_file
from covey._number_words import count, named, quoted, range_words
from covey._plain_words import one_line
from covey._validation import check_number
from covey.evaluation._held_out import HeldOut, Predicted
from covey.evaluation._record import Score
from covey.tables._encoders import Categories, Encoder, NumberColumn
from covey.tables._kinds import as_frame
from covey.tables._known_columns import as_read, encoders_of, table_for

if TYPE_CHECKING:
    import pandas as pd

# The most steps of a column, the least share of rows of one, and the quantiles beyond which an
# effect counts as even.
_STEPS, _LEAST_STEP, _TAILS = 5, 0.04, (0.02, 0.98)
_LEAST_WEIGHT = 0.01
# Smaller points are taken if the loss of the rows rises by less than this share.
_CLOSE = 0.01
# The points of the largest condition rise by one part in this many while they are chosen.
_TRIES = 4
# The inverse penalty of the logistic curve of the totals, which may part the classes.
_CURVE = 10.0
_MOST_WORDS, _MOST_CATEGORIES = 6, 100
_CONTROL = r"[\x00-\x1f\x7f]"


@dataclass(frozen=True)
class Condition:
    """A condition on a column, its points, and how many of the given rows meet it.

    A number is from ``low`` to below ``high``, which are NaN for gaps; a category has one of
    ``codes``.
    """

    column: str
    words: str
    points: int = 0
    rows: int = 0
    low: float = np.nan
    high: float = np.nan
    codes: tuple[int, ...] = ()

    def met(self, values: np.ndarray) -> np.ndarray:
        """Return which values of the column meet the condition."""
        if self.codes:
            return np.isin(values, self.codes)
        if np.isnan(self.low):
            return np.isnan(values)
        return np.asarray((values >= self.low) & (values < self.high))


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Whole points for conditions, and the probability of a class for each total.

    ``print(card)`` shows it as text, ``card.to_html(path)`` writes a page of A4.

    Attributes
    ----------
    label : label
        The class that points speak for.
    conditions : tuple of Condition
        Those of one column after the other; each row meets one of each column.
    intercept, slope : float
        The log-odds of a total are ``intercept + slope * total``.
    counts : ndarray of shape (n_totals, 2)
        For each total from 0, how many of the given rows have it, and how many of these are of the
        class.
    scores : tuple of three Scores
        The measures of the card and of the flock on the given rows, and their differences, with
        intervals of 95 %. The chances of totals were learnt from the same rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from covey import FlockClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(max_members=1, max_features=3, random_state=0).fit(X[::2], y[::2])
    >>> card = flock.scorecard(X[1::2], y[1::2])
    >>> card.label, len(card.points["column"].unique())
    (0, 3)
    >>> bool(((card.probability(X) > 0.5) == (y == 0)).mean() > 0.9)
    True
    """

    label: Any
    conditions: tuple[Condition, ...]
    intercept: float
    slope: float
    counts: np.ndarray
    scores: tuple[Score, ...]
    encoders: Mapping[str, Encoder | None] = field(repr=False)

    @property
    def by_column(self) -> list[tuple[str, list[Condition]]]:
        """The columns, each with its conditions."""
        groups = groupby(self.conditions, lambda one: one.column)
        return [(name, list(some)) for name, some in groups]

    @property
    def points(self) -> pd.DataFrame:
        """The conditions as a table: column, condition, points, and how many rows meet it."""
        import pandas as pd

        rows = [(one.column, one.words, one.points, one.rows) for one in self.conditions]
        return pd.DataFrame(rows, columns=["column", "condition", "points", "rows"])

    @property
    def totals(self) -> pd.DataFrame:
        """The probability of each total; totals of the same whole per cent stand together."""
        import pandas as pd

        chances = expit(self.intercept + self.slope * np.arange(len(self.counts)))
        made = []
        for words, group in groupby(range(len(chances)), lambda k: _chance(chances[k])):
            some = list(group)
            total = f"{some[0]} to {some[-1]}" if len(some) > 1 else str(some[0])
            made.append((total, words, chances[some].mean(), *self.counts[some].sum(axis=0)))
        return pd.DataFrame(made, columns=["total", "chance", "probability", "rows", "of_class"])

    def total(self, X: Any) -> np.ndarray:
        """Return the sum of the points of each row, (n_samples,), whole numbers."""
        table = as_frame(X)
        if not set(self.encoders) & set(table):  # a flock without names knows columns so
            table = table.set_axis([f"x{place}" for place in range(table.shape[1])], axis=1)
        table = as_read(table, self.encoders)
        sums = np.zeros(len(table), dtype=np.int64)
        for name, some in self.by_column:
            values = _values(table[name], self.encoders[name])
            met = np.array([one.met(values) for one in some])
            lost = np.flatnonzero(~met.any(axis=0))
            if len(lost):
                raise ValueError(
                    f"{name} is {table[name].iloc[lost[0]]} in row {lost[0]}, for which the "
                    "card has no condition; make it of rows that have such values."
                )
            sums += np.array([one.points for one in some])[met.argmax(axis=0)]
        return sums

    def probability(self, X: Any) -> np.ndarray:
        """Return the probability of the class for each row, (n_samples,).

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            With the columns of the card, at least.
        """
        return np.asarray(expit(self.intercept + self.slope * self.total(X)))

    # -- show ------------------------------------------------------------------------------

    @property
    def note(self) -> str:
        """The rows that the card stands on, and the price of using it instead of the flock."""
        rows, found = self.counts.sum(axis=0).tolist()
        said = f"Made from {count(rows)} rows, {count(found)} of them {quoted(self.label)}."
        for measure, words in (("auc", "Area under the curve"), ("log_loss", "Log-loss")):
            own, flock, price = (one.get(measure) for one in self.scores)
            said += f" {words} {own.value:.3f}, of the flock {flock.value:.3f} (the "
            said += f"difference is likely {price.low:+.3f} to {price.high:+.3f})."
        return said

    def __str__(self) -> str:
        wide = max(8, *(len(one_line(one.column)) + 2 for one in self.conditions))
        most = max(12, *(len(one_line(one.words)) + 2 for one in self.conditions))
        lines = [f"Points for {quoted(self.label)}: one number of each column, added."]
        for name, some in self.by_column:
            for head, one in zip([one_line(name), *[""] * len(some)], some, strict=False):
                lines.append(f"{head:{wide}}{one_line(one.words):{most}}{one.points:>3}")
        lines += ["", f"{'total':{wide}}{'chance':{most}}rows that had it"]
        for total, chance, _, rows, found in self.totals.itertuples(index=False):
            lines.append(f"{total:{wide}}{chance:{most}}{f'{found} of {rows}' if rows else '-'}")
        return "\n".join([*lines, "", self.note])

    def _repr_html_(self) -> str:
        return self.points.to_html(index=False) + self.totals.to_html(index=False)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that fits on A4 when it is printed; return its path."""
        from covey._templates import environment

        page = environment("covey.reporting").get_template("scorecard.html")
        words = {"label": quoted(self.label), "title": f"Points for {quoted(self.label)}"}
        write_file(path, page.render(card=self, totals=self.totals.itertuples(), **words))
        return Path(path)

    def to_excel(self, path: str | os.PathLike[str]) -> Path:
        """Write a workbook with the sheets "points" and "totals", by openpyxl; return its path."""
        import pandas as pd

        with replacing(path) as draft, pd.ExcelWriter(draft, engine="openpyxl") as book:
            for name in ("points", "totals"):
                # Workbooks hold no control characters.
                frame = getattr(self, name).replace(_CONTROL, " ", regex=True)
                frame.to_excel(book, sheet_name=name, index=False)
                for cell in (one for row in book.sheets[name].rows for one in row):
                    cell.data_type = cell.data_type.replace("f", "s")  # no name is a formula
        return Path(path)


def make_scorecard(flock: Any, X: Any, y: ArrayLike, label: Any, max_points: int) -> Scorecard:
    """Return the card of an additive flock of two classes, by these rows."""
    check_number(max_points, "max_points", low=1, high=100, whole=True)
    classes = getattr(flock, "classes_", np.zeros(0))
    if len(classes) != 2:
        what = f"{len(classes)} classes" if len(classes) else "numbers"
        raise ValueError(f"A scorecard is for two classes, and this flock predicts {what}.")
    if not getattr(flock.model_, "is_additive", False):
        raise ValueError(
            "A scorecard adds points of single columns, and this flock does not; fit it with "
            'interactions="none".'
        )
    codes, table = flock.model_.target.encoded(to_numpy(y)), table_for(flock, X)
    counts = np.bincount(codes, minlength=2)
    if len(codes) != len(table) or not counts.all():
        raise ValueError(
            f"A scorecard needs rows of both classes, each with its label; got {len(table)} rows, "
            f"and {counts[0]} and {counts[1]} labels of {classes.tolist()}."
        )
    if label is None and flock.decision_ is not None:
        label = flock.decision_.label
    code = int(counts[1] <= counts[0]) if label is None else code_of(classes, label, "label")
    truth, sign = codes == code, 1 if code else -1

    def log_odds(rows: pd.DataFrame) -> np.ndarray:
        return sign * np.asarray(flock.decision_function(rows))

    # Others than the row that is closest to even odds may have a chance of 0, or 1.
    odds = log_odds(table)
    base = table.iloc[[int(np.abs(odds).argmin())]]
    # The log-loss is as curved as this: a shift of log-odds costs most where they are even.
    weight = np.maximum(expit(odds) * expit(-odds), _LEAST_WEIGHT)
    encoders, steps = encoders_of(flock), []
    for place in np.flatnonzero(flock._columns_looked_at()).tolist():
        name, encoder = list(encoders.items())[place]
        values = _values(table.iloc[:, place], encoder, name)
        _, rows, back = np.unique(values, return_index=True, return_inverse=True)
        tried = base.iloc[[0] * len(rows)].reset_index(drop=True)
        tried[table.columns[place]] = table.iloc[rows, place].reset_index(drop=True)
        effect = log_odds(tried)[back]
        cuts = None if isinstance(encoder, Categories) else _cuts(values, effect, weight)
        # The last step is that of gaps.
        of = values if cuts is None else np.searchsorted(cuts, values, side="right")
        _, of = np.unique(np.where(np.isnan(values), np.inf, of), return_inverse=True)
        means = np.bincount(of, effect * weight) / np.bincount(of, weight)
        steps.append((name, encoder, values, cuts, of, means - means.min()))
    largest = max((means.max() for *_, means in steps), default=0.0)
    if not largest > 0:
        raise ValueError("No column moves this flock on these rows, so that there are no points.")

    tried_points = []
    for most in np.arange(_TRIES, _TRIES * max_points + 1) / _TRIES:
        points = [np.rint(means * most / largest).astype(np.int64) for *_, means in steps]
        total = np.sum([p[of] for p, (*_, of, _) in zip(points, steps, strict=True)], axis=0)
        tried_points.append((*_curve(total, truth), points, total))
    least = min(loss for loss, *_ in tried_points) * (1 + _CLOSE)
    _, intercept, slope, points, total = next(one for one in tried_points if one[0] <= least)
    conditions = [
        condition
        for (name, encoder, values, cuts, of, _), p in zip(steps, points, strict=True)
        for condition in (_conditions(name, encoder, values, cuts, p[of]) if p.any() else ())
    ]
    chance = expit(intercept + slope * total)
    models = [
        Predicted("card", np.stack([1 - chance, chance], axis=1)[:, ::sign], "own"),
        Predicted("flock", flock.predict_proba(table), "full"),
    ]
    held_out = HeldOut(classes[codes], models, classes)
    every = [*range(sum(int(p.max()) for p in points) + 1)]
    return Scorecard(
        classes.tolist()[code],
        tuple(conditions),
        intercept,
        slope,
        np.array([((total == one).sum(), truth[total == one].sum()) for one in every]),
        (*map(held_out.score, models), held_out.difference(*models)),
        {one.column: encoders[one.column] for one in conditions},
    )


def _values(column: Any, encoder: Encoder | None, name: str = "") -> np.ndarray:
    """Return a column of numbers, or of codes of categories; NaN is a gap."""
    few = not isinstance(encoder, Categories) or len(encoder.known) <= _MOST_CATEGORIES
    if isinstance(encoder, NumberColumn | Categories) and few:
        return np.asarray(encoder.numbers(column))[:, 0]
    raise ValueError(
        f"{name} holds dates, text or too many categories for a card; fit without it, or with "
        "numbers or fewer categories made of it."
    )


def _cuts(values: np.ndarray, effect: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the numbers between steps on which the effect of a column is about constant."""
    from sklearn.tree import DecisionTreeRegressor

    known = values[~np.isnan(values)]
    if not len(known):
        return known
    held, weight = effect[~np.isnan(values)], weight[~np.isnan(values)]
    held = np.clip(held, *np.quantile(held, _TAILS))
    tree = DecisionTreeRegressor(
        min_samples_leaf=_LEAST_STEP, max_leaf_nodes=_STEPS, random_state=0
    )
    grown = tree.fit(known[:, None], held, weight).tree_
    found = []
    for at in np.sort(grown.threshold[grown.children_left >= 0]):
        # The number with the fewest digits that parts the same rows.
        low, high = known[known <= at].max(), known[known > at].min()
        tried = (round(low + (high - low) / 2, digits) for digits in range(-15, 16))
        found.append(next((one for one in tried if low < one <= high), high) + 0.0)  # no -0
    return np.array(found)


def _conditions(
    name: str, encoder: Any, values: np.ndarray, cuts: np.ndarray | None, points: np.ndarray
) -> list[Condition]:
    """Return the conditions on a column, given the points (n,) of the rows; gaps come last."""
    known = ~np.isnan(values)
    seen, first = np.unique(values[known], return_index=True)
    own, made = points[known][first], []
    if cuts is None:
        for worth in np.unique(own):
            codes = tuple(seen[own == worth].astype(int).tolist())
            words = [encoder.known[code] if code >= 0 else "others" for code in codes]
            words = [quoted(word) if "," in word else word for word in words]
            made.append(Condition(name, named(words, _MOST_WORDS), codes=codes))
    else:
        # Neighbours with the same points are one step.
        kept = [at for at in cuts if own[seen < at][-1] != own[seen >= at][0]]
        for low, high in pairwise([-np.inf, *kept, np.inf]):
            words = _range(low, high, seen[(seen >= low) & (seen < high)], seen)
            made.append(Condition(name, words, low=low, high=high))
    made += [] if known.all() else [Condition(name, "not known")]
    which = [points[one.met(values)] for one in made]
    both = zip(made, which, strict=True)
    return [replace(one, points=int(some[0]), rows=len(some)) for one, some in both]


def _range(low: float, high: float, inside: np.ndarray, seen: np.ndarray) -> str:
    """Write the range of a step; of whole numbers, both ends are within."""
    if np.isinf(low) and np.isinf(high):
        return "known"
    show = partial(np.format_float_positional, trim="-")
    if (seen == np.rint(seen)).all():
        low, high = np.ceil(low), np.ceil(high) - np.isfinite([low, high]).all()
        if low == high or (len(inside) == 1 and len(seen) <= _MOST_WORDS):
            return show(inside[0])
    ends = (one if np.isfinite(one) else None for one in (low, high))
    return range_words(next(ends), next(ends), show)


def _curve(total: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return the log-loss, the intercept and the slope of a logistic curve over totals."""
    from sklearn.linear_model import LogisticRegression

    scaled = (total / total.std())[:, None]
    fit = LogisticRegression(C=_CURVE).fit(scaled, truth)
    chance = fit.predict_proba(scaled)[np.arange(len(truth)), truth.astype(int)]
    slope = float(fit.coef_[0, 0] / total.std())
    return float(-np.log(chance).mean()), float(fit.intercept_[0]), slope


def _chance(chance: float) -> str:
    """Write a probability in whole per cent; few rows tell more only of the middle."""
    shown = f"{100 * chance:.0f}"
    return {"0": "below 1 %", "100": "above 99 %"}.get(shown, f"{shown} %")
