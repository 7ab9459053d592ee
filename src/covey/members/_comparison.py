"""Models of several kinds, compared one after another on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from covey._blocks import take_rows
from covey._core.blocks import in_order
from covey._models import fit_member, fit_on_rows, weight_parameters
from covey.members._linear_search import Progress, is_interactive
from covey.members._member_kinds import (
    LINEAR,
    TableFacts,
    as_given,
    made,
    member_prediction,
    suits,
)
from covey.members._mixing import Clock, Library
from covey.members._prepared_fit import PreparedFit

# The share of a time limit after which no candidate is begun: what is kept is fitted once more.
SHARE_OF_SEARCH = 0.75
# Fits of fewer rows take one thread each; more threads would wait for each other.
_FEW_ROWS = 10_000


class _OutOfTimeError(Exception):
    """Raised when the time of a fit is over while a candidate is compared."""


class KindComparison:
    """A comparison of the members that a flock may have beside linear ones, and their fits.

    ``library`` has the folds, and the linear members if there are any.
    """

    def __init__(self, fit: PreparedFit, library: Library, clock: Clock, says: Progress) -> None:
        self._fit, self._rows, self._library = fit, fit.rows, library
        self._clock, self._says = clock, says
        self._models: dict[str, Any] = {}
        #: The models of the folds by name, if no checkpoint keeps their predictions.
        self.on_folds: dict[str, list[Any]] = {}
        # Only once: looking for the libraries takes longer than the fit of a small model.
        self._threads = ThreadpoolController()

    def run(self, wanted: dict[str, Any], table: TableFacts, *, as_far_as_they_suit: bool) -> None:
        """Add the wanted kinds to the library.

        With ``as_far_as_they_suit``, kinds that do not suit the table are left out.
        """
        library, journal = self._library, self._fit.journal
        suited = [
            name
            for name, kind in wanted.items()
            if name != LINEAR and not (as_far_as_they_suit and not suits(kind, table))
        ]
        for number, name in enumerate(suited):
            kind = wanted[name]
            is_late = self._clock.is_late(SHARE_OF_SEARCH)
            if library.names and self._clock.as_before(is_late):
                self._says.begin(
                    "most of the time is over, not tried: " + ", ".join(suited[number:])
                )
                return
            self._says.begin(f"{name}, on {len(library.held_out.folds)} folds")
            model = made(kind, table)
            try:
                found, seconds = self._on_folds(
                    name, model, may_fail=as_far_as_they_suit and bool(library.names)
                )
            except KeyboardInterrupt:
                if not (library.names and journal is None and is_interactive()):
                    raise
                warnings.warn(
                    f"Interrupted: the flock is the best of {', '.join(library.names)}, which "
                    "were compared. Interrupt once more to have none.",
                    UserWarning,
                    stacklevel=6,
                )
                return
            if isinstance(found, str):
                self._says.begin(f"{name} is left out: {found}")
                continue
            library.add(name, found, seconds)
            self._models[name] = model
            if self._says.is_wanted:  # a scorer may take long
                self._says.begin(library.told(name))

    def weights(self) -> np.ndarray:
        """Return the weight of each candidate, (M,): zero without time to fit it on all rows."""
        without: set[str] = set()
        while True:
            shares = self._library.weights(without)
            slowest = self._slowest(shares)
            if slowest is None:
                return shares
            self._says.begin(f"no time is left to fit {slowest} on all rows")
            without.add(slowest)

    def _slowest(self, shares: np.ndarray) -> str | None:
        """Return the weighted model that takes longest on all rows, if time is short."""
        kept = [name for name, share in zip(self._library.names, shares, strict=True) if share > 0]
        expected = {name: self._expected(name) for name in kept if name in self._models}
        if len(kept) < 2 or not expected:
            return None
        is_short = not self._clock.leaves(sum(expected.values()))
        return max(expected, key=expected.__getitem__) if self._clock.as_before(is_short) else None

    def _expected(self, name: str) -> float:
        """Return how many seconds a model will take on all rows, by what it took on the folds."""
        folds = self._library.held_out.folds
        n_fitted = sum(len(train) for train, _ in folds)
        return self._library.seconds[name] * np.count_nonzero(self._rows.weight) / n_fitted

    def fitted(self, name: str) -> Any:
        """Return a model that is fitted on all rows."""
        rows = self._rows
        used = np.flatnonzero(rows.weight)
        X, weight = as_given(self._fit.table.given_columns, rows.X, name), rows.weight[used]
        with self._quietly(len(used)):
            try:
                return fit_member(
                    self._models[name],
                    name,
                    X if len(used) == len(rows.y) else take_rows(X, used),
                    rows.y[used],
                    weight if np.ptp(weight) > 0 else None,
                )
            except Exception as error:
                error.add_note(f"It was raised by the member {name!r}, fitted on all rows.")
                raise

    def _on_folds(
        self, name: str, model: Any, *, may_fail: bool
    ) -> tuple[np.ndarray | str, float]:
        """Return what `_cross_predicted` gives, or why a model is left out, and its seconds.

        A checkpoint keeps all of it: the slowest model must not depend on when a fit was resumed.
        """
        journal = self._fit.journal
        task = None if journal is None else journal.begin()
        if task is not None and task.result is not None:
            kept = task.result
            known = str(kept["left_out"]) if "left_out" in kept else kept["predicted"]
            return known, float(kept["seconds"])
        found: np.ndarray | str
        before = self._clock.seconds()
        try:
            found = self._cross_predicted(name, model)
        except _OutOfTimeError:
            found = "the time is over"
        except ValueError as error:
            # A class of one row cannot be calibrated, for example.
            if not may_fail:
                raise
            found = str(error)
        seconds = self._clock.seconds() - before
        if task is not None:
            what = "left_out" if isinstance(found, str) else "predicted"
            task.finish({what: np.asarray(found), "seconds": np.array(seconds)})
        return found, seconds

    def _cross_predicted(self, name: str, model: Any) -> np.ndarray:
        """Return a model's predictions of the rows that each fold holds out, one after the other.

        If folds are drawn repeatedly, a model without a gain on the first of them is not fitted on
        the others.
        """
        held_out, y = self._library.held_out, self._rows.y
        X = as_given(self._fit.table.given_columns, self._rows.X, name)

        def of_fold(number: int) -> tuple[Any, np.ndarray]:
            if self._library.names and self._clock.is_late(1.0):
                raise _OutOfTimeError
            train, test = held_out.folds[number]
            with self._quietly(len(train)):
                weights = self._weights(name, model, train)
                fitted = fit_on_rows(model, name, X, y, weights, train, number + 1)
                predicted = member_prediction(self._fit.target, name, fitted, take_rows(X, test))
                return fitted, predicted

        parts: list[np.ndarray] = []
        models: list[Any] = []
        for folds in held_out.repeats:
            found = self._side_by_side(of_fold, folds)
            models += [fitted for fitted, _ in found]
            parts += [predicted for _, predicted in found]
            if not self._library.may_gain(np.concatenate(parts)):
                break
        if self._fit.journal is None:
            self.on_folds[name] = models
        return np.concatenate(parts)

    def _weights(self, name: str, model: Any, train: np.ndarray) -> dict[str, np.ndarray]:
        """Return the weights of a fold's rows in the form that a model takes."""
        weight = self._library.held_out.weight
        if np.ptp(weight[train]) == 0:
            return {}
        try:
            return weight_parameters(model, name, weight)
        except TypeError:
            # In a long table more rows of small classes are sampled, and each counts for less. If
            # the user gave no weights, that is no reason to refuse a model that takes none.
            given = self._rows.weight
            if np.ptp(given[given > 0]) > 0:
                raise
            return {}

    @contextmanager
    def _quietly(self, n_rows: int) -> Iterator[None]:
        """Let a fit on few rows have one thread of OpenMP: more would wait for each other.

        A thread of joblib does not inherit the settings about overflows.
        """
        with np.errstate(all="ignore"):
            if n_rows >= _FEW_ROWS:
                yield
                return
            with self._threads.limit(limits=1, user_api="openmp"):
                yield

    def _side_by_side(self, function: Callable[[int], Any], items: range) -> list[Any]:
        n_jobs = self._fit.flock.n_jobs
        if n_jobs is None:
            return list(in_order(function, items))
        jobs = Parallel(n_jobs=n_jobs, require="sharedmem")
        return list(jobs(delayed(function)(item) for item in items))
