"""SubsetSelector: what it keeps, what that means, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import (
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    SubsetSelector,
    make_quarter_circle,
)


def linear_effects(seed, n_rows=1000, n_features=200):
    """Normal columns, 10 of them in a logistic model with |beta| = 0.7 and random signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    true = rng.choice(n_features, 10, replace=False)
    odds = X[:, true] @ (0.7 * rng.choice([-1, 1], 10))
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int), true


def numeric_effects(seed, n_rows=1000, n_features=200, share=0.5):
    """Normal columns, 10 of them with equal effects that explain a share of y's variance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    true = rng.choice(n_features, 10, replace=False)
    signal = X[:, true] @ rng.choice([-1.0, 1.0], 10)
    return X, signal + rng.normal(size=n_rows) * np.sqrt(10 * (1 - share) / share), true


def quick(**parameters):
    """What is relevant is tested without members: few are grown where these do not matter."""
    return SubsetSelector(**{"n_resamples": 2, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def extended():
    return make_quarter_circle(250, n_dummy_features=6, random_state=0)


@pytest.fixture(scope="module")
def fitted(extended):
    return quick(n_resamples=25).fit(*extended)


_EVIDENCE = "weights have no scale: to a test, a row of weight 2 is no two rows"


@parametrize_with_checks(
    [SubsetSelector(n_resamples=2, random_state=0)],
    expected_failed_checks=lambda model: {
        f"check_sample_weight_equivalence_on_{kind}_data": _EVIDENCE
        for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


# -- what it finds ---------------------------------------------------------------------------


@pytest.mark.slow
def test_the_papers_extended_set_in_24_of_25_seeds():
    """Features 1 and 2 first on the diagonal, (1, 2) the first pair; a tie is a miss."""
    found = 0
    for seed in range(25):
        X, y = make_quarter_circle(250, n_dummy_features=6, random_state=seed)
        model = SubsetSelector(random_state=seed).fit(X, y)
        diagonal = np.diag(model.co_selection_)
        pairs = np.sort(model.co_selection_[np.triu_indices(8, 1)])
        found += bool(
            diagonal[:2].min() > diagonal[2:].max() and model.co_selection_[0, 1] > pairs[-2]
        )
    assert found >= 24


@pytest.mark.parametrize("n_seeds", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_linear_effects_among_two_hundred(n_seeds):
    """Median of 6 seeds: 9 of the 10 first are true; its own choice has 9 true, 2 false."""
    first, true_ones, false_ones = [], [], []
    for seed in range(n_seeds):
        X, y, true = linear_effects(seed)
        model = quick(random_state=seed).fit(X, y)
        first.append(np.isin(np.argsort(model.ranking_)[:10], true).sum())
        true_ones.append(model.support_[true].sum())
        false_ones.append(model.support_.sum() - model.support_[true].sum())
    assert np.median(first) >= 9
    assert np.median(true_ones) >= 9
    assert np.median(false_ones) <= 2


@pytest.mark.parametrize("n_seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_nothing_stands_out_of_noise(n_seeds):
    rng = np.random.default_rng(0)
    counts = [
        quick(random_state=seed)
        .fit(rng.normal(size=(200, 30)), rng.integers(0, 2, 200))
        .support_.sum()
        for seed in range(n_seeds)
    ]
    assert np.median(counts) == 0


@pytest.mark.parametrize("n_seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_effects_on_numbers_among_two_hundred(n_seeds):
    """Over 5 seeds: the 10 true ones are the 10 first, and its own choice adds one at most."""
    for share, least in ((0.5, 9.5), (0.2, 7.5)):
        first, true_ones, false_ones = [], [], []
        for seed in range(n_seeds):
            X, y, true = numeric_effects(seed, share=share)
            model = quick(random_state=seed).fit(X, y)
            first.append(np.isin(np.argsort(model.ranking_)[:10], true).sum())
            true_ones.append(model.support_[true].sum())
            false_ones.append(model.support_.sum() - model.support_[true].sum())
        assert np.mean(first) >= least
        assert np.mean(true_ones) >= least
        assert np.mean(false_ones) <= 1


@pytest.mark.parametrize("n_seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_nothing_stands_out_of_noise_for_numbers(n_seeds):
    rng = np.random.default_rng(0)
    counts = [
        quick(random_state=seed)
        .fit(rng.normal(size=(200, 30)), rng.normal(size=200))
        .support_.sum()
        for seed in range(n_seeds)
    ]
    assert np.median(counts) == 0


def test_the_unit_of_a_number_does_not_matter_and_robust_losses_resist_outliers():
    X, y, true = numeric_effects(0, 400, 30)
    plain = quick().fit(X, y)
    moved = quick().fit(X, 1000 + 50 * y)
    assert_array_equal(plain.support_, moved.support_)
    spoiled = y.copy()
    spoiled[:8] += 200.0
    recipe = SubsetEnsembleRegressor(
        1, loss="huber", flip_probability=0.05, tol=-np.inf, max_iter=150, subset_penalty=0.003
    )
    huber = quick(estimator=recipe, n_resamples=10).fit(X, spoiled)
    recipe.set_params(loss="squared")
    squared = quick(estimator=recipe, n_resamples=10).fit(X, spoiled)
    assert huber.selection_frequency_[true].mean() > squared.selection_frequency_[true].mean()
    assert squared.support_[true].sum() >= 9


def test_the_estimators_kind_decides_what_y_is(extended):
    X, y = extended
    recipe = SubsetEnsembleRegressor(
        1, flip_probability=0.05, tol=-np.inf, max_iter=50, subset_penalty=0.003
    )
    as_numbers = quick(estimator=recipe).fit(X, y)
    as_labels = quick().fit(X, y)
    assert not np.array_equal(as_numbers.co_selection_, as_labels.co_selection_)
    assert_array_equal(np.flatnonzero(as_numbers.support_), [0, 1])
    labels = SubsetSelector(SubsetEnsembleClassifier(1))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        labels.fit(X, y + 0.5 * X[:, 0])


def test_a_fitted_regressor_serves_as_it_is():
    X, y, _ = numeric_effects(0, 300, 12)
    flock = SubsetEnsembleRegressor(5, flip_probability=0.2, fuser="mean", random_state=0)
    flock.fit(X, y)
    model = SubsetSelector(flock, prefit=True).fit(X, y)
    assert_allclose(model.selection_frequency_, flock.support_.mean(axis=0))


# -- all features, and the fewest that suffice -----------------------------------------------


@pytest.mark.parametrize("n_seeds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_redundant_true_columns_come_before_noise(n_seeds):
    """Iris and 6 columns of noise."""
    X, y = load_iris(return_X_y=True)
    found = false = 0
    for seed in range(n_seeds):
        noisy = np.hstack([X, np.random.default_rng(seed).normal(size=(150, 6))])
        model = quick(random_state=seed).fit(noisy, y)
        found += (model.ranking_[:4] <= 4).all()
        false += model.support_[4:].sum()
    assert found == n_seeds
    assert false <= max(1, 0.4 * n_seeds)


@pytest.fixture(scope="module")
def twins():
    """Two true columns, a copy of each, and 6 of noise, with names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 10)), columns=[*"abcdefgh", "a2", "b2"])
    X[["a2", "b2"]] = X[["a", "b"]]
    return X, X["a"] - X["b"] + rng.normal(size=300)


