"""SubsetEnsembleClassifier: what it promises beyond scikit-learn's own checks."""

import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

from covey import Gate, SubsetEnsembleClassifier, make_quarter_circle
from covey.fusers import Oracle
from covey.members import LinearMember
from covey.members._held_out import held_out_rows


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def noisy():
    return make_classification(
        300, 12, n_informative=5, n_classes=3, flip_y=0.1, class_sep=0.7, random_state=0
    )


def flock(**parameters):
    return SubsetEnsembleClassifier(
        **{
            "n_estimators": 4,
            "flip_probability": 0.1,
            "fuser": "product",
            "random_state": 0,
            **parameters,
        }
    )


def assert_same_model(one, other, atol=0.0):
    assert_array_equal(one.support_, other.support_)
    assert_allclose(one.member_coef_, other.member_coef_, rtol=0, atol=atol)
    assert_allclose(one.member_intercept_, other.member_intercept_, rtol=0, atol=atol)


# -- Algorithm 1 in its limits ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_one_long_trained_member_without_flips_is_logistic_regression(n_classes):
    X, y = make_classification(
        200, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.3, random_state=1
    )
    model = SubsetEnsembleClassifier(
        1, flip_probability=0, tol=-np.inf, max_iter=20_000, fuser="product", random_state=0
    ).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(Z, y)
    assert_allclose(model.predict_proba(X), reference.predict_proba(Z), atol=1e-4)


def test_a_masked_feature_has_exactly_no_influence(noisy):
    X, y = noisy
    model = flock(flip_probability=0.3).fit(X, y)
    assert not model.support_.all()
    before = model.member_probabilities(X)
    for k, support in enumerate(model.support_):
        changed = X.copy()
        changed[:, ~support] = 1e6
        assert_array_equal(model.member_probabilities(changed)[:, k], before[:, k])


@pytest.mark.parametrize("parameters", [{}, {"acceptance": "metropolis"}, {"learning_rate": 1e-3}])
def test_integer_weights_equal_repetition(noisy, parameters):
    X, y = noisy
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = flock(**parameters).fit(X, y, sample_weight=weight)
    repeated = flock(**parameters).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_model(weighted, repeated, atol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 5), st.floats(0, 1), st.booleans())
def test_oracle_is_never_below_any_member(seed, n_classes, n_members, p_lambda, printed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    y = np.arange(60) % n_classes
    make = SubsetEnsembleClassifier.paper if printed else SubsetEnsembleClassifier
    model = make(
        n_estimators=n_members,
        flip_probability=p_lambda,
        max_iter=20,
        select_size=None,
        random_state=seed,
    ).fit(X, y)
    fresh = rng.standard_normal((50, 4))
    labels = rng.integers(0, n_classes, 50)
    oracle = model.oracle_score(fresh, labels)
    for member in model.estimators_:
        assert oracle >= member.score(fresh, labels)
    assert (np.diff(model.staged_score(fresh, labels, fuser="oracle")) >= 0).all()


# -- the same result, whatever the way -------------------------------------------------------


def test_same_seed_same_bits_whatever_n_jobs():
    X, y = make_quarter_circle(100, n_dummy_features=3, random_state=0)
    many = np.tile(X, (200, 1))
    one = flock(n_jobs=1).fit(X, y)
    two = flock(n_jobs=2).fit(X, y)
    assert_same_model(one, two)
    assert_array_equal(one.predict_proba(many), two.predict_proba(many))
    assert_array_equal(one.member_probabilities(many), two.member_probabilities(many))


@pytest.mark.slow
def test_blas_threads_change_no_subset(tmp_path):
    script = (
        "import numpy as np, sys\n"
        "from sklearn.datasets import make_classification\n"
        "from covey import SubsetEnsembleClassifier\n"
        "X, y = make_classification(3000, 60, n_informative=20, n_classes=4, random_state=0)\n"
        "m = SubsetEnsembleClassifier(3, fuser='product', random_state=0).fit(X, y)\n"
        "np.savez(sys.argv[1], support=m.support_, coef=m.member_coef_)\n"
    )
    results = []
    for threads in ("1", "2"):
        path = tmp_path / f"{threads}.npz"
        environment = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
        subprocess.run([sys.executable, "-c", script, path], check=True, env=environment)
        results.append(np.load(path))
    assert_array_equal(results[0]["support"], results[1]["support"])
    assert_allclose(results[0]["coef"], results[1]["coef"], rtol=0, atol=1e-9)


def test_row_order_changes_no_subset(noisy):
    X, y = noisy
    weight = np.random.default_rng(1).uniform(0.1, 2, len(X))
    order = np.random.default_rng(0).permutation(len(X))
    assert_same_model(
        flock().fit(X, y, weight), flock().fit(X[order], y[order], weight[order]), atol=1e-9
    )


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("scale_features", [True, False])
def test_sparse_gives_the_dense_model(noisy, form, scale_features):
    X, y = noisy
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    X[:, 2] += 3.0
    model = flock(scale_features=scale_features).fit(X, y)
    from_sparse = flock(scale_features=scale_features).fit(form(X), y)
    assert_same_model(model, from_sparse, atol=1e-9)
    assert_allclose(from_sparse.predict_proba(form(X)), model.predict_proba(X), atol=1e-9)
    assert_allclose(
        from_sparse.member_probabilities(form(X)), model.member_probabilities(X), atol=1e-9
    )


def test_sparse_is_never_densified():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 200, 2000), rng.integers(0, 50_000, 2000)
    X = sparse.csr_array((rng.random(2000), (rows, columns)), shape=(200, 50_000))
    y = np.arange(200) % 2
    model = SubsetEnsembleClassifier(2, max_iter=3, fuser="product", random_state=0)
    tracemalloc.start()
    model.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 200 * 50_000  # half of X as a dense array


