"""The stack of runs is the estimator, split by split."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.utils import check_random_state

from covey import SubsetEnsembleClassifier
from reproduction.ensembles import Constants, grow, scores, stages, tuned_sizes, under

N_MEMBERS = 4


def wine():
    X, y = load_wine(return_X_y=True)
    draw = np.random.default_rng(0)
    orders = [draw.permutation(len(X)) for _ in range(3)]
    return X, y, [np.sort(order[:120]) for order in orders], [order[120:] for order in orders]


def fitted(X, y, rows, seed, **more):
    return SubsetEnsembleClassifier.paper(
        n_estimators=N_MEMBERS, random_state=seed, select_size=None, **more
    ).fit(X[rows], y[rows])


def seed_of(random_state):
    """What an estimator makes of its random_state."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def test_the_stack_equals_paper_fitted_split_by_split():
    X, y, training, _ = wine()
    stack = grow(
        X, y, 3, training, Constants(), seed=seed_of(7), runs=[0, 0, 0], n_members=N_MEMBERS
    )
    for rows, ensembles in zip(training, stack, strict=True):
        for kind, flip_probability in (("theta", 0.0), ("both", 0.01)):
            flock = fitted(X, y, rows, 7, flip_probability=flip_probability)
            assert np.array_equal(flock.support_, ensembles[kind].support)
            assert np.array_equal(flock.n_iter_, ensembles[kind].n_iter)
            np.testing.assert_allclose(
                ensembles[kind].coef, flock.member_coef_, rtol=1e-6, atol=1e-9
            )
            np.testing.assert_allclose(
                ensembles[kind].intercept, flock.member_intercept_, rtol=1e-6, atol=1e-6
            )


def test_another_eta_is_that_of_the_estimator():
    X, y, training, _ = wine()
    rows = training[0]
    Z = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
    Z = np.column_stack([Z, np.ones(len(Z))])
    largest = np.linalg.eigvalsh(Z.T @ Z)[-1]
    flock = fitted(X, y, rows, 7, learning_rate=0.4 * 3 / largest, tol=-0.01)
    stack = grow(
        X, y, 3, [rows], Constants(-0.01, 0.4), seed=seed_of(7), runs=[0], n_members=N_MEMBERS
    )
    assert np.array_equal(flock.support_, stack[0]["both"].support)
    np.testing.assert_allclose(stack[0]["both"].coef, flock.member_coef_, rtol=1e-6, atol=1e-9)


def test_runs_are_the_same_alone_and_in_a_stack():
    X, y, training, _ = wine()
    settings = {"seed": 3, "n_members": N_MEMBERS}
    together = grow(X, y, 3, training, Constants(), runs=[4, 5, 6], **settings)
    alone = grow(X, y, 3, training[1:2], Constants(), runs=[5], **settings)
    for kind in ("theta", "both"):
        np.testing.assert_allclose(alone[0][kind].coef, together[1][kind].coef, rtol=1e-9)


def test_without_flips_every_member_has_all_features_and_with_flips_some_have_not():
    X, y, training, _ = wine()
    ensembles = grow(X, y, 3, training, Constants(), seed=0, runs=[0, 1, 2], n_members=6)
    assert all(one["theta"].support.all() for one in ensembles)
    assert not all(one["both"].support.all() for one in ensembles)


def test_a_column_that_is_constant_in_one_training_set_says_nothing_there():
    X, y, training, _ = wine()
    X = np.column_stack([X, np.zeros(len(X))])
    X[np.setdiff1d(np.arange(len(X)), training[0])[0], -1] = 1e3
    ensembles = grow(X, y, 3, training, Constants(), seed=0, runs=[0, 1, 2], n_members=N_MEMBERS)
    for one in ensembles[0].values():
        assert not one.coef[:, :, -1].any()
        assert not one.support[:, -1].any()
        assert np.isfinite(one.coef).all()


def test_scores_are_what_the_estimator_says():
    X, y, training, test = wine()
    rows = training[0]
    ensembles = grow(X, y, 3, [rows], Constants(), seed=seed_of(7), runs=[0], n_members=8)
    values = scores(ensembles[0], (X[rows], y[rows]), (X[test[0]], y[test[0]]))
    flock = SubsetEnsembleClassifier.paper(n_estimators=8, random_state=7).fit(X[rows], y[rows])
    assert values["k_equal_both"] == flock.n_estimators_
    assert values["equal_both"] == pytest.approx(flock.score(X[test[0]], y[test[0]]))
    every = fitted(X, y, rows, 7)
    right = stages(ensembles[0]["both"], X[test[0]], y[test[0]])
    assert right.oracle[N_MEMBERS - 1] == pytest.approx(every.oracle_score(X[test[0]], y[test[0]]))
    assert right.member[2] == pytest.approx(every.estimators_[2].score(X[test[0]], y[test[0]]))
    assert values["baseline"] == pytest.approx(
        stages(ensembles[0]["theta"], X[test[0]], y[test[0]]).member[0]
    )


def test_one_k_is_that_of_equal_weights_for_the_oracle_too():
    X, y, training, test = wine()
    tuning, tested = (X[test[0][:30]], y[test[0][:30]]), (X[test[0][30:]], y[test[0][30:]])
    for ensembles in grow(X, y, 3, training, Constants(), seed=2, runs=[0, 1, 2], n_members=8):
        values = scores(ensembles, tuning, tested)
        for kind, grown in ensembles.items():
            own, reached = stages(grown, *tuning), stages(grown, *tested)
            best = np.flatnonzero(own.equal == own.equal.max())
            assert values[f"oracle_{kind}_one"] == reached.oracle[best[0]]
            assert values[f"oracle_{kind}_one_most"] == reached.oracle[best[-1]]
            assert values[f"equal_{kind}_most"] == reached.equal[best[-1]]
            assert under("_one", f"equal_{kind}") == f"equal_{kind}"


def test_the_oracle_is_no_worse_than_its_best_member():
    X, y, training, test = wine()
    grown = grow(X, y, 3, training, Constants(), seed=1, runs=[0, 1, 2], n_members=6)
    for number, one in enumerate(grown):
        right = stages(one["both"], X[test[number]], y[test[number]])
        assert (right.oracle >= np.maximum.accumulate(right.member)).all()
        assert (np.diff(right.oracle) >= 0).all()


def test_of_equally_good_sizes_the_fewest_and_the_most_are_given():
    assert tuned_sizes(np.array([0.9, 0.9, 0.8, 0.9, 0.1])) == (1, 4)
    assert tuned_sizes(np.array([0.1, 0.3, 0.2])) == (2, 2)
