"""Long tables: candidates are compared on some of the rows, what is selected is fitted on all."""

import os
import threading

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from covey import FlockClassifier, FlockRegressor
from covey._checkpoint import Journal
from covey._core import blocks as threads
from covey._core.search import folds as sampling
from covey._core.search import rows as rows_module
from covey._core.search import rows as rungs
from covey._core.search import search
from covey._core.search.cross_fit import CrossFit
from covey.members._rows_in_memory import InMemoryRows

N = 1_000


@pytest.fixture(scope="module", autouse=True)
def short():
    """What holds for more than 5,000 rows holds for more than 200 here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rungs, "_FEWEST", 200)
        patch.setattr(rungs, "_MOST", 350)
        patch.setattr(rows_module, "_MOST_IN_A_BLOCK", 300)
        patch.setattr(rows_module, "_ROWS_OF_A_BLOCK", 128)
        patch.setattr(sampling, "_LEAST_OF_CLASS", 10)
        yield


def rings(n=N, seed=0):
    """Two classes that no line tells apart, and four columns of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X, (radius + 0.3 * rng.normal(size=n) > 1.18).astype(int)


def waves(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def flock(**parameters):
    return FlockClassifier(**{"n_estimators": 3, "random_state": 0, **parameters})


def same(one, other):
    assert_array_equal(one.member_coef_, other.member_coef_)
    assert_array_equal(one.fuser_.coef, other.fuser_.coef)
    for name, values in one.cv_results_.items():
        assert_array_equal(values, other.cv_results_[name])


@pytest.fixture(scope="module")
def table():
    return rings()


@pytest.fixture(scope="module")
def fitted(table, short):
    return flock().fit(*table)


# -- what is found ---------------------------------------------------------------------------


@pytest.mark.slow
def test_loses_little_against_the_whole_search(table, fitted, monkeypatch):
    X_test, y_test = rings(4_000, seed=1)
    monkeypatch.setattr(rungs, "_FEWEST", N)
    whole = flock().fit(*table)
    assert "n_rows" in whole.cv_results_
    assert set(whole.cv_results_["n_rows"]) == {N}
    ours, all_rows = (log_loss(y_test, one.predict_proba(X_test)) for one in (fitted, whole))
    assert ours < all_rows + 0.01
    assert all_rows < 0.4


def test_results_say_on_how_many_rows_a_candidate_was_fitted(table, fitted):
    results = fitted.cv_results_
    first, last = np.unique(results["n_rows"])
    assert abs(first - 200) < 60
    assert abs(last - 350) < 60
    assert (np.diff(results["n_rows"]) >= 0).all()
    # Only what was compared on the most rows has a weight, and its penalty is that of more rows.
    assert (results["weight"][results["n_rows"] == first] == 0).all()
    assert results["weight"].sum() == pytest.approx(1)
    paths = {
        (basis, members, gate, alpha)
        for basis, members, gate, alpha, n_rows in zip(
            *(results[name] for name in ("basis", "n_members", "gate", "alpha", "n_rows")),
            strict=True,
        )
        if n_rows == last
    }
    assert 1 <= len(paths) <= 5


def test_what_is_selected_is_fitted_on_all_rows(table, fitted, monkeypatch):
    """Rows in no sample move what is selected, but not which it is."""
    X, y = table
    sampled = sampling.sampled_rows(
        350, np.bincount(y), fitted._seed, 0, y, np.ones(N, dtype=bool)
    )
    others = np.setdiff1d(np.arange(N), sampled.rows)
    assert len(others) > 200
    weight = np.ones(N)
    moved = y.copy()
    # The counts of the classes stay, and so do the samples.
    ones, zeros = (others[y[others] == label] for label in (1, 0))
    n_moved = min(len(ones), len(zeros))
    moved[ones[:n_moved]], moved[zeros[:n_moved]] = 0, 1
    other = flock().fit(X, moved, sample_weight=weight)
    assert_array_equal(other.cv_results_["log_loss"], fitted.cv_results_["log_loss"])
    assert_array_equal(other.support_, fitted.support_)
    assert np.abs(other.predict_proba(X) - fitted.predict_proba(X)).max() > 0.05


def test_a_member_alone_is_softmax_regression_on_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
    logits = X @ rng.normal(size=(4, 3)) * [0.1, 0.2, 0.3]
    y = np.argmax(logits + rng.gumbel(size=(N, 3)), axis=1)
    model = flock(alpha=0.01, effort="fast", max_terms=4, max_members=1).fit(X, y)
    assert model.member_coef_.shape == (1, 3, 4)
    Z = StandardScaler().fit_transform(X)
    line = LogisticRegression(C=1 / (0.01 * N), tol=1e-8).fit(Z, y)
    assert_allclose(model.predict_proba(X), line.predict_proba(Z), atol=3e-3)
    some = LogisticRegression(C=1 / (0.01 * 350), tol=1e-8).fit(Z[:350], y[:350])
    assert np.abs(some.predict_proba(Z) - line.predict_proba(Z)).max() > 0.03


# -- the same bits ---------------------------------------------------------------------------


def test_same_seed_same_bits_with_any_number_of_threads(table, fitted, monkeypatch):
    same(flock().fit(*table), fitted)
    used = []
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    in_order = threads.in_order
    monkeypatch.setattr(
        "covey._core.blocks.in_order",
        lambda *args: used.append(threads._shared.pool) or in_order(*args),
    )
    same(flock().fit(*table), fitted)
    assert any(pool is not None for pool in used)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_limits_of_blas_come_back_and_change_nothing(table, fitted, n_threads):
    with threadpool_limits(n_threads, user_api="blas") as limits:
        before = threads._libraries().info()
        same(flock().fit(*table), fitted)
        assert threads._libraries().info() == before
        del limits


@pytest.mark.slow
def test_fits_at_the_same_time_find_what_they_find_alone(table, fitted):
    before = threads._libraries().info()
    found = joblib.Parallel(n_jobs=3, backend="threading")(
        joblib.delayed(lambda: flock().fit(*table))() for _ in range(3)
    )
    for one in found:
        same(one, fitted)
    assert threads._libraries().info() == before


def test_an_interrupt_puts_the_threads_back(table, monkeypatch):
    before = threads._libraries().info()

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(CrossFit, "continued", interrupted)
    with pytest.raises(KeyboardInterrupt):
        flock(n_estimators=1).fit(*table)
    assert threads._libraries().info() == before
    assert threads._shared.n_users == 0
    assert threading.active_count() < 20


def test_a_resumed_fit_ends_with_the_same_bits(table, tmp_path, monkeypatch):
    how = {"alpha": 0.01, "n_estimators": 2}
    table = table[0][:500, :3], table[1][:500]
    whole, path = flock(**how).fit(*table), tmp_path / "fit.checkpoint"
    assert whole.cv_results_["n_rows"].max() < 450
    same(flock(**how, checkpoint=path).fit(*table), whole)
    n_steps, count = int(np.load(path)["n_steps"]), Journal.count
    for share in (0.3, 0.97):
        path.unlink()

        def dying(self, snapshot, last=share * n_steps):
            count(self, snapshot)
            if self.n_steps >= last:
                raise InterruptedError

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "count", dying)
            with pytest.raises(InterruptedError):
                flock(**how, checkpoint=path).fit(*table)
        same(flock(**how, checkpoint=path).fit(*table), whole)


