"""``covey check``."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from covey._number_words import named
from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (*options.FITTED, "covey check flock.covey wine.csv --report check.html")

# The exit status if something has changed.
CHANGED = 3
_LINE = 99

_TARGET = options.option(
    "The true values, if the table has them; by default the model's target.", metavar="COLUMN"
)
_REPORT = options.option("Write a page.", metavar="FILE.html")
_PROMETHEUS = options.option("Print numbers in the text format of Prometheus.", "--prometheus")
_REMEMBER = options.option("Add a line to the history in the model's file.", "--remember")


def check(
    model: options.Model,
    table: options.Table,
    sheet: options.Sheet = None,
    target: Annotated[str | None, _TARGET] = None,
    report: Annotated[str | None, _REPORT] = None,
    prometheus: Annotated[bool, _PROMETHEUS] = False,
    remember: Annotated[bool, _REMEMBER] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find out whether a model still holds on new rows, with or without their true values.

    Each column is compared with what the model remembers of its own rows: other values, gaps,
    categories that are new, other units, later dates. So are its decisions: who decides, how sure,
    which classes. Then it says how right to expect it, without any label, and, if the table has
    the target, how right it is. Exit status: 0 nothing has changed, 3 something has, 1 could not
    do it, 2 bad input.
    """
    import numpy as np
    import pandas as pd

    from covey.cli import _models as models
    from covey.cli._events import remembered
    from covey.cli._problem import check_column, row_hashes
    from covey.cli._reading import read_pieces
    from covey.cli._writing import check_writable, writing
    from covey.evaluation._checking import RowCounts
    from covey.tables._known_columns import formats_of, kinds_of, table_for

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    check_writable(report, (".html", ".htm"), inputs=(table, model))
    if prometheus and as_json:
        raise CommandError("--prometheus: it prints text, and --json prints JSON; give one.")
    fitted = models.load_model(model)
    if remember:
        check_writable(model)
    if report:
        from covey.reporting import build_check_page
    classes, numbers = getattr(fitted, "classes_", None), models.number_columns(fitted)
    wanted = target or getattr(getattr(fitted, "evaluation_", None), "target", None)
    columns = {*fitted.feature_names_in_, *([wanted] if wanted else [])}
    if wanted and (classes is None or np.issubdtype(classes.dtype, np.number)):
        numbers = {*numbers, wanted}
    counts, first, formats, n_known = RowCounts(fitted), None, formats_of(fitted), 0
    known = getattr(fitted, "seen_", ())
    for piece, _ in read_pieces(table, numbers, columns, formats=formats, note=console.note):
        if first is None:
            first = piece.head(1)
            models.check_needed(fitted, piece.columns, table)
            if target:
                check_column(piece, target, "--target")
        truth: Any = None
        if wanted in piece.columns:
            truth = pd.Series(models.truth_of(piece[wanted], classes)[0], dtype=object)
            truth = truth.where(piece[wanted].notna().to_numpy(), None).to_numpy()
        counts.add(piece, truth)
        if len(known):
            rows = row_hashes(table_for(fitted, piece), kinds_of(fitted))
            n_known += int(np.isin(rows, known).sum())
    if n_known:
        console.note(f"{n_known:,} of these rows were fitted on: a check is of new rows.")
    if first is None:
        raise CommandError(f"{table} has a header but no rows.")
    if target and classes is not None and counts.truths[0] and not counts.true.now.any():
        raise CommandError(f"--target: {target!r} holds none of the classes that it predicts.")
    found = counts.found()
    if report:
        page = build_check_page(found, title=f"{Path(model).name} on {Path(table).name}")
        with writing(report):
            page.save(report)
    if remember:
        # Without values of the rows, which sentences name.
        said = f"changed: {named(found.changed, 8)}" if found.changed else "nothing has changed"
        fitted.life_ = remembered(fitted, "check", table, found.n_rows, said)
        models.save_model(fitted, model, first, keeps_rows=hasattr(fitted, "seen_"))
    if prometheus:
        console.result(*found.to_prometheus().splitlines())
    else:
        for line, sentence in enumerate(found.sentences):
            indent = "  " if line else ""
            console.result(
                *textwrap.wrap(sentence, _LINE, initial_indent=indent, subsequent_indent="  ")
            )
        console.result("", *(line for one in found.remarks for line in textwrap.wrap(one, _LINE)))
        console.result(*([f"Wrote {report}."] if report else []))
    console.emit(report=report, **found.as_dict())
    if not found.holds:
        raise typer.Exit(CHANGED)
