"""Tables in JSON: one object a line, or a list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from covey.cli._cells import BATCH_ROWS, arrow_column
from covey.cli._console import CommandError
from covey.cli._text_tables import Encoding, Note, in_utf8

if TYPE_CHECKING:
    import pyarrow as pa

JSON = (".jsonl", ".ndjson", ".json")


def json_batches(
    source: Any, name: str, columns: Iterable[str] | None, note: Note | None = None
) -> Iterator[pa.RecordBatch]:
    """Record batches of the objects; one that lacks a column has a gap there."""
    import pyarrow as pa

    records = _records(in_utf8(source, name, note), name, Encoding(name, note))
    wanted = None if columns is None else set(columns)
    found = False
    while part := list(islice(records, BATCH_ROWS)):
        found = True
        names = dict.fromkeys(key for record in part for key in record)
        made = {
            key: arrow_column([record.get(key) for record in part])
            for key in names
            if wanted is None or key in wanted
        }
        yield pa.RecordBatch.from_arrays(list(made.values()), names=list(made))
    if not found:
        raise CommandError(f"{name} is empty; a table in JSON has one object a row.")


def _records(source: Any, name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    if source.peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        rows = _parsed(encoding.utf8(source.read()), name, "")
        for number, row in enumerate(rows, start=1):
            yield _checked(row, name, f"record {number}")
        return
    for number, line in enumerate(source, start=1):
        if line.strip():
            where = f"line {number}"
            yield _checked(_parsed(encoding.utf8(line), name, where), name, where)


def _parsed(text: bytes, name: str, where: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        at = f", {where}" if where else ""
        said = getattr(error, "msg", "it is not text of UTF-8")
        raise CommandError(f"{name}{at} is no JSON: {said}.") from None


def _checked(row: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise CommandError(
            f"{name}: {where} is no object; a table in JSON has one object a row, such as "
            '{"age": 31, "town": "Oslo"}.'
        )
    return row
