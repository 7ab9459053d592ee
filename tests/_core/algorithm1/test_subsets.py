import numpy as np

from covey._core.algorithm1.trainer import COOLING, FlipProposals, beats, metropolis
from covey._core.random import Purpose, UniformRows


def test_proposals_are_the_draws_below_the_flip_probability():
    proposals = FlipProposals(4, 2, [0, 7], np.array([0.3, 0.1]), np.arange(5))
    active = np.array([0, 1])
    for step in (0, 1, 900, 3):  # forwards, far ahead and back again
        flips = proposals.at(step, active)
        for position, (run, p) in enumerate([(0, 0.3), (7, 0.1)]):
            draws = UniformRows(4, Purpose.FLIP, run, 2, 5).read(step, 1)[0]
            np.testing.assert_array_equal(flips[position], draws < p)


def test_features_of_a_unit_flip_together_and_fixed_ones_never():
    units = np.array([0, 0, -1, 1, 0])
    proposals = FlipProposals(0, 0, [0], np.array([0.5]), units)
    flips = np.stack([proposals.at(step, np.array([0]))[0] for step in range(200)])
    assert not flips[:, 2].any()
    np.testing.assert_array_equal(flips[:, 0], flips[:, 1])
    np.testing.assert_array_equal(flips[:, 0], flips[:, 4])
    assert (flips[:, 0] != flips[:, 3]).any()


def test_rounding_beats_nobody():
    tie = np.array([1e-12])
    assert not beats(np.array([0.5 + 1e-14]), np.array([0.5]), tie)
    assert beats(np.array([0.5 + 1e-6]), np.array([0.5]), tie)


def test_metropolis_takes_worse_candidates_with_the_stated_probability():
    draws = UniformRows(0, Purpose.ACCEPT, 0, 0, 1).read(0, 20000)[:, 0]
    ones = np.ones_like(draws)
    step, temperature, rise = 10, 0.02, 0.01
    taken = metropolis(0.8 * ones - rise * 0.5, 0.8 * ones, 0.5 * ones, temperature, step, draws)
    expected = np.exp(-rise / (temperature * COOLING**step))
    assert abs(taken.mean() - expected) < 0.01
    assert metropolis(0.9 * ones, 0.8 * ones, ones, temperature, step, draws).all()
