"""Views of a table: their columns, the rows that have them, and the members that learn from them.

Shapes: ``n`` rows, ``D`` columns, ``V`` views, ``C`` classes. How views teach each other is in
`covey._core.fusion.views`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from numbers import Integral, Number
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows
from covey._core.fusion.views import class_quotas, co_em, co_train
from covey._core.limits import SQUARABLE
from covey._core.random import Purpose, UniformRows
from covey._models import classifies, fit_member, requesting_weights, weight_parameters, with_seeds
from covey._validation import check_labels
from covey.fusers import Predictions
from covey.fusers._outputs import member_output
from covey.fusers._predictions import align_classes
from covey.members._ranges import check_range
from covey.tables._columns import chosen_columns, label_of

# scikit-learn's MaxAbsScaler takes a column for zeros if nothing in it is as large as this.
_SMALLEST_SPARSE = 10 * float(np.finfo(np.float64).eps)


# -- columns ------------------------------------------------------------------------------------


def find_views(views: Any, X: Any, names: np.ndarray | None, seed: int) -> dict[str, np.ndarray]:
    """The views that a user asks for, from their names to column positions."""
    if isinstance(views, Integral) and not isinstance(views, bool):
        return _dealt(int(views), X.shape[1], seed)
    if not isinstance(views, Mapping | list | tuple):
        raise TypeError(
            "views must be a dict from names to columns, a list of such columns, or a number of "
            f"views, got {views!r}."
        )
    if not isinstance(views, Mapping):
        views = {f"view {k}": columns for k, columns in enumerate(views, start=1)}
    if not views:
        raise ValueError("views is empty; give at least one view.")
    found: dict[str, np.ndarray] = {}
    for view, columns in views.items():
        if not isinstance(view, str):
            raise TypeError(f"views must be named by str, got {view!r}.")
        which = f"The view {view!r}"
        positions = chosen_columns(columns, which, X, names)
        if not positions:
            raise ValueError(f"{which} is empty; give it a column, or leave it out.")
        for place, position in enumerate(positions):
            if position in positions[:place]:
                raise ValueError(f"{which} names column {label_of(position, names)} twice.")
        found[view] = np.array(positions)
    return found


def _dealt(n_views: int, n_features: int, seed: int) -> dict[str, np.ndarray]:
    """All columns, dealt out to views like cards."""
    if n_views < 1:
        raise ValueError(f"views must be at least 1, got {n_views}.")
    if n_views > n_features:
        raise ValueError(
            f"views={n_views} asks for {n_views} disjoint views, but X has {n_features} "
            "feature(s); ask for fewer views."
        )
    draws = UniformRows(seed, Purpose.START, 0, 0, 1).read(0, n_features)[:, 0]
    order = np.argsort(draws, kind="stable")
    dealt = [np.sort(order[view::n_views]) for view in range(n_views)]
    dealt.sort(key=lambda columns: columns[0])
    return {f"view {k}": columns for k, columns in enumerate(dealt, start=1)}


# -- missing values -----------------------------------------------------------------------------


def missing_values(X: Any) -> np.ndarray | None:
    """Return where a table has no value, (n, D) bool; None if it has all of them."""
    if hasattr(X, "tocsr"):
        entries = X.tocoo()
        lost = np.isnan(entries.data)
        if not lost.any():
            return None
        missing = np.zeros(X.shape, dtype=bool)
        missing[entries.row[lost], entries.col[lost]] = True
    elif hasattr(X, "isna"):
        missing = X.isna().to_numpy(dtype=bool)
    elif isinstance(X, np.ndarray):
        missing = X != X
    else:
        columns = (np.asarray(X[:, column]) for column in range(X.shape[1]))
        missing = np.stack([missing_entries(column) for column in columns], axis=1)
    return missing if missing.any() else None


def missing_entries(values: np.ndarray) -> np.ndarray:
    """Return where an array holds nothing: None, NaN or pandas' NA."""
    if values.dtype.kind != "O":
        return values != values
    return np.array([_is_missing(value) for value in values], dtype=bool)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True  # pandas' NA compares to NA, which is neither true nor false


