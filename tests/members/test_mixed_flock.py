"""Flocks of several kinds of members: how they are weighted, and who decided."""

import pickle
import sys
import time
import tracemalloc
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score, get_scorer, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockClassifier, FlockRegressor, SubsetSelector, load, save
from covey._checkpoint import Journal
from covey._core.search.cross_fit import CrossFit
from covey._core.search.selection import greedy_selection
from covey.inspection import gate_share
from covey.members import _linear_search, _searching
from covey.members._member_kinds import KINDS, TableFacts, as_given, made, suits
from covey.members._mixing import Clock, Library
from covey.members._searching import Searching

FEW = ["linear", GaussianNB(), ("trees", ExtraTreesClassifier(20))]


def flock(members=FEW, **parameters):
    few = {"effort": "fast", "n_estimators": 2, "cv": 3, "random_state": 0}
    return FlockClassifier(**{"members": members} | few | parameters)


def once(n_rows):
    """Every third row is held out, once."""
    return [(np.flatnonzero(np.arange(n_rows) % 3), np.arange(0, n_rows, 3))]


@pytest.fixture(scope="module")
def noisy():
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def fitted(noisy):
    model = flock().fit(*noisy)
    assert list(model.named_estimators_) == ["linear", "trees"]
    return model


@pytest.fixture(scope="module")
def searched(noisy):
    return flock(effort="balanced").fit(*noisy)


def assert_same_flock(one, other, X):
    assert_array_equal(one.cv_results_["weight"], other.cv_results_["weight"])
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


# -- which members, with which weights -------------------------------------------------------


def test_mixed_compares_all_kinds_that_suit_the_table():
    X, y = load_iris(return_X_y=True)
    model = flock("mixed", cv=once(len(y))).fit(X, y)
    assert model.cv_results_["member"].tolist() == list(KINDS)
    assert list(model.named_estimators_) == [
        name for name, weight in zip(KINDS, model.cv_results_["weight"], strict=True) if weight > 0
    ]
    assert_allclose(model.weights_.sum(), 1.0)
    assert model.n_estimators_ == len(model.estimators_) == len(model.weights_)


def test_best_effort_is_mixed_unless_something_is_to_be_read():
    names = Searching(FlockClassifier(effort="best", random_state=0)).wanted()
    assert list(names) == list(KINDS)
    for linear in (
        FlockClassifier(),
        FlockClassifier(effort="best", members="linear"),
        FlockClassifier(effort="best", max_features=2),
        FlockClassifier(effort="best", max_terms=20),
    ):
        assert list(Searching(linear).wanted()) == ["linear"]


def test_weights_are_the_greedy_selection_of_predictions_out_of_fold(noisy):
    X, y = noisy
    folds = list(StratifiedKFold(5, shuffle=True, random_state=1).split(X, y))
    others = [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        LogisticRegression(),
    ]
    model = flock(others, cv=folds).fit(X, y)
    held_out = [cross_val_predict(one, X, y, cv=folds, method="predict_proba") for one in others]
    rows = np.concatenate([test for _, test in folds])
    true = np.array([p[rows, y[rows]] for p in held_out])
    expected = greedy_selection(true, np.ones(len(rows)))
    assert_allclose(model.cv_results_["weight"], expected)
    mean = np.tensordot(expected, held_out, axes=1)
    assert_allclose(model.out_of_fold_.predictions, mean)
    assert_array_equal(model.out_of_fold_.rows, np.arange(len(y)))
    assert_allclose(
        model.predict_proba(X),
        sum(
            weight * clone(one).fit(X, y).predict_proba(X)
            for one, weight in zip(others, expected, strict=True)
        ),
    )


def test_no_worse_out_of_fold_than_linear_members_alone(noisy, fitted):
    known, y = fitted.out_of_fold_, noisy[1]
    assert next(iter(fitted.named_estimators_)) == "linear"
    linear = log_loss(y[known.rows], known.members[:, 0])
    assert log_loss(y[known.rows], known.predictions) <= linear + 1e-12


def test_the_linear_members_are_those_of_a_flock_of_their_own(noisy, searched):
    X, y = noisy
    alone = flock("linear", effort="balanced").fit(X, y)
    part = searched.named_estimators_["linear"]
    assert_array_equal(part.predict_proba(X), alone.predict_proba(X))
    place = list(searched.named_estimators_).index("linear")
    linear = searched.out_of_fold_.members[:, place]
    assert_array_equal(linear, alone.out_of_fold_.predictions)


