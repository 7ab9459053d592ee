"""Numbers that are too many, too large or too few: a right answer or one clear sentence."""

import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey._checkpoint import JournalError
from covey.rivals import DecorateClassifier, DiverseMaxEntClassifier
from covey.stacking import GeneralStackingRegressor


@pytest.fixture(scope="module")
def wide():
    X = np.random.default_rng(0).normal(size=(60, 1024))
    return X, X[:, 0] > 0


@pytest.mark.parametrize(
    "rule",
    [
        *("knora_e", "knora_u", "ola", "lca", "des_p", "des_knn", "meta_des", "knop", "a_priori"),
        *("rrc", "des_clustering"),
    ],
)
def test_dynamic_selection_takes_more_columns_than_a_power_of_two_can_count(wide, rule):
    X, y = wide
    members = [GaussianNB(), DecisionTreeClassifier(random_state=0)]
    fused = covey.FusionClassifier(members, rule).fit(X, y)
    assert np.isfinite(fused.predict_proba(X)).all()


def test_meta_des_takes_many_classes_and_members():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 3)), np.arange(1500) % 400
    members = [GaussianNB(), GaussianNB(var_smoothing=1e-3), GaussianNB(var_smoothing=1e-1)]
    fused = covey.FusionClassifier(members, "meta_des", cv=2).fit(X, y)
    assert np.isfinite(fused.predict_proba(X[:5])).all()


@pytest.mark.parametrize(
    "members",
    [[Ridge(), DummyRegressor(), DecisionTreeRegressor(max_depth=2)], [DummyRegressor()]],
)
def test_a_target_beyond_all_squares_is_refused(members):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0].copy()
    y[0] = 1e200
    for ensemble in (GeneralStackingRegressor(members, cv=2), covey.FusionRegressor(members)):
        with pytest.raises(ValueError, match=r"y holds a number of size 1e\+200"):
            ensemble.fit(X, y)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("power", [1020, 500, -500, -1020])
def test_dynamic_selection_finds_the_same_neighbors_whatever_the_unit(make, power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    P = rng.dirichlet([1, 1], (80, 3))
    found = []
    for unit in (1.0, 2.0**power):
        rows = make(X * [1.0, unit, 1.0])
        fuser = covey.fusers.DynamicSelection("knora_e").fit(P[:60], y[:60], rows[:60])
        found.append(fuser.fuse(P[60:], rows[60:]))
        # Rows far beyond all that are known have neighbors, too.
        assert np.isfinite(fuser.fuse(P[60:], make(np.full((20, 3), -1e308)))).all()
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize("features", ["linear", "quadratic"])
@pytest.mark.parametrize("size", [1e155, 1e160, 1e308])
def test_rows_far_out_have_probabilities(features, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0).astype(int)
    gate = covey.Gate(features=features)
    flock = covey.SubsetEnsembleClassifier(3, fuser=gate, random_state=0).fit(X, y)
    rows = size * np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    found = flock.predict_proba(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("fuser", ["product", "gate"])
def test_ordinary_rows_are_far_out_where_columns_vary_by_next_to_nothing(fuser):
    X = np.random.default_rng(0).normal(size=(40, 4)) * 1e-300
    flock = covey.SubsetEnsembleClassifier(2, fuser=fuser, random_state=0).fit(X, X[:, 0] > 0)
    rows = np.array([[1.0, 1.0, 1.0, 1.0], [1e300, -1e300, 1e300, -1e300], [1e150, -1, 0, 1]])
    found = flock.predict_proba(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_selector_names_the_classes_that_count():
    X = np.random.default_rng(0).normal(size=(40, 3))
    weight = np.zeros(40)
    weight[0] = 1
    with pytest.raises(ValueError, match="whose weight is above 0, got 1 class"):
        covey.SubsetSelector(n_resamples=2).fit(X, X[:, 0] > 0, sample_weight=weight)


def _without(arrays, name):
    return {key: x for key, x in arrays.items() if key != name}


def _flipped(arrays, name):
    x = arrays[name].copy()
    x.view(np.uint8).flat[0] ^= 1
    return {**arrays, name: x}


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {**a, "format": np.arange(3)},
        lambda a: {**a, "format": np.array(1)},
        lambda a: {**a, "n_results": np.array(0)},
        lambda a: {**a, "n_results": np.array(10**9)},
        lambda a: _without(a, "key"),
        lambda a: _without(a, "seed"),
        lambda a: _without(a, "digest"),
        lambda a: _without(a, next(name for name in a if name.startswith("result/"))),
        lambda a: _flipped(a, next(name for name in a if name.startswith("result/"))),
        lambda a: {**a, "result/0/more": np.zeros(3)},
        lambda a: {"format": a["format"]},
        lambda a: {},
    ],
)
def test_a_damaged_checkpoint_is_always_a_journal_error(tmp_path, change):
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = tmp_path / "fit.npz"
    flock = covey.SubsetEnsembleClassifier(2, random_state=0, checkpoint=path)
    flock.fit(X, X[:, 0] > 0)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **change(arrays))
    with pytest.raises(JournalError):
        covey.SubsetEnsembleClassifier(2, random_state=0, checkpoint=path).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize(
    ("place", "byte"),
    [
        (6, 254),  # a version of zip that nobody has
        (8, 1),  # encrypted
        (10, 99),  # packed in an unknown way
        (0, 0),
    ],
)
def test_a_checkpoint_that_is_no_archive_is_a_journal_error(tmp_path, place, byte):
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = tmp_path / "fit.npz"
    flock = covey.SubsetEnsembleClassifier(2, max_iter=5, random_state=0, checkpoint=path)
    flock.fit(X, X[:, 0] > 0)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + place] = byte
    path.write_bytes(content)
    with pytest.raises(JournalError, match="is not a checkpoint; delete it"):
        flock.fit(X, X[:, 0] > 0)