@pytest.mark.parametrize("select_size", [None, "train", "validation"])
def test_warm_start_equals_one_fit(noisy, select_size):
    X, y = noisy
    at_once = flock(n_estimators=6, select_size=select_size).fit(X, y)
    grown = flock(n_estimators=2, select_size=select_size, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=6).fit(X, y)
    assert_same_model(at_once, grown)
    assert_array_equal(at_once.n_iter_, grown.n_iter_)


def test_warm_start_leaves_grown_members_alone(noisy):
    X, y = noisy
    model = flock(warm_start=True).fit(X, y)
    before = model.member_coef_.copy(), model.member_probabilities(X)
    model.set_params(n_estimators=6).fit(X * 3 + 1, y, sample_weight=1 + (X[:, 0] > 0))
    assert_array_equal(model.member_coef_[:4], before[0])
    assert_allclose(model.member_probabilities(X)[:, :4], before[1], atol=1e-12)
    with pytest.raises(ValueError, match="fit_intercept=False differs from True"):
        model.set_params(fit_intercept=False).fit(X, y)


def test_warm_start_cannot_shrink(noisy):
    X, y = noisy
    model = flock(n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=2 is fewer than the 3 members"):
        model.set_params(n_estimators=2).fit(X, y)


# -- units, frames, names --------------------------------------------------------------------


def test_coefficients_are_in_the_units_of_X(noisy):
    X, y = noisy
    shift, factor = np.linspace(-50, 50, X.shape[1]), np.geomspace(1e-3, 1e3, X.shape[1])
    model = flock().fit(X, y)
    rescaled = flock().fit(X * factor + shift, y)
    assert_array_equal(model.support_, rescaled.support_)
    assert_allclose(rescaled.member_coef_ * factor, model.member_coef_, atol=1e-8)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    logits = Z @ (model.member_coef_[0] * X.std(axis=0)).T
    logits += model.member_intercept_[0] + model.member_coef_[0] @ X.mean(axis=0)
    assert_allclose(model.estimators_[0].decision_function(X), logits, atol=1e-10)


@pytest.mark.parametrize("scale_features", [True, False])
def test_without_intercept_the_origin_is_undecided(noisy, scale_features):
    X, y = noisy
    model = flock(fit_intercept=False, scale_features=scale_features).fit(X + 1, y)
    assert not model.member_intercept_.any()
    assert_allclose(model.predict_proba(np.zeros((1, 12))), 1 / 3)


def test_sparse_entries_stored_in_parts_are_summed(noisy):
    X, y = noisy
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    whole = sparse.csr_array(X)
    parts = sparse.csr_array(
        (
            np.repeat(whole.data, 2) * np.tile([3.0, -2.0], whole.nnz),
            np.repeat(whole.indices, 2),
            2 * whole.indptr,
        ),
        shape=X.shape,
    )
    assert_same_model(flock().fit(X, y), flock().fit(parts, y), atol=1e-9)


def test_columns_in_extreme_units_are_fine(noisy):
    X, y = noisy
    model, extreme = flock().fit(X, y), flock().fit(X * 1e-200, y)
    assert_array_equal(extreme.support_, model.support_)
    assert_allclose(extreme.member_coef_ * 1e-200, model.member_coef_, rtol=1e-6)


def test_importances_do_not_depend_on_units(noisy):
    X, y = noisy
    factor = np.geomspace(1e-3, 1e3, X.shape[1])
    assert_allclose(
        flock().fit(X * factor, y).feature_importances_,
        flock().fit(X, y).feature_importances_,
        rtol=1e-6,
    )


def test_scikit_learns_selectors_take_the_importances(noisy):
    X, y = noisy
    selector = SelectFromModel(flock(), importance_getter="feature_importances_").fit(X, y)
    chosen = flock().fit(X, y).feature_importances_ >= 1 / 12
    assert_array_equal(selector.get_support(), chosen)


def test_a_constant_column_is_fine_and_unused(noisy):
    X, y = noisy
    with_constant = np.insert(X, 3, 7.5, axis=1)
    model = flock().fit(with_constant, y)
    assert not model.support_[:, 3].any()
    assert not model.member_coef_[:, :, 3].any()
    assert model.feature_importances_[3] == 0


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_names(library):
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = library.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    model = flock(always_keep=["petal width"]).fit(frame, y)
    assert list(model.feature_names_in_) == names
    assert list(model.estimators_[0].feature_names_in_) == names
    assert_array_equal(model.predict(frame), flock(always_keep=[3]).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


def test_string_labels(wine):
    X, y = wine
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    model = flock().fit(X, names)
    assert list(model.classes_) == ["barbera", "barolo", "grignolino"]
    numbered = flock().fit(X, np.array([1, 2, 0])[y])
    assert_same_model(model, numbered)
    assert_array_equal(model.predict(X), model.classes_[numbered.predict(X)])
    assert model.oracle_score(X, names) >= model.score(X, names)


def test_groups_flip_together_and_kept_columns_stay(noisy):
    X, y = noisy
    model = flock(
        n_estimators=8,
        flip_probability=0.3,
        feature_groups={"colour": [0, 4, 5], "shape": [7, 8]},
        always_keep=[1, 8],
    ).fit(X, y)
    assert_array_equal(model.support_[:, 0], model.support_[:, 4])
    assert_array_equal(model.support_[:, 0], model.support_[:, 5])
    assert model.support_[:, [1, 7, 8]].all()
    assert not model.support_.all()


def test_class_weight_is_sample_weight(noisy):
    X, y = noisy
    by_class = flock(class_weight={0: 1, 1: 3, 2: 0.5}).fit(X, y)
    by_row = flock().fit(X, y, sample_weight=np.array([1, 3, 0.5])[y])
    assert_same_model(by_class, by_row)
    balanced = flock(class_weight="balanced").fit(X, y)
    by_row = flock().fit(X, y, sample_weight=len(y) / (3 * np.bincount(y))[y])
    assert_same_model(balanced, by_row, atol=1e-9)


# -- what a fitted flock offers --------------------------------------------------------------


def test_fitted_attributes_have_their_shapes(noisy):
    X, y = noisy
    model = flock(flip_probability=0.3).fit(X, y)
    assert model.member_coef_.shape == (4, 3, 12)
    assert model.member_intercept_.shape == (4, 3)
    assert model.support_.shape == (4, 12)
    assert model.n_estimators_ == len(model.estimators_) == len(model.history_) == 4
    assert model.member_probabilities(X).shape == (300, 4, 3)
    assert model.feature_importances_.sum() == pytest.approx(1)
    for n_iter, history, support in zip(
        model.n_iter_, model.history_, model.support_, strict=True
    ):
        assert {len(values) for values in history.values()} == {n_iter + 1}
        sizes = history["subset_size"]
        assert sizes[0] == 12
        # A subset changes exactly where a flip was accepted.
        assert (np.diff(sizes) != 0)[~history["accepted_flip"][1:]].sum() == 0
        assert support.sum() in sizes
    with pytest.raises(NotFittedError):
        flock().estimators_  # noqa: B018


def test_members_are_classifiers_that_agree_with_the_ensemble(wine):
    X, y = wine
    model = flock().fit(X, y)
    together = model.member_probabilities(X)
    for k, member in enumerate(model.estimators_):
        assert isinstance(member, LinearMember)
        assert is_classifier(member)
        assert_allclose(member.predict_proba(X), together[:, k], atol=1e-12)
        assert_array_equal(clone(member).fit(X, y).predict(X), member.predict(X))


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_collapse_has_the_products_probabilities(load):
    X, y = load(return_X_y=True)
    model = flock(n_estimators=7, max_iter=1000).fit(X, y)
    # Eq. (10) with i_k = 1/K, written out; far away, where values are held, too.
    for rows in (X, 30 * X):
        held = model.basis_.rows(rows)
        logits = np.einsum("nd,kcd->nkc", held, model.member_coef_) + model.member_intercept_
        logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
        product = logs.mean(axis=1)
        product -= np.logaddexp.reduce(product, axis=1, keepdims=True)
        atol = 1e-12 * (1 + np.abs(logits).max())
        collapsed = model.collapse()
        assert_allclose(collapsed.predict_log_proba(rows), product, rtol=0, atol=atol)
        assert_allclose(model.predict_log_proba(rows), product, rtol=0, atol=atol)
        fused = model.fuser_.fuse_log(model._predictions(rows))
        assert_allclose(fused, product, rtol=0, atol=atol)
    assert_array_equal(collapsed.predict(X), model.predict(X))


def test_collapse_says_why_it_cannot(wine):
    X, y = wine
    with pytest.raises(ValueError, match="what Oracle fuses cannot collapse"):
        flock(fuser="oracle").fit(X, y).collapse()


def test_oracle_scores_but_cannot_predict(noisy):
    X, y = noisy
    model = flock(fuser="oracle").fit(X, y)
    reference = flock(fuser=Oracle()).fit(X, y)
    assert model.score(X, y) == reference.oracle_score(X, y) > flock().fit(X, y).score(X, y)
    with pytest.raises(ValueError, match="needs the true labels"):
        model.predict(X)


def test_staged_score_ends_where_score_stands(noisy):
    X, y = noisy
    weight = np.random.default_rng(0).uniform(0, 1, len(X))
    model = flock(n_estimators=5).fit(X, y)
    stages = model.staged_score(X, y)
    assert stages.shape == (5,)
    assert stages[0] == pytest.approx(model.estimators_[0].score(X, y))
    assert stages[-1] == pytest.approx(model.score(X, y))
    assert model.staged_score(X, y, weight)[-1] == pytest.approx(model.score(X, y, weight))


def test_size_is_selected_where_the_fused_accuracy_peaks(noisy):
    X, y = noisy
    whole = flock(n_estimators=12, flip_probability=0.3)
    stages = clone(whole).fit(X, y).staged_score(X, y)
    selected = clone(whole).set_params(select_size="train").fit(X, y)
    assert selected.n_estimators_ == np.argmax(stages) + 1 < 12
    assert selected.member_coef_.shape[0] == selected.n_estimators_


def test_validation_rows_choose_the_size_and_train_no_member(noisy):
    X, y = noisy
    model = flock(n_estimators=12, flip_probability=0.3, select_size="validation")
    model.set_params(validation_fraction=0.25).fit(X, y)
    held_out = held_out_rows(y, np.ones(len(y)), 0.25, model._seed)
    assert_array_equal(np.bincount(y[held_out]), np.round(0.25 * np.bincount(y)))
    alone = flock(n_estimators=12, flip_probability=0.3).fit(X[~held_out], y[~held_out])
    best = np.argmax(alone.staged_score(X[held_out], y[held_out])) + 1
    assert model.n_estimators_ == best < 12
    assert_array_equal(model.member_coef_, alone.member_coef_[:best])


def test_explain_fusion_names_the_members(wine):
    X, y = wine
    model = flock().fit(X, y)
    importance = model.explain_fusion(X)
    assert_allclose(importance, 0.25)
    frame = model.explain_fusion(X, as_frame=True)
    assert list(frame.columns) == ["member 1", "member 2", "member 3", "member 4"]


def test_predict_is_the_argmax_of_predict_proba(noisy):
    X, y = noisy
    model = flock().fit(X, y)
    assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


# -- at home in scikit-learn -----------------------------------------------------------------


def test_sample_weight_is_routed(noisy):
    X, y = noisy
    weight = np.random.default_rng(0).uniform(0, 1, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = flock(n_estimators=2).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scores = cross_validate(model, X, y, params={"sample_weight": weight}, cv=3)
    assert np.isfinite(scores["test_score"]).all()


def test_grid_search_and_pickle(wine):
    X, y = wine
    search = GridSearchCV(flock(n_estimators=2), {"flip_probability": [0, 0.1]}, cv=3).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def test_paper_is_what_its_docstring_states():
    model = SubsetEnsembleClassifier.paper()
    stated = {
        "n_estimators": 20,
        "flip_probability": 0.01,
        "learning_rate": "constant",
        "tol": -0.002,
        "n_iter_no_change": None,
        "max_iter": 200,
        "init_scale": 0.5,
        "select_size": "train",
        "fuser": "product",
    }
    assert {name: getattr(model, name) for name in stated} == stated
    for number in ("-0.002", "200", "0.5", "1.5 C", "up to 20"):
        assert number in SubsetEnsembleClassifier.paper.__doc__
    assert SubsetEnsembleClassifier.paper(tol=0.1, n_jobs=2).tol == 0.1


def test_verbose_reports_each_member(wine, capsys):
    flock(n_estimators=2, verbose=1).fit(*wine)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    model = flock(n_estimators=2).fit(*wine)
    accuracy = model.history_[1]["weighted_accuracy"].max()
    assert lines[1].startswith(
        f"[SubsetEnsembleClassifier] member 2/2: {model.n_iter_[1]} steps, weighted accuracy "
        f"{accuracy:.4f}, {model.support_[1].sum()} of 13 features"
    )


def test_scikit_learn_callbacks_follow_the_members(noisy):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brings callbacks")
    X, y = noisy

    class Watcher:
        def __init__(self):
            self.events, self.scores = [], []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            self.events.append(f"end {context.task_name}")
            if fitted_estimator is not None:
                self.scores.append(fitted_estimator.score(X, y))
            return len(self.scores) == 3

    watcher = Watcher()
    assert isinstance(watcher, callback.FitCallback)
    model = flock(n_estimators=5).set_callbacks(watcher).fit(X, y)
    assert model.n_estimators_ == 3  # the watcher asked to stop
    member = ["begin member", "end member"]
    assert watcher.events == ["setup", "begin fit", *member * 3, "end fit", "teardown"]
    assert_allclose(watcher.scores, model.staged_score(X, y))


# -- other losses ----------------------------------------------------------------------------


PAPER = "mean_probability"


@pytest.mark.parametrize("reweighting", [PAPER, "divergence", "adaboost", None])
@pytest.mark.parametrize("loss", ["log", "exponential", "focal"])
def test_every_loss_and_reweighting_learns(wine, loss, reweighting):
    X, y = wine
    model = flock(loss=loss, reweighting=reweighting, max_iter=100).fit(X[::2], y[::2])
    assert all(past["objective"][-1] > past["objective"][0] for past in model.history_)
    # Its own loss of new rows is far below that of the classes' frequencies.
    value = {
        "log": lambda q: -np.log(q),
        "exponential": lambda q: np.sqrt((1 - q) / q),
        "focal": lambda q: -((1 - q) ** 2) * np.log(q),
    }[loss]
    true = y[1::2]
    ours = model.predict_proba(X[1::2])[np.arange(len(true)), true]
    frequencies = np.bincount(y[::2])[true] / len(y[::2])
    assert value(ours).mean() < value(frequencies).mean() / 2
    # The loss moves all members, the weights those after the first.
    plain = flock(max_iter=100).fit(X[::2], y[::2])
    same = (model.member_coef_ == plain.member_coef_).all(axis=(1, 2))
    assert_array_equal(same[:2], [loss == "log", loss == "log" and reweighting == PAPER])


def test_without_reweighting_or_flips_members_differ_only_by_their_start(wine):
    model = flock(reweighting=None, flip_probability=0, init_scale=0.0, max_iter=20).fit(*wine)
    for member in model.member_coef_[1:]:
        assert_array_equal(member, model.member_coef_[0])


def test_adaboost_leads_later_members_to_earlier_mistakes(noisy):
    X, y = noisy
    boosted, alike = (
        flock(n_estimators=2, reweighting=name, flip_probability=0).fit(X, y)
        for name in ("adaboost", None)
    )
    wrong = boosted.estimators_[0].predict(X) != y

    def right_there(model):
        return (model.estimators_[1].predict(X)[wrong] == y[wrong]).mean()

    assert right_there(boosted) > right_there(alike) + 0.1


def test_a_warm_start_goes_on_with_boosted_weights(wine):
    whole = flock(n_estimators=4, reweighting="adaboost", loss="exponential").fit(*wine)
    part = flock(n_estimators=2, reweighting="adaboost", loss="exponential", warm_start=True).fit(
        *wine
    )
    assert_same_model(part.set_params(n_estimators=4).fit(*wine), whole, atol=1e-10)


# -- bad input -------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ({"loss": "hinge"}, ValueError, "loss must be one of 'log', 'exponential'"),
    ({"loss": "focal", "focal_gamma": -1}, ValueError, "focal_gamma"),
    ({"reweighting": "boost"}, ValueError, "reweighting must be one of 'mean_probability'"),
    ({"loss": "focal", "fuser": "gate"}, ValueError, "refine them by their likelihood"),
    ({"warm_start": True, "fuser": "gate"}, ValueError, "warm_start adds members"),
    ({"warm_start": True, "fuser": Gate()}, ValueError, "warm_start adds members"),
    ({"select_size": "train", "fuser": "gate"}, ValueError, "select_size='train' compares flocks"),
    ({"n_estimators": 0}, ValueError, "n_estimators == 0, must be >= 1"),
    ({"n_estimators": 2.5}, TypeError, "n_estimators must be an instance of int"),
    ({"flip_probability": 1.2}, ValueError, "flip_probability == 1.2, must be <= 1"),
    ({"flip_probability": -0.1}, ValueError, "flip_probability == -0.1, must be >= 0"),
    ({"flip_probability": np.nan}, ValueError, "flip_probability must be a finite number"),
    ({"learning_rate": "fast"}, ValueError, "learning_rate must be one of 'auto', 'constant'"),
    ({"learning_rate": 0}, ValueError, "learning_rate == 0, must be > 0"),
    ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change == 0"),
    ({"max_iter": 0}, ValueError, "max_iter == 0"),
    ({"init_scale": -1}, ValueError, "init_scale == -1"),
    ({"acceptance": "always"}, ValueError, "acceptance must be one of 'greedy', 'metropolis'"),
    ({"temperature": 0}, ValueError, "temperature == 0"),
    ({"fuser": "median-ish"}, ValueError, "fuser must be one of .*'product'"),
    ({"select_size": "test"}, ValueError, "select_size must be one of 'train', 'validation'"),
    ({"validation_fraction": 1}, ValueError, "validation_fraction == 1, must be < 1"),
    ({"class_weight": "even"}, ValueError, "class_weight must be 'balanced', a dict or None"),
    ({"class_weight": {0: -1}}, ValueError, "class_weight must be finite and not negative"),
    ({"feature_groups": [[0, 1], [1, 2]]}, ValueError, "must not overlap, but column 1 is in"),
    ({"feature_groups": [[0, 99]]}, ValueError, "feature_groups names the column 99"),
    ({"feature_groups": [["a"]]}, ValueError, "X has no column names"),
    ({"feature_groups": [[]]}, ValueError, "empty group"),
    ({"feature_groups": 5}, TypeError, "feature_groups must hold groups of columns"),
    ({"always_keep": [1.5]}, TypeError, "always_keep must name columns by str or int"),
    ({"always_keep": 1.5}, TypeError, "always_keep must name columns by str or int, got 1.5"),
    ({"init_scale": np.inf}, ValueError, "init_scale must be a finite number"),
    ({"learning_rate": np.inf}, ValueError, "learning_rate must be a finite number"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters_get_one_sentence(wine, parameters, error, message):
    with pytest.raises(error, match=message):
        flock(**parameters).fit(*wine)


def test_bad_data_gets_one_sentence(wine):
    X, y = wine
    broken = X.copy()
    broken[3, 2] = -np.inf
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        with pytest.raises(ValueError, match="infinity in column 2 .row 3."):
            flock().fit(form(broken), y)
    with pytest.raises(ValueError, match="infinity in column 'ash'"):
        flock().fit(pd.DataFrame(broken, columns=load_wine().feature_names)[["ash"]], y)
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        flock().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="sample_weight must not be negative, but entry 0 is -1"):
        flock().fit(X, y, sample_weight=np.r_[-1.0, -7.0, np.ones(len(X) - 2)])
    with pytest.raises(ValueError, match="largest entry of 1e.200"):
        flock().fit(X, y, sample_weight=np.full(len(X), 1e200))
    with pytest.raises(ValueError, match="whose weight is above 0"):
        flock(class_weight={0: 1, 1: 0, 2: 0}).fit(X, y)
    with pytest.raises(ValueError, match="All 13 feature.s. of X are constant"):
        flock(scale_features=False).fit(np.ones_like(X), y)
    with pytest.raises(ValueError, match="sample_weight is all zero"):
        flock().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="sample_weight must hold one weight for each of"):
        flock().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="All 13 feature.s. of X are constant"):
        flock().fit(np.ones_like(X), y)
    model = flock().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :5])
    assert model.oracle_score(X, np.full(len(X), 7)) == 0  # nobody is right, as in score


