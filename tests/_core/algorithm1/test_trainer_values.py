import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from covey._checkpoint import Journal
from covey._core.algorithm1.rows import DivergedError, TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer, Step, reweigh
from covey._core.design import Design
from covey._core.losses import ValueLoss
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows, normals
from tests._core import literal_regression as literal

PLAIN = TrainingSettings(
    learning_rate=0.15,
    tol=1e-3,
    patience=4,
    max_iter=40,
    init_scale=0.5,
    acceptance="greedy",
    temperature=0.05,
)
LOSSES = [ValueLoss("squared"), ValueLoss("huber", 0.6), ValueLoss("quantile", quantile=0.3)]
SEED = 3


def replaced(settings, **changes):
    return TrainingSettings(**{**vars(settings), **changes})


def problem(n_rows=50, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * np.abs(X[:, 2]) + 0.3 * rng.standard_normal(n_rows)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (y - y.mean()) / y.std()


def trainer(X, y, loss, settings, *, weight=None, runs=(0,), p=0.1, design=None, journal=None):
    n_features = X.shape[1]
    weight = np.ones((len(runs), len(y))) if weight is None else np.atleast_2d(weight)
    settings = replaced(settings, loss=loss)
    design = Design(np.ascontiguousarray(X.T)) if design is None else design
    return StackTrainer(
        in_memory(design, y, weight, settings),
        settings,
        seed=SEED,
        runs=runs,
        flip_probability=np.full(len(runs), p),
        unit_of_feature=np.arange(n_features),
        usable=np.ones(n_features, dtype=bool),
        journal=journal,
    )


def literal_members(X, y, weight, loss, settings, p, n_members, run=0):
    n_features = X.shape[1]

    def starts(k):
        draw = settings.init_scale * normals(SEED, Purpose.START, run, k, (n_features + 1,))
        return draw[:-1], draw[-1]

    def uniform(purpose, width):
        return lambda k, t: UniformRows(SEED, purpose, run, k, width).read(t, 1)[0]

    return literal.members(
        X,
        y,
        weight,
        n_members,
        kind={"name": loss.name, "threshold": loss.threshold, "q": loss.quantile},
        eta=settings.learning_rate,
        p=p,
        starts=starts,
        flips=uniform(Purpose.FLIP, n_features),
        accepts=lambda k, t: uniform(Purpose.ACCEPT, 1)(k, t)[0],
        alpha=settings.alpha,
        cost=settings.subset_penalty,
        max_iter=settings.max_iter,
        tol=settings.tol,
        patience=settings.patience,
        temperature=settings.temperature if settings.acceptance == "metropolis" else None,
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    "changes",
    [{}, {"acceptance": "metropolis"}, {"alpha": 0.1, "subset_penalty": 0.01}],
    ids=["greedy", "metropolis", "penalised"],
)
def test_members_follow_the_literal_ones_step_by_step(loss, changes):
    X, y = problem()
    settings = replaced(PLAIN, **changes)
    if loss.name == "quantile":
        settings = replaced(settings, learning_rate=0.03, max_iter=25)
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    grown = trainer(X, y, loss, settings, weight=weight)
    flips = 0
    for expected in literal_members(X, y, weight, loss, settings, 0.1, 3):
        theta, b, lam, losses, values, taken = expected
        member = grown.grow()
        past = member.history[0]
        assert_allclose(past.weighted_loss, losses)
        assert_allclose(past.objective, values)
        assert_array_equal(past.accepted_flip, taken)
        assert_array_equal(member.support[0], lam == 1)
        assert_allclose(member.theta[0, 0], theta, atol=1e-12)
        assert_allclose(member.intercept[0, 0], b, atol=1e-12)
        assert member.n_iter[0] == len(losses) - 1
        flips += sum(taken)
    assert flips


def test_runs_of_a_stack_are_those_alone():
    X, y = problem()
    settings = replaced(PLAIN, learning_rate="auto", acceptance="metropolis")
    weight = np.ones((3, len(y)))
    weight[1, ::3] = 0
    weight[2, 10:] = 0.5
    stack = trainer(X, y, LOSSES[1], settings, weight=weight, runs=(4, 7, 9))
    alone = [
        trainer(X, y, LOSSES[1], settings, weight=weight[place], runs=(run,))
        for place, run in enumerate((4, 7, 9))
    ]
    for _ in range(3):
        together = stack.grow()
        for place, single in enumerate(alone):
            member = single.grow()
            assert_array_equal(together.support[place], member.support[0])
            assert together.n_iter[place] == member.n_iter[0]
            assert_allclose(together.theta[:, place], member.theta[:, 0], atol=1e-12)


def test_sparse_columns_are_centred_without_being_dense():
    X, y = problem()
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    mean, scale = moments(X.T, np.ones(len(y)))
    dense = trainer((X - mean) / scale, y, LOSSES[0], PLAIN)
    thin = trainer(
        X, y, LOSSES[0], PLAIN, design=Design(sparse.csc_array(X), mean[None], scale[None])
    )
    for _ in range(2):
        one, other = dense.grow(), thin.grow()
        assert_array_equal(one.support, other.support)
        assert_allclose(one.theta, other.theta, atol=1e-10)


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = problem()
    counts = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = trainer(X, y, LOSSES[1], PLAIN, weight=counts.astype(float))
    repeated = trainer(np.repeat(X, counts, axis=0), np.repeat(y, counts), LOSSES[1], PLAIN)
    for _ in range(3):
        one, other = weighted.grow(), repeated.grow()
        assert_array_equal(one.support, other.support)
        assert_allclose(one.theta, other.theta, atol=1e-9)


def test_without_flips_descent_ends_at_ridge_and_never_rises():
    X, y = problem()
    settings = replaced(
        PLAIN, learning_rate="auto", tol=0.0, patience=50, max_iter=3000, alpha=0.05
    )
    member = trainer(X, y, LOSSES[0], settings, p=0.0).grow()
    gram = X.T @ X / len(y) + 0.05 * np.eye(X.shape[1])
    assert_allclose(member.theta[0, 0], np.linalg.solve(gram, X.T @ y / len(y)), atol=1e-6)
    assert np.diff(member.history[0].objective).max() < 1e-14


@pytest.mark.parametrize("loss", LOSSES[:2], ids=lambda loss: loss.name)
def test_a_finished_member_is_at_the_minimum_on_its_subset(loss):
    X, y = problem()
    X[:, 3] = X[:, 2] + 0.05 * X[:, 3]  # steps would take thousands
    weight = np.random.default_rng(1).uniform(0, 2, (2, len(y)))
    settings = replaced(PLAIN, learning_rate="auto", alpha=1e-3, finish=300)
    grown = trainer(X, y, loss, settings, weight=weight, runs=(0, 1))
    for _ in range(2):
        reweigh(grown.rows, grown.settings)
        share = grown.rows.blocks[0].weight.copy()
        member = grown.grow()
        assert member.converged.all()
        for run, w in enumerate(share):
            theta, b = member.theta[0, run], member.intercept[0, run]
            pull = w * loss.slope(y - X @ theta - b)
            assert_allclose((X.T @ pull + 1e-3 * theta)[member.support[run]], 0, atol=2e-5)
            assert_allclose(pull.sum(), 0, atol=2e-5)
            assert_array_equal(theta != 0, member.support[run])
    short = trainer(X, y, loss, replaced(settings, finish=2), weight=weight, runs=(0, 1))
    assert not short.grow().converged.any()


def test_steps_are_no_shorter_for_a_narrow_band_but_the_end_is_as_sharp():
    X, y = problem()
    ends = []
    for band in (0.05, 1e-3):
        loss = ValueLoss("quantile", quantile=0.3, band=band)
        settings = replaced(PLAIN, learning_rate="auto", finish=500)
        member = trainer(X, y, loss, settings, p=0.0).grow()
        error = y - X @ member.theta[0, 0] - member.intercept[0, 0]
        sharp = ValueLoss("quantile", quantile=0.3, band=1e-9)
        ends.append((member.history[0].objective, sharp.value(error).mean()))
    assert_array_equal(ends[0][0], ends[1][0])
    assert ends[1][1] < ends[0][1]


def test_the_automatic_rate_is_the_inverse_of_the_largest_curvature():
    X, y = problem()
    for loss in LOSSES:
        grown = trainer(X, y, loss, replaced(PLAIN, learning_rate="auto"))
        reweigh(grown.rows, grown.settings)
        rate = grown._rates.of_member(is_first=True)
        wide = np.column_stack([X, np.ones(len(y))])
        largest = loss.curvature * np.linalg.eigvalsh(wide.T @ wide / len(y))[-1]
        assert 1 <= rate[0] * largest < 1.5


def test_a_rate_that_is_too_long_is_told():
    X, y = problem()
    with np.errstate(all="ignore"), pytest.raises(DivergedError):
        trainer(X, y, LOSSES[0], replaced(PLAIN, learning_rate=1e200)).grow()


def test_later_members_are_drawn_to_rows_that_earlier_ones_miss():
    X, y = problem()
    grown = trainer(X, y, LOSSES[0], replaced(PLAIN, learning_rate="auto"))
    first = grown.grow()
    error = y - X @ first.theta[0, 0] - first.intercept[0, 0]
    expected = np.exp(-(error**2) / (error**2).mean())
    reweigh(grown.rows, grown.settings)
    weight = grown.rows.blocks[0].weight[0]
    assert_allclose(weight, (1 - expected) / (1 - expected).sum())


# -- blocks, devices and journals ------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_long_table_is_worked_on_in_blocks_with_the_same_result(loss, monkeypatch):
    X, y = problem(n_rows=300)
    weight = np.random.default_rng(1).uniform(0, 2, (2, len(y)))
    settings = replaced(PLAIN, learning_rate="auto", alpha=0.01)

    def grown():
        grower = trainer(X, y, loss, settings, weight=weight, runs=(0, 1))
        return [grower.grow() for _ in range(3)]

    whole = grown()
    monkeypatch.setattr("covey._core.algorithm1.rows._MOST_ROWS", 70)
    for one, other in zip(whole, grown(), strict=True):
        assert_array_equal(one.support, other.support)
        assert_array_equal(one.n_iter, other.n_iter)
        assert_allclose(one.theta, other.theta, atol=1e-10)
        assert_allclose(one.history[1].objective, other.history[1].objective)


@pytest.mark.torch
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_torch_grows_the_members_that_numpy_grows(loss):
    torch = pytest.importorskip("torch")
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0, 2, (2, len(y)))
    settings = replaced(PLAIN, learning_rate="auto", alpha=0.01, subset_penalty=0.01)
    how = {"runs": (0, 1), "p": 0.2}
    ours = trainer(X, y, loss, settings, weight=weight, **how)
    columns = torch.asarray(np.ascontiguousarray(X.T))
    theirs = StackTrainer(
        in_memory(
            Design(columns),
            torch.asarray(y),
            torch.asarray(weight),
            replaced(settings, loss=loss),
        ),
        replaced(settings, loss=loss),
        seed=SEED,
        runs=(0, 1),
        flip_probability=np.full(2, 0.2),
        unit_of_feature=np.arange(X.shape[1]),
        usable=np.ones(X.shape[1], dtype=bool),
    )
    for _ in range(3):
        one, other = ours.grow(), theirs.grow()
        assert_array_equal(one.support, other.support)
        assert_allclose(one.theta, other.theta.numpy(), atol=1e-10)


@pytest.mark.parametrize("stop", [3, 30])
def test_an_interrupted_member_continues_from_its_journal(stop, tmp_path, monkeypatch):
    X, y = problem()
    settings = replaced(PLAIN, learning_rate="auto", finish=50)
    expected = trainer(X, y, LOSSES[1], settings)
    expected = [expected.grow() for _ in range(3)]

    def interrupted(step, *args):
        counted.append(step)
        if len(counted) == stop:
            raise KeyboardInterrupt
        return take(step, *args)

    counted, take = [], Step.__call__
    monkeypatch.setattr(Step, "__call__", interrupted)
    first = trainer(X, y, LOSSES[1], settings, journal=Journal(tmp_path / "journal", "key", 0))
    with pytest.raises(KeyboardInterrupt):
        _ = [first.grow() for _ in range(3)]
    monkeypatch.undo()
    again = trainer(X, y, LOSSES[1], settings, journal=Journal(tmp_path / "journal", "key", 0))
    for member in expected:
        other = again.grow()
        assert_array_equal(member.support, other.support)
        assert_array_equal(member.theta, other.theta)
        assert_array_equal(member.history[0].objective, other.history[0].objective)
