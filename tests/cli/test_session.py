"""A new user's session: fit, predict, report and export work the first time."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier
from covey.cli import _COMMANDS, _terminate
from covey.persistence import load, save

from .conftest import patients

COMMAND = [sys.executable, "-m", "covey"]


def process(*arguments, cwd, **options):
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, check=False, **options
    )


def test_fit_says_what_a_user_wants_to_know(fitted_once):
    said = (fitted_once / "said.txt").read_text()
    assert "patient_id: left out, since it names the rows" in said
    assert "unit: left out, since it has one value only" in said
    assert "outcome: 4 of 90 rows have no target and are left out" in said
    for name in ("flock", "commonest class", "logistic regression, tuned", "Größe", "95 %"):
        assert name in said
    accuracies = re.findall(r"([\d.]+) % \(([\d.]+) to ([\d.]+)\)", said)
    assert len(accuracies) == 3
    for accuracy, low, high in accuracies:
        assert float(low) < float(accuracy) < float(high)
    assert float(accuracies[0][0]) > 75 > float(accuracies[1][0])


def test_predictions_are_those_of_the_model_in_order_and_explained(folder, run):
    result = run(
        *("predict", "flock.covey", "patients.csv", "--proba", "--explain"),
        *("--copy", "patient_id", "--out", "answers.csv"),
        cwd=folder,
    )
    assert result.exit_code == 0, result.output
    answers = pd.read_csv(folder / "answers.csv")
    table = pd.read_csv(folder / "patients.csv")
    model = load(folder / "flock.covey")
    assert answers["patient_id"].tolist() == table["patient_id"].tolist()
    assert answers["prediction"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(
        answers[["probability_ill", "probability_well"]], model.predict_proba(table), atol=1e-12
    )
    assert answers["decided_by"].str.match(r"member \d+$").all()
    shares = [record["gate_share"] for record in model.explain(table)]
    np.testing.assert_allclose(answers["gate_share"], shares, atol=5e-5)
    assert answers["because"].str.contains("age = |town = |Größe = |clinic = ").all()
    # In the user's words: the value that the row has, not the name of a one-hot column.
    assert not answers["because"].str.contains("town = Rome").where(table["town"] == "Köln").any()


def test_report_is_one_page_about_rows_and_says_that_they_were_seen(folder, run):
    pytest.importorskip("jinja2")
    result = run("report", "flock.covey", "patients.csv", "--out", "page.html", cwd=folder)
    assert result.exit_code == 0, result.output
    assert "86 of these 86 rows were fitted on" in result.stderr
    page = (folder / "page.html").read_text()
    assert "<html" in page.lower()
    assert "Größe" in page


def test_export_takes_the_table_s_columns(folder, run):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    result = run("export", "flock.covey", "--onnx", "flock.onnx", cwd=folder)
    assert result.exit_code == 0, result.output
    session = runtime.InferenceSession(folder / "flock.onnx", providers=["CPUExecutionProvider"])
    table = pd.read_csv(folder / "patients.csv")
    # A town that nobody has seen.
    table.loc[5, "town"] = "Oslo"
    model = load(folder / "flock.covey")
    feed = {}
    for name, kind in model.categorical_features.items():
        if kind == "number":
            feed[name] = table[[name]].to_numpy(np.float32)
        else:
            feed[name] = table[[name]].fillna("").to_numpy(dtype=object)
    assert {one.name for one in session.get_inputs()} == set(feed)
    label, probabilities = session.run(["label", "probabilities"], feed)
    np.testing.assert_allclose(probabilities, model.predict_proba(table), atol=1e-5)
    assert label.tolist() == model.predict(table).tolist()


def test_export_names_the_column_that_has_no_onnx_form(folder, run):
    table = pd.read_csv(folder / "patients.csv").dropna(subset="outcome")
    flock = FlockClassifier(effort="fast", random_state=0)
    model = flock.fit(table[["age", "visited"]], table["outcome"])
    save(model, folder / "dated.covey")
    result = run("export", "dated.covey", "--onnx", "flock.onnx", cwd=folder)
    assert result.exit_code == 1
    assert "'visited' is a date" in result.stderr
    assert not (folder / "flock.onnx").exists()


@pytest.mark.slow
def test_lines_of_the_help_work_as_they_stand(tmp_path, run):
    pytest.importorskip("jinja2")
    pytest.importorskip("skl2onnx")
    done = set()
    for name in _COMMANDS:
        text = run(name, "--help", cwd=tmp_path).stdout.partition("Try it:")[2]
        lines = re.findall(r"^ +covey (.+)$", text, re.MULTILINE)
        assert lines, name
        for line in lines:
            # A model is served until it is stopped; `tests/cli/test_serve.py` does both.
            if line not in done and not line.startswith("serve "):
                result = run(*line.split(), cwd=tmp_path)
                assert result.exit_code == 0, (line, result.output)
                done.add(line)
    made = {"wine.csv", "flock.covey", "answers.csv", "report.html", "fused.csv", "flock.onnx"}
    assert made <= {path.name for path in tmp_path.iterdir()}


# What no command needs that reads or writes a table, or predicts rows.
NEVER = {"dask", "distributed", "matplotlib", "onnx", "skl2onnx", "jinja2", "fastapi", "torch"}


@pytest.mark.slow
def test_commands_start_in_little_more_than_what_they_stand_on_takes(tmp_path, run):
    """Processor time, beside that of importing what they stand on: any machine is slow at that."""
    run("demo", "--table", "wine.csv", cwd=tmp_path)
    run("fit", "wine.csv", "--target", "cultivar", "--effort", "fast", cwd=tmp_path)
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def seconds(code):
        script = f"import sys, time\n{code}\nprint(time.process_time(), *sys.modules)"
        found = []
        for _ in range(3):  # the first one compiles
            done = subprocess.run(
                [sys.executable, "-c", script],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                check=True,
                text=True,
            )
            taken, *modules = done.stdout.splitlines()[-1].split()
            found.append(float(taken))
        return min(found), set(modules)

    def command(*words):
        return seconds(
            "from covey.cli import main\n"
            f"try: main({list(words)!r})\nexcept SystemExit as error: assert not error.code"
        )

    least, _ = seconds("import pandas, pyarrow, sklearn, sklearn.metrics, typer")
    taken, modules = command("demo", "--table", "again.csv")
    assert taken < least
    assert not modules & {*NEVER, "sklearn"}
    for words in (
        ("predict", "flock.covey", "wine.csv", "--out", "answers.csv"),
        ("explain", "flock.covey", "wine.csv", "--row", "17"),
    ):
        taken, modules = command(*words)
        assert taken < 1.7 * least, words
        assert not modules & NEVER, words


def test_help_is_quick_and_imports_nothing_heavy():
    script = (
        "import sys, time\n"
        "from covey.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'skrub', 'pyarrow'} & set(sys.modules)\n"
        "print(heavy or time.process_time(), file=sys.stderr)"
    )
    seconds = min(
        float(
            subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stderr
        )
        for _ in range(3)
    )
    # Of the processor, from the interpreter's start: other processes do not count.
    assert seconds < 0.3


def test_version_is_told(tmp_path):
    import covey

    done = process("--version", cwd=tmp_path, text=True)
    assert (done.returncode, done.stdout) == (0, f"covey {covey.__version__}\n")


@pytest.mark.slow
def test_piped_output_is_plain_and_stdin_is_read(folder):
    done = process(
        *("predict", "flock.covey", "-"), cwd=folder, input=(folder / "patients.csv").read_bytes()
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 91
    for stream in (done.stdout, done.stderr):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", stream)


@pytest.mark.slow
def test_terminal_shows_progress_on_stderr_only(folder):
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "predict", "flock.covey", "patients.csv"],
        cwd=folder,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(follower)
    shown = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            data = os.read(leader, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    out = child.stdout.read()
    assert child.wait() == 0
    assert b"\x1b[" in shown
    assert b"rows" in shown
    assert b"\x1b" not in out
    assert len(out.splitlines()) == 91


@pytest.mark.slow
def test_interrupt_leaves_the_old_file_and_nothing_else(folder):
    (folder / "answers.csv").write_text("precious\n")
    before = {path.name for path in folder.iterdir()}
    child = subprocess.Popen(
        [*COMMAND, "predict", "flock.covey", "-", "--out", "answers.csv"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    rows = (folder / "patients.csv").read_bytes()
    header, body = rows.split(b"\n", 1)
    child.stdin.write(header + b"\n" + body * 600)
    child.stdin.flush()
    deadline = time.monotonic() + 60
    while {path.name for path in folder.iterdir()} == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {path.name for path in folder.iterdir()} != before  # half a file, under another name
    child.send_signal(signal.SIGINT)
    time.sleep(0.3)
    child.stdin.close()
    error = child.stderr.read()
    assert child.wait(timeout=60) == 130
    assert b"Traceback" not in error
    assert (folder / "answers.csv").read_text() == "precious\n"
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("command", ["fit", "predict", "select", "report", "demo"])
def test_json_is_one_object(folder, run, command):
    arguments = {
        "fit": (
            *("patients.csv", "--target", "outcome", "--effort", "fast"),
            *("--model", "new.covey", "--report", "held.html"),
        ),
        "predict": ("flock.covey", "patients.csv", "--proba"),
        "select": ("patients.csv", "--target", "outcome", "--resamples", "4"),
        "report": ("flock.covey", "patients.csv", "--out", "page.html"),
        "demo": ("--table", "wine.csv"),
    }[command]
    if command in ("report", "fit"):
        pytest.importorskip("jinja2")
    result = run(command, *arguments, "--json", "--quiet", cwd=folder)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert result.stderr == ""
    if command == "fit":
        assert said["classes"] == ["ill", "well"]
        assert {one["name"] for one in said["scores"]} >= {"flock", "commonest class"}
        assert {one["name"] for one in said["evaluation"]["columns"]} >= {"Größe", "patient_id"}
        assert any("patient_id" in note for note in said["notes"])
        # On all of the 86 rows, by models that had not seen them.
        page = (folder / "held.html").read_text()
        assert "logistic regression, tuned" in page
        assert "Judged on 86 rows, each by a model that had not seen it" in page
        assert (folder / "new.covey").exists()
    if command == "predict":
        assert said["rows"] == len(said["predictions"]) == 90


@pytest.mark.slow
def test_a_killed_fit_goes_on_from_its_checkpoint(tmp_path, run):
    patients(60).to_csv(tmp_path / "patients.csv", index=False)
    command = ["fit", "patients.csv", "--target", "outcome"]
    command += ["--drop", "visited", "--fuser", "product", "--quiet", "--json"]
    whole = run(*command, "--model", "whole.covey", cwd=tmp_path)
    assert whole.exit_code == 0, whole.output
    checkpointed = [*command, "--model", "other.covey", "--checkpoint", "fit.checkpoint"]
    # Only what is killed needs a process of its own.
    process = subprocess.Popen(
        [*COMMAND, *checkpointed],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    # Killed as soon as a second fold has begun.
    while not (tmp_path / "fit.checkpoint.2").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert not (tmp_path / "other.covey").exists()
    resumed = run(*checkpointed, cwd=tmp_path)
    assert resumed.exit_code == 0, resumed.output
    said = [json.loads(one.stdout)["scores"] for one in (whole, resumed)]
    for score in (*said[0], *said[1]):
        score.pop("seconds", None)
    assert said[0] == said[1]
    one, other = (load(tmp_path / f"{name}.covey") for name in ("whole", "other"))
    np.testing.assert_array_equal(one.member_coef_, other.member_coef_)
    assert not list(tmp_path.glob("fit.checkpoint*"))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_fit_that_is_stopped_says_what_is_left(folder, run, monkeypatch, number, status):
    def stop(*arguments, **options):
        signal.raise_signal(number)

    monkeypatch.setattr("covey.cli._evaluate.Trial.run", stop)
    before = signal.signal(signal.SIGTERM, _terminate)
    arguments = ("fit", "patients.csv", "--target", "outcome", "--quiet", "--checkpoint", "kept")
    try:
        result = run(*arguments, cwd=folder)
        assert result.exit_code == status
        assert result.stderr == "covey: stopped; no file was changed.\n"
        # As the first fold's flock leaves it.
        (folder / "kept.1").write_text("")
        result = run(*arguments, cwd=folder)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert result.exit_code == status
    assert result.stderr == "covey: stopped; the same command goes on from kept.\n"
