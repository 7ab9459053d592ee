"""The ensemble of linear regressors on feature subsets."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, QuantileRegressor, Ridge, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockRegressor, SubsetEnsembleRegressor
from covey.fusers import Mean, Median, Predictions
from covey.fusers._fixed import make_fuser
from covey.inspection import ImportanceDisplay
from covey.members._held_out import held_out_rows
from covey.members._member import LinearRegressionMember


def regressor(**options):
    """A flock; with a fuser, an ensemble."""
    return (SubsetEnsembleRegressor if "fuser" in options else FlockRegressor)(**options)


@parametrize_with_checks(
    [
        FlockRegressor(n_estimators=2, effort="fast"),
        # Folds are fitted in single precision, so that averages of them round more.
        FlockRegressor(n_estimators=1, cv=2, alpha=0.03, averaged=False),
        SubsetEnsembleRegressor(
            2, fuser="median", loss="quantile", acceptance="metropolis", max_iter=20
        ),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def searched(diabetes):
    return regressor(n_estimators=4, cv=3, random_state=0).fit(*diabetes)


def bent(n_rows=300, seed=0):
    """Which of two planes holds depends on the first column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = np.where(X[:, 0] > 0, 2 * X[:, 1], -2 * X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    return X, 100 + 5 * y


def rmse(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def standardised_ridge(X, y, alpha):
    return make_pipeline(StandardScaler(), Ridge(alpha * len(y))).fit(X, y)


# -- what it must come to --------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"effort": "fast"}, {"fuser": "mean", "flip_probability": 0}], ids=str
)
def test_one_member_without_flips_is_ridge(diabetes, options):
    X, y = diabetes
    flock = regressor(n_estimators=1, alpha=0.05, random_state=0, **options).fit(X, y)
    expected = standardised_ridge(X, y, 0.05).predict(X)
    assert_allclose(flock.predict(X), expected, atol=2e-3 * np.std(y))


@pytest.mark.slow
def test_the_default_is_about_as_good_as_ridge_on_diabetes(diabetes):
    X, y = diabetes
    ours, ridge = [], []
    for number in range(3):
        parts = train_test_split(X, y, test_size=0.2, random_state=number)
        model = regressor(random_state=0).fit(parts[0], parts[2])
        ours.append(rmse(model, parts[1], parts[3]))
        rival = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))
        ridge.append(rmse(rival.fit(parts[0], parts[2]), parts[1], parts[3]))
    # To have fewer terms is worth a standard error of the loss.
    assert np.mean(ours) <= 1.02 * np.mean(ridge)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_a_gate_bends_where_a_mean_cannot(effort):
    X, y = bent()
    gated = regressor(n_estimators=4, effort=effort, alpha=0.003, cv=3, random_state=0).fit(
        X[:200], y[:200]
    )
    mean = regressor(n_estimators=4, fuser="mean", random_state=0).fit(X[:200], y[:200])
    assert rmse(gated, X[200:], y[200:]) < 0.7 * rmse(mean, X[200:], y[200:])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("options", [{"effort": "fast"}, {"fuser": "mean"}], ids=str)
def test_a_quantile_covers_its_share_of_the_rows(diabetes, q, options):
    X, y = diabetes
    flock = regressor(
        n_estimators=1, loss="quantile", quantile=q, alpha=1e-3, random_state=0, **options
    ).fit(X, y)
    assert abs(np.mean(y <= flock.predict(X)) - q) < 0.04
    if "effort" in options:
        Z = StandardScaler().fit_transform(X)
        exact = QuantileRegressor(quantile=q, alpha=0).fit(Z, y)

        def pinball(predicted):
            return np.mean(np.maximum(q * (y - predicted), (q - 1) * (y - predicted)))

        assert pinball(flock.predict(X)) < 1.01 * pinball(exact.predict(Z))


