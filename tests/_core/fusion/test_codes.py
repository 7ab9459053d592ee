"""Code books keep their rules, and words are read back as the formulas say."""

from itertools import combinations
from math import ceil, log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.fusion import codes

SIZES = [(2, 1), (3, 2), (3, 3), (4, 2), (5, 11), (6, 31), (7, 20), (10, 4), (13, 30), (40, 6)]


def assert_columns_keep_the_rules(book):
    assert book.dtype == np.int8
    columns = [tuple(column) for column in book.T.tolist()]
    assert all({-1, 1} <= set(column) for column in columns)
    assert len(set(columns)) == len(columns)
    assert not set(columns) & {tuple(-entry for entry in column) for column in columns}
    rows = [tuple(row) for row in book.tolist()]
    assert len(set(rows)) == len(rows)


def literal_min_distance(book):
    return min(
        sum(one * other == -1 for one, other in zip(first, second, strict=True))
        for first, second in combinations(book.tolist(), 2)
    )


# -- books -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [codes.random_code, codes.max_distance_code])
@pytest.mark.parametrize(("n_classes", "n_bits"), SIZES)
def test_drawn_and_searched_books_keep_the_rules_and_follow_the_seed(make, n_classes, n_bits):
    for seed in range(2):
        book = make(n_classes, n_bits, seed)
        assert book.shape == (n_classes, n_bits)
        assert_columns_keep_the_rules(book)
        assert set(book.ravel().tolist()) == {-1, 1}
        assert codes.min_distance(book) == literal_min_distance(book) >= 1
        assert_array_equal(book, make(n_classes, n_bits, seed))


def test_seeds_give_different_books():
    for make in (codes.random_code, codes.max_distance_code):
        assert (make(8, 15, 0) != make(8, 15, 1)).any()


