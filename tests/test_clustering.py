"""Consensus clustering: what it finds, what it says of it, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import ConsensusClustering, consensus
from covey._core.inspection.consensus import co_association
from covey.clustering import METHODS

FAST = KMeans(n_init=1)


@parametrize_with_checks(
    [
        ConsensusClustering(n_partitions=5, n_clusters_range=(2, 4)),
        ConsensusClustering(2, n_partitions=5, method="voting"),
        ConsensusClustering(2, n_partitions=5, method="graph", max_features=0.5),
        ConsensusClustering(
            2, n_partitions=4, estimator=[FAST, AgglomerativeClustering(3)], linkage="single"
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n_clusters, seed=0, n_rows=150):
    return make_blobs(n_rows, centers=n_clusters, n_features=5, cluster_std=0.8, random_state=seed)


def shuffled_names(labels, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(column.max() + 1)[column] for column in labels.T], axis=1)


# -- what it finds -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_method_recovers_separate_blobs(method):
    X, y = blobs(4)
    model = ConsensusClustering(4, method=method, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.n_clusters_ == 4
    assert model.stability_[4] == 1.0
    assert_array_equal(model.confidence_, 1.0)
    assert model.partitions_.shape == (150, 30)
    assert hasattr(model, "co_association_") == (method == "co_association")


@pytest.mark.parametrize("n_clusters", [3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_number_of_clusters_is_found(n_clusters, seed):
    X, y = blobs(n_clusters, seed)
    model = ConsensusClustering(n_partitions=15, n_clusters_range=(2, 8), random_state=0).fit(X)
    assert model.n_clusters_ == n_clusters
    assert sorted(model.stability_) == [2, 3, 4, 5, 6, 7, 8]
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.slow
def test_consensus_over_feature_subsets_beats_single_runs_among_irrelevant_columns():
    wine, y = load_wine(return_X_y=True)
    scores = {"single k-means, all columns": [], "its own partitions": []}
    scores |= {method: [] for method in METHODS}
    for seed in range(3):
        noise = np.random.default_rng(seed).standard_normal((len(y), 80))
        X = np.hstack([scale(wine), noise])
        model = ConsensusClustering(
            3, estimator=FAST, n_partitions=100, max_features=0.25, random_state=seed
        ).fit(X)
        runs = [KMeans(3, n_init=1, random_state=k).fit_predict(X) for k in range(10)]
        scores["single k-means, all columns"] += [adjusted_rand_score(y, run) for run in runs]
        scores["its own partitions"] += [
            adjusted_rand_score(y[column >= 0], column[column >= 0])
            for column in model.partitions_.T
        ]
        for method in METHODS:
            final = consensus(model.partitions_, 3, method)
            scores[method].append(adjusted_rand_score(y, final))
    means = {name: np.mean(values) for name, values in scores.items()}
    print({name: round(float(value), 3) for name, value in means.items()})
    for method in METHODS:
        assert means[method] > means["single k-means, all columns"]
        assert means[method] > means["its own partitions"] + 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("linkage", "n_clusters"), [("average", 2), ("single", 2), ("single", None)]
)
def test_many_small_clusters_make_two_moons_which_k_means_cannot(linkage, n_clusters):
    X, y = make_moons(300, noise=0.05, random_state=0)
    alone = adjusted_rand_score(y, KMeans(2, random_state=0).fit_predict(X))
    model = ConsensusClustering(
        n_clusters,
        estimator=[KMeans(20, n_init=1)],
        n_partitions=100,
        linkage=linkage,
        random_state=0,
    ).fit(X)
    print(f"two moons: k-means {alone:.2f}, consensus {adjusted_rand_score(y, model.labels_):.2f}")
    assert alone < 0.5
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize(
    "estimator",
    [
        AgglomerativeClustering(),
        GaussianMixture(),
        make_pipeline(StandardScaler(), FAST),
        [KMeans(3), AgglomerativeClustering(4)],
        DBSCAN(eps=2.5),
    ],
)
def test_any_clusterer_will_do(estimator):
    X, y = blobs(3)
    model = ConsensusClustering(3, estimator=estimator, n_partitions=10, random_state=0).fit(X)
    placed = model.labels_ >= 0  # DBSCAN may leave a row out
    assert placed.mean() > 0.98
    assert adjusted_rand_score(y[placed], model.labels_[placed]) == 1.0


def test_one_clusterer_gets_the_number_and_those_in_a_list_keep_theirs():
    X, _ = blobs(3)
    one = ConsensusClustering(3, estimator=KMeans(7, n_init=1), n_partitions=4, random_state=0)
    many = clone(one).set_params(estimator=[KMeans(7, n_init=1), KMeans(5, n_init=1)])
    assert one.fit(X).partitions_.max(axis=0).tolist() == [2] * 4
    assert many.fit(X).partitions_.max(axis=0).tolist() == [6, 4, 6, 4]
    assert many.n_clusters_ == 3
    assert many.stability_ == {}


# -- what it says --------------------------------------------------------------------------------


def test_rows_between_clusters_have_the_least_confidence():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-3, 0.5, (60, 2)), rng.normal(3, 0.5, (60, 2)), [[0.02, 0.0]]]
    model = ConsensusClustering(2, n_partitions=60, random_state=0).fit(X)
    assert np.argmin(model.confidence_) == 120
    assert model.confidence_[120] < 0.95 < model.confidence_[:120].min()


def test_co_association_is_that_of_the_partitions():
    X, _ = blobs(3)
    model = ConsensusClustering(4, estimator=FAST, n_partitions=7, random_state=0).fit(X)
    assert_array_equal(model.co_association_, co_association(model.partitions_))
    assert_array_equal((model.partitions_ >= 0).sum(axis=0), 120)


def test_each_partition_sees_its_share_of_rows_and_columns():
    shapes = []

    class Recorder(KMeans):
        def fit_predict(self, X, y=None):
            shapes.append(X.shape)
            return super().fit_predict(X)

    X, _ = blobs(3)
    ConsensusClustering(
        3, estimator=Recorder(n_init=1), n_partitions=3, max_features=2, max_samples=100
    ).fit(X)
    ConsensusClustering(3, estimator=Recorder(n_init=1), n_partitions=2, max_features=0.5).fit(X)
    assert shapes == [(100, 2)] * 3 + [(120, 3)] * 2


def test_each_partition_has_a_random_start_of_its_own():
    seeds = []

    class Recorder(KMeans):
        def fit_predict(self, X, y=None):
            seeds.append(self.random_state)
            return super().fit_predict(X)

    X, _ = blobs(3)
    start = make_pipeline(StandardScaler(), Recorder(n_init=1))
    ConsensusClustering(3, estimator=start, n_partitions=5, max_samples=1.0).fit(X)
    assert len(set(seeds)) == 5


@pytest.mark.parametrize("method", METHODS)
def test_result_is_the_same_whatever_n_jobs(method):
    X, _ = blobs(4, n_rows=80)
    X += np.random.default_rng(0).normal(0, 3, X.shape)
    settings = {"estimator": FAST, "n_partitions": 6, "n_clusters_range": (2, 4)}
    one = ConsensusClustering(method=method, max_features=0.6, random_state=3, **settings).fit(X)
    two = clone(one).set_params(n_jobs=2).fit(X)
    other = clone(one).set_params(random_state=4).fit(X)
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.partitions_, two.partitions_)
    assert one.stability_ == two.stability_
    assert (one.partitions_ != other.partitions_).any()


def test_sparse_rows_give_the_same_clusters():
    X, y = blobs(3)
    model = ConsensusClustering(3, n_partitions=5, max_features=4, random_state=0)
    assert adjusted_rand_score(y, model.fit(sparse.csr_matrix(X)).labels_) == 1.0


def test_noise_of_a_clusterer_stays_noise():
    X, y = blobs(3)
    X = np.r_[X, [[100.0] * 5]]
    model = ConsensusClustering(estimator=DBSCAN(eps=2.5), n_partitions=10, random_state=0).fit(X)
    assert model.labels_[-1] == -1
    assert model.confidence_[-1] == 0.0
    assert model.n_clusters_ == 3
    placed = model.labels_ >= 0
    assert adjusted_rand_score(y[placed[:-1]], model.labels_[placed]) == 1.0
    assert model.co_association_.shape == (151, 151)
    assert model.co_association_[-1, :-1].max() == 0.0


def test_fitting_again_by_another_method_forgets_the_matrix():
    X, _ = blobs(3)
    model = ConsensusClustering(3, n_partitions=6, random_state=0).fit(X)
    assert not hasattr(model.set_params(method="graph").fit(X), "co_association_")


# -- saved labels --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agreement_gives_that_partition_and_its_number(method):
    truth = np.arange(4).repeat(6)
    labels = shuffled_names(np.repeat(truth[:, None], 3, axis=1))
    assert_array_equal(consensus(labels, method=method), truth)
    assert_array_equal(consensus(labels, 4, method), truth)


@pytest.mark.parametrize("method", METHODS)
def test_any_labels_will_do_and_missing_ones_are_left_out(method):
    frame = pd.DataFrame(
        {
            "word": ["a", "a", "a", "b", "b", None, "b", None],
            "number": [1.5, 1.5, np.nan, 2.5, 2.5, 2.5, 2.5, np.nan],
            "code": [0, 0, 0, 7, 7, 7, -1, -1],
            "pair": [(0, 1), (0, 1), (0, 1), (2,), (2,), (2,), (2,), -1],
        }
    )
    expected = [0, 0, 0, 1, 1, 1, 1, -1]
    assert consensus(frame, 2, method).tolist() == expected
    assert consensus(frame, method=method).tolist() == expected


def test_noise_is_left_out_of_both_counts():
    # The last partition alone parts rows 1 and 2, and it is the only one that places both.
    labels = [[0, 0, 0], [0, -1, 0], [-1, 0, 1], [1, 1, 1], [1, 1, 1]]
    shares = co_association(np.array(labels))
    assert shares[1, 2] == 0.0
    assert shares[0, 1] == 1.0
    assert shares[0, 2] == 0.5


def test_labels_agree_with_those_of_the_estimator():
    X, _ = blobs(3)
    X += np.random.default_rng(0).normal(0, 3, X.shape)
    for method in METHODS:
        model = ConsensusClustering(
            3, estimator=FAST, n_partitions=8, method=method, random_state=0
        ).fit(X)
        assert_array_equal(consensus(model.partitions_, 3, method), model.labels_)


# -- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0; use None to have it chosen."),
        ({"n_clusters": 31}, "n_clusters=31 is more than the 30 rows; give a smaller number."),
        ({"n_clusters": 28}, "more than the 24 rows that each partition is shown; raise max_sam"),
        ({"n_partitions": 1}, "n_partitions == 1, must be >= 2"),
        ({"method": "mean"}, "method must be one of 'co_association', 'voting', 'graph', got 'm"),
        ({"linkage": "ward"}, "linkage must be one of"),
        ({"estimator": []}, "estimator is an empty list; give at least one clusterer."),
        ({"estimator": LogisticRegression()}, "estimator is not a clusterer: LogisticRegression"),
        ({"estimator": [KMeans(), LogisticRegression()]}, r"estimator\[1\] is not a clusterer"),
        ({"estimator": [KMeans, KMeans]}, r"estimator\[0\] is not a clusterer"),
        ({"estimator": IsolationForest()}, "give one with fit_predict, such as KMeans"),
        ({"estimator": [FAST] * 3, "n_partitions": 2}, "n_partitions=2 is less than the 3 clus"),
        ({"estimator": DBSCAN(eps=1e-9)}, "estimator takes every row for noise"),
        ({"n_clusters_range": 5}, "n_clusters_range must be a pair, the lowest and the highest"),
        ({"n_clusters_range": (1, 5)}, r"n_clusters_range\[0\] == 1, must be >= 2"),
        ({"n_clusters_range": (40, 50)}, "starts above 23, the most clusters that can be tried"),
        ({"max_features": 0.0}, "max_features == 0.0, must be > 0"),
        ({"max_samples": 31}, "max_samples == 31, must be <= 30"),
        (
            {"n_clusters": 2, "estimator": [KMeans(5)], "method": "voting"},
            "method='voting' needs a partition of n_clusters=2 clusters .* have 5 to 5; use",
        ),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, _ = blobs(3, n_rows=30)
    with pytest.raises(ValueError, match=message):
        ConsensusClustering(**params).fit(X)


def test_a_column_that_is_no_number_is_named():
    X = pd.DataFrame({"size": np.arange(9.0), "kind": pd.Categorical(list("abcabcabc"))})
    with pytest.raises(ValueError, match="Column 'kind' of X holds neither numbers nor"):
        ConsensusClustering(2).fit(X)


def test_rows_shown_to_no_partition_are_warned_of():
    X, _ = blobs(3, n_rows=30)
    model = ConsensusClustering(2, n_partitions=2, max_samples=10, random_state=0)
    with pytest.warns(UserWarning, match=r"\d+ of 30 rows are shown to no partition"):
        model.fit(X)
    assert_array_equal(model.labels_ < 0, (model.partitions_ < 0).all(axis=1))


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_is_warned_of(method):
    X, _ = blobs(3, n_rows=30)
    model = ConsensusClustering(1, n_partitions=3, method=method, max_samples=1.0)
    with pytest.warns(UserWarning, match="n_clusters=1 puts all rows into one cluster"):
        model.fit(X)
    assert_array_equal(model.labels_, 0)


@pytest.mark.parametrize(
    ("labels", "params", "message"),
    [
        ([[0], [1], [1]], {}, "labels holds 1 partition; a consensus needs at least 2"),
        ([0, 1, 1], {}, "labels must have two dimensions, one row a sample and one column a par"),
        ([[0, 1]], {}, "labels has 1 row"),
        ([[-1, -1], [-1, None]], {}, "labels is -1 throughout"),
        ([[0, 0], [1, 1], [1, 1]], {"n_clusters": 1}, "n_clusters must be at least 2, got 1"),
        ([[0, 0], [1, 1], [1, 1]], {"n_clusters": 4}, "n_clusters=4 is more than the 3 rows"),
        ([[0, 0], [1, 1], [1, 1]], {"n_clusters": 3}, "than the 2 groups of rows that the part"),
        ([[0, 0], [1, 1], [1, 1]], {"method": "mean"}, "method must be one of"),
        ([[0, 0], [1, {}], [1, 1]], {}, r"labels holds a dict in column 1 \(row 1\); give numb"),
        (
            [[0, 1], [1, 2], [2, 3], [3, 4]],
            {"method": "voting", "n_clusters_range": (2, 3)},
            "whose number of clusters is within n_clusters_range",
        ),
    ],
)
def test_bad_labels_are_named(labels, params, message):
    with pytest.raises(ValueError, match=message):
        consensus(labels, **params)
