import numpy as np
import pytest

from covey import make_quarter_circle


def test_classes_are_balanced_and_follow_the_circle():
    X, y = make_quarter_circle(500, n_dummy_features=6, random_state=0)
    assert X.shape == (1000, 8)
    assert y.sum() == 500
    np.testing.assert_array_equal(y, (X[:, 0] ** 2 + X[:, 1] ** 2 >= 1).astype(int))
    assert X.min() >= 0
    assert X.max() <= 1
    assert len(set(y[:20])) == 2  # shuffled


def test_same_seed_same_data():
    one, other = (make_quarter_circle(7, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="n_samples_per_class == 0"):
        make_quarter_circle(0)
