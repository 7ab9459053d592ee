"""Parting columns into views, and views that teach each other, against literal versions."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.fusion.views import (
    class_quotas,
    co_em,
    co_train,
    most_confident,
)


def problem(seed, n_views=3, n=40, n_classes=3, n_labelled=9, absent=0.2):
    """Rows, labels, presence and a learner: nearest class mean, softly."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % n_classes)
    views = [
        rng.normal(size=(n, 2)) + 1.5 * np.stack([truth == v % n_classes, truth], 1)
        for v in range(n_views)
    ]
    codes = np.full(n, -1)
    for code in range(n_classes):
        rows = np.flatnonzero(truth == code)[: n_labelled // n_classes]
        codes[rows] = code
    present = rng.random((n, n_views)) > absent
    present[codes >= 0] = True
    calls = []

    def teach(view, rows, labels, weight):
        calls.append((view, rows.copy(), labels.copy(), weight.copy()))
        distance = np.full((n, n_classes), np.inf)
        for code in np.unique(labels):
            of = labels == code
            centre = np.average(views[view][rows[of]], axis=0, weights=weight[of])
            distance[:, code] = ((views[view] - centre) ** 2).sum(axis=1)
        strength = np.exp(-(distance - distance.min(axis=1, keepdims=True)))
        return strength / strength.sum(axis=1, keepdims=True)

    return codes, present, teach, calls


def literal_co_training(teach, codes, present, weight, quota, order, pool_size, max_iter, agree):
    n, n_views = present.shape
    label = [[int(codes[i]) if present[i, v] else -1 for i in range(n)] for v in range(n_views)]

    def fit(view):
        rows = np.array([i for i in range(n) if label[view][i] >= 0])
        return teach(view, rows, np.array(label[view])[rows], weight[rows])

    for rounds in range(1, max_iter + 1):
        said = [fit(v) for v in range(n_views)]
        pool = []
        for i in order:
            here = [v for v in range(n_views) if present[i, v]]
            if not any(
                label[teacher][i] < 0 and label[pupil][i] < 0
                for teacher in here
                for pupil in here
                if pupil != teacher
            ):
                continue
            if agree and len({int(said[v][i].argmax()) for v in here}) > 1:
                continue
            if pool_size is None or len(pool) < pool_size:
                pool.append(int(i))
        offers = {}
        for v in range(n_views):
            open_rows = [
                i
                for i in sorted(pool)
                if present[i, v]
                and label[v][i] < 0
                and any(present[i, t] and label[t][i] < 0 for t in range(n_views) if t != v)
            ]
            for code in range(len(quota)):
                mine = [i for i in open_rows if said[v][i].argmax() == code]
                mine.sort(key=lambda i: -round(said[v][i].max(), 12))
                for i in mine[: quota[code]]:
                    for t in range(n_views):
                        if t != v and present[i, t] and label[t][i] < 0:
                            offers.setdefault((t, i), []).append(
                                (round(said[v][i].max(), 12), -v, code)
                            )
        if not offers:
            return np.array(label), rounds
        for (t, i), said_of_it in offers.items():
            label[t][i] = max(said_of_it)[2]
    for v in range(n_views):
        fit(v)
    return np.array(label), max_iter


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("agree", [False, True])
@pytest.mark.parametrize("pool_size", [None, 7])
def test_co_training_equals_the_literal_loop(seed, agree, pool_size):
    codes, present, teach, calls = problem(seed, n_views=2 + seed % 3)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(codes))
    order = np.random.default_rng(seed).permutation(np.flatnonzero(codes < 0))
    how = (codes, present, weight, np.array([1, 2, 1]), order, pool_size, 4, agree)
    given, n_iter = co_train(teach, *how)
    last = {view: lesson for view, *lesson in calls}
    calls.clear()
    expected, rounds = literal_co_training(teach, *how)
    assert_array_equal(given, expected)
    assert n_iter == rounds
    # What each view has learnt last is the same too.
    for view, *lesson in calls[-present.shape[1] :]:
        for ours, theirs in zip(last[view], lesson, strict=True):
            assert_array_equal(ours, theirs)
    assert (given >= 0).sum() > (codes >= 0).sum() * present.shape[1]


