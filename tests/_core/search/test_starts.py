"""Members that Algorithm 1 grew on the features, as starts of groups on any basis."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from covey._core.basis import Basis
from covey._core.gating.paths import FeatureColumns
from covey._core.search.cross_fit import Starts

N_RUNS, N_CLASSES, N_FEATURES = 3, 2, 4


class Growing:
    """Grows members of coefficients 1, 2, ... whose subsets lack one feature each."""

    def __init__(self, n_columns):
        self.n_columns, self.n_grown = n_columns, 0

    def grow(self):
        support = np.ones((N_RUNS, self.n_columns), dtype=bool)
        support[:, self.n_grown % self.n_columns] = False
        self.n_grown += 1
        theta = np.full((N_CLASSES, N_RUNS, self.n_columns), float(self.n_grown)) * support
        return SimpleNamespace(
            theta=theta,
            intercept=np.full((N_CLASSES, N_RUNS), 0.5),
            support=support,
            n_iter=np.arange(N_RUNS),
            history=["past"] * N_RUNS,
        )


def columns_of(basis):
    usable = np.ones(basis.n_columns, dtype=bool)
    return FeatureColumns(basis, np.arange(N_FEATURES), usable)


FEATURES = columns_of(Basis.plain(N_FEATURES))
BASES = {
    "features": Basis.plain(N_FEATURES),
    "ramps": Basis.ramps([np.arange(4.0)] * N_FEATURES),
    "products": Basis.products(np.zeros(N_FEATURES, dtype=bool), np.zeros(N_FEATURES)),
}


@pytest.mark.parametrize("name", BASES)
def test_groups_on_every_basis_start_from_the_same_members(name):
    trainer, basis = Growing(N_FEATURES), columns_of(BASES[name])
    starts = Starts(trainer, None, FEATURES)
    for _ in range(2):
        starts.add(trainer.grow())
    of_features, _, _ = starts.of(2, np.array([0, 2]), FEATURES)
    theta, intercept, support = starts.of(2, np.array([0, 2]), basis)
    assert theta.shape == (2, 2, N_CLASSES, basis.n_columns)
    assert_array_equal(theta[..., :N_FEATURES], of_features)
    assert not theta[..., N_FEATURES:].any()
    assert (intercept == 0.5).all()
    # Ramps and products of a feature that a member does not have are not in its subset.
    for member in range(2):
        lacks = (BASES[name].feature == member) | (BASES[name].partner == member)
        assert_array_equal(support[:, member], np.tile(~lacks, (2, 1)))


def test_members_of_some_columns_have_no_others():
    trainer = Growing(2)
    starts = Starts(trainer, np.array([1, 3]), FEATURES)
    starts.add(trainer.grow())
    theta, _, support = starts.of(1, np.arange(N_RUNS), columns_of(BASES["ramps"]))
    assert_array_equal(np.flatnonzero(theta.any(axis=(0, 1, 2))), [3])
    assert set(BASES["ramps"].feature[support[0, 0]]) == {3}
    assert starts.history(1, 2) == [(2, "past")]