def test_one_object_is_fitted_by_one_thread_at_a_time():
    X, y = load_wine(return_X_y=True)
    flock = covey.SubsetEnsembleClassifier(3, fuser="product", random_state=0)
    right = flock.fit(X, y).predict_proba(X)
    refused = []

    def fit():
        try:
            flock.fit(X, y)
        except RuntimeError as error:
            refused.append(str(error))

    for _ in range(3):
        threads = [threading.Thread(target=fit) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert flock.n_estimators_ == 3
        np.testing.assert_array_equal(flock.predict_proba(X), right)
    assert all("being fitted by another thread" in text for text in refused)


@pytest.mark.parametrize(
    "call",
    [
        lambda: covey.Predictions(np.zeros((5, 1, 0))),
        lambda: covey.fuse(np.zeros((0, 7, 0)), "borda"),
        lambda: covey.fuse(np.zeros((0, 2), int), "borda"),
        lambda: covey.fuse(np.zeros((0, 2), int), "majority"),
    ],
)
def test_no_class_is_refused(call):
    with pytest.raises(ValueError, match="no class"):
        call()


def test_features_beyond_floating_point_are_named_as_the_cause():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 3)) < 0.5, -1, 1) * np.finfo(float).max
    with pytest.raises(ValueError, match="rescale") as raised:
        covey.SubsetEnsembleRegressor(2, loss="huber", random_state=0).fit(X, rng.normal(size=30))
    assert "scale_features" not in str(raised.value)
    assert "learning_rate" not in str(raised.value)


MEMBERS = [GaussianNB(), DecisionTreeClassifier(random_state=0)]
CLASSIFIERS = [
    covey.FlockClassifier(effort="fast", n_estimators=2, random_state=0),
    covey.SubsetEnsembleClassifier(2, random_state=0),
    covey.SubsetEnsembleClassifier(2, fuser="gate", random_state=0),
    *(covey.FusionClassifier(MEMBERS, rule, cv=2) for rule in ("product", "ola", "stacking")),
    covey.GeneralStackingClassifier(MEMBERS, cv=2),
    covey.MultiviewClassifier(2, GaussianNB(), max_iter=1, cv=2, random_state=0),
    covey.CodeBookClassifier(GaussianNB(), random_state=0),
    DecorateClassifier(GaussianNB(), 2, max_iter=2, random_state=0),
    DiverseMaxEntClassifier(2, max_iter=10, random_state=0),
    covey.FlockClassifier(effort="fast", n_estimators=2, random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_results_are_the_same_whatever_numpy_is_told_to_do_about_errors(model):
    X, y = load_wine(return_X_y=True)
    # Squares of the first column underflow, probabilities of the others do.
    X = X[::3] * np.array([1e-200, 1e3] + [1.0] * 11)
    y = y[::3]
    expected = clone(model).fit(X, y).predict_proba(X)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_numbers_are_the_same_whatever_numpy_is_told_to_do_about_errors(loss):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1e-200, 1.0, 1e3]
    y = X[:, 1]
    model = covey.FlockRegressor(effort="fast", loss=loss, n_estimators=2, random_state=0)
    expected = clone(model).fit(X, y).predict(X)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)


