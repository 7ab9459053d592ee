"""Tables of every make in."""

import gzip

import numpy as np
import pandas as pd
import pytest

from covey.cli._console import CommandError, Console
from covey.cli._problem import read_problem
from covey.cli._reading import read_pieces, read_table
from covey.tables._kinds import look
from covey.tables._numbers import NumberFormat


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
        (b"a\0b,c\n1,2\n", "not text"),
        (b"PK\x03\x04rest", "cannot be read as a spreadsheet"),
        (gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:-12], "damaged gzip"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:10] + b"\xff" * 30, "damaged gzip"),
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
    assert table["large"].tolist() == [1_234_567, 2_345]
    assert table["small"].tolist() == [12.5, 1.234]
    assert {name for name, form in table.attrs["formats"].items() if form.decimal == ","} == {
        "share",
        "small",
    }
    # Both marks are in use in this file, so that the others do not tell.
    assert "price: '3,147' may have a decimal comma or thousands" in notes[0]
    assert notes[1] == "Read as numbers (with decimal commas): share, large, small."
    # Only what is known of the column can tell in a row by itself.
    row = tmp_path / "row.tsv"
    row.write_text("price\tshare\n3,147\t1,234\n")
    ((piece, _),) = read_pieces(str(row), {"price", "share"}, formats={"share": NumberFormat(",")})
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
    problem = read_problem(str(tmp_path / "table.csv"), "severity", console)
    assert np.unique(problem.y).tolist() == ["Mild", "NA", "None"]
    assert len(problem.y) == 56
    assert problem.table["x"].isna().sum() == 1
    for word in ("None", "NA"):
        assert any(f"severity: '{word}' is taken as a class" in note for note in console.notes)
    # Among numbers it is none.
    table["severity"] = [*["1.5", "NA", "2.5", "3"] * 15]
    table.to_csv(tmp_path / "table.csv", index=False)
    assert len(read_problem(str(tmp_path / "table.csv"), "severity", console).y) == 45


def test_inch_marks_do_not_hold_up_the_reading(tmp_path, monkeypatch):
    monkeypatch.setattr("covey.cli._text_tables._BLOCK_BYTES", 2_000)
    rows = ['1,5" pipe', '2,"a, ""b""\nc"', "3,plain"] * 500
    path = tmp_path / "inch.csv"
    path.write_text('n,3" wide\n' + "\n".join(rows) + "\n")
    pieces = [piece for piece, _ in read_pieces(str(path), {"n"})]
    assert max(map(len, pieces)) < 250
    together = pd.concat(pieces)
    assert together['3" wide'].tolist() == ['5" pipe', 'a, "b"\nc', "plain"] * 500
