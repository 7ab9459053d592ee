import numpy as np
import pytest
from numpy.testing import assert_allclose

from covey._core.algorithm1.rows import ClassTruth, RowBlock, TrainingSettings
from covey._core.algorithm1.trainer import reweigh, see, typical_loss
from covey._core.design import Design
from covey._core.losses import ClassLoss, ValueLoss, weighted_quantile
from covey._core.softmax_linear import class_blocks


def logits_of(probability):
    """Two classes, all rows of class 0: the logits that give it these probabilities."""
    p = np.asarray(probability, dtype=float)
    with np.errstate(divide="ignore"):
        return np.stack([np.log(p), np.log1p(-p)])


class Block(RowBlock):
    """Sees members by their logits."""

    def __init__(self, base, name="mean_probability", n_classes=2):
        n_rows = base.shape[1]
        blocks = class_blocks([n_rows] + [0] * (n_classes - 1))
        super().__init__(Design(np.zeros((1, n_rows))), blocks, base, settings_of(name))

    def see(self, logits, blocks):
        target = ClassTruth(blocks, ClassLoss())
        if self._name == "adaboost":
            self.note(target.wrong(logits))
        elif self._name is not None:
            self.note(target.true_probability(logits))


def settings_of(name):
    return TrainingSettings("auto", 0.0, None, 1, 1.0, "greedy", 0.01, reweighting=name)


class Alone:
    """One block of rows is all there is."""

    def __init__(self, block):
        self.block = block

    def broadcast(self, method, *args):
        return getattr(self.block, method.__name__)(*args)

    sum = max = broadcast


def weights_after(members, base=None, name="mean_probability"):
    """The weights after members that gave the true class these probabilities, each (R, n)."""
    members = [np.atleast_2d(member) for member in members]
    base = np.ones_like(members[0]) if base is None else np.atleast_2d(np.asarray(base, float))
    reweighting = Block(base, name)
    for member in members:
        blocks = class_blocks([member.shape[1], 0])
        see(Alone(reweighting), settings_of(name), logits_of(member), blocks)
    reweigh(Alone(reweighting), settings_of(name))
    return reweighting.weight


@pytest.mark.parametrize("name", ["mean_probability", "divergence", "adaboost", None])
def test_first_member_weighs_all_rows_alike(name):
    np.testing.assert_array_equal(weights_after([], np.ones((2, 3)), name), np.ones((2, 3)))


def test_later_weights_are_one_minus_the_mean_true_probability():
    np.testing.assert_allclose(weights_after([[0.9, 0.1], [0.6, 0.1]]), [[0.25, 0.9]])


def test_a_run_with_nothing_left_to_learn_starts_over():
    certain = [[1.0, 1.0], [1.0, 0.5]]
    np.testing.assert_allclose(weights_after([certain, certain]), [[1.0, 1.0], [0.0, 0.5]])
    weight = weights_after([certain, certain], name="divergence")
    np.testing.assert_allclose(weight, [[1.0, 1.0], [0.0, 2.0]])


def test_rows_without_weight_have_no_say_in_what_is_left_to_learn():
    np.testing.assert_allclose(weights_after([[1.0, 0.2]], base=[1.0, 0.0]), [[1.0, 0.0]])


def test_divergence_is_minus_the_logarithm_of_the_mean_probability():
    base = np.array([1.0, 2.0, 1.0])
    weight = weights_after([[0.9, 0.3, 0.5], [0.5, 0.1, 0.5]], base, "divergence")[0] / base
    expected = -np.log([0.7, 0.2, 0.5])
    np.testing.assert_allclose(weight / weight[0], expected / expected[0])
    assert weight @ base == pytest.approx(base.sum())


def literal_samme(wrong, n_classes):
    """Algorithm 2 of Zhu et al. (2009), line by line."""
    w = np.full(wrong.shape[1], 1 / wrong.shape[1])
    for member in wrong:
        err = (w * member).sum() / w.sum()
        alpha = np.log((1 - err) / err) + np.log(n_classes - 1)
        w = w * np.exp(alpha * member)
        w = w / w.sum()
    return w


def test_adaboost_is_samme():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 4, 60))
    blocks = class_blocks(np.bincount(y, minlength=4))
    reweighting = Block(np.ones((1, 60)), "adaboost", 4)
    wrong = []
    for _ in range(5):
        logits = rng.standard_normal((4, 1, 60)) + 1.5 * np.eye(4)[y].T[:, None]
        see(Alone(reweighting), settings_of("adaboost"), logits, blocks)
        wrong.append(logits[:, 0].argmax(axis=0) != y)
    reweigh(Alone(reweighting), settings_of("adaboost"))
    np.testing.assert_allclose(
        reweighting.weight[0] / 60, literal_samme(np.array(wrong), 4), rtol=1e-12
    )


