"""One partition out of many, on plain NumPy arrays.

Shapes: ``n`` rows, ``K`` partitions. ``labels`` of shape ``(n, K)`` holds the cluster of each row
in each partition; a label has a meaning within its column only, and -1 marks a row that is noise
to that partition, or that it has not seen. Such a row is left out wherever that partition counts.
``final`` and ``reference`` of shape ``(n,)`` are single partitions.

Everything is a product of one-hot labels: with Z of shape (n, all clusters of all partitions),
``Z Z'`` counts how often two rows are together, and ``Z' Z`` holds the contingency tables of
all pairs of partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.cluster import hierarchy
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import svds
from scipy.spatial.distance import squareform

from covey._core.arrays import FloatArray, IntArray, in_parts
from covey._core.random import Purpose, UniformRows, normals

# This many rows of the co-association matrix are made at once; the memory beside the matrix itself
# stays small.
_ROWS_PER_BLOCK = 512

# Up to this many clusters in all, the spectrum is found exactly; beyond, by iteration.
_MOST_CLUSTERS_EXACT = 1500

# Voting and the graph's assignment settle within a few rounds; this only bounds them.
_MOST_ROUNDS = 100


# -- labels --------------------------------------------------------------------------------------


def drawn(seed: int, purpose: Purpose, partition: int, n_all: int, n_drawn: int) -> IntArray:
    """Draw ``n_drawn`` of all positions, in order, as a function of where the draw is used."""
    if n_drawn == n_all:
        return np.arange(n_all)
    keys = UniformRows(seed, purpose, 0, partition, n_all).read(0, 1)[0]
    return np.sort(np.argsort(keys, kind="stable")[:n_drawn])


def one_hot(labels: IntArray) -> tuple[Any, IntArray]:
    """Return which clusters each row is in, as a sparse matrix (n, all clusters) of 0 and 1.

    The second array (all clusters,) holds the partition that each cluster belongs to.
    """
    n_rows, n_partitions = labels.shape
    rows, columns, owner = [], [], []
    n_clusters = 0
    for k in range(n_partitions):
        present = np.flatnonzero(labels[:, k] >= 0)
        names, codes = np.unique(labels[present, k], return_inverse=True)
        rows.append(present)
        columns.append(codes.reshape(-1) + n_clusters)
        owner.append(np.full(len(names), k, dtype=np.intp))
        n_clusters += len(names)
    row, column = np.concatenate(rows), np.concatenate(columns)
    Z = sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=(n_rows, n_clusters))
    return Z, np.concatenate(owner)


def in_order_of_appearance(labels: IntArray) -> IntArray:
    """Return one partition with its clusters numbered 0, 1, ... in the order of the rows."""
    named = np.full(len(labels), -1, dtype=np.intp)
    present = labels >= 0
    _, first, codes = np.unique(labels[present], return_index=True, return_inverse=True)
    named[present] = np.argsort(np.argsort(first))[codes.reshape(-1)]
    return named


def cluster_counts(labels: IntArray) -> IntArray:
    """Return how many clusters each partition has, as (K,)."""
    return np.bincount(one_hot(labels)[1], minlength=labels.shape[1]).astype(np.intp)


# -- how often rows are together -----------------------------------------------------------------


def co_association(labels: IntArray) -> FloatArray:
    """Return the share of partitions that put two rows together, among those that place both.

    It is (n, n); two rows that no partition places both count as apart, a row and itself as
    together (Fred and Jain, *Combining multiple clusterings using evidence accumulation*, 2005).
    """
    Z = one_hot(labels)[0]
    dense = Z.toarray()
    placed = (labels >= 0).astype(np.float64)
    everywhere = bool(placed.all())
    shares = np.empty((len(labels), len(labels)))
    for block in in_parts(len(labels), _ROWS_PER_BLOCK):
        np.matmul(dense[block], dense.T, out=shares[block])
        if everywhere:
            shares[block] /= labels.shape[1]
        else:
            # Where no partition places both, 0 / 1 stands for 0 / 0.
            shares[block] /= np.maximum(placed[block] @ placed.T, 1.0)
    np.fill_diagonal(shares, 1.0)
    return shares


def confidence(labels: IntArray, final: IntArray) -> FloatArray:
    """Return how often each row is put together with the other rows of its final cluster.

    It is a share of all (row of the cluster, partition) that place both; 1 for a row alone in its
    cluster, 0 for a row without a cluster. Only sums are needed, no matrix of pairs of rows.
    """
    final = in_order_of_appearance(final)
    ours = np.flatnonzero(final >= 0)
    Z = one_hot(labels)[0]
    placed = (labels >= 0).astype(np.float64)
    members = one_hot(final[:, None])[0]
    own = placed.sum(axis=1)[ours]  # a row is always together with itself: that is not counted
    together = (Z @ (Z.T @ members)).toarray()[ours, final[ours]] - own
    both = (placed @ (members.T @ placed).T)[ours, final[ours]] - own
    shares = np.zeros(len(labels))
    shares[ours] = np.divide(together, both, out=np.zeros(len(ours)), where=both > 0)
    alone = np.bincount(final[ours])[final[ours]] == 1
    shares[ours[alone]] = 1.0
    return shares


# -- how much partitions agree -------------------------------------------------------------------


def pairwise_rand(labels: IntArray) -> FloatArray:
    """Return the adjusted Rand index of all pairs of partitions, as (K, K).

    Each pair is compared on the rows that both place. It is 1 for equal partitions, 0 on
    average for unrelated ones, and 0 for two that share less than two rows.
    """
    Z, owner = one_hot(labels)
    tables = np.asarray((Z.T @ Z).todense())
    belongs = (owner[:, None] == np.arange(labels.shape[1])).astype(np.float64)
    sizes = tables @ belongs  # of each cluster, among the rows that the other partition places
    shared = belongs.T @ sizes
    both = (belongs.T @ tables**2 @ belongs - shared) / 2.0
    first = (belongs.T @ sizes**2 - shared) / 2.0
    pairs = np.maximum(shared * (shared - 1.0) / 2.0, 1.0)
    by_chance = first * first.T / pairs
    above, below = both - by_chance, (first + first.T) / 2.0 - by_chance
    # 0 / 0: both put all rows together, or both put all apart.
    index: FloatArray = np.divide(above, below, out=np.ones_like(both), where=below > 0)
    index[shared < 2.0] = 0.0
    return index


def stability(labels: IntArray) -> tuple[float, float]:
    """Return how much the partitions of resamples agree, and the standard error of that.

    It is the mean adjusted Rand index over pairs of partitions, each pair compared on the rows
    that both have seen (Ben-Hur, Elisseeff and Guyon, *A stability based method for discovering
    structure in clustered data*, 2002). Being corrected for chance, it can be compared between
    numbers of clusters; the area under the consensus distribution cannot, since it always grows
    with the number. The standard error is over partitions.
    """
    index = pairwise_rand(labels)
    n_partitions = len(index)
    means = (index.sum(axis=1) - index.diagonal()) / (n_partitions - 1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(n_partitions))


def most_stable(numbers: list[int], means: list[float], errors: list[float]) -> int:
    """Return the largest number of clusters that is as stable as the most stable one.

    Groups of clusters that lie far apart are found again as surely as the clusters themselves, so
    that two or three numbers may share the highest stability. A cluster that is cut in two,
    however, is clearly less stable. Stability within a standard error, or within 0.01, counts as
    equal.
    """
    best = int(np.argmax(means))
    slack = max(errors[best], 0.01)
    return max(
        number for number, mean in zip(numbers, means, strict=True) if mean >= means[best] - slack
    )


# -- consensus by co-association -----------------------------------------------------------------


def merge_tree(shares: FloatArray, linkage: str) -> FloatArray:
    """Return merges of rows, those most often together first, in SciPy's form: (n - 1, 4)."""
    apart = np.subtract(1.0, shares)
    np.fill_diagonal(apart, 0.0)
    return hierarchy.linkage(squareform(apart, checks=False), linkage)


