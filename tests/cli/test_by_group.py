"""Errors group by group, in the commands and in what they write."""

import pandas as pd
import pytest

import covey
from covey.cli._reading import read_table
from covey.reporting import build_card
from covey.tables._known_columns import table_for

from .conftest import as_json

BY = ("--by", "town", "--by", "Größe")


@pytest.fixture
def fitted(folder, run):
    """The evaluation of a model that does not use one of the two columns."""
    how = ("--effort", "fast", "--drop", "town", "--model", "by.covey", "--json")
    said = run("fit", "patients.csv", "--target", "outcome", *how, *BY, cwd=folder)
    return as_json(said)["evaluation"]


def test_a_column_that_is_left_out_makes_groups_of_all_rows_held_out_and_is_kept(folder, fitted):
    table = pd.read_csv(folder / "patients.csv").dropna(subset=["outcome"])
    wanted = table["town"].fillna("missing").value_counts().to_dict()
    assert {each["label"]: each["rows"] for each in fitted["by_group"]["town"]} == wanted
    assert "town" not in covey.load(folder / "by.covey").feature_names_in_
    assert sum(each["rows"] for each in fitted["by_group"]["Größe"]) == fitted["n_held_out"]
    assert len(fitted["by_group"]["Größe"]) == 5  # quarters, and rows without a value

    # The file keeps them, and the card shows them.
    model = covey.load(folder / "by.covey")
    assert model.evaluation_.as_dict()["by_group"] == fitted["by_group"]
    card = build_card(model)
    assert "| town | rows | right | missed | false alarms | said | true |" in card
    assert "The ranges hold for all groups together" in card


def test_a_report_counts_what_the_model_predicts(folder, fitted, run):
    command = ("report", "by.covey", "patients.csv", "--out", "by.html", *BY)
    said = as_json(run(*command, "--json", "-q", cwd=folder))
    frame = read_table(str(folder / "patients.csv"), labels=["outcome"])
    frame = frame[frame["outcome"].notna()]
    model = covey.load(folder / "by.covey")
    right = pd.Series(model.predict(table_for(model, frame)) == frame["outcome"].to_numpy())
    wanted = right.groupby(frame["town"].fillna("missing").to_numpy()).mean()
    for each in said["evaluation"]["by_group"]["town"]:
        assert each["right"][0] == pytest.approx(wanted[each["label"]])
    assert "Group by group" in (folder / "by.html").read_text(encoding="utf-8")
    shown = run(*command, cwd=folder).stdout
    assert "Too few rows to tell: 'missing'" in shown or "'missing'" in shown.split("Too few")[1]
