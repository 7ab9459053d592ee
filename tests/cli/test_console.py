"""What commands print."""

import json

from covey.cli._console import Console


def test_a_table_is_aligned_and_never_cut_or_styled(capsys):
    long = "x" * 300
    Console().table(("", "value"), [("[bold]a[/bold]", "1"), (long, "12.5"), ("名前", ":smile:")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["value"]
    assert lines[1].startswith("[bold]a[/bold] ")
    assert lines[2] == f"{long}     12.5"
    assert lines[3].endswith(":smile:")
    assert {len(line) for line in lines[:3]} == {len(long) + 9}


def test_json_replaces_tables_and_lines(capsys):
    console = Console(quiet=True, as_json=True)
    console.table(("a",), [("1",)])
    console.result("line")
    console.note("a remark")
    console.emit(value=float("nan"))
    captured = capsys.readouterr()
    assert captured.out == '{"value": null, "notes": ["a remark"]}\n'
    assert captured.err == ""


def test_names_from_tables_cannot_drive_the_terminal(capsys):
    hostile = "name\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r"
    console = Console()
    console.note(hostile)
    console.result(hostile)
    console.table(("", hostile), [(hostile, "1")])
    Console(as_json=True).emit(name=hostile)
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert not set(text) & set("\x1b\x07\x9b\u202e\r")
    assert r"\x1b[2J" in captured.err
    assert json.loads(captured.out.splitlines()[-1])["name"] == hostile


def test_errors_show_names_without_obeying_them(tmp_path, run):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n" * 20)
    done = run("fit", "t.csv", "--target", "no\x1b[31m", cwd=tmp_path)
    assert done.exit_code == 2
    assert "\x1b" not in done.output
