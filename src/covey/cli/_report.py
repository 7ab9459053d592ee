"""``covey report``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from covey.evaluation import Evaluation

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey report flock.covey wine.csv --out report.html",
)


def report(
    model: options.Model,
    table: options.Table,
    out: Annotated[str, typer.Option(metavar="FILE.html", help="Where to write it.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The true values; by default the model's target."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="What names the rows; by default they are counted."
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page that shows how right a model is on a table, what it looks at, and why.

    Give rows that the model has not seen: on others it looks better than it is, which covey
    notes.
    """
    import numpy as np

    from covey.cli import _models as models
    from covey.cli._fit_summary import show_answers
    from covey.cli._problem import check_column
    from covey.cli._reading import read_table
    from covey.cli._writing import check_writable
    from covey.evaluation import evaluate
    from covey.tables._known_columns import table_for

    console = Console(quiet, as_json)
    check_writable(out, (".html", ".htm"))
    check_reporting()
    fitted = models.load_model(model)
    known = getattr(fitted, "evaluation_", None)
    target = target or getattr(known, "target", None)
    if not target:
        raise CommandError("give --target: the column of the true values.")
    classes = getattr(fitted, "classes_", np.empty(0))
    numeric = [target] if np.issubdtype(classes.dtype, np.number) else []
    frame = read_table(
        table,
        {*models.number_columns(fitted), *numeric},
        labels=[target],
        formats=models.formats_of(fitted),
    )
    check_column(frame, target, "--target")
    if name is not None:
        check_column(frame, name, "--id")
    models.check_needed(fitted, frame.columns, table)
    frame, truth = _known_rows(frame, target, fitted, console)
    caution = None
    if hasattr(fitted, "seen_"):
        again = int(np.isin(models.fingerprints(fitted, frame), fitted.seen_).sum())
        if again:
            rows = f"{again:,} of these {len(frame):,} rows were fitted on"
            console.note(f"{rows}: the report flatters.")
            caution = f"{rows}: on new ones the model is less right than it looks here."
    promised = None if known is None else known.own
    evaluation = evaluate(
        fitted,
        # What is said is about the columns of this table that the model reads.
        table_for(fitted, frame),
        truth,
        target=target,
        n_rows=0 if known is None else known.n_rows,
        caution=caution,
        # As in the file: the first row below the header has 1.
        row_names=frame.index + 1 if name is None else frame[name],
        # What was promised when it was fitted stands beside what new rows say.
        rivals={}
        if promised is None
        else {f"{promised.name}, held out when fitted": promised.measures},
    )
    write_report(evaluation, out, f"Predicting “{target}” of {Path(table).name}")
    show_answers(console, evaluation)
    console.result("", f"Wrote {out}.")
    score = evaluation.scores[0]
    console.emit(
        report=out,
        rows=len(frame),
        **{measure: found.value for measure, found in score.measures.items()},
        evaluation=evaluation.as_dict(),
    )


def _known_rows(
    frame: pd.DataFrame, target: str, fitted: Any, console: Console
) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows whose true value is known to the model, and these values."""
    import numpy as np
    import pandas as pd

    from covey.cli._models import labels_like

    gaps = frame[target].isna()
    if gaps.any():
        console.note(
            f"{target}: {gaps.sum()} of {len(frame)} rows have no true value and are left out."
        )
        frame = frame[~gaps]
    if not hasattr(fitted, "classes_"):
        truth = pd.to_numeric(frame[target], errors="coerce").to_numpy(dtype=np.float64)
        known, unlike = np.isfinite(truth), "a number to compare with"
    else:
        truth = labels_like(fitted.classes_, frame[target])
        known = np.isin(truth, fitted.classes_)
        unlike = f"a class of the model, such as {fitted.classes_.tolist()[0]!r}"
    if not known.any():
        raise CommandError(f"--target: no value of {target!r} is {unlike}.")
    if not known.all():
        console.note(
            f"{target}: {int((~known).sum())} rows have values that the model does not know "
            f"({frame[target][~known].iloc[0]!r}) and are left out."
        )
    return frame[known], truth[known]


def check_reporting() -> None:
    """Report before anything slow happens that reports cannot be made."""
    try:
        import covey.reporting  # noqa: F401
    except ImportError as error:
        raise CommandError(f"a report cannot be made: {error}", 1) from None


def write_report(evaluation: Evaluation, path: str, title: str) -> None:
    """Write the page of an evaluation, completely or not at all."""
    from covey.cli._writing import writing
    from covey.reporting import build_report

    page = build_report(evaluation, title=title, command=shlex.join(["covey", *sys.argv[1:]]))
    with writing(path):
        page.save(path)