@pytest.mark.parametrize("n_classes", range(2, 9))
def test_books_without_choice(n_classes):
    one_versus_all = codes.one_versus_all(n_classes)
    one_versus_one = codes.one_versus_one(n_classes)
    exhaustive = codes.exhaustive(n_classes)
    n_bits = 2 ** (n_classes - 1) - 1
    assert one_versus_all.shape == (n_classes, n_classes if n_classes > 2 else 1)
    assert one_versus_one.shape == (n_classes, n_classes * (n_classes - 1) // 2)
    assert exhaustive.shape == (n_classes, n_bits)
    assert ((one_versus_one != 0).sum(axis=0) == 2).all()
    for book, distance in (
        (one_versus_all, min(2, n_classes - 1)),
        (one_versus_one, 1),
        (exhaustive, max(1, 2 ** (n_classes - 2))),
    ):
        assert_columns_keep_the_rules(book)
        assert codes.min_distance(book) == literal_min_distance(book) == distance
    assert_array_equal(codes.max_distance_code(n_classes, n_bits, 0), exhaustive)


@pytest.mark.parametrize("n_classes", range(4, 11))
def test_searched_books_are_no_worse_than_the_best_of_a_thousand_random_ones(n_classes):
    for n_bits in (n_classes, ceil(5 * log2(n_classes))):
        n_bits = min(n_bits, codes.most_bits(n_classes))
        best = max(
            codes.min_distance(codes.random_code(n_classes, n_bits, seed)) for seed in range(1000)
        )
        for seed in range(3):
            assert codes.min_distance(codes.max_distance_code(n_classes, n_bits, seed)) >= best


@pytest.mark.parametrize(
    ("n_classes", "n_bits", "distance"), [(6, 6, 3), (7, 7, 4), (8, 7, 4), (8, 15, 8), (10, 17, 9)]
)
def test_searched_books_reach_plotkins_bound_where_a_code_does(n_classes, n_bits, distance):
    assert codes.min_distance(codes.max_distance_code(n_classes, n_bits, 0)) == distance


# -- reading words back ----------------------------------------------------------------------


def literal_distances(book, p, decoding):
    """By loops: the mean over the bits that a class takes part in, times all bits."""
    result = np.empty((len(p), len(book)))
    for n, bits in enumerate(p.tolist()):
        for c, word in enumerate(book.tolist()):
            terms = []
            for entry, bit in zip(word, bits, strict=True):
                if entry == 0:
                    continue
                wanted = (entry + 1) / 2
                if decoding == "absolute":
                    terms.append(abs(wanted - bit))
                elif decoding == "hamming":
                    terms.append(0.5 if bit == 0.5 else abs(wanted - (bit > 0.5)))
                else:
                    sure = min(max(bit, 1 - codes.SUREST), codes.SUREST)
                    terms.append(-log(sure if wanted else 1 - sure))
            result[n, c] = sum(terms) / len(terms) * len(word)
    return result


def literal_cross_entropy(book, p, probabilities):
    """What the bits say against what the class probabilities say of the bits, for one sample."""
    total = 0.0
    for column, bit in zip(book.T.tolist(), p.tolist(), strict=True):
        at_one = sum(q for q, entry in zip(probabilities, column, strict=True) if entry == 1)
        at_other = sum(q for q, entry in zip(probabilities, column, strict=True) if entry == -1)
        bit = min(max(bit, 1 - codes.SUREST), codes.SUREST)
        total += log(at_one + at_other) - bit * log(at_one) - (1 - bit) * log(at_other)
    return total


DECODINGS = ["absolute", "hamming", "log_loss"]


def nearest_classes(distances):
    return codes.scores(distances).argmax(axis=1)


@st.composite
def books_and_bits(draw):
    n_classes = draw(st.integers(2, 6))
    name = draw(st.sampled_from(["all", "one", "exhaustive", "random", "ternary"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    if name == "all":
        book = codes.one_versus_all(n_classes)
    elif name == "one":
        book = codes.one_versus_one(n_classes)
    elif name == "random":
        n_bits = draw(st.integers(codes.fewest_bits(n_classes), codes.most_bits(n_classes)))
        book = codes.random_code(n_classes, n_bits, draw(st.integers(0, 100)))
    else:
        book = codes.exhaustive(n_classes)
        if name == "ternary":  # rows with different numbers of zeros
            extra = rng.integers(-1, 2, (n_classes, 4)).astype(np.int8)
            both = (extra == 1).any(axis=0) & (extra == -1).any(axis=0)
            book = np.concatenate([codes.one_versus_one(n_classes), extra[:, both]], axis=1)
    p = rng.random((draw(st.integers(1, 5)), book.shape[1]))
    extreme = rng.random(p.shape)
    p = np.where(extreme < 0.1, 0.0, np.where(extreme > 0.9, 1.0, p))
    return book, np.where((extreme > 0.5) & (extreme < 0.55), 0.5, p)


@settings(max_examples=60)
@given(books_and_bits(), st.sampled_from(DECODINGS))
def test_distances_equal_the_literal_ones(book_and_bits, decoding):
    book, p = book_and_bits
    assert_allclose(
        codes.decoded(book, p, decoding), literal_distances(book, p, decoding), atol=1e-10
    )


@settings(max_examples=60)
@given(books_and_bits(), st.sampled_from(DECODINGS))
def test_probabilities_have_the_order_of_distances_and_the_best_scale(book_and_bits, decoding):
    book, p = book_and_bits
    distances = codes.decoded(book, p, decoding)
    probabilities = codes.class_probabilities(book, p, distances)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(probabilities.argmax(axis=1), nearest_classes(distances))
    for bits, distance, found in zip(p, distances, probabilities, strict=True):
        order = np.argsort(distance, kind="stable")
        assert (np.diff(found[order]) <= 1e-12).all()
        excess = distance - distance.min()
        spread = excess.max()
        if spread < 1e-9:
            assert_allclose(found, 1 / len(book))
            continue
        reached = literal_cross_entropy(book, bits, found.tolist())
        for scale in np.geomspace(2e-3, 100, 25):
            other = np.exp(-scale * excess / spread)
            other /= other.sum()
            assert reached <= literal_cross_entropy(book, bits, other.tolist()) + 1e-2


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-9, 2e-9, 1e-8, 1e-6, 1e-3, 0.5])
def test_the_nearest_class_is_the_most_probable_however_near_the_next_is(gap):
    book = codes.exhaustive(4)
    for p in (np.full((1, 7), 0.5), (book[[2]] == 1) * 1.0, (book[[0]] == 1) * 0.6):
        distances = np.array([[1.0 + gap, 2.0, 1.0, 1.5]])
        nearest = nearest_classes(distances)
        assert nearest == (0 if gap < 1e-9 else 2) or gap == 1e-9
        assert codes.class_probabilities(book, p, distances).argmax() == nearest


def test_rounding_does_not_tell_equally_near_classes_apart():
    distances = np.array([[0.3, 0.1 + 0.2, 0.3]])
    book = codes.exhaustive(3)
    assert nearest_classes(-distances + 1) == nearest_classes(distances) == 0
    assert_allclose(codes.class_probabilities(book, np.full((1, 3), 0.9), distances), 1 / 3)


def test_with_one_bit_its_probability_is_that_of_the_classes():
    book = codes.one_versus_all(2)
    p = np.array([[0.0], [0.001], [0.2], [0.45], [0.5], [0.7], [0.98], [1.0]])
    sure = np.clip(p[:, 0], 1 - codes.SUREST, codes.SUREST)
    for decoding in ("absolute", "log_loss"):
        found = codes.class_probabilities(book, p, codes.decoded(book, p, decoding))
        assert_allclose(found[:, 1], sure, atol=1e-6)


def test_a_wrong_bit_is_corrected_and_makes_for_doubt():
    book = codes.exhaustive(5)
    right = (book[2:3] == 1).astype(float)
    wrong = right.copy()
    wrong[0, :3] = 1 - wrong[0, :3]  # (8 - 1) // 2 bits may be wrong
    sure, doubtful = (
        codes.class_probabilities(book, p, codes.decoded(book, p, "absolute"))
        for p in (right, wrong)
    )
    assert sure.argmax() == doubtful.argmax() == 2
    assert sure[0, 2] > 0.999 > 0.9 > doubtful[0, 2]
