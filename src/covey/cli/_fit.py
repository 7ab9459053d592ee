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
    """Read, evaluate, fit on all rows, save, and show it; ``reading`` as of `read_problem`."""
    import numpy as np

    from covey.cli import _evaluate as evaluation
    from covey.cli._fitting import PreparedRows, flock
    from covey.cli._models import keep_facts, save_model
    from covey.cli._problem import read_problem

    if report:
        from covey.cli._report import check_reporting, write_report

        check_reporting()
    problem = read_problem(path, target, console, **reading)
    learner = flock(problem, effort=effort, fuser=fuser, limits=limits, seed=seed)
    splits, how = evaluation.make_splits(problem, seed)
    n_rows = len(problem.y)
    files = None
    if checkpoint:
        # A file for each fold's flock, and one for that of all rows.
        files = [*(f"{checkpoint}.{number}" for number in range(1, len(splits) + 1)), checkpoint]
    started = clock.perf_counter()
    estimators = {"flock": learner, **evaluation.simplest(problem), **evaluation.linear(problem)}
    with console.progress(len(estimators) * len(splits) + 1, "preparing") as step:
        scores, held_out = evaluation.evaluate(
            estimators, problem, splits, seed, step=step, checkpoints=files
        )
        step(f"flock, on all {n_rows:,} rows")
        fitted = PreparedRows(problem, np.arange(n_rows), seed).fit(learner, files and files[-1])
        step("flock", 1)
    keep_facts(fitted, problem, scores, how, problem.table, n_rows)
    save_model(fitted, model, problem.table)
    for file in files or []:
        Path(file).unlink(missing_ok=True)
    if report:
        train, test = splits[0]
        write_report(
            held_out,
            problem.table.iloc[test],
            problem.y[test],
            report,
            target=target,
            # On the very rows of the page, to be fair.
            baselines=[
                one.on_first(problem, len(test)).as_record(problem.regression)
                for one in scores[1:]
            ],
            health=problem.health,
            title=f"{target}: a flock fitted on {len(train):,} rows, reported on "
            f"{len(test):,} others",
        )
    gap = None if problem.regression else evaluation.difference(scores[0], scores[2], problem)
    show_fit(
        console,
        problem,
        fitted,
        scores,
        gap=gap,
        how=how,
        n_rows=n_rows,
        model=model,
        report=report,
        seconds=clock.perf_counter() - started,
    )
