"""``covey refit``."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import numpy as np

    from covey._folds import Folds
    from covey.cli._problem import Problem
    from covey.evaluation import Evaluation

EXAMPLE = (*options.FITTED, "covey refit flock.covey wine.csv --out renewed.covey")

# The exit status if --if-better finds nothing better.
NOT_BETTER = 3
NEW, OLD = "renewed model", "the old model"

_WITH = options.option(
    "Rows of before, which the new model learns from, too; it is judged by new rows alone.",
    "--with",
    metavar="TABLE",
)
_OUT = options.option("Save the new model here.", metavar="FILE")
_REPLACE = options.option("Save the new model in place of the old one.", "--replace")
_IF_BETTER = options.option(
    "Save it (in place of the old one, or as --out says) only if it is better by more than "
    "chance on rows that neither was fitted on; otherwise the exit status is 3.",
    "--if-better",
)


def refit(
    model: options.Model,
    table: options.Table,
    sheet: options.Sheet = None,
    old_rows: Annotated[str | None, _WITH] = None,
    out: Annotated[str | None, _OUT] = None,
    replace: Annotated[bool, _REPLACE] = False,
    if_better: Annotated[bool, _IF_BETTER] = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a model again to new rows, by the same plan, and compare it with the old one.

    The plan is the model's own: its parameters, target, columns, gaps, --group or --time, and its
    decision. Both models are judged on the same new rows, which neither was fitted
    on: held out as covey fit does it, later ones with --time. Nothing is written unless --out,
    --replace or --if-better says so.
    """
    import numpy as np
    from sklearn.base import clone

    from covey.cli import _decide as decide
    from covey.cli import _evaluate as evaluating
    from covey.cli._events import remembered
    from covey.cli._fit_summary import show_answers
    from covey.cli._models import keep_evaluation, load_model, save_model
    from covey.cli._problem import row_hashes
    from covey.cli._writing import check_writable
    from covey.evaluation import evaluate
    from covey.evaluation._held_out import Predicted
    from covey.tables._known_columns import kinds_of, table_for

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    if replace and (out or if_better):
        other = "out" if out else "if-better"
        raise CommandError(f"--replace: it always replaces the old model; leave --{other} out.")
    inputs = [model, table, *([old_rows] if old_rows else [])]
    check_writable(out, (".covey",), inputs=inputs)
    fitted = load_model(model)
    problem, is_new = _problem(fitted, table, old_rows, console)
    splits, how = _splits(problem, is_new, seed)
    rivals = evaluating.simplest(problem)
    found = evaluating.fitted_and_judged(
        console, problem, NEW, clone(fitted), rivals, splits, how, seed
    )
    if found.held_out is None or not found.is_whole:
        raise CommandError("stopped before both models were judged; no file was changed.", 130)
    rows = table_for(fitted, problem.table.iloc[found.held_out.rows])
    predicted = evaluating.predictions_of(fitted, rows, found.held_out.classes)
    models = [*found.held_out.models, Predicted(OLD, predicted, "other")]
    held_out = replaced(found.held_out, models=models)
    known = np.isin(row_hashes(rows, kinds_of(fitted)), getattr(fitted, "seen_", ())).sum()
    if known:
        console.note(
            f"{known:,} of the {len(rows):,} rows held out were fitted on by the old model, "
            "which looks better on them than it is."
        )
    if (decision := getattr(fitted, "decision_", None)) is not None:
        asked = decision.asked if decision.kind == "costs" else {decision.label: decision.asked}
        decide.set_decision(found.model, {decision.kind: asked}, held_out)
    if getattr(fitted.model_, "corrections", None):
        console.note("The corrections of the old model are not carried over to the new one.")
    evaluation = evaluate(
        found.model,
        table_for(found.model, rows),
        held_out=held_out,
        target=problem.target,
        n_rows=len(problem.y),
        remarks=problem.guards,
        health=problem.health,
    )
    is_better, said = comparison(evaluation)
    show_answers(console, evaluation)
    console.result("", said)
    path = out if not if_better else (out or model) if is_better else None
    path = model if replace else path
    if path:
        keep_evaluation(found.model, problem, evaluation, problem.table, held_out)
        vars(found.model).update(life_=getattr(fitted, "life_", None))
        found.model.life_ = remembered(found.model, "refit", table, len(problem.y), said)
        save_model(found.model, path, problem.table, keeps_rows=hasattr(fitted, "seen_"))
        console.result(f"Saved {path}, fitted on {len(problem.y):,} rows.")
    else:
        console.result("Nothing was saved" + ("." if if_better else "; --out or --replace does."))
    record = evaluation.without_rows().as_dict()
    console.emit(better=is_better, said=said, saved=path, evaluation=record)
    if if_better and not is_better:
        raise typer.Exit(NOT_BETTER)


