"""``covey explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey explain flock.covey wine.csv --row 17 --html card.html",
)


def explain(
    model: options.Model,
    table: options.Table,
    row: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Which row; 1 is the first of the table.")
    ],
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE.html", help="Write a page with bars and what-if sliders, too."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column that cannot change; repeatable."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="ANSWER",
            help="The class, or the number, that a change should lead to; by default any other "
            "class.",
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Explain one row: the answer, why, how sure, who decided, and what would change it.

    What a column adds is measured from the average of rows that the model was fitted on, and all
    columns together give the answer. The smallest
    change is one of at most two columns, to values that the model has seen; name columns that
    cannot change with --fixed.
    """
    from covey.cli._models import load_model
    from covey.cli._writing import check_writable, writing
    from covey.inspection import row_card

    console = Console(quiet, as_json)
    check_writable(html, (".html", ".htm"), inputs=(table, model))
    if html is not None:
        from covey.cli._report import check_reporting

        check_reporting()
    fitted = load_model(model)
    for name in fixed or ():
        if name not in fitted.feature_names_in_:
            raise CommandError(f"--fixed: the model has no column {name!r}.")
    wanted = _wanted(fitted, to)
    record = read_row(fitted, table, row)
    if fitted._seen_columns is None:
        raise CommandError(
            f"{model} was saved by an older covey, which did not keep what is typical; fit it "
            "again."
        )
    card = row_card(fitted, record, to=wanted, fixed=fixed or ())
    target = getattr(getattr(fitted, "evaluation_", None), "target", None)
    console.result(f"Row {row} of {table}" + (f", {target}:" if target else ":"), *card.text())
    if html is not None:
        from covey.reporting import build_row_page

        title = f"Row {row} of {table}"
        with writing(html):
            build_row_page(card, title=title, target=target).save(html)
        if not as_json and not quiet:
            console.note(f"Wrote {html}.")
    console.emit(row=row, html=html, **card.as_dict())


def _wanted(model: Any, to: str | None) -> Any:
    """The answer that is wanted, as the model has it."""
    if to is None:
        return None
    if not hasattr(model, "classes_"):
        try:
            return float(to)
        except ValueError:
            raise CommandError(f"--to: the model predicts numbers, and {to!r} is none.") from None
    for label in model.classes_.tolist():
        if str(label) == to:
            return label
    shown = ", ".join(repr(str(label)) for label in model.classes_.tolist()[:5])
    raise CommandError(f"--to: {to!r} is no class of the model ({shown}).")


def read_row(model: Any, table: str, row: int) -> pd.DataFrame:
    """One row of a table, with the columns that a model needs; 1 is the first."""
    from covey.cli._models import check_needed, formats_of, number_columns
    from covey.cli._reading import read_pieces
    from covey.tables._known_columns import table_for

    before = 0
    for piece, _ in read_pieces(
        table,
        number_columns(model),
        set(model.feature_names_in_),
        formats=formats_of(model),
    ):
        if not before:
            check_needed(model, piece.columns, table)
        if row <= before + len(piece):
            return table_for(model, piece.iloc[[row - before - 1]].reset_index(drop=True))
        before += len(piece)
    if not before:
        raise CommandError(f"{table} has a header but no rows.")
    raise CommandError(f"--row {row}: {table} has {before:,} rows.")