@pytest.mark.parametrize(
    "kind",
    [
        "float32",
        "fortran",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("read-only", "mapped")),
    ],
)
def test_how_x_lies_in_memory_does_not_matter(table, tmp_path, kind):
    X, y = table
    X = X.astype(np.float32).astype(np.float64)
    expected = flock(alpha=0.01).fit(X, y)
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "fortran":
        X = np.asfortranarray(X)
    elif kind == "read-only":
        X.flags.writeable = False
    else:
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    same(flock(alpha=0.01).fit(X, y), expected)


# -- parameters ------------------------------------------------------------------------------


def test_fast_compares_nothing(table):
    model = flock(effort="fast").fit(*table)
    assert len(model.cv_results_["weight"]) == 1
    assert np.isnan(model.cv_results_["log_loss"]).all()
    assert_array_equal(model.cv_results_["n_features"], [6])
    limited = flock(effort="fast", max_features=2).fit(*table)
    assert limited.support_.sum(axis=1).max() <= 2


@pytest.mark.parametrize(
    "limits",
    [{"max_features": 2}, {"max_members": 2}, {"max_terms": 9}, {"max_terms": 1}],
    ids=str,
)
def test_limits_are_kept_exactly(table, limits):
    model = flock(**limits).fit(*table)
    assert model.support_.sum(axis=1).max() <= limits.get("max_features", 6)
    assert model.gate_support_.sum(axis=1).max() <= limits.get("max_features", 6)
    assert model.n_estimators_ <= limits.get("max_members", np.inf)
    assert model.n_terms_ <= limits.get("max_terms", np.inf)


def test_alpha_is_the_only_penalty_if_given(table):
    assert set(flock(alpha=0.05).fit(*table).cv_results_["alpha"]) == {0.05}


def test_groups_of_features_leave_together_and_what_is_kept_stays(table):
    model = flock(feature_groups=[[0, 2], [1, 3]], always_keep=[5]).fit(*table)
    assert_array_equal(model.support_[:, 0], model.support_[:, 2])
    assert_array_equal(model.support_[:, 1], model.support_[:, 3])
    assert model.support_[:, 5].all()


