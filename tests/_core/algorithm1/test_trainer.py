import numpy as np
import pytest
from scipy import sparse

from covey._core.algorithm1.rows import DivergedError, TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.losses import ClassLoss
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows, normals
from covey._core.softmax_linear import class_blocks
from tests._core.literal import algorithm_1

PRINTED = TrainingSettings(
    learning_rate="constant",
    tol=0.0,
    patience=None,
    max_iter=60,
    init_scale=0.5,
    acceptance="greedy",
    temperature=0.01,
    fit_intercept=True,
)


def replaced(settings, **changes):
    return TrainingSettings(**{**vars(settings), **changes})


def problem(n_classes, n_rows=140, n_features=9, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n_rows) % n_classes)
    X = (
        rng.standard_normal((n_rows, n_features))
        + 0.7 * rng.standard_normal((n_classes, n_features))[y]
    )
    return X - X.mean(axis=0), y


def trainer(X, y, settings, *, weight=None, runs=(0,), flip_probability=0.01, seed=3, design=None):
    n_rows, n_features = X.shape
    weight = np.ones((len(runs), n_rows)) if weight is None else np.atleast_2d(weight)
    design = Design(np.ascontiguousarray(X.T)) if design is None else design
    return StackTrainer(
        in_memory(design, class_blocks(np.bincount(y)), weight, settings),
        settings,
        seed=seed,
        runs=runs,
        flip_probability=np.broadcast_to(np.asarray(flip_probability, float), len(runs)),
        unit_of_feature=np.arange(n_features),
        usable=np.ones(n_features, dtype=bool),
    )


def literal_run(X, y, settings, eta, *, n_members, p_lambda, weight=None, run=0, seed=3):
    n_classes, n_features = y.max() + 1, X.shape[1]

    def starts(k):
        draw = settings.init_scale * normals(
            seed, Purpose.START, run, k, (n_classes, n_features + 1)
        )
        return draw[:, :-1], draw[:, -1]

    def uniforms(k, step):
        return UniformRows(seed, Purpose.FLIP, run, k, n_features).read(step, 1)[0]

    return list(
        algorithm_1(
            X,
            y,
            n_members,
            eta,
            settings.tol,
            p_lambda,
            starts,
            uniforms,
            weight,
            settings.max_iter,
            settings.subset_penalty,
            settings.loss.name,
            settings.reweighting,
        )
    )


@pytest.mark.parametrize(
    ("p_lambda", "n_classes", "weighted", "penalty"),
    [  # every two of them together
        (0.0, 2, False, 0.0),
        (0.0, 7, True, 0.0),
        (0.0, 2, True, 0.002),
        (0.01, 7, False, 0.0),
        (0.01, 2, True, 0.0),
        (0.01, 7, True, 0.002),
        (0.3, 2, False, 0.0),
        (0.3, 2, True, 0.0),
        (0.3, 7, True, 0.002),
    ],
)
def test_trainer_follows_the_printed_algorithm_step_by_step(
    p_lambda, n_classes, weighted, penalty
):
    X, y = problem(n_classes)
    printed = replaced(PRINTED, subset_penalty=penalty)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X)) if weighted else None
    eta, n_members = 2e-3, 4
    passed_through = [[] for _ in range(n_members)]
    for k, *state in literal_run(
        X, y, printed, eta, n_members=n_members, p_lambda=p_lambda, weight=weight
    ):
        passed_through[k].append(state)
    subsets = {tuple(support) for states in passed_through for *_, support in states}
    assert (len(subsets) > 1) == (p_lambda > 0), "flips are taken, or there is nothing to compare"
    for member, states in enumerate(passed_through):
        # Stopping the trainer after each number of steps shows every state it passes through.
        for n_steps, (theta, intercept, support) in enumerate(states, start=1):
            settings = replaced(printed, learning_rate=eta, max_iter=n_steps)
            grower = trainer(X, y, settings, weight=weight, flip_probability=p_lambda)
            for earlier in passed_through[:member]:
                last_theta, last_intercept, last_support = earlier[-1]
                grower.see((last_theta * last_support)[:, None, :], last_intercept[:, None])
            grown = grower.grow()
            np.testing.assert_array_equal(grown.support[0], support.astype(bool))
            np.testing.assert_allclose(grown.theta[:, 0], theta * support, rtol=0, atol=1e-10)
            np.testing.assert_allclose(grown.intercept[:, 0], intercept, rtol=0, atol=1e-10)
        # And it stops where the printed algorithm stops.
        grower = trainer(
            X, y, replaced(printed, learning_rate=eta), weight=weight, flip_probability=p_lambda
        )
        for earlier in passed_through[:member]:
            last_theta, last_intercept, last_support = earlier[-1]
            grower.see((last_theta * last_support)[:, None, :], last_intercept[:, None])
        stopped_itself = len(states) < printed.max_iter
        grown = grower.grow()
        assert grown.n_iter[0] == len(states) + stopped_itself
        # What it says of each step is what happened.
        supports = np.array([np.ones(X.shape[1]), *(support for *_, support in states)])
        changed = (supports[1:] != supports[:-1]).any(axis=1)
        history = grown.history[0]
        np.testing.assert_array_equal(history.accepted_flip[1 : len(states) + 1], changed)
        np.testing.assert_array_equal(history.subset_size[: len(states) + 1], supports.sum(axis=1))


