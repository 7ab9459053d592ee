"""``covey explain``: a card for one row, in the terminal, as JSON and as a page."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covey import FlockClassifier, FlockRegressor, save
from covey.cli import app

runner = CliRunner()
ODD = "=cmd|' /C calc'!A0</script><script>window.broken=1</script>\x1b[31m"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            ODD: rng.choice(["Rome", "<b>Oslo</b>", "Bath"], n),
            "weight": rng.normal(70, 10, n).round(1),
        }
    )
    table.loc[::7, "weight"] = np.nan
    ill = np.where((table["age"] > 50) ^ (table[ODD] == "Rome"), "yes", "no")
    flock = FlockClassifier(effort="fast", random_state=0)
    save(flock.fit(table, ill), folder / "ill.covey")
    flock = FlockRegressor(effort="fast", random_state=0)
    price = table["age"] * 3.0
    save(flock.fit(table, price), folder / "price.covey")
    table.to_csv(folder / "table.csv", index=False)
    return folder


def run(folder, *arguments):
    return runner.invoke(app, ["explain", *map(str, arguments)])


def test_the_terminal_shows_the_answer_first_and_obeys_nothing_in_names(folder):
    result = run(folder, folder / "ill.covey", folder / "table.csv", "--row", 3)
    assert result.exit_code == 0
    first = result.output.splitlines()[1]
    assert "%" in first
    assert "mainly" in first
    assert "\x1b" not in result.output
    assert "What would change it: " in result.output


def test_json_is_one_object_whose_parts_add_up(folder):
    result = run(folder, folder / "ill.covey", folder / "table.csv", "--row", 3, "--json")
    found = json.loads(result.stdout)
    pushes = [one["push"] for one in found["because"] + found["against"]]
    total = found["baseline"] + found["other"] + sum(pushes)
    assert abs(total - found["probability"]) < 1e-9
    assert found["row"] == 3


def test_rows_are_counted_from_one_as_in_the_file(folder):
    table = pd.read_csv(folder / "table.csv")
    for row in (1, len(table)):
        result = run(folder, folder / "price.covey", folder / "table.csv", "--row", row, "--json")
        found = json.loads(result.stdout)
        (age,) = [one for one in found["because"] + found["against"] if one["column"] == "age"]
        assert age["value"] == table["age"].iloc[row - 1]


def test_fixed_columns_stay_and_a_goal_is_reached(folder):
    row = folder / "ill.covey", folder / "table.csv", "--row", 5, "--json"
    found = json.loads(run(folder, *row, "--fixed", "age").stdout)
    assert all(one["column"] != "age" for one in found["change"]["changes"])
    row = folder / "price.covey", folder / "table.csv", "--row", 5, "--json"
    now = json.loads(run(folder, *row).stdout)
    assert now["change"] is None
    found = json.loads(run(folder, *row, "--to", now["prediction"] + 20).stdout)
    assert found["change"]["after"]["prediction"] >= now["prediction"] + 20


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--row", "500"], "--row 500: "),
        (["--row", "1", "--fixed", "agee"], "--fixed: the model has no column 'agee'"),
        (
            ["--row", "1", "--to", "maybe"],
            "--to: 'maybe' is not a class of the model ('no', 'yes')",
        ),
        (["--row", "1", "--html", "card.pdf"], "write to .html, .htm"),
        (["--row", "0"], "greater than or equal to 1"),
    ],
)
def test_mistakes_are_one_sentence(folder, more, sentence):
    result = run(folder, folder / "ill.covey", folder / "table.csv", *more)
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_the_page_is_written_completely_and_holds_names_as_text(folder):
    page = folder / "card.html"
    result = run(folder, folder / "ill.covey", folder / "table.csv", "--row", 3, "--html", page)
    assert result.exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "<script>window.broken" not in text
    assert "http://" not in text
    assert "https://" not in text
    assert text.rstrip().endswith("</html>")


def test_a_date_or_number_that_cannot_be_read_counts_as_missing_and_is_named(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.date_range("2025-01-01", periods=90).strftime("%d.%m.%Y")
    dollars = [f"${value:,}" for value in rng.integers(1_000, 9_000, 90)]
    table = pd.DataFrame({"day": days, "paid": dollars, "age": rng.integers(20, 80, 90)})
    ill = np.where(table["age"] > 50, "yes", "no")
    flock = FlockClassifier(effort="fast", random_state=0).fit(table, ill)
    save(flock, tmp_path / "ill.covey")
    table.loc[0, "day"], table.loc[1, "paid"] = "one day", "much"
    table.loc[2, ["day", "paid"]] = None
    table.to_csv(tmp_path / "table.csv", index=False)
    told = {
        1: "day: 'one day' cannot be read (at the fit dates such as 31.01.2026)",
        2: "paid: 'much' cannot be read (at the fit numbers such as 1234.5 $)",
    }
    for row, sentence in told.items():
        lines = run(tmp_path, tmp_path / "ill.covey", tmp_path / "table.csv", "--row", row).output
        assert f"Note: {sentence} and counts as missing.\n" in lines
    empty = run(tmp_path, tmp_path / "ill.covey", tmp_path / "table.csv", "--row", 3).output
    assert "cannot be read" not in empty
