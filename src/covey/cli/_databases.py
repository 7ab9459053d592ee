"""Tables in SQLite and DuckDB files.

A file of someone else is data, not a program. So it is opened for reading only, only tables are
read (a view is SQL that the file brings), only columns that are stored, and every name is quoted.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli._cells import BATCH_ROWS, batches_of
from covey.cli._console import CommandError
from covey.cli._text_tables import Note, column_names

if TYPE_CHECKING:
    import pyarrow as pa

DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
# What a connection may do: read columns, and ask which tables there are.
_ALLOWED = {getattr(sqlite3, name) for name in ("SQLITE_SELECT", "SQLITE_READ", "SQLITE_PRAGMA")}


def is_sqlite(head: bytes) -> bool:
    """Whether a file begins as SQLite's do."""
    return head.startswith(b"SQLite format 3\0")


def is_duckdb(head: bytes) -> bool:
    """Whether a file begins as DuckDB's do."""
    return head[8:12] == b"DUCK"


def sqlite_batches(
    path: str, table: str | None, columns: Iterable[str] | None, note: Note | None
) -> Iterator[pa.RecordBatch]:
    """Record batches of a table in an SQLite file."""
    address = f"{Path(path).resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA query_only = ON")
            kinds = {
                name: kind
                for schema, name, kind, *_ in database.execute("PRAGMA table_list")
                if schema == "main" and not name.startswith("sqlite_")
            }
            chosen = _chosen(path, table, kinds, note)
            # This lists neither hidden nor computed columns.
            listed = database.execute(f"PRAGMA table_info({_quoted(chosen)})").fetchall()
            stored = [row[1] for row in listed]
            names = column_names(stored, path)
            database.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
            )
            rows = database.execute(
                f"SELECT {', '.join(map(_quoted, stored))} FROM main.{_quoted(chosen)}"
            )
            rows.arraysize = BATCH_ROWS
            yield from batches_of(rows, names, None if columns is None else set(columns))
    except sqlite3.Error as error:
        raise CommandError(f"{path} cannot be read as an SQLite file: {error}.") from None


def duckdb_batches(
    path: str, table: str | None, columns: Iterable[str] | None, note: Note | None
) -> Iterator[pa.RecordBatch]:
    """Record batches of a table in a DuckDB file."""
    try:
        import duckdb
    except ImportError:
        raise CommandError(
            f"{path} is a DuckDB file, which needs duckdb; install it with: pip install "
            '"covey[tables]".',
            1,
        ) from None
    settings = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    try:
        with contextlib.closing(duckdb.connect(path, read_only=True, config=settings)) as database:
            found = database.execute(
                "SELECT table_name, table_type FROM information_schema.tables "
                "WHERE table_schema = 'main'"
            ).fetchall()
            kinds = {name: "table" if kind == "BASE TABLE" else "view" for name, kind in found}
            chosen = _chosen(path, table, kinds, note)
            listed = database.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'main' "
                "AND table_name = ? AND coalesce(is_generated, '') <> 'ALWAYS' "
                "ORDER BY ordinal_position",
                [chosen],
            ).fetchall()
            stored = [name for (name,) in listed]
            names = column_names(stored, path)
            result = database.execute(
                f"SELECT {', '.join(map(_quoted, stored))} FROM main.{_quoted(chosen)}"
            )
            # One by one: how whole batches are got differs between versions.
            rows = chain.from_iterable(iter(lambda: result.fetchmany(BATCH_ROWS), []))
            yield from batches_of(rows, names, None if columns is None else set(columns))
    except duckdb.Error as error:
        said = str(error).strip().splitlines()[0]
        raise CommandError(f"{path} cannot be read as a DuckDB file: {said}") from None


def _chosen(path: str, table: str | None, kinds: dict[str, str], note: Note | None) -> str:
    """The table that is meant; with one table in the file there is no question."""
    tables = sorted(name for name, kind in kinds.items() if kind == "table")
    listed = ", ".join(repr(name) for name in tables[:8]) or "none"
    if table is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise CommandError(f"{path} holds no table.")
        raise CommandError(
            f"{path} holds {len(tables)} tables; name one with --sheet, or as "
            f"{path}::{tables[0]} (it has {listed}{' and more' if len(tables) > 8 else ''})."
        )
    if kinds.get(table) == "table":
        return table
    if table in kinds:
        raise CommandError(
            f"--sheet: {table!r} of {path} is a {kinds[table]}, which would run what is written "
            "in the file; store its rows as a table."
        )
    raise CommandError(f"--sheet: {path} has no table {table!r}; it has {listed}.")


def _quoted(name: str) -> str:
    if "\0" in name:
        raise CommandError(f"{name!r} is no name of a table or column.")
    return '"' + name.replace('"', '""') + '"'
