"""Tables out, completely or not at all."""

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
