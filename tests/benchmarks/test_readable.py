"""Counting terms, choosing a model of at most so many, and the Pareto front."""

import numpy as np
import pandas as pd

from benchmarks.readable import front, terms

# -- terms -------------------------------------------------------------------------------------


def test_the_coefficients_of_a_feature_for_all_classes_are_one_term():
    coef = [[0.5, 0, 0], [0, 0, 0], [1, -2, 0]]
    assert terms.of_coefficients(coef) == 2


def test_two_classes_have_one_row_of_coefficients():
    assert terms.of_coefficients([0.5, 0, -1]) == 2


def test_equal_neighbours_are_one_step():
    assert terms.of_steps([0.1, 0.1, 0.3, 0.3, 0.1]) == 3


def test_a_flat_shape_counts_as_none():
    assert terms.of_steps([0.2, 0.2, 0.2]) == 0
    assert terms.of_steps([0.2]) == 0


def test_a_jump_of_any_class_begins_a_step():
    assert terms.of_steps([[0, 0, 5], [0, 1, 5], [2, 1, 5], [2, 1, 5]]) == 3


def test_bins_of_missing_and_unknown_values_are_not_read():
    assert terms.of_shapes([np.array([9.0, 1, 1, 2, 7]), np.array([9.0, 0, 0, 0, 7])]) == 2


def test_a_tree_without_a_split_says_nothing():
    assert terms.of_leaves(1) == 0
    assert terms.of_leaves(4) == 4


# -- the model of at most so many terms --------------------------------------------------------


def lines(method, sizes, cv, test, budget=np.nan):
    return pd.DataFrame(
        {
            "method": method,
            "problem": "p",
            "split": 0,
            "budget": budget,
            "terms": sizes,
            "cv_log_loss": cv,
            "log_loss": test,
            "accuracy": 0.5,
        }
    )


def test_the_choice_is_made_on_training_rows():
    path = lines("lasso", [3, 8, 30], [0.6, 0.5, 0.4], [0.1, 0.7, 0.2])
    assert front.chosen(path, 10)["terms"] == 8
    assert front.chosen(path, 200)["terms"] == 30


def test_a_smaller_model_that_validates_better_is_kept_at_a_larger_budget():
    path = lines("lasso", [3, 8], [0.4, 0.5], [0.4, 0.5])
    assert front.chosen(path, 200)["terms"] == 3


def test_a_method_that_takes_the_budget_gives_the_model_made_for_it():
    own = lines("covey", [4, 9, 60], np.nan, [0.5, 0.4, 0.3], budget=[5, 10, np.nan])
    assert front.chosen(own, 10)["terms"] == 9


def test_without_a_model_so_small_the_class_frequencies_are_said():
    results = pd.concat(
        [lines(front.CONSTANT, [0], [0.69], [0.7]), lines("trees", [12], [0.3], [0.3])]
    )
    said = front.at_budgets(results, (5, 20)).set_index("budget")
    assert said.loc[5, "log_loss"] == 0.7
    assert said.loc[20, "log_loss"] == 0.3


def test_a_table_that_one_method_lacks_is_left_out():
    both = pd.concat([lines("trees", [1], [0.3], [0.3]), lines("lasso", [1], [0.3], [0.3])])
    one = lines("trees", [1], [0.3], [0.3]).assign(problem="q")
    assert set(front.complete(pd.concat([both, one]))["problem"]) == {"p"}


# -- the front ---------------------------------------------------------------------------------


def test_a_point_is_on_the_front_unless_another_has_no_more_terms_and_no_more_loss():
    kept = front.pareto([5, 5, 10, 20, 20], [0.5, 0.4, 0.45, 0.3, 0.3])
    assert kept.tolist() == [False, True, False, True, True]