def test_a_learning_rate_that_diverges_is_reported(wine):
    X, y = wine
    for printed in ({}, {"n_iter_no_change": None}, {"n_iter_no_change": 1}):
        with pytest.raises(
            ValueError, match="learning_rate=1e\\+308 lets the training of member 1"
        ):
            flock(learning_rate=1e308, **printed).fit(X, y)
    with pytest.raises(ValueError, match="the features, or the weights.*use scale_features=True"):
        flock(scale_features=False).fit(X * 1e200, y)
    with pytest.warns(ConvergenceWarning, match="learning_rate=50.0 overshoots"):
        model = flock(learning_rate=50.0, max_iter=4, tol=-np.inf).fit(X[:, :3], y)
    assert np.isfinite(model.member_coef_).all()


def test_groups_without_a_search_are_refused(wine):
    with pytest.raises(ValueError, match="use FlockClassifier, or leave groups out"):
        flock().fit(*wine, groups=np.zeros(len(wine[1])))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coef_is_that_of_the_one_linear_model(n_classes):
    X, y = make_classification(150, 6, n_informative=4, n_classes=n_classes, random_state=0)
    model = flock().fit(X, y)
    assert model.coef_.shape == (1 if n_classes == 2 else 3, 6)
    logits = X @ model.coef_.T + model.intercept_
    assert_allclose(np.squeeze(logits), model.decision_function(X), rtol=1e-9)
    selector = SelectFromModel(model, threshold=-np.inf, max_features=3, prefit=True)
    expected = np.linalg.norm(model.coef_, ord=1, axis=0)
    assert_array_equal(np.flatnonzero(selector.get_support()), np.sort(np.argsort(-expected)[:3]))


@pytest.mark.parametrize("fuser", ["mean", "gate"])
def test_a_flock_that_bends_has_no_coef(wine, fuser):
    model = flock(n_estimators=2, fuser=fuser, max_iter=5).fit(*wine)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")
