"""The README is short, and what it says is so."""

import re
from importlib import import_module
from pathlib import Path

from _site.benchmark_tables import table
from _site.command_pages import commands, parameters

from covey.fusers._base import FUSERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SUPPORT.md", ROOT / "SECURITY.md"]
WRITTEN += sorted((ROOT / "docs").glob("**/*.md"))


def test_the_readme_has_at_most_90_lines():
    assert len(README.splitlines()) <= 90


def test_targets_of_make_that_pages_name_exist():
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    for path in WRITTEN:
        if "_build" in path.parts:
            continue
        named = set(re.findall(r"(?:`|^)make ([a-z][\w-]*)", path.read_text(), re.MULTILINE))
        assert named <= targets, f"{path.name} names {named - targets}"


def test_commands_and_options_that_pages_name_exist():
    known = {
        name: {flag for p in parameters(command) for flag in p.name.split(", ")} | {"--help"}
        for name, command in commands().items()
    }
    for path in WRITTEN:
        if "_build" in path.parts:
            continue
        for line in re.findall(r"(?:^|`)covey (\w+)([^`\n]*)", path.read_text(), re.MULTILINE):
            name, rest = line
            if name not in known:
                continue
            flags = set(re.findall(r"(?<![\w-])--[a-z-]+", rest.partition("#")[0]))
            assert flags <= known[name], f"{path.name}: covey {name} has no {flags - known[name]}"
    in_readme = re.findall(r"^covey (\w+)", README, re.MULTILINE)
    assert in_readme
    assert set(in_readme) <= set(known)


def test_the_number_of_rules_is_that_of_the_registry():
    assert int(re.search(r"(\d+) rules", README)[1]) == len(FUSERS)


def test_figures_of_the_readme_are_those_of_the_benchmark():
    header, *rows = table("arena")
    measured = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    wanted = ("mean rank", "Elo", "error, of LightGBM's", "fit, s")
    named = {
        '`members="mixed"`': "covey, mixed",
        "CatBoost, tuned": "CatBoost, tuned",
        "`FlockClassifier()`, `FlockRegressor()`": "covey",
        "explainable boosting": "explainable boosting",
        "LightGBM, tuned": "LightGBM, tuned",
        "CatBoost": "CatBoost",
        "random forest": "random forest",
    }
    for said, rival in named.items():
        figures = [measured[rival][column] for column in wanted]
        assert f"| {said} | {' | '.join(figures)} |" in README
    assert f"{len(named)} of {len(rows)} methods" in README


def test_covey_has_the_lowest_log_loss_at_every_number_of_terms():
    _, *rows = table("readable")
    first = [[float(cell.split()[0]) for cell in row[1:-1]] for row in rows]
    (ours,) = [numbers for row, numbers in zip(rows, first, strict=True) if row[0] == "covey"]
    assert all(own == min(column) for own, *column in zip(ours, *first, strict=True))
    assert len(rows) == 6


def test_extras_that_the_readme_names_exist_and_the_other_way_round():
    project = import_module("tomllib").loads((ROOT / "pyproject.toml").read_text())["project"]
    users = set(project["optional-dependencies"]) - {
        *("bench", "docs", "release", "reproduction", "test", "test-torch", "test-integrations")
    }
    install = README.partition("## Install")[2].partition("##")[0]
    page = (ROOT / "docs" / "start" / "install.md").read_text()
    for extra in users:
        assert f"`{extra}`" in install, extra
        assert f"| `{extra}` |" in page, extra
