"""Flocks that a search finds: gated groups of members, selected by the loss of held-out rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from covey._core.search.bases import Features
from covey._core.search.families import EFFORTS, Family, families
from covey._core.search.search import Search
from covey._folds import check_cv_parameter
from covey._validation import check_choice, check_number
from covey.fusers import Fuser, GatedGroups
from covey.members._linear_flock import LinearFlock
from covey.members._training_rows import TrainingRows


class SearchedFlock(LinearFlock):
    """What `FlockClassifier` and `FlockRegressor` share.

    ``_fixed`` are the settings of Algorithm 1 that gives a search its starts; no parameters.
    """

    _fixed: ClassVar[dict[str, Any]] = {
        "flip_probability": 0.01,
        "learning_rate": "auto",
        "n_iter_no_change": 10,
        "max_iter": 300,
        "init_scale": 0.1,
        "acceptance": "greedy",
        "temperature": None,
        "subset_penalty": 0.0,
        "fit_intercept": True,
        "scale_features": True,
        "fuser": "gate",
        "warm_start": False,
    }

    def _setting(self, name: str) -> Any:
        return self._fixed[name] if name in self._fixed else getattr(self, name)

    def _check_parameters(self) -> None:
        self._check_settings()
        check_choice(self.effort, "effort", EFFORTS)
        if self.alpha is not None:
            check_number(self.alpha, "alpha", low=0, closed="neither")
        check_cv_parameter(self.cv)

    def _check_fuser(self, fuser: Fuser, groups: Any) -> None:
        """A search has a fuser of its own."""

    def _optimizer(self) -> dict[str, Any]:
        return {}  # the candidates are optimized together with their gate

    def _fit_rows(
        self, rows: TrainingRows, fuser: Fuser, context: Any, given: dict[str, Any]
    ) -> Fuser:
        if not self._numeric:
            self._set_scale(*rows.moments())
        search = Search(
            rows.search_rows(int(self.n_estimators)),
            self._task,
            Features(
                self.mean_,
                self.scale_,
                self._usable,
                self._units(),
                grouped=self.feature_groups is not None,
                centered=bool(self._setting("scale_features") and self._setting("fit_intercept")),
                scaled=bool(self._setting("scale_features")),
            ),
            growth=self._settings(),
            flip_probability=float(self._setting("flip_probability")),
            seed=self._seed,
            journal=self._journal,
            single=rows.single,
        )
        n_repeats = 2 if self.effort == "best" else 1
        flock = search.run(
            self._families(rows, search.bases),
            [] if self.effort == "fast" else self._folds(rows, n_repeats),
            n_restarts=n_repeats,
            fit_intercept=bool(self._setting("fit_intercept")),
            on_family=self._progress(rows, context, given),
        )
        found = self._attributes_of(
            flock.basis,
            flock.coef,
            flock.intercept,
            flock.support,
            flock.n_iter,
            flock.history,
            flock.column_mean,
            flock.column_scale,
            flock.shares,
        )
        for name, value in found.items():
            setattr(self, name, value)
        self.group_of_ = np.repeat(np.arange(len(flock.sizes)), flock.sizes)
        self.group_weights_ = flock.weights
        self.cv_results_ = flock.candidates
        return GatedGroups.of(flock, None if self._numeric else self.classes_)

    def _families(self, rows: TrainingRows, bases: tuple[str, ...]) -> list[Family]:
        left = 1.0
        if self._numeric and self.effort == "fast" and self.alpha is None:
            left = self._share_left(rows)
        # Weights of classes have a unit, the row; those of values need not have one.
        size = rows.n_weighted() if self._numeric else rows.total_weight()
        return families(
            self._task, self.effort, int(self.n_estimators), self.alpha, bases, size, left
        )

    def _folds(self, rows: TrainingRows, n_repeats: int) -> Any:
        """The folds; those of the fit that began, since a splitter may draw others each time."""
        # Folds that are an assignment are a function of the seed, which the journal keeps.
        if self._journal is None or not rows.keeps_folds:
            return rows.folds(self.cv, self._seed, n_repeats)
        task = self._journal.begin()
        if task.result is None:
            folds = rows.folds(self.cv, self._seed, n_repeats)
            task.finish({f"{number}": part for number, part in enumerate(chain(*folds))})
            return folds
        parts = [task.result[f"{number}"] for number in range(len(task.result))]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def _progress(self, rows: TrainingRows, context: Any, given: dict[str, Any]) -> Any:
        """The context in which a family of candidates is cross-fitted."""
        started = time.perf_counter()

        @contextmanager
        def on_family(family: Family) -> Iterator[None]:
            task = context.subcontext(task_name="candidates").call_on_fit_task_begin(
                estimator=self
            )
            if self.verbose:
                print(
                    f"[{type(self).__name__}] {time.perf_counter() - started:.2f} s: "
                    f"{len(family.alphas)} candidates of {family.n_members} members on "
                    f"{family.basis}"
                )
            yield
            rows.done("candidates")
            # A search that is stopped half-way has selected nothing, so it continues.
            task.call_on_fit_task_end(
                estimator=self, **given, reconstruction_attributes=lambda: None
            )

        return on_family
