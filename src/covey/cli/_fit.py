"""``covey fit``."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from covey.cli import _decide as decide
from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    from covey.cli._evaluate import Judged
    from covey.cli._problem import Problem

# What a flock may have at most that is to fit on a page.
_SIMPLE = {"max_members": 3, "max_features": 5}

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey fit wine.csv --target cultivar --effort fast --simple",
    "covey fit wine.csv --target cultivar --linear",
    "covey fit wine.csv --target cultivar --effort fast --engine dask",
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
    simple: Annotated[
        bool,
        typer.Option(
            "--simple",
            help="A flock that fits on a page: at most 3 members of 5 features each (or what the "
            "options above say). What that costs against a full flock is printed.",
        ),
    ] = False,
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="No flock: save the tuned linear model that flocks are compared with.",
        ),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep what is done: after a kill, the same command goes on from there.",
        ),
    ] = None,
    threshold: decide.Threshold = None,
    find: decide.Find = None,
    costs: decide.Costs = None,
    label: decide.Class = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    engine: Annotated[
        Literal["plain", "dask"],
        typer.Option(
            help="dask: a table beyond memory, or on a cluster; TABLE may then be a folder, "
            "a pattern such as 'rows/*.parquet', or an address such as s3://...",
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
    verbose: Annotated[
        bool, typer.Option("--verbose", help="More numbers: losses, times, all columns.")
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn to predict a column of a table, show how well, and save the model.

    The model is a flock, found by a search over groups of sparse members and gates. Numbers,
    categories, text, dates and gaps are all right. Columns that only name the rows, or never
    change, are left out, with a note. The model that is saved is fitted on all rows. How right it
    is, is what models that are fitted in the same way without some rows reach on these, beside
    the commonest class (or the mean) and a tuned linear model. Ctrl-C keeps what is finished.
    """
    from covey.cli._fit_summary import show_fit
    from covey.cli._fitting import checked_limits, checked_search, flock
    from covey.cli._models import keep_evaluation, save_model
    from covey.cli._writing import check_writable
    from covey.evaluation import evaluate
    from covey.tables._known_columns import table_for

    console = Console(quiet, as_json)
    limits = {
        **checked_limits(max_features, max_members, max_terms),
        **checked_search(members, time_limit),
    }
    _check_kind(linear, simple, limits, fuser, effort, checkpoint)
    decision = decide.decision_wanted(threshold, find, costs, label)
    if decision and (linear or engine == "dask"):
        raise CommandError(
            f"--{next(iter(decision))}: it is for flocks of --engine plain; give it to covey "
            "predict instead."
        )
    check_writable(model, (".covey",))
    check_writable(report, (".html", ".htm"))
    check_writable(checkpoint, inputs=(table, model))
    if report:
        from covey.cli._report import check_reporting, write_report

        check_reporting()
    started = clock.perf_counter()
    how_to_search = {"effort": effort, "fuser": fuser, "seed": seed}
    reading = {"group": group, "time": time, "drop": drop, "keep": keep, "task": task}
    if engine == "dask":
        if linear or simple:
            raise CommandError(
                f"--{'linear' if linear else 'simple'}: it is for --engine plain; leave one of "
                "them out."
            )
        from covey.cli import _dask

        _dask.refuse(fuser, group=reading.pop("group"), time=reading.pop("time"))
        files = [f"{checkpoint}.1", checkpoint] if checkpoint else []
        problem, found, rows, n_rows = _dask.fitted_on_blocks(
            *(console, table, target),
            lambda problem: flock(problem, limits=limits, **how_to_search),
            files=files or [None, None],
            seed=seed,
            scheduler=scheduler,
            **reading,
        )
    elif scheduler is not None:
        raise CommandError("--scheduler: it is for --engine dask, which is not given.")
    else:
        problem, found, files = _fitted(
            *(console, table, target, linear, simple, limits, decision, checkpoint),
            how_to_search,
            reading,
        )
        rows, n_rows = problem.table[list(problem.kinds)], len(problem.y)
        rows = rows if found.held_out is None else rows.iloc[found.held_out.rows]
    evaluation = evaluate(
        found.model,
        table_for(found.model, rows),
        held_out=found.held_out,
        target=target,
        n_rows=n_rows,
        remarks=problem.guards,
        health=problem.health,
    )
    keep_evaluation(found.model, problem, evaluation, problem.table, found.held_out)
    save_model(found.model, model, problem.table)
    for file in files:
        Path(file).unlink(missing_ok=True)
    report = None if found.held_out is None else report
    if report:
        write_report(evaluation, report, f"Predicting “{target}” from {Path(table).name}")
    show_fit(
        console,
        evaluation,
        model=model,
        report=report,
        seconds=clock.perf_counter() - started,
        command=[] if engine == "dask" else _words(table, target, reading),
        verbose=verbose,
    )
    if not found.is_whole:
        raise typer.Exit(130)


