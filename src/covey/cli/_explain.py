"""``covey explain``."""

from __future__ import annotations

from typing import Annotated, Any

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (*options.FITTED, "covey explain flock.covey wine.csv --row 17 --html card.html")


_ROW = options.option("Which row; 1 is the first of the table.", min=1, metavar="NUMBER")
_HTML = options.option("Write a page with bars and what-if sliders, too.", metavar="FILE.html")
_FIXED = options.option("A column that cannot change; repeatable.", metavar="COLUMN")
_TO = options.option(
    "The class, or the number, that a change should lead to; by default any other class.",
    metavar="ANSWER",
)


def explain(
    model: options.Model,
    table: options.Table,
    row: Annotated[int, _ROW],
    sheet: options.Sheet = None,
    html: Annotated[str | None, _HTML] = None,
    fixed: Annotated[list[str] | None, _FIXED] = None,
    to: Annotated[str | None, _TO] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Explain one row: the answer, why, how sure, who decided, and what would change it.

    A column's contribution is measured from the average of rows that the model was fitted on, and
    all contributions sum to the answer. The smallest change is one of at most two columns, to
    values that the model has seen; name columns that cannot change with --fixed.
    """
    from covey.cli import _models as models
    from covey.cli._writing import check_writable, writing
    from covey.inspection import row_card
    from covey.tables._known_columns import table_for, unread_values

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    check_writable(html, (".html", ".htm"), inputs=(table, model))
    if html is not None:
        import covey.reporting  # noqa: F401 (names what to install)
    fitted = models.load_model(model)
    for name in fixed or ():
        if name not in fitted.feature_names_in_:
            raise CommandError(f"--fixed: the model has no column {name!r}.")
    for correction in fitted.corrections_:
        console.note(f"The model was corrected: {correction}")
    wanted = _wanted(fitted, to)
    before = 0
    for piece, _ in models.pieces_for(fitted, table):
        if row <= before + len(piece):
            break
        before += len(piece)
    else:
        raise CommandError(f"--row {row}: {table} has {before:,} rows.")
    given = piece.iloc[[row - before - 1]].reset_index(drop=True)
    card = row_card(fitted, table_for(fitted, given), to=wanted, fixed=fixed or ())
    card.unusual.extend(unread_values(fitted, given))
    target = getattr(getattr(fitted, "evaluation_", None), "target", None)
    title = f"Row {row} of {table}"
    console.result(f"{title}, {target}:" if target else f"{title}:", *card.text())
    if html is not None:
        from covey.reporting import build_row_page

        with writing(html):
            build_row_page(card, title=title, target=target).save(html)
        if not as_json:
            console.note(f"Wrote {html}.")
    console.emit(row=row, html=html, **card.as_dict())


def _wanted(model: Any, to: str | None, option: str = "--to") -> Any:
    """Return the wanted answer in the model's own type."""
    if to is None:
        return None
    if not hasattr(model, "classes_"):
        try:
            return float(to)
        except ValueError:
            raise CommandError(
                f"{option}: the model predicts numbers, and {to!r} is none."
            ) from None
    for label in model.classes_.tolist():
        if str(label) == to:
            return label
    shown = ", ".join(repr(str(label)) for label in model.classes_.tolist()[:5])
    raise CommandError(f"{option}: {to!r} is not a class of the model ({shown}).")