def literal_co_em(teach, codes, present, weight, n_classes, max_iter, tol, agree):
    n, n_views = present.shape
    said = [None] * n_views

    def fit(view, soft):
        rows, labels, shares = [], [], []
        for i in range(n):
            if codes[i] >= 0 and present[i, view]:
                rows.append(i), labels.append(codes[i]), shares.append(weight[i])
        for i, probability in soft:
            kept = [p if p >= 1e-3 else 0.0 for p in probability]
            for code, p in enumerate(kept):
                if p > 0:
                    rows.append(i), labels.append(code)
                    shares.append(weight[i] * p / sum(kept))
        said[view] = teach(view, np.array(rows), np.array(labels), np.array(shares))

    def mean(i, without=None):
        spoken = [said[v][i] for v in range(n_views) if present[i, v] and v != without]
        return np.mean(spoken, axis=0) if spoken else np.zeros(n_classes)

    for view in range(n_views):
        fit(view, [])
    unlabelled = [i for i in range(n) if codes[i] < 0]
    before = np.array([mean(i) for i in unlabelled])
    for rounds in range(1, max_iter + 1):
        for view in [*range(1, n_views), 0]:
            soft = []
            for i in unlabelled:
                here = [v for v in range(n_views) if present[i, v]]
                same = len({int(said[v][i].argmax()) for v in here}) == 1
                if view in here and len(here) > 1 and (same or not agree):
                    soft.append((i, mean(i, view)))
            fit(view, soft)
        after = np.array([mean(i) for i in unlabelled])
        if np.abs(after - before).max() < tol:
            return np.array(said), rounds
        before = after
    return np.array(said), max_iter


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("agree", [False, True])
@pytest.mark.parametrize("tol", [0.0, 0.3])
def test_co_em_equals_the_literal_loop(seed, agree, tol):
    codes, present, teach, calls = problem(seed, n_views=2 + seed % 3)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(codes))
    how = (codes, present, weight, 3, 4, tol, agree)
    said, n_iter = co_em(teach, *how)
    mine = list(calls)
    calls.clear()
    expected, rounds = literal_co_em(teach, *how)
    assert n_iter == rounds
    assert_allclose(said, expected, atol=1e-10)
    assert len(mine) == len(calls)
    for (view, rows, labels, shares), lesson in zip(mine, calls, strict=True):
        assert view == lesson[0]
        assert_array_equal(rows, lesson[1])
        assert_array_equal(labels, lesson[2])
        assert_allclose(shares, lesson[3], atol=1e-10)


def test_with_two_views_the_second_learns_first_from_the_firsts_labels():
    codes, present, teach, calls = problem(0, n_views=2, absent=0)
    co_em(teach, codes, present, np.ones(len(codes)), 3, 1, 0.0, False)
    assert [view for view, *_ in calls] == [0, 1, 1, 0]


def test_a_view_never_learns_its_own_guesses_and_labels_stay():
    codes, present, teach, _ = problem(1, n_views=2, absent=0)
    order = np.flatnonzero(codes < 0)
    quota = np.array([2, 2, 2])
    weight = np.ones(len(codes))
    one, _ = co_train(teach, codes, present, weight, quota, order, None, 1, False)
    more, _ = co_train(teach, codes, present, weight, quota, order, None, 5, False)
    labelled = codes >= 0
    assert_array_equal(more[:, labelled], np.tile(codes[labelled], (2, 1)))
    assert_array_equal(more[one >= 0], one[one >= 0])
    first = teach(0, np.flatnonzero(labelled), codes[labelled], weight[labelled])
    taught = (one[1] >= 0) & ~labelled
    assert_array_equal(one[1, taught], first.argmax(axis=1)[taught])


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("agree", [False, True])
def test_no_guess_comes_back_to_the_view_that_made_it(n_views, agree):
    codes, present, teach, _ = problem(2, n_views=n_views, absent=0.1)
    order = np.flatnonzero(codes < 0)
    how = (codes, present, np.ones(len(codes)), np.array([1, 1, 1]), order, None)
    stages = [np.where(present.T, codes, -1)]
    stages += [co_train(teach, *how, rounds, agree)[0] for rounds in range(1, 12)]
    n_taught = 0
    for before, after in itertools.pairwise(stages):
        taught = (after >= 0) & (before < 0)
        n_taught += taught.sum()
        # Who had a label before may have it from the view that would now learn it.
        assert (before[:, taught.any(axis=0)] < 0).all()
    assert n_taught > len(order) / 2


def test_rows_that_nobody_can_teach_do_not_clog_the_pool():
    codes, present, teach, _ = problem(3, n_views=2, absent=0)
    order = np.flatnonzero(codes < 0)
    quota = np.array([1, 1, 1])
    given, _ = co_train(
        teach, codes, present, np.ones(len(codes)), quota, order, 3, 1000, agree=False
    )
    assert (given[:, order] >= 0).any(axis=0).all()
    assert (given[:, order] < 0).any()  # some rows were taught one way only


def test_quotas_follow_the_frequencies_and_leave_no_class_out():
    assert_array_equal(class_quotas(np.array([6.0, 3.0, 1.0]), 20), [12, 6, 2])
    assert_array_equal(class_quotas(np.array([98.0, 2.0, 0.0]), 5), [5, 1, 0])


def test_the_most_confident_of_each_class_are_picked():
    probability = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7], [0.8, 0.2]])
    picked = most_confident(probability, np.arange(5), np.array([2, 2]))
    assert_array_equal(picked, [0, 2, 3])
    assert_array_equal(most_confident(probability, np.array([1, 4]), np.array([1, 1])), [4])


def test_of_views_that_are_equally_sure_the_first_is_believed():
    said = np.array([[[0.5, 0.5], [0.9, 0.1]], [[0.5, 0.5], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])

    def teach(view, rows, codes, weight):
        return said[view]

    codes, everywhere = np.array([0, -1]), np.ones((2, 3), dtype=bool)
    quota, order = np.array([1, 1]), np.array([1])
    given, _ = co_train(teach, codes, everywhere, np.ones(2), quota, order, None, 1, False)
    assert_array_equal(given[:, 1], [1, 0, 0])