@pytest.mark.parametrize("reweighting", ["mean_probability", "divergence", "adaboost", None])
@pytest.mark.parametrize("loss", ["log", "exponential", "focal"])
def test_other_losses_and_reweightings_follow_their_literal_version(loss, reweighting):
    X, y = problem(3)
    eta, n_members, p_lambda = 1e-3, 3, 0.1
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    settings = replaced(
        PRINTED,
        learning_rate=eta,
        tol=-0.01,
        max_iter=25,
        loss=ClassLoss(loss),
        reweighting=reweighting,
    )
    ends = {}
    for k, *state in literal_run(
        X, y, settings, eta, n_members=n_members, p_lambda=p_lambda, weight=weight
    ):
        ends[k] = state
    grower = trainer(X, y, settings, weight=weight, flip_probability=p_lambda)
    assert any(support.sum() < X.shape[1] for *_, support in ends.values())
    for k in range(n_members):
        grown = grower.grow()
        theta, intercept, support = ends[k]
        np.testing.assert_array_equal(grown.support[0], support.astype(bool))
        np.testing.assert_allclose(grown.theta[:, 0], theta * support, rtol=0, atol=1e-10)
        np.testing.assert_allclose(grown.intercept[:, 0], intercept, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["log", "exponential", "focal"])
@pytest.mark.parametrize("reweighting", ["mean_probability", "adaboost"])
def test_automatic_steps_never_lose_likelihood_under_any_loss(loss, reweighting):
    X, y = problem(4)
    settings = replaced(
        PRINTED, learning_rate="auto", tol=-np.inf, loss=ClassLoss(loss), reweighting=reweighting
    )
    grower = trainer(X, y, settings, flip_probability=0.0)
    for _ in range(3):
        objective = grower.grow().history[0].objective
        assert (np.diff(objective) > -1e-9 * abs(objective[0])).all()