def test_twins_are_found_and_one_of_them_suffices(twins):
    X, y = twins
    model = quick(select="smallest", level=0.001).fit(X, y)
    assert set(X.columns[model.support_all_]) == {"a", "b", "a2", "b2"}
    assert_array_equal(model.support_, model.support_smallest_)
    assert model.support_.sum() == 2
    assert sorted(map(sorted, model.twins_)) == [["a", "a2"], ["b", "b2"]]
    assert [group[0] for group in model.twins_] == sorted(
        model.get_feature_names_out(), key=lambda name: model.ranking_[list(X).index(name)]
    )
    # What is needed comes first, then what else is relevant, then noise.
    assert set(X.columns[model.ranking_ <= 4]) == {"a", "b", "a2", "b2"}
    three = quick(select="smallest", level=0.001, n_features_to_select=3).fit(X, y)
    assert_array_equal(three.support_, model.ranking_ <= 3)


def test_seeds_change_no_p_value(twins):
    one, other = (quick(random_state=seed).fit(*twins) for seed in (0, 1))
    assert_array_equal(one.pvalues_, other.pvalues_)


def test_columns_of_a_group_are_one_feature():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 4, 200)
    X = np.hstack([np.eye(4)[town], rng.normal(size=(200, 4))])
    y = np.where(rng.random(200) < 0.3, 1 - town % 2, town % 2)
    model = quick(feature_groups={"town": [0, 1, 2, 3]}).fit(X, y)
    assert len(set(model.pvalues_[:4])) == 1
    assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2, 3])
    assert model.pvalues_[0] < quick().fit(X, y).pvalues_[:4].min()
    # One feature does not fit the group of four: the next best stands alone.
    one = quick(feature_groups=[[0, 1, 2, 3]], n_features_to_select=1).fit(X, y)
    assert one.support_.sum() == 1
    assert not one.support_[:4].any()
    grower = SubsetEnsembleClassifier(1, feature_groups=[[0, 1, 2, 3]], always_keep=[6])
    by_estimator = SubsetSelector(grower, n_resamples=2, random_state=0).fit(X, y)
    assert_array_equal(by_estimator.pvalues_, model.pvalues_)
    assert_array_equal(np.flatnonzero(by_estimator.support_), [0, 1, 2, 3, 6])