def test_best_effort_compares_all_kinds_on_the_same_folds(noisy, searched):
    # Its linear members are searched as by default, so that all the rest is the same.
    best = flock(effort="best").fit(*noisy)
    assert_array_equal(best.cv_results_["log_loss"], searched.cv_results_["log_loss"])
    assert_same_flock(best, searched, noisy[0])


def test_predictions_out_of_fold_know_nothing_of_labels_that_mean_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), rng.integers(2, size=300)
    model = flock("linear", effort="balanced", alpha=1e-4, cv=once(len(y))).fit(X, y)
    out_of_fold = log_loss(y[model.out_of_fold_.rows], model.out_of_fold_.predictions)
    assert out_of_fold > 0.66
    assert log_loss(y, model.predict_proba(X)) < out_of_fold


@pytest.mark.parametrize("kind", ["svm", "neighbors"])
def test_a_prediction_out_of_fold_does_not_depend_on_the_label_of_its_row(noisy, kind):
    X, y = noisy
    other = y.copy()
    other[6] = 1 - y[6]
    one, changed = (flock([kind], cv=once(len(y))).fit(X, labels) for labels in (y, other))
    assert_array_equal(one.out_of_fold_.predictions, changed.out_of_fold_.predictions)
    assert (one.predict_proba(X) != changed.predict_proba(X)).any()


def test_scoring_takes_the_place_of_the_loss(noisy):
    X, y = noisy
    model = flock(scoring="accuracy").fit(X, y)
    known = model.out_of_fold_
    members = [
        np.mean(known.members[:, k].argmax(axis=1) == y[known.rows])
        for k in range(model.n_estimators_)
    ]
    assert np.mean(known.predictions.argmax(axis=1) == y[known.rows]) >= max(members) - 1e-12
    assert_allclose(model.cv_results_["score"][model.cv_results_["weight"] > 0], members)
    assert flock([GaussianNB()], scoring="roc_auc").fit(X, y).weights_.sum() == pytest.approx(1)


def test_a_scorer_is_asked_of_the_mean_of_what_is_picked():
    truth, weight = np.array([1.0, 2.0, 4.0, 8.0]), np.ones(4)
    kept = SimpleNamespace(rows=np.arange(4), weight=weight)
    scorer = get_scorer("neg_mean_absolute_error")
    library = Library(kept, truth, None, None, scorer, truth[:, None])
    library.add("above", truth + 1.0, 0.0)
    library.add("below", truth - 1.0, 0.0)
    assert_allclose(library.weights(), [0.5, 0.5])


def test_the_weights_of_rows_count_where_members_are_compared():
    kept = SimpleNamespace(rows=np.array([1, 2]), weight=np.array([5.0, 9.0, 1.0]))
    library = Library(kept, np.array([0, 1]), np.array(["a", "b"]), None)
    library.add("right where it counts", np.array([[0.9, 0.1], [0.9, 0.1]]), 0.0)
    library.add("right elsewhere", np.array([[0.1, 0.9], [0.1, 0.9]]), 0.0)
    assert_array_equal(library.weights().round(), [1, 0])
    large, small = np.log(0.9), np.log(0.1)
    assert_allclose(library.losses(), [-0.9 * large - 0.1 * small, -0.9 * small - 0.1 * large])


