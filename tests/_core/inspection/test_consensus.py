"""Consensus of partitions: literal versions in loops, invariances, and the extremes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from sklearn.metrics import adjusted_rand_score

from covey._core.inspection import consensus as core

# -- the literal version: loops over rows and partitions, as the definitions read ----------------


def literal_co_association(labels):
    n_rows, n_partitions = labels.shape
    shares = np.zeros((n_rows, n_rows))
    for i, j in itertools.product(range(n_rows), repeat=2):
        together = both = 0
        for k in range(n_partitions):
            if labels[i, k] != -1 and labels[j, k] != -1:
                both += 1
                together += labels[i, k] == labels[j, k]
        shares[i, j] = together / both if both else 0.0
    np.fill_diagonal(shares, 1.0)
    return shares


def literal_confidence(labels, final):
    shares = []
    for i, cluster in enumerate(final):
        others = [j for j in range(len(final)) if final[j] == cluster and j != i]
        together = both = 0
        for j, k in itertools.product(others, range(labels.shape[1])):
            if labels[i, k] != -1 and labels[j, k] != -1:
                both += 1
                together += labels[i, k] == labels[j, k]
        alone = 1.0 if not others else 0.0
        shares.append(0.0 if cluster == -1 else together / both if both else alone)
    return shares


def literal_best_overlap(column, reference, n_clusters):
    """The most rows that can agree when the names of the column are permuted."""
    return max(
        sum(c >= 0 and names[c] == r for c, r in zip(column, reference, strict=True))
        for names in itertools.permutations(range(n_clusters))
    )


SHAPES = st.tuples(st.integers(1, 12), st.integers(2, 5))
LABELS = stn.arrays(np.intp, SHAPES, elements=st.integers(-1, 3))


def noisy_partitions(n_rows=120, n_clusters=3, n_partitions=15, share=0.25, seed=0):
    """Copies of one partition with some labels drawn anew, and clusters renamed."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_clusters), n_rows // n_clusters)
    labels = np.empty((n_rows, n_partitions), dtype=np.intp)
    for k in range(n_partitions):
        column = np.where(rng.random(n_rows) < share, rng.integers(0, n_clusters, n_rows), truth)
        labels[:, k] = rng.permutation(n_clusters)[column]
    return truth, labels


def consensus(labels, n_clusters, method):
    if method == "co_association":
        return core.cut(core.merge_tree(core.co_association(labels), "average"), n_clusters)
    return {"voting": core.vote, "graph": core.graph_partition}[method](labels, n_clusters)


METHODS = ("co_association", "voting", "graph")


# -- how often rows are together -----------------------------------------------------------------


@settings(max_examples=60)
@given(LABELS)
def test_co_association_equals_the_literal_one(labels):
    assert_allclose(core.co_association(labels), literal_co_association(labels), atol=1e-14)


def test_co_association_is_the_same_in_blocks(monkeypatch):
    labels = np.random.default_rng(0).integers(-1, 4, (50, 6))
    whole = core.co_association(labels)
    monkeypatch.setattr(core, "_ROWS_PER_BLOCK", 7)
    assert_array_equal(core.co_association(labels), whole)


@settings(max_examples=40)
@given(LABELS, st.randoms(use_true_random=False))
def test_co_association_knows_neither_names_nor_order_of_partitions(labels, random):
    renamed = labels.copy()
    for k in range(labels.shape[1]):
        names = random.sample(range(100), 4)
        renamed[:, k] = [-1 if label < 0 else names[label] for label in labels[:, k]]
    order = random.sample(range(labels.shape[1]), labels.shape[1])
    assert_array_equal(core.co_association(renamed[:, order]), core.co_association(labels))


@settings(max_examples=60)
@given(LABELS, st.data())
def test_confidence_equals_the_literal_one(labels, data):
    final = data.draw(stn.arrays(np.intp, len(labels), elements=st.integers(-1, 2)))
    assert_allclose(core.confidence(labels, final), literal_confidence(labels, final))


# -- how much partitions agree -------------------------------------------------------------------


@settings(max_examples=60)
@given(LABELS)
def test_rand_index_is_that_of_scikit_learn_on_shared_rows(labels):
    index = core.pairwise_rand(labels)
    for j, k in itertools.product(range(labels.shape[1]), repeat=2):
        shared = (labels[:, j] >= 0) & (labels[:, k] >= 0)
        if shared.sum() < 2:
            assert index[j, k] == 0.0
        else:
            expected = adjusted_rand_score(labels[shared, j], labels[shared, k])
            assert index[j, k] == pytest.approx(expected, abs=1e-12)


def test_stability_is_the_mean_over_pairs_of_partitions():
    _, labels = noisy_partitions()
    pairs = itertools.combinations(labels.T, 2)
    mean, error = core.stability(labels)
    assert mean == pytest.approx(np.mean([adjusted_rand_score(a, b) for a, b in pairs]))
    assert 0 < error < 0.1
    assert core.stability(np.repeat(labels[:, :1], 4, axis=1)) == (1.0, 0.0)


