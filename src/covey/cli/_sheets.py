"""Tables in spreadsheets: xlsx, xls and ods.

python-calamine reads all three, ten times as fast as openpyxl does xlsx, with one small package
and without running a formula or following a link: it takes the values that were last shown.
"""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from covey.cli._cells import batches_of
from covey.cli._console import CommandError
from covey.cli._text_tables import Note, column_names

if TYPE_CHECKING:
    import pyarrow as pa

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# An archive of a few kilobytes may hold much more than any memory.
_MOST_BYTES = 1 << 31


def sheet_batches(
    source: Any, name: str, sheet: str | None, columns: Iterable[str] | None, note: Note | None
) -> Iterator[pa.RecordBatch]:
    """Record batches of one sheet, by its name or its number from 1 on."""
    rows = _rows(source, name, sheet, note)
    first = _first_row(rows)
    if first is None:
        raise CommandError(f"{name} is empty; a table has a header line and rows.")
    if any(_n_filled(row) for row in rows[:first]) and note:
        note(
            f"{name}: row {first + 1} is taken as the names of columns, what is above as a title."
        )
    header = rows[first]
    body = [row for row in rows[first + 1 :] if _n_filled(row)]
    # Columns that are empty from top to bottom are margins.
    used = [
        place
        for place in range(len(header))
        if header[place] != "" or any(row[place] != "" for row in body)
    ]
    names = column_names([_named(header[place]) for place in used], name)
    values = ([_cell(row[place]) for place in used] for row in body)
    yield from batches_of(values, names, None if columns is None else set(columns))


def _first_row(rows: list[list[Any]]) -> int | None:
    """Where the table begins: a title above it has fewer cells than most rows."""
    filled = [_n_filled(row) for row in rows]
    used = sorted(count for count in filled if count)
    if not used:
        return None
    least = max(1, used[len(used) // 2] // 2 + 1) if used[len(used) // 2] > 1 else 1
    return next(place for place, count in enumerate(filled) if count >= least)


def _rows(source: Any, name: str, sheet: str | None, note: Note | None) -> list[list[Any]]:
    try:
        import python_calamine
    except ImportError:
        raise CommandError(
            f"{name} is a spreadsheet, which needs python-calamine; install it with: pip install "
            '"covey[cli]", or save the sheet as CSV.',
            1,
        ) from None
    _check_size(source, name)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(source)
        names = book.sheet_names
        if sheet is not None:
            chosen = _chosen(names, sheet, name)
            return book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
        for chosen in names:
            rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
            if rows:
                break
        else:
            return []
    except python_calamine.CalamineError as error:
        raise CommandError(
            f"{name} cannot be read as a spreadsheet ({str(error).splitlines()[0]}); save the "
            "table as CSV."
        ) from None
    if len(names) > 1 and note:
        note(f"{name} has {len(names)} sheets, and {chosen!r} is read; --sheet names another one.")
    return rows


def _check_size(source: Any, name: str) -> None:
    if zipfile.is_zipfile(source):
        try:
            with zipfile.ZipFile(source) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
                listed = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError):
            raise CommandError(f"{name} is a damaged spreadsheet; copy it again.") from None
        if not any(entry.startswith("xl/") or entry == "content.xml" for entry in listed):
            raise CommandError(f"{name} is an archive, not a spreadsheet; unpack it.")
        if size > _MOST_BYTES:
            raise CommandError(
                f"{name} unpacks to {size / 1e9:.1f} GB; save the table as CSV or Parquet."
            )
    source.seek(0)


def _chosen(names: list[str], sheet: str, name: str) -> str:
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    listed = ", ".join(repr(one) for one in names[:8])
    raise CommandError(
        f"--sheet: {name} has no sheet {sheet!r}; it has {listed}"
        f"{' and more' if len(names) > 8 else ''}."
    )


def _n_filled(row: list[Any]) -> int:
    return sum(cell != "" for cell in row)


def _named(cell: Any) -> str:
    return str(int(cell) if isinstance(cell, float) and cell == int(cell) else cell)


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    return cell