def test_whole_numbers_are_a_quantity_where_they_are_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.round(100 * X[:, 2] + 10 * rng.normal(size=150))
    model = quick().fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [2])
    assert_array_equal(model.pvalues_, quick().fit(X, y + 0.5).pvalues_)
    # A hundred rows of each are classes.
    assert not np.array_equal(quick().fit(X, np.digitize(y, [0])).pvalues_, model.pvalues_)


def test_extreme_values_and_weights_are_ranks_and_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = (X[:, 1] + 0.5 * rng.normal(size=120) > 0).astype(int)
    plain = quick().fit(X, y)
    X[np.argmax(X[:, 1]), 1] = 1e300
    weight = np.full(120, 1e-5)
    extreme = quick().fit(X, y, sample_weight=weight)
    assert_allclose(extreme.scores_, plain.scores_)
    assert_array_equal(np.flatnonzero(plain.support_), [1])


def test_categories_that_the_target_encodes_are_tested_without_it():
    """Encoded by their target, 5 of 40 irrelevant columns of 60 categories are below 0.01."""
    rng = np.random.default_rng(0)
    low = []
    for _ in range(12):
        table = pd.DataFrame({"x": rng.normal(size=200)})
        table["word"] = pd.Categorical(rng.integers(0, 60, 200).astype(str))
        low.append(quick().fit(table, rng.integers(0, 2, 200)).pvalues_[1])
    assert np.sum(np.array(low) < 0.01) == 0
    code = rng.integers(0, 30, 400)
    table = pd.DataFrame({"x": rng.normal(size=400), "word": pd.Categorical(code.astype(str))})
    model = quick().fit(table, np.where(rng.random(400) < 0.2, 1, 0) ^ (code % 2))
    assert_array_equal(model.support_, [False, True])


# -- what it reports -------------------------------------------------------------------------


def test_co_selection_is_eq_12_of_a_fitted_flock(extended):
    flock = SubsetEnsembleClassifier(7, flip_probability=0.2, fuser="product", random_state=0).fit(
        *extended
    )
    model = SubsetSelector(flock, prefit=True, n_features_to_select=2, n_pairs=1).fit(*extended)
    masks = flock.support_
    for p in range(8):
        for q in range(8):
            together = np.mean([float(lam[p]) * float(lam[q]) for lam in masks])
            assert model.co_selection_[p, q] == pytest.approx(together)
    assert np.isnan(model.null_probability_).all()
    assert np.isnan(model.pvalues_).all()
    assert np.isnan(model.stability_)
    assert (np.diag(model.co_selection_) > model.individual_threshold_).sum() == 2
    falling = model.selection_frequency_[np.argsort(model.ranking_)]
    assert (np.diff(falling) <= 0).all()
    model = SubsetSelector(flock, prefit=True).fit(*extended)
    assert_array_equal(model.support_, model.selection_frequency_ > 0.5)


def test_thresholds_are_eq_13(fitted, extended):
    frequency = fitted.co_selection_
    middle = float(np.median(frequency))
    model = quick(n_resamples=25, individual_threshold=0.7, cross_threshold=middle)
    model.fit(*extended)
    expected = frequency > middle
    np.fill_diagonal(expected, np.diag(frequency) > 0.7)
    assert_array_equal(model.co_selection_binary_, expected)
    assert_array_equal(model.support_, np.diag(frequency) > 0.7)
    # A wanted number of pairs derives the threshold.
    model = quick(n_features_to_select=3, n_pairs=2).fit(*extended)
    assert model.support_.sum() == 3
    assert model.individual_threshold_ is None
    assert model.co_selection_binary_[np.triu_indices(8, 1)].sum() == 2
    assert len(model.top_pairs_) == 2


def test_what_it_reports_is_consistent(fitted):
    assert_array_equal(fitted.selection_frequency_, np.diag(fitted.co_selection_))
    assert_array_equal(np.sort(fitted.ranking_), np.arange(1, 9))
    order = np.argsort(fitted.ranking_)
    assert (np.diff(fitted.scores_[order]) <= 0).all()
    assert_allclose(fitted.pvalues_, 10**-fitted.scores_)
    assert_array_equal(fitted.support_, fitted.support_all_)
    low, high = fitted.frequency_interval_.T
    assert (low <= fitted.selection_frequency_).all()
    assert (fitted.selection_frequency_ <= high).all()
    assert (fitted.null_probability_[:2] < 1e-3).all()
    assert 0.5 < fitted.stability_ <= 1
    assert fitted.top_pairs_[0][:2] == (0, 1)


