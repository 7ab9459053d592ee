"""Fixed rules: properties with hypothesis, and numbers that fit on a line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import Predictions
from covey.fusers import (
    Borda,
    KOfN,
    LastStage,
    Majority,
    Max,
    Mean,
    Median,
    Min,
    Oracle,
    Product,
    SingleBest,
    TrimmedMean,
    WeightedMedian,
)
from covey.fusers._fixed import make_fuser
from covey.utils.estimator_checks import FUSER_CHECKS

UNWEIGHTED = [Mean(), Product(), Median(), TrimmedMean(0.2), Max(), Min(), Borda(), Majority()]
POSITIVE = [KOfN(1), KOfN("all"), KOfN(2)]


@st.composite
def opinions(draw, n_classes=None, n_members=None):
    """Probabilities of a few members: smooth, with zeros, ties and certainties."""
    c = draw(st.integers(2, 5)) if n_classes is None else n_classes
    k = draw(st.integers(2, 7)) if n_members is None else n_members
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    P = rng.dirichlet(np.full(c, draw(st.sampled_from([0.1, 1.0, 5.0]))), (12, k))
    if draw(st.booleans()):
        P = np.round(P * 4)
        P[P.sum(axis=2) == 0] = 1
        P /= P.sum(axis=2, keepdims=True)
    return P


@settings(max_examples=60)
@given(opinions())
@pytest.mark.parametrize("rule", UNWEIGHTED + POSITIVE, ids=repr)
def test_rows_sum_to_one_and_member_order_does_not_matter(rule, P):
    fused = rule.fuse(P)
    assert np.isfinite(fused).all()
    assert (fused >= 0).all()
    assert_allclose(fused.sum(axis=1), 1)
    order = np.random.default_rng(0).permutation(P.shape[1])
    assert_allclose(rule.fuse(P[:, order]), fused, atol=1e-12)
    assert_array_equal(rule.fuse(P[:, order]).argmax(axis=1), fused.argmax(axis=1))
    assert_allclose(rule.importance(P[:, order]), rule.importance(P)[:, order], atol=1e-9)


@settings(max_examples=60)
@given(opinions())
def test_k_of_n_with_k_equal_one_is_or_and_with_n_is_and(P):
    assert_allclose(KOfN(1).fuse(P), covey.fuse(P, "or"))
    assert_allclose(KOfN(P.shape[1]).fuse(P), covey.fuse(P, "and"))


@settings(max_examples=60)
@given(opinions(n_classes=2), st.integers(0, 1))
def test_with_two_classes_or_is_the_largest_and_and_the_smallest(P, positive):
    assert_allclose(KOfN(1, positive).fuse(P)[:, positive], P[:, :, positive].max(axis=1))
    assert_allclose(KOfN("all", positive).fuse(P)[:, positive], P[:, :, positive].min(axis=1))
    k = 1 + P.shape[1] // 2
    expected = np.sort(P[:, :, positive], axis=1)[:, -k]
    assert_allclose(KOfN(k, positive).fuse(P)[:, positive], expected)


@settings(max_examples=60)
@given(opinions(n_classes=2, n_members=5))
def test_k_of_n_with_the_middle_k_is_the_binary_majority(P):
    assert_array_equal(KOfN(3).fuse(P).argmax(axis=1), Majority().fuse(P).argmax(axis=1))


@settings(max_examples=60)
@given(opinions(n_classes=4))
def test_with_more_classes_acceptance_counts_votes(P):
    k = 2
    accepted = (P.argmax(axis=2) == 1).sum(axis=1) >= k
    fused = KOfN(k, positive_class=1).fuse(P)
    assert_array_equal(fused.argmax(axis=1) == 1, accepted)
    assert (fused[accepted, 1] >= 0.5).all()
    assert not fused[~accepted, 1].any()
    others = P.mean(axis=1)
    others[:, 1] = 0
    rest = fused.copy()
    rest[:, 1] = 0
    shared = others.sum(axis=1) > 0
    assert_allclose(
        (rest / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300))[shared & ~accepted],
        (others / np.maximum(others.sum(axis=1, keepdims=True), 1e-300))[shared & ~accepted],
        atol=1e-9,
    )


@settings(max_examples=60)
@given(opinions(), st.integers(0, 100))
def test_a_weight_of_two_is_a_member_twice(P, seed):
    weights = np.random.default_rng(seed).integers(1, 4, P.shape[1])
    repeated = np.repeat(P, weights, axis=1)
    for make in (Mean, Product, Majority, Borda):
        assert_allclose(make(weights).fuse(P), make().fuse(repeated), atol=1e-9)
    k = 1 + int(weights.sum()) // 2
    assert_allclose(KOfN(k, weights=weights).fuse(P), KOfN(k).fuse(repeated), atol=1e-9)


@settings(max_examples=60)
@given(opinions())
def test_order_rules_are_numpys_statistics(P):
    def normalised(statistic):
        return statistic / statistic.sum(axis=1, keepdims=True)

    medians = np.median(P, axis=1)
    kept = medians.sum(axis=1) > 0
    assert_allclose(Median().fuse(P)[kept], normalised(medians[kept]), atol=1e-12)
    trimmed = stats.trim_mean(P, 0.2, axis=1)
    kept = trimmed.sum(axis=1) > 0
    assert_allclose(TrimmedMean(0.2).fuse(P)[kept], normalised(trimmed[kept]), atol=1e-12)
    assert_allclose(Max().fuse(P), normalised(P.max(axis=1)), atol=1e-12)


def test_rounding_breaks_no_tie():
    P = np.array([[[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        for rule in UNWEIGHTED:
            assert rule.fuse(P[:, order]).argmax() == 0


def test_half_precision_and_vetoes_give_no_nan():
    vetoes = np.array([[[1, 0], [0, 1]]], dtype=np.float32)
    for rule in UNWEIGHTED:
        assert_allclose(rule.fuse(vetoes), 0.5)


def test_a_row_of_which_nobody_speaks_is_undecided_and_the_oracle_wrong():
    P = np.array([[[np.nan] * 3] * 2, [[0.1, 0.7, 0.2]] * 2])
    for rule in (*UNWEIGHTED, *POSITIVE):
        assert_allclose(rule.fuse(P)[0], 1 / 3)
        assert_allclose(rule.importance(P)[0], 0.5)
    for label in range(3):
        assert Oracle().fuse(P, y=[label, 1])[0].argmax() != label


def test_and_with_a_silent_member_asks_the_others():
    P = np.array([[[0.2, 0.8], [np.nan, np.nan], [0.4, 0.6]]])
    assert_allclose(KOfN("all").fuse(P), [[0.4, 0.6]])
    assert_allclose(KOfN(3).fuse(P), [[1.0, 0.0]])  # three votes are not to be had


def test_k_of_n_counts_the_votes_of_raw_scores():
    scores = Predictions(np.array([[[9.0, 5.0], [-3.0, -2.0], [0.1, 0.2]]]), kind="score")
    assert KOfN(2).fuse(scores).argmax() == 1
    assert KOfN(3).fuse(scores).argmax() == 0


def test_learnt_fusers_heed_sample_weight():
    y = np.array([0, 1, 0, 1])
    one, other = np.eye(2)[[0, 1, 1, 0]], np.eye(2)[[1, 0, 0, 1]]
    P = np.stack([one, other], axis=1)
    weight = [1, 1, 5, 5]
    assert SingleBest().fit(P, y, sample_weight=weight).best_ == 1
    assert SingleBest().fit(P, y, sample_weight=weight[::-1]).best_ == 0
    assert_allclose(Mean("accuracy").fit(P, y, sample_weight=weight).weights_, [1 / 6, 5 / 6])


def test_log_odds_are_measured_against_chance():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 2000)
    guess = np.eye(4)[rng.integers(0, 4, 2000)]
    half = np.eye(4)[np.where(rng.random(2000) < 0.5, y, (y + 1) % 4)]
    weights = Majority("log_odds").fit(np.stack([guess, half], axis=1), y).weights_
    assert weights[1] > 0.9  # half right of four classes is far better than chance


def test_single_best_that_is_silent_has_a_stand_in():
    y = [0, 1]
    P = np.stack([np.eye(2)[y], np.full((2, 2), 0.5)], axis=1)
    best = SingleBest().fit(P, y)
    P[0, 0] = np.nan
    assert_allclose(best.fuse(P)[0], [0.5, 0.5])
    assert_allclose(best.importance(P), [[0, 1], [1, 0]])


def test_a_fitted_fuser_aligns_the_classes_or_refuses_them():
    known = np.array([["cat", "dog"], ["dog", "dog"], ["dog", "cat"], ["cat", "cat"]])
    X = np.arange(4.0)[:, None]
    fuser = covey.fusers.DynamicSelection("lca", 1).fit(known, ["cat", "dog", "dog", "cat"], X)
    assert_allclose(fuser.fuse([["dog"], ["dog"]], X[:1]), [[0.0, 1.0]])
    with pytest.raises(ValueError, match="hold the label 'eel'"):
        fuser.fuse([["dog"], ["eel"]], X[:1])


def test_by_hand():
    two = [[[0.9, 0.1]], [[0.5, 0.5]]]
    # sqrt(.9 * .5) : sqrt(.1 * .5) = 3 : 1
    assert_allclose(Product().fuse(two), [[0.75, 0.25]])
    assert_allclose(Mean().fuse(two), [[0.7, 0.3]])
    assert_allclose(Mean([3, 1]).fuse(two), [[0.8, 0.2]])
    assert_allclose(Max().fuse(two), [[0.9 / 1.4, 0.5 / 1.4]])
    assert_allclose(Min().fuse(two), [[0.5 / 0.6, 0.1 / 0.6]])
    # Points: member 1 gives 2, 1, 0; member 2 gives 0, 1, 2; member 3 ties the first two: 1, 1, 0.
    scores = np.array([[[9.0, 5, 1], [-7, -6, -5], [0.3, 0.3, 0.1]]])
    fused = Borda().fuse(Predictions(scores, kind="score"))
    assert_allclose(fused, [[3 / 8, 3 / 8, 2 / 8]])


def test_borda_takes_incomparable_scores_and_all_tied_is_uniform():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20, 3, 4))
    stretched = np.exp(scores * [[[1.0], [30.0], [0.01]]])
    one, other = (Borda().fuse(Predictions(s, kind="score")) for s in (scores, stretched))
    assert_allclose(one, other)
    assert_allclose(Borda().fuse(np.full((2, 3, 4), 0.25)), 0.25)


@pytest.mark.parametrize("rule", ["mean", "product", "majority", "borda"])
def test_where_only_members_without_weight_have_spoken_these_decide(rule):
    P = np.array([[[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]], [[np.nan] * 2, [0.2, 0.8], [0.4, 0.6]]])
    weighted = make_fuser(rule, weights=[1, 0, 0])
    alone, others = make_fuser(rule).fuse(P[:1, :1]), make_fuser(rule).fuse(P[1:, 1:])
    assert_allclose(weighted.fuse(P), np.concatenate([alone, others]))
    assert_allclose(weighted.importance(P), [[1, 0, 0], [0, 0.5, 0.5]])


def test_numbers_of_members_without_weight_are_better_than_none():
    P = Predictions([[np.nan, 10.0], [3.0, 10.0], [np.nan, np.nan]], kind="value")
    assert_allclose(Mean(weights=[1, 0]).fuse(P), [10.0, 3.0, np.nan])
    assert_allclose(Mean(weights=[1, 0]).importance(P)[:2], [[0, 1], [1, 0]])


def test_k_of_n_counts_no_vote_without_weight():
    P = np.array([[[np.nan] * 2, [0.2, 0.8]]])
    rule = KOfN(1, weights=[1, 0])
    assert_allclose(rule.fuse(P), [[1.0, 0.0]])
    assert_allclose(rule.importance(P), [[0.0, 1.0]])


def test_product_leaves_out_members_that_did_not_speak():
    P = Predictions([[[0.9, 0.1], [0.2, 0.8]]], available=np.array([[True, False]]))
    assert_allclose(Product().fuse(P), [[0.9, 0.1]])
    assert_allclose(Product().importance(P), [[1.0, 0.0]])
    nan = np.array([[[0.9, 0.1], [np.nan, np.nan]]])
    assert_allclose(covey.fuse(nan, "product"), [[0.9, 0.1]])


def test_a_class_that_a_member_never_saw():
    # The second member knows only the first two classes.
    P = Predictions(
        [[[0.2, 0.2, 0.6], [0.5, 0.5, 0.0]]],
        seen=np.array([[True, True, True], [True, True, False]]),
    )
    assert_allclose(Mean().fuse(P), np.array([[0.35, 0.35, 0.6]]) / 1.3)
    assert Product().fuse(P).argmax() == 2
    assert_allclose(Max().fuse(P), np.array([[0.5, 0.5, 0.6]]) / 1.6)
    assert_allclose(Min().fuse(P), [[0.2, 0.2, 0.6]])
    # One vote of one member that knows the third class, none of two for the first two but half.
    assert_allclose(Majority().fuse(P), np.array([[0.5, 0.0, 1.0]]) / 1.5)
    # Two points of two; ties have none.
    assert_allclose(Borda().fuse(P), [[0.0, 0.0, 1.0]])


@settings(max_examples=50)
@given(opinions(n_classes=4), st.integers(0, 10**6))
def test_members_abstain_on_classes_that_they_never_saw(values, seed):
    rng = np.random.default_rng(seed)
    seen = rng.random(values.shape[1:]) < 0.7
    seen[:, 0] = True
    values = values * seen + 1e-9 * seen
    values /= values.sum(axis=2, keepdims=True)
    P, weights = Predictions(values, seen=seen), rng.uniform(0.1, 1.0, values.shape[1])
    for rule in (Mean(weights), Majority(weights), Borda(weights)):
        fused = rule.fuse(P)
        for row, found in zip(values, fused, strict=True):
            wanted = np.zeros(4)
            for code in range(4):
                total = 0.0
                for own, knows, weight in zip(row, seen, weights, strict=True):
                    known = np.flatnonzero(knows)
                    if not knows[code] or (isinstance(rule, Borda) and len(known) < 2):
                        continue
                    total += weight
                    if isinstance(rule, Mean):
                        wanted[code] += weight * own[code]
                    elif isinstance(rule, Majority):
                        wanted[code] += weight * (own.argmax() == code)
                    else:
                        wanted[code] += weight * np.mean(own[code] > own[known[known != code]])
                wanted[code] /= total or 1.0
            even = np.full(4, 0.25)
            wanted = wanted / wanted.sum() if wanted.any() else even
            assert_allclose(found, wanted, atol=1e-12)


@settings(max_examples=50)
@given(opinions(n_classes=3), st.integers(0, 1000))
def test_oracle_is_right_exactly_where_some_member_is(P, seed):
    y = np.random.default_rng(seed).integers(0, 3, len(P))
    right = Oracle().fuse(P, y=y).argmax(axis=1) == y
    assert_array_equal(right, (P.argmax(axis=2) == y[:, None]).any(axis=1))
    importance = Oracle().importance(P, y=y)
    assert_array_equal(importance.sum(axis=1), 1)
    assert set(np.unique(importance)) <= {0.0, 1.0}
    best = SingleBest().fit(P, y)
    assert right.mean() >= (best.fuse(P).argmax(axis=1) == y).mean()
    assert (best.fuse(P).argmax(axis=1) == y).mean() == max(
        (P.argmax(axis=2) == y[:, None]).mean(axis=0)
    )


def test_learnt_weights_follow_accuracy():
    y = np.array([0, 1] * 50)
    good, poor = np.eye(2)[y], np.eye(2)[y]
    poor[:40] = poor[:40, ::-1]
    awful = np.eye(2)[1 - y]
    P = np.stack([good, poor, awful], axis=1)
    assert_allclose(Mean("accuracy").fit(P, y).weights_, np.array([1, 0.6, 0]) / 1.6)
    weights = Majority("log_odds").fit(P, y).weights_
    assert weights[0] > 5 * weights[1] > 0 == weights[2]
    with pytest.raises(ValueError, match="learns how to fuse and needs y"):
        Mean("accuracy").fit(P)


def test_voting_agrees_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    members = [
        ("logistic", LogisticRegression(max_iter=500)),
        ("bayes", GaussianNB()),
        ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
        ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
    ]
    for weights in (None, [1, 2, 3, 1]):
        hard = VotingClassifier(members, voting="hard", weights=weights).fit(X, y)
        labels = np.stack([member.predict(X) for member in hard.estimators_], axis=1)
        fused = covey.fuse(labels, "majority", weights)
        assert_array_equal(hard.classes_[fused.argmax(axis=1)], hard.predict(X))
        soft = VotingClassifier(members, voting="soft", weights=weights).fit(X, y)
        saved = [member.predict_proba(X) for member in soft.estimators_]
        assert_allclose(covey.fuse(saved, "mean", weights), soft.predict_proba(X), atol=1e-12)


def test_importance_names_those_who_agree():
    P = np.array([[[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]])
    assert_allclose(Majority().importance(P), [[0.5, 0.5, 0.0]])
    assert_allclose(Median().importance(P), [[0.5, 0.5, 0.0]])
    assert_allclose(Mean().importance(P), [[1 / 3, 1 / 3, 1 / 3]])
    assert_allclose(Majority([1, 3, 1]).importance(P), [[0.25, 0.75, 0.0]])
    # Nobody agrees with the third class, which is everyone's second choice.
    nobody = np.array([[[0.6, 0.0, 0.4], [0.0, 0.6, 0.4]]])
    assert Product().fuse(nobody).argmax() == 2
    assert_allclose(Min().importance(nobody), [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda P: Oracle().fuse(P), "needs the true labels y"),
        (lambda P: KOfN(0).fuse(P), "k == 0, must be > 0"),
        (lambda P: KOfN("most").fuse(P), "k must be one of 'all'"),
        (lambda P: KOfN(4).fuse(P), "k=4 asks for more votes than there are: 3"),
        (lambda P: KOfN(4, weights=[1, 1, 1]).fuse(P), "k=4 asks for more votes"),
        (lambda P: KOfN(1, "maybe").fuse(P), "positive_class names the label 'maybe'"),
        (lambda P: KOfN().fuse([["a"], ["a"]]), "hold one class alone"),
        (lambda P: Mean([1, 2]).fuse(P), "one number for each of the 3 members"),
        (lambda P: Mean([0, 0, 0]).fuse(P), "not all zero"),
        (lambda P: Mean([1, -1, 1]).fuse(P), "not negative"),
        (lambda P: Mean("fame").fuse(P), "weights must be numbers, None or one of 'accuracy'"),
        (lambda P: TrimmedMean(0.5).fuse(P), "proportion == 0.5, must be < 0.5"),
        (lambda P: Mean().fuse(Predictions(P, kind="score")), "Mean fuses .* of kind probability"),
        (lambda P: Mean().fuse(2 * P), "'member 1' gives .* as a probability"),
        (lambda P: Mean().fuse(P / 2), "'member 1' gives sample 0 probabilities that sum to 0.5"),
    ],
)
def test_bad_input_gets_one_sentence(make, message):
    P = np.random.default_rng(0).dirichlet([1, 1], (4, 3))
    P[0, 0] = [0.3, 0.7]
    with pytest.raises(ValueError, match=message):
        make(P)


# -- the rules of boosting itself --------------------------------------------------------------


def numbers(*rows, **more):
    return Predictions(np.array(rows, dtype=float), kind="value", **more)


@pytest.mark.parametrize("check", FUSER_CHECKS, ids=lambda check: check.__name__)
def test_the_last_stage_keeps_the_contract_of_fusers(check):
    check(LastStage())


def test_importance_is_the_share_of_the_way():
    P = numbers([1, 4, 2, 2], [5, 5, 5, 5])
    assert_array_equal(LastStage().fuse(P), [2, 5])
    # From where the first member stands; where nothing moves, the last one decided.
    assert_allclose(LastStage().importance(P), [[0, 0.6, 0.4, 0], [0, 0, 0, 1]])
    assert_allclose(LastStage(0).importance(P), [[1 / 6, 3 / 6, 2 / 6, 0], [1, 0, 0, 0]])
    stages = [[[0.6, 0.4]], [[0.5, 0.5]], [[0.9, 0.1]]]
    assert_allclose(LastStage([0.2, 0.8]).importance(stages), [[4 / 9, 1 / 9, 4 / 9]])


def test_members_that_are_absent_correct_nothing():
    P = numbers([1, 4, 9, 2], [7, 3, 9, 9], available=[[1, 1, 0, 1], [0, 1, 0, 0]])
    assert_array_equal(LastStage(0).fuse(P), [2, 3])
    assert_allclose(LastStage(0).importance(P), [[1 / 6, 3 / 6, 0, 2 / 6], [0, 1, 0, 0]])
    assert_allclose(LastStage().importance(P), [[0, 0.6, 0, 0.4], [0, 1, 0, 0]])


def test_a_start_that_does_not_fit_is_refused():
    stages = [[[0.6, 0.4]], [[0.5, 0.5]]]
    with pytest.raises(ValueError, match="start must hold one number for each of the 2 classes"):
        LastStage([0.2, 0.3, 0.5]).fuse(stages)
    with pytest.raises(ValueError, match="start must hold one number, got an array of shape"):
        LastStage([1, 2]).fuse(numbers([1, 2]))


def test_weighted_median_by_definition():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(50, 7)), rng.uniform(0.1, 1, 7)
    available = rng.random((50, 7)) < 0.7
    available[:, 0] = True
    fused = WeightedMedian(weights).fuse(numbers(*values, available=available))
    for row, known, median in zip(values, available, fused, strict=True):
        row, weight = row[known], weights[known]
        enough = [x for x in row if weight[row <= x].sum() >= 0.5 * weight.sum()]
        assert median == min(enough)


def test_weighted_median_of_equal_weights_is_the_median_of_an_odd_number():
    values = np.random.default_rng(0).normal(size=(20, 5))
    P = numbers(*values)
    assert_array_equal(WeightedMedian().fuse(P), Median().fuse(P))
    assert_array_equal(WeightedMedian().importance(P), Median().importance(P))


def test_members_that_predict_the_median_share_by_weight():
    P = numbers([2, 1, 2, 9])
    assert_allclose(WeightedMedian([1, 1, 3, 1]).importance(P), [[0.25, 0, 0.75, 0]])
