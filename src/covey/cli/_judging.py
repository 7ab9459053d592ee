"""A model of all rows, and how good it is by rows held out: one model, judged once."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covey._callbacks import keeping_what_is_found
from covey._number_words import rough
from covey.cli._console import Console
from covey.cli._evaluate import FULL, Trial, first_look, judged_by_search, quick
from covey.cli._fitting import Folds, PreparedRows
from covey.cli._problem import Problem
from covey.evaluation._held_out import HeldOut


@dataclass
class Judged:
    """A model that was fitted on all rows, and what it predicts of rows held out."""

    model: Any
    held_out: HeldOut | None  # with those that it is compared with; None if it was stopped
    how: str  # how rows were held out
    is_whole: bool = True  # whether it was not stopped on the way


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
        first = trial.held_out() if trial.keeps_parts else first_look(problem, rivals, seed)
        if first is not None:
            console.meanwhile(_first_numbers(first))
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
        how = "those that the search itself held out and chose by, since it was stopped"
        found = judged_by_search(problem, name, model, trial.held_out(), how)
        return Judged(model, found, how if found else "none, since it was stopped", False)
    if stopped:
        how = f"{n_parts} of {len(splits)} parts, since it was stopped then"
    return Judged(model, trial.held_out(name, how), how, not stopped)


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


def _first_numbers(first: HeldOut) -> str:
    """What simple models reach, for who waits for the flock."""
    scores = [first.score(one) for one in first.models]
    if first.rare is not None:
        shown = [f"{one.name} area {one.get('auc').value:.2f}" for one in scores]
    else:
        what = "explained" if first.classes is None else "right"
        shown = [f"{one.name} {rough(max(one.main.value, 0.0))} {what}" for one in scores]
    return f"First numbers ({len(first.y):,} rows held out): {', '.join(shown)}."
