"""Tables in, as data frames: numbers as floats and everything else as text, whole or in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covey._kinds import Found, kind_of_text, too_large_of
from covey._numbers import NumberFormat, as_numbers, read_numbers
from covey.cli._console import CommandError
from covey.cli._sources import batches, called, joined, parquet_columns
from covey.cli._text_tables import Note

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
SURELY_MISSING = ["", "NaN", "nan"]
# A target of numbers and of words has numbers from so many different ones on; of fewer, the words
# are classes, too.
_FEWEST_NUMBERS_OF_A_TARGET = 20
# So many values of a column tell that it is text, and no numbers.
_SAMPLE = 2_000


def read_table(
    path: str,
    numbers: Collection[str] | None = None,
    *,
    labels: Collection[str] = (),
    text: Collection[str] = (),
    formats: Mapping[str, NumberFormat] | None = None,
    note: Note | None = None,
) -> pd.DataFrame:
    """A table as a data frame, numbers as floats and everything else as text.

    ``path`` may be "-", standard input, or a sheet as in book.xlsx::2. ``numbers`` are the columns
    of numbers, where they are known; by default those that hold hardly anything else, and what
    is no number in them is a gap, with a note. ``labels`` are columns of classes, which may
    be called None or NA: unless all else in them are numbers, only an empty cell (or NaN) is a
    gap. Columns of ``text`` stay as they are written. ``formats`` are how columns of numbers are
    known to be written; in others it has to be clear, and ``attrs["formats"]`` has them all.
    ``attrs["text"]`` are columns of numbers that may be read in two ways, and stay text.
    """
    made = _Made(numbers, labels, text, dict(formats or {}), note)
    with parquet_columns(path) as file:
        if file is not None:
            # One after another, since there may be no room for two tables.
            names = file.schema_arrow.names
            n_rows = file.metadata.num_rows
            columns = ((name, file.read([name], use_threads=False).column(0)) for name in names)
            return made.frame(path, columns, n_rows, words=False, decimal=".")
    read = list(batches(path, note=note))
    if not read:
        raise CommandError(f"{called(path)} has a header but no rows.")
    table = joined([rows.batch for rows in read])
    _, words, decimal = read[0]
    del read
    columns = ((name, table.column(name)) for name in table.schema.names)
    return made.frame(path, columns, table.num_rows, words=words, decimal=decimal)


def read_pieces(
    path: str,
    numbers: Collection[str],
    columns: Collection[str] | None = None,
    *,
    copy: Sequence[str] = (),
    formats: Mapping[str, NumberFormat] | None = None,
    note: Note | None = None,
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Data frames that together are the table, each small enough for any memory.

    Each comes with a frame of the columns to ``copy``, as far as the table has them, in the types
    of the file. Other ``columns`` may be left unread. Unless it is known, the first piece has to
    show how a column of numbers writes them.
    """
    import pandas as pd
    import pyarrow as pa

    known = dict(formats or {})
    shown: dict[str, NumberFormat | None] = {}
    for batch, words, decimal in batches(path, columns, note):
        if not batch.num_rows:
            continue
        made = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            column = _single(column, name in numbers)
            if _is_text(column.type):
                column = with_gaps(name, column) if words else column
                if name in numbers:
                    column = _known_numbers(name, column, known, shown, decimal)
            made[name] = column
        found = [name for name in copy if name in batch.schema.names]
        copies = batch.select(found).to_pandas(types_mapper=pd.ArrowDtype)
        yield pa.table(made).to_pandas(), copies


