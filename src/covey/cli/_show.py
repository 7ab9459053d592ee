"""``covey show``."""

from __future__ import annotations

from collections import Counter

from covey.cli import _options as options
from covey.cli._console import Console

EXAMPLE = (*options.FITTED, "covey show flock.covey")


def show(
    model: options.Model, as_json: options.Json = False, quiet: options.Quiet = False
) -> None:
    """Show what a model is: on what it was fitted, how good it is, and what was done with it."""
    from sklearn.base import clone

    from covey.cli._fit_summary import show_answers
    from covey.cli._models import load_model
    from covey.evaluation import Evaluation
    from covey.evaluation._life import Life
    from covey.evaluation._record import plain_data
    from covey.members._constraints import constraints_in_words
    from covey.tables._known_columns import kinds_of

    console, fitted = Console(quiet, as_json), load_model(model)
    evaluation = getattr(fitted, "evaluation_", Evaluation("numbers"))
    life, kinds = getattr(fitted, "life_", Life()), kinds_of(fitted)
    counts = Counter(kinds.values())
    plan = [f"--{name} {value}" for name, values in life.plan.items() for value in values]
    corrections = [str(one) for one in getattr(fitted.model_, "corrections", None) or ()]
    defaults, given = (one.get_params(deep=False) for one in (type(fitted)(), clone(fitted)))
    # The kinds of columns are told below.
    given = {name: one for name, one in given.items() if name != "categorical_features"}
    given = {name: one for name, one in given.items() if repr(one) != repr(defaults[name])}
    changed = [f"{name}={one!r}" for name, one in given.items()]
    console.result(f"{model}: {type(fitted).__name__}({', '.join(changed)})")
    columns = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    console.result(f"Columns: {len(kinds)} ({columns}).")
    console.result(*([f"Its table was read with {' '.join(plan)}."] if plan else []), "")
    if evaluation.scores:
        show_answers(console, evaluation)
    else:
        console.result(*fitted.summary().splitlines())
    for heading, lines in (
        ("Constraints", constraints_in_words(fitted, evaluation.target or "y")),
        ("Corrections by hand", corrections),
        ("History", life.events or ["not known: not saved by covey fit, or an older file"]),
    ):
        console.result(*(["", f"{heading}:", *(f"  {one}" for one in lines)] if lines else []))
    console.emit(
        model=type(fitted).__name__,
        columns=kinds,
        parameters=given,
        life=plain_data(life),
        corrections=corrections,
        evaluation=evaluation.as_dict(),
    )