SETTINGS = {
    "printed": PRINTED,
    "patient": replaced(PRINTED, learning_rate="auto", patience=5, tol=0.0),
    "metropolis": replaced(PRINTED, patience=10, acceptance="metropolis"),
    "endless": replaced(PRINTED, patience=5, tol=-np.inf, max_iter=40),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_run_is_the_same_alone_and_in_a_stack(settings):
    X, y = problem(3)
    rng = np.random.default_rng(5)
    runs = [4, 0, 9, 2]
    weight = rng.uniform(0.5, 1.5, (4, len(X))) * (rng.random((4, len(X))) < 0.8)
    flips = np.array([0.0, 0.05, 0.3, 0.1])
    together = trainer(X, y, settings, weight=weight, runs=runs, flip_probability=flips)
    alone = [
        trainer(X, y, settings, weight=weight[i], runs=[run], flip_probability=flips[i])
        for i, run in enumerate(runs)
    ]
    for _ in range(3):
        stacked = together.grow()
        for i, grower in enumerate(alone):
            single = grower.grow()
            np.testing.assert_array_equal(stacked.support[i], single.support[0])
            np.testing.assert_allclose(stacked.theta[:, i], single.theta[:, 0], atol=1e-9)
            assert stacked.n_iter[i] == single.n_iter[0]
            for name, values in vars(stacked.history[i]).items():
                np.testing.assert_allclose(
                    values.astype(float), getattr(single.history[0], name), atol=1e-9
                )
    assert len(set(stacked.n_iter)) > 1 or settings.tol == -np.inf, "runs end at different times"


def test_sparse_columns_give_the_dense_members():
    X, y = problem(3)
    X = np.where(np.abs(X) > 0.6, X + 1.0, 0.0)
    order = np.argsort(y, kind="stable")
    X, y, weight = X[order], y[order], np.ones(len(X))
    columns = np.ascontiguousarray(X.T)
    mean, deviation = moments(columns, weight)
    columns = (columns - mean[:, None]) / deviation[:, None]
    raw = sparse.csc_array(X)
    sparse_mean, sparse_deviation = moments(raw, weight)
    settings = replaced(PRINTED, learning_rate="auto", patience=8)
    dense = trainer(X, y, settings, flip_probability=0.1, design=Design(columns))
    implicit = trainer(
        X,
        y,
        settings,
        flip_probability=0.1,
        design=Design(raw, sparse_mean[None], sparse_deviation[None]),
    )
    for _ in range(3):
        one, other = dense.grow(), implicit.grow()
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_allclose(one.theta, other.theta, atol=1e-9)


def test_best_state_is_kept_unless_tol_is_minus_infinity():
    X, y = problem(3, seed=2)
    # Far too long a step: accuracy goes up and down.
    settings = replaced(PRINTED, learning_rate=0.5, patience=30, max_iter=60)
    grown = trainer(X, y, settings, flip_probability=0.0).grow()
    history = grown.history[0].weighted_accuracy
    assert history[-1] < history.max()
    logits = grown.theta[:, 0] @ X.T + grown.intercept
    assert (logits.argmax(axis=0) == y).mean() == pytest.approx(history.max())
    last = trainer(X, y, replaced(settings, tol=-np.inf), flip_probability=0.0).grow()
    assert last.n_iter[0] == 60
    logits = last.theta[:, 0] @ X.T + last.intercept
    assert (logits.argmax(axis=0) == y).mean() == pytest.approx(
        last.history[0].weighted_accuracy[-1]
    )


def test_patience_ends_a_plateau_and_the_printed_rule_does_not():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    settings = replaced(PRINTED, learning_rate=0.1, init_scale=0.0, max_iter=50)
    printed = trainer(X, y, settings, flip_probability=0.0).grow()
    assert printed.n_iter[0] == 50
    patient = trainer(X, y, replaced(settings, patience=7), flip_probability=0.0).grow()
    assert patient.n_iter[0] == 1 + 7  # one step to perfection, seven in vain


def test_auto_learning_rate_climbs_monotonically():
    X, y = problem(4)
    settings = replaced(PRINTED, learning_rate="auto", patience=5, tol=-np.inf, max_iter=100)
    grower = trainer(X * np.geomspace(0.01, 10, X.shape[1]), y, settings, flip_probability=0.0)
    for _ in range(4):
        assert (np.diff(grower.grow().history[0].objective) > 0).all()


def test_auto_learning_rate_follows_each_members_own_weights():
    X, y = problem(3)
    weight = np.random.default_rng(0).uniform(0, 1, (1, len(X)))
    Z = np.column_stack([X, np.ones(len(X))])
    for w in (weight, 1e-3 * weight):
        grower = trainer(X, y, replaced(PRINTED, learning_rate="auto"), weight=w)
        highest = np.linalg.eigvalsh(Z.T @ (w[0][:, None] * Z)).max()
        np.testing.assert_allclose(grower._rates.of_member(False), 2 / highest, rtol=0.05)
    constant = trainer(X, y, replaced(PRINTED, learning_rate="constant"))
    highest = np.linalg.eigvalsh(Z.T @ Z).max()
    np.testing.assert_allclose(constant._rates.of_member(False), 1.5 * 3 / highest, rtol=0.05)
    constant.grow()
    np.testing.assert_allclose(constant._rates.of_member(False), 1.5 * 3 / highest, rtol=0.05)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_constant_rate_is_the_stated_formula(n_classes):
    X, y = problem(n_classes, n_features=30)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]  # close eigenvalues, on which power iterations are slow
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    grown = trainer(X, y, replaced(PRINTED, learning_rate="constant"), weight=weight)
    Z = np.column_stack([X, np.ones(len(X))])
    largest = np.linalg.eigvalsh(Z.T @ (weight[:, None] * Z))[-1]
    rate = grown._rates.of_member(is_first=True)
    np.testing.assert_allclose(rate, 1.5 * n_classes / largest, rtol=1e-12)


