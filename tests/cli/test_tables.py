"""Tables of every make in, predictions out."""

import gzip

import pandas as pd
import pytest

from covey.cli._console import CommandError
from covey.cli._tables import (
    check_writable,
    read_pieces,
    read_table,
    table_writer,
    whole_file,
)


def test_every_format_gives_the_same_predictions(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table.to_parquet(folder / "a.parquet", row_group_size=20)
    table.to_csv(folder / "b.tsv", sep="\t", index=False)
    table.to_csv(folder / "c.csv.gz", index=False)
    table.to_csv(folder / "d.csv", sep=";", decimal=",", index=False, encoding="utf-8-sig")
    wanted = run("predict", "flock.covey", "patients.csv", cwd=folder).stdout
    assert len(wanted.splitlines()) == 91
    for name in ("a.parquet", "b.tsv", "c.csv.gz", "d.csv"):
        assert run("predict", "flock.covey", name, cwd=folder).stdout == wanted, name
        stdin = (folder / name).read_bytes()
        assert run("predict", "flock.covey", "-", cwd=folder, stdin=stdin).stdout == wanted, name


def test_predictions_are_written_in_the_format_of_the_name(folder, run):
    for name, read in (
        ("a.csv", pd.read_csv),
        ("b.tsv", lambda path: pd.read_csv(path, sep="\t")),
        ("c.csv.gz", pd.read_csv),
        ("d.parquet", pd.read_parquet),
    ):
        assert (
            run("predict", "flock.covey", "patients.csv", "--out", name, cwd=folder).exit_code == 0
        )
        assert read(folder / name)["prediction"].isin(["ill", "well"]).sum() == 90


def test_columns_are_reordered_and_others_ignored(folder, run):
    table = pd.read_csv(folder / "patients.csv")
    table.iloc[:, ::-1].assign(other=1).to_csv(folder / "moved.csv", index=False)
    moved = run("predict", "flock.covey", "moved.csv", cwd=folder).stdout
    assert moved == run("predict", "flock.covey", "patients.csv", cwd=folder).stdout


def test_pieces_together_are_the_table(tmp_path):
    table = pd.DataFrame(
        {"number": range(60_000), "text": ["some words, to fill\nthe block"] * 60_000}
    )
    table.to_csv(tmp_path / "long.csv", index=False)
    table.to_parquet(tmp_path / "long.parquet")
    for name in ("long.csv", "long.parquet"):
        pieces = list(read_pieces(str(tmp_path / name), {"number"}))
        assert len(pieces) > 2
        assert max(map(len, pieces)) < 40_000
        together = pd.concat(pieces, ignore_index=True)
        pd.testing.assert_frame_equal(together, table, check_dtype=False)


def test_reading_knows_numbers_codes_gaps_and_quotes(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        'n, code ,text,"a ""b"", c"\n1,01234,"x, ""y""",1\n ?,00001,NA,2\n3.5,1,"new\nline",3\n'
    )
    table = read_table(str(path))
    assert list(table.columns) == ["n", "code", "text", 'a "b", c']
    assert table["code"].tolist() == ["01234", "00001", "1"]
    assert table["text"].tolist() == ['x, "y"', None, "new\nline"]
    assert table['a "b", c'].tolist() == [1, 2, 3]


def test_a_column_of_numbers_in_one_piece_and_text_in_the_next_stays_text(tmp_path):
    rows = ["7,x"] * 400_000 + ["seven,x"]
    (tmp_path / "a.csv").write_text("mixed,other\n" + "\n".join(rows) + "\n")
    pieces = list(read_pieces(str(tmp_path / "a.csv"), set()))
    assert len(pieces) > 1
    assert {type(value) for piece in pieces for value in piece["mixed"]} == {str}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n", "record 3 has 1 fields, but the header has 2"),
        (b"a,b\n1,2\n3,4,5\n", "record 3 has 3 fields, but the header has 2"),
        (b"a,a\n1,2\n", "two columns named 'a'"),
        (b"a,b\n1,caf\xe9\n", "not UTF-8"),
        (b"caf\xe9,b\n1,2\n", "not UTF-8"),
        (b"a\0b,c\n1,2\n", "not text"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (gzip.compress(b"a,b\n1,2\n" * 50)[:-12], "damaged gzip"),
        (b"PAR1nonsense", "cannot be read"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, content, said):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=said) as caught:
        read_table(str(path))
    assert caught.value.status == 2
    assert "\n" not in str(caught.value)


def test_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    frame = pd.DataFrame({"a": [1]})

    def interrupted():
        with table_writer(str(path)) as write:
            write(frame)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    with table_writer(str(path)) as write:
        write(frame)
        write(frame)
    assert path.read_text() == "a\n1\n1\n"
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with whole_file(tmp_path / "link.csv") as beside:
        beside.write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_unwritable_places_are_known_before_the_work(tmp_path):
    for path, said in (
        (tmp_path / "none" / "a.csv", "no folder"),
        (tmp_path, "is a folder"),
        (tmp_path / "a.xlsx", "ending"),
    ):
        with pytest.raises(CommandError, match=said):
            check_writable(str(path), (".csv",) if path.suffix == ".xlsx" else None)