def cut(tree: FloatArray, n_clusters: int) -> IntArray:
    """Cut a tree into exactly this many clusters; ties are cut as they were merged."""
    return in_order_of_appearance(hierarchy.cut_tree(tree, n_clusters)[:, 0])


def lifetimes(tree: FloatArray, numbers: list[int]) -> list[float]:
    """Return the share of thresholds at which a tree falls into each number of clusters.

    The number with the largest share is Fred and Jain's choice. It needs no resamples, so that it
    serves partitions that were made elsewhere.
    """
    heights = np.concatenate([[0.0], tree[:, 2]])
    n_rows = len(heights)
    return [float(heights[n_rows - k + 1] - heights[n_rows - k]) for k in numbers]


# -- consensus by votes --------------------------------------------------------------------------


def align(labels: IntArray, reference: IntArray) -> IntArray:
    """Rename the clusters of every partition after those of a reference.

    Names go one to one, so that as many rows as possible bear the reference's name (the
    Hungarian method). Where a partition has more clusters than the reference, each of those
    left over takes the name of the one it overlaps most.
    """
    names = np.unique(reference[reference >= 0])
    Z, owner = one_hot(labels)
    overlaps = np.asarray((Z.T @ one_hot(reference[:, None])[0]).todense())
    renamed = np.argmax(overlaps, axis=1)
    for k in range(labels.shape[1]):
        clusters = np.flatnonzero(owner == k)
        given, taken = linear_sum_assignment(overlaps[clusters], maximize=True)
        renamed[clusters[given]] = taken
    aligned = np.full(labels.shape, -1, dtype=np.intp)
    entries = Z.tocoo()
    aligned[entries.row, owner[entries.col]] = names[renamed[entries.col]]
    return aligned


