import numpy as np
import pytest
from numpy.testing import assert_array_equal

from covey import Predictions, Product
from covey.fusers import make_fuser


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
        (lambda: Predictions(np.zeros((1, 3, 2))).encode([5]), "label .*5.*none of the classes"),
    ],
)
def test_bad_predictions_get_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_fuser_is_made_by_name_or_copied():
    given = Product()
    assert isinstance(make_fuser("product"), Product)
    assert make_fuser(given) is not given
    with pytest.raises(ValueError, match="fusion must be one of 'and', .* or a Fuser, got 3"):
        make_fuser(3)
