"""The table of the course's methods: its names import, and what it cites is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split(" | ")]
    for line in (DOCS / "coverage.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| slide", "| ---"))
]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([\w.]+)`", row[-2])})
PATHS = sorted({path for row in ROWS for path in re.findall(r"\]\((\S+?)\)", row[-1])})
# The slides whose methods must all be there.
SLIDES = (
    "Multiclass classification with binary classifiers",
    "Error correcting codes",
    "Classification: original model space too narrow",
    "Regression: high variance",
    "Fixed combiner at class level",
    "Fixed combiner: ranking level",
    "Fixed combiner at class probability level",
    "Weighted averaging",
    "Linear stacking",
    "General stacking",
    "Bias-variance decomposition",
    "Bagging & random subspaces",
    "Random forests",
)


def test_every_slide_is_there_in_order_and_every_row_is_filled():
    slides = [row[0] for row in ROWS if len(row) == 4]
    assert [slide for slide in slides if slide in SLIDES] == list(SLIDES)
    for row in ROWS:
        assert re.search(r"`[\w.]+`", row[-2]), row
        assert re.search(r"\]\(\S+\)", row[-1]), row


@pytest.mark.parametrize("name", NAMES)
def test_name_imports(name):
    home, _, what = name.rpartition(".")
    assert getattr(import_module(home), what).__doc__


@pytest.mark.parametrize("path", PATHS)
def test_path_exists(path):
    assert (DOCS / path).is_file()
