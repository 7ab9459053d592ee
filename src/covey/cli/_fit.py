"""``covey fit``."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console
from covey.cli._fit_summary import show_fit

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey fit wine.csv --target cultivar --effort fast --max-members 3 --max-features 4",
    "covey fit wine.csv --target cultivar --effort fast --engine dask --drop bottle --drop shade",
)


def fit(
    table: options.Table,
    target: options.Target,
    model: Annotated[
        str, typer.Option(metavar="FILE", help="Where to save the model.")
    ] = "flock.covey",
    report: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="Write a report, on rows held out.")
    ] = None,
    effort: Annotated[
        Literal["fast", "balanced", "best"], typer.Option(help="How long to search.")
    ] = "balanced",
    members: Annotated[
        Literal["linear", "mixed"] | None,
        typer.Option(
            help="linear: members that can be read. mixed: boosting, extra trees, kernel machines "
            "and neighbors beside them, where they help. By default linear, or mixed with "
            "--effort best.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="About how long one fit may search; the best flock found by then is taken. There "
            "is a fit for each part of the rows that is held out, and one for all rows.",
        ),
    ] = None,
    fuser: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Instead of the search, grow members by the paper's Algorithm 1 and fuse them "
            "by a rule: product, mean, majority, median, gate, ...",
        ),
    ] = None,
    max_features: options.MaxFeatures = None,
    max_members: options.MaxMembers = None,
    max_terms: options.MaxTerms = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep what is done: after a kill, the same command goes on from there.",
        ),
    ] = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    engine: Annotated[
        Literal["plain", "dask"],
        typer.Option(
            help="dask: a table beyond memory, or on a cluster, of numbers; TABLE may then be a "
            "folder, a pattern such as 'rows/*.parquet', or an address such as s3://...",
        ),
    ] = "plain",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine dask: where the cluster's scheduler is, such as "
            "tcp://10.0.0.1:8786; by default the work is done on this machine, block by block.",
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn to predict a column of a table, show how well, and save the model.

    The model is a flock, found by a search over groups of sparse members and gates. Numbers,
    categories, text, dates and gaps are all right. Columns that only name the rows, or never
    change, are left out, with a note. The accuracy (or R2) is that on rows held out, beside the
    commonest class (or the mean) and a tuned linear model; the model that is saved has seen all
    rows.
    """
    from covey.cli._fitting import checked_limits, checked_search
    from covey.cli._writing import check_writable

    console = Console(quiet, as_json)
    check_writable(model, (".covey",))
    check_writable(report, (".html", ".htm"))
    check_writable(checkpoint, inputs=(table, model))
    settings: dict[str, Any] = {
        "model": model,
        "report": report,
        "effort": effort,
        "fuser": fuser,
        "limits": {
            **checked_limits(max_features, max_members, max_terms),
            **checked_search(members, time_limit),
        },
        "checkpoint": checkpoint,
        "group": group,
        "time": time,
        "drop": drop,
        "keep": keep,
        "task": task,
        "seed": seed,
    }
    if engine == "dask":
        from covey.cli._dask import fit_and_save

        fit_and_save(console, table, target, scheduler=scheduler, **settings)
    elif scheduler is not None:
        raise CommandError("--scheduler: it is for --engine dask, which is not given.")
    else:
        _fit_and_save(console, table, target, **settings)


