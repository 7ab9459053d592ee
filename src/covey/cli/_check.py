"""``covey check``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey._number_words import named
from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import pandas as pd

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
    the target, how right it is. Of a long table some 100,000 rows are looked at. Exit status: 0
    nothing has changed, 3 something has, 1 could not do it, 2 bad input.
    """
    from covey.cli import _models as models
    from covey.cli._events import remembered
    from covey.cli._writing import check_writable
    from covey.evaluation._checking import RowCounts

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    check_writable(report, (".html", ".htm"), inputs=(table, model))
    if prometheus and as_json:
        raise CommandError("--prometheus: it prints text, and --json prints JSON; give one.")
    fitted = models.load_model(model)
    frame, truth, n_rows = _some_rows(fitted, table, target, console)
    found = RowCounts(fitted).looked_at(frame, truth).found(n_rows)
    if report:
        import covey.reporting  # noqa: F401 (names what to install)
        from covey.cli._writing import writing
        from covey.reporting._check_page import build_check_page

        title = f"{Path(model).name} on {Path(table).name}"
        page = build_check_page(found, title=title)
        with writing(report):
            page.save(report)
    if remember:
        # Without values of the rows, which sentences name.
        said = f"changed: {named(found.changed, 8)}" if found.changed else "nothing has changed"
        fitted.life_ = remembered(fitted, "check", table, n_rows, said)
        models.save_model(fitted, model, frame, keeps_rows=hasattr(fitted, "seen_"))
    if prometheus:
        console.result(found.to_prometheus().rstrip("\n"))
    else:
        show_check(console, found)
        if report:
            console.result(f"Wrote {report}.")
    console.emit(report=report, **found.as_dict())
    if not found.holds:
        raise typer.Exit(CHANGED)


def show_check(console: Console, found: Any) -> None:
    """Show the findings, and below them what they rest on."""
    for number, sentence in enumerate(found.sentences):
        indent = "" if not number else "  "
        console.result(
            *textwrap.wrap(sentence, _LINE, initial_indent=indent, subsequent_indent="  ")
        )
    console.result("", *(line for one in found.remarks for line in textwrap.wrap(one, _LINE)))


def _some_rows(
    model: Any, path: str, target: str | None, console: Console
) -> tuple[pd.DataFrame, Any, int]:
    """Return evenly spaced rows of a table, their true values if known, and the number of all."""
    import numpy as np
    import pandas as pd

    from covey.cli import _models as models
    from covey.cli._problem import check_column
    from covey.cli._reading import read_pieces
    from covey.evaluation._checking import most_rows
    from covey.tables._known_columns import formats_of

    classes, numbers = getattr(model, "classes_", None), models.number_columns(model)
    wanted = target or getattr(getattr(model, "evaluation_", None), "target", None)
    if wanted and (classes is None or np.issubdtype(classes.dtype, np.number)):
        numbers = {*numbers, wanted}
    needed = list(model.feature_names_in_)
    n_rows = 0

    def pieces() -> Iterator[pd.DataFrame]:
        nonlocal n_rows
        columns, formats = {*needed, *([wanted] if wanted else [])}, formats_of(model)
        for piece, _ in read_pieces(path, numbers, columns, formats=formats, note=console.note):
            if not n_rows:
                models.check_needed(model, piece.columns, path)
                if target:
                    check_column(piece, target, "--target")
            n_rows += len(piece)
            yield piece

    frame = evenly_spaced(pieces(), most_rows(len(needed)))
    if frame is None:
        raise CommandError(f"{path} has a header but no rows.")
    if wanted is None or wanted not in frame.columns:
        return frame, None, n_rows
    values = pd.Series(models.truth_of(frame[wanted], classes)[0], dtype=object)
    return frame, values.where(frame[wanted].notna().to_numpy(), None).to_numpy(), n_rows


def evenly_spaced(pieces: Iterator[pd.DataFrame], most: int) -> pd.DataFrame | None:
    """Return evenly spaced rows of a table in pieces, at most twice as many as ``most``.

    Where there are more, every other one of those kept is left out, and then every other new one.
    """
    import pandas as pd

    kept: list[pd.DataFrame] = []
    stride, n_rows, n_kept = 1, 0, 0
    for piece in pieces:
        own = piece.iloc[-n_rows % stride :: stride].copy()
        n_rows, n_kept = n_rows + len(piece), n_kept + len(own)
        kept.append(own)
        while n_kept > 2 * most:
            kept = [pd.concat(kept, ignore_index=True).iloc[::2].copy()]
            stride, n_kept = 2 * stride, len(kept[0])
    return pd.concat(kept, ignore_index=True) if kept else None
