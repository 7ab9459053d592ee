import numpy as np

from covey._core.reweighting import sample_weights


def test_first_member_weighs_all_rows_alike():
    np.testing.assert_array_equal(
        sample_weights(np.zeros((2, 3)), 0, np.ones((2, 3))), np.ones((2, 3))
    )


def test_later_weights_are_one_minus_the_mean_true_probability():
    np.testing.assert_allclose(
        sample_weights(np.array([[1.5, 0.2]]), 2, np.ones((1, 2))), [[0.25, 0.9]]
    )


def test_a_run_with_nothing_left_to_learn_starts_over():
    weight = sample_weights(np.array([[2.0, 2.0], [2.0, 1.0]]), 2, np.ones((2, 2)))
    np.testing.assert_allclose(weight, [[1.0, 1.0], [0.0, 0.5]])


def test_weights_never_leave_the_unit_interval():
    weight = sample_weights(np.array([[3.0 + 1e-15, -1e-17]]), 3, np.ones((1, 2)))
    assert weight.min() >= 0
    assert weight.max() <= 1


def test_rows_without_weight_have_no_say_in_what_is_left_to_learn():
    weight = sample_weights(np.array([[2.0, 0.4]]), 2, np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(weight, [[1.0, 1.0]])