def test_a_scorer_gets_the_rows_and_only_the_weights_that_it_takes(noisy):
    table = pd.DataFrame(noisy[0], columns=list("abcdef"))
    y, weight = noisy[1], np.where(noisy[1] == 1, 3.0, 1.0)

    def unweighted(estimator, X, y):
        assert list(X.columns) == list("abcdef")
        assert X["a"].std() > 0
        return accuracy_score(y, estimator.predict(X))

    others = [GaussianNB(), DecisionTreeClassifier(max_depth=2)]
    model = flock(others, scoring=unweighted).fit(table, y, sample_weight=weight)
    named = flock(others, scoring="accuracy").fit(table, y)
    assert_array_equal(named.cv_results_["member"], model.cv_results_["member"])
    areas = make_scorer(roc_auc_score, response_method="decision_function")
    assert flock(others, scoring=areas).fit(table, y).n_estimators_ > 0


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        ("nonsense", "'nonsense' is not a valid scoring"),
        (["accuracy", "f1"], "scoring must be a name"),
        (accuracy_score, "metric function rather than a scorer"),
        (lambda estimator, X, y: np.nan, "scoring gives nan"),
        ("roc_auc", "scoring cannot measure what members predict"),
    ],
)
def test_scoring_that_measures_nothing_is_refused_before_kinds_are_compared(scoring, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        flock([GaussianNB(), RidgeClassifier()], scoring=scoring).fit(X, y)


# -- parameters ------------------------------------------------------------------------------


def test_members_are_dropped_replaced_and_tuned_by_name(noisy):
    model = flock(["linear", ("tree", DecisionTreeClassifier()), GaussianNB()])
    model.set_params(tree__max_depth=2, gaussiannb="drop")
    assert model.get_params()["tree__max_depth"] == 2
    fitted = clone(model).fit(*noisy)
    assert fitted.cv_results_["member"].tolist() == ["linear", "tree"]
    search = GridSearchCV(
        flock([GaussianNB(), ("tree", DecisionTreeClassifier())]),
        {"tree__max_depth": [1, 3], "gaussiannb__var_smoothing": [1e-9]},
        cv=2,
    )
    assert search.fit(*noisy).best_params_["tree__max_depth"] in (1, 3)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ("forest", "members"),
        ([], "non-empty list"),
        (["linear", "forest"], "'forest'; in a list, a text is one of 'linear', 'boosting'"),
        (["mixed", GaussianNB()], "'mixed'; in a list, a text is one of 'linear'"),
        (GaussianNB(), "'linear', 'mixed', or a list"),
        ([GaussianNB], "'gaussiannb' is not a classifier"),
        (["linear", Ridge()], "'ridge' is not a classifier"),
        ([("linear", LogisticRegression())], "name of a kind"),
        ([("mine", "boosting")], "name of a kind"),
        ([("one", GaussianNB()), ("one", GaussianNB())], "repeated"),
        ([("effort", GaussianNB())], "'effort'"),
        ([("one", "drop")], "dropped"),
    ],
)
def test_members_that_make_no_sense_are_refused_in_one_sentence(noisy, members, words):
    with pytest.raises(ValueError, match=words):
        flock(members).fit(*noisy)


class _Strange:
    """Cannot be copied."""

    def predict(self, X):
        return np.zeros(len(X))


