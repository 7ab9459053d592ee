"""``covey fit``."""

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, guarded

_MOST_COLUMNS_SHOWN = 10
_ENGINES = ("plain", "dask")

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey fit wine.csv --target cultivar --effort fast --engine dask --drop bottle --drop shade",
)


def add_to(app):
    """Add the command."""
    app.command(
        "fit", short_help="Learn to predict a column, and save the model.", epilog=_EXAMPLE
    )(guarded(fit))


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
        str, typer.Option(metavar="fast|balanced|best", help="How long to search.")
    ] = "balanced",
    fuser: Annotated[
        str,
        typer.Option(help="How members are fused: gate, product, mean, majority, median, ..."),
    ] = "gate",
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
        str,
        typer.Option(
            metavar="plain|dask",
            help="dask: a table beyond memory, or on a cluster, of numbers; TABLE may then be a "
            "folder, a pattern such as 'rows/*.parquet', or an address such as s3://...",
        ),
    ] = "plain",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine dask: where the cluster's scheduler is, such as "
            "tcp://10.0.0.1:8786; by default the work is done here, block by block.",
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Learn to predict a column of a table, say how well, and save the model.

    Numbers, categories, text, dates and gaps are all right. Columns that only name the rows, or
    never change, are left out, and said to be. The accuracy is that on rows held out, beside the
    commonest class and a tuned linear model; the model that is saved has seen all rows.
    """
    fit_and_save = _chosen(engine, scheduler)
    fit_and_save(
        Console(quiet, as_json),
        table,
        target,
        model=model,
        report=report,
        effort=effort,
        fuser=fuser,
        checkpoint=checkpoint,
        group=group,
        time=time,
        drop=drop,
        keep=keep,
        task=task,
        seed=seed,
    )


def _chosen(engine, scheduler):
    """The function that does it, by the name of the engine."""
    from covey.cli._question import check_choice

    check_choice(engine, "--engine", _ENGINES)
    if engine == "dask":
        from functools import partial

        from covey.cli._dask import fit_and_save

        return partial(fit_and_save, scheduler=scheduler)
    if scheduler is not None:
        raise CommandError("--scheduler: it is for --engine dask, which is not given.")
    return _fit_and_save


def _fit_and_save(
    console,
    path,
    target,
    *,
    model,
    report,
    effort,
    fuser,
    checkpoint,
    group,
    time,
    drop,
    keep,
    task,
    seed,
):
    """Read, evaluate, fit on all rows, save, and say it.

    Parameters
    ----------
    console : Console
    path, target, model, report, effort, fuser, checkpoint, group, time, drop, keep, task, seed
        As the command's.
    """
    import time as clock
    from pathlib import Path

    import numpy as np

    from covey.cli import _evaluate as evaluate
    from covey.cli._fitting import fit_rows, flock, table_model
    from covey.cli._models import check_saving, remember_rows, save_model
    from covey.cli._question import ask
    from covey.cli._writing import check_writable

    check_writable(model, (".covey",))
    check_writable(report, (".html", ".htm"))
    check_saving()
    if report:
        from covey.cli._report import check_reporting

        check_reporting()
    question = ask(path, target, console, group=group, time=time, drop=drop, keep=keep, task=task)
    if report and question.numbers:
        console.note("report: it is about classes, and this target is a quantity; none is made.")
        report = None
    if checkpoint and question.numbers:
        raise CommandError("--checkpoint: there is none for quantities; leave it out.")
    learner = table_model(question, flock(question, effort=effort, fuser=fuser, seed=seed), seed)
    splits, how = evaluate.make_splits(question, seed)
    files = None
    if checkpoint:
        check_writable(checkpoint)
        # A file for each fold's flock, and one for that of all rows.
        files = [f"{checkpoint}.{number}" for number in range(1, len(splits) + 1)] + [checkpoint]
    started = clock.perf_counter()
    n_fits = 3 * len(splits) + 1
    with console.progress(n_fits, "looking") as step:
        baselines = [
            evaluate.score(name, rival, question, splits, step)[0]
            for name, rival in (evaluate.simplest(question), evaluate.linear(question, seed))
        ]
        result, held_out = evaluate.score("flock", learner, question, splits, step, files)
        step(f"flock, on all {len(question.y):,} rows")
        fitted = fit_rows(learner, question, np.arange(len(question.y)), files and files[-1])
        step("flock", 1)
    scores = [result, *baselines]
    fitted.about_ = {
        "target": target,
        "held_out": how,
        "n_rows": len(question.y),
        "scores": [one.as_baseline(question.numbers) for one in scores],
        "health": question.health,
        "decimal_commas": question.decimal_commas,
    }
    remember_rows(fitted, question.table)
    save_model(fitted, model)
    for file in files or []:
        Path(file).unlink(missing_ok=True)
    if report:
        from covey.cli._report import write_report

        test = splits[0][1]
        write_report(
            held_out,
            question.table.iloc[test],
            question.y[test],
            report,
            target=target,
            # On the very rows of the page, to be fair.
            baselines=[
                one.on_first(len(test), question.groups).as_baseline() for one in baselines
            ],
            health=question.health,
            title=f"{target}: a flock fitted on {len(splits[0][0]):,} rows, reported on "
            f"{len(test):,} others",
        )
    seconds = clock.perf_counter() - started
    gap = None
    if not question.numbers:
        gap = evaluate.difference(scores[0], scores[2], question.groups)
    say(
        console,
        question,
        fitted,
        scores,
        how,
        model,
        report,
        seconds,
        n_rows=len(question.y),
        gap=gap,
    )


def say(console, question, fitted, scores, how, model, report, seconds, *, n_rows, gap):
    """Say what was learnt, from how many rows, and how far it is from the linear model.

    Parameters
    ----------
    console : Console
    question : Question
    fitted : TableClassifier or TableRegressor
    scores : list of Score
        Of the flock, the simplest model and the linear one.
    how : str
        How rows were held out.
    model, report : str or None
        The files.
    seconds : float
        In all.
    n_rows : int
    gap : (float, float, float) or None
        The difference of two accuracies and its interval.
    """
    from covey.cli import _evaluate as evaluate

    numbers = question.numbers
    head = ("", "R2" if numbers else "accuracy", "RMSE" if numbers else "log-loss", "fit, s")
    rows = [
        (one.name, evaluate.measured(one, numbers), f"{one.loss:.4g}", f"{one.seconds:.1f}")
        for one in scores
    ]
    what = "a quantity" if numbers else f"{len(fitted.classes_)} classes"
    console.result(
        f"{question.target}: {what}, {n_rows:,} rows, "
        f"{len(question.kinds)} of {len(question.columns)} columns. "
        f"On rows held out ({how}), with 95 % intervals:",
        "",
    )
    console.table(head, rows)
    if gap is not None:
        console.result(
            "",
            f"The flock is {100 * gap[0]:+.1f} points from the linear model "
            f"({100 * gap[1]:+.1f} to {100 * gap[2]:+.1f} on the same rows).",
        )
    shares = zip(fitted.feature_names_in_, fitted.feature_importances_.tolist(), strict=True)
    importances = sorted(shares, key=lambda pair: -pair[1])
    console.result("", "What it looks at:")
    console.table(
        ("column", "kind", "share"),
        [
            (name, question.kinds[name], f"{100 * share:.0f} %")
            for name, share in importances[:_MOST_COLUMNS_SHOWN]
        ],
    )
    if len(importances) > _MOST_COLUMNS_SHOWN:
        console.result(f"and {len(importances) - _MOST_COLUMNS_SHOWN} more columns")
    console.result("", f"Saved {model}, fitted on all rows ({seconds:.1f} s in all).")
    if report:
        console.result(f"Wrote {report}.")
    console.emit(
        target=question.target,
        task="numbers" if numbers else "classes",
        classes=None if numbers else fitted.classes_,
        rows=n_rows,
        held_out=how,
        scores=[one.as_baseline(numbers) for one in scores],
        difference_from_linear=gap,
        columns=question.health,
        importances=dict(importances),
        members=int(fitted.estimator_.n_estimators_),
        model=model,
        report=report,
        seconds=seconds,
    )
