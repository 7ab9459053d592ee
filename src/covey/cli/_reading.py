"""Tables in, as data frames: numbers as floats and everything else as text, whole or in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute, types

from covey.cli._console import CommandError
from covey.cli._sources import Rows, batches, called, joined, parquet_columns
from covey.cli._text_tables import Note, ignored
from covey.tables._categories import numbers_among
from covey.tables._kinds import kind_of_text, too_large_of
from covey.tables._numbers import NumberFormat, as_numbers, read_numbers

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
SURELY_MISSING = ["", "NaN", "nan"]
# A target of numbers and words counts as numbers if it has this many different ones; otherwise the
# words are classes, too.
_FEWEST_NUMBERS_OF_A_TARGET = 20
# How many values of a column show that it is text, and no numbers.
_SAMPLE = 2_000


def read_table(
    path: str,
    numbers: Collection[str] | None = None,
    *,
    labels: Collection[str] = (),
    text: Collection[str] = (),
    formats: Mapping[str, NumberFormat] | None = None,
    gaps: Mapping[str, Sequence[str]] | None = None,
    note: Note = ignored,
    rows: Iterable[Rows] | None = None,
) -> pd.DataFrame:
    """Read a table as a data frame, with numbers as floats and everything else as text.

    ``path`` may be "-", standard input, or a sheet as in book.xlsx::2. ``numbers`` are the columns
    of numbers, if they are known; by default those that hold hardly anything else, and a value
    that cannot be read as a number is a gap, with a note. ``labels`` are columns of classes, which
    may be called None or NA: unless all other values in them are numbers, only an empty cell (or
    NaN) is a gap. Columns of ``text`` are not changed. ``formats`` are the known formats of
    columns of numbers; those of others must be clear, and ``attrs["formats"]`` has them all.
    ``gaps`` are values of columns that stand for gaps, with a note if one does not occur.
    ``attrs["text"]`` are columns of numbers that may be read in two ways, and stay text. ``rows``
    are some that were already read.
    """
    made = _Made(numbers, labels, text, dict(formats or {}), gaps or {}, note)
    with parquet_columns(path if rows is None else "-") as file:
        if file is not None:
            # One after another, since there may be no room for two tables.
            names = file.schema_arrow.names
            columns = ((name, file.read([name], use_threads=False).column(0)) for name in names)
            return made.frame(path, columns, file.metadata.num_rows, words=False)
    read = list(batches(path, note=note) if rows is None else rows)
    if not read:
        return made.frame(path, (), 0, words=True)
    (_, words, decimal), table = read[0], joined([some.batch for some in read])
    read.clear()
    columns = ((name, table.column(name)) for name in table.schema.names)
    return made.frame(path, columns, table.num_rows, words=words, decimal=decimal)


def read_pieces(
    path: str,
    numbers: Collection[str],
    columns: Collection[str] | None = None,
    *,
    copy: Sequence[str] = (),
    formats: Mapping[str, NumberFormat] | None = None,
    note: Note = ignored,
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield data frames that together are the table, each small enough for any memory.

    Each comes with a frame of the columns to ``copy``, as far as the table has them, in the types
    of the file. Other ``columns`` may be left unread. Unless the format of a column of numbers is
    known, the first piece must show it.
    """
    shown: dict[str, NumberFormat | None] = {}
    for rows in batches(path, columns, note):
        if rows.batch.num_rows:
            found = [name for name in copy if name in rows.batch.schema.names]
            copies = rows.batch.select(found).to_pandas(types_mapper=pd.ArrowDtype)
            yield known_frame(rows, numbers, formats or {}, shown), copies


def known_frame(
    rows: Rows,
    numbers: Collection[str],
    formats: Mapping[str, NumberFormat],
    shown: dict[str, NumberFormat | None],
    labels: Collection[str] = (),
) -> pd.DataFrame:
    """Return some rows of a table as a data frame, with known columns of numbers.

    ``shown`` gets the formats that these rows show; words for gaps are kept in ``labels``.
    """
    made = {}
    for name, column in zip(rows.batch.schema.names, rows.batch.columns, strict=True):
        column = _single(column, name in numbers)
        if _is_text(column.type):
            column = with_gaps(name, column) if rows.words and name not in labels else column
            if name in numbers:
                column = _known_numbers(name, column, formats, shown, rows.decimal)
        made[name] = column
    return pa.table(made).to_pandas()


def _known_numbers(
    name: str,
    column: Any,
    known: Mapping[str, NumberFormat],
    shown: dict[str, NumberFormat | None],
    decimal: str | None,
) -> Any:
    """Return text of a column of numbers as floats.

    If one value cannot be read, the preparation reads them one by one: it knows the format that
    the model was fitted on. A format that only this table shows is written as plain numbers.
    """
    form = known.get(name)
    if form is None:
        if name not in shown:
            reading = read_numbers(column.drop_null(), decimal)
            shown[name] = None if reading.ambiguous and decimal is None else reading.form
        form = shown[name]
    read = as_numbers(column) if form is None else form.numbers(column)
    if read.null_count == column.null_count:
        return read
    if form is None or name in known:
        return column
    return compute.coalesce(read.cast(column.type), column)