def _known_numbers(
    name: str,
    column: Any,
    known: Mapping[str, NumberFormat],
    shown: dict[str, NumberFormat | None],
    decimal: str | None,
) -> Any:
    """Text of a column of numbers as floats.

    Where one value is no number, the preparation looks at them one by one: it knows the format
    that the model was fitted on. One that only this table shows is written as plain numbers.
    """
    from pyarrow import compute

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
    """A frame in the making: what is known of its columns, and what was found."""

    numbers: Collection[str] | None
    labels: Collection[str]
    text: Collection[str]
    formats: dict[str, NumberFormat]
    note: Note | None
    found: dict[str, Any] = field(default_factory=dict)
    unclear: dict[str, Any] = field(default_factory=dict)  # text that may be numbers, by column
    marks: set[str] = field(default_factory=set)  # decimal marks that the table surely has

    def frame(
        self, path: str, columns: Any, n_rows: int, *, words: bool, decimal: str | None
    ) -> pd.DataFrame:
        """The data frame of columns that come one by one."""
        import pandas as pd
        import pyarrow as pa

        if not n_rows:
            raise CommandError(f"{called(path)} has a header but no rows.")
        for name, column in columns:
            known = self.numbers is not None and name in self.numbers
            column = _single(column, known, name in self.text)
            if _is_text(column.type) and name not in self.text:
                if words:
                    column = with_gaps(name, column, name in self.labels, self.note)
                column = self._numbers(name, column, known, decimal)
            # A copy, so that Arrow's memory serves the next column.
            self.found[name] = column.to_pandas().copy()
            del column
        for name, column in self.unclear.items():
            self.found[name] = self._decided(name, column).to_pandas()
        frame = pd.DataFrame(self.found, copy=False)
        frame.attrs["formats"] = self.formats
        frame.attrs["text"] = sorted(self.unclear)
        self._tell()
        pa.default_memory_pool().release_unused()
        return frame

    def _numbers(self, name: str, column: Any, known: bool, decimal: str | None) -> Any:
        """A column of text as floats, if it holds numbers."""
        if known:
            return _known_numbers(name, column, self.formats, {}, decimal)
        if self.numbers is not None:
            return column
        present = column.drop_null()
        if not len(present) or not _may_be_numbers(present):
            return column
        found = kind_of_text(present, decimal=decimal)
        self.marks |= found.marks
        if found.ambiguous and decimal is None:
            # The other columns may tell.
            self.unclear[name] = column
            return column
        return self._read(name, column, found)

    def _read(self, name: str, column: Any, found: Found) -> Any:
        if found.kind != "number":
            return column
        read = as_numbers(column) if found.form is None else found.form.numbers(column)
        if found.n_strange:
            from pyarrow import compute

            read = compute.if_else(too_large_of(read), None, read)
        if name in self.labels and found.n_strange:
            different = len(read.unique().drop_null())
            if different < _FEWEST_NUMBERS_OF_A_TARGET:
                return column
        if found.form is not None:
            self.formats[name] = found.form
        remark = found.remark(name, len(column) - column.null_count)
        if remark and self.note:
            self.note(f"{remark}.")
        return read

    def _decided(self, name: str, column: Any) -> Any:
        """A column that may be read in two ways, as the other columns tell; else it is text."""
        if len(self.marks) == 1:
            (decimal,) = self.marks
            read = self._read(name, column, kind_of_text(column.drop_null(), decimal=decimal))
            if not _is_text(read.type):
                self.unclear = {one: kept for one, kept in self.unclear.items() if one != name}
                return read
        if self.note and kind_of_text(column.drop_null()).kind == "number":
            example = next(one for one in column.drop_null().to_pylist() if "," in one)
            self.note(
                f"{name}: {example!r} may have a decimal comma or thousands, so it is taken as "
                "text; write numbers without commas."
            )
        return column

    def _tell(self) -> None:
        """Name the columns of numbers that are written in a way of their own."""
        if not self.note or not self.formats:
            return
        listed = ", ".join(list(self.formats)[:5])
        more = f" and {len(self.formats) - 5} more" if len(self.formats) > 5 else ""
        units = sorted({form.unit for form in self.formats.values() if form.unit})
        what = [f"with {', '.join(units)}"] if units else []
        if any(form.decimal == "," for form in self.formats.values()):
            what.append("with decimal commas")
        elif any(form.grouped for form in self.formats.values()):
            what.append("with thousands set apart")
        how = f" ({' and '.join(what)})" if what else ""
        self.note(f"Read as numbers{how}: {listed}{more}.")


def _single(column: Any, number: bool, as_text: bool = False) -> Any:
    """A column of Arrow as one of plain values; long whole numbers become text, digit by digit."""
    import pyarrow as pa
    from pyarrow import types

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
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _may_be_numbers(present: Any) -> bool:
    """Whether at least some values of a column have a digit; a quick look at the first ones."""
    from pyarrow import compute

    with_digit = compute.match_substring_regex(present[:_SAMPLE], r"\d")
    return bool(compute.mean(with_digit).as_py() > 0.5)


def with_gaps(name: str, column: Any, labels: bool = False, note: Note | None = None) -> Any:
    """A column with null in place of the words for a missing value."""
    import pyarrow as pa
    from pyarrow import compute

    gaps = compute.is_in(column, value_set=pa.array(MISSING, column.type))
    if not compute.any(gaps).as_py():
        return column
    rest = column.filter(compute.invert(gaps)).drop_null()
    if labels and len(rest) and compute.any(compute.is_null(read_numbers(rest).numbers)).as_py():
        words = set(MISSING) - set(SURELY_MISSING)
        for word in sorted(words.intersection(column.unique().to_pylist())) if note else ():
            note(
                f"{name}: {word!r} is taken as a class; leave such cells empty if the class is "
                "not known."
            )
        gaps = compute.is_in(column, value_set=pa.array(SURELY_MISSING, column.type))
    return compute.if_else(gaps, pa.scalar(None, column.type), column)


def _is_long(column: Any) -> bool:
    """Whether some whole numbers have more digits than every float holds."""
    import pyarrow as pa

    try:
        column.cast(pa.float64())
    except pa.ArrowInvalid:
        return True
    return False