def comparison(evaluation: Evaluation) -> tuple[bool, str]:
    """Return whether the new model is better by more than chance, and a sentence about it."""
    from covey._number_words import number, points, rough, signed

    gap = next(one for one in evaluation.differences if one.name == OLD)
    # Where errors have costs, these decide.
    known = ("cost", -1, "a row"), ("accuracy", 1, "right"), ("mae", -1, "off on average")
    measure, sign, unit = next(one for one in known if one[0] in gap.measures)
    is_class = measure == "accuracy"
    show, difference = (rough, points) if is_class else (number, signed)
    scores = {one.name: one.get(measure).value for one in evaluation.scores}
    change, loss = gap.get(measure), gap.get("log_loss")
    low, high = sorted((sign * change.low, sign * change.high))
    better = low > 0 or (loss.high < 0 and sign * change.value >= 0)
    worse = high < 0 or (loss.low > 0 and sign * change.value <= 0)
    told = "better" if better else "worse" if worse else "no better, as far as these rows tell"
    if low <= 0 <= high and (better or worse):
        told += " by its probabilities"
    return better, (
        f"On the same {evaluation.n_held_out:,} new rows, held out, the new model is {told}: "
        f"{'it costs ' * (measure == 'cost')}{show(scores[NEW])} {unit}, the old one "
        f"{show(scores[OLD])} ({difference(change.low)} to {difference(change.high)}"
        f"{' points' if is_class else ''})."
    )


def _problem(
    model: Any, table: str, old_rows: str | None, console: Console
) -> tuple[Problem, np.ndarray]:
    """Return the rows of both tables as the model's own problem, and which of them are new."""
    import numpy as np
    import pandas as pd

    from covey.cli._models import check_needed, number_columns
    from covey.cli._problem import FEWEST_ROWS, check_column, group_columns, read_problem
    from covey.cli._reading import read_table
    from covey.evaluation._life import Life
    from covey.tables._known_columns import encoders_of, formats_of, kinds_of

    known, plan = getattr(model, "evaluation_", None), getattr(model, "life_", Life()).plan
    if known is None or not known.target:
        raise CommandError("the model does not know its target; fit it with covey fit first.")
    names = ("group", "time", "exposure")
    group, time, exposure = (next(iter(plan.get(name, ())), None) for name in names)
    target = known.target.removesuffix(f" per {exposure}")
    classes, formats, kinds = getattr(model, "classes_", None), formats_of(model), kinds_of(model)
    numbers = {*number_columns(model), *filter(None, (group, time, exposure))}
    if classes is None or np.issubdtype(classes.dtype, np.number):
        numbers.add(target)
    encoders = {name: one for name, one in encoders_of(model).items() if one is not None}
    frames = []
    for path in filter(None, (old_rows, table)):
        frame = read_table(path, numbers, labels=[target], formats=formats, note=console.note)
        check_needed(model, frame.columns, path)
        others = [target, *group_columns(frame, group), *filter(None, (time, exposure))]
        for name in others:
            check_column(frame, name, path)
        frames.append(frame[list(dict.fromkeys([*encoders, *others]))])
    both = pd.concat(frames, ignore_index=True)
    # Columns of text stay text, even if the new rows look like numbers.
    text = [name for name in encoders if kinds[name] == "text"]
    both.attrs.update(formats=dict(formats), text=text)
    problem = read_problem(
        table,
        target,
        Console(quiet=True),
        group=group,
        time=time,
        exposure=exposure,
        keep=[name for name in encoders if name not in (group, time, exposure)],
        gap=plan.get("gap"),
        task="numbers" if classes is None else "classes",
        table=both,
    )
    problem.note = console.note
    is_new = problem.table.index.to_numpy() >= len(both) - len(frames[-1])
    if is_new.sum() < FEWEST_ROWS:
        raise CommandError(
            f"{table} has {is_new.sum()} rows with a target, too few to judge two models by; give "
            f"at least {FEWEST_ROWS}."
        )
    return problem, is_new


def _splits(problem: Problem, is_new: np.ndarray, seed: int) -> tuple[Folds, str]:
    """Return splits that hold out new rows alone; old rows are learned from if they may be."""
    import numpy as np

    from covey.cli._evaluate import make_splits

    new, old, found = np.flatnonzero(is_new), np.flatnonzero(~is_new), []
    groups, times = problem.groups, problem.times
    some = {"table": problem.table.iloc[new], "y": problem.y[new]}
    for name, one in (("groups", groups), ("times", times)):
        some[name] = None if one is None else one[new]
    splits, how = make_splits(replaced(problem, **some), seed)
    for train, test in splits:
        before, held = old, new[test]
        if groups is not None:
            before = before[~np.isin(groups[before], groups[held])]
        if times is not None:
            before = before[times[before] < times[held].min()]
        found.append((np.concatenate([before, new[train]]), held))
    return found, f"{how} of the new rows"
