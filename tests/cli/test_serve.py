"""``covey serve``: what it refuses, and what it says."""

import re
import signal
import socket

import numpy as np
import pytest

import covey
from covey import FlockClassifier
from tests.serving.conftest import (  # noqa: F401 (fixtures)
    model,
    model_file,
    serving,
    table,
)


@pytest.mark.slow
def test_a_model_is_served_on_this_machine_alone_until_it_is_interrupted(model_file):  # noqa: F811
    with serving(model_file, "--port", "0") as server:
        assert server.first.startswith(f"{model_file}: http://127.0.0.1:")
        assert '"status":"ok"' in server.get("/health")
        status, text = server.end(signal.SIGINT)
    assert status == 0
    assert text == "Ended; 1 request was answered.\n"


@pytest.fixture
def bad(tmp_path, model_file):  # noqa: F811
    """Files that are no models to serve."""
    whole = model_file.read_bytes()
    (tmp_path / "half.covey").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.covey").write_text("no model")
    (tmp_path / "good.covey").write_bytes(whole)
    (tmp_path / "folder.covey").mkdir()
    X = np.random.default_rng(0).normal(size=(40, 2))
    flock = FlockClassifier(effort="fast", random_state=0).fit(X, X[:, 0] > 0)
    covey.save(flock, tmp_path / "bare.covey")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("absent.covey",), "there is no file absent.covey; covey fit makes one"),
        (("half.covey",), "half.covey cannot be loaded"),
        (("text.covey",), "text.covey cannot be loaded"),
        (("folder.covey",), "folder.covey"),
        (("bare.covey",), "not fitted to the columns of a table"),
        (("good.covey", "--port", "70000"), "'--port'"),
        (("good.covey", "--max-rows", "0"), "'--max-rows'"),
        (("good.covey", "--max-bytes", "-1"), "'--max-bytes'"),
        (("good.covey", "--seconds", "0"), "'--seconds'"),
        (("good.covey", "--seconds", "nan"), "--seconds"),
        (("good.covey", "--host", "192.0.2.1"), "'192.0.2.1' cannot be used"),
        (("good.covey", "--edit", "good.covey"), "good.covey is what is read"),
        (("good.covey", "--edit", "better.txt"), "better.txt has an ending"),
        (("good.covey", "--edit", "no/better.covey"), "there is no folder"),
        (("good.covey", "--edit", "folder.covey"), "folder.covey is a folder"),
        (("good.covey", "--table", "rows.csv"), "--table is for --edit"),
        (("good.covey", "--edit", "b.covey", "--table", "rows.csv"), "there is no file rows.csv"),
        (("good.covey", "--edit", "b.covey", "--host", "0.0.0.0"), "--edit is for this machine"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(run, bad, arguments, sentence):
    result = run("serve", *arguments, cwd=bad)
    assert result.exit_code in (1, 2)
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_a_port_in_use_is_one_sentence(run, bad):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("serve", "good.covey", "--port", port, cwd=bad)
    assert result.exit_code == 1
    assert f"port {port} of '127.0.0.1' cannot be used (Address already in use)" in result.stderr


def test_who_listens_for_other_machines_is_told_that_there_is_no_password(run, bad, monkeypatch):
    served = []
    monkeypatch.setattr(
        "covey.serving.run", lambda app, sock, *rest, **how: served.append(app) or 0
    )
    result = run("serve", "good.covey", "--host", "0.0.0.0", "--port", "0", cwd=bad)
    assert result.exit_code == 0
    assert "there is no password and no encryption" in result.stderr
    result = run("serve", "good.covey", "--port", "0", cwd=bad)
    assert "password" not in result.stderr
    assert len(served) == 2


def test_a_model_that_has_no_curves_to_drag_is_one_sentence(run, bad, table):  # noqa: F811
    y = np.arange(len(table)) % 2 > 0
    flock = FlockClassifier(members="mixed", effort="fast", random_state=0).fit(table, y)
    covey.save(flock, bad / "mixed.covey")
    result = run("serve", "mixed.covey", "--edit", "better.covey", cwd=bad)
    assert result.exit_code == 2
    assert "linear members alone" in result.stderr


def test_the_address_with_the_key_is_told_though_quiet(run, bad, monkeypatch):
    def serve(app, sock, *rest, started):
        started()
        return 0

    monkeypatch.setattr("covey.serving.run", serve)
    how = ("--edit", "better.covey", "--quiet", "--port", "0")
    result = run("serve", "good.covey", *how, cwd=bad)
    assert result.exit_code == 0
    assert re.fullmatch(r"Correct it: http://127.0.0.1:\d+/edit#[\w-]{22}\n", result.stdout)
    assert not (bad / "better.covey").exists()
