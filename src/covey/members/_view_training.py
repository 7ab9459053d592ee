"""The rows that views learn from, and how any classifier is fitted on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows
from covey._core.fusion.views import class_quotas, co_em, co_train
from covey._models import fit_member
from covey.fusers import Predictions, align_classes, member_output
from covey.members._view_columns import label_of, missing_values
from covey.members._view_members import member_names


@dataclass
class Teaching:
    """How views use unlabelled rows, as the user wishes: see `MultiviewClassifier`."""

    method: str
    agree: bool
    n_per_round: float
    pool_size: int | None
    unlabeled_weight: float
    max_iter: int
    tol: float
    # All unlabelled rows, in the order in which co-training takes them into its pool.
    order: np.ndarray


@dataclass
class ViewTrainingSet:
    """The rows that views learn from, and the members that have learnt from them."""

    X: list  # one table a view
    codes: np.ndarray  # (n,), -1 where there is no label
    present: np.ndarray  # (n, V), bool
    weight: np.ndarray  # (n,)
    classes: np.ndarray
    views: list[str]
    members: list[list]  # the unfitted members of each view
    n_jobs: int | None = None
    fitted: list[list] = field(init=False)

    def __post_init__(self) -> None:
        self.fitted = [[None] * len(members) for members in self.members]

    def check_classes(self, rows: np.ndarray) -> None:
        """Refuse views whose members would see fewer than two classes."""
        for position, view in enumerate(self.views):
            seen = np.unique(self.codes[rows & self.present[:, position]])
            if len(seen) < 2:
                raise ValueError(
                    f"The view {view!r} has labelled rows of {len(seen)} class(es), "
                    f"{self.classes[seen].tolist()}, where it is not absent; it needs two."
                )

    def without_poor_views(self, rows: np.ndarray) -> Self:
        """The same rows; views that see fewer than two classes in some of them are absent."""
        poor = [
            len(np.unique(self.codes[rows][self.present[rows, position]])) < 2
            for position in range(len(self.views))
        ]
        return replace(self, present=self.present & ~np.array(poor)) if any(poor) else self

    def fit(self, rows: np.ndarray, teaching: Teaching) -> tuple[list[list], int]:
        """Members of each view, fitted on some rows, and how many rounds it took."""
        part = self._of_rows(rows, teaching.unlabeled_weight)
        if teaching.method == "supervised":
            part._fit_labelled()
            return part.fitted, 1
        agree = bool(teaching.agree)
        if teaching.method == "co_em":
            _, n_iter = co_em(
                part._fit_view,
                part.codes,
                part.present,
                part.weight,
                len(self.classes),
                teaching.max_iter,
                teaching.tol,
                agree,
            )
            return part.fitted, n_iter
        unlabelled = part.codes < 0
        frequency = np.bincount(
            part.codes[~unlabelled], part.weight[~unlabelled], len(self.classes)
        )
        count = teaching.n_per_round
        if isinstance(count, float | np.floating):
            count = count * unlabelled.sum()
        _, n_iter = co_train(
            part._fit_view,
            part.codes,
            part.present,
            part.weight,
            class_quotas(frequency, count),
            # Positions among the rows of this part.
            np.searchsorted(rows, teaching.order[np.isin(teaching.order, rows)]),
            teaching.pool_size,
            teaching.max_iter,
            agree,
        )
        return part.fitted, n_iter

    def _of_rows(self, rows: np.ndarray, unlabeled_weight: float) -> Self:
        """Some rows, of which those without a label weigh less (or more)."""
        whole = len(rows) == len(self.codes)
        codes = self.codes[rows]
        return replace(
            self,
            X=self.X if whole else [take_rows(view, rows) for view in self.X],
            codes=codes,
            present=self.present[rows],
            weight=self.weight[rows] * np.where(codes < 0, unlabeled_weight, 1.0),
        )

    def _fit_labelled(self) -> None:
        """Fit every view on its labelled rows."""
        # Rows that count alike need no weights, and not every member takes them.
        weight = None if (self.weight == 1).all() else self.weight
        tasks = []
        for position, members in enumerate(self.members):
            rows = np.flatnonzero((self.codes >= 0) & self.present[:, position])
            if len(rows):
                tasks += [(position, number, rows) for number in range(len(members))]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(
                self.members[position][number],
                self.views[position],
                take_rows(self.X[position], rows),
                self.classes[self.codes[rows]],
                None if weight is None else weight[rows],
            )
            for position, number, rows in tasks
        )
        for (position, number, _), member in zip(tasks, fitted, strict=True):
            self.fitted[position][number] = member

    def _fit_view(
        self, position: int, rows: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Fit a view's members; the mean of what they predict of unlabelled rows, (n, C)."""
        predicted = np.zeros((len(self.codes), len(self.classes)))
        if not len(rows):
            return predicted
        table, labels = take_rows(self.X[position], rows), self.classes[codes]
        equal = (weight == 1).all()
        self.fitted[position] = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(member, self.views[position], table, labels, None if equal else weight)
            for member in self.members[position]
        )
        unlabelled = np.flatnonzero((self.codes < 0) & self.present[:, position])
        if len(unlabelled):
            table = take_rows(self.X[position], unlabelled)
            for member in self.fitted[position]:
                try:
                    output = np.asarray(member.predict_proba(table))
                except ValueError as error:
                    raise explained(error, table, self.views[position]) from error
                predicted[unlabelled] += align_classes(output, member.classes_, self.classes)[0]
            predicted /= len(self.fitted[position])
        return predicted