def rows_with_views(X: Any, views: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which rows have which view, (n, V): one is absent where all its columns are missing."""
    missing = missing_values(X)
    if missing is None:
        return np.ones((X.shape[0], len(views)), dtype=bool)
    return np.stack([~missing[:, columns].all(axis=1) for columns in views.values()], axis=1)


def column_means(X: Any, weight: np.ndarray) -> np.ndarray:
    """The weighted means of columns that are numbers, for fusers that use X."""
    if hasattr(X, "tocsr"):
        lost, filled = X.copy(), X.copy()
        lost.data = np.isnan(X.data)
        filled.data = np.where(lost.data, 0.0, X.data)
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return np.zeros(X.shape[1])  # the fuser will refuse these columns by itself
        lost = np.isnan(X)
        filled = np.where(lost, 0.0, X)
    total, remaining = weight @ filled, weight.sum() - weight @ lost
    return np.divide(total, remaining, out=np.zeros_like(total), where=remaining > 0)


def fill_missing(X: Any, means: np.ndarray) -> Any:
    """A table of numbers with the means of the columns where it has no value."""
    missing = missing_values(X)
    if missing is None:
        return X
    if hasattr(X, "tocsr"):
        X = X.copy()
        X.data = np.where(np.isnan(X.data), means[X.indices], X.data)
        return X
    return np.where(missing, means, np.asarray(X, dtype=np.float64))


# -- labels of which some are not known ---------------------------------------------------------


def labelled_rows(y: np.ndarray, unlabeled_label: Any) -> np.ndarray:
    """Return which rows have a label, (n,) bool."""
    unlabelled = missing = missing_entries(y)
    if unlabeled_label is None or not _is_missing(unlabeled_label):
        if y.dtype.kind == "O" and missing.any():
            raise ValueError(
                f"y holds no label (None or NaN) in row {int(np.argmax(missing))}; give it "
                "one, or say unlabeled_label=float('nan') to learn from such rows without."
            )
        unlabelled = False if unlabeled_label is None else y == unlabeled_label
    # NumPy makes strings of numbers that stand among strings.
    other_kind, written = not isinstance(unlabeled_label, str | None), str(unlabeled_label)
    if other_kind and any(isinstance(label, str) and label == written for label in y):
        raise ValueError(
            f"unlabeled_label={unlabeled_label!r} is no string, but y holds strings, "
            f"{written!r} among them; use unlabeled_label={written!r}."
        )
    labelled = ~np.broadcast_to(unlabelled, y.shape)
    if not labelled.any():
        raise ValueError(
            f"y holds no label at all: every entry is unlabeled_label={unlabeled_label!r}."
        )
    return labelled


def encode_known(
    y: np.ndarray, labelled: np.ndarray, weight: np.ndarray, owner: str
) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the labels as positions in them, -1 where there is none."""
    labels = y[labelled]
    if all(isinstance(label, Number | np.generic) for label in labels):
        # Numbers that stood among None or NA are objects.
        labels = np.array(labels.tolist())
    check_labels(labels)
    classes, known = np.unique(labels, return_inverse=True)
    codes = np.full(len(y), -1)
    codes[labelled] = known
    counted = np.unique(known[weight[labelled] > 0])
    if len(counted) < 2:
        weighted = "" if len(classes) < 2 else " whose sample_weight is above 0"
        raise ValueError(
            f"{owner} needs labelled samples of at least 2 classes in y"
            f"{weighted}, got {len(counted)} class: {classes[counted].tolist()}."
        )
    return classes, codes


# -- unfitted members ---------------------------------------------------------------------------


def members_by_view(
    given: Any, views: Iterable[str], *, sparse: bool, seed: int
) -> dict[str, list]:
    """The unfitted members of each view; those without a seed get one."""
    if given is None:
        given = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            MaxAbsScaler() if sparse else requesting_weights(StandardScaler()),
            requesting_weights(LogisticRegression(max_iter=1000)),
        )
    if not isinstance(given, Mapping):
        given = dict.fromkeys(views, given)
    problems = [f"names {name!r}" for name in given if name not in views]
    problems += [f"lacks {name!r}" for name in views if name not in given]
    if problems:
        raise ValueError(
            f"estimator {problems[0]}; it must have members for each of the views "
            f"{', '.join(map(repr, views))}."
        )
    found: dict[str, list] = {}
    numbers = count()
    for view in views:
        members = given[view] if isinstance(given[view], list | tuple) else [given[view]]
        if not members:
            raise ValueError(f"estimator has no member for the view {view!r}.")
        for member in members:
            if not classifies(member):
                raise ValueError(
                    f"estimator must be classifiers, but for the view {view!r} it has {member!r}."
                )
            states = np.random.SeedSequence([seed, next(numbers)]).generate_state
            found.setdefault(view, []).append(
                with_seeds(member, lambda n, made=states: made(n) % 2**31, unset=True)
            )
    return found