def test_what_cannot_be_fitted_is_refused_before_linear_members_are_searched(noisy, capsys):
    X, y = noisy
    for parameters, weight, words in (
        ({"members": ["linear", KNeighborsClassifier()]}, y + 1.0, "kneighbors.*sample_weight"),
        ({"members": ["linear", _Strange()]}, None, "_Strange.*get_params"),
        ({"n_jobs": 0}, None, "n_jobs"),
        ({"n_jobs": "all"}, None, "n_jobs"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            flock(**parameters, verbose=1).fit(X, y, sample_weight=weight)
    assert capsys.readouterr().out == ""


class _Breaks(GaussianNB):
    """Fails on so many rows."""

    def __init__(self, n_rows=None):
        super().__init__()
        self.n_rows = n_rows

    def fit(self, X, y):
        if self.n_rows in (None, len(y)):
            raise RuntimeError("out of order")
        return super().fit(X, y)


@pytest.mark.parametrize(("n_rows", "where"), [(None, "the rows of fold 1"), (400, "all rows")])
def test_a_member_that_breaks_in_fit_is_named(noisy, n_rows, where):
    with pytest.raises(RuntimeError, match="out of order") as raised:
        flock([("mine", _Breaks(n_rows))]).fit(*noisy)
    assert raised.value.__notes__ == [f"It was raised by the member 'mine', fitted on {where}."]


def test_kinds_have_no_parameters_to_set():
    with pytest.raises(ValueError, match="linear__alpha cannot be set: the member 'linear' is a"):
        flock(["linear", GaussianNB()]).set_params(linear__alpha=1.0)


def test_progress_says_what_is_tried_what_it_brought_and_what_is_not_tried(noisy, capsys):
    flock(verbose=1).fit(*noisy)
    said = capsys.readouterr().out
    for name in ("linear", "gaussiannb", "trees"):
        assert f"{name} has a loss of" in said
    flock(verbose=1, scoring="accuracy", time_limit=1e-6).fit(*noisy)
    said = capsys.readouterr().out
    assert "linear has a score of" in said
    assert "the time for linear members is over" in said
    assert "not tried: gaussiannb, trees" in said


def test_a_member_without_probabilities_is_named(noisy):
    with pytest.raises(ValueError, match=r"'ridgeclassifier' has no predict_proba"):
        flock(["linear", RidgeClassifier()]).fit(*noisy)


class Lost(GaussianNB):
    def predict_proba(self, X):
        probabilities = super().predict_proba(X)
        probabilities[1] = np.nan
        return probabilities


class Beyond(Ridge):
    def predict(self, X):
        return np.full(len(X), 1e200)


class GapsInNumbers(Ridge):
    def predict(self, X):
        return np.full(len(X), np.nan)


def test_members_whose_predictions_are_no_numbers_are_named(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="'lost' predicts NaN for row 1 of the 134"):
        flock([GaussianNB(), Lost()]).fit(X, y)
    with pytest.raises(ValueError, match="'gapsinnumbers' predicts NaN"):
        FlockRegressor(members=[GapsInNumbers()]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="beyond: the loss of what these members predict"):
        FlockRegressor(members=[Beyond()]).fit(X, X[:, 0])


def test_members_of_any_name_and_frozen_ones(noisy):
    X, y = noisy
    frozen = FrozenEstimator(GaussianNB().fit(X[::2], y[::2]))
    model = flock([("self", GaussianNB()), ("items", frozen)], scoring="accuracy").fit(X, y)
    assert set(model.named_estimators_) <= {"self", "items"}
    assert model.predict(X).shape == y.shape
    assert list(flock([("self", GaussianNB())]).fit(X, y).named_estimators_) == ["self"]


def test_a_time_limit_ends_the_search_with_the_best_so_far(noisy):
    X, y = noisy
    model = flock("mixed", effort="balanced", time_limit=1e-3).fit(X, y)
    assert model.cv_results_["member"].tolist() == ["linear"]
    assert set(model.named_estimators_["linear"].cv_results_["basis"]) == {"features"}
    alone = FlockClassifier(random_state=0, time_limit=1e-3).fit(X, y)
    assert set(alone.cv_results_["n_members"]) == {1}
    with pytest.raises(ValueError, match="time_limit"):
        flock(time_limit=0).fit(X, y)


def test_another_fit_leaves_nothing_of_the_one_before(noisy, fitted):
    model = deepcopy(fitted)
    model.set_params(members="linear", effort="fast").fit(*noisy)
    fresh = flock(None).fit(*noisy)
    assert vars(model).keys() - {"members"} == vars(fresh).keys() - {"members"}
    model.set_params(members=FEW).fit(*noisy)
    assert vars(model).keys() == vars(fitted).keys()
    assert not hasattr(model, "member_coef_")


# -- the same result, whatever ---------------------------------------------------------------


def test_a_member_that_brings_nothing_is_fitted_on_the_first_folds_only(noisy):
    X, y = noisy[0][:100], noisy[1][:100]

    fitted_to = []

    class Again(GaussianNB):
        def fit(self, X, y):
            fitted_to.append(len(y))
            return super().fit(X, y)

    # Folds of so few rows are drawn three times.
    model = flock([GaussianNB(), Again()]).fit(X, y)
    assert sorted(fitted_to) == [66, 67, 67]  # folds are fitted side by side
    assert model.cv_results_["weight"].tolist() == [1.0, 0.0]


def test_the_same_seed_gives_the_same_bits_by_any_number_of_jobs(noisy):
    X, y = noisy
    members = ["linear", ExtraTreesClassifier(20), RandomForestClassifier(5)]
    one, other = (flock(members, n_jobs=n_jobs, cv=2).fit(X, y) for n_jobs in (None, 2))
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), other.predict_proba(X))


def test_models_that_are_given_stay_as_they_are(noisy):
    tree = DecisionTreeClassifier(max_depth=2)
    flock(["linear", tree]).fit(*noisy)
    assert not hasattr(tree, "tree_")
    assert tree.random_state is None


class Killed(BaseException):
    """Ends a fit as a kill would."""


@pytest.fixture
def killed_after(monkeypatch):
    """Lets a fit end after so many candidates that are no linear members."""

    def fit(number, model, X, y):
        seen, keep = [], Journal.keep

        def counted(self, result):
            keep(self, result)
            seen.extend({"predicted", "left_out"} & set(result))
            if len(seen) == number:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "keep", counted)
            with pytest.raises(Killed):
                model.fit(X, y)

    return fit


def test_a_fit_that_was_killed_between_candidates_goes_on(noisy, killed_after, tmp_path):
    X, y = noisy
    whole = flock().fit(X, y)
    path = tmp_path / "fit.checkpoint"
    killed_after(1, flock(checkpoint=path), X, y)
    assert_same_flock(flock(checkpoint=path).fit(X, y), whole, X)
    # All of it is known by now.
    assert_same_flock(flock(checkpoint=path).fit(X, y), whole, X)


@pytest.fixture
def with_a_class_of_one_row(monkeypatch):
    """A table on which kernel machines cannot be calibrated, and kinds that are fitted soon."""
    monkeypatch.setattr(_searching, "KINDS", ("linear", "svm", "neighbors", "neighbors_few"))
    X, y = load_iris(return_X_y=True)
    return X[30:101], y[30:101]