def test_names_pipeline_and_back():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = quick(n_features_to_select=4).fit(X, y)
    assert list(model.get_feature_names_out()) == list(X.columns[model.get_support()])
    assert all(name in X.columns for pair in model.top_pairs_ for name in pair[:2])
    reduced = model.set_output(transform="pandas").transform(X)
    assert isinstance(reduced, pd.DataFrame)
    assert reduced.shape == (569, 4)
    back = model.inverse_transform(reduced)
    assert_allclose(back[:, model.get_support()], reduced)
    five = quick(n_features_to_select=5)
    pipeline = make_pipeline(five, LogisticRegression(max_iter=5000)).fit(X.to_numpy(), y)
    kept = X.to_numpy()[:, five.get_support()]
    alone = LogisticRegression(max_iter=5000).fit(kept, y)
    assert_array_equal(pipeline.predict_proba(X.to_numpy()), alone.predict_proba(kept))


def test_sparse_rows_and_feature_groups(extended):
    X, y = extended
    dense = quick().fit(X, y)
    thin = quick().fit(sparse.csr_array(X), y)
    assert_array_equal(dense.get_support(), thin.get_support())
    recipe = SubsetEnsembleClassifier(
        1,
        flip_probability=0.05,
        tol=-np.inf,
        max_iter=100,
        subset_penalty=0.003,
        feature_groups=[[2, 3, 4]],
        always_keep=[7],
    )
    model = quick(estimator=recipe, n_resamples=10).fit(X, y)
    assert len(set(model.selection_frequency_[2:5])) == 1
    assert model.selection_frequency_[7] == 1


def test_same_seed_same_choice(extended):
    one, other = (quick(random_state=3, n_resamples=5).fit(*extended) for _ in range(2))
    assert_array_equal(one.co_selection_, other.co_selection_)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "kind", "match"),
    [
        ({"individual_threshold": 1.5}, ValueError, "individual_threshold"),
        ({"cross_threshold": -0.1}, ValueError, "cross_threshold"),
        ({"level": 0}, ValueError, "level"),
        ({"n_resamples": 1}, ValueError, "n_resamples"),
        ({"n_features_to_select": 9}, ValueError, "n_features_to_select=9 is more than the 8"),
        ({"n_pairs": 29}, ValueError, "n_pairs=29 is more than the 28"),
        ({"n_pairs": 2, "cross_threshold": 0.5}, ValueError, "give one of them"),
        (
            {"estimator": LogisticRegression()},
            TypeError,
            "must be a SubsetEnsembleClassifier or SubsetEnsembleRegressor",
        ),
        ({"prefit": True}, ValueError, "prefit=True needs a fitted estimator"),
        ({"select": "some"}, ValueError, "select must be one of 'all', 'smallest'"),
        ({"select": "smallest", "individual_threshold": 0.5}, ValueError, "leave out one of them"),
        ({"feature_groups": [[0, 9]]}, ValueError, "feature_groups names the column 9"),
    ],
)
def test_bad_input_gets_one_sentence(extended, parameters, kind, match):
    with pytest.raises(kind, match=match):
        SubsetSelector(**parameters).fit(*extended)


def test_constant_columns_and_single_classes_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="at least 2 classes"):
        SubsetSelector().fit(X, np.zeros(40))
    with pytest.raises(ValueError, match="nothing to select"):
        SubsetSelector().fit(np.ones((40, 3)), np.arange(40) % 2)
    X[:, 1] = 5.0
    model = SubsetSelector(random_state=0).fit(X, np.arange(40) % 2)
    assert not model.support_[1]
    assert model.selection_frequency_[1] == 0


def test_a_variable_with_gaps_or_categories_is_selected_as_a_whole():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Oslo", "Bath", "Kiel"], 160),
            "noise": rng.choice(["a", "b", "c"], 160),
            "size": rng.normal(size=160),
        }
    )
    y = X["town"].isin(["Rome", "Oslo"]).astype(int)
    X.loc[::9, "size"] = np.nan
    selector = SubsetSelector(n_features_to_select=1, n_resamples=6, random_state=0).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["town"]
    assert selector.co_selection_.shape == (3, 3)
    assert selector.transform(X).shape == (160, 1)


def test_gaps_of_sparse_rows_are_marked_as_those_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.6)
    y = X[:, 1] + 0.3 * rng.normal(size=200) > 0
    X[rng.random(X.shape) < 0.1] = np.nan
    found = [
        SubsetSelector(n_resamples=3, random_state=0).fit(kind(X), y)
        for kind in (sparse.csr_matrix, sparse.csc_array)
    ]
    for selector in found:
        assert selector.get_support(indices=True).tolist() == [1]
        assert selector.transform(sparse.csr_matrix(X)).shape == (200, 1)