def test_start_has_the_stated_spread_and_intercepts_can_be_left_out():
    X, y = problem(7, n_features=40)
    for scale in (0.0, 0.2, 3.0):
        settings = replaced(PRINTED, learning_rate=1e-12, init_scale=scale, max_iter=1)
        grown = trainer(X, y, settings, flip_probability=0.0).grow()
        assert abs(grown.theta.std() - scale) <= 0.1 * scale + 1e-9
    none = trainer(X, y, replaced(PRINTED, fit_intercept=False), flip_probability=0.0).grow()
    assert not none.intercept.any()


def test_patience_counts_steps_since_the_best():
    X, y = problem(3, seed=2)
    settings = replaced(PRINTED, learning_rate=0.5, patience=6, max_iter=500)
    grown = trainer(X, y, settings, flip_probability=0.0).grow()
    history = grown.history[0].weighted_accuracy
    records = np.flatnonzero(history > np.maximum.accumulate(np.append(-1, history))[:-1] + 1e-12)
    assert (np.diff(history[records[-1] :]) > 0).any(), "it rises again, but not above the best"
    assert grown.n_iter[0] == records[-1] + 6


def test_the_latest_of_equally_accurate_states_is_kept():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    settings = replaced(PRINTED, learning_rate=0.1, init_scale=0.0, patience=7)
    kept = trainer(X, y, settings, flip_probability=0.0).grow()
    last = trainer(X, y, replaced(settings, tol=-np.inf, max_iter=7), flip_probability=0.0).grow()
    np.testing.assert_array_equal(kept.theta, last.theta)


def test_metropolis_is_greedy_when_cold_and_takes_all_when_hot():
    X, y = problem(3)
    settings = replaced(PRINTED, patience=5, tol=-np.inf, max_iter=60, learning_rate=1e-3)

    def accepted(**changes):
        grower = trainer(X, y, replaced(settings, **changes), flip_probability=0.1)
        return grower.grow().history[0].accepted_flip[1:]

    draws = UniformRows(3, Purpose.FLIP, 0, 0, X.shape[1]).read(0, 60)
    proposed = (draws < 0.1).any(axis=1)
    hot = accepted(acceptance="metropolis", temperature=1e9)
    np.testing.assert_array_equal(hot, proposed)
    greedy = accepted(acceptance="greedy")
    warm = accepted(acceptance="metropolis", temperature=0.02)
    assert greedy.sum() < warm.sum() < hot.sum()


def test_divergence_is_noticed():
    X, y = problem(2)
    settings = replaced(PRINTED, learning_rate=1e307, patience=5)
    with pytest.raises(DivergedError), np.errstate(all="ignore"):
        trainer(1e4 * X, y, settings).grow()


@pytest.mark.parametrize("loss", ["log", "exponential", "focal"])
@pytest.mark.parametrize("reweighting", ["mean_probability", "divergence", "adaboost"])
def test_a_long_table_is_worked_on_in_blocks_with_the_same_result(loss, reweighting, monkeypatch):
    X, y = problem(3, n_rows=700)
    settings = replaced(
        PRINTED, loss=ClassLoss(loss), reweighting=reweighting, learning_rate="auto", max_iter=25
    )
    weight = np.random.default_rng(1).uniform(0.2, 3.0, (2, len(X)))

    def grown():
        grower = trainer(X, y, settings, weight=weight, runs=(0, 1), flip_probability=0.1)
        return [grower.grow() for _ in range(3)]

    whole = grown()
    monkeypatch.setattr("covey._core.algorithm1.rows._MOST_ROWS", 90)
    for one, other in zip(whole, grown(), strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.n_iter, other.n_iter)
        np.testing.assert_allclose(one.theta, other.theta, atol=1e-10)
        np.testing.assert_allclose(one.history[0].objective, other.history[0].objective)