def test_a_class_of_one_row_is_no_reason_to_stop(with_a_class_of_one_row):
    with pytest.warns(UserWarning, match="one row"):
        model = flock("mixed", cv=2).fit(*with_a_class_of_one_row)
    assert model.predict_proba(with_a_class_of_one_row[0]).shape == (71, 3)
    assert model.cv_results_["member"].tolist() == ["linear", "neighbors", "neighbors_few"]


@pytest.mark.filterwarnings("ignore:Class 2 has one row")
def test_a_checkpoint_remembers_which_kind_was_left_out(
    with_a_class_of_one_row, killed_after, tmp_path
):
    X, y = with_a_class_of_one_row
    whole, path = flock("mixed", cv=2).fit(X, y), tmp_path / "fit.checkpoint"
    killed_after(2, flock("mixed", cv=2, checkpoint=path), X, y)
    assert_same_flock(flock("mixed", cv=2, checkpoint=path).fit(X, y), whole, X)


def test_a_checkpoint_remembers_when_a_fit_was_late(noisy, tmp_path, monkeypatch):
    X, y = noisy
    path = tmp_path / "fit.checkpoint"
    how = {"time_limit": 1e-3, "checkpoint": path}
    late = flock(**how).fit(X, y)
    monkeypatch.setattr(Clock, "is_late", lambda self, share: False)
    assert_same_flock(flock(**how).fit(X, y), late, X)


def test_a_kind_that_takes_all_the_time_is_left_out(noisy):
    class Slow(GaussianNB):
        def fit(self, X, y):
            time.sleep(0.5)
            return super().fit(X, y)

    # One fold after another: the first takes all the time.
    model = flock([GaussianNB(), ("slow", Slow())], time_limit=0.4, n_jobs=1).fit(*noisy)
    assert model.cv_results_["member"].tolist() == ["gaussiannb"]


def test_a_kind_that_would_take_too_long_on_all_rows_is_left_out(noisy, monkeypatch, tmp_path):
    X, y = noisy
    members = [GaussianNB(), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
    asked = []

    def leaves(self, seconds):
        asked.append(seconds)
        return len(asked) > 1

    assert (flock(members, cv=2).fit(X, y).cv_results_["weight"] > 0).all()
    monkeypatch.setattr(Clock, "leaves", leaves)
    how = {"cv": 2, "time_limit": 1e3, "checkpoint": tmp_path / "fit.checkpoint"}
    model = flock(members, **how).fit(X, y)
    # One of two is left, however long it takes.
    seconds = model.cv_results_["seconds"]
    assert_array_equal(model.cv_results_["weight"], seconds < seconds.max())
    # Two folds of half of the rows take as long as all rows do.
    assert_allclose(asked, [seconds.sum()], rtol=0.2)
    assert_same_flock(flock(members, **how).fit(X, y), model, X)


def test_who_interrupts_the_search_of_linear_members_gets_no_other_kinds(noisy, monkeypatch):
    calls, hold_out = [], CrossFit.hold_out

    def interrupted(self, family):
        calls.append(family)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return hold_out(self, family)

    monkeypatch.setattr(CrossFit, "hold_out", interrupted)
    monkeypatch.setattr(_linear_search, "is_interactive", lambda: True)
    with pytest.warns(UserWarning, match="Interrupted: 1 of"):
        model = flock(effort="balanced").fit(*noisy)
    assert model.cv_results_["member"].tolist() == ["linear"]


# -- tables of all kinds ---------------------------------------------------------------------


def test_labels_weights_classes_and_groups(noisy):
    X, y = noisy
    labels = np.array(["no", "yes"], dtype=object)[y]
    groups = np.arange(len(y)) // 4
    weight = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
    model = flock(class_weight="balanced").fit(X, labels, sample_weight=weight, groups=groups)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.out_of_fold_.rows.max() < 300
    one, other = (
        flock(class_weight="balanced").fit(X[:n], labels[:n], sample_weight=weight[:n])
        for n in (len(y), 300)
    )
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


def test_neighbors_are_left_out_of_weighted_tables_and_boosting_of_sparse_ones(noisy):
    X, y = noisy[0][::2], noisy[1][::2]
    weight = np.linspace(1, 2, len(y))
    one_fold = flock("mixed", cv=once(len(y)))
    names = one_fold.fit(X, y, sample_weight=weight).cv_results_["member"].tolist()
    assert not any(name.startswith("neighbors") for name in names)
    table = sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X))
    model = one_fold.fit(table, y)
    names = model.cv_results_["member"].tolist()
    assert "boosting" not in names
    assert "svm" in names
    dense = model.predict_proba(table.toarray())
    assert_allclose(model.predict_proba(table), dense, atol=1e-6)
    assert len(model.explain(table[:2])) == 2


