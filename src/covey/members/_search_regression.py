"""Searching for a flock of regressors: which gated groups, on which basis, which penalty."""

import numpy as np

from covey._core.algorithm1.descent import ValueTrainer
from covey._core.basis import Basis
from covey._core.gating.gated_values import ValueSearchBlock
from covey._core.search.cross_fit import Family
from covey._core.search.rows import SearchBlock, SearchInMemory
from covey.fusers._gate import GatedMeans
from covey.members._search import RowsSearch

# Penalties of a member alone and of gated ones; against the mean loss of a row, and for up to
# so many rows. Where there are more, each coefficient is better known.
_ALONE = (1e-3, 1e-2, 1e-1, 1.0)
_GATED = (1e-2, 3e-2, 1e-1, 3e-1)
_FEW_ROWS = 500


def value_families(effort, n_members, alpha, bases, n_rows, share_left):
    """The candidates of an effort, as far as the data allows them.

    Parameters
    ----------
    effort : {"fast", "balanced", "best"}
    n_members : int
        Members of a gated group.
    alpha : float or None
        The only penalty; None: several.
    bases : collection of str
        What members can see.
    n_rows : int
        How many rows have a weight. (Not its sum: weights may have any unit.)
    share_left : callable
        Gives the share of a constant's loss that a linear model leaves.
    """
    richest = "ramps" if "ramps" in bases else "features"
    if alpha is None:
        less = min(1.0, (_FEW_ROWS / n_rows) ** 0.8)
        alone = tuple(less * penalty for penalty in _ALONE)
        low, middle, high, highest = (less * penalty for penalty in _GATED)
    else:
        alone, low, middle, high, highest = (alpha,), alpha, alpha, alpha, alpha

    def gated(basis, gate, *alphas, times=1):
        return Family(basis, times * n_members, tuple(dict.fromkeys(alphas)), "log", gate)

    if effort == "fast":
        # No folds say how much noise there is, which the best penalty is proportional to.
        if alpha is None:
            high *= share_left()
        return [gated("features", "features", high)]
    wanted = [Family(basis, 1, alone, "log") for basis in ("features", "ramps", "products")]
    if n_members > 1:
        wanted += [
            gated("features", "features", low, middle, high),
            gated("features", richest, middle, high, highest),
            gated("ramps", "features", middle, high, highest),
            gated("products", "features", high, highest),
        ]
    if effort == "best" and n_members > 1:
        wanted += [
            gated("features", richest, middle, high, highest, times=3),
            gated("ramps", "features", high, highest, times=3),
            gated("ramps", richest, high, highest),
            gated("products", richest, high, highest),
        ]
    return list(dict.fromkeys(family for family in wanted if family.basis in bases))


class ValueFlockSearch(RowsSearch):
    """One search, over one table, for members that predict numbers.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, D)
    target : ndarray of shape (n,)
        y, standardised.
    weight : ndarray of shape (n,)
    loss : ValueLoss
    descent : Descent
    **how
        As for `RowsSearch`.
    """

    _loss_name = "mean_loss"

    def __init__(self, X, target, weight, *, loss, descent, **how):
        self._block = ValueSearchBlock(X, target, weight, loss)
        self._loss = loss
        super().__init__(SearchInMemory(self._block), np.zeros(1), ascent=descent, **how)

    def _products(self):
        # A probability ends at 1; a number would follow a product wherever it goes.
        highest, lowest = self._rows.max(SearchBlock.extremes, True)
        return Basis.multiplied(self._two_valued(), self._mean, np.stack([-lowest, highest]))

    def _trainer(self, name):
        usable, weight = self._moments[name][2], self._block.run_weight
        return ValueTrainer(
            self._block.designs[name],
            self._block.target,
            weight,
            self._loss,
            self._ascent,
            seed=self._seed,
            runs=list(range(len(weight))),
            flip_probability=np.full(len(weight), self._flip_probability),
            unit_of_feature=np.where(usable, self._units(self._bases[name]), -1),
            usable=usable,
        )

    def _fuser(self, *args):
        return GatedMeans(*args)
