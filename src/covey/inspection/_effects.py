"""Effects of a column that the data support: among rows that are alike in the other columns.

Moving one column of every row to one value (partial dependence) asks a model about rows that do
not exist: children with the age of pensioners. Here rows move only to values that they are close
to, and the differences are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from covey._core.arrays import evenly, in_parts
from covey._number_words import cell, day, digits_of
from covey._plain_words import one_line, value_words
from covey.inspection._mixing_rows import replaced
from covey.tables._kinds import as_frame, as_kind, kind_of

# How many rows are predicted at once.
_ROWS_AT_ONCE = 1 << 13
# A row of a category is compared with this many similar rows.
_NEIGHBORS = 5
# A category without similar rows is compared by this many of its nearest rows.
_CLOSEST = 10
# Text columns are compared by this many of their categories.
_MOST_ENCODED = 10
# Text with more categories than are shown, and none with at least this share of rows, is free
# text.
_MOST_LEFT, _LEAST_SHARE = 50, 0.02
# Numbers with at most this many values are compared as categories are.
_FEW_VALUES = 10
# Gaps and codes are points of their own from this many rows on.
_FEWEST_APART = 3
# Codes are looked for beside at least this many other values.
_FEWEST_REST = 5
# A trend of the data counts from this many standard errors on, and one of the model beside it from
# this share of the data's.
_SURE, _COUNTS = 2.0, 0.1
# Numbers that often stand for gaps: -9, -1, 0, 96 to 99, 996 to 999 and so on, with either sign,
# and a million or so.
_NINES = [10**digits - last for digits in range(2, 7) for last in range(1, 5)]
_CODES = frozenset([-9, -1, 0, 10**5, 10**6, *_NINES, *(-code for code in _NINES)])


@dataclass(frozen=True)
class EffectPoint:
    """One value of a column, or the middle of a bin of numbers: the data's rate and the model's.

    Attributes
    ----------
    value : number, str or None
        A value that occurs: for dates days since 1970; None for gaps.
        A value that occurs: of dates days since 1970; None for gaps.
    label : str
        The value in the form of a reader.
    low, high : number or None
        Ends of a bin of numbers, both values that occur.
    rows : int
        How many rows of the table are there.
    rate : tuple of float, or None
        The share of each class among them, or (mean of y,); None without y.
    rate_error : tuple of float, or None
        Its standard errors.
    prediction : tuple of float
        The mean prediction of the rows there as they are.
    effect : tuple of float
        How far the column itself moves the prediction, among rows alike in the other columns.
        Effects have mean zero over the rows.
    """

    value: Any
    label: str
    low: float | None
    high: float | None
    rows: int
    rate: tuple[float, ...] | None
    rate_error: tuple[float, ...] | None
    prediction: tuple[float, ...]
    effect: tuple[float, ...]


@dataclass(frozen=True)
class ColumnEffect:
    """The result of `column_effect` for one column.

    Attributes
    ----------
    column : str
    kind : {"number", "date", "category"}
    classes : tuple
        The model's classes, in the order of rates, predictions and effects; empty for a number.
    points : tuple of EffectPoint
        Numbers and dates in ascending order, categories the most frequent first.
    apart : tuple of EffectPoint
        Gaps (value None), and codes such as 999 that look like gaps: no part of the curve.
    mean : tuple of float
        The mean prediction.
    rate : tuple of float, or None
        The mean of y, or the share of each class.
    codes : tuple of float
        Values far from the rest that look like gaps.
    n_left : int
        Categories that are not shown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.inspection import column_effect
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> effect = column_effect(model, X, "petal length (cm)", y)
    >>> effect.points[0].label, effect.points[0].rate
    ('1.3', (1.0, 0.0, 0.0))
    """

    column: str
    kind: str
    classes: tuple[Any, ...]
    points: tuple[EffectPoint, ...]
    apart: tuple[EffectPoint, ...]
    mean: tuple[float, ...]
    rate: tuple[float, ...] | None
    codes: tuple[float, ...]
    n_left: int

    @property
    def curve(self) -> np.ndarray:
        """Return the mean prediction moved by the column alone, (n_points, n_outputs).

        Only differences between points are effects. Do not write its level beside a value:
        ``rate`` and ``prediction`` are the true numbers of the rows there.
        """
        return np.array(self.mean) + [point.effect for point in self.points]

    @property
    def rates(self) -> np.ndarray | None:
        """The rates of the data, (n_points, n_outputs)."""
        return None if self.rate is None else np.array([point.rate for point in self.points])

    @property
    def rows(self) -> np.ndarray:
        """The number of rows of each point, (n_points,)."""
        return np.array([point.rows for point in self.points])

    @property
    def spread(self) -> np.ndarray:
        """Return how far the column alone moves each output between two points, (n_outputs,)."""
        return np.ptp(self.curve, axis=0)

    def ends(self, output: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return two groups of points whose difference is the trend, as shares (n_points,).

        For numbers these are the points of the lowest third of the rows and of the highest, for
        categories those with the lowest rate and the highest.
        """
        rows = self.rows / self.rows.sum()
        if self.kind == "category":
            found = self.curve if self.rates is None else self.rates
            order = np.argsort(found[:, output], kind="stable")
            first, last = np.eye(len(rows))[order[[0, -1]]]
            return first, last
        upper = np.cumsum(rows)
        low = rows * (upper <= max(1 / 3, rows[0]) + 1e-9)
        high = rows * (1 - upper + rows <= max(1 / 3, rows[-1]) + 1e-9)
        return low / low.sum(), high / high.sum()

    def trend(self, output: int = 0) -> tuple[float, float | None, float | None]:
        """Return the change of the curve from low to high end, that of the rate, and its error."""
        low, high = self.ends(output)
        change, rates = float((high - low) @ self.curve[:, output]), self.rates
        if rates is None:
            return change, None, None
        errors = np.array([point.rate_error for point in self.points])[:, output]
        return (
            change,
            float((high - low) @ rates[:, output]),
            float(np.sqrt((high - low) ** 2 @ errors**2)),
        )

    def differs(self, output: int = 0) -> bool:
        """Return whether the data's rate and the model's curve point in different directions."""
        change, rate, error = self.trend(output)
        if rate is None or error is None or abs(rate) <= _SURE * error:
            return False
        return change * rate < 0 and abs(change) >= _COUNTS * abs(rate)

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as plain data, for JSON."""
        return asdict(self)


def column_effect(
    model: Any,
    X: Any,
    column: Any,
    y: ArrayLike | None = None,
    *,
    kind: str | None = None,
    bins: int = 20,
    categories: int = 10,
    rows: int = 1000,
    predicted: np.ndarray | None = None,
) -> ColumnEffect | None:
    """Measure how a column moves predictions among rows that are alike in the other columns.

    Numbers and dates with more than ten values have accumulated local effects: values are the
    medians of at most ``bins`` bins of about equally many rows; rows between two neighboring
    values are predicted with the lower and with the higher one, the mean of the differences is a
    step, and steps are added up. Both bins of a step count the same.

    Categories have no order, and an order by similarity would move rows through categories that
    are far from them; with few numbers, the next one is far, too. So each row takes only values
    that similar rows have, its five nearest in the other columns; a column counts by how strongly
    it is related to this one. The effects are the least-squares fit to these differences. If the
    model adds up columns, both ways give exactly its terms.

    Gaps, and codes that look like gaps, are compared with the values of their nearest rows.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
    X : array or data frame of shape (n_rows, n_columns)
    column : str or int
        A name, or a position.
    y : array-like of shape (n_rows,), optional
        For the rates of the data.
    kind : {"number", "date", "category"}, optional
        By default the kind that its values suggest.
    bins, categories : int, default=20 and 10
        The most points.
    rows : int, default=1000
        About how many rows are moved. Numbers cost two predictions for each, categories at most
        six; and ``rows`` more are predicted as they are, unless ``predicted`` is given.
    predicted : ndarray of shape (n_rows, n_outputs), optional
        Predictions of all rows as they are, which may be out of fold.

    Returns
    -------
    effect : ColumnEffect or None
        None for a column without two distinct values: free text, constants, nested values; and
        for sparse tables.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from covey.inspection import column_effect
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X, y)
    >>> effect = column_effect(model, X, "s1", y)
    >>> effect.kind, len(effect.points)
    ('number', 20)
    >>> effect.differs()  # progression rises with s1, and falls among rows alike otherwise
    True
    """
    if hasattr(X, "tocsr"):
        return None
    moved = _Moved(model, X, column, y, rows, predicted)
    series = moved.frame.iloc[:, moved.place]
    found = kind_of(series)
    kind = kind or {"text": "category", "season": "date"}.get(found.kind, found.kind)
    if kind not in ("number", "date", "category"):
        return None
    values = as_kind(series, "text" if kind == "category" else kind, found.form)
    if kind == "category":
        return _of_categories(moved, values, categories)
    numbers = _as_days(values) if kind == "date" else values.to_numpy(dtype=np.float64)
    return _of_numbers(moved, kind, numbers, bins)


class _Moved:
    """A table, a model's predictions of its rows, and of rows that take a value of another."""

    def __init__(
        self, model: Any, X: Any, column: Any, y: Any, rows: int, predicted: np.ndarray | None
    ) -> None:
        self.frame, self.rows, self._model = as_frame(X), rows, model
        self._given = self.frame if hasattr(X, "to_pandas") else X
        if not hasattr(X, "columns"):
            self._given = np.asarray(X)
        names = list(self.frame.columns)
        if isinstance(column, str) and column not in names:
            raise ValueError(f"column is {column!r}, which the table does not have.")
        self.place = names.index(column) if isinstance(column, str) else int(column)
        self.name = names[self.place]
        self.classes = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()
        self.y = None if y is None else self._outcomes(np.asarray(y).ravel())
        self.predicted = predicted
        if predicted is not None:
            self.predicted = np.asarray(predicted, dtype=np.float64).reshape(len(self.frame), -1)

    def _outcomes(self, y: np.ndarray) -> np.ndarray:
        """Return 1 for the class of each row, or its number, (n, n_outputs)."""
        labels = np.array(self.classes, dtype=object)
        return (y[:, None] == labels if self.classes else y[:, None]).astype(np.float64)

    def of(self, rows: np.ndarray, values_of: np.ndarray | None = None) -> np.ndarray:
        """Return predictions (m, n_outputs) of rows with others' values of the column."""
        found = []
        for part in in_parts(len(rows), _ROWS_AT_ONCE):
            others = rows if values_of is None else values_of
            table = replaced(self._given, rows[part], [self.place], others[part])
            ask = self._model.predict_proba if self.classes else self._model.predict
            found.append(np.asarray(ask(table), dtype=np.float64).reshape(len(table), -1))
        return np.concatenate(found)

    def effect(
        self,
        kind: str,
        shown: Sequence[tuple[Any, str, np.ndarray]],
        effects: np.ndarray,
        apart: Sequence[tuple[Any, str, np.ndarray]] = (),
        apart_effects: np.ndarray | None = None,
        codes: Sequence[float] = (),
        numbers: np.ndarray | None = None,
        n_left: int = 0,
    ) -> ColumnEffect:
        """Join values, labels and rows of points with their effects, centred over the rows."""
        counts = np.array([len(rows) for _, _, rows in shown])
        center = counts @ effects / counts.sum()
        groups = [rows for _, _, rows in (*shown, *apart)]
        predictions = self._means(groups)
        sizes = np.array([len(rows) for rows in groups])
        mean = sizes @ predictions / sizes.sum()
        rates, errors, rate = None, None, None
        if self.y is not None:
            rates = np.array([self.y[rows].mean(axis=0) for rows in groups])
            rate = tuple(self.y.mean(axis=0).tolist())
            if self.classes:
                # Agresti's: a rate of 0 of 3 rows is not exact.
                safe = (rates * sizes[:, None] + 1) / (sizes[:, None] + 2)
                errors = np.sqrt(safe * (1 - safe) / sizes[:, None])
            else:
                errors = self.y.std(axis=0) / np.sqrt(sizes)[:, None]
        every = effects if apart_effects is None else np.concatenate([effects, apart_effects])
        points = []
        for k, (value, label, rows) in enumerate((*shown, *apart)):
            known = None if numbers is None or value is None else numbers[rows]
            low, high = (None if known is None else float(f(known)) for f in (np.min, np.max))
            points.append(
                EffectPoint(
                    *(value, label, low, high, len(rows)),
                    None if rates is None else tuple(rates[k].tolist()),
                    None if errors is None else tuple(errors[k].tolist()),
                    tuple(predictions[k].tolist()),
                    tuple((every[k] - center).tolist()),
                )
            )
        about = self.name, kind, self.classes
        curve, beside = tuple(points[: len(shown)]), tuple(points[len(shown) :])
        means = tuple(mean.tolist())
        return ColumnEffect(*about, curve, beside, means, rate, tuple(codes), n_left)

    def _means(self, groups: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean prediction of each group of rows, from samples of long ones."""
        if self.predicted is not None:
            return np.array([self.predicted[rows].mean(axis=0) for rows in groups])
        some = [evenly(rows, max(1, self.rows // len(groups))) for rows in groups]
        stops = np.cumsum([len(rows) for rows in some])[:-1]
        found = np.split(self.of(np.concatenate(some)), stops)
        return np.array([part.mean(axis=0) for part in found])

    def alike(self, pool: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Return distances (m, m) of rows in other columns, weighed by how they separate groups.

        ``group`` (m,) are the codes of the compared groups. A column counts by the share of its
        variance between the groups, less the share that chance makes.
        """
        features = np.column_stack(
            [np.zeros((len(pool), 0))]
            + [
                _encoded(self.frame.iloc[pool, place])
                for place in range(self.frame.shape[1])
                if place != self.place
            ]
        )
        features = features - features.mean(axis=0)
        size = np.bincount(group)
        size = size[size > 0]
        codes = np.unique(group, return_inverse=True)[1]
        means = np.zeros((len(size), features.shape[1]))
        np.add.at(means, codes, features)
        between = (means**2 / size[:, None]).sum(axis=0)
        total = np.maximum((features**2).sum(axis=0), 1e-12)
        chance = (len(size) - 1) / max(1, len(pool) - 1)
        weight = np.clip((between / total - 2 * chance) / max(1 - 2 * chance, 1e-12), 0, 1)
        scaled = features * np.sqrt(weight * len(pool) / total)
        return cdist(scaled, scaled)


def _of_numbers(moved: _Moved, kind: str, numbers: np.ndarray, bins: int) -> ColumnEffect | None:
    codes = _looks_like_gaps(numbers) if kind == "number" else []
    known = np.isfinite(numbers) & ~np.isin(numbers, codes)
    if not known.any():
        return None
    bin_of = np.full(len(numbers), -1)
    bin_of[known] = _bins(numbers[known], bins)
    groups = [np.flatnonzero(bin_of == k) for k in range(bin_of.max() + 1)]
    # The row in the middle of each bin gives its value.
    middle = [
        rows[np.argsort(numbers[rows], kind="stable")[(len(rows) - 1) // 2]] for rows in groups
    ]
    if len(groups) < 2:
        return None
    if len(np.unique(numbers[known])) <= _FEW_VALUES:
        # From one value to the next is far: only rows alike in the others may move.
        effects = _compared(moved, groups)
    else:
        effects = _accumulated(moved, numbers, groups, np.array(middle))
    digits = digits_of(float(numbers[known].min()), float(numbers[known].max()))
    words = day if kind == "date" else partial(cell, digits=digits)
    shown = [
        (float(numbers[row]), words(float(numbers[row])), rows)
        for row, rows in zip(middle, groups, strict=True)
    ]
    gaps = np.flatnonzero(~np.isfinite(numbers))
    apart: list[tuple[float | None, str, np.ndarray]] = [
        (code, value_words(code), np.flatnonzero(numbers == code)) for code in codes
    ]
    apart += [(None, "missing", gaps)] if len(gaps) >= _FEWEST_APART else []
    apart_effects = [
        _apart(moved, rows, np.flatnonzero(known), bin_of, np.array(middle), effects)
        for _, _, rows in apart
    ]
    of_apart = np.array(apart_effects) if apart else None
    return moved.effect(kind, shown, effects, apart, of_apart, codes, numbers)


def _bins(numbers: np.ndarray, most: int) -> np.ndarray:
    """Return the bin of each number: every distinct value, or about equally many rows each."""
    upper = np.unique(numbers)
    if len(upper) > most:
        shares = np.arange(1, most + 1) / most
        upper = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
    return np.searchsorted(upper, numbers)


def _accumulated(
    moved: _Moved, numbers: np.ndarray, groups: Sequence[np.ndarray], middle: np.ndarray
) -> np.ndarray:
    """Return accumulated local effects at the values of the rows in the middle of bins."""
    per_side = max(1, moved.rows // (2 * (len(groups) - 1)))
    rows, low, high, step = [], [], [], []
    for k in range(len(groups) - 1):
        below, above = groups[k], groups[k + 1]
        sides = (
            below[numbers[below] >= numbers[middle[k]]],
            above[numbers[above] <= numbers[middle[k + 1]]],
        )
        for side, between in enumerate(sides):
            some = evenly(between, per_side)
            rows.append(some)
            low.append(np.full(len(some), middle[k]))
            high.append(np.full(len(some), middle[k + 1]))
            step.append(np.full(len(some), 2 * k + side))
    rows, low, high, step = map(np.concatenate, (rows, low, high, step))
    found = moved.of(np.tile(rows, 2), np.concatenate([low, high]))
    change = found[len(rows) :] - found[: len(rows)]
    sums = np.zeros((2 * (len(groups) - 1), change.shape[1]))
    np.add.at(sums, step, change)
    sides = sums / np.bincount(step)[:, None]
    steps = (sides[::2] + sides[1::2]) / 2
    return np.concatenate([np.zeros((1, change.shape[1])), np.cumsum(steps, axis=0)])


def _apart(
    moved: _Moved,
    rows: np.ndarray,
    known: np.ndarray,
    bin_of: np.ndarray,
    middle: np.ndarray,
    effects: np.ndarray,
) -> np.ndarray:
    """Return the effect of a gap or a code, against the value of the nearest row with one."""
    some = evenly(rows, max(1, moved.rows // 10))
    pool = np.concatenate([some, evenly(known, moved.rows)])
    group = (np.arange(len(pool)) >= len(some)).astype(np.intp)
    distance = moved.alike(pool, group)[: len(some), len(some) :]
    near = np.argsort(distance, axis=1, kind="stable")[:, :_NEIGHBORS]
    bins = bin_of[pool[len(some) :][near]]
    wide = np.repeat(some, near.shape[1])
    other = moved.of(wide, middle[bins.ravel()])
    return (moved.of(wide) - other + effects[bins.ravel()]).mean(axis=0)


def _of_categories(moved: _Moved, values: Any, most: int) -> ColumnEffect | None:
    text = values.to_numpy(dtype=object)
    gaps = np.flatnonzero(values.isna().to_numpy())
    counts = values.dropna().value_counts(sort=False)
    order = np.argsort(-counts.to_numpy(), kind="stable")[:most]
    n_left = len(counts) - len(order)
    is_free = n_left > _MOST_LEFT and counts.max() < _LEAST_SHARE * len(values)
    if len(counts) < 2 or is_free:
        return None
    labels = [str(label) for label in counts.index[order]]
    shown = [(label, one_line(label), np.flatnonzero(text == label)) for label in labels]
    apart = [(None, "missing", gaps)] if len(gaps) >= _FEWEST_APART else []
    groups = [rows for _, _, rows in (*shown, *apart)]
    effects = _compared(moved, groups)
    return moved.effect(
        *("category", shown, effects[: len(shown)], apart, effects[len(shown) :]), n_left=n_left
    )


def _compared(moved: _Moved, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return effects of categories: the least-squares fit to differences of similar rows."""
    some = [evenly(rows, max(_CLOSEST, moved.rows // len(groups))) for rows in groups]
    group = np.repeat(np.arange(len(some)), [len(rows) for rows in some])
    pool = np.concatenate(some)
    # Of rows equally near, those that come first in this order count: no category before others.
    mixed = np.random.default_rng(0).permutation(len(pool))
    group, pool = group[mixed], pool[mixed]
    distance = moved.alike(pool, group)
    np.fill_diagonal(distance, np.inf)
    near = np.argsort(distance, axis=1, kind="stable")[:, :_NEIGHBORS]
    one = np.repeat(np.arange(len(pool)), near.shape[1])
    other = group[near.ravel()]
    is_pair = other != group[one]
    one, other = one[is_pair], other[is_pair]
    for k in np.setdiff1d(np.arange(len(groups)), [*group[one], *other]):
        own = np.flatnonzero(group == k)
        outside = np.where(group == k, np.inf, distance[own])
        closest = np.argsort(outside.min(axis=1), kind="stable")[:_CLOSEST]
        one = np.concatenate([one, own[closest]])
        other = np.concatenate([other, group[outside[closest].argmin(axis=1)]])
    pairs, weight = np.unique(np.column_stack([one, other]), axis=0, return_counts=True)
    one, other = pairs.T
    lends = np.array([rows[0] for rows in groups])
    change = moved.of(pool[one], lends[other]) - moved.of(pool)[one]
    own = group[one]
    laplacian = np.zeros((len(groups), len(groups)))
    sums = np.zeros((len(groups), change.shape[1]))
    for place, sign in ((other, 1), (own, -1)):
        np.add.at(laplacian, (place, place), weight)
        np.add.at(sums, place, sign * weight[:, None] * change)
    np.add.at(laplacian, (own, other), -weight)
    np.add.at(laplacian, (other, own), -weight)
    found: np.ndarray = np.linalg.lstsq(laplacian, sums, rcond=1e-10)[0]
    return found


def _looks_like_gaps(numbers: np.ndarray) -> list[float]:
    """Return values such as -1, 96 or 999 that repeat at an end of a column, far from the rest."""
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    is_code = np.array([value in _CODES for value in values], dtype=bool)
    rest = values[~is_code]
    if len(rest) < _FEWEST_REST or not is_code.any():
        return []
    low, high = np.quantile(np.repeat(rest, counts[~is_code]), [0.25, 0.75])
    far = max(high - low, np.ptp(rest) / 4)
    # Positive numbers have no place for -1; 0 need not be as far from them as 999, a million
    # farther.
    limits = {0.0: max(high - low, 3 * np.median(np.diff(rest)))}
    limits |= {-1.0: 0.0} if rest[0] >= 0 else {}
    limits |= dict.fromkeys((1e5, 1e6), 3 * np.ptp(rest))
    found = []
    # From the rest outwards: a value that is not far from it belongs to it.
    for side, end in ((values > rest[-1], rest[-1]), (values < rest[0], rest[0])):
        order = np.argsort(np.abs(values[side] - end), kind="stable")
        for value, count in zip(values[side][order], counts[side][order], strict=True):
            is_far = abs(value - end) > limits.get(float(value), far)
            if is_far and count >= _FEWEST_APART:
                found.append(float(value))
            elif not is_far:
                end = value
    return sorted(found)


def _encoded(values: Any) -> np.ndarray:
    """Return a column as numbers (n, q) for comparing rows: ranks, or its commonest categories."""
    if getattr(values.dtype, "kind", "O") == "M":
        values = values.astype("int64").where(values.notna()).astype(np.float64)
    if getattr(values.dtype, "kind", "O") in "iuf":
        ranks = values.rank(pct=True)
        found = ranks.fillna(0.5).to_numpy(dtype=np.float64)
        gaps = values.isna().to_numpy(dtype=np.float64)
        return np.column_stack([found, gaps]) if gaps.any() else found[:, None]
    text = values.astype(str).to_numpy(dtype=object)
    labels, counts = np.unique(text, return_counts=True)
    common = labels[np.argsort(-counts, kind="stable")[:_MOST_ENCODED]]
    return (text[:, None] == common).astype(np.float64)


def _as_days(values: Any) -> np.ndarray:
    """Return dates as days since 1970; NaN where there is none."""
    import pandas as pd

    times = pd.to_datetime(values, errors="coerce", utc=True, format="mixed")
    days = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / 86_400
    return days.to_numpy(np.float64)