def most_central(labels: IntArray, candidates: IntArray) -> int:
    """Return the candidate that agrees most with all partitions; the first of equals."""
    agreement = pairwise_rand(labels)[candidates].mean(axis=1)
    best = np.flatnonzero(agreement >= agreement.max() - 1e-12)[0]
    return int(candidates[best])


def vote(labels: IntArray, n_clusters: int) -> IntArray:
    """Align all partitions to one, put each row where most of them put it, and repeat.

    The first reference is the most central partition of ``n_clusters`` clusters, then the outcome
    of the last vote, until nothing changes. Ties stay with the reference. At least one partition
    has ``n_clusters`` clusters; in the result a cluster may have lost all its rows, and rows that
    no partition places are -1.
    """
    candidates = np.flatnonzero(cluster_counts(labels) == n_clusters)
    reference = in_order_of_appearance(labels[:, most_central(labels, candidates)])
    for _ in range(_MOST_ROUNDS):
        aligned = align(labels, reference)
        votes = np.stack([(aligned == c).sum(axis=1) for c in range(n_clusters)], axis=1)
        votes = 2 * votes + (reference[:, None] == np.arange(n_clusters))
        outcome = np.where((labels >= 0).any(axis=1), votes.argmax(axis=1), -1)
        if np.array_equal(outcome, reference):
            break
        reference = outcome
    return in_order_of_appearance(reference)


# -- consensus by a graph ------------------------------------------------------------------------


def graph_partition(labels: IntArray, n_clusters: int) -> IntArray:
    """Cut the graph in which each row is connected to the clusters that it is in.

    The hybrid bipartite graph of Fern and Brodley, *Solving cluster ensemble problems by
    bipartite graph partitioning* (2004): rows and clusters are nodes. Its normalized cut is
    relaxed to the leading singular vectors of the scaled incidence matrix. Memory and time grow
    with the number of rows, not of their pairs. Rows that no partition places are -1; there may
    be fewer clusters, if the partitions do not separate so many.
    """
    final = np.full(len(labels), -1, dtype=np.intp)
    placed = np.flatnonzero((labels >= 0).any(axis=1))
    Z, _ = one_hot(labels[placed])
    degrees = np.asarray(Z.sum(axis=1)).ravel()
    sizes = np.asarray(Z.sum(axis=0)).ravel()
    scaled = sparse.diags(degrees**-0.5) @ Z @ sparse.diags(sizes**-0.5)
    final[placed] = _assign(_directions(_left_singular(scaled, n_clusters)))
    return in_order_of_appearance(final)


def _left_singular(matrix: Any, n_vectors: int) -> FloatArray:
    """Return the leading left singular vectors, (n, n_vectors), the same ones in every call."""
    n_rows, n_columns = matrix.shape
    n_vectors = min(n_vectors, n_rows, n_columns)
    if n_columns <= _MOST_CLUSTERS_EXACT or n_vectors >= min(n_rows, n_columns):
        # Partitions that agree make singular values equal; an iteration would then find some
        # of their vectors by luck only.
        _, right = np.linalg.eigh(np.asarray((matrix.T @ matrix).todense()))
        vectors: FloatArray = matrix @ right[:, ::-1][:, :n_vectors]
        lengths = np.linalg.norm(vectors, axis=0)
        kept = lengths > 1e-7
        return vectors[:, kept] / lengths[kept]
    start = normals(0, Purpose.POWER_ITERATION, 0, 0, (min(n_rows, n_columns),))
    return svds(matrix, k=n_vectors, v0=start, return_singular_vectors="u")[0]


def _directions(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float64).tiny)


def _assign(rows: FloatArray) -> IntArray:
    """Cluster unit vectors by angle, into as many clusters as dimensions, without random starts.

    It starts from the rows that a pivoted QR decomposition picks as most independent (Damle,
    Minden and Ying, *Simple, direct and efficient multi-way spectral clustering*, 2019), and
    continues as k-means on the sphere.
    """
    pivots = linalg.qr(rows.T, pivoting=True, mode="r")[1][: rows.shape[1]]
    centers = rows[pivots]
    assigned: IntArray = np.argmax(rows @ centers.T, axis=1)
    for _ in range(_MOST_ROUNDS):
        sums = np.stack([rows[assigned == c].sum(axis=0) for c in range(len(centers))])
        filled = np.linalg.norm(sums, axis=1) > 0
        centers = np.where(filled[:, None], _directions(sums), centers)
        again = np.argmax(rows @ centers.T, axis=1)
        if np.array_equal(again, assigned):
            break
        assigned = again
    return assigned
