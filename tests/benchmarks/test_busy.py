"""What a machine may be busy with, and the report of what that costs."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.busy import conditions, report, run
from benchmarks.scale import methods, process

needs_taskset = pytest.mark.skipif(not shutil.which("taskset"), reason="needs taskset")

# -- conditions --------------------------------------------------------------------------------


def test_busy_processes_run_inside_the_condition_only(monkeypatch):
    started = []

    def popen(*arguments, start=subprocess.Popen):
        started.append(start(*arguments))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with conditions.beside(2) as before:
        assert before == ()
        assert [one.poll() for one in started] == [None, None]
    assert len(started) == 2
    assert all(one.returncode is not None for one in started)


@needs_taskset
def test_on_one_core_all_are_visible_and_one_is_allowed():
    code = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"
    both = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    with conditions.one_core() as before:
        said = subprocess.check_output([*before, sys.executable, "-c", code], text=True).split()
    assert said == [both[0], "1"]


def test_without_cgroups_there_is_no_quota(tmp_path):
    with (
        pytest.raises(conditions.UnavailableError, match="there is no cgroup v2"),
        conditions.quota(roots=(tmp_path,)),
    ):
        pass


def test_without_the_controller_there_is_no_quota(tmp_path):
    (tmp_path / "cgroup.subtree_control").write_text("cpuset memory\n")
    with (
        pytest.raises(conditions.UnavailableError, match="does not control"),
        conditions.quota(roots=(tmp_path,)),
    ):
        pass


def test_a_quota_is_a_group_that_a_command_enters_and_that_is_removed(tmp_path, monkeypatch):
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    removed = []
    # The files of a real group go with it; those of this folder would not.
    monkeypatch.setattr(Path, "rmdir", lambda path: removed.append(path))
    with conditions.quota(cores=1, roots=(tmp_path / "none", tmp_path)) as before:
        [group] = tmp_path.glob("covey-busy-*")
        assert (group / "cpu.max").read_text() == "100000 100000"
        assert subprocess.check_output([*before, "echo", "a b"], text=True) == "a b\n"
        assert (group / "cgroup.procs").read_text().strip().isdigit()
    assert removed == [group]


# -- fits --------------------------------------------------------------------------------------


def test_a_condition_that_cannot_be_made_is_a_line_with_the_reason(monkeypatch):
    def no():
        raise conditions.UnavailableError("no such thing")

    monkeypatch.setitem(conditions.CONDITIONS, "quota of one core", no)
    line = run.one(9, "wine", methods.MLP, "quota of one core", 0)
    assert line == {"error": "not available: no such thing"}


@needs_taskset
def test_a_fit_is_run_in_its_condition(monkeypatch):
    def fit(*arguments, **how):
        return {"fit_seconds": 1.0, "error": "", "seen": (arguments, how)}

    monkeypatch.setattr(process, "fit", fit)
    line = run.one(9, "wine", methods.MLP, "on one core of those visible", 2)
    arguments, how = line["seen"]
    assert arguments == ("wine", methods.MLP, 2, 9)
    assert how["fit_only"]
    assert how["before"][0] == "taskset"


def test_a_command_beyond_the_limit_is_said():
    started = time.perf_counter()
    assert run.command(0, 0.2, ()) == {"error": "fit did not end in 0.2 s"}
    assert time.perf_counter() - started < 20


def test_a_command_that_fails_is_said():
    line = run.command(0, 60, (sys.executable, "-c", "import sys; sys.exit('no luck')"))
    assert line == {"error": "no luck"}


# -- the report --------------------------------------------------------------------------------


def frame(seconds, method=methods.COVEY, task="wine"):
    lines = [
        {"task": task, "method": method, "condition": condition, "repeat": repeat}
        | {"fit_seconds": one, "others_seconds": 0.05 * one, "error": pd.NA}
        for condition, taken in seconds.items()
        for repeat, one in enumerate(taken)
    ]
    return pd.DataFrame(lines).astype({"error": "string"})


def test_ratios_are_of_medians_to_idle_ones():
    results = frame({conditions.IDLE: (1, 2, 9), conditions.TWO_BUSY: (3, 4, 50)})
    middle = report.medians(results)
    assert report.ratios(middle).loc[("wine", methods.COVEY), conditions.TWO_BUSY] == 2
    assert "| wine | covey | 2 | 4 (2.00) |" in report.table(middle)


@pytest.mark.parametrize(
    ("busy", "said"),
    [
        (2.4, "It does; the most is 2.40, wine"),
        (2.6, "It does not, or is not known to: wine (2.60)"),
    ],
)
def test_the_limit_is_for_covey_beside_two(busy, said):
    ours = frame({conditions.IDLE: [1.0], conditions.TWO_BUSY: [busy]})
    other = frame({conditions.IDLE: [1.0], conditions.TWO_BUSY: [9.0]}, methods.LIGHTGBM)
    assert said in report.verdict(pd.concat([ours, other]))


def test_a_busy_idle_machine_has_no_verdict():
    results = frame({conditions.IDLE: [1.0], conditions.TWO_BUSY: [1.0]})
    results["others_seconds"] = 0.5
    assert "No verdict" in report.verdict(results)


def test_what_could_not_be_made_is_said_once_and_is_no_failure():
    results = frame({conditions.IDLE: [1.0, 1.0], "quota of one core": [1.0, 1.0]})
    quota = results["condition"] == "quota of one core"
    results.loc[quota, ["fit_seconds", "others_seconds"]] = float("nan")
    results.loc[quota, "error"] = "not available: there is no cgroup v2"
    text = "\n".join(report.compose(results, "make"))
    assert text.count("there is no cgroup v2") == 1
    assert "Failures" not in text
    assert "other work used 0.05 cores" in text


def test_a_fit_that_did_not_end_is_a_failure():
    results = frame({conditions.IDLE: [1.0], conditions.TWO_BUSY: [1.0]})
    results.loc[1, "fit_seconds"] = float("nan")
    results.loc[1, "error"] = "fit did not end in 300 s"
    text = report.compose(results, "make")
    assert "- wine, covey, beside two busy processes, repeat 0: fit did not end in 300 s" in text
    assert any("not known to: wine (not known)" in line for line in text)