@pytest.mark.parametrize(
    "options",
    [{"n_estimators": 3, "cv": 3}, {"effort": "fast"}, {"n_estimators": 3, "fuser": "mean"}],
    ids=str,
)
@pytest.mark.parametrize("q", [0.1, 0.9])
def test_a_quantile_is_one_however_little_noise_there_is(q, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    noise = 0.02 * rng.normal(size=1500) * np.where(X[:, 0] > 0, 2.0, 1.0)
    y = X @ [1.0, 2.0, -1.0] + noise
    flock = regressor(loss="quantile", quantile=q, random_state=0, **options)
    below = y[500:] <= flock.fit(X[:500], y[:500]).predict(X[500:])
    assert abs(below.mean() - q) < 0.05


@pytest.mark.parametrize("loss", ["huber", "quantile"])
@pytest.mark.parametrize(
    "options", [{"n_estimators": 3, "cv": 3}, {"fuser": "mean"}], ids=["search", "mean"]
)
def test_it_does_not_matter_how_far_one_outlier_lies(loss, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 3 + 0.3 * rng.normal(size=120)
    others = np.arange(120) != 7
    for far in (100.0, 1e18, -1e45):
        y[7] = far
        flock = regressor(loss=loss, random_state=0, **options).fit(X, y)
        left = (y - flock.predict(X))[others]
        assert np.std(left) < 0.35
        assert np.abs(left).max() < 1.0


@pytest.mark.parametrize("options", [{"effort": "fast"}, {"fuser": "mean"}], ids=str)
def test_huber_resists_outliers(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    truth = X @ [3.0, -2.0, 1.0] + 7
    y = truth + 0.1 * rng.normal(size=200)
    # Large, and on one side: where the first column is large.
    y[np.argsort(-X[:, 0])[:20]] -= 200.0
    options = {"n_estimators": 1, "alpha": 1e-4, **options}
    robust = regressor(loss="huber", random_state=0, **options).fit(X, y)
    plain = regressor(loss="squared", random_state=0, **options).fit(X, y)
    assert rmse(robust, X, truth) < 0.5
    assert rmse(plain, X, truth) > 10


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_units_of_x_and_y_do_not_matter(loss):
    X, y = bent(120)
    made = regressor(n_estimators=3, effort="fast", loss=loss, random_state=0)
    one = clone(made).fit(X, y).predict(X)
    other = clone(made).fit(1e3 * X + 5, 1e-4 * y - 2).predict(1e3 * X + 5)
    # The corner of a quantile's loss lets rounding grow.
    assert_allclose((other + 2) * 1e4, one, rtol=1e-3)


def test_fast_shrinks_no_more_than_the_noise_asks_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    truth = X @ rng.normal(size=5)
    # Columns that differ little, and a target that is in how they differ.
    Z = X[:, :1] + 0.1 * rng.normal(size=(600, 8))
    hidden = (Z - Z.mean(axis=1)[:, None]) @ rng.normal(size=8)

    def compared(X, truth, noise):
        """The penalty over a tenth of the share that is noise, and errors of new rows."""
        y = truth + noise * rng.normal(size=600)
        models = (
            regressor(effort="fast", random_state=0).fit(X[:300], y[:300]),
            LinearRegression().fit(X[:300], y[:300]),
            standardised_ridge(X[:300], y[:300], 0.1),
        )
        left = (1 - models[1].score(X[:300], y[:300])) * 299 / (299 - X.shape[1])
        penalty = models[0].cv_results_["alpha"][0]
        return penalty / (0.1 * left), *(rmse(model, X[300:], truth[300:]) for model in models)

    _, ours, least_squares, _ = compared(X, truth, noise=0.01)
    assert ours < 2.5 * least_squares
    _, ours, _, ridge = compared(Z, hidden, noise=0.01)
    assert ours < ridge / 4
    assert compared(X, truth, noise=1.0)[0] == pytest.approx(1, rel=0.01)
    penalty, ours, least_squares, _ = compared(X, 0 * truth, noise=1.0)
    assert penalty == pytest.approx(1, rel=0.01)
    assert ours < least_squares


def test_with_as_many_columns_as_rows_fast_does_not_believe_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), rng.normal(size=40)
    flock = regressor(n_estimators=2, effort="fast", random_state=0).fit(X, y)
    assert_allclose(flock.cv_results_["alpha"], 0.1)


@pytest.mark.parametrize("options", [{"cv": 3}, {"effort": "fast"}, {"fuser": "mean"}], ids=str)
def test_only_the_ratios_of_weights_matter(options):
    X, y = bent(700)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    made = regressor(n_estimators=2, random_state=0, **options)
    one = clone(made).fit(X, y, sample_weight=weight)
    # Powers of two leave all digits as they are.
    for unit in (2.0**-20, 2.0**20):
        other = clone(made).fit(X, y, sample_weight=unit * weight)
        assert_allclose(other.predict(X), one.predict(X))


def test_products_that_vary_by_rounding_alone_are_not_used():
    rng = np.random.default_rng(0)
    first = np.where(np.arange(120) % 2 == 0, 0.1, 0.2)
    X = np.column_stack([first, 0.3 - first, rng.normal(size=120)])
    y = 10 * first + X[:, 2] ** 2 + 0.1 * rng.normal(size=120)
    flock = regressor(n_estimators=2, cv=3, random_state=0).fit(X, y)
    assert np.abs(flock.member_coef_).max() < 1e3
    assert np.abs(flock.predict([[0.15, 0.15, 0.0], [0.2, 0.2, 0.0]])).max() < 10
    # Of two rows every product is a constant, and of two that weigh something.
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    weight = np.array([1.0, 1, 0, 0, 0, 0])
    for rows, given in ((slice(2), None), (slice(6), weight)):
        flock = regressor(n_estimators=2, cv=2, random_state=0)
        flock.fit(X[rows], y[rows], sample_weight=given)
        assert np.abs(flock.predict(rng.normal(size=(50, 3)))).max() < 100


def test_members_that_fail_to_converge_are_told_of(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 members never got below .* overshoots"):
        regressor(n_estimators=2, fuser="mean", learning_rate=3.0, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 members did not converge in max_iter=3"):
        regressor(n_estimators=2, fuser="mean", max_iter=3, random_state=0).fit(X, y)


def test_members_converge_on_columns_that_differ_little():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) + 0.03 * rng.normal(size=(200, 8))
    y = (X - X.mean(axis=1)[:, None]) @ rng.normal(size=8) + 0.005 * rng.normal(size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flock = regressor(n_estimators=3, fuser="mean", flip_probability=0, random_state=0)
        flock.fit(X, y)
    assert flock.score(X, y) > LinearRegression().fit(X, y).score(X, y) - 0.001


def test_a_splitter_is_shown_the_rows_as_they_are(diabetes):
    X, y = diabetes
    shown = []

    class Splitter(KFold):
        def split(self, X, y=None, groups=None):
            shown.append((X, y))
            return super().split(X, y, groups)

    regressor(n_estimators=1, cv=Splitter(2), random_state=0).fit(X, y)
    assert_array_equal(shown[0][0], X)
    assert_array_equal(shown[0][1], y)


def test_a_row_far_out_is_not_predicted_beyond_all_sense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] + X[:, 0] ** 2 + 0.1 * rng.normal(size=200)
    flock = regressor(n_estimators=1, cv=3, random_state=0).fit(X, y)
    assert flock.member_coef_[:, :, flock.basis_.partner >= 0].any()
    # A product of two such values would be ten thousand times what was seen.
    far = flock.predict(np.array([[300.0, 300.0, 0.0]]))
    assert np.abs(far) < 1000 * np.abs(y).max()


# -- what it says ----------------------------------------------------------------------------


def test_members_and_importances_make_the_prediction(searched, diabetes):
    X, _ = diabetes
    table, importance = searched.member_predictions(X), searched.explain_fusion(X)
    assert table.shape == importance.shape == (len(X), searched.n_estimators_)
    assert_allclose(importance.sum(axis=1), 1)
    assert_allclose((table * importance).sum(axis=1), searched.predict(X))
    for member, column in zip(searched.estimators_, table.T, strict=True):
        assert is_regressor(member)
        assert_allclose(member.predict(X), column)


def test_attributes_have_the_shapes_that_are_promised(searched, diabetes):
    X, _ = diabetes
    K, D = searched.n_estimators_, X.shape[1]
    assert searched.member_coef_.shape == (K, 1, searched.basis_.n_columns)
    assert searched.member_intercept_.shape == (K, 1)
    assert searched.n_iter_.shape == (K,)
    assert searched.support_.shape == (K, D)
    assert searched.feature_importances_.shape == (D,)
    assert_allclose(searched.feature_importances_.sum(), 1)
    # Body mass and the logarithm of triglycerides are what every model of these data finds.
    assert (searched.feature_importances_[X.columns.isin(["bmi", "s5"])] > 1 / D).all()
    assert_allclose(searched.group_weights_.sum(), 1)
    assert len(searched.group_of_) == K
    assert_array_equal(searched.feature_names_in_, X.columns)
    results = searched.cv_results_
    assert_allclose(results["weight"].sum(), 1)
    assert {
        "basis",
        "n_members",
        "gate",
        "alpha",
        "n_features",
        "n_terms",
        "n_rows",
        "mean_loss",
        "weight",
    } == set(results)
    # Less than the loss of a constant, half the variance.
    assert results["mean_loss"][results["weight"] > 0].max() < 0.5


def test_coefficients_are_zero_outside_the_subset(diabetes):
    X, y = diabetes
    flock = regressor(
        n_estimators=5, fuser="mean", flip_probability=0.1, subset_penalty=0.01, random_state=0
    ).fit(X, y)
    assert not flock.support_.all()
    assert_array_equal(flock.member_coef_[:, 0] != 0, flock.support_)
    for past, n_iter in zip(flock.history_, flock.n_iter_, strict=True):
        assert set(past) == {"weighted_loss", "objective", "subset_size", "accepted_flip"}
        assert all(len(values) == n_iter + 1 for values in past.values())
    assert any(past["accepted_flip"].any() for past in flock.history_)


def test_groups_of_columns_flip_together_and_some_are_kept(diabetes):
    X, y = diabetes
    flock = regressor(
        n_estimators=8,
        fuser="mean",
        flip_probability=0.2,
        subset_penalty=0.01,
        feature_groups={"serum": ["s1", "s2", "s3"]},
        always_keep=["age"],
        random_state=0,
    ).fit(X, y)
    support = pd.DataFrame(flock.support_, columns=X.columns)
    assert support["age"].all()
    assert_array_equal(support["s1"], support["s2"])
    assert_array_equal(support["s1"], support["s3"])
    assert not support["s1"].all()


def test_fixed_fusions_are_what_they_are_called(diabetes):
    X, y = diabetes
    flock = regressor(n_estimators=3, fuser="median", random_state=0).fit(X, y)
    assert_allclose(flock.predict(X), np.median(flock.member_predictions(X), axis=1))
    assert isinstance(flock.fuser_, Median)
    stages = flock.staged_score(X, y)
    assert_allclose(stages[-1], flock.score(X, y))
    assert len(stages) == 3


@pytest.mark.parametrize("fuser", ["linear_stacking", Mean("inverse_error")])
def test_weights_are_learnt_from_rows_that_members_have_not_seen(diabetes, fuser):
    X, y = diabetes[0].to_numpy(), diabetes[1].to_numpy()
    made = regressor(n_estimators=3, fuser=fuser, random_state=0)
    flock = clone(made).fit(X, y)
    held_out = held_out_rows(
        np.zeros(len(y), dtype=int), np.ones(len(y)), flock.validation_fraction, flock._seed
    )
    predicted = Predictions(flock.member_predictions(X[held_out]), kind="value")
    by_hand = make_fuser(fuser).fit(predicted, y[held_out])
    assert_allclose(flock.fuser_.weights_, by_hand.weights_)
    # Other targets in the same rows teach the members nothing.
    moved = y.copy()
    moved[held_out] = np.roll(y[held_out], 1)
    other = clone(made).fit(X, moved)
    assert_allclose(other.member_coef_, flock.member_coef_)
    assert not np.allclose(other.fuser_.weights_, flock.fuser_.weights_)


def test_sparse_rows_give_what_dense_ones_do(diabetes):
    X, y = diabetes
    X = np.where(np.abs(X) < 0.03, 0.0, X)
    for options in ({"fuser": "mean"}, {"effort": "fast"}, {"effort": "fast", "loss": "huber"}):
        made = regressor(n_estimators=2, random_state=0, **options)
        dense = clone(made).fit(X, y)
        thin = clone(made).fit(sparse.csr_array(X), y)
        assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-4)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(searched, diabetes):
    X, y = diabetes
    again = regressor(n_estimators=4, cv=3, random_state=0).fit(X, y)
    assert_array_equal(again.predict(X), searched.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(searched)).predict(X), searched.predict(X))
    other = regressor(n_estimators=4, fuser="mean", random_state=1).fit(X, y)
    first = regressor(n_estimators=4, fuser="mean", random_state=0).fit(X, y)
    assert not np.array_equal(other.member_coef_, first.member_coef_)


def test_rows_of_one_group_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(40), 5))
    X, y = rng.normal(size=(40, 25))[groups], rng.normal(size=40)[groups]
    made = regressor(n_estimators=1, alpha=1e-3, cv=3, random_state=0)
    by_row = clone(made).fit(X, y).cv_results_["mean_loss"]
    # The target is noise that all rows of a group share: only groups show that nothing is known
    # of it. The loss of a constant is half the variance.
    assert by_row[0] < 0.5
    for cv in (3, list(GroupKFold(3).split(X, y, groups))):
        by_group = clone(made).set_params(cv=cv).fit(X, y, groups=groups)
        assert by_group.cv_results_["mean_loss"][0] > 0.5
    with pytest.raises(ValueError, match="separates rows of one group"):
        clone(made).set_params(cv=KFold(3)).fit(X, y, groups=groups)


