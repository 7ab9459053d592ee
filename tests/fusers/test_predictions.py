import numpy as np
import pytest
from numpy.testing import assert_array_equal

from covey import Predictions
from covey.fusers import Product
from covey.fusers._fixed import make_fuser
from covey.fusers._predictions import concatenated


def test_defaults_and_first_members():
    P = Predictions(np.zeros((2, 3, 4)), available=np.ones((2, 3), bool))
    assert P.names == ["member 1", "member 2", "member 3"]
    assert_array_equal(P.classes, [0, 1, 2, 3])
    assert P.first(2).n_members == 2
    assert P.first(2).available.shape == (2, 2)


def test_labels_are_encoded_in_the_order_of_the_classes():
    P = Predictions(np.zeros((3, 1, 3)), classes=["c", "a", "b"])
    assert_array_equal(P.encode(["a", "c", "b"]), [1, 0, 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Predictions(np.zeros(3)), "shape .n_samples, n_members, n_classes."),
        (lambda: Predictions(np.full((2, 3), 0.4)), "holds labels, but these are fractions"),
        (lambda: Predictions(np.zeros((2, 3, 4)), classes=["a"]), "1 classes are named"),
        (lambda: Predictions(np.zeros((2, 3, 4)), names=["a"]), "1 names are given"),
        (lambda: Predictions(np.zeros((2, 3, 4)), kind="guess"), "kind must be one of"),
        (lambda: Predictions(np.zeros((2, 3, 2))).encode([0]), "one label for each of the 2"),
        (
            lambda: Predictions(np.ones((2, 3, 2)) / 2, available=[True]),
            "available must hold one bool",
        ),
        (lambda: Predictions(np.full((1, 1, 2), np.nan), available=[[True]]), "has NaN among"),
        (
            lambda: make_fuser("mean").fuse(Predictions([[[3.0, -1.0]]])),
            "'member 1' gives 3 as a probability",
        ),
        (lambda: Predictions(np.zeros((1, 3, 2))).encode([5]), "label .*5.*none of the classes"),
    ],
)
def test_bad_predictions_get_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_silent_members_say_nothing_whatever_stands_there():
    values = np.array([[[0.9, 0.1], [0.8, 0.2], [np.nan, np.nan]]])
    available = [[True, True, False]]
    for rule in ("mean", "product", "median", "majority"):
        np.testing.assert_allclose(
            make_fuser(rule).fuse(Predictions(values, available=available)),
            make_fuser(rule).fuse(Predictions(values[:, :2])),
        )


def test_missing_labels_are_silent_members():
    expected = [[True, False], [True, True]]
    assert_array_equal(Predictions([[0.0, np.nan], [1.0, 0.0]]).available, expected)
    words = np.array([["a", None], ["b", "a"]], dtype=object)
    assert_array_equal(Predictions(words).available, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_whole_numbers_of_any_kind_are_labels(dtype):
    labels = np.array([[0, 2], [1, 1]], dtype=dtype)
    assert_array_equal(make_fuser("majority").fuse(labels), [[0.5, 0, 0.5], [0, 1, 0]])
    assert_array_equal(Predictions(labels + dtype(5)).classes, [5, 6, 7])


def test_a_fuser_is_made_by_name_or_copied():
    given = Product()
    assert isinstance(make_fuser("product"), Product)
    assert make_fuser(given) is not given
    with pytest.raises(
        ValueError, match="fuser must be one of 'a_posteriori', .*, a Fuser or a function, got 3"
    ):
        make_fuser(3)


def test_a_class_that_a_member_lacks_in_one_block_is_unseen_in_all_of_them():
    values = np.array([[[0.5, 0.5, 0.0]]])
    knows_two = Predictions(values, seen=np.array([[True, True, False]]))
    knows_all = Predictions(values[:, :, ::-1])
    joined = concatenated([knows_all, knows_two])
    assert_array_equal(joined.seen, [[True, True, False]])
    assert joined.n_samples == 2
    assert concatenated([knows_all, knows_all]).seen is None


def test_a_member_absent_from_one_block_is_present_in_the_others():
    present = Predictions(np.full((1, 2, 2), 0.5))
    absent = Predictions(np.full((1, 2, 2), 0.5), available=[[True, False]])
    assert_array_equal(concatenated([present, absent]).available, [[True, True], [True, False]])
