"""A model of all rows, and how good it is by rows held out: one model, judged once."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covey._interrupts import keeping_what_is_found
from covey._intervals import Interval
from covey.cli._console import Console
from covey.cli._evaluate import (
    Score,
    Trial,
    difference,
    first_look,
    judged_by_search,
    loss_difference,
    quick,
)
from covey.cli._fitting import Folds, PreparedRows
from covey.cli._problem import Problem

FULL = "full flock"


@dataclass
class Judged:
    """A model that was fitted on all rows, and what is known of it."""

    model: Any
    scores: list[Score]  # its own, then those of others, on the same rows; empty if stopped
    how: str  # how rows were held out
    is_whole: bool = True  # whether it was not stopped on the way
    price: dict[str, Interval] | None = field(default=None)  # of being simple


def fitted_and_judged(
    console: Console,
    problem: Problem,
    name: str,
    learner: Any,
    rivals: dict[str, Any],
    splits: Folds,
    how: str,
    seed: int,
    *,
    full: Any = None,
    files: Sequence[str] | None = None,
) -> Judged:
    """Fit a learner on all rows, and judge it by fits without each part of them.

    Rivals are simple models, which are shown first to who waits. The model of all rows comes
    next, so that who stops the rest has it; ``full`` is a flock that this one is a simpler one
    than. A fit with checkpoints (``files``) is not kept if it is stopped: it goes on later.
    """
    n_rows = len(problem.y)
    rivals = quick(rivals, problem, seed)
    own = {name: learner} if full is None else {name: learner, FULL: full}
    n_fits = (len(own) + len(rivals)) * len(splits) + 1
    with console.progress(n_fits, "preparing") as step:
        trial = Trial(problem, splits, seed, step=step)
        if trial.keeps_parts:
            trial.run(rivals)
        first = trial.scores() if trial.keeps_parts else first_look(problem, rivals, seed)
        console.meanwhile(_first_numbers(first, problem.regression))
        step(f"{name}, on all {n_rows:,} rows")
        started = time.perf_counter()
        model, stopped = _fitted(problem, learner, seed, files and files[-1])
        step("", 1)
        expected = time.perf_counter() - started
        others = {} if trial.keeps_parts else rivals
        try:
            if not stopped:
                trial.run({**own, **others}, files, expected)
        except KeyboardInterrupt:
            if files:
                raise
            stopped = True
    n_parts = trial.n_finished(name)
    if stopped and not n_parts:
        scores = judged_by_search(problem, model, trial.scores())
        how = "none, since it was stopped"
        if scores:
            how = "those that the search itself held out and chose by, since it was stopped"
        return Judged(model, scores, how, False)
    if stopped:
        how = f"{n_parts} of {len(splits)} parts, since it was stopped then"
    scores = trial.scores()
    scores.sort(key=lambda one: one.name != name)
    found = Judged(model, scores, how, not stopped)
    whole = next((one for one in scores if one.name == FULL), None)
    if whole is not None:
        scores.remove(whole)
        scores.insert(1, whole)
        found.price = {
            "value": difference(scores[0], whole, problem),
            "loss": loss_difference(scores[0], whole, problem),
        }
    return found


def _fitted(problem: Problem, learner: Any, seed: int, checkpoint: str | None) -> tuple[Any, bool]:
    """A model of all rows, and whether its search was stopped."""
    with warnings.catch_warnings(record=True) as noticed, keeping_what_is_found():
        warnings.simplefilter("always")
        prepared = PreparedRows(problem, np.arange(len(problem.y)), seed)
        model = prepared.fit(learner, checkpoint)
    del prepared
    # What a search has held refers to itself: it would be kept while the parts are prepared.
    gc.collect()
    return model, any(str(one.message).startswith("Interrupted") for one in noticed)


def _first_numbers(scores: Sequence[Score], regression: bool) -> str:
    """What simple models reach, for who waits for the flock."""
    shown = [
        f"{one.name} {f'R2 {one.value:.2f}' if regression else f'{100 * one.value:.0f} % right'}"
        for one in scores
    ]
    return f"First numbers ({len(scores[0].rows):,} rows held out): {', '.join(shown)}."
