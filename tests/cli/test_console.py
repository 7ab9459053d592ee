"""What commands print."""

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
