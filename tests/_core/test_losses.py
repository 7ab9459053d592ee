import numpy as np
import pytest

from covey._core.algorithm1.rows import ClassTruth
from covey._core.arrays import Workspace
from covey._core.losses import ClassLoss
from covey._core.softmax_linear import class_blocks

LOSSES = [ClassLoss("log"), ClassLoss("exponential"), ClassLoss("focal"), ClassLoss("focal", 0.5)]


def literal_loss(loss, logits, y):
    """The loss of each row, straight from its definition."""
    p = np.exp(logits) / np.exp(logits).sum(axis=0)
    q = p[y, np.arange(len(y))]
    return {
        "log": -np.log(q),
        "exponential": np.sqrt((1 - q) / q),
        "focal": -((1 - q) ** loss.gamma) * np.log(q),
    }[loss.name]


def problem(n_classes=3, n_rows=30, scale=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, n_classes, n_rows))
    logits = scale * rng.standard_normal((n_classes, 2, n_rows))
    return logits, y, rng.uniform(0, 2, (2, n_rows))


def evaluate(loss, logits, y, weight):
    blocks = class_blocks(np.bincount(y, minlength=len(logits)))
    out = np.empty_like(logits)
    value, steepest = ClassTruth(blocks, loss).climb(logits, weight, Workspace(logits), out)
    return value, out, steepest


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.gamma}")
@pytest.mark.parametrize("n_classes", [2, 5])
def test_objective_and_gradient_equal_the_definition_and_its_stencil(loss, n_classes):
    logits, y, weight = problem(n_classes)
    value, residual, _ = evaluate(loss, logits, y, weight)
    step = 1e-4
    for run in range(2):
        np.testing.assert_allclose(
            value[run], -weight[run] @ literal_loss(loss, logits[:, run], y), rtol=1e-12
        )
        for label in range(n_classes):
            shift = np.zeros_like(logits[:, run])
            shift[label] = step
            up, down = (literal_loss(loss, logits[:, run] + s * shift, y) for s in (1, -1))
            np.testing.assert_allclose(
                residual[label, run], -weight[run] * (up - down) / (2 * step), rtol=1e-5, atol=1e-7
            )


def test_exponential_loss_of_two_classes_is_adaboosts():
    logits, y, _ = problem(2)
    half_log_odds = (logits[1] - logits[0]) / 2 * np.where(y == 1, 1, -1)
    value, _, _ = evaluate(ClassLoss("exponential"), logits, y, np.ones((2, len(y))))
    np.testing.assert_allclose(value, -np.exp(-half_log_odds).sum(axis=1))


def test_focal_loss_without_focus_is_the_likelihood():
    logits, y, weight = problem()
    for ours, likelihood in zip(
        evaluate(ClassLoss("focal", 0.0), logits, y, weight)[:2],
        evaluate(ClassLoss("log"), logits, y, weight)[:2],
        strict=True,
    ):
        np.testing.assert_allclose(ours, likelihood, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.gamma}")
@pytest.mark.parametrize("scale", [30.0, 1e4])
def test_logits_of_any_size_have_finite_slopes(loss, scale):
    logits, y, weight = problem(scale=scale)
    value, residual, steepest = evaluate(loss, logits, y, weight)
    assert np.isfinite(value).all()
    assert np.isfinite(residual).all()
    pace = np.asarray(loss.pace(steepest))
    assert ((pace > 0) & (pace <= 1)).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.gamma}")
def test_a_row_that_is_right_for_certain_pulls_no_more(loss):
    logits = np.array([[[800.0]], [[0.0]]])
    _, residual, _ = evaluate(loss, logits, np.array([0]), np.ones((1, 1)))
    np.testing.assert_allclose(residual, 0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.gamma}")
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_uniform_guess_costs_what_is_stated(loss, n_classes):
    logits = np.zeros((n_classes, 1, 1))
    value, _, _ = evaluate(loss, logits, np.array([0]), np.ones((1, 1)))
    assert -value[0] == pytest.approx(loss.of_uniform_guess(n_classes))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.gamma}")
def test_a_paced_step_on_the_logits_never_overshoots(loss):
    """Eq. (9) allows a step of 1 / (1/2) on a row's logits, the loss its pace of that."""
    for seed in range(30):
        logits, y, _ = problem(4, 1, scale=2.0, seed=seed)
        weight = np.ones((2, 1))
        before, residual, pace = evaluate(loss, logits, y, weight)
        rate = 2.0 * (np.ones(2) if pace is None else pace)
        after, _, _ = evaluate(loss, logits + rate[:, None] * residual, y, weight)
        assert (after >= before - 1e-12).all()
