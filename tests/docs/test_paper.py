"""The table of the paper: each of its equations has a row, names import, tests exist and ran."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split(" | ")]
    for line in (DOCS / "paper.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| where", "| ---"))
]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([\w.]+)`", row[2])})
PATHS = sorted({path for row in ROWS for path in re.findall(r"\]\((\S+?)\)", row[3])})


def test_every_row_is_filled():
    for row in ROWS:
        assert len(row) == 5, row
        assert re.search(r"`[\w.]+`", row[2]), row
        assert re.search(r"\]\(\S+\)", row[3]), row
        assert row[4], row


def test_every_equation_figure_table_and_statement_has_a_row():
    where = " ".join(row[0] for row in ROWS)
    numbers = {int(number) for number in re.findall(r"\((\d+)\)", where)}
    assert numbers == set(range(1, 16))
    for part in ("Algorithm 1", "Table 1", "Table 2", "Figure 1", "Figure 2", "Lemma 1"):
        assert part in where, part
    assert "Theorem 1" in where
    # The sentences on future work: fusion, bounds, losses, sparsity, selection.
    assert sum(row[0] == "section 4" for row in ROWS) == 5


@pytest.mark.parametrize("name", NAMES)
def test_name_imports(name):
    home, _, what = name.rpartition(".")
    found = getattr(import_module(home), what)
    assert found.__doc__
    assert callable(found)


@pytest.mark.parametrize("path", PATHS)
def test_what_is_cited_is_a_file_of_tests(path):
    tree = ast.parse((DOCS / path).read_text())
    assert any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for node in ast.walk(tree)
    )
