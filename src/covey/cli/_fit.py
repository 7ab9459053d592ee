"""``covey fit``."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from covey.cli import _decide as decide
from covey.cli import _options as options
from covey.cli._console import CommandError, Console

_Losses = Literal["squared", "huber", "poisson", "gamma", "tweedie"]
# The limits of a flock that fits on a page.
_SIMPLE = {"max_members": 3, "max_features": 5}

EXAMPLE = (
    *options.FITTED,
    "covey fit wine.csv --target cultivar --effort fast --simple",
    "covey fit wine.csv --target cultivar --linear",
    "covey fit wine.csv --target cultivar --effort fast --engine dask",
)


_MODEL = options.option("Where to save the model.", metavar="FILE")
_REPORT = options.option("Write a report, on rows held out.", metavar="FILE.html")
_EFFORT = options.option("How long to search.")
_MEMBERS = options.option(
    "linear: members that can be read. mixed: also boosting, extra trees, kernel machines and "
    "neighbors, if they help. By default linear, or mixed with --effort best.",
    show_default=False,
)
_LOSS = options.option(
    "The loss of a quantity. huber: outliers pull less. poisson: counts, or rates with "
    "--exposure. gamma: amounts above 0. tweedie: amounts that are often 0.",
    show_default="squared",
)
_POWER = options.option(
    "With --loss tweedie: the power of the mean that the variance is, between 1 and 2.",
    show_default="1.5",
)
_EXPOSURE = options.option(
    "How much a row was exposed, such as years insured: the target is divided by it, rows count "
    "by it, and it is not learned from.",
    metavar="COLUMN",
)
_NO_ROWS = options.option(
    "Keep no row of the table in the model's file, nor hashes of rows; explanations then "
    "compare a row with the typical values, and not with 100 rows.",
    "--no-rows",
)
_TIME_LIMIT = options.option(
    "About how many seconds one fit may search; the best flock found by then is used. There is a"
    " fit for each part of the rows that is held out, and one for all rows.",
    metavar="SECONDS",
)
_FUSER = options.option(
    "Instead of the search, grow members by the paper's Algorithm 1 and fuse them "
    "by a rule: product, mean, majority, median, gate, ...",
    metavar="RULE",
)
_ON_A_PAGE = options.option(
    "A flock that fits on a page: at most 3 members of 5 features each (or the limits of the "
    "options above). Its price compared with a full flock is printed.",
    "--simple",
)
_LINEAR = options.option(
    "Save the tuned linear model that flocks are compared with, instead of a flock.", "--linear"
)
_WAY = "Let the number, or the probability of the second class, never {} with it; repeatable."
_RISING = options.option(_WAY.format("fall"), metavar="COLUMN")
_FALLING = options.option(_WAY.format("rise"), metavar="COLUMN")
_INTERACTIONS = options.option(
    "Which columns may meet: all, none (each adds its effect), or pairs as age*bmi; repeatable.",
    metavar="A*B",
)
_CHECKPOINT = options.option(
    "Keep finished work here: after a kill, the same command continues from it.", metavar="FILE"
)
_ENGINE = options.option(
    "dask: a table beyond memory, or on a cluster; TABLE may then be a folder, "
    "a pattern such as 'rows/*.parquet', or an address such as s3://..."
)
_SCHEDULER = options.option(
    "With --engine dask: the address of the cluster's scheduler, such as tcp://10.0.0.1:8786; by"
    " default this machine does the work, block by block.",
    metavar="ADDRESS",
)
_VERBOSE = options.option("More numbers: losses, times, all columns.", "--verbose")


def fit(
    table: options.Table,
    target: options.Target,
    sheet: options.Sheet = None,
    model: Annotated[str, _MODEL] = "flock.covey",
    report: Annotated[str | None, _REPORT] = None,
    effort: Annotated[Literal["fast", "balanced", "best"], _EFFORT] = "balanced",
    members: Annotated[Literal["linear", "mixed"] | None, _MEMBERS] = None,
    loss: Annotated[_Losses | None, _LOSS] = None,
    power: Annotated[float | None, _POWER] = None,
    exposure: Annotated[str | None, _EXPOSURE] = None,
    no_rows: Annotated[bool, _NO_ROWS] = False,
    time_limit: Annotated[float | None, _TIME_LIMIT] = None,
    fuser: Annotated[str | None, _FUSER] = None,
    max_features: options.MaxFeatures = None,
    max_members: options.MaxMembers = None,
    max_terms: options.MaxTerms = None,
    simple: Annotated[bool, _ON_A_PAGE] = False,
    linear: Annotated[bool, _LINEAR] = False,
    rising: Annotated[list[str] | None, _RISING] = None,
    falling: Annotated[list[str] | None, _FALLING] = None,
    interactions: Annotated[list[str] | None, _INTERACTIONS] = None,
    checkpoint: Annotated[str | None, _CHECKPOINT] = None,
    threshold: decide.Threshold = None,
    find: decide.Find = None,
    costs: decide.Costs = None,
    label: decide.Class = None,
    group: options.Group = None,
    time: options.Time = None,
    by: options.By = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    gap: options.Gap = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    engine: Annotated[Literal["plain", "dask"], _ENGINE] = "plain",
    scheduler: Annotated[str | None, _SCHEDULER] = None,
    verbose: Annotated[bool, _VERBOSE] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn to predict a column of a table, show how well, and save the model.

    The model is a flock, found by a search over groups of sparse members and gates. Numbers,
    categories, text, dates and gaps are all right. Columns that only name the rows, or never
    change, are left out, with a note. The saved model is fitted on all rows. How right it is, is
    measured by models that are fitted in the same way without some rows, on these rows, beside the
    commonest class (or the mean) and a tuned linear model. Ctrl-C keeps what is finished.
    """
    from covey.cli import _evaluate as evaluating
    from covey.cli import _fitting as fitting
    from covey.cli._events import remembered
    from covey.cli._fit_summary import show_fit
    from covey.cli._fitting import flock
    from covey.cli._models import keep_evaluation, save_model
    from covey.cli._problem import read_problem
    from covey.cli._writing import check_writable
    from covey.evaluation import evaluate
    from covey.fusers._dynamic import METHODS
    from covey.members._constraints import constraints_in_words
    from covey.tables._known_columns import table_for

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    limits = {
        **fitting.checked_limits(max_features, max_members, max_terms),
        **fitting.checked_search(members, time_limit),
        **fitting.checked_loss(loss, power, task),
    }
    if simple and fuser:
        raise CommandError(
            "--simple: it is for the search, which --fuser replaces by Algorithm 1; leave one of "
            "them out."
        )
    bounded = {"rising": rising, "falling": falling, "interactions": interactions}
    constraints = fitting.checked_constraints(**bounded)
    if constraints and (fuser or members == "mixed" or engine == "dask"):
        raise CommandError(
            f"--{next(option for option, one in bounded.items() if one)}: it is not for --fuser, "
            "--members mixed and --engine dask; leave it or these out."
        )
    of_flocks = {**bounded, "simple": simple, "fuser": fuser, "effort": effort != "balanced"}
    of_flocks["checkpoint"] = checkpoint
    given = [*limits, *(option for option, one in of_flocks.items() if one)]
    if linear and given:
        raise CommandError(
            f"--{given[0].replace('_', '-')}: it is for flocks, and --linear takes none; leave "
            "one of them out."
        )
    mixed = members == "mixed" or (members is None and effort == "best" and not constraints)
    if no_rows and (mixed or fuser in METHODS):
        raise CommandError(
            "--no-rows: kernel machines, neighbors and dynamic selection predict by rows; give "
            "--members linear, and another --fuser."
        )
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
        import covey.reporting
        from covey.cli._report import write_report
    started = clock.perf_counter()
    how_to_search = dict[str, Any](effort=effort, fuser=fuser, seed=seed)
    reading = dict[str, Any](group=group, time=time, by=by, drop=drop, keep=keep, gap=gap)
    reading.update(exposure=exposure, task="numbers" if loss or exposure else task)
    of_rows = {"target": target, **reading, "task": task}
    of_model = {**of_flocks, **limits, "threshold": threshold, "find": find, "costs": costs}
    of_model |= {"class": label, "seed": seed or None, "linear": linear, "checkpoint": None}
    of_model["effort"] = effort
    if engine == "dask":
        if linear or simple:
            raise CommandError(
                f"--{'linear' if linear else 'simple'}: it is for --engine plain; leave one of "
                "them out."
            )
        import covey.dask  # noqa: F401 (names what to install)
        from covey.cli import _dask

        whole = ("group", "time", "by", "exposure")
        _dask.refuse(fuser, **{option: reading.pop(option) for option in whole})
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
        problem = read_problem(table, target, console, **reading)
        fitting.check_constraints(problem, constraints)
        fitting.check_target(problem, loss)
        how_to_decide = decide.for_problem(decision, problem) if decision else None
        rivals, line = evaluating.simplest(problem), evaluating.linear(problem, seed)
        if linear:
            ((name, learner),) = line.items()
        else:
            wanted = {**_SIMPLE, **limits} if simple else limits
            name = "flock"
            learner = flock(problem, limits={**wanted, **constraints}, **how_to_search)
            rivals.update(line)
        full = {option: limits[option] for option in limits if option not in _SIMPLE}
        splits, how = evaluating.make_splits(problem, seed)
        # A file for each part's flock, and one for that of all rows.
        parts = range(1, len(splits) + 1)
        files = [*(f"{checkpoint}.{part}" for part in parts), checkpoint] if checkpoint else []
        found = evaluating.fitted_and_judged(
            *(console, problem, name, learner, rivals, splits, how, seed),
            full=flock(problem, limits=full, **how_to_search) if simple else None,
            free=flock(problem, limits=wanted, **how_to_search) if constraints else None,
            files=files or None,
        )
        if not found.is_whole:
            console.note(
                "Stopped: the model is the best that was found by then. Rows by which it is "
                f"judged: {found.how}."
            )
        for kept in constraints_in_words(found.model, problem.target) if constraints else ():
            console.note(f"Constraints: {kept}.")
        if how_to_decide:
            made = decide.set_decision(found.model, how_to_decide, found.held_out)
            console.note(made.sentence())
        rows, n_rows = problem.table[list(problem.kinds)], len(problem.y)
        rows = rows if found.held_out is None else rows.iloc[found.held_out.rows]
    evaluation = evaluate(
        found.model,
        table_for(found.model, rows),
        held_out=found.held_out,
        by=None if problem.by is None else problem.by.loc[rows.index],
        target=problem.target,
        n_rows=n_rows,
        remarks=problem.guards,
        health=problem.health,
    )
    for remark in evaluation.remarks:
        console.note(remark.sentence)
    keep_evaluation(found.model, problem, evaluation, problem.table, found.held_out)
    found.model.life_ = remembered(found.model, "fit", table, n_rows, plan=reading)
    save_model(found.model, model, problem.table, keeps_rows=not no_rows)
    for file in files:
        Path(file).unlink(missing_ok=True)
    report = None if found.held_out is None else report
    if report:
        write_report(evaluation, report, f"Predicting “{problem.target}” from {Path(table).name}")
    show_fit(
        console,
        evaluation,
        model=model,
        report=report,
        seconds=clock.perf_counter() - started,
        command=[] if engine == "dask" or exposure else [table, *_words(of_rows)],
        of_model=_words(of_model),
        verbose=verbose,
    )
    if not found.is_whole:
        raise typer.Exit(130)


def _words(options: dict[str, Any]) -> list[str]:
    """Return the words after ``covey fit`` that give these options again."""
    words = []
    for option, given in options.items():
        for value in given if isinstance(given, list | tuple) else [given]:
            if value not in (None, False, "auto", "balanced"):
                words.append(f"--{option.replace('_', '-')}")
                words += [] if value is True else [str(value)]
    return words
