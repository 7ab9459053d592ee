"""Columns of Arrow from rows of single values, as spreadsheets, JSON and databases have them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from covey._kinds import without_point

if TYPE_CHECKING:
    import pyarrow as pa

# So many rows are one batch.
BATCH_ROWS = 5_000
_LARGEST_EXACT = 2**53


def batches_of(
    rows: Iterable[Sequence[Any]], names: Sequence[str], columns: Iterable[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Record batches of rows; other columns may be left out."""
    import pyarrow as pa

    wanted = [place for place, name in enumerate(names) if columns is None or name in columns]
    rows = iter(rows)
    while part := list(islice(rows, BATCH_ROWS)):
        made = [arrow_column([row[place] for row in part]) for place in wanted]
        yield pa.RecordBatch.from_arrays(made, names=[names[place] for place in wanted])


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """Values of Python as one column: numbers, dates or truths where all are, otherwise text."""
    import pyarrow as pa

    kinds = {type(value) for value in values}
    kinds.discard(type(None))
    if Decimal in kinds:
        values = [float(value) if isinstance(value, Decimal) else value for value in values]
        kinds = kinds - {Decimal} | {float}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {datetime.datetime, datetime.date} and not _zones(values):
        return pa.array([_moment(value) for value in values], pa.timestamp("us"))
    if kinds <= {int, float} and all(
        value is None or value != value or abs(value) <= _LARGEST_EXACT or type(value) is float
        for value in values
    ):
        return pa.array(values, pa.float64())
    if kinds & {list, dict, tuple, set, bytes, bytearray, memoryview}:
        # Kept as what they are, not single values, so that a reader sees and leaves them out.
        lists = [None if value is None else [str(value)] for value in values]
        return pa.array(lists, pa.list_(pa.string()))
    return pa.array([_text(value) for value in values], pa.string())


def _zones(values: Sequence[Any]) -> bool:
    return any(getattr(value, "tzinfo", None) is not None for value in values)


def _moment(value: Any) -> Any:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(without_point(value))


def joined(batches: Sequence[Any]) -> pa.Table:
    """One table of batches whose columns may be of different types, or absent from some."""
    import pyarrow as pa

    if not any(batch.schema != batches[0].schema for batch in batches):
        return pa.Table.from_batches(batches)
    names: Mapping[str, None] = {name: None for batch in batches for name in batch.schema.names}
    made = {}
    for name in names:
        parts = [
            batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows)
            for batch in batches
        ]
        kinds = {part.type for part in parts} - {pa.null()}
        kind = kinds.pop() if len(kinds) == 1 else pa.string() if kinds else pa.null()
        if any(pa.types.is_nested(part.type) for part in parts):
            kind = pa.list_(pa.string())
            parts = [
                part
                if part.type == kind
                else arrow_column(
                    [None if value is None else [value] for value in part.to_pylist()]
                )
                for part in parts
            ]
        made[name] = pa.chunked_array([part.cast(kind) for part in parts], kind)
    return pa.table(made)
