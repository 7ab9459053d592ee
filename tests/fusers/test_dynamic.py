"""Dynamic selection against DESlib 0.3.7, row by row."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey import Predictions
from covey._core.fusion.competence import double_faults
from covey.fusers._dynamic import _evidence
from covey.fusers._fixed import make_fuser

from .deslib.problems import LOADERS, problem

LABELS = np.load(Path(__file__).parent / "deslib" / "labels.npz")
EXACT = ("ola", "lca", "knora_e", "knora_u", "knop", "des_p")


def predictions(pool, X):
    return Predictions(np.stack([member.predict_proba(X) for member in pool], axis=1))


@pytest.fixture(scope="module", params=LOADERS)
def case(request):
    pool, (X, y), (X_test, y_test) = problem(request.param)
    return request.param, predictions(pool, X), y, X, predictions(pool, X_test), X_test, y_test


def region_is_tied(fuser, P, X):
    """Whether another sample is as far away as the last neighbour: who is in the region?"""
    if not fuser.needs_X:
        index, rows = fuser._profile_index, fuser._profiles(P)
    else:
        index, rows = fuser._neighbors.index, fuser._scaled(X)
    distances, _ = index.kneighbors(rows, n_neighbors=fuser._option("n_neighbors") + 1)
    gaps = np.diff(distances, axis=1)
    return (gaps < 1e-9 * (1 + distances[:, 1:])).any(axis=1)


def nobody_is_competent(fuser, P, X):
    """DESlib divides nought by nought here and answers with the first class."""
    return ~fuser._rated(P, X).any(axis=1)


@pytest.mark.parametrize("method", EXACT)
def test_method_agrees_with_deslib_row_by_row(case, method):
    name, known, y, X, P, X_test, _ = case
    fuser = make_fuser(method).fit(known, y, X)
    fused = fuser.fuse(P, X_test)
    theirs = LABELS[f"{name}-{method}"]
    differs = fused.argmax(axis=1) != theirs
    excused = region_is_tied(fuser, P, X_test)
    if method in ("knora_u", "knop"):
        excused |= nobody_is_competent(fuser, P, X_test)
    print(f"{name} {method}: {differs.sum()} of {len(theirs)} rows differ")
    assert not (differs & ~excused).any()
    assert differs.mean() < 0.01


def literal_des_knn(right, labels, n_classes, ranking):
    """DES-KNN for one sample: ``right`` (k, K) of its neighbours, ``labels`` (K,)."""
    n_members = right.shape[1]
    accuracy = right.mean(axis=0)
    diversity = np.zeros(n_members)
    for one in range(n_members):
        for other in range(n_members):
            if one != other:
                diversity[one] -= (~right[:, one] & ~right[:, other]).sum()
    accurate = ranking(accuracy)[: int(n_members * 0.5)]
    diverse = accurate[ranking(diversity[accurate])[: int(np.ceil(n_members * 0.3))]]
    return np.bincount(labels[diverse], minlength=n_classes)


def first_of_equals(values):
    return np.argsort(-values, kind="stable")


def deslibs_order(values):
    return np.argsort(values)[::-1]


@pytest.mark.slow
def test_des_knn_is_deslibs_up_to_the_order_of_equals(case):
    name, known, y, X, P, X_test, _ = case
    fuser = make_fuser("des_knn").fit(known, y, X)
    fused = fuser.fuse(P, X_test)
    _, region = fuser._region(P, X_test)
    theirs = LABELS[f"{name}-des_knn"]
    agree = np.empty(P.n_samples, dtype=bool)
    for row in range(P.n_samples):
        right = fuser.right_[region[row]]
        # Ours is the literal method that takes the first of equals ...
        votes = literal_des_knn(right, P.labels[row], P.n_classes, first_of_equals)
        assert_allclose(fused[row], votes / votes.sum())
        # ... and DESlib's is the same method that takes them in its own order.
        votes = literal_des_knn(right, P.labels[row], P.n_classes, deslibs_order)
        agree[row] = votes.argmax() == theirs[row]
    agree |= region_is_tied(fuser, P, X_test)
    ours = (fused.argmax(axis=1) == theirs).mean()
    print(f"{name} des_knn: {agree.mean():.3f} of rows as DESlib in its order, {ours:.3f} in ours")
    assert agree.mean() >= 0.99


def test_double_faults_by_hand():
    right = np.array([[True, False, False], [False, False, True], [False, False, False]])
    region = np.array([[0, 1, 2]])
    # Pairs that fail together: (1,2) on row 0; (0,1) on row 1; all three on row 2.
    assert_allclose(double_faults(right, region), [[3 / 3, 4 / 3, 3 / 3]])


def test_a_member_is_judged_by_what_it_spoke_of():
    X = np.zeros((7, 1))
    y = np.zeros(7, dtype=int)
    P = np.empty((7, 2, 2))
    P[:, 0] = np.nan
    P[:2, 0] = [0.9, 0.1]  # spoke twice, was right twice
    P[:, 1] = np.where(np.arange(7)[:, None] < 3, [0.9, 0.1], [0.1, 0.9])  # right on 3 of 7
    now = np.array([[[0.8, 0.2], [0.6, 0.4]]])
    for method in ("ola", "lca", "des_knn"):
        fuser = make_fuser(method).fit(P, y, X)
        assert_allclose(fuser.importance(now, X[:1]), [[1.0, 0.0]])


def test_distances_are_those_of_scaled_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] > 0).astype(int)
    P = np.stack([np.eye(2)[y], np.eye(2)[(X[:, 1] > 0).astype(int)]], axis=1)
    one = make_fuser("knora_u").fit(P, y, X)
    other = make_fuser("knora_u").fit(P, y, X * [1, 1e6] + [0, 5])
    new = rng.standard_normal((30, 2))
    opinions = rng.dirichlet([1, 1], (30, 2))
    assert_array_equal(
        one.importance(opinions, new), other.importance(opinions, new * [1, 1e6] + [0, 5])
    )


def test_soft_voting_averages_and_hard_voting_counts(case):
    _, known, y, X, P, X_test, _ = case
    hard = make_fuser("knora_u").fit(known, y, X)
    soft = make_fuser("knora_u", voting="soft").fit(known, y, X)
    weight = hard.importance(P, X_test)
    assert_allclose(soft.fuse(P, X_test), np.einsum("nk,nkc->nc", weight, P.values), atol=1e-12)
    votes = np.einsum("nk,nkc->nc", weight, np.eye(P.n_classes)[P.labels])
    assert_allclose(hard.fuse(P, X_test), votes, atol=1e-12)


@pytest.mark.parametrize("method", ["ola", "knora_e", "knop", "meta_des"])
def test_blocks_of_rows_change_nothing(case, method):
    _, known, y, X, P, X_test, _ = case
    fuser = make_fuser(method).fit(known, y, X)
    whole = fuser.fuse(P, X_test), fuser.importance(P, X_test)
    fuser._block_size = 7 * P.row_size
    assert_allclose(fuser.fuse(P, X_test), whole[0], atol=1e-12)
    assert_allclose(fuser.importance(P, X_test), whole[1], atol=1e-12)
    if fuser.needs_X:
        with pytest.raises(ValueError, match="X has 5 rows, but the predictions are of"):
            fuser.fuse(P, X_test[:5])


def test_meta_des_is_as_accurate_as_deslibs(case):
    name, known, y, X, P, X_test, y_test = case
    fused = make_fuser("meta_des").fit(known, y, X).fuse(P, X_test)
    ours = (fused.argmax(axis=1) == y_test).mean()
    theirs = (LABELS[f"{name}-meta_des"] == y_test).mean()
    print(f"{name} meta_des: {ours:.4f}, DESlib {theirs:.4f}")
    assert abs(ours - theirs) <= 0.01


@pytest.mark.parametrize("method", ["ola", "lca", "single_best"])
def test_no_fuser_that_picks_a_member_beats_the_oracle(case, method):
    _, known, y, X, P, X_test, y_test = case
    fuser = make_fuser(method).fit(known, y, X)
    picked = fuser.fuse(P, X_test).argmax(axis=1) == y_test
    oracle = make_fuser("oracle").fuse(P, y=y_test).argmax(axis=1) == y_test
    assert not (picked & ~oracle).any()
    assert oracle.mean() >= picked.mean()


def test_meta_des_counts_silence_as_neither_right_nor_wrong():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    said = np.stack([np.eye(2)[y], np.eye(2)[rng.integers(0, 2, 60)]], axis=1)
    available = np.ones((60, 2), dtype=bool)
    available[::2, 0] = False
    P = Predictions(said, available=available)
    fuser = make_fuser("meta_des").fit(P, y, X)
    near = np.array([[0, 2, 4, 1, 3, 5, 7]])  # three rows on which the first member is silent
    evidence = _evidence(fuser, P.rows([1]), near, near[:, :5])
    assert_allclose(evidence[0, :7], [0.5, 0.5, 0.5, 1, 1, 1, 1])
    assert_allclose(evidence[0, 14], 5.5 / 7)
