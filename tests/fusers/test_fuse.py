"""`covey.fuse` over whatever people have saved."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import covey

FIRST = [[0.8, 0.2], [0.4, 0.6]]
SECOND = [[0.6, 0.4], [0.1, 0.9]]


def test_every_form_of_saved_probabilities_fuses_alike():
    expected = [[0.7, 0.3], [0.25, 0.75]]
    stacked = np.stack([FIRST, SECOND], axis=1)
    for P in (
        [FIRST, SECOND],
        (np.array(FIRST), np.array(SECOND)),
        {"forest": FIRST, "boosting": SECOND},
        stacked,
        np.asfortranarray(stacked),
        covey.Predictions(stacked),
    ):
        assert_allclose(covey.fuse(P), expected)


def test_every_form_of_saved_labels_fuses_alike():
    expected = [[1 / 3, 2 / 3], [2 / 3, 1 / 3]]
    table = np.array([["dog", "cat", "dog"], ["cat", "dog", "cat"]])
    for P in (table, list(table.T), pd.DataFrame(table, columns=["a", "b", "c"])):
        assert_allclose(covey.fuse(P, "majority"), expected)
    assert_allclose(covey.fuse(table, "majority", classes=["dog", "cat"]), np.flip(expected, 1))


def test_rules_take_their_parameters():
    P = [[[0.9, 0.1]], [[0.4, 0.6]], [[0.3, 0.7]]]
    assert_allclose(covey.fuse(P, "k_of_n", k=2), [[0.4, 0.6]])
    assert_allclose(covey.fuse(P, "and", positive_class="no", classes=["no", "yes"]), [[0.3, 0.7]])
    assert_allclose(covey.fuse(P, covey.fusers.KOfN(3)), [[0.9, 0.1]])
    assert covey.fuse(P, "oracle", y=[1]).argmax() == 1


def test_a_fitted_fuser_is_a_rule():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet([1, 1], (50, 3)), rng.integers(0, 2, 50)
    X = rng.standard_normal((50, 2))
    fuser = covey.fusers.KnoraEliminate().fit(P, y, X)
    assert_array_equal(covey.fuse(P, fuser, X=X), fuser.fuse(P, X))


def test_row_blocks_change_nothing():
    P = np.random.default_rng(0).dirichlet([1] * 10, (20_000, 20))
    for rule in ("majority", "borda", "median"):
        assert_array_equal(covey.fuse(P, rule)[:50], covey.fuse(P[:50], rule))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule must be one of 'and', "),
        ({"rule": "single_best"}, "SingleBest learns how to fuse: fit it on held-out"),
        ({"rule": "median", "weights": [1, 2]}, "'median' has no parameter 'weights'"),
        ({"rule": "mean", "k": 2}, "'mean' has no parameter 'k'; it has weights"),
        (
            {"rule": covey.fusers.Mean(), "weights": [1, 2]},
            "weights cannot be set on the Mean given",
        ),
        ({"rule": covey.fusers.OLA()}, "OLA learns how to fuse"),
    ],
)
def test_bad_rules_get_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        covey.fuse([FIRST, SECOND], **arguments)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([FIRST, SECOND[:1]], "'member 2' has predictions of shape .1, 2., but 'member 1' of"),
        ({"a": FIRST, "b": [[0.5, 0.9], [0.1, 0.9]]}, "'b' gives sample 0 .* sum to 1.4"),
        ({"a": FIRST, "b": [[np.nan, 0.9], [0.1, 0.9]]}, "'b' has NaN among its values"),
        (np.zeros((2, 0, 2)), "hold no member"),
    ],
)
def test_bad_predictions_name_the_member(P, message):
    with pytest.raises(ValueError, match=message):
        covey.fuse(P)
