"""``covey report`` and ``covey fit --report`` for numbers."""

import numpy as np
import pandas as pd
import pytest

from covey.persistence import load

from .conftest import as_json


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prices")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(160, 3)), columns=list("abc")).round(3)
    table["town"] = rng.choice(["Rome", "Oslo"], 160)
    table["price"] = (
        2 * table["b"] + 3 * (table["town"] == "Rome") + rng.normal(0, 0.3, 160)
    ).round(3)
    table.head(100).to_csv(folder / "prices.csv", index=False)
    table.tail(60).to_csv(folder / "new.csv", index=False)
    return folder


def test_numbers_are_reported_as_classes_are(prices, run):
    pytest.importorskip("jinja2")
    said = as_json(
        run(
            *("fit", "prices.csv", "--target", "price", "--effort", "fast", "--json"),
            *("--report", "held.html"),
            cwd=prices,
        )
    )
    assert said["report"] == "held.html"
    page = (prices / "held.html").read_text()
    assert "ridge regression, tuned" in page
    assert "Judged on 100 rows, each by a model that had not seen it" in page
    for sentence in said["answers"]["How sure is it?"], said["answers"]["May I trust it?"]:
        assert sentence in page.replace("\u00a0", " ")
    said = as_json(
        run("report", "flock.covey", "new.csv", "--out", "page.html", "--json", cwd=prices)
    )
    assert said["rows"] == 60
    new = pd.read_csv(prices / "new.csv")
    assert said["r2"] == pytest.approx(load(prices / "flock.covey").score(new, new["price"]))
    assert "price" in (prices / "page.html").read_text()


def test_rows_without_a_true_number_are_left_out(prices, run):
    pytest.importorskip("jinja2")
    table = pd.read_csv(prices / "new.csv", dtype=str)
    table.loc[0, "price"] = "cheap"
    table.loc[1, "price"] = None
    table.to_csv(prices / "gaps.csv", index=False)
    result = run("report", "flock.covey", "gaps.csv", "--out", "gaps.html", cwd=prices)
    assert result.exit_code == 0, result.output
    assert "1 of 60 rows have no true value" in result.stderr
    assert "1 rows have values that the model does not know ('cheap')" in result.stderr
    # Rows have the numbers that they have in the file, in which the first two are left out.
    page = (prices / "gaps.html").read_text()
    model, known = load(prices / "flock.covey"), pd.read_csv(prices / "new.csv").iloc[2:]
    off = np.abs(model.predict(known) - known["price"])
    assert f'Row <span class="name">{off.idxmax() + 1}</span>' in page
    # What is said of columns is said of this table, and of those that the model reads.
    health = page.partition('id="health"')[2].partition("</section>")[0]
    assert ">town<" in health
    assert ">price<" not in health
    # Nothing of them was fitted on.
    assert "Judged on 58 rows, which it had not seen" in page
    assert 'class="caution"' not in page
    arguments = ("report", "flock.covey", "new.csv", "--out", "no.html", "--target", "town")
    result = run(*arguments, cwd=prices)
    assert result.exit_code == 2
    assert "no value of 'town' is a number to compare with" in result.stderr


def test_rows_that_were_fitted_on_are_no_rows_that_it_had_not_seen(prices, run):
    pytest.importorskip("jinja2")
    table = pd.read_csv(prices / "prices.csv")
    table.insert(0, "house", [f"No {number}" for number in range(len(table))])
    table.to_csv(prices / "named.csv", index=False)
    arguments = ("report", "flock.covey", "named.csv", "--out", "seen.html", "--id", "house")
    result = run(*arguments, cwd=prices)
    assert result.exit_code == 0, result.output
    page = (prices / "seen.html").read_text()
    assert "100 of these 100 rows were fitted on: on new ones the model is less right" in page
    assert "had not seen" not in page
    assert "These numbers cannot tell: 100 of these 100 rows" in page
    assert 'Row <span class="name">No ' in page
    result = run(*arguments[:-1], "hous", cwd=prices)
    assert result.exit_code == 2
    assert "--id: the table has no column 'hous'; did you mean 'house'?" in result.stderr
