"""Which file, and what in it, is meant; its rows become columns, whatever they hold."""

import datetime
import io
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

from covey.cli._console import CommandError
from covey.cli._reading import read_pieces, read_table
from covey.cli._sources import arrow_column, joined, located, rows_of

from .odd_files import cells, csv, json_lines, rows, sqlite, xlsx


def test_a_sheet_is_named_after_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert located("book.xlsx::2") == ("book.xlsx", "2")
    assert located("a::b.db::patients") == ("a::b.db", "patients")
    assert located("-") == ("-", None)
    # A file that is called so is meant.
    (tmp_path / "a::b.csv").write_text(csv())
    assert located("a::b.csv") == ("a::b.csv", None)
    assert len(read_table("a::b.csv")) == 40


@pytest.mark.parametrize("content", [xlsx({"One": cells()}), json_lines()])
def test_standard_input_may_be_a_spreadsheet_or_json(content, monkeypatch):
    class Piped(io.StringIO):
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Piped())
    assert len(read_table("-")) == 40


def test_pieces_are_the_table_in_every_form(tmp_path):
    wanted = rows()
    (tmp_path / "a.xlsx").write_bytes(xlsx({"One": cells()}))
    (tmp_path / "b.jsonl").write_bytes(json_lines())
    sqlite(tmp_path / "c.db", {"t": wanted})
    for name in ("a.xlsx", "b.jsonl", "c.db"):
        ((piece, copies),) = read_pieces(str(tmp_path / name), {"x"}, {"x", "town"}, copy=["town"])
        assert piece["x"].tolist() == wanted["x"].tolist()
        assert copies["town"].tolist() == wanted["town"].tolist()
        assert "z" not in piece


def test_a_database_in_an_archive_is_one_sentence(tmp_path):
    import gzip

    sqlite(tmp_path / "t.db", {"t": rows()})
    packed = tmp_path / "t.db.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.db").read_bytes()))
    with pytest.raises(CommandError, match="is a database; give it as a file, unpacked"):
        read_table(str(packed))


def test_a_damaged_database_is_one_sentence(tmp_path):
    sqlite(tmp_path / "t.db", {"t": rows()})
    data = bytearray((tmp_path / "t.db").read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    (tmp_path / "t.db").write_bytes(data)
    with pytest.raises(CommandError, match="cannot be read as an SQLite file"):
        read_table(str(tmp_path / "t.db"))


def test_computed_columns_of_a_database_are_not_run(tmp_path):
    sqlite(
        tmp_path / "t.db",
        {},
        "CREATE TABLE t (x REAL, y TEXT, z AS (x * 2), w AS (hex(zeroblob(9))))",
        "INSERT INTO t (x, y) VALUES (1, 'a'), (2, 'b')",
    )
    assert list(read_table(str(tmp_path / "t.db")).columns) == ["x", "y"]


def test_every_command_that_reads_a_table_takes_a_sheet(tmp_path, run):
    (tmp_path / "t.xlsx").write_bytes(xlsx({"One": [["a"], [1]], "Two": cells()}))
    fitted = run(
        *("fit", "t.xlsx", "--sheet", "Two", "--target", "y", "--effort", "fast"), cwd=tmp_path
    )
    assert fitted.exit_code == 0, fitted.output
    for command in (
        ("predict", "flock.covey", "t.xlsx"),
        ("report", "flock.covey", "t.xlsx", "--out", "r.html"),
    ):
        result = run(*command, "--sheet", "2", cwd=tmp_path)
        assert result.exit_code == 0, result.output


def test_columns_have_the_type_that_all_values_share():
    day, moment = datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 5, 10)
    for values, kind in (
        ([1, 2.5, None], pa.float64()),
        ([Decimal("1.50"), 2], pa.float64()),
        ([True, None], pa.bool_()),
        ([day, moment, None], pa.timestamp("us")),
        ([moment.replace(tzinfo=datetime.UTC), None], pa.string()),
        ([1, "a", None, 2.0], pa.string()),
        ([10**18 + 1, 3], pa.string()),
        ([[1], None], pa.list_(pa.string())),
        ([b"\0", None], pa.list_(pa.string())),
        ([None, None], pa.null()),
    ):
        assert arrow_column(values).type == kind
    assert arrow_column([1, "a", 2.0]).to_pylist() == ["1", "a", "2"]
    assert arrow_column([10**18 + 1, 3]).to_pylist() == [str(10**18 + 1), "3"]


def test_batches_of_other_types_and_columns_are_one_table():
    first = pa.record_batch({"a": [1.0, 2.0], "b": pa.nulls(2), "c": [[1], [2]]})
    second = pa.record_batch({"a": ["x", None], "b": ["y", "z"], "d": [1.0, 2.0]})
    table = joined([first, second])
    assert table.column("a").to_pylist() == ["1", "2", "x", None]
    assert table.column("b").to_pylist() == [None, None, "y", "z"]
    assert table.column("d").to_pylist() == [None, None, 1.0, 2.0]
    assert pa.types.is_list(table.column("c").type)


def test_columns_may_be_left_unread():
    (found,) = rows_of(iter([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]), {"y"})
    assert found.batch.to_pydict() == {"y": ["a", "b"]}