@pytest.mark.parametrize("members", [["linear", "boosting"], ["svm"], [GaussianNB()]])
def test_a_flock_of_dense_rows_predicts_sparse_ones(noisy, members, tmp_path):
    X, y = noisy
    model = flock(members, cv=once(len(y))).fit(X, y)
    save(model, tmp_path / "flock.covey")
    for one in (model, load(tmp_path / "flock.covey")):
        assert_array_equal(one.predict_proba(sparse.csr_array(X)), model.predict_proba(X))


def test_a_flock_of_sparse_rows_does_not_make_them_dense(noisy, tmp_path):
    X, y = sparse.csr_array(noisy[0]), noisy[1]
    model = flock(["neighbors"], cv=once(len(y))).fit(X, y)
    save(model, tmp_path / "flock.covey")
    for one in (model, load(tmp_path / "flock.covey")):
        assert one.model_.is_sparse
        assert as_given(one.model_.table.given_columns, X, "neighbors") is X


def test_names_are_left_out_where_there_is_no_pandas(noisy, monkeypatch):
    table = pd.DataFrame(noisy[0], columns=list("abcdef"))
    model = flock([GaussianNB()], cv=once(len(table))).fit(table, noisy[1])
    columns = model.model_.table.given_columns
    assert list(as_given(columns, noisy[0], "gaussiannb").columns) == list("abcdef")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert as_given(columns, noisy[0], "gaussiannb") is noisy[0]


def test_kinds_that_cannot_be_fitted_to_a_table_are_refused_by_name(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="'boosting_small' takes no sparse X"):
        flock(["linear", "boosting_small"]).fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="'neighbors' takes no weights"):
        flock(["linear", "neighbors"], class_weight={0: 1, 1: 2}).fit(X, y)


def test_neighbors_are_no_more_than_the_rows_of_a_fold(noisy):
    X, y = noisy[0][:20], np.arange(20) % 2
    model = flock(["neighbors", "neighbors_few"], cv=TimeSeriesSplit(4)).fit(X, y)
    assert model.out_of_fold_.rows.tolist() == list(range(4, 20))


@pytest.mark.slow
def test_wide_tables_have_boosting_once():
    rows = {"n_rows": 99, "n_fitted": 66, "n_smallest": 40, "is_sparse": False}
    for n_features, expected in ((1_000, True), (1_001, False)):
        table = TableFacts(**rows, is_weighted=False, seed=0, n_features=n_features)
        assert suits("boosting_small", table) is expected
        assert suits("boosting", table)
    wide = np.random.default_rng(0).normal(size=(30, 1_001))
    how = {"effort": "fast", "n_estimators": 1, "cv": once(30)}
    model = FlockClassifier(members="mixed", **how, random_state=0).fit(wide, wide[:, 0] > 0)
    assert "boosting" in model.cv_results_["member"]
    assert "boosting_small" not in model.cv_results_["member"]


def test_boosting_holds_out_nothing_where_a_class_has_few_rows():
    about = {"n_rows": 20_000, "n_fitted": 16_000, "is_sparse": False, "is_weighted": False}
    few, many = (TableFacts(**about, n_smallest=n, seed=0) for n in (3, 300))
    assert not made("boosting", few).early_stopping
    assert made("boosting", many).early_stopping


def test_rows_far_out_are_predicted_without_a_warning(noisy):
    X, y = noisy
    model = flock(["linear", "neighbors"]).fit(X, y)
    assert model.n_estimators_ == 2
    far = np.vstack([X[:1], np.full((1, 6), 1e300), np.full((1, 6), -1e308)])
    with np.errstate(all="raise"):
        probabilities = model.predict_proba(far)
        model.explain(X[:2])
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert_allclose(probabilities[0], model.predict_proba(X[:1])[0])


def test_pipelines_find_columns_by_name():
    X, y = load_iris(return_X_y=True, as_frame=True)
    one = make_pipeline(
        make_column_transformer(("passthrough", ["petal length (cm)"])), GaussianNB()
    )
    model = flock(["linear", ("petal", one)]).fit(X, y)
    assert model.score(X, y) > 0.9
    assert_array_equal(model.predict(X), model.predict(pd.DataFrame(X)))