def test_rows_without_a_weight_do_not_exist(table, monkeypatch):
    # Rounding, which other processors do otherwise, has no time to grow.
    monkeypatch.setattr(search, "_MAX_ITER", 10)
    X, y = table
    weight = np.ones(N)
    weight[::7] = 0.0
    found = []
    for garbage in (0.0, 1e30, 1e300):
        other, labels = X.copy(), y.copy()
        other[::7], labels[::7] = garbage, garbage > 0
        model = flock(alpha=0.01, n_estimators=2).fit(other, labels, sample_weight=weight)
        found.append(model)
    for one in found[1:]:
        assert_array_equal(one.cv_results_["log_loss"], found[0].cv_results_["log_loss"])
        # Rows of a class lie next to each other, and their sums are made in another order.
        assert_allclose(one.predict_proba(X), found[0].predict_proba(X), atol=1e-3)


def test_a_table_of_few_rows_with_a_weight_is_not_long(table):
    weight = np.zeros(N)
    weight[:200] = 1.0
    assert set(flock(alpha=0.01).fit(*table, sample_weight=weight).cv_results_["n_rows"]) == {200}


def test_weights_count(table):
    X, _ = table
    weight = np.where(X[:, 5] > 0, 1.0, 1e-3)
    labels = np.where(X[:, 5] > 0, X[:, 4] > 0, X[:, 4] < 0).astype(int)
    right = flock(alpha=0.01).fit(X, labels, sample_weight=weight).predict(X) == labels
    assert right[X[:, 5] > 0].mean() > 0.9


def test_classes_of_five_rows_and_of_one_are_learned(table):
    X, y = table
    X, y = X.copy(), y.copy()
    y[:5], y[5] = 2, 3
    X[:5, 2], X[5, 3] = 9.0, 30.0
    with pytest.warns(UserWarning, match="Class 3 has one row"):
        model = flock().fit(X, y)
    assert_array_equal(model.predict(X[:5]), [2] * 5)
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert (model.predict_proba(X)[:, 3] > 0).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_a_table_whose_classes_have_one_row_each_is_refused(table):
    with pytest.raises(ValueError, match="No class has two rows"):
        flock().fit(table[0], np.arange(N))


def test_a_column_that_is_constant_in_the_sample_does_no_harm(table, fitted):
    X, y = table
    alone = np.zeros(N)
    alone[17] = 1.0
    model = flock().fit(np.column_stack([X, alone, np.full(N, 3.0)]), y)
    assert not model.support_[:, 7].any()
    X_test, y_test = rings(2_000, seed=1)
    for value in (0.0, 1.0):
        shown = np.column_stack([X_test, np.full(2_000, value), np.full(2_000, 3.0)])
        assert log_loss(y_test, model.predict_proba(shown)) < 0.45


def test_a_column_far_from_zero_is_known_as_well(table, fitted):
    X, y = table
    X_test, y_test = rings(2_000, seed=1)
    offset = np.array([1e12, 0, 0, 0, 0, 0])
    far = log_loss(y_test, flock().fit(X + offset, y).predict_proba(X_test + offset))
    assert far == pytest.approx(log_loss(y_test, fitted.predict_proba(X_test)), abs=0.01)


def test_infinity_is_refused_and_a_gap_is_not(table):
    X = table[0].copy()
    X[700, 2] = np.inf
    with pytest.raises(ValueError, match="column 2"):
        flock().fit(X, table[1])
    X[700, 2] = np.nan
    assert flock().fit(X, table[1]).score(X, table[1]) > 0.7


# -- folds -----------------------------------------------------------------------------------


def rung_folds(monkeypatch):
    """What the rungs of the next fits are made of: rows of X, and folds."""
    seen = []
    rung = InMemoryRows.rung

    def noted(self, *args):
        made = rung(self, *args)
        seen.append((np.concatenate([block._given for block in made.rows.blocks]), made.folds))
        return made

    monkeypatch.setattr(InMemoryRows, "rung", noted)
    return seen


@pytest.mark.parametrize("cv", [KFold(3), TimeSeriesSplit(3)], ids=str)
def test_folds_of_a_splitter_are_kept_within_the_sample(table, cv, monkeypatch):
    X, y = table
    seen = rung_folds(monkeypatch)
    flock(cv=cv, alpha=0.01).fit(X, y)
    number = {row.tobytes(): place for place, row in enumerate(X)}
    for rows, folds in seen:
        at = np.array([number[row.tobytes()] for row in rows])
        assert len(folds) == 3
        for (train, test), fold in zip(folds, cv.split(X), strict=True):
            assert set(at[train]) <= set(fold[0])
            assert set(at[test]) <= set(fold[1])
            assert len(test) > 20