def check_default_range(X: Any, names: np.ndarray | None, views: Mapping[str, Any]) -> None:
    """Refuse columns that the default member cannot scale."""
    smallest, largest, reader = 1 / SQUARABLE, SQUARABLE, "the default member, which squares them,"
    if hasattr(X, "tocsr"):
        smallest, largest = _SMALLEST_SPARSE, np.inf
        reader = "the default member of sparse rows"
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return  # the members will refuse these columns by themselves
    columns = np.concatenate(list(views.values()))
    check_range(X, names, smallest=smallest, largest=largest, reader=reader, columns=columns)


def member_names(members_by_view: Mapping[str, list]) -> tuple[list[str], list[str]]:
    """Names of the members, and of their views."""
    names, owners = [], []
    for view, members in members_by_view.items():
        alone = len(members) == 1
        names += [view] if alone else [f"{view} {k}" for k in range(1, len(members) + 1)]
        owners += [view] * len(members)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Two members would be called {twice!r}; give the views names that differ by more "
            "than a number."
        )
    return names, owners


def check_members(
    members: Mapping[str, list], method: str, weighted: bool, unlabeled_weight: float
) -> None:
    """Refuse members that cannot be used by the method that unlabelled rows are used by."""
    teaches = method != "supervised"
    if teaches and len(members) < 2:
        raise ValueError(
            f"method={method!r} lets views teach each other and needs two or more, got one view; "
            "use method='supervised', or more views."
        )
    why = ""
    if not weighted:
        needed = f"unlabeled_weight={unlabeled_weight} needs; use 1"
        why = ", which co-EM needs" if method == "co_em" else f", which {needed}"
    every = (member for view in members.values() for member in view)
    for name, member in zip(member_names(members)[0], every, strict=True):
        if teaches and not hasattr(member, "predict_proba"):
            raise ValueError(
                f"method={method!r} compares how sure views are, but the member {name!r} has "
                "no predict_proba; calibrate it, or use method='supervised'."
            )
        if weighted or method == "co_em" or (teaches and unlabeled_weight != 1):
            try:
                weight_parameters(member, name, np.ones(1))
            except TypeError as error:
                raise TypeError(f"{str(error).rstrip('.')}{why}.") from None


def takes_nan(member: Any) -> bool:
    """Return whether missing values pass through a classifier, or are imputed in a pipeline."""
    if not isinstance(member, Pipeline):
        return get_tags(member).input_tags.allow_nan
    for _, step in member.steps:
        if step is not None and not isinstance(step, str):
            if not takes_nan(step):
                return False
            if type(step).__module__.startswith("sklearn.impute"):
                break
    return True


# -- members that learn -------------------------------------------------------------------------