def test_a_constant_column_and_a_constant_target_are_borne():
    X, y = bent(60)
    X[:, 2] = 3.0
    flock = regressor(n_estimators=2, effort="fast", random_state=0).fit(X, y)
    assert not flock.support_[:, 2].any()
    still = regressor(n_estimators=2, cv=2, random_state=0).fit(X, np.full(60, 5.0))
    assert_allclose(still.predict(X), 5.0, atol=0.05)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_a_constant_may_be_of_any_size(loss):
    X, _ = bent(60)
    y = np.full(60, -3.7e120)
    weight = np.ones(60)
    made = regressor(n_estimators=2, loss=loss, effort="fast", random_state=0)
    assert_allclose(clone(made).fit(X, y).predict(X), y)
    # What a row of weight 0 holds does not count.
    y[3], weight[3] = 5.0, 0.0
    assert_allclose(made.fit(X, y, sample_weight=weight).predict(X), y[0])


def test_verbose_says_what_is_done(diabetes, capsys):
    X, y = diabetes
    regressor(n_estimators=2, fuser="mean", verbose=1, random_state=0).fit(X, y)
    said = capsys.readouterr().out
    assert said.count("[SubsetEnsembleRegressor]") == 2
    assert "member 2/2" in said


def test_displays_draw_what_it_says(searched, diabetes):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, _ = diabetes
    assert ImportanceDisplay.from_estimator(searched, X).names == searched._names()
    plt.close("all")


