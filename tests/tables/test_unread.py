"""Values that are written otherwise than at the fit become gaps, and a warning says so."""

import warnings

import numpy as np
import pandas as pd
import pytest

from covey import FlockClassifier, evaluate, load, save
from covey.tables import TablePreparation

ROWS = 100


def table():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")
    return pd.DataFrame(
        {
            "seen": days.strftime("%d.%m.%Y"),
            "mass": [f"{one:.1f} kg".replace(".", ",") for one in rng.normal(70, 9, ROWS)],
            "town": rng.choice(["Bath", "Oslo", "Rome"], ROWS),
            "took": pd.to_timedelta(rng.integers(1, 99, ROWS), "h"),
            "size": rng.normal(size=ROWS),
        }
    )


@pytest.fixture(scope="module")
def flock(tmp_path_factory):
    X = table()
    path = tmp_path_factory.mktemp("files") / "flock.covey"
    save(FlockClassifier(effort="fast", random_state=0).fit(X, X["size"] > 0), path)
    return load(path)


OTHERWISE = {
    "seen": (
        lambda values: pd.to_datetime(values, dayfirst=True).astype(str),
        "dates such as 31.01.2026",
    ),
    "mass": (lambda values: values.str.replace(",", "."), "numbers such as 1234,5 kg"),
    "town": (lambda values: values.str.upper(), "'Bath', 'Oslo', 'Rome'"),
    "took": (
        lambda values: values.astype(str).str.replace("days", "Tage"),
        "numbers such as 1234.5",
    ),
}


@pytest.mark.parametrize("column", OTHERWISE)
def test_a_column_that_is_written_otherwise_is_warned_of_once_a_call(flock, column):
    otherwise, seen = OTHERWISE[column]
    X = table()
    X[column] = otherwise(X[column])
    with pytest.warns(UserWarning, match="values of") as noticed:
        flock.predict(X)
    (one,) = noticed
    assert str(one.message) == (
        f"100 of 100 values of {column} are unknown to the model ({X[column].iloc[0]!r}; at the "
        f"fit {seen}) and count as missing."
    )


def test_numbers_that_are_written_otherwise_are_warned_of_before_they_are_floats(flock):
    X = table()
    X["mass"] = X["mass"].str.replace(",", ".")
    for read in (lambda: evaluate(flock, X, X["size"] > 0), lambda: flock.contributions(X[:9])):
        with pytest.warns(UserWarning, match="values of mass are unknown") as noticed:
            read()
        assert len(noticed) == 1
    preparation = TablePreparation().fit(table())
    with pytest.warns(UserWarning, match="values of mass are unknown"):
        preparation.transform(X)


def test_a_few_values_that_cannot_be_read_are_no_news(flock):
    X = table()
    X.loc[:2, ["seen", "mass"]] = "?"
    X.loc[:30, "town"] = "Lima"
    X.loc[40:60, ["seen", "mass", "town"]] = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flock.predict(X)


def test_a_column_is_compared_with_what_it_was_at_the_fit():
    X = table()[["mass", "size"]]
    X.loc[:7, "mass"] = "lost"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flock = FlockClassifier(effort="fast", random_state=0).fit(X, X["size"] > 0)
        X.loc[:14, "mass"] = "lost"
        flock.predict(X)
    X.loc[:16, "mass"] = "lost"
    with pytest.warns(
        UserWarning, match=r"17 of 100 values of mass are unknown to the model \('lost'; "
    ):
        flock.predict(X)