def test_of_equally_stable_numbers_the_largest_is_taken():
    assert core.most_stable([2, 3, 4], [1.0, 0.995, 0.8], [0.0, 0.0, 0.0]) == 3
    assert core.most_stable([2, 3, 4], [0.9, 0.5, 0.85], [0.02, 0.3, 0.3]) == 2


# -- the tree ------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", ["average", "single", "complete"])
def test_cut_makes_exactly_so_many_clusters_and_is_that_of_scipy(linkage):
    _, labels = noisy_partitions(30)
    tree = core.merge_tree(core.co_association(labels), linkage)
    for number in range(1, 31):
        found = core.cut(tree, number)
        assert len(np.unique(found)) == number
        theirs = hierarchy.fcluster(tree, number, "maxclust")
        if len(np.unique(theirs)) == number:  # SciPy makes fewer where merges are tied
            assert_array_equal(found, core.in_order_of_appearance(theirs))


def test_the_number_on_which_all_agree_lives_for_the_whole_tree():
    labels = np.repeat(np.arange(4).repeat(5)[:, None], 3, axis=1)
    tree = core.merge_tree(core.co_association(labels), "average")
    assert core.lifetimes(tree, [2, 3, 4, 5, 20]) == [0.0, 0.0, 1.0, 0.0, 0.0]


# -- alignment and votes -------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_alignment_recovers_permuted_labels_exactly(seed, n_clusters):
    rng = np.random.default_rng(seed)
    reference = rng.permutation(np.r_[np.arange(n_clusters), rng.integers(0, n_clusters, 20)])
    labels = np.stack([rng.permutation(n_clusters)[reference] for _ in range(4)], axis=1)
    assert_array_equal(core.align(labels, reference), np.repeat(reference[:, None], 4, axis=1))


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_alignment_is_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    labels = np.r_[rng.integers(-1, 4, (20, 2)), np.repeat(np.arange(4)[:, None], 2, axis=1)]
    reference = np.r_[rng.integers(-1, 4, 20), np.arange(4)]
    aligned = core.align(labels, reference)
    for k in range(2):
        agreed = ((aligned[:, k] == reference) & (reference >= 0)).sum()
        assert agreed == literal_best_overlap(labels[:, k], reference, 4)
    assert_array_equal(aligned < 0, labels < 0)


def test_clusters_left_over_take_the_name_they_overlap_most():
    reference = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    finer = np.array([[0, 0, 0, 2, 1, 1, 1, 3]]).T
    assert_array_equal(core.align(finer, reference)[:, 0], reference)


def test_vote_is_a_fixed_point_and_right_where_the_majority_is():
    truth, labels = noisy_partitions()
    final = core.vote(labels, 3)
    assert_array_equal(final, truth)
    again = core.vote(np.column_stack([labels, final]), 3)
    assert_array_equal(again, final)


def test_ties_stay_with_the_reference():
    labels = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1]])
    assert_array_equal(core.vote(labels, 2), labels[:, 0])
    assert_array_equal(core.vote(labels[:, ::-1], 2), labels[:, 1])


# -- all three methods ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agreement_gives_that_partition(method):
    rng = np.random.default_rng(1)
    truth = core.in_order_of_appearance(rng.integers(0, 4, 40))
    labels = np.stack([rng.permutation(4)[truth] for _ in range(5)], axis=1)
    assert_array_equal(consensus(labels, 4, method), truth)


@pytest.mark.parametrize("method", METHODS)
def test_consensus_mends_independent_mistakes(method):
    truth, labels = noisy_partitions()
    single = np.mean([adjusted_rand_score(truth, column) for column in labels.T])
    assert single < 0.7
    assert adjusted_rand_score(truth, consensus(labels, 3, method)) == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_consensus_knows_neither_names_nor_order_of_partitions(method):
    _, labels = noisy_partitions(share=0.45)
    labels[np.random.default_rng(2).random(labels.shape) < 0.1] = -1
    rng = np.random.default_rng(3)
    names = np.stack([np.r_[rng.permutation(3), -1] for _ in range(labels.shape[1])])
    renamed = np.take_along_axis(names.T, labels % 4, axis=0)
    final = consensus(labels, 3, method)
    assert_array_equal(consensus(renamed, 3, method), final)
    assert_array_equal(consensus(labels[:, ::-1], 3, method), final)


@pytest.mark.parametrize("method", ["voting", "graph"])
def test_rows_that_no_partition_places_stay_without_a_cluster(method):
    truth, labels = noisy_partitions()
    labels[[0, 50]] = -1
    final = consensus(labels, 3, method)
    assert_array_equal(np.flatnonzero(final < 0), [0, 50])
    assert adjusted_rand_score(np.delete(truth, [0, 50]), np.delete(final, [0, 50])) == 1.0


def test_graph_is_the_same_by_iteration(monkeypatch):
    truth, labels = noisy_partitions()
    monkeypatch.setattr(core, "_MOST_CLUSTERS_EXACT", 0)
    assert_array_equal(core.graph_partition(labels, 3), truth)


def test_labels_are_numbered_as_rows_first_meet_them():
    assert_array_equal(
        core.in_order_of_appearance(np.array([7, -1, 7, 2, 9, 2])), [0, -1, 0, 1, 2, 1]
    )
