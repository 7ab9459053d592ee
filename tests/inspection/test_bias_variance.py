"""bias_variance: any estimator, on resampled or fresh training sets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris, make_friedman1
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from covey.inspection import bias_variance
from covey.inspection._bias_variance import BiasVariance

EXACT = {"rtol": 0, "atol": 1e-10}
NOISE = 0.3


def noisy_sine(rng, n_rows=60):
    X = rng.uniform(0, 6, (n_rows, 1))
    return X, sine(X) + NOISE * rng.normal(size=n_rows)


def sine(X):
    return np.sin(X[:, 0])


def coin(rng, n_rows=40):
    """Two classes; the second has probability x."""
    X = rng.uniform(size=(n_rows, 1))
    return X, (rng.uniform(size=n_rows) < X[:, 0]).astype(int)


def coin_probabilities(X):
    return np.hstack([1 - X, X])


def on_sine(estimator, **parameters):
    settings = {
        "draw": noisy_sine,
        "truth": sine,
        "noise_variance": NOISE**2,
        "n_runs": 30,
        "random_state": 0,
    }
    return bias_variance(estimator, **{**settings, **parameters})


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def same(one, other):
    assert_array_equal(one.predictions, other.predictions)
    assert one.expected_loss == other.expected_loss
    assert one.parts == other.parts


# -- what the terms say --------------------------------------------------------------------------


def test_a_deep_tree_has_less_bias_and_more_variance_and_bagging_lowers_it():
    stump = on_sine(DecisionTreeRegressor(max_depth=1))
    deep = on_sine(DecisionTreeRegressor())
    bagged = on_sine(BaggingRegressor(DecisionTreeRegressor(), n_estimators=10))
    assert deep.bias < 0.2 * stump.bias
    assert deep.variance > 1.5 * stump.variance
    assert bagged.variance < 0.7 * deep.variance
    assert bagged.expected_loss < deep.expected_loss
    assert deep.noise == pytest.approx(NOISE**2)


def test_the_mean_of_n_targets_varies_by_the_noise_over_n():
    sigma, n_rows, n_runs = 2.0, 10, 500

    def draw(rng):
        return np.zeros((n_rows, 1)), 5 + sigma * rng.normal(size=n_rows)

    result = bias_variance(
        DummyRegressor(),
        draw=draw,
        X_test=[[0.0]],
        truth=[5.0],
        noise_variance=sigma**2,
        n_runs=n_runs,
        random_state=0,
    )
    exact = sigma**2 / n_rows
    # The variance of a sample variance of normal draws is 2 exact^2 / n_runs: five of its roots.
    assert result.variance == pytest.approx(exact, abs=5 * exact * np.sqrt(2 / n_runs))
    assert result.bias < 12 * exact / n_runs
    assert result.noise == sigma**2
    assert result.expected_loss == pytest.approx(sigma**2 + exact, rel=0.05)


def test_a_constant_has_only_bias():
    result = bias_variance(
        DummyRegressor(strategy="constant", constant=3.0),
        draw=noisy_sine,
        X_test=np.zeros((4, 1)),
        truth=np.array([1.0, 3.0, 3.0, 4.0]),
        n_runs=3,
    )
    assert_array_equal(result.row_terms["bias"], [4, 0, 0, 1])
    assert (result.variance, result.noise, result.expected_loss) == (0, None, 1.25)


def test_noise_is_the_error_of_the_best_classifier():
    # P(y = 1 | x) = x with x uniform: the best classifier errs on a quarter of the rows.
    X_test = np.linspace(0, 1, 201)[:, None]
    common = {"draw": coin, "X_test": X_test, "truth": coin_probabilities}
    common |= {"n_runs": 40, "random_state": 0}
    shallow = bias_variance(DecisionTreeClassifier(max_depth=1), **common)
    deep = bias_variance(DecisionTreeClassifier(), **common)
    assert shallow.noise == pytest.approx(0.25, abs=2e-3)
    assert shallow.noise == deep.noise
    assert deep.variance > 2 * shallow.variance
    assert min(deep.expected_loss, shallow.expected_loss) > shallow.noise
    constant = bias_variance(DummyClassifier(strategy="constant", constant=1), **common)
    assert constant.variance == 0
    assert constant.expected_loss == pytest.approx(0.5)
    assert constant.bias == pytest.approx(0.5, abs=0.01)
    # Squared noise of Kohavi and Wolpert: the mean of x (1 - x).
    theirs = bias_variance(DecisionTreeClassifier(), decomposition="kohavi_wolpert", **common)
    assert theirs.noise == pytest.approx(1 / 6, abs=2e-3)
    assert theirs.expected_loss == pytest.approx(deep.expected_loss)


# -- the terms add up, and are what they are called ----------------------------------------------


def test_squared_parts_add_up_with_and_without_the_truth():
    known = on_sine(LinearRegression())
    assert list(known.parts) == ["bias", "variance", "noise"]
    assert known.bias_and_noise is None
    assert_allclose(sum(known.parts.values()), known.expected_loss, **EXACT)

    about_truth = on_sine(LinearRegression(), noise_variance=None)
    assert list(about_truth.parts) == ["bias", "variance"]
    assert_allclose(about_truth.expected_loss + NOISE**2, known.expected_loss, **EXACT)

    X, y = noisy_sine(np.random.RandomState(0), 100)
    unknown = bias_variance(LinearRegression(), X, y, n_runs=10, random_state=0)
    assert list(unknown.parts) == ["bias_and_noise", "variance"]
    assert (unknown.bias, unknown.noise) == (None, None)
    errors = unknown.predictions - y[unknown.test_rows]
    assert_allclose(unknown.expected_loss, (errors**2).mean(), **EXACT)
    assert_allclose(sum(unknown.parts.values()), unknown.expected_loss, **EXACT)
    assert_array_equal(unknown.main_prediction, unknown.predictions.mean(axis=0))


def test_noise_may_differ_from_row_to_row():
    X_test = np.linspace(0, 6, 5)[:, None]
    noise = np.arange(5) / 10
    result = on_sine(LinearRegression(), X_test=X_test, noise_variance=noise)
    assert_array_equal(result.row_terms["noise"], noise)
    assert_allclose(sum(result.parts.values()), result.expected_loss, **EXACT)


def test_domingos_terms_are_counted_over_runs(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    tree = DecisionTreeClassifier(max_depth=2, max_features=1)
    result = bias_variance(tree, X, names, n_runs=15, random_state=0)
    truth = names[result.test_rows]
    assert result.predictions.shape == (15, len(truth))
    assert_allclose(result.expected_loss, (result.predictions != truth).mean(), **EXACT)
    bias, right, wrong, net = 0, 0, 0, 0
    for row, label in enumerate(truth):
        said, count = np.unique(result.predictions[:, row], return_counts=True)
        main = said[count.argmax()]
        assert result.main_prediction[row] == main
        variance = 1 - count.max() / 15
        if main == label:
            right += variance
            net += variance
        else:
            bias += 1
            wrong += variance
            net -= count[said == label].sum() / 15
    found = (result.bias_and_noise, result.unbiased_variance, result.biased_variance)
    assert bias
    assert wrong
    assert_allclose(found, np.array([bias, right, wrong]) / len(truth), **EXACT)
    assert_allclose(result.net_variance, net / len(truth), **EXACT)
    assert list(result.parts) == ["bias_and_noise", "net_variance"]
    assert_allclose(sum(result.parts.values()), result.expected_loss, **EXACT)


@pytest.mark.parametrize("decomposition", ["domingos", "kohavi_wolpert"])
@pytest.mark.parametrize("known", [False, True])
def test_zero_one_parts_add_up(decomposition, known):
    result = bias_variance(
        DecisionTreeClassifier(),
        draw=coin,
        decomposition=decomposition,
        truth=coin_probabilities if known else None,
        n_runs=9,
        random_state=1,
    )
    assert len(result.parts) == (3 if known else 2)
    assert_allclose(sum(result.parts.values()), result.expected_loss, **EXACT)
    for name, values in result.row_terms.items():
        assert values.shape == (40,)
        assert_allclose(values.mean(), getattr(result, name), **EXACT)


def test_columns_of_the_true_probabilities_are_named_by_classes(iris):
    X, y = iris
    names = np.array(["c", "a", "b"])[y]
    p = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    common = {"X_test": X[::5], "n_runs": 8, "random_state": 0}
    sorted_columns = bias_variance(GaussianNB(), X, names, truth=p, **common)
    named = bias_variance(
        GaussianNB(), X, names, truth=p[:, [2, 0, 1]], classes=list("cab"), **common
    )
    assert named.parts == pytest.approx(sorted_columns.parts, abs=1e-10)
    # A class that training sets lack can still be the truth.
    two = y < 2
    rare = bias_variance(GaussianNB(), X[two], names[two], truth=p, classes=list("abc"), **common)
    assert_allclose(sum(rare.parts.values()), rare.expected_loss, **EXACT)


# -- training sets -------------------------------------------------------------------------------


class Memory(RegressorMixin, BaseEstimator):
    """Predicts facts about its training set: size, distinct rows, sum and its own seed."""

    def __init__(self, random_state=7):
        self.random_state = random_state

    def fit(self, X, y):
        self.facts_ = np.array([len(y), len(np.unique(y)), y.sum(), self.random_state])
        return self

    def predict(self, X):
        return np.resize(self.facts_, len(X)).astype(float)


@pytest.mark.parametrize(
    ("draw", "max_samples", "n_rows", "distinct"),
    [
        ("bootstrap", None, 60, False),
        ("bootstrap", 0.5, 30, False),
        ("bootstrap", 7, 7, None),
        ("subsample", None, 30, True),
        ("subsample", 0.25, 15, True),
        ("subsample", 60, 60, True),
    ],
)
def test_training_sets_have_the_size_asked_for(draw, max_samples, n_rows, distinct):
    y = np.arange(60.0)
    parameters = {"draw": draw, "max_samples": max_samples, "X_test": np.zeros((4, 1))}
    found = bias_variance(
        Memory(), y[:, None], y, y_test=np.zeros(4), n_runs=6, random_state=0, **parameters
    )
    size, n_distinct, total, seed = found.predictions.T
    assert_array_equal(size, n_rows)
    if distinct is not None:
        assert ((n_distinct == n_rows) == distinct).all()
    if n_rows < 60 or draw == "bootstrap":
        assert len(set(total)) == 6
    assert len(set(seed)) == 6
    assert 7 not in seed


def test_all_nested_random_states_are_set_and_the_estimator_is_left_alone():
    X, y = make_friedman1(60, random_state=0)
    forest = RandomForestRegressor(n_estimators=2, random_state=3)
    model = make_pipeline(StandardScaler(), forest)
    # Every training set is the same: only the forest's own randomness is left.
    whole = {"draw": "subsample", "max_samples": 1.0, "n_runs": 5, "random_state": 0}
    assert bias_variance(model, X, y, **whole).variance > 1
    assert forest.random_state == 3
    assert not hasattr(forest, "estimators_")
    assert bias_variance(LinearRegression(), X, y, **whole).variance < 1e-20


def test_split_off_rows_are_never_trained_on():
    y = np.arange(40.0)
    result = bias_variance(KNeighborsRegressor(1), y[:, None], y, n_runs=30, random_state=0)
    assert len(result.test_rows) == 10
    assert not np.isin(result.predictions, result.test_rows).any()
    share = bias_variance(KNeighborsRegressor(1), y[:, None], y, n_runs=2, test_size=0.5)
    assert len(share.test_rows) == 20
    given = bias_variance(KNeighborsRegressor(1), y[:, None], y, X_test=[[0]], y_test=[0])
    assert given.test_rows is None
    assert (given.predictions == 0).any()


def test_estimators_are_compared_on_the_same_training_sets():
    X, y = noisy_sine(np.random.RandomState(0))
    common = {"n_runs": 5, "random_state": 4}
    plain = bias_variance(LinearRegression(), X, y, **common)
    scaled = bias_variance(make_pipeline(StandardScaler(), LinearRegression()), X, y, **common)
    assert_allclose(plain.predictions, scaled.predictions)
    assert_array_equal(plain.test_rows, scaled.test_rows)
    other = bias_variance(LinearRegression(), X, y, n_runs=5, random_state=5)
    assert not np.array_equal(plain.test_rows, other.test_rows)
    # The first runs do not depend on how many follow.
    more = bias_variance(LinearRegression(), X, y, n_runs=7, random_state=4)
    assert_array_equal(more.predictions[:5], plain.predictions)


def test_the_result_is_the_same_whatever_n_jobs(iris):
    forest = RandomForestRegressor(n_estimators=3, max_features=1)

    def friedman(rng):  # the generator is one that scikit-learn's own functions take
        return make_friedman1(30, random_state=rng)

    one, two = (
        bias_variance(forest, draw=friedman, n_runs=6, random_state=0, n_jobs=n) for n in (1, 2)
    )
    same(one, two)
    with parallel_config(backend="threading"):
        tree = DecisionTreeClassifier(max_features=1)
        one, two = (
            bias_variance(tree, *iris, n_runs=12, random_state=0, n_jobs=n) for n in (None, 3)
        )
    same(one, two)
    assert not np.array_equal(one.predictions[0], one.predictions[1])


def test_a_rare_class_may_be_missing_from_samples(iris):
    X, y = iris
    keep = np.r_[0:50, 50:53, 100:150]
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    result = bias_variance(
        LogisticRegression(),
        X[keep],
        names[keep],
        X_test=X,
        y_test=names,
        draw="subsample",
        max_samples=20,
        n_runs=10,
        random_state=0,
    )
    said = [set(np.unique(row)) for row in result.predictions]
    assert any("versicolor" not in labels for labels in said)
    assert_allclose(sum(result.parts.values()), result.expected_loss, **EXACT)


def test_samples_of_one_class_are_drawn_again():
    X, y = np.arange(12.0)[:, None], np.r_[np.zeros(11), 1]
    common = {"X_test": X, "y_test": y, "draw": "subsample", "random_state": 0}
    result = bias_variance(LogisticRegression(), X, y, n_runs=8, **common)
    assert result.n_redrawn > 0
    with pytest.raises(ValueError, match="draw gave 100 training sets of one class only in a row"):
        bias_variance(LogisticRegression(), X, y, max_samples=1, **common)
    with pytest.raises(ValueError, match="y holds the class 0.0 only; a classifier needs two"):
        bias_variance(LogisticRegression(), X, np.zeros(12), **common)


# -- what X and y may be -------------------------------------------------------------------------


def test_frames_sparse_matrices_lists_and_texts(iris):
    X, y = iris
    model, common = GaussianNB(), {"n_runs": 4, "random_state": 0}
    plain = bias_variance(model, X, y, **common)
    frame = pd.DataFrame(X, index=np.arange(150) + 1000)
    same(plain, bias_variance(model, frame, pd.Series(y, index=frame.index), **common))
    same(plain, bias_variance(model, pl.DataFrame(X), pl.Series(y), **common))
    same(plain, bias_variance(model, X.tolist(), y.tolist(), **common))
    dense = bias_variance(MultinomialNB(), X, y, **common)
    same(dense, bias_variance(MultinomialNB(), sparse.coo_array(X), y, **common))
    texts = ["a good one", "a bad one", "so good", "too bad"] * 5
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    result = bias_variance(words, texts, ["yes", "no", "yes", "no"] * 5, **common)
    assert result.expected_loss < 0.3


def test_several_outputs_are_summed():
    rng = np.random.RandomState(0)
    X = rng.uniform(0, 6, (50, 1))
    Y = np.hstack([np.sin(X), np.cos(X)]) + 0.1 * rng.normal(size=(50, 2))
    common = {"n_runs": 5, "random_state": 0}
    both = bias_variance(LinearRegression(), X, Y, **common)
    assert both.predictions.shape == (5, 13, 2)
    parts = [bias_variance(LinearRegression(), X, Y[:, output], **common) for output in (0, 1)]
    assert_allclose(both.variance, sum(part.variance for part in parts), **EXACT)
    assert_allclose(both.expected_loss, sum(part.expected_loss for part in parts), **EXACT)
    # One output as a column is the same as flat.
    same(parts[0], bias_variance(LinearRegression(), X, Y[:, :1], **common))


# -- words ---------------------------------------------------------------------------------------


def test_summary_names_the_parts_that_add_up(iris):
    result = bias_variance(GaussianNB(), *iris, n_runs=4, random_state=0)
    assert isinstance(result, BiasVariance)
    lines = str(result).splitlines()
    assert lines[0] == "Zero-one loss (Domingos) of GaussianNB: 4 bootstrap samples, 38 test rows"
    signs = [line[0] for line in lines[1:4]]
    assert signs == [" ", "=", "+"]
    loss, bias, variance = (float(line[17:].split()[0]) for line in lines[1:4])
    assert loss == pytest.approx(bias + variance, abs=2e-4)
    assert "where the main prediction is right" in lines[4]
    assert lines[5].startswith("Bias and noise are one term")
    assert len(result.summary(digits=7)) > len(str(result))
    assert "array" not in repr(result)
    assert "noise is not known" in str(on_sine(LinearRegression(), noise_variance=None))
    perfect = bias_variance(LinearRegression(), np.eye(8), np.zeros(8), n_runs=2)
    assert "0.0000" in str(perfect)


def test_verbose_says_how_far_it_is(capsys):
    quiet = on_sine(LinearRegression(), n_runs=20)
    assert capsys.readouterr() == ("", "")
    loud = on_sine(LinearRegression(), n_runs=20, verbose=1)
    assert "Done  20 out of  20" in "".join(capsys.readouterr())
    same(quiet, loud)


# -- bad input -----------------------------------------------------------------------------------

X, Y, LABELS = np.arange(20.0)[:, None], np.arange(20.0), np.arange(20) % 2
TREE, LINE = DecisionTreeClassifier(), LinearRegression()
FRESH = {"X": None, "y": None, "draw": noisy_sine}
HALVES = np.full((3, 2), 0.5)


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (LINE, {"loss": "hinge"}, "loss must be one of 'auto', 'squared', 'zero_one'"),
        (LINE, {"loss": "zero_one"}, "loss='zero_one' needs a classifier, but LinearRegression"),
        (TREE, {"loss": "squared"}, "loss='squared' needs a regressor, but DecisionTreeClass"),
        (StandardScaler(), {}, "StandardScaler has no tag that makes it a classifier"),
        (LINE, {"decomposition": "breiman"}, "decomposition must be one of 'domingos'"),
        (LINE, {"n_runs": 1}, "n_runs == 1, must be >= 2"),
        (LINE, {"draw": "jackknife"}, "draw must be 'bootstrap', 'subsample' or a function"),
        (LINE, {"y": Y[:-1]}, "X has 20 rows, but y has 19; give one target a row"),
        (LINE, {"X": None}, "X and y are needed for draw='bootstrap'"),
        (LINE, {"X": X[:0], "y": []}, "X has no rows"),
        (LINE, {"X": 3.0}, "X must hold rows"),
        (LINE, {"draw": noisy_sine}, "X and y must be left out where draw makes the training"),
        (LINE, {**FRESH, "max_samples": 5}, "max_samples must be left out where draw makes"),
        (LINE, {"max_samples": 1.5}, "max_samples == 1.5, must be <= 1"),
        (LINE, {"max_samples": 0}, "max_samples == 0, must be >= 1"),
        (LINE, {"max_samples": 16}, "max_samples == 16, must be <= 15"),
        (LINE, {"X_test": X}, "y_test is needed to judge the predictions of X_test"),
        (LINE, {"y_test": Y}, "y_test is given without X_test"),
        (LINE, {"X_test": X, "y_test": Y[:3]}, "X_test has 20 rows, but y_test has 3"),
        (LINE, {"truth": Y}, "truth holds an entry for each test row, but X_test"),
        (TREE, {"truth": HALVES}, "truth holds an entry for each test row"),
        (LINE, {"truth": sine, "X": None, "y": None}, "X and y are needed"),
        (LINE, {"X_test": X, "truth": Y[:3]}, "truth must have an entry for each of the 20"),
        (LINE, {"truth": len}, "truth must have an entry for each .* got one number"),
        (LINE, {"truth": lambda X: [1.0]}, "truth must have an entry for each .* got 1"),
        (LINE, {"noise_variance": 1.0}, "noise_variance needs truth"),
        (LINE, {**FRESH, "truth": sine, "noise_variance": -1}, "noise_variance == -1"),
        (LINE, {**FRESH, "truth": sine, "noise_variance": [1]}, "but X_test is not given"),
        (
            LINE,
            {"X_test": X[:2], "truth": [1, 2], "noise_variance": [1, -2]},
            "noise_variance must not be negative, but entry 1 is -2",
        ),
        (
            LINE,
            {"X_test": X[:2], "truth": [1, 2], "noise_variance": [1, 2, 3]},
            "noise_variance must be a number or one for each of the 2 test rows",
        ),
        (LINE, {"truth": sine, "classes": [0, 1]}, "classes is for loss='zero_one'"),
        (TREE, {"noise_variance": 1.0}, "noise_variance is for loss='squared'"),
        (TREE, {"truth": sine}, "truth must hold a probability for each class in each row"),
        (TREE, {"classes": [0, 1]}, "classes names the columns of truth"),
        (
            TREE,
            {"X_test": X[:3], "truth": np.full((3, 3), 1 / 3)},
            "truth has 3 columns, but there are 2 classes",
        ),
        (
            TREE,
            {"X_test": X[:2], "truth": HALVES},
            "truth must have an entry for each of the 2 test rows, got 3",
        ),
        (
            TREE,
            {"X_test": X[:3], "truth": [[0.5, 0.5], [0.5, 0.6], [1, 0]]},
            "sum to one in each row, but row 1 does not",
        ),
        (
            TREE,
            {"X_test": X[:3], "truth": HALVES, "classes": [0, 5]},
            "classes lacks the label 1",
        ),
        (
            TREE,
            {"X_test": X[:3], "truth": HALVES, "classes": [1, 1]},
            "classes must name each label once",
        ),
        (TREE, {"X_test": X[:2], "y_test": ["a", "b"]}, "hold words as well as numbers"),
        (LINE, {**FRESH, "draw": lambda rng: X}, r"draw must return a pair \(X, y\), got ndarray"),
        (LINE, {**FRESH, "draw": lambda rng: (X, Y[:3])}, "The X that draw returned has 20 rows"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(estimator, parameters, message):
    rows = {"X": X, "y": LABELS if estimator is TREE else Y, "n_runs": 2}
    with pytest.raises((ValueError, TypeError), match=message):
        bias_variance(estimator, **{**rows, **parameters})


def test_what_is_no_estimator_is_refused():
    with pytest.raises(TypeError, match="estimator must be an estimator with fit and predict"):
        bias_variance(LinearRegression, X, Y)


def test_predictions_that_cannot_be_judged_are_refused():
    class Broken(Memory):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="The estimator predicts NaN or infinity"):
        bias_variance(Broken(), X, Y, n_runs=2)

    class Wide(Memory):
        def predict(self, X):
            return np.zeros((len(X), 2))

    with pytest.raises(ValueError, match=r"predicts an array of shape \(5, 2\), but the test"):
        bias_variance(Wide(), X, Y, n_runs=2)
