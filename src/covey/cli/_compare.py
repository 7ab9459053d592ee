"""``covey compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey compare wine.csv --target cultivar --models logistic --models fast",
)

# A difference is called real if chance would make one as large less often than this.
_CHANCE = 0.05


def compare(
    table: options.Table,
    target: options.Target,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", metavar="NAME", help="Only those whose names hold this; repeatable."
        ),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="A model of another package besides: lightgbm, ebm (of interpret) or catboost; "
            "repeatable. LightGBM is there by itself where it is installed.",
        ),
    ] = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare flocks with the usual models on the same rows held out, honestly.

    All get the same columns and the same rows. The best comes first. A difference from it is
    called real if chance alone would hardly make one so large in any of the comparisons; models
    without such a difference may as well be the best. Besides: how much there is to read, or to
    store, and how long a fit takes.
    """
    from covey.cli._contestants import contestants
    from covey.cli._evaluate import Trial, make_splits
    from covey.cli._problem import read_problem
    from covey.cli._sizes import size_of

    console = Console(quiet, as_json)
    problem = read_problem(
        table, target, console, group=group, time=time, drop=drop, keep=keep, task=task
    )
    field = contestants(problem, seed, more or ())
    for wanted in models or []:
        if not any(wanted.lower() in name.lower() for name in field):
            raise CommandError(
                f"--models: no model is called {wanted!r}; there are {', '.join(field)}."
            )
    if models:
        field = {
            name: one
            for name, one in field.items()
            if any(wanted.lower() in name.lower() for wanted in (*models, *(more or ())))
        }
    splits, how = make_splits(problem, seed)
    # A model that cannot learn this table is left out; the others are still compared.
    failures: dict[str, str] = {}
    sizes: dict[str, Any] = {}

    def measure(name: str, model: Any) -> None:
        if name not in sizes:
            sizes[name] = size_of(model.estimator_)

    stopped = False
    with console.progress(len(field) * len(splits), "comparing") as step:
        trial = Trial(problem, splits, seed, step=step, failures=failures, on_fitted=measure)
        try:
            trial.run(field)
        except KeyboardInterrupt:
            if not trial.scores():
                raise
            stopped = True
            console.note("stopped: what is finished is compared on the rows held out by then.")
    for name, message in failures.items():
        console.note(f"{name}: left out, since it failed: {message}")
    scores = trial.scores()
    if not scores:
        raise CommandError("no model could be fitted to this table.", 1)
    scores.sort(key=lambda one: (-one.value, one.loss))
    _show(console, problem, scores, how, sizes, failures)
    if stopped:
        raise typer.Exit(130)


def _show(
    console: Console,
    problem: Any,
    scores: list,
    how: str,
    sizes: dict[str, Any],
    failures: dict[str, str],
) -> None:
    from covey.cli._evaluate import difference, loss_difference

    regression, best = problem.regression, scores[0]
    console.result(f"{problem.target}: {len(best.rows):,} rows held out ({how}).", "")
    worse = _really_worse(scores, problem)
    rows, records = [], []
    for one in scores:
        record = one.as_record(regression)
        gap = difference(one, best, problem)
        record["difference_from_best"] = gap
        record["really_worse_in"] = worse[one.name]
        record["size"] = sizes[one.name].as_record()
        between = f"{100 * gap[0]:+.1f} ({100 * gap[1]:+.1f} to {100 * gap[2]:+.1f})"
        row = [one.name, one.text(regression), "" if one is best else between]
        loss = "-" if one.loss != one.loss else f"{one.loss:.4g}"
        if not regression:
            more = loss_difference(one, best, problem)
            record["loss_difference_from_best"] = more
            if one is not best and more.value == more.value:
                loss += f" ({more.value:+.3f})"
        real = ", ".join(worse[one.name]) or ("" if one is best else "no")
        rows.append([*row, loss, real, str(sizes[one.name]), f"{one.seconds:.2f}"])
        records.append(record)
    value, loss = ("R2", "RMSE") if regression else ("accuracy", "log-loss")
    console.table(
        ("", f"{value} (95 %)", "from the best, points", loss, "really worse", "size", "fit, s"),
        rows,
    )
    if len(scores) > 1:
        console.result(
            "",
            f"Really worse than {best.name}: chance would make any of these {len(scores) - 1} "
            f"differences so large in fewer than {100 * _CHANCE:.0f} of 100 tables (Holm's "
            "correction; the same rows were predicted by all).",
        )
        as_good = [one.name for one in scores[1:] if not worse[one.name]]
        if as_good:
            console.result(f"As good, as far as these rows tell: {', '.join(as_good)}.")
    console.emit(
        target=problem.target,
        rows=len(best.rows),
        held_out=how,
        scores=records,
        failed=[{"name": name, "reason": reason} for name, reason in failures.items()],
    )


def _really_worse(scores: Sequence[Any], problem: Any) -> dict[str, list[str]]:
    """By name the measures in which a model is worse than the first one, and not by chance.

    The chances of all models are corrected together, of each measure by itself.
    """
    import numpy as np

    from covey._intervals import holm
    from covey.cli._evaluate import chance_of_difference

    best, *others = scores
    worse: dict[str, list[str]] = {one.name: [] for one in scores}
    measures = {"losses": "squared error"} if problem.regression else _OF_CLASSES
    for measure, name in measures.items():
        chances = [chance_of_difference(one, best, problem, measure) for one in others]
        known = np.isfinite(chances)
        adjusted = holm(np.array(chances)[known]) if known.any() else np.empty(0)
        for one, chance in zip(np.array(others, dtype=object)[known], adjusted, strict=True):
            between = getattr(one, measure).mean() - getattr(best, measure).mean()
            is_worse = between < 0 if measure == "correct" else between > 0
            if chance < _CHANCE and is_worse:
                worse[one.name].append(name)
    return worse


_OF_CLASSES = {"correct": "accuracy", "losses": "log-loss"}