def _check_kind(
    linear: bool,
    simple: bool,
    limits: dict[str, Any],
    fuser: str | None,
    effort: str,
    checkpoint: str | None,
) -> None:
    """Refuse options that say nothing about the kind of model that is wanted."""
    if simple and fuser:
        raise CommandError(
            "--simple: it is for the search, which --fuser replaces by Algorithm 1; leave one of "
            "them out."
        )
    if not linear:
        return
    given = [*limits, *(["simple"] if simple else []), *(["fuser"] if fuser else [])]
    given += ["effort"] if effort != "balanced" else []
    given += ["checkpoint"] if checkpoint else []
    if given:
        raise CommandError(
            f"--{given[0].replace('_', '-')}: it is for flocks, and --linear takes none; leave "
            "one of them out."
        )


def _fitted(
    console: Console,
    path: str,
    target: str,
    linear: bool,
    simple: bool,
    limits: dict[str, Any],
    decision: dict[str, Any] | None,
    checkpoint: str | None,
    how_to_search: dict[str, Any],
    reading: dict[str, Any],
) -> tuple[Problem, Judged, list[str]]:
    """Read a table, fit on all rows, and judge by rows held out; return the checkpoints, too."""
    from covey.cli import _evaluate as evaluating
    from covey.cli._fitting import flock
    from covey.cli._problem import read_problem

    seed = how_to_search["seed"]
    problem = read_problem(path, target, console, **reading)
    how_to_decide = decide.for_problem(decision, problem) if decision else None
    rivals, full = evaluating.simplest(problem), None
    if linear:
        ((name, learner),) = evaluating.linear(problem, seed).items()
    else:
        given = {**_SIMPLE, **limits} if simple else limits
        name, learner = "flock", flock(problem, limits=given, **how_to_search)
        rivals.update(evaluating.linear(problem, seed))
    if simple:
        others = {option: limits[option] for option in limits if option not in _SIMPLE}
        full = flock(problem, limits=others, **how_to_search)
    splits, how = evaluating.make_splits(problem, seed)
    # A file for each part's flock, and one for that of all rows.
    files = (
        [f"{checkpoint}.{number}" for number in range(1, len(splits) + 1)] if checkpoint else []
    )
    files += [checkpoint] if checkpoint else []
    found = evaluating.fitted_and_judged(
        *(console, problem, name, learner, rivals, splits, how, seed),
        full=full,
        files=files or None,
    )
    if not found.is_whole:
        console.note(
            "Stopped: the model is the best that was found by then. Rows by which it is judged: "
            f"{found.how}."
        )
    if how_to_decide:
        made = decide.set_decision(found.model, how_to_decide, found.held_out)
        console.note(made.sentence())
    return problem, found, files


def _words(path: str, target: str, reading: dict[str, Any]) -> list[str]:
    """What to type after ``covey fit`` to read the same table in the same way."""
    words = [path, "--target", target]
    for option, given in reading.items():
        for value in [given] if isinstance(given, str) else given or []:
            if value != "auto":
                words += [f"--{option}", value]
    return words