def test_adaboost_ignores_a_member_no_better_than_chance_and_survives_a_perfect_one():
    worse = weights_after([[0.2, 0.2, 0.9]], name="adaboost")
    np.testing.assert_allclose(worse, [[1.0, 1.0, 1.0]])
    perfect = weights_after([[0.8, 0.9, 0.9]], name="adaboost")
    np.testing.assert_allclose(perfect, [[1.0, 1.0, 1.0]])


def test_adaboost_bears_a_row_of_weight_zero_that_is_always_wrong():
    # Each of the others is wrong in turn, so that it leaves them farther behind for ever.
    members = np.tile(np.column_stack([0.9 - 0.8 * np.eye(5), np.full(5, 0.1)]), (250, 1))
    weight = weights_after(members, [1.0] * 5 + [0.0], "adaboost")[0]
    assert np.isfinite(weight).all()
    expected = weights_after(members[:, :5], name="adaboost")[0]
    np.testing.assert_allclose(weight[:5], expected)


def test_without_reweighting_weights_stay_ones():
    np.testing.assert_array_equal(weights_after([[0.2, 0.9]], name=None), [[1.0, 1.0]])


# -- members of values ---------------------------------------------------------------------

SQUARED, HUBER = ValueLoss("squared"), ValueLoss("huber")


class LossBlock(Block):
    """A block of rows that has seen a member with these losses."""

    def __init__(self, loss, weight):
        super().__init__(weight)
        self._losses, self._sorted = loss, None

    def note(self, noted):
        self.noted = noted


def trust(loss, weight, value_loss=SQUARED):
    block = LossBlock(loss, weight)
    block.trust(typical_loss(Alone(block), value_loss))
    return block.noted


def test_trust_does_not_change_with_the_unit_and_falls_with_the_loss():
    loss = np.random.default_rng(0).uniform(0, 2, (2, 30))
    weight = np.ones((2, 30))
    assert_allclose(trust(loss, weight), trust(1e6 * loss, weight))
    assert (np.diff(trust(np.sort(loss, axis=1), weight), axis=1) < 0).all()
    assert_allclose(trust(np.zeros((1, 3)), np.ones((1, 3))), 1)


def test_robust_trust_is_not_moved_by_an_outlier():
    loss = np.random.default_rng(0).exponential(0.3, (2, 400))
    weight = np.random.default_rng(1).uniform(0, 1, (2, 400))
    calm = trust(loss, weight, HUBER)
    assert_allclose(calm, trust(loss, weight), atol=0.05)
    loss[0, 7] = 1e9
    moved = trust(loss, weight, HUBER)
    assert moved[0, 7] == 0
    assert_allclose(np.delete(moved, 7, axis=1), np.delete(calm, 7, axis=1), atol=0.01)
    # Where most rows are without loss, the mean is all there is.
    loss = np.array([[0.0, 0.0, 3.0]])
    assert_allclose(trust(loss, np.ones((1, 3)), HUBER), [[1, 1, np.exp(-3)]])


@pytest.mark.parametrize("n_rows", [1, 2, 9, 300])
def test_the_typical_loss_by_counting_is_the_weighted_median(n_rows):
    rng = np.random.default_rng(n_rows)
    loss, weight = rng.exponential(size=(2, 3, n_rows))
    weight[:, ::4] *= rng.random(weight[:, ::4].shape) < 0.5
    weight[:, 0] += 0.1
    found = typical_loss(Alone(LossBlock(loss, weight)), HUBER)
    expected = [weighted_quantile(one, w, 0.5) for one, w in zip(loss, weight, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected) / np.log(2))


def doubt_weights(members, base):
    reweighting = Block(base)
    for member in members:
        reweighting.note(np.array([member]))
    reweighting.weigh(reweighting.peak())
    return reweighting.weight


def test_doubt_is_one_minus_the_mean_trust_and_never_nothing():
    base = np.ones((1, 3))
    assert_allclose(doubt_weights([], base), base)
    assert_allclose(doubt_weights([[0.5, 1.0, 0.25], [0.0, 1.0, 0.75]], base), [[0.75, 0, 0.5]])
    assert_allclose(doubt_weights([[1.0, 1.0, 1.0]] * 2, base), base)
    # A row of weight zero does not decide whether something is left to learn.
    base = np.array([[1.0, 1.0, 0.0]])
    assert_allclose(doubt_weights([[1.0, 1.0, 0.25]] * 2, base), base)