def test_no_group_is_on_both_sides(table, monkeypatch):
    X, y = table
    groups = np.arange(N) // 5
    seen = rung_folds(monkeypatch)
    number = {row.tobytes(): place for place, row in enumerate(X)}
    for cv in (3, GroupKFold(4)):
        flock(cv=cv, alpha=0.01).fit(X, y, groups=groups)
    assert [len(folds) for _, folds in seen] == [3, 3, 4, 4]
    for rows, folds in seen:
        at = np.array([number[row.tobytes()] for row in rows])
        for train, test in folds:
            assert not set(groups[at[train]]) & set(groups[at[test]])


def test_groups_show_that_members_of_a_group_are_alike():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 10)
    X = rng.normal(size=(100, 6))[groups] + 0.01 * rng.normal(size=(N, 6))
    y = (rng.random(100) < 0.5).astype(int)[groups]
    by_row = flock().fit(X, y).cv_results_["log_loss"].min()
    by_group = flock(cv=4).fit(X, y, groups=groups).cv_results_["log_loss"].min()
    assert by_row < by_group - 0.05
    assert by_group > 0.6


@pytest.mark.parametrize(
    "folds",
    [
        [(np.arange(2, N), [0, 1])],
        [(np.delete(np.arange(N), row), [row]) for row in (3, 7, 900)],
        [(np.arange(16), np.arange(20, 400))],
        [(np.arange(500), np.arange(500, N))],
    ],
    ids=["two held out", "one of each", "few to fit on", "halves"],
)
def test_rows_that_folds_name_are_not_lost_in_the_sample(table, folds, monkeypatch):
    X, y = table
    seen = rung_folds(monkeypatch)
    model = flock(cv=folds, alpha=0.01).fit(X, y)
    number = {row.tobytes(): place for place, row in enumerate(X)}
    for rows, found in seen:
        at = np.array([number[row.tobytes()] for row in rows])
        assert len(found) == len(folds)
        for (train, test), fold in zip(found, folds, strict=True):
            assert set(at[train]) <= set(fold[0])
            assert set(at[test]) <= set(fold[1])
            assert len(train) >= min(len(fold[0]), 100)
            assert len(test) >= min(len(fold[1]), 100)
    assert np.isfinite(model.cv_results_["log_loss"]).all()


def test_what_a_fold_holds_out_teaches_it_nothing(table):
    """Not by where a candidate ended on fewer rows, either."""
    X, y = table
    fold = np.arange(N) % 4
    folds = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(4)]
    starts = []
    init = CrossFit.__init__

    def noted(self, stage, columns, plan, known, *how):
        starts.append((len(stage.rung.folds), len(known)))
        init(self, stage, columns, plan, known, *how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CrossFit, "__init__", noted)
        flock(cv=folds, alpha=0.01).fit(X, y)
        flock(alpha=0.01).fit(X, y)
    # With folds both rungs begin anew; rows that are held out once stay so on the next rung.
    assert [n_parts for n_parts, _ in starts] == [4, 4, 0, 1, 1, 0]
    assert [bool(known) for _, known in starts] == [False, False, True, False, True, True]


# -- other tables ----------------------------------------------------------------------------


def test_sparse_rows_are_searched_too(table):
    X, _ = table
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    labels = (thin[:, 0] + thin[:, 1] > 0).astype(int)
    for matrix in (sparse.csr_array(thin), sparse.csc_array(thin)):
        model = flock().fit(matrix, labels)
        assert len(set(model.cv_results_["n_rows"])) == 2
        assert model.score(matrix, labels) > 0.95


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_numbers_are_searched_too(loss):
    X, y = waves()
    X_test, y_test = waves(2_000, seed=1)
    if loss != "squared":
        y[5] = 1e9
    model = FlockRegressor(n_estimators=3, loss=loss, random_state=0).fit(X, y)
    assert len(set(model.cv_results_["n_rows"])) == 2
    assert np.median(np.abs(model.predict(X_test) - y_test)) < 0.2


@pytest.mark.torch
def test_tensors_are_searched_too(table):
    torch = pytest.importorskip("torch")
    X, y = table
    model = flock(device="cpu", alpha=0.01).fit(torch.tensor(X), torch.tensor(y))
    X_test, y_test = rings(2_000, seed=1)
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.4


@pytest.mark.slow
def test_a_forked_process_fits_after_its_parent(table, fitted):
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    (found,) = joblib.Parallel(n_jobs=2, backend="multiprocessing")([joblib.delayed(_fit)(*table)])
    same(found, fitted)


def _fit(X, y):
    return flock().fit(X, y)