class Waits(GaussianNB):
    """Is fitted when another thread has tried, too."""

    def fit(self, X, y, sample_weight=None):
        began.set()
        assert tried.wait(30)
        return super().fit(X, y)


began, tried = threading.Event(), threading.Event()


@pytest.mark.parametrize(
    "model",
    [
        covey.FusionClassifier([Waits()]),
        covey.GeneralStackingClassifier([Waits()], cv=2),
        covey.CodeBookClassifier(Waits()),
        covey.MultiviewClassifier(2, Waits(), max_iter=1),
        DecorateClassifier(Waits(), 2, max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_second_thread_is_refused_while_the_first_one_fits(model):
    X, y = load_wine(return_X_y=True)
    began.clear()
    tried.clear()
    first = threading.Thread(target=model.fit, args=(X, y))
    first.start()
    assert began.wait(30)
    try:
        with pytest.raises(RuntimeError, match="being fitted by another thread"):
            model.fit(X, y)
    finally:
        tried.set()
        first.join()
    assert len(model.predict(X)) == len(y)


@pytest.mark.parametrize("odd", [None, 3, np.nan])
@pytest.mark.parametrize(
    "model",
    [
        covey.FlockClassifier(effort="fast"),
        covey.FusionClassifier([GaussianNB()]),
        DiverseMaxEntClassifier(2),
        covey.SubsetSelector(n_resamples=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_of_several_types_are_refused_in_a_sentence(model, odd):
    X = np.random.default_rng(0).normal(size=(8, 2))
    y = np.array(["a", "b", "a", odd] * 2, dtype=object)
    with pytest.raises(ValueError, match="labels of several types|contains NaN|Input y"):
        model.fit(X, y)


def test_a_model_on_top_that_predicts_nothing_is_named():
    X = np.zeros((12, 2))
    y = np.arange(12) % 3
    stack = covey.GeneralStackingClassifier(
        [KNeighborsClassifier(3)], GaussianNB(var_smoothing=0.0), outputs="one_hot", cv=2
    )
    with pytest.raises(ValueError, match="final_estimator predicts NaN or infinity for row"):
        stack.fit(X, y).predict_proba(X)


def test_what_holds_nothing_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="labels must have two dimensions, one row a sample"):
        covey.consensus(None)
    with pytest.raises(ValueError, match="errors must hold one number a member, got {}"):
        covey.inspection.oracle_bounds({})


@pytest.mark.parametrize("weights", [["x", 1.0], [[1.0], 2.0], {}])
def test_weights_that_are_no_numbers_are_refused_in_a_sentence(weights):
    with pytest.raises(ValueError, match="weights must hold one number for each of the 2 members"):
        covey.fuse(np.full((3, 2, 2), 0.5), "mean", weights)


def test_where_no_member_predicts_all_classes_are_equal():
    X = np.random.default_rng(0).normal(size=(40, 3)) * 1e-300
    # The variances are zero, so that members predict nothing but NaN.
    bagging = BaggingClassifier(GaussianNB(), 3, random_state=0)
    members = covey.members_of(bagging.fit(X, X[:, 0] > 0))
    fused = covey.FusionClassifier(members, prefit=True).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(fused.predict_proba(X), np.full((40, 2), 0.5))


@pytest.mark.parametrize(
    "model",
    [
        covey.FusionRegressor([Ridge()]),
        GeneralStackingRegressor([Ridge()], cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_fails_inside_a_member_is_said_of_the_column(model):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
    y = X["a"].to_numpy()
    X["b"] *= 1e300
    with pytest.raises(ValueError, match="column 'b' holds numbers up to") as raised:
        clone(model).fit(X, y)
    assert "divide it by a constant" in str(raised.value)
    assert "infs" not in str(raised.value)


def test_numbers_that_no_member_predicts_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0].copy()
    X[:2, 1] = [1e308, -1e308]
    # The coefficients of sparse rows that far out are NaN.
    fused = covey.FusionRegressor([Ridge()]).fit(sparse.csc_matrix(X), y)
    with pytest.raises(ValueError, match="for row 0 of the 40 is NaN or infinite; rescale"):
        fused.predict(sparse.csc_matrix(X))


def test_a_target_that_predictions_cannot_reach_is_refused():
    X = np.random.default_rng(0).normal(size=(12, 3))
    y = X[:, 0].copy()
    y[0] = 1e308
    with pytest.raises(ValueError, match="y holds numbers too far apart"):
        covey.SubsetEnsembleRegressor(2, random_state=0).fit(X, y)