def test_a_member_reads_as_a_formula():
    member = LinearRegressionMember([0.5, 0, -2], 1.0, feature_names=["a", "b", "c"])
    assert member.formula() == "1 + 0.5 a - 2 c"
    assert member.formula(top=1) == "1 - 2 c + 1 smaller terms"
    assert str(clone(member)) == member.formula()
    frame = pd.DataFrame([[2.0, 9.0, 1.0]], columns=["a", "b", "c"])
    assert_allclose(member.predict(frame), 0.0)


# -- what cannot work ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"loss": "absolute"}, "loss must be one of 'squared', 'huber', 'quantile'"),
        ({"epsilon": 0.5}, "epsilon"),
        ({"quantile": 1.0}, "quantile"),
        ({"effort": "huge"}, "effort"),
        ({"alpha": -1.0}, "alpha"),
        ({"cv": 1}, "cv"),
        ({"fuser": "mean", "flip_probability": 2.0}, "flip_probability"),
        ({"fuser": "mean", "learning_rate": "constant"}, "learning_rate"),
        ({"fuser": "mean", "max_iter": 0}, "max_iter"),
        ({"fuser": "mean", "acceptance": "always"}, "acceptance"),
        ({"fuser": "mean", "temperature": 0.0}, "temperature"),
        ({"fuser": "mean", "validation_fraction": 1.0}, "validation_fraction"),
        ({"fuser": "majority"}, "fuser='majority' fuses what classifiers predict"),
        ({"fuser": Mean([1.0, 2.0])}, "one number for each of the 3 members"),
        ({"always_keep": ["height"]}, "always_keep names the column 'height'"),
        (
            {"fuser": "mean", "learning_rate": 1e300},
            "lets the training of member 1 diverge; use learning_rate='auto'",
        ),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(diabetes, options, message):
    X, y = diabetes
    made = regressor(**{"n_estimators": 3, "random_state": 0, **options})
    with pytest.raises(ValueError, match=message):
        made.fit(X, y)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (X.assign(bmi=np.inf), y), "infinity in column 'bmi'"),
        (lambda X, y: (X * 0 + 1, y), "are constant"),
        (lambda X, y: (X, y.where(y > 100)), "NaN"),
        (lambda X, y: (X, y.where(y > 100, 1e300)), "too far apart"),
    ],
)
def test_data_that_cannot_be_learnt_from_is_told(diabetes, spoil, message):
    with pytest.raises(ValueError, match=message):
        regressor(n_estimators=2, loss="huber", random_state=0).fit(*spoil(*diabetes))


