"""``covey report``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from covey.evaluation import Evaluation

EXAMPLE = (*options.FITTED, "covey report flock.covey wine.csv --out report.html")


_TARGET = options.option("The true values; by default the model's target.", metavar="COLUMN")
_NAME = options.option(
    "The column that names the rows; by default they are counted.", "--id", metavar="COLUMN"
)


def report(
    model: options.Model,
    table: options.Table,
    out: Annotated[str, options.option("Where to write it.", metavar="FILE.html")],
    sheet: options.Sheet = None,
    target: Annotated[str | None, _TARGET] = None,
    name: Annotated[str | None, _NAME] = None,
    by: options.By = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page that shows how right a model is on a table, which columns it uses, and why.

    Give rows that the model has not seen: on others it looks better than it is, which covey notes.
    """
    import covey.reporting  # noqa: F401 (names what to install)
    from covey.cli import _models as models
    from covey.cli._fit_summary import show_answers
    from covey.cli._problem import check_column, checked_groups
    from covey.cli._writing import check_writable
    from covey.evaluation import evaluate

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    check_writable(out, (".html", ".htm"))
    fitted = models.load_model(model)
    known = getattr(fitted, "evaluation_", None)
    target = target or str(getattr(known, "target", ""))
    frame, rows, truth, caution = true_rows(fitted, table, target, console)
    if name is not None:
        check_column(frame, name, "--id")
    for correction in fitted.corrections_:
        console.note(f"The model was corrected: {correction}")
    if caution is not None:
        console.note(f"{caution.partition(':')[0]}: the report flatters.")
    promised = None if known is None else known.own
    evaluation = evaluate(
        fitted,
        rows,
        truth,
        target=target,
        n_rows=0 if known is None else known.n_rows,
        caution=caution,
        by=checked_groups(frame, by),
        # As in the file: the first row below the header has 1.
        row_names=frame.index + 1 if name is None else frame[name],
        # The results of the fit stand beside those of the new rows.
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


def true_rows(
    fitted: Any, table: str, target: str, console: Console
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, str | None]:
    """Return the rows of a table whose true value a model knows.

    They are as they were read, and as the model reads them; then come the true values, and a
    caution if the model was fitted on some of the rows.
    """
    import numpy as np

    from covey.cli import _models as models
    from covey.cli._problem import check_column, row_hashes
    from covey.cli._reading import read_table
    from covey.tables._known_columns import formats_of, kinds_of, table_for

    if not target:
        raise CommandError("give --target: the column of the true values.")
    promised_of = getattr(getattr(fitted, "evaluation_", None), "target", "")
    if promised_of.startswith(f"{target} per "):
        raise CommandError(
            f"--target: the model predicts {promised_of!r}; give a table that has this column."
        )
    classes, numbers = getattr(fitted, "classes_", None), models.number_columns(fitted)
    if classes is not None and np.issubdtype(classes.dtype, np.number):
        numbers.add(target)
    frame = read_table(table, numbers, labels=[target], formats=formats_of(fitted))
    check_column(frame, target, "--target")
    models.check_needed(fitted, frame.columns, table)
    for sentence in models.Notable(fitted).count(frame).sentences():
        console.note(sentence)
    frame, truth = _known_rows(frame, target, classes, console)
    # These are the columns of the table that the model reads.
    caution, rows = None, table_for(fitted, frame)
    if hasattr(fitted, "seen_"):
        again = int(np.isin(row_hashes(rows, kinds_of(fitted)), fitted.seen_).sum())
        if again:
            known_rows = f"{again:,} of these {len(frame):,} rows were fitted on"
            caution = f"{known_rows}: on new ones the model is less right than it looks here."
    return frame, rows, truth, caution


def _known_rows(
    frame: pd.DataFrame, target: str, classes: np.ndarray | None, console: Console
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows whose true value is known to the model, and these values."""
    from covey.cli._models import truth_of
    from covey.cli._problem import rows_with

    frame = rows_with(frame, target, "true value", console)
    truth, known = truth_of(frame[target], classes)
    if not known.any():
        unlike = "a number to compare with"
        if classes is not None:
            unlike = f"a class of the model, such as {classes.tolist()[0]!r}"
        raise CommandError(f"--target: no value of {target!r} is {unlike}.")
    if not known.all():
        console.note(
            f"{target}: {int((~known).sum())} rows have values that the model does not know "
            f"({frame[target][~known].iloc[0]!r}) and are left out."
        )
    truth = truth[known]
    return frame[known], truth if classes is None else classes[classes.searchsorted(truth)]


def write_report(evaluation: Evaluation, path: str, title: str) -> None:
    """Write the page of an evaluation, completely or not at all."""
    from covey.cli._writing import writing
    from covey.reporting import build_report

    page = build_report(evaluation, title=title, command=shlex.join(["covey", *sys.argv[1:]]))
    with writing(path):
        page.save(path)