def predict_views(
    names: list[str],
    fitted: list[list],
    X: list,
    present: np.ndarray,
    classes: np.ndarray,
    kind: str,
) -> Predictions:
    """What the members of each of V views predict of the rows that have it, ``present`` (n, V).

    A member that is None was not fitted, and is not available.
    """
    n_rows, n_classes = len(present), len(classes)
    values, available, seen = [], [], []
    for position, members in enumerate(fitted):
        rows = np.flatnonzero(present[:, position])
        table = take_rows(X[position], rows)
        for member in members:
            predicts = np.zeros(n_rows, dtype=bool)
            predicted = (
                np.zeros(n_rows, dtype=int)
                if kind == "label"
                else np.full((n_rows, n_classes), 1.0 / n_classes)
            )
            known = np.ones(n_classes, dtype=bool)
            if member is not None and len(rows):
                predicts[rows] = True
                try:
                    predicted[rows], known = member_output(
                        member, table, classes, kind, names[position]
                    )
                except ValueError as error:
                    raise explained(error, table, names[position]) from error
            values.append(predicted)
            available.append(predicts)
            seen.append(known)
    values, seen = np.stack(values, axis=1), np.stack(seen)
    P = Predictions(
        classes[values] if kind == "label" else values,
        classes,
        member_names(dict(zip(names, fitted, strict=True)))[0],
        kind,
        available=None if np.all(available) else np.stack(available, axis=1),
        seen=None if kind == "label" or seen.all() else seen,
    )
    P.check_probabilities()
    return P


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


def _fit(unfitted: Any, view: str, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    """A fitted copy; all steps of a pipeline get the weights, if they take any."""
    member = clone(unfitted)
    try:
        if (
            weight is None
            or not isinstance(member, Pipeline)
            or get_config()["enable_metadata_routing"]
        ):
            return fit_member(member, view, X, y, weight)
        weighted = [
            name
            for name, step in member.steps
            if hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")
        ]
        member.fit(X, y, **{f"{name}__sample_weight": weight for name in weighted})
        return member
    except ValueError as error:
        raise explained(error, X, view) from error


def explained(error: ValueError, table: Any, view: str) -> ValueError:
    """A member's error with the view's name and, if it is a missing value, the column."""
    missing = missing_values(table)
    if missing is None or "NaN" not in str(error):
        return ValueError(f"A member of the view {view!r} cannot work with these rows: {error}")
    names = getattr(table, "columns", None)
    column = int(missing.any(axis=0).argmax())
    label = f"its column {column}" if names is None else f"column {label_of(column, list(names))}"
    return ValueError(
        f"The view {view!r} holds NaN in {label}, but not in all of its columns, and a member of "
        "it takes no NaN; impute it first (a Pipeline), or set the whole view to NaN where it is "
        "absent."
    )