def test_models_without_weights_are_compared_on_samples_of_long_tables():
    # The samples have more of the rare class than its share.
    X, y = make_classification(45_000, 3, n_informative=3, n_redundant=0, random_state=0)
    y[:30] = 2
    members = [KNeighborsClassifier(), GaussianNB()]
    assert len(flock(members).fit(X, y).cv_results_["member"]) == 2
    with pytest.raises(TypeError, match="'kneighborsclassifier' cannot be fitted with sample_we"):
        flock(members).fit(X, y, sample_weight=1 + y)


def test_long_tables_are_compared_on_some_of_their_rows():
    X, y = make_classification(6_000, 5, n_informative=3, random_state=0)
    model = flock(["linear", GaussianNB()]).fit(X, y)
    assert 2_000 < len(model.out_of_fold_.rows) < 4_000
    alone = flock([GaussianNB()]).fit(X, y)
    assert len(alone.out_of_fold_.rows) == len(model.out_of_fold_.rows)


# -- numbers ---------------------------------------------------------------------------------


def test_regressors_are_mixed_by_their_loss():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    members = ["linear", ("tree", DecisionTreeRegressor(max_depth=3)), Ridge(0.1), "extra_trees"]
    model = FlockRegressor(members=members, effort="fast", cv=3, random_state=0).fit(X, y)
    known = model.out_of_fold_
    fused, single = (
        np.mean((np.asarray(y)[known.rows] - one) ** 2)
        for one in (known.predictions, known.members[:, 0])
    )
    assert fused <= single
    assert_allclose(model.predict(X), model.member_predictions(X) @ model.weights_)
    records = model.explain(X.iloc[:2])
    assert records[0]["prediction"] == pytest.approx(model.predict(X.iloc[:1])[0])
    # The body mass index is one of the two that matter most, whatever rounding selects.
    assert 2 in np.argsort(model.feature_importances_)[-2:]


def test_support_vector_machines_of_numbers_know_no_unit():
    X, y = load_diabetes(return_X_y=True)
    small, large = (
        FlockRegressor(members=["svm"], cv=once(len(y)), random_state=0).fit(X, unit * y)
        for unit in (1.0, 2.0**10)
    )
    assert_array_equal(large.predict(X), 2.0**10 * small.predict(X))


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_support_vector_machines_are_left_out_where_they_would_not_end(unit):
    X, y = load_diabetes(return_X_y=True)
    y = unit * y
    how = {"effort": "fast", "n_estimators": 1, "cv": once(len(y)), "random_state": 0}
    with pytest.raises(ValueError, match="'svm' cannot be fitted to y of the size"):
        FlockRegressor(members=["linear", "svm"], **how).fit(X, y)
    table = TableFacts(
        n_rows=99,
        n_fitted=66,
        n_smallest=99,
        is_sparse=False,
        is_weighted=False,
        seed=0,
        y_scale=float(y.std()),
    )
    assert not suits("svm", table)
    assert not suits("svm_soft", table)
    assert suits("boosting", table)


def test_a_quantile_has_boosting_beside_linear_members():
    X, y = load_diabetes(return_X_y=True)
    model = FlockRegressor(
        members="mixed",
        effort="fast",
        loss="quantile",
        quantile=0.9,
        cv=once(len(y)),
        random_state=0,
    ).fit(X, y)
    assert model.cv_results_["member"].tolist() == ["linear", "boosting", "boosting_small"]
    assert 0.85 < np.mean(y <= model.predict(X)) < 0.97


# -- who decided -----------------------------------------------------------------------------


def test_members_say_what_moved_them(noisy, fitted):
    X, _ = noisy
    records = fitted.explain(X[:5], top=2)
    for row, record in enumerate(records):
        assert record["probability"] == pytest.approx(fitted.predict_proba(X[row : row + 1]).max())
        assert sum(one["weight"] for one in record["members"]) == pytest.approx(1, abs=0.05)
        for one in record["members"]:
            assert one["kind"] in fitted.named_estimators_
            assert one["because"]
            assert len(one["because"]) <= 2


def test_what_a_feature_does_is_tried_out(noisy):
    X, y = noisy
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = flock([("tree", tree)]).fit(X, y)
    (record,) = model.explain(X[:1], top=1)
    ((name, push),) = record["members"][0]["because"]
    member, code = model.estimators_[0], model.predict(X[:1])[0]

    def log_odds(row):
        p = np.clip(member.predict_proba(row)[0, code], 1e-3, 1 - 1e-3)
        return np.log(p / (1 - p))

    moved = {}
    for feature in range(X.shape[1]):
        changed = X[:1].copy()
        changed[:, feature] = np.median(X[:, feature])
        moved[f"x{feature}"] = log_odds(X[:1]) - log_odds(changed)
    assert push == pytest.approx(moved[name])
    assert push == pytest.approx(max(moved.values()))


