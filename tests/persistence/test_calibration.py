"""Scores of rows held out are saved without the rows, and checked when they are read."""

import numpy as np
import pytest

from covey import FlockRegressor
from covey._state import equal
from covey.persistence import ModelFileError, load
from tests.persistence._helpers import (
    X_NUMBERS,
    Y_NUMBERS,
    X,
    changed,
    flock,
    round_trip,
    saved,
    with_array,
    y,
)


@pytest.fixture
def calibrated(tmp_path):
    model = flock(effort="fast").fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
    return saved(model, tmp_path / "calibrated.covey")


def test_a_loaded_flock_makes_the_same_promises(tmp_path):
    model = flock(effort="fast").fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.predict_set(X, 0.5), model.predict_set(X, 0.5))
    assert again.rejection(0.2) == model.rejection(0.2)
    assert again.calibration_.source == "given rows"
    numbers = FlockRegressor(effort="fast", n_estimators=2, random_state=0)
    numbers.fit(X_NUMBERS, Y_NUMBERS).calibrate(X_NUMBERS, Y_NUMBERS)
    np.testing.assert_array_equal(
        round_trip(numbers, tmp_path).predict_interval(X_NUMBERS, 0.5),
        numbers.predict_interval(X_NUMBERS, 0.5),
    )


def test_the_order_of_scores_tells_nothing_of_the_order_of_rows():
    order = np.random.default_rng(0).permutation(len(y))
    model = flock(effort="fast").fit(X[::2], y[::2])
    one, other = (model.calibrate(X[i], y[i]).calibration_ for i in (slice(None), order))
    assert equal(one, other)


def scores(document):
    return document["model"]["fitted"]["calibration"]


@pytest.mark.parametrize(
    ("name", "number", "match"),
    [
        ("label", 3, "label holds a number above 2"),
        ("label", -1, "label holds a number below 0"),
        ("probabilities", 1.5, "probabilities holds a number above 1"),
        ("probabilities", np.nan, "probabilities holds NaN"),
        ("weight", -1.0, "weight holds a number that is not above 0"),
        ("weight", 0.0, "weight holds a number that is not above 0"),
        ("weight", np.inf, "weight holds NaN, or a number beyond"),
    ],
)
def test_scores_that_are_none_are_refused(name, number, match, calibrated):
    def set_first(values):
        values.flat[0] = number

    path = with_array(calibrated, lambda document: scores(document)[name], set_first)
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_columns_and_sources_are_those_that_there_are(calibrated, tmp_path):
    def without_probabilities(document):
        del scores(document)["probabilities"]

    def from_somewhere(document):
        scores(document)["source"] = "/etc/passwd"

    kept = calibrated.read_bytes()
    for change in (without_probabilities, from_somewhere):
        calibrated.write_bytes(kept)
        with pytest.raises(ModelFileError):
            load(changed(calibrated, change))


def test_a_flock_without_scores_comes_back_without_them(tmp_path):
    again = round_trip(flock(effort="fast").fit(X, y), tmp_path)
    with pytest.raises(ValueError, match="effort='fast'"):
        again.predict_set(X)