@dataclass
class ViewTrainingSet:
    """The rows that views learn from, and the members that have learnt from them.

    ``model`` has the parameters that say how views teach each other; ``method`` is its method,
    or "supervised" if there is nothing to teach.
    """

    model: Any
    method: str
    X: list  # one table a view
    codes: np.ndarray  # (n,), -1 where there is no label
    present: np.ndarray  # (n, V), bool
    weight: np.ndarray  # (n,)
    classes: np.ndarray
    members: dict[str, list]  # the unfitted members of each view
    turn: np.ndarray  # in which co-training takes rows into its pool

    def __post_init__(self) -> None:
        self.fitted: list[list] = [[None] * len(members) for members in self.members.values()]

    def check_classes(self, rows: np.ndarray) -> None:
        """Refuse views whose members would see fewer than two classes."""
        for view, seen in zip(self.members, self._classes_seen(rows), strict=True):
            if len(seen) < 2:
                raise ValueError(
                    f"The view {view!r} has labelled rows of {len(seen)} class(es), "
                    f"{self.classes[seen].tolist()}, where it is not absent; it needs two."
                )

    def without_poor_views(self, rows: np.ndarray) -> Self:
        """The same rows; views that see fewer than two classes in some of them are absent."""
        poor = np.array([len(seen) < 2 for seen in self._classes_seen(rows)])
        return replace(self, present=self.present & ~poor) if poor.any() else self

    def _classes_seen(self, rows: np.ndarray) -> list[np.ndarray]:
        return [np.unique(self.codes[rows][present]) for present in self.present[rows].T]

    def fit(self, rows: np.ndarray) -> tuple[list[list], int]:
        """Members of each view, fitted on some rows, and how many rounds it took."""
        model, codes = self.model, self.codes[rows]
        part = replace(
            self,
            X=self.X if len(rows) == len(self.codes) else [take_rows(one, rows) for one in self.X],
            codes=codes,
            present=self.present[rows],
            weight=self.weight[rows] * np.where(codes < 0, model.unlabeled_weight, 1.0),
        )
        known = (part._fit_view, codes, part.present, part.weight)
        rounds, agree, n_iter = model.max_iter, bool(model.agree), 1
        if self.method == "supervised":
            hard = [np.flatnonzero((codes >= 0) & present) for present in part.present.T]
            part._fit_members(
                [(v, own, codes[own], part.weight[own]) for v, own in enumerate(hard)]
            )
        elif self.method == "co_em":
            _, n_iter = co_em(*known, len(self.classes), rounds, model.tol, agree)
        else:
            hard, unlabelled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
            frequency = np.bincount(codes[hard], part.weight[hard], len(self.classes))
            share = isinstance(model.n_per_round, float | np.floating)
            quota = class_quotas(frequency, model.n_per_round * (len(unlabelled) if share else 1))
            order = unlabelled[np.argsort(self.turn[rows][unlabelled], kind="stable")]
            _, n_iter = co_train(*known, quota, order, model.pool_size, rounds, agree)
        return part.fitted, n_iter

    def _fit_members(self, tasks: list[tuple]) -> None:
        """Fit the members of views, given (view, rows, codes, weight); those without rows not."""
        views = list(self.members)
        # Rows that count alike need no weights, and not every member takes them.
        equal = all((weight == 1).all() for *_, weight in tasks)
        parts = [
            (view, number, member, rows, codes, None if equal else weight)
            for view, rows, codes, weight in tasks
            for number, member in enumerate(self.members[views[view]])
            if len(rows)
        ]
        fitted = Parallel(n_jobs=self.model.n_jobs)(
            delayed(_fit)(
                member, views[view], take_rows(self.X[view], rows), self.classes[y], weight
            )
            for view, _, member, rows, y, weight in parts
        )
        for (view, number, *_), member in zip(parts, fitted, strict=True):
            self.fitted[view][number] = member

    def _fit_view(
        self, view: int, rows: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Fit a view's members; the mean of what they predict of unlabelled rows, (n, C)."""
        predicted = np.zeros((len(self.codes), len(self.classes)))
        self._fit_members([(view, rows, codes, weight)])
        unlabelled = np.flatnonzero((self.codes < 0) & self.present[:, view])
        if len(rows) and len(unlabelled):
            table, name = take_rows(self.X[view], unlabelled), list(self.members)[view]
            for member in self.fitted[view]:
                with explaining(table, name):
                    output = np.asarray(member.predict_proba(table))
                predicted[unlabelled] += align_classes(output, member.classes_, self.classes)[0]
            predicted /= len(self.fitted[view])
        return predicted


def _fit(unfitted: Any, view: str, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    """A fitted copy; all steps of a pipeline get the weights, if they take any."""
    member, routed = clone(unfitted), get_config()["enable_metadata_routing"]
    with explaining(X, view):
        if weight is None or routed or not isinstance(member, Pipeline):
            return fit_member(member, view, X, y, weight)
        taking = [
            f"{name}__sample_weight"
            for name, step in member.steps
            if hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")
        ]
        return member.fit(X, y, **dict.fromkeys(taking, weight))


def predict_views(
    fitted: Mapping[str, list], X: list, present: np.ndarray, classes: np.ndarray, kind: str
) -> Predictions:
    """Return what the members of each view predict of the rows that have it, ``present`` (n, V).

    A member that is None was not fitted, and is not available.
    """
    names, owners = member_names(fitted)
    n_rows, n_members, n_classes = len(present), len(names), len(classes)
    values = np.full((n_rows, n_members, n_classes), 1.0 / n_classes)
    if kind == "label":
        values = np.zeros((n_rows, n_members), dtype=int)
    available = np.zeros((n_rows, n_members), dtype=bool)
    seen = np.ones((n_members, n_classes), dtype=bool)
    position = {view: number for number, view in enumerate(fitted)}
    members = [member for view in fitted.values() for member in view]
    for k, (view, member) in enumerate(zip(owners, members, strict=True)):
        rows = np.flatnonzero(present[:, position[view]])
        if member is None or not len(rows):
            continue
        table, available[rows, k] = take_rows(X[position[view]], rows), True
        with explaining(table, view):
            values[rows, k], seen[k] = member_output(member, table, classes, kind, view)
    known = None if available.all() else available
    seen = None if kind == "label" or seen.all() else seen
    values = classes[values] if kind == "label" else values
    P = Predictions(values, classes, names, kind, available=known, seen=seen)
    P.check_probabilities()
    return P


@contextmanager
def explaining(table: Any, view: str) -> Iterator[None]:
    """Name the view in a member's error and, if it is about a missing value, the column."""
    try:
        yield
    except ValueError as error:
        missing = missing_values(table)
        if missing is None or "NaN" not in str(error):
            raise ValueError(
                f"A member of the view {view!r} cannot work with these rows: {error}"
            ) from error
        names, column = getattr(table, "columns", None), int(missing.any(axis=0).argmax())
        owner = "its column" if names is None else "column"
        label = label_of(column, None if names is None else list(names))
        raise ValueError(
            f"The view {view!r} holds NaN in {owner} {label}, but not in all of its columns, and "
            "a member of it takes no NaN; impute it first (a Pipeline), or set the whole view to "
            "NaN where it is absent."
        ) from error


def split_labelled(
    cv: Any, X: Any, y: np.ndarray, rows: np.ndarray, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a splitter of all rows of X, of which only labelled rows are kept."""
    splits = check_cv(cv, y, classifier=True).split(X, y, groups)
    folds = [(np.intersect1d(train, rows), np.intersect1d(test, rows)) for train, test in splits]
    folds = [(train, test) for train, test in folds if len(train) and len(test)]
    if not folds:
        raise ValueError("cv holds out no labelled row from which to learn the fusion.")
    return folds


# -- views that cost ----------------------------------------------------------------------------


def checked_costs(costs: Any, views: list[str]) -> np.ndarray:
    """The cost of each view, (V,), by a mapping from names or one number a view."""
    if isinstance(costs, Mapping):
        strange = [name for name in costs if name not in views]
        absent = [name for name in views if name not in costs]
        if strange:
            raise ValueError(
                f"view_cost names the view {strange[0]!r}, which there is not; the views are "
                f"{', '.join(map(repr, views))}."
            )
        if absent:
            raise ValueError(f"view_cost has no cost of the view {absent[0]!r}; give one.")
        costs = [costs[name] for name in views]
    try:
        found = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(views),) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            f"view_cost must hold a number from 0 on for each of the {len(views)} views, got "
            f"{costs!r}."
        )
    return found
