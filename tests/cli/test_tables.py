"""Tables of every make in, predictions out."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from covey.cli._console import CommandError, Console
from covey.cli._question import ask
from covey.cli._reading import read_pieces, read_table
from covey.cli._writing import check_writable, table_writer, whole_file
from covey.tables import look


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
        pieces = [piece for piece, _ in read_pieces(str(tmp_path / name), {"number"})]
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
    pieces = [piece for piece, _ in read_pieces(str(tmp_path / "a.csv"), set())]
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
        (gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:-12], "damaged gzip"),
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


def test_a_comma_is_a_point_only_where_it_must_be(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text(
        "price\tshare\tplain\tlarge\tsmall\n"
        "3,147\t0,891\t1.5\t1,234,567\t12,5\n"
        "4,035\t1,234\t2.5\t2,345\t1,234\n"
    )
    notes = []
    table = read_table(str(path), note=notes.append)
    assert table["price"].tolist() == ["3,147", "4,035"]
    assert table["share"].tolist() == [0.891, 1.234]
    assert table["large"].tolist() == ["1,234,567", "2,345"]
    assert table["small"].tolist() == [12.5, 1.234]
    assert table.attrs["decimal_commas"] == ["share", "small"]
    assert [note.partition(":")[0] for note in notes] == ["price", "large"]
    assert "decimal comma or thousands" in notes[0]
    # Only what is known of the column can tell in a row by itself.
    row = tmp_path / "row.tsv"
    row.write_text("price\tshare\n3,147\t1,234\n")
    ((piece, _),) = read_pieces(str(row), {"price", "share"}, decimal_commas=["share"])
    assert piece.iloc[0].tolist() == ["3,147", 1.234]


def test_a_model_remembers_which_columns_have_decimal_commas(tmp_path, run):
    rng = np.random.default_rng(0)
    values = rng.normal(2, 1, 60).round(3)
    rows = [f"{value:.3f};{value > 2}".replace(".", ",") for value in values]
    (tmp_path / "table.csv").write_text("x;y\n" + "\n".join(rows) + "\n")
    arguments = ("fit", "table.csv", "--target", "y", "--effort", "fast", "-q")
    assert run(*arguments, cwd=tmp_path).exit_code == 0
    (tmp_path / "row.csv").write_text("other;x\n1;3,125\n")
    (tmp_path / "point.csv").write_text("other,x\n1,3.125\n")
    said = [
        run("predict", "flock.covey", name, "--proba", cwd=tmp_path)
        for name in ("row.csv", "point.csv")
    ]
    assert said[0].stdout == said[1].stdout
    assert said[0].stderr == ""


def test_long_codes_are_not_rounded(tmp_path):
    codes = [10**18 + 1 + place // 2 for place in range(20)]
    table = pd.DataFrame({"code": codes, "large": [2**60] * 20})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        read = read_table(str(tmp_path / name))
        assert read["code"].tolist() == [str(code) for code in codes]
        assert read["large"].tolist() == [2.0**60] * 20
        for made in (read, table):
            column = look(made)[0]
            assert (column.kind, column.n_values, column.drop) == ("text", 10, "")


def test_a_class_may_be_called_none(tmp_path, run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "severity": ["None", "Mild", "NA"] * 20})
    table.loc[:3, "severity"] = ""
    table["x"] = table["x"].astype(str)
    table.loc[5, "x"] = "None"
    table.to_csv(tmp_path / "table.csv", index=False)
    console = Console(quiet=True)
    question = ask(str(tmp_path / "table.csv"), "severity", console)
    assert np.unique(question.y).tolist() == ["Mild", "NA", "None"]
    assert len(question.y) == 56
    assert question.table["x"].isna().sum() == 1
    for word in ("None", "NA"):
        assert any(f"severity: '{word}' is taken as a class" in note for note in console.notes)
    # Among numbers it is none.
    table["severity"] = [*["1.5", "NA", "2.5", "3"] * 15]
    table.to_csv(tmp_path / "table.csv", index=False)
    assert len(ask(str(tmp_path / "table.csv"), "severity", console).y) == 45


def test_inch_marks_do_not_hold_up_the_reading(tmp_path, monkeypatch):
    monkeypatch.setattr("covey.cli._reading._BLOCK_BYTES", 2_000)
    rows = ['1,5" pipe', '2,"a, ""b""\nc"', "3,plain"] * 500
    path = tmp_path / "inch.csv"
    path.write_text('n,3" wide\n' + "\n".join(rows) + "\n")
    pieces = [piece for piece, _ in read_pieces(str(path), {"n"})]
    assert max(map(len, pieces)) < 250
    together = pd.concat(pieces)
    assert together['3" wide'].tolist() == ['5" pipe', 'a, "b"\nc', "plain"] * 500


def test_a_folder_s_name_is_not_the_file_s(folder, run):
    (folder / "old.tsv.d").mkdir()
    run(
        "predict", "flock.covey", "patients.csv", "--proba", "--out", "old.tsv.d/a.csv", cwd=folder
    )
    assert "\t" not in (folder / "old.tsv.d" / "a.csv").read_text()


def long_table(folder, n_rows=30_000):
    """More than a block of patients, with a column that is empty until the end."""
    table = pd.read_csv(folder / "patients.csv", dtype=str)
    table = table.iloc[np.arange(n_rows) % len(table)].reset_index(drop=True)
    table["note"] = ""
    table.loc[n_rows - 5 :, "note"] = "hello"
    table.loc[n_rows - 2, "age"] = "oops"
    return table


def test_copied_columns_may_change_far_into_the_table(folder, run):
    table = long_table(folder)
    table.to_csv(folder / "long.csv", index=False)
    arguments = ("predict", "flock.covey", "--copy", "note", "--copy", "age", "--out", "a.parquet")
    result = run(*arguments, "long.csv", cwd=folder)
    assert result.exit_code == 0, result.output
    made = pd.read_parquet(folder / "a.parquet")
    assert made["note"].tolist()[-6:] == [None] + ["hello"] * 5
    assert made["age"].tolist()[-2] == "oops"
    # Whole numbers stay whole, with a gap in a later piece too.
    clinic = table["clinic"].astype("Int64")
    clinic.iloc[-1] = pd.NA
    table.assign(age=pd.to_numeric(table["age"], errors="coerce"), clinic=clinic).to_parquet(
        folder / "long.parquet"
    )
    arguments = ("predict", "flock.covey", "--copy", "clinic", "--out", "a.parquet")
    assert run(*arguments, "long.parquet", cwd=folder).exit_code == 0
    assert parquet.read_table(folder / "a.parquet")["clinic"].to_pylist() == [
        *clinic.tolist()[:-1],
        None,
    ]


def test_json_is_whole_whatever_happens(folder, run):
    text = long_table(folder).to_csv(index=False)
    (folder / "ragged.csv").write_text(text + "1,2\n")
    result = run("predict", "flock.covey", "ragged.csv", "--json", cwd=folder)
    assert result.exit_code == 2
    said = json.loads(result.stdout)
    assert len(said["predictions"]) > 1_000
    assert "has 2 fields" in said["error"]
    table = pd.read_csv(folder / "patients.csv").head(3)
    table["when"] = [pd.Timestamp("2020-01-01"), None, pd.Timestamp("2020-01-03 12:00")]
    table["far"] = [np.inf, 1.5, None]
    table.to_parquet(folder / "odd.parquet")
    arguments = ("odd.parquet", "--copy", "when", "--copy", "far", "--json")
    result = run("predict", "flock.covey", *arguments, cwd=folder)
    said = json.loads(result.stdout, parse_constant=pytest.fail)["predictions"]
    assert [one["when"] for one in said] == ["2020-01-01 00:00:00", None, "2020-01-03 12:00:00"]
    assert [one["far"] for one in said] == [None, 1.5, None]
