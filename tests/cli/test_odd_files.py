"""Forty odd files, each with what it gets: a model that predicts, or one sentence."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from covey.cli._console import Console
from covey.cli._problem import read_problem

from .odd_files import cells, csv, json_lines, packed, rows, sqlite, xlsx

N_ROWS = 40
MOMENTS = pd.date_range("2023-01-01", periods=N_ROWS, freq="31h")
LATIN = "is not UTF-8, so it is read as Windows-1252 (Latin-1)"


def written(column, marks):
    return [f"{value:.2f}".translate(str.maketrans(marks)) for value in column]


def money(table):
    return [f"${1000 * value + 5000:,.0f}" for value in table["x"]]


def nested(table):
    records = [{**row, "tags": ["a", "b"]} for row in table.to_dict("records")]
    return "".join(json.dumps(row) + "\n" for row in records).encode()


# By name: the file, its content, and what is noted; {} is the file's name.
FITS = {
    "a mark of UTF-8": ("t.csv", b"\xef\xbb\xbf" + csv().encode(), ""),
    "Latin-1": ("t.csv", csv().encode("latin-1"), LATIN),
    "Windows-1252": (
        "t.csv",
        csv(rows(fee=["5 €", "7 €"] * 20)).encode("cp1252"),
        "Read as numbers (with €): fee.",
    ),
    "UTF-16 with its mark": ("t.csv", csv().encode("utf-16"), "t.csv is read as UTF-16."),
    "UTF-16 without its mark": ("t.tsv", csv(sep="\t").encode("utf-16-le"), "UTF-16"),
    "semicolons and decimal commas": (
        "t.csv",
        csv(sep=";", decimal=",").encode(),
        "Read as numbers (with decimal commas): x, z.",
    ),
    "tabs": ("t.tab", csv(sep="\t").encode(), ""),
    "bars": ("t.txt", csv(sep="|").encode(), ""),
    "ends of lines of Windows": ("t.csv", csv(lineterminator="\r\n").encode(), ""),
    "ends of lines of old Macs": ("t.csv", csv(lineterminator="\r").encode(), ""),
    "gzip": ("t.csv.gz", packed(csv()), ""),
    "separators and ends of lines in quotes": (
        "t.csv",
        csv(rows(note=['a, "b"\nc', "d"] * 20)).encode(),
        "",
    ),
    "a spreadsheet": ("t.xlsx", xlsx({"One": cells()}), ""),
    "a spreadsheet with a title": (
        "t.xlsx",
        xlsx({"One": [["Patients of 2024"], ["by me"], [], *cells()]}),
        "t.xlsx: row 4 is taken as the names of columns, what is above as a title.",
    ),
    "a spreadsheet of two sheets": (
        "t.xlsx",
        xlsx({"One": cells(), "Two": [["a"], [1]]}),
        "t.xlsx has 2 sheets, and 'One' is read; --sheet names another one.",
    ),
    "a sheet by its number": ("t.xlsx::2", xlsx({"One": [["a"], [1]], "Two": cells()}), ""),
    "numbers as text in a sheet": (
        "t.xlsx",
        xlsx({"One": cells(rows(fee=["1.200,50 €", "7,5 €"] * 20))}),
        "Read as numbers (with € and with decimal commas): fee.",
    ),
    "JSON lines": ("t.jsonl", json_lines(), ""),
    "a list in JSON": ("t.json", json.dumps(rows().to_dict("records")).encode(), ""),
    "records within JSON": (
        "t.ndjson",
        nested(rows()),
        "tags: left out, since it holds lists or records, not single values.",
    ),
    "a database": ("t.db", {"patients": rows()}, ""),
    "a table of a database": ("t.sqlite::b", {"a": rows().head(3), "b": rows()}, ""),
    "times of Greenwich": (
        "t.csv",
        csv(rows(when=MOMENTS.strftime("%Y-%m-%dT%H:%M:%SZ"))).encode(),
        "",
    ),
    "times of summer and winter": (
        "t.csv",
        csv(rows(when=[m.isoformat() for m in MOMENTS.tz_localize("Europe/Paris")])).encode(),
        "",
    ),
    "money to predict": (
        "t.csv",
        csv(rows().assign(y=money(rows()))).encode(),
        "(with $ and with thousands set apart): y.",
    ),
    "shares": ("t.csv", csv(rows(share=["86.5%", "3 %"] * 20)).encode(), "(with %): share"),
    "thousands": (
        "t.csv",
        csv(rows(mass=["3,040", "12,500", "900", "1,250"] * 10)).encode(),
        "Read as numbers (with thousands set apart): mass.",
    ),
    "words among numbers": (
        "t.csv",
        csv(rows(mass=["n/a - lost", "unknown", *map(str, range(5, 24)), *["7"] * 19])).encode(),
        "2 of 40 values of mass are not numbers ('n/a - lost', 'unknown'), read as missing.",
    ),
    "a number too large": (
        "t.csv",
        csv(rows(mass=["1e300", *["7", "8", "9"] * 13])).encode(),
        "1 of 40 values of mass is too large to compute with ('1e300'), read as missing.",
    ),
    "infinities": ("t.csv", csv(rows(mass=["inf", "-inf", *["7", "8"] * 19])).encode(), ""),
    "formulas": (
        "t.csv",
        csv(rows(**{"=cmd|' /C calc'!A0": ["=1+1", "@SUM(A1)"] * 20})).encode(),
        "",
    ),
    "escape sequences": ("t.csv", csv(rows(**{"\x1b[2Jname": [1, 2] * 20})).encode(), ""),
    "other alphabets": (
        "t.csv",
        csv(rows(**{"名前": ["東京", "大阪"] * 20, "🐦": range(0, 80, 2)})).encode(),
        "",
    ),
    "a column without a name": ("t.csv", csv(rows(**{" ": [1, 2] * 20})).encode(), ""),
    "constant and empty columns": (
        "t.csv",
        csv(rows(unit="cm", nothing=None)).encode(),
        "unit: left out, since it has one value only.",
    ),
    "a count of rows": (
        "t.csv",
        csv(rows(number=range(N_ROWS))).encode(),
        "number: left out, since it names the rows (every value is different).",
    ),
    "an id that repeats": (
        "t.csv",
        csv(rows(patient_id=[*range(100, 125), *range(100, 115)])).encode(),
        "patient_id: left out, since it holds ids, which mean nothing to new rows (--group "
        "patient_id holds rows of one id out together, --keep patient_id uses it all the same).",
    ),
    "a column that decides alone": (
        "t.csv",
        csv(rows(result=np.where(rows()["y"] == "yes", 7, 3))).encode(),
        "result alone decides y (100 % right on rows held out at random); if it is known only "
        "once y is, leave it out with --drop result.",
    ),
    "many classes": (
        "t.csv",
        csv(rows().assign(y=[f"c{place % 12}" for place in range(N_ROWS)])).encode(),
        "y: 12 classes in 40 rows are many; 12 of them have fewer than 10 rows; join rare ones, "
        "or give a target of fewer.",
    ),
    "more columns than rows": (
        "t.csv",
        csv(rows(**{f"c{k}": np.roll(rows()["z"], k) for k in range(60)})).encode(),
        "",
    ),
}


def put(folder, name, content):
    """Write a file, and give the name without its sheet."""
    file = folder / name.partition("::")[0]
    if isinstance(content, dict):
        sqlite(file, content)
    else:
        file.write_bytes(content)
    return file.name


# This is noted of tables that have been fitted.
DECIDES = "a column that decides alone"


@pytest.mark.parametrize("case", [case for case in FITS if case != DECIDES])
def test_it_is_read_and_noted(case, tmp_path, monkeypatch):
    name, content, noted = FITS[case]
    put(tmp_path, name, content)
    monkeypatch.chdir(tmp_path)
    console = Console(quiet=True)
    problem = read_problem(name, "y", console)
    assert len(problem.table) == len(problem.y) == N_ROWS
    assert noted in "\n".join(console.notes)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case == DECIDES else pytest.mark.slow) for case in FITS],
)
def test_it_fits_and_predicts(case, tmp_path, run):
    name, content, noted = FITS[case]
    put(tmp_path, name, content)
    result = run("fit", name, "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert noted in result.stderr
    assert "Saved flock.covey" in result.stdout
    assert "\x1b[2J" not in result.output
    predicted = run("predict", "flock.covey", name, "--json", cwd=tmp_path)
    assert predicted.exit_code == 0, predicted.output
    assert json.loads(predicted.stdout)["rows"] == N_ROWS
    assert "far outside" not in predicted.stderr
    assert "has not seen" not in predicted.stderr


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(64))
VIEW = "CREATE VIEW v AS SELECT * FROM patients"

# By name: the file, its content, other arguments, and the whole sentence.
FAILS = {
    "nothing": ("t.csv", b"", (), "t.csv is empty; a table has a header line and rows."),
    "a header": ("t.csv", b"x,y\n", (), "t.csv has a header but no rows."),
    "two names alike": (
        "t.csv",
        b"x,x,y\n1,2,a\n",
        (),
        "t.csv has two columns named 'x'; rename one of them.",
    ),
    "a long record": (
        "t.csv",
        b"x,y\n1,a\n2,b,c\n",
        (),
        "t.csv: record 3 has 3 fields, but the header has 2; quote fields that hold the "
        "separator, or mend the record.",
    ),
    "a picture": ("t.csv", PNG, (), "t.csv is not text; save the table as CSV in UTF-8."),
    "a damaged archive": (
        "t.csv.gz",
        gzip.compress(csv().encode(), mtime=0)[:-40],
        (),
        "t.csv.gz is a damaged gzip file; copy or download it again.",
    ),
    "half of a letter": (
        "t.csv",
        csv().encode().replace("ö".encode(), b"\xc3", 1),
        (),
        "t.csv is UTF-8 text that is damaged after '0.64,-0.164,K'; save it again.",
    ),
    "an archive": (
        "t.xlsx",
        xlsx({}).replace(b"xl/", b"no/"),
        (),
        "t.xlsx is an archive, not a spreadsheet; unpack it.",
    ),
    "no such sheet": (
        "t.xlsx::Three",
        xlsx({"One": cells(), "Two": cells()}),
        (),
        "--sheet: t.xlsx has no sheet 'Three'; it has 'One', 'Two'.",
    ),
    "an empty sheet": (
        "t.xlsx",
        xlsx({"One": []}),
        (),
        "t.xlsx is empty; a table has a header line and rows.",
    ),
    "a sheet of text": (
        "t.csv",
        csv().encode(),
        ("--sheet", "1"),
        "--sheet: t.csv is neither a spreadsheet nor a database; leave it out.",
    ),
    "tables of a database": (
        "t.db",
        {"a": rows(), "b": rows()},
        (),
        "t.db holds 2 tables; name one with --sheet, or as t.db::a (it has 'a', 'b').",
    ),
    "no such table": (
        "t.db",
        {"a": rows()},
        ("--table-name", 'a"; DROP TABLE a; --'),
        "--sheet: t.db has no table 'a\"; DROP TABLE a; --'; it has 'a'.",
    ),
    "numbers in JSON": (
        "t.jsonl",
        b"1\n2\n",
        (),
        "t.jsonl: line 1 is not an object; a table in JSON has one object a row, such as "
        '{"age": 31, "town": "Oslo"}.',
    ),
    "no JSON": ("t.jsonl", b"\n", (), "t.jsonl is empty; a table in JSON has one object a row."),
    "broken JSON": (
        "t.jsonl",
        b'{"x": 1}\n{"x": \n',
        (),
        "t.jsonl, line 2 is not JSON: Expecting value.",
    ),
    "another ending": (
        "t.sas7bdat",
        b"x",
        (),
        "t.sas7bdat has an ending that covey does not know; give a .csv, .tsv, .parquet, .xlsx, "
        ".jsonl, .sqlite or .duckdb file (.gz is fine), or '-' for standard input.",
    ),
    "one class": (
        "t.csv",
        csv(rows().assign(y="a")).encode(),
        (),
        "the target 'y' has the one value 'a'; there is nothing to tell apart.",
    ),
    "names to predict": (
        "t.csv",
        csv(rows().assign(y=[f"n{place}" for place in range(N_ROWS)])).encode(),
        (),
        "the target 'y' has 40 different values in 40 rows: that names rows rather than "
        "classes; give another target.",
    ),
    "few rows": (
        "t.csv",
        csv(rows(6)).encode(),
        (),
        "6 rows with a target are too few to learn from; give at least 10.",
    ),
}


@pytest.mark.parametrize("case", FAILS)
def test_it_is_refused_in_one_sentence(case, tmp_path, run):
    name, content, arguments, said = FAILS[case]
    put(tmp_path, name, content)
    before = {path.name for path in tmp_path.iterdir()}
    result = run("fit", name, "--target", "y", "-q", *arguments, cwd=tmp_path)
    assert result.exit_code == 2, result.output
    assert result.stderr == f"covey: {said}\n"
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_view_is_not_run(tmp_path, run):
    sqlite(tmp_path / "t.db", {"patients": rows()}, VIEW)
    assert run("fit", "t.db", "--target", "y", "--effort", "fast", cwd=tmp_path).exit_code == 0
    result = run("fit", "t.db::v", "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert result.stderr == (
        "covey: --sheet: 'v' of t.db is a view, which would run what is written in the file; "
        "store its rows as a table.\n"
    )


def test_duckdb_is_read_and_its_views_are_not_run(tmp_path, run):
    duckdb = pytest.importorskip("duckdb")
    table = rows()
    (tmp_path / "secret.csv").write_text("y\n1\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("given", table)
        database.execute('CREATE TABLE "a ""b""" AS SELECT * FROM given')
        database.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    name = 't.duckdb::a "b"'
    assert run("fit", name, "--target", "y", "--effort", "fast", cwd=tmp_path).exit_code == 0
    predicted = run("predict", "flock.covey", "t.duckdb", "--json", cwd=tmp_path)
    assert json.loads(predicted.stdout)["rows"] == N_ROWS
    result = run("fit", "t.duckdb::v", "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert "is a view, which would run what is written in the file" in result.stderr


def test_every_form_gives_the_same_model(tmp_path, run):
    # One row of each form is predicted by the model of one of them.
    put(tmp_path, "a.csv", csv().encode())
    put(tmp_path, "b.xlsx", xlsx({"One": cells()}))
    put(tmp_path, "c.jsonl", json_lines())
    put(tmp_path, "d.db", {"t": rows()})
    put(tmp_path, "e.csv", csv().encode("utf-16"))
    rows().to_parquet(tmp_path / "f.parquet")
    assert run("fit", "a.csv", "--target", "y", "--effort", "fast", cwd=tmp_path).exit_code == 0
    said = {
        name: run("predict", "flock.covey", name, "--proba", cwd=tmp_path).stdout
        for name in ("a.csv", "b.xlsx", "c.jsonl", "d.db", "e.csv", "f.parquet")
    }
    assert len(set(said.values())) == 1
