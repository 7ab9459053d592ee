"""Diversity of predictions: what users give, what they get, and how fast."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey import Predictions
from covey.inspection import _diversity, diversity
from covey.inspection._diversity import Diversity
from tests._core.inspection import test_diversity as loops

PAIRS = {
    "q_statistic": loops.literal_q,
    "correlation": loops.literal_correlation,
    "disagreement": loops.literal_disagreement,
    "double_fault": loops.literal_double_fault,
}
POSTERIORS = {
    "kl_divergence": loops.literal_divergence,
    "posterior_cross_correlation": loops.literal_cross_correlation,
    "posterior_correlation": loops.literal_posterior_correlation,
}
WHOLE = list(loops.WHOLE)
ALL = [*PAIRS, *WHOLE, "label_kappa", *POSTERIORS]


def flock(n=30, k=4, c=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(c), (n, k)), rng.integers(0, c, n), rng.uniform(0, 2, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_size", [1, 100, 10**6])
def test_every_measure_is_its_definition_in_loops_whatever_the_blocks(
    monkeypatch, weighted, block_size
):
    monkeypatch.setattr(_diversity, "_BLOCK_SIZE", block_size)
    P, y, weight = flock()
    weight = weight if weighted else np.ones(len(y))
    found = diversity(P, y, sample_weight=weight if weighted else None)
    assert isinstance(found, Diversity)
    assert list(found.values) == ALL
    labels = P.argmax(axis=2)
    right = labels == y[:, None]
    expected = {name: loops.matrix_of(f, right, weight) for name, f in PAIRS.items()}
    expected |= {name: loops.matrix_of(f, P, weight) for name, f in POSTERIORS.items()}
    expected["label_kappa"] = loops.matrix_of(loops.literal_label_kappa, labels, weight)
    assert set(found.matrices) == set(expected)
    for name, matrix in expected.items():
        assert_allclose(found.matrices[name], matrix, atol=1e-10, err_msg=name)
        mean = np.mean([matrix[j, k] for j in range(4) for k in range(j)])
        assert found[name] == pytest.approx(mean, abs=1e-10)
    for name, value in loops.literal_whole(right, weight).items():
        assert found[name] == pytest.approx(value, abs=1e-10)


@settings(max_examples=40)
@given(loops.flocks(), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter_and_nothing_is_nan(case, random):
    P, _, y, weight = case
    order = list(range(P.shape[1]))
    random.shuffle(order)
    found = diversity(P, y, sample_weight=weight)
    shuffled = diversity(P[:, order], y, sample_weight=weight)
    for name in ALL:
        assert np.isfinite(found[name])
        assert shuffled[name] == pytest.approx(found[name], abs=1e-7), name
    for name, matrix in found.matrices.items():
        assert_allclose(shuffled.matrices[name], matrix[np.ix_(order, order)], atol=1e-7)
        assert_allclose(matrix, matrix.T, atol=1e-12)


def test_a_weight_of_two_is_a_row_twice_and_of_zero_none():
    P, y, _ = flock(n=20)
    weight = np.arange(20) % 3
    found = diversity(P, y, sample_weight=weight)
    repeated = diversity(np.repeat(P, weight, axis=0), np.repeat(y, weight))
    tenth = diversity(P, y, sample_weight=weight / 10)
    for name in ALL:
        assert found[name] == pytest.approx(repeated[name], abs=1e-12), name
        assert tenth[name] == pytest.approx(repeated[name], abs=1e-12), name


def test_copies_are_at_one_end_of_every_measure():
    P, y, _ = flock(k=1)
    found = diversity(np.repeat(P, 3, axis=1), y)
    error = (P[:, 0].argmax(axis=1) != y).mean()
    certainty = (P**2).sum(axis=2).mean()
    expected = dict.fromkeys(ALL, 0.0) | {
        "q_statistic": 1,
        "correlation": 1,
        "double_fault": error,
        "interrater_kappa": 1,
        "label_kappa": 1,
        "posterior_cross_correlation": certainty,
        "posterior_correlation": 1,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_two_that_never_agree_are_at_the_other_end():
    y = np.array([0, 1] * 6)
    first = np.where(np.arange(12) < 6, y, 1 - y)
    P = np.stack([np.eye(2)[first], np.eye(2)[1 - first]], axis=1)
    found = diversity(P, y)
    expected = {
        "q_statistic": -1,
        "correlation": -1,
        "disagreement": 1,
        "double_fault": 0,
        "interrater_kappa": -1,
        "entropy": 1,
        "kohavi_wolpert_variance": 0.25,
        "generalized_diversity": 1,
        "coincident_failure_diversity": 1,
        "label_kappa": -1,
        "kl_divergence": 12 * np.log(10),
        "posterior_cross_correlation": 0,
        "posterior_correlation": -1,
    }
    assert set(expected) == set(ALL)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


def test_by_default_all_is_measured_that_can_be():
    P, y, _ = flock()
    labels = P.argmax(axis=2)
    assert list(diversity(P).values) == ["label_kappa", *POSTERIORS]
    assert list(diversity(labels).values) == ["label_kappa"]
    assert list(diversity(labels, y).values) == [*PAIRS, *WHOLE, "label_kappa"]
    scores = Predictions(np.log(P), kind="score")
    assert diversity(scores, y)["label_kappa"] == diversity(P, y)["label_kappa"]
    assert list(diversity(P, y, measures=["entropy", "q_statistic"]).values) == [
        "entropy",
        "q_statistic",
    ]


def test_labels_say_what_probabilities_do_of_who_is_right():
    P, y, _ = flock()
    words = np.array(["no", "so", "yes"])
    labels = words[P.argmax(axis=2)]
    from_words = diversity({name: labels[:, k] for k, name in enumerate("abcd")}, words[y])
    assert from_words.names == ["a", "b", "c", "d"]
    from_probabilities = diversity(P, y)
    for name, value in from_words.values.items():
        assert value == pytest.approx(from_probabilities[name], abs=1e-12)


def test_a_class_that_no_member_names_counts_once_it_is_named():
    labels = np.array([[0, 1], [1, 1], [0, 0]])
    with pytest.raises(ValueError, match="y holds the label 2, .* none of the classes 0, 1"):
        diversity(labels, [0, 1, 2])
    found = diversity(Predictions(labels, classes=[0, 1, 2]), [0, 1, 2])
    assert found["double_fault"] == pytest.approx(1 / 3)


def test_a_diversity_prints_one_line_a_measure():
    P, y, _ = flock()
    lines = str(diversity(P, y)).splitlines()
    assert [line.split()[0] for line in lines] == ALL
    assert lines[0].endswith("(lower is more diverse)")
    assert lines[2].endswith("(higher is more diverse)")


P, Y, _ = flock(n=6)
GAP = P.copy()
GAP[2, 1] = np.nan
PARTLY = P.copy()
PARTLY[2, 1, 0] = np.nan


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: diversity(P, measures="entropy"),
            "'entropy' needs to know which members are right; give the true",
        ),
        (lambda: diversity(P, Y, measures="yule"), "measures must be of 'q_st.*, got 'yule'"),
        (lambda: diversity(P, Y, measures=[]), "measures names none"),
        (lambda: diversity(P, Y, measures=["entropy", 3]), "measures must be of .*, got 3"),
        (
            lambda: diversity(P.argmax(axis=2), Y, measures="kl_divergence"),
            "'kl_divergence' compares probabilities, but P is of kind 'label'",
        ),
        (lambda: diversity(P[:, :1], Y), "needs two or more, but P holds 1"),
        (lambda: diversity(P[:0], []), "P holds no sample"),
        (lambda: diversity(P, Y[:5]), "y must hold one label for each of the 6 samples"),
        (lambda: diversity(P, [0, 1, 2, 0, 1, 7]), "y holds the label 7, .* none of the classes"),
        (lambda: diversity(P, [0, 1, 2, 0, 1, np.nan]), "y holds the label nan"),
        (lambda: diversity(GAP, Y), "P lacks the prediction of 'member 2' for sample 2"),
        (lambda: diversity(PARTLY, Y), "'member 2' has NaN among its values for sample 2"),
        (lambda: diversity(P * 2, Y), "'member 1' gives"),
        (lambda: diversity(Predictions(P[:, :, :1], kind="value"), Y), "values of a regression"),
        (lambda: diversity(P, Y, sample_weight=np.ones(5)), "one weight for each of the 6 sam"),
        (lambda: diversity(P, Y, sample_weight=-np.ones(6)), "sample_weight must not be negative"),
        (lambda: diversity(P, Y, sample_weight=np.zeros(6)), "sample_weight is all zero"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_hundred_members_take_no_loop_over_pairs():
    # About half a second; a loop over the 4950 pairs alone would take far longer.
    rng = np.random.default_rng(0)
    positive = rng.random((20_000, 100))
    P = np.stack([1 - positive, positive], axis=2)
    y = rng.integers(0, 2, 20_000)
    start = time.perf_counter()
    found = diversity(P, y)
    assert time.perf_counter() - start < 8
    assert_array_equal([abs(found[name]) < 0.01 for name in ("correlation", "label_kappa")], True)
