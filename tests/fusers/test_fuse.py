"""`covey.fuse` over whatever people have saved."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier

import covey
from covey import Predictions
from covey.fusers._fixed import make_fuser

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
    fuser = covey.fusers.DynamicSelection("knora_e").fit(P, y, X)
    assert_array_equal(covey.fuse(P, fuser, X=X), fuser.fuse(P, X))


def test_row_blocks_change_nothing():
    P = np.random.default_rng(0).dirichlet([1] * 10, (20_000, 20))
    for rule in ("majority", "borda", "median"):
        assert_array_equal(covey.fuse(P, rule)[:50], covey.fuse(P[:50], rule))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule must be one of 'a_posteriori', "),
        ({"rule": "single_best"}, "SingleBest learns how to fuse: fit it on held-out"),
        ({"rule": "median", "weights": [1, 2]}, "'median' has no parameter 'weights'"),
        ({"rule": "mean", "k": 2}, "'mean' has no parameter 'k'; it has weights"),
        (
            {"rule": covey.fusers.Mean(), "weights": [1, 2]},
            "weights cannot be set on the Mean given",
        ),
        (
            {"rule": covey.fusers.DynamicSelection("ola")},
            r"DynamicSelection\('ola'\) learns how to fuse",
        ),
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


@pytest.mark.parametrize("rule", ["mean", "product", "majority", "borda", "k_of_n"])
def test_weights_of_each_sample_are_those_of_one_sample_at_a_time(rule):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], (40, 5))
    weights = rng.integers(0, 4, (40, 5)) + np.eye(5)[np.arange(40) % 5]
    available = rng.random((40, 5)) > 0.2
    available[:, 2] = True
    fuser = make_fuser(rule, weights=weights)
    fused = fuser.fuse(Predictions(P, available=available))
    who = fuser.importance(Predictions(P, available=available))
    for row in range(40):
        one = Predictions(P[[row]], available=available[[row]])
        assert_allclose(fused[[row]], covey.fuse(one, rule, weights[row]), atol=1e-12)
        assert_allclose(who[[row]], make_fuser(rule, weights=weights[row]).importance(one))
    # Equal rows are the weights of members, however many samples there are.
    many = rng.dirichlet([1, 1, 1], (9000, 5))
    alike = covey.fuse(many, rule, np.tile(weights[0], (9000, 1)))
    assert_array_equal(alike, covey.fuse(many, rule, weights[0]))


def test_numbers_have_weights_of_each_sample_too():
    numbers = [[1.0, 2.0], [3.0, 8.0]]  # two members, two samples
    fused = covey.fuse(numbers, "mean", [[1, 1], [0, 1]], kind="value")
    assert_allclose(fused, [2.0, 8.0])


@pytest.mark.parametrize("rule", ["mean", "product", "majority", "borda"])
def test_weights_of_any_size_are_divided_by_their_sum(rule):
    P = np.random.default_rng(0).dirichlet([1, 1, 1], (6, 3))
    expected = covey.fuse(P, rule, [3, 2, 1])
    for weights in (np.array([3, 2, 1]) * 5e307, np.tile(np.array([3, 2, 1]) * 5e307, (6, 1))):
        assert_allclose(covey.fuse(P, rule, weights), expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((3, 2)), "one for each of the 4 samples .* and the 2 members, .* shape .3, 2."),
        ([[1, 1], [1, 1], [0, 0], [1, 1]], "not all zero in any row, but row 2 is"),
        ([[1, 1], [1, -1], [1, 1], [1, 1]], "not negative .* but row 1 is"),
        ([[1, np.nan], [1, 1], [1, 1], [1, 1]], "finite, .* but row 0 is"),
        (np.ones((4, 2, 1)), "one number for each of the 2 members"),
    ],
)
def test_weights_that_do_not_fit_the_samples_get_one_sentence(weights, message):
    with pytest.raises(ValueError, match=message):
        covey.fuse(np.full((4, 2, 2), 0.5), "product", weights)


def test_weights_of_each_sample_are_refused_by_what_fuses_other_samples_later(tmp_path):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    rule = covey.fusers.Mean(np.ones((8, 2)))
    with pytest.raises(ValueError, match="an estimator, which fuses other samples later"):
        covey.FusionClassifier([DummyClassifier(), DummyClassifier()], rule).fit(X, y)
    with pytest.raises(Exception, match="weights of each sample"):
        covey.save(rule.fit(np.full((8, 2, 2), 0.5)), tmp_path / "rule.covey")
