"""Tables out, completely or not at all."""

import io

import pandas as pd
import pytest

from covey.cli._console import CommandError
from covey.cli._writing import check_writable, table_writer


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


def test_unwritable_places_are_known_before_the_work(tmp_path):
    for path, said in (
        (tmp_path / "none" / "a.csv", "no folder"),
        (tmp_path, "is a folder"),
        (tmp_path / "a.xlsx", "ending"),
    ):
        with pytest.raises(CommandError, match=said):
            check_writable(str(path), (".csv",) if path.suffix == ".xlsx" else None)


def test_a_folder_s_name_is_not_the_file_s(folder, run):
    (folder / "old.tsv.d").mkdir()
    run(
        "predict", "flock.covey", "patients.csv", "--proba", "--out", "old.tsv.d/a.csv", cwd=folder
    )
    assert "\t" not in (folder / "old.tsv.d" / "a.csv").read_text()


def test_text_that_a_spreadsheet_would_run_is_quoted(tmp_path):
    hostile = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx"]
    plain = ["-1.5", "+2e3", "-", "a=b", "1-2"]
    frame = pd.DataFrame({"=name": [*hostile, *plain], "number": -1.0})
    path = tmp_path / "out.csv"
    with table_writer(str(path)) as write:
        write(frame)
    found = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert found.columns.tolist() == ["'=name", "number"]
    assert found["'=name"].tolist() == [*(f"'{text}" for text in hostile), *plain]
    assert set(found["number"]) == {"-1.0"}
    with table_writer(str(path), raw=True) as write:
        write(frame)
    assert pd.read_csv(path, dtype=str)["=name"].tolist() == [*hostile, *plain]
    with table_writer(str(tmp_path / "out.parquet")) as write:
        write(frame)
    assert pd.read_parquet(tmp_path / "out.parquet")["=name"].tolist() == [*hostile, *plain]


def test_reasons_are_quoted_too(tmp_path, run):
    rows = "".join(
        f"{number},{number % 2 + number / 1e3},{'ab'[number % 2]}\n" for number in range(60)
    )
    (tmp_path / "t.csv").write_text(f"a,=b,y\n{rows}")
    fitted = run("fit", "t.csv", "--target", "y", "--effort", "fast", cwd=tmp_path)
    assert fitted.exit_code == 0, fitted.output
    predict = ("predict", "flock.covey", "t.csv", "--explain", "--copy", "=b", "--out")
    assert run(*predict, "safe.csv", cwd=tmp_path).exit_code == 0
    assert run(*predict, "raw.csv", "--raw", cwd=tmp_path).exit_code == 0
    safe, raw = (pd.read_csv(tmp_path / name) for name in ("safe.csv", "raw.csv"))
    assert raw["because"].str.startswith("=b").any()
    assert not safe["because"].str.startswith("=").any()
    assert "=b" in raw.columns
    assert "'=b" in safe.columns


def test_a_terminal_shows_what_it_would_obey(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    frame = pd.DataFrame({"a\x1b[2J": ["\x1b]0;own\x07yes", None], "b": [1.5, 2.0]})
    for file, obeyed in ((Terminal(), 0), (io.StringIO(), 2)):
        monkeypatch.setattr("sys.stdout", file)
        with table_writer(None) as write:
            write(frame)
        assert file.getvalue().count("\x1b") == obeyed
        assert "yes,1.5\n,2.0\n" in file.getvalue()
