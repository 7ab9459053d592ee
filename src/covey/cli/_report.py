"""``covey report``."""

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, guarded

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey report flock.covey wine.csv --out report.html",
)


def add_to(app):
    """Add the command."""
    app.command(
        "report", short_help="Show on a page how good a model is, and why.", epilog=_EXAMPLE
    )(guarded(report))


def report(
    model: options.Model,
    table: options.Table,
    out: Annotated[str, typer.Option(metavar="FILE.html", help="Where to write it.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The true answers; by default the model's target."),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Write a page that shows how good a model is on a table, who decides, and why.

    Give rows that the model has not seen: with others the page flatters, and covey says so.
    """
    from covey.cli import _models as models
    from covey.cli._question import check_column
    from covey.cli._reading import read_table
    from covey.cli._writing import check_writable

    console = Console(quiet, as_json)
    check_writable(out, (".html", ".htm"))
    check_reporting()
    fitted = models.load_model(model)
    if not hasattr(fitted, "classes_"):
        raise CommandError("a report is about classes, and this model predicts numbers.")
    about = getattr(fitted, "about_", {})
    target = target or about.get("target")
    if target is None:
        raise CommandError("give --target: the column of the true answers.")
    frame = read_table(
        table,
        {*models.numbers_of(fitted), *_number_target(fitted, target)},
        answers=[target],
        decimal_commas=about.get("decimal_commas", []),
    )
    check_column(frame, target, "--target")
    models.check_needed(fitted, frame.columns, table)
    frame = _known_rows(frame, target, fitted, console)
    labels = models.labels_like(fitted.classes_, frame[target])
    if hasattr(fitted, "seen_"):
        import numpy as np

        again = int(np.isin(models.fingerprints(fitted, frame), fitted.seen_).sum())
        if again:
            console.note(
                f"{again:,} of these {len(frame):,} rows were fitted on: the report flatters."
            )
    write_report(
        fitted,
        frame,
        labels,
        out,
        target=target,
        baselines=[
            {**one, "name": f"{one['name']}, held out when fitted"}
            for one in about.get("scores", [])
        ],
        health=about.get("health", []),
        title=f"{target}: {model} on {table}",
    )
    accuracy = float((fitted.predict(frame) == labels).mean())
    console.result(f"Accuracy {100 * accuracy:.1f} % on {len(frame):,} rows. Wrote {out}.")
    console.emit(report=out, rows=len(frame), accuracy=accuracy)


def _number_target(fitted, target):
    import numpy as np

    return [target] if np.issubdtype(fitted.classes_.dtype, np.number) else []


def _known_rows(frame, target, fitted, console):
    """The rows whose answer is one of the model's classes."""
    import numpy as np

    from covey.cli._models import labels_like

    gaps = frame[target].isna()
    if gaps.any():
        console.note(
            f"{target}: {gaps.sum()} of {len(frame)} rows have no answer and are left out."
        )
        frame = frame[~gaps].reset_index(drop=True)
    labels = labels_like(fitted.classes_, frame[target])
    known = np.isin(labels, fitted.classes_)
    if not known.any():
        raise CommandError(
            f"--target: no value of {target!r} is a class of the model, such as "
            f"{fitted.classes_.tolist()[0]!r}."
        )
    if not known.all():
        example = labels[~known][0]
        console.note(
            f"{target}: {int((~known).sum())} rows have answers that the model does not know "
            f"({example!r}) and are left out."
        )
    return frame[known].reset_index(drop=True)


def check_reporting():
    """Say before anything slow happens that reports cannot be made."""
    try:
        import covey.reporting  # noqa: F401
    except ImportError as error:
        raise CommandError(f"a report cannot be made: {error}", 1) from None


def write_report(model, X, y, path, *, target, baselines, health, title):
    """Build a report on rows and write it, whole or not at all."""
    import shlex
    import sys

    from covey.cli._writing import whole_file
    from covey.reporting import build_report

    page = build_report(
        model,
        X.reset_index(drop=True),
        y,
        title=title,
        target=target,
        task="classification",
        baselines=baselines,
        data_health=health,
        command=shlex.join(["covey", *sys.argv[1:]]),
    )
    with whole_file(path) as beside:
        page.save(beside)