def test_one_row_of_weight_and_folds_without_any_get_one_sentence(diabetes):
    X, y = diabetes
    weight = np.zeros(len(y))
    weight[5] = 2
    with pytest.raises(ValueError, match="sample_weight is above 0 for one row only"):
        regressor().fit(X, y, sample_weight=weight)
    weight[:100] = 1
    folds = [(np.arange(200, 300), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    with pytest.raises(ValueError, match=r"Fold 1 of cv trains on no row that has a weight"):
        regressor(cv=folds).fit(X, y, sample_weight=weight)


def test_groups_without_a_search_are_refused(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="use FlockRegressor, or leave groups out"):
        regressor(fuser="mean").fit(X, y, groups=np.zeros(len(y)))


# -- what classifiers have, too --------------------------------------------------------------


def test_the_mean_of_linear_members_is_one_linear_model(diabetes):
    X, y = diabetes
    flock = SubsetEnsembleRegressor(3, flip_probability=0.2, random_state=0).fit(X, y)
    expected = flock.member_predictions(X).mean(axis=1)
    assert flock.coef_.shape == (10,)
    assert_allclose(X.to_numpy() @ flock.coef_ + flock.intercept_, expected)
    assert_allclose(flock.predict(X), expected)
    assert_allclose(flock.collapse().predict(X), expected)
    assert_allclose(flock.to_sklearn().predict(X), expected)
    median = SubsetEnsembleRegressor(3, fuser="median", random_state=0).fit(X, y)
    assert not hasattr(median, "coef_")
    with pytest.raises(ValueError, match="what Median fuses cannot collapse"):
        median.collapse()


def test_explain_adds_up_to_what_moves_a_member(searched, diabetes):
    X, _ = diabetes
    (record,) = searched.explain(X.iloc[:1], top=1000)
    assert_allclose(record["prediction"], searched.predict(X.iloc[:1])[0])
    importance = searched.explain_fusion(X.iloc[:1])[0]
    for told in record["members"]:
        member = searched.estimators_[told["member"] - 1]
        assert_allclose(told["weight"], importance[told["member"] - 1])
        average = member.coef_ @ searched.model_.column_mean + member.intercept_
        moved = sum(push for _, push in told["because"])
        assert_allclose(average + moved, told["prediction"])
        sizes = [abs(push) for _, push in told["because"]]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_warm_start_equals_one_fit(diabetes, loss):
    X, y = diabetes
    how = {"loss": loss, "flip_probability": 0.1, "random_state": 0}
    whole = SubsetEnsembleRegressor(3, **how).fit(X, y)
    warm = SubsetEnsembleRegressor(1, warm_start=True, **how).fit(X, y)
    warm.set_params(n_estimators=3).fit(X, y)
    assert_array_equal(warm.support_, whole.support_)
    assert_allclose(warm.member_coef_, whole.member_coef_, rtol=1e-9)


def test_the_size_is_that_which_scores_best(diabetes):
    X, y = diabetes
    how = {"flip_probability": 0.2, "random_state": 0}
    chosen = SubsetEnsembleRegressor(5, select_size="train", **how).fit(X, y)
    scores = SubsetEnsembleRegressor(5, **how).fit(X, y).staged_score(X, y)
    assert chosen.n_estimators_ == np.argmax(scores > scores.max() - 1e-12) + 1


@pytest.mark.parametrize(
    "made",
    [
        SubsetEnsembleRegressor(2, max_iter=10, random_state=0),
        FlockRegressor(n_estimators=2, cv=2, alpha=0.03, random_state=0),
    ],
    ids=["ensemble", "flock"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_with_a_checkpoint_is_the_same_to_the_bit(diabetes, tmp_path, made):
    X, y = diabetes
    plain = clone(made).fit(X, y)
    for _ in range(2):  # the second fit reads what the first one wrote
        again = clone(made).set_params(checkpoint=tmp_path / "fit").fit(X, y)
        assert_array_equal(again.member_coef_, plain.member_coef_)
    with pytest.raises(ValueError, match="belongs to a fit of other data"):
        clone(made).set_params(checkpoint=tmp_path / "fit").fit(X * 2, y)


def test_notebooks_show_the_members(searched):
    shown = searched._repr_html_()
    assert f"{searched.n_estimators_} members<" in shown
    assert shown.count("<tr><td>") == searched.n_estimators_