def assert_because_equal(one, other):
    assert [name for name, _ in one] == [name for name, _ in other]
    assert_allclose([push for _, push in one], [push for _, push in other])


def test_linear_members_explain_themselves_as_they_do_alone(noisy, fitted):
    X, _ = noisy
    linear = fitted.named_estimators_["linear"]
    share = dict(zip(fitted.named_estimators_, fitted.weights_, strict=True))["linear"]
    own = {one["member"]: one for one in linear.explain(X[:1])[0]["members"]}
    for one in fitted.explain(X[:1])[0]["members"]:
        if one["kind"] == "linear":
            assert_because_equal(one["because"], own[one["within"]]["because"])
            assert one["weight"] == pytest.approx(share * own[one["within"]]["weight"])


def test_the_summary_has_a_line_for_each_kind(fitted):
    lines = fitted.summary().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    for name in fitted.named_estimators_:
        assert any(line.startswith(name) for line in lines)


def test_the_summary_fits_on_a_screen_however_many_members_there_are(fitted):
    model = deepcopy(fitted)
    others = {f"a tree of a name that is far too long {k}": GaussianNB() for k in range(30)}
    models = Bunch(**model.model_.models, **others)
    weights = np.full(len(models), 1 / len(models))
    model.model_ = replace(model.model_, models=models, weights=weights)
    lines = model.summary().splitlines()
    assert len(lines) == 24
    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith(f"and {len(model.weights_) - 21} more, with")


def test_notebooks_show_the_members_by_weight(fitted):
    table = fitted._repr_html_().partition("<caption>")[2]
    assert table.startswith(f"{fitted.n_estimators_} members of different kinds, 2 classes")
    assert "linear members, " in table
    positions = [table.index(f"<td>{name}</td>") for name in fitted.named_estimators_]
    assert_array_equal(np.argsort(positions), np.argsort(-fitted.weights_, kind="stable"))


def test_what_needs_linear_members_alone_says_where_they_are(noisy, fitted):
    assert not hasattr(fitted, "coef_")
    with pytest.raises(AttributeError, match="see named_estimators_"):
        _ = fitted.coef_
    for alone in (fitted.collapse, fitted.to_sklearn):
        with pytest.raises(ValueError, match="several kinds.*see named_estimators_"):
            alone()
    with pytest.raises(ValueError, match=r"named_estimators_\['linear'\]"):
        SubsetSelector(fitted, prefit=True).fit(*noisy)
    with pytest.raises(ValueError, match="the member 'linear' of a mixed flock"):
        gate_share(fitted, noisy[0])
    assert 0 <= gate_share(fitted.named_estimators_["linear"], noisy[0]).share <= 1


@pytest.mark.slow
def test_explanations_of_wide_sparse_tables_take_little_memory():
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 5_000), density=0.01, format="csr", rng=rng)
    y = np.arange(60) % 2
    tracemalloc.start()
    model = flock([LogisticRegression()]).fit(X, y)
    (record,) = model.explain(X[:1])
    assert model.feature_importances_.sum() == pytest.approx(1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert record["members"][0]["because"]
    assert peak < 100e6


def test_examples_are_spread_over_the_rows():
    X = np.arange(150.0)[:, None]
    model = flock([GaussianNB()]).fit(X, np.arange(150) >= 75)
    assert len(model.model_.examples) == 100
    assert_array_equal(model.model_.examples[[0, -1], 0], [0.0, 149.0])


def test_importances_sum_to_one_and_find_what_matters():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.hstack([X[:, :4], np.random.default_rng(0).normal(size=(len(y), 60))])
    members = [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
    model = flock(members).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert set(np.argsort(-model.feature_importances_)[:2]) <= {0, 1, 2, 3}


def test_dask_collections_are_for_linear_members():
    dask_array = pytest.importorskip("dask.array")
    X, y = load_iris(return_X_y=True)
    table, labels = dask_array.from_array(X, chunks=(50, 4)), dask_array.from_array(y, chunks=50)
    with pytest.raises(ValueError, match="needs X in memory"):
        flock("mixed").fit(table, labels)


# One linear member of one feature is enough to have two kinds.
LINEAR = {"effort": "fast", "n_estimators": 1, "max_features": 1, "alpha": 0.1}


@pytest.mark.slow
@parametrize_with_checks(
    [
        FlockClassifier(members=["linear", LogisticRegression()], cv=2, **LINEAR),
        FlockRegressor(members=["linear", Ridge()], cv=KFold(2), **LINEAR),
    ],
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