def _fit_and_save(
    console: Console,
    path: str,
    target: str,
    *,
    model: str,
    report: str | None,
    effort: str,
    fuser: str | None,
    limits: dict[str, Any],
    checkpoint: str | None,
    seed: int,
    **reading: Any,
) -> None:
    """Read, fit on all rows, judge by rows held out, save and show; ``reading`` as `read_problem`.

    The model is fitted first, so that who stops the rest has it.
    """
    from covey.cli._evaluate import difference, judgement_of, make_splits
    from covey.cli._fitting import flock
    from covey.cli._models import keep_facts, save_model
    from covey.cli._problem import read_problem

    if report:
        from covey.cli._report import check_reporting, write_report

        check_reporting()
    started = clock.perf_counter()
    problem = read_problem(path, target, console, **reading)
    learner = flock(problem, effort=effort, fuser=fuser, limits=limits, seed=seed)
    splits, how = make_splits(problem, seed)
    n_rows = len(problem.y)
    files = None
    if checkpoint:
        # A file for each part's flock, and one for that of all rows.
        files = [*(f"{checkpoint}.{number}" for number in range(1, len(splits) + 1)), checkpoint]
    fitted, scores, stopped = _fitted_and_judged(console, problem, learner, splits, seed, files)
    how = stopped or how
    judgement = judgement_of(problem, scores, how) if scores else None
    records = judgement.scores if judgement else []
    keep_facts(fitted, problem, records, how, problem.table, n_rows, judgement)
    save_model(fitted, model, problem.table)
    for file in files or []:
        Path(file).unlink(missing_ok=True)
    if report and judgement:
        write_report(
            fitted,
            problem.table.iloc[judgement.rows],
            judgement.y,
            report,
            target=target,
            baselines=judgement.scores[1:],
            health=problem.health,
            title=f"Predicting “{target}” from {Path(path).name}",
            judgement=judgement,
        )
    show_fit(
        console,
        problem,
        fitted,
        scores,
        gap=difference(scores[0], scores[-1], problem) if len(scores) > 2 else None,
        how=how,
        n_rows=n_rows,
        model=model,
        report=report if judgement else None,
        seconds=clock.perf_counter() - started,
        judgement=judgement,
    )
    if stopped:
        raise typer.Exit(130)


def _fitted_and_judged(
    console: Console, problem: Any, learner: Any, splits: Any, seed: int, files: list[str] | None
) -> tuple[Any, list, str]:
    """The model of all rows, scores on rows held out, and how these were if it was stopped.

    The scores are those of the flock, of the simplest model and of the linear one. A fit with
    checkpoints is not kept if it is stopped: it goes on later.
    """
    import warnings

    import numpy as np

    from covey._interrupts import keeping_what_is_found
    from covey.cli._evaluate import Trial, first_look, judged_by_search, linear, simplest
    from covey.cli._fitting import PreparedRows

    rivals = {**simplest(problem), **linear(problem, seed)}
    n_rows, n_fits = len(problem.y), (1 + len(rivals)) * len(splits) + 1
    with console.progress(n_fits, "preparing") as step:
        trial = Trial(problem, splits, seed, step=step)
        if trial.keeps_parts:
            trial.run(rivals)
        first = trial.scores() if trial.keeps_parts else first_look(problem, rivals, seed)
        console.meanwhile(_first_numbers(first, problem))
        step(f"flock, on all {n_rows:,} rows")
        started = clock.perf_counter()
        with warnings.catch_warnings(record=True) as noticed, keeping_what_is_found():
            warnings.simplefilter("always")
            prepared = PreparedRows(problem, np.arange(n_rows), seed)
            fitted = prepared.fit(learner, files and files[-1])
            del prepared
        step("", 1)
        expected = clock.perf_counter() - started
        stopped = any(str(one.message).startswith("Interrupted") for one in noticed)
        others = {} if trial.keeps_parts else rivals
        try:
            if not stopped:
                trial.run({"flock": learner, **others}, files, expected)
        except KeyboardInterrupt:
            if files:
                raise
            stopped = True
    n_parts = trial.n_finished("flock")
    if not stopped or n_parts:
        scores = trial.scores()
        scores.sort(key=lambda one: one.name != "flock")
        said = f"{n_parts} of {len(splits)} parts, since it was stopped then"
        return fitted, scores, said if stopped else ""
    scores = judged_by_search(problem, fitted, trial.scores())
    said = "those that the search itself held out and chose by, since it was stopped"
    return fitted, scores, said if scores else "none, since it was stopped"


def _first_numbers(scores: list, problem: Any) -> str:
    """What simple models reach, for who waits for the flock."""
    shown = [
        f"{one.name} {f'R2 {one.value:.2f}' if problem.regression else f'{one.value:.0%} right'}"
        for one in scores
    ]
    return f"First numbers ({len(scores[0].rows):,} rows held out): {', '.join(shown)}."