@dataclass
class _Made:
    """A frame in the making: facts about its columns, and findings."""

    numbers: Collection[str] | None
    labels: Collection[str]
    text: Collection[str]
    formats: dict[str, NumberFormat]
    gaps: Mapping[str, Sequence[str]]
    note: Note
    marks: set[str] = field(default_factory=set)  # decimal marks that the table surely has
    unclear: dict[str, Any] = field(default_factory=dict)  # text that may be numbers, by column

    def frame(
        self, path: str, columns: Any, n_rows: int, *, words: bool, decimal: str | None = "."
    ) -> pd.DataFrame:
        """Return the data frame of columns that come one by one."""
        if not n_rows:
            raise CommandError(f"{called(path)} has a header but no rows.")
        found = {}
        for name, column in columns:
            known = self.numbers is not None and name in self.numbers
            column = _single(column, known, name in self.text)
            column, declared = _without(column, self.gaps.get(name, ()))
            if _is_text(column.type) and name not in self.text:
                if words:
                    column = with_gaps(name, column, name in self.labels, self.note)
                if known:
                    column = _known_numbers(name, column, self.formats, {}, decimal)
                elif self.numbers is None:
                    column = self._as_found(name, column, decimal)
            column, absent = _without(column, declared)
            for word in absent:
                self.note(f"--gap: {name} never is {word!r} here; in new rows it will be a gap.")
            # A copy, so that Arrow's memory serves the next column.
            found[name] = column.to_pandas().copy()
            del column
        # The other columns may show how to read those that may be read in two ways.
        sure = next(iter(self.marks)) if len(self.marks) == 1 else None
        unclear, self.unclear = self.unclear, {}
        for name, column in unclear.items():
            read = self._as_found(name, column, sure, last=True)
            if _is_text(read.type):
                self.unclear[name] = column
            found[name] = read.to_pandas()
        frame = pd.DataFrame(found, copy=False)
        frame.attrs["formats"] = self.formats
        frame.attrs["text"] = sorted(self.unclear)
        self._tell()
        pa.default_memory_pool().release_unused()
        return frame

    def _as_found(self, name: str, column: Any, decimal: str | None, last: bool = False) -> Any:
        """Return a column of text as floats, if it holds numbers and may be read in one way."""
        present = column.drop_null()
        # A quick look: at least some of the first values have a digit.
        digits = compute.match_substring_regex(present[:_SAMPLE], r"\d")
        if not len(present) or compute.mean(digits).as_py() <= 0.5:
            return column
        found = kind_of_text(present, decimal=decimal)
        self.marks |= found.marks
        if found.ambiguous and decimal is None:
            self.unclear[name] = column
            if last and found.kind == "number":
                example = next(one for one in present.to_pylist() if "," in one)
                self.note(
                    f"{name}: {example!r} may have a decimal comma or thousands, so it is taken "
                    "as text; write numbers without commas."
                )
            return column
        if found.kind != "number":
            return column
        read = as_numbers(column) if found.form is None else found.form.numbers(column)
        if found.n_strange:
            read = compute.if_else(too_large_of(read), None, read)
            different = len(read.unique().drop_null())
            if name in self.labels and different < _FEWEST_NUMBERS_OF_A_TARGET:
                return column
            self.note(f"{found.remark(name, len(present))}.")
        if found.form is not None:
            self.formats[name] = found.form
        return read

    def _tell(self) -> None:
        """Name the columns of numbers that are written in a way of their own."""
        if not self.formats:
            return
        forms, listed = self.formats.values(), ", ".join(list(self.formats)[:5])
        more = f" and {len(forms) - 5} more" if len(forms) > 5 else ""
        how = [", ".join(sorted({form.unit for form in forms if form.unit}))]
        if any(form.decimal == "," for form in forms):
            how.append("decimal commas")
        elif any(form.grouped for form in forms):
            how.append("thousands set apart")
        ways = " and ".join(f"with {one}" for one in how if one)
        self.note(f"Read as numbers{f' ({ways})' if ways else ''}: {listed}{more}.")


def _single(column: Any, number: bool, as_text: bool = False) -> Any:
    """Return a column of Arrow with plain values; long whole numbers become text, by digits."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_null(column.type):
        column = column.cast(pa.string())
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if as_text or (types.is_integer(column.type) and not number and _is_long(column)):
        column = column.cast(pa.string())
    return column


def _is_text(kind: Any) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def with_gaps(name: str, column: Any, labels: bool = False, note: Note = ignored) -> Any:
    """Return a column with null in place of the words for a missing value."""
    gaps = compute.is_in(column, value_set=pa.array(MISSING, column.type))
    if not compute.any(gaps).as_py():
        return column
    rest = column.filter(compute.invert(gaps)).drop_null()
    if labels and len(rest) and read_numbers(rest).numbers.null_count:
        words = set(MISSING) - set(SURELY_MISSING)
        for word in sorted(words.intersection(column.unique().to_pylist())):
            note(
                f"{name}: {word!r} is taken as a class; leave such cells empty if the class is "
                "not known."
            )
        gaps = compute.is_in(column, value_set=pa.array(SURELY_MISSING, column.type))
    return compute.if_else(gaps, pa.scalar(None, column.type), column)


def _without(column: Any, gaps: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a column of Arrow without some values, and those of them that it does not have."""
    text = _is_text(column.type)
    if not (text or types.is_floating(column.type) or types.is_integer(column.type)):
        return column, []  # the model itself knows gaps among moments
    absent = []
    for gap in gaps:
        value = [gap] if text else numbers_among([gap])
        found = (
            compute.utf8_trim_whitespace(column) if text else column.cast(pa.float64(), safe=False)
        )
        is_gap = compute.is_in(found, value_set=pa.array(value, found.type))
        if compute.any(is_gap).as_py():
            column = compute.if_else(is_gap, pa.scalar(None, column.type), column)
        else:
            absent.append(gap)
    return column, absent


def _is_long(column: Any) -> bool:
    """Return whether some whole numbers have more digits than every float holds."""
    try:
        column.cast(pa.float64())
    except pa.ArrowInvalid:
        return True
    return False
