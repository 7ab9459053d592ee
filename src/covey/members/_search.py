"""Searching for a flock: which gated groups, on which basis, with which penalty."""

from dataclasses import dataclass, replace

import numpy as np

from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis
from covey._core.moments import reduced_moments
from covey._core.search.cross_fit import CrossFit, Family
from covey._core.search.folds import FoldAssignment
from covey._core.search.knots import knots_by_sums
from covey._core.search.rows import GrowingRows, SearchBlock, SearchInMemory
from covey.fusers._gate import GatedGroups

EFFORTS = ("fast", "balanced", "best")

# Ramps of a feature. Beyond so many columns ramps cost more than they bring.
_N_RAMPS = 6
_MOST_RAMP_COLUMNS = 1_000
# Products of every two of so many features are 210.
_MOST_FEATURES_TO_MULTIPLY = 20

# Penalties of a member alone and of gated ones; against the mean log-likelihood of a row, and
# for up to so many rows. Where there are more, each coefficient is better known.
_ALONE = (1e-3, 1e-2, 1e-1)
_GATED = (3e-4, 3e-3, 3e-2)
_FEW_ROWS = 500

# More let rounding grow until weights and repeated rows no longer agree, and gain nothing.
_MAX_ITER = 50
# Steps of Algorithm 1 that give a search its starts; the refinement goes on from there.
_MAX_STEPS = 30
# A member that is asked less than this, over all training rows, is not missed.
_LEAST_IMPORTANCE = 0.005
# Columns that vary more than this are of no use: their squares are no numbers. And ramps and
# products that vary less than its inverse: their coefficients are none.
_LARGEST = 1e150


def families(effort, n_members, alpha, bases, n_rows):
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
    n_rows : float
        How many rows there are, or their weights' sum.
    """
    richest = "ramps" if "ramps" in bases else "features"
    if alpha is None:
        less = min(1.0, (_FEW_ROWS / n_rows) ** 0.8)
        alone = tuple(less * penalty for penalty in _ALONE)
        low, middle, high = (less * penalty for penalty in _GATED)
    else:
        alone, low, middle, high = (alpha,), alpha, alpha, alpha
    if effort == "fast":
        return [Family(richest, n_members, (high,), gate=richest)]

    def gated(basis, gate, *alphas, times=1, pool="linear"):
        return Family(basis, times * n_members, tuple(dict.fromkeys(alphas)), pool, gate)

    wanted = [Family(basis, 1, alone) for basis in ("features", "ramps", "products")]
    if n_members > 1:
        wanted += [
            gated("features", richest, low, middle, high),
            gated("ramps", "features", low, middle),
            gated("ramps", "ramps", middle, high),
            gated("products", "features", middle, high),
        ]
    if effort == "best" and n_members > 1:
        wanted += [
            gated("features", richest, middle, high, times=3),
            gated("features", "features", middle, high, times=3, pool="log"),
            gated("ramps", "features", middle, high, times=3),
            gated("products", richest, middle, high),
        ]
    return list(dict.fromkeys(family for family in wanted if family.basis in bases))


def moments_by_sums(rows, name, basis):
    """Weighted mean, standard deviation and largest absolute value of a basis's columns."""
    (total,) = rows.sum(SearchBlock.weight_sum)
    return reduced_moments(
        rows.max(SearchBlock.extent, name, basis),
        lambda size: rows.sum(SearchBlock.scaled_means, name, basis, size, total)[0],
        lambda size, center: rows.sum(
            SearchBlock.scaled_squares, name, basis, size, center, total
        )[0],
    )


@dataclass
class Flock:
    """What a search found, in the units of X; members one group after the other."""

    basis: Basis
    coef: np.ndarray  # (K, C, P)
    intercept: np.ndarray  # (K, C)
    support: np.ndarray  # (K, D), bool
    column_mean: np.ndarray  # (P,)
    column_scale: np.ndarray  # (P,), how much each column varies
    shares: np.ndarray  # (K,), how much each member is asked; sums to one
    fuser: GatedGroups
    n_iter: np.ndarray  # (K,)
    history: list  # of History or None, one a member
    candidates: list  # of dict


class RowsSearch:
    """One search, over one table whose rows are asked for sums only.

    Parameters
    ----------
    rows : SearchRows
        The rows, wherever they are.
    classes : ndarray of shape (C,)
    mean, scale : ndarrays of shape (D,)
        What features are standardised by.
    usable : ndarray of shape (D,), bool
    unit_of_feature : ndarray of shape (D,)
        Which features flip together; -1: never.
    grouped : bool
        Whether some do: then there are no products.
    centred : bool
        Whether columns are centred, and scaled only if ``scaled``.
    scaled : bool
    ascent : Ascent
    flip_probability : float
    seed : int
    journal : Journal, optional
        Where steps are kept, to go on from after an interruption.
    single : bool, default=True
        Whether folds are fitted in single precision. That is twice as fast, but what rounding
        does then depends on how rows lie in blocks, and may decide between candidates that are
        nearly equal.
    """

    def __init__(
        self,
        rows,
        classes,
        *,
        mean,
        scale,
        usable,
        unit_of_feature,
        grouped,
        centred,
        scaled,
        ascent,
        flip_probability,
        seed,
        journal=None,
        single=True,
    ):
        self._rows = rows
        self._single = single
        self._journal = journal
        self._classes = classes
        self._mean, self._scale, self._usable = mean, scale, usable
        self._unit_of_feature = unit_of_feature
        self._grouped = grouped
        self._centred, self._scaled = centred, scaled
        self._ascent = replace(ascent, max_iter=min(ascent.max_iter, _MAX_STEPS))
        self._flip_probability = flip_probability
        self._seed = seed
        self._bases, self._moments = {}, {}
        rows.broadcast(SearchBlock.weigh, rows.max(SearchBlock.largest_weight))
        self._add_bases()

    @property
    def bases(self):
        """The names of what members can see."""
        return tuple(self._bases)

    def _add_bases(self):
        rows, n_features = self._rows, self._rows.n_features
        plain = Basis.plain(n_features)
        if rows.is_sparse:
            # Neither ramps nor products of centred features are sparse.
            self._keep("features", plain, self._mean, self._scale, self._usable)
            return
        self._add("features", plain)
        ramps = Basis.between(knots_by_sums(rows, n_features, _N_RAMPS))
        if n_features < ramps.n_columns <= max(_MOST_RAMP_COLUMNS, n_features):
            self._add("ramps", ramps)
        # A product belongs to two features, which may be of two groups: it could not flip
        # with either.
        if 1 < n_features <= _MOST_FEATURES_TO_MULTIPLY and not self._grouped:
            self._add("products", self._products())

    def _products(self):
        """The basis of products of features."""
        return Basis.multiplied(self._two_valued(), self._mean)

    def _two_valued(self):
        """Which features have two values at most."""
        highest, lowest = self._rows.max(SearchBlock.extremes, False)
        return self._rows.sum(SearchBlock.between, -lowest, highest)[0] == 0

    def _add(self, name, basis):
        mean, deviation, size = moments_by_sums(self._rows, name, basis)
        usable = self._usable[basis.feature] & (deviation > 0)
        usable[: basis.n_features] = self._usable
        paired = basis.partner >= 0
        usable[paired] &= self._usable[basis.partner[paired]]
        finite = np.isfinite(mean) & np.isfinite(deviation) & (deviation < _LARGEST)
        usable &= finite
        # A ramp or product that stays where it is, but for rounding, would have a coefficient
        # beyond all sense, and so would be what is said of a new row where it moves.
        moves = deviation > np.maximum(1.0 / _LARGEST, 1e-6 * size)
        usable[basis.n_features :] &= moves[basis.n_features :]
        mean = np.where(finite & self._centred, mean, 0.0)
        deviation = np.where(finite, deviation, 0.0)
        scale = np.where(deviation > 0, deviation, 1.0) if self._scaled else np.ones(len(mean))
        self._keep(name, basis, mean, scale, usable)

    def _keep(self, name, basis, *moments):
        self._bases[name], self._moments[name] = basis, moments
        self._rows.broadcast(SearchBlock.standardise, name, basis, *moments)

    def _units(self, basis):
        """Which columns flip together: ramps with their feature, a product alone."""
        units = self._unit_of_feature[basis.feature]
        paired = np.flatnonzero(basis.partner >= 0)
        units[paired] = units.max() + 1 + np.arange(len(paired))
        return units

    def _trainer(self, name):
        basis, usable = self._bases[name], self._moments[name][2]
        self._rows.broadcast(SearchBlock.begin, name, self._ascent)
        n_runs = self._n_parts + self._n_restarts
        return StackTrainer(
            GrowingRows(self._rows, name, basis.n_columns, n_runs),
            self._ascent,
            seed=self._seed,
            runs=list(range(n_runs)),
            flip_probability=np.full(n_runs, self._flip_probability),
            unit_of_feature=np.where(usable, self._units(basis), -1),
            usable=usable,
            journal=self._journal,
        )

    def run(self, families, folds, *, n_restarts, fit_intercept, on_family):
        """Cross-fit the families, select, fit what is selected on all rows.

        Parameters
        ----------
        families : list of Family
        folds : FoldAssignment, or list of (ndarray, ndarray)
            Pairs are row numbers in the order of the table. Without any there must be one
            candidate.
        n_restarts : int
        fit_intercept : bool
        on_family : callable
            Gives the context in which a family is cross-fitted.

        Returns
        -------
        flock : Flock
        """
        dealt = isinstance(folds, FoldAssignment)
        self._n_parts = folds.n_parts if dealt else len(folds)
        self._n_restarts = n_restarts
        self._rows.broadcast(SearchBlock.deal if dealt else SearchBlock.split, folds, n_restarts)
        fits = CrossFit(
            self._rows,
            {name: basis.n_columns for name, basis in self._bases.items()},
            n_parts=self._n_parts,
            n_restarts=n_restarts,
            trainer=self._trainer,
            max_iter=_MAX_ITER,
            fit_intercept=fit_intercept,
            journal=self._journal,
            single=self._single,
        )
        candidates = []
        for family in families:
            candidates += [(family, alpha) for alpha in family.alphas]
            if self._n_parts:
                with on_family(family):
                    fits.hold_out(family)
        if self._n_parts:
            shares, losses = fits.selected()
        else:
            shares, losses = np.ones(1), np.full(1, np.nan)
        groups = []
        for (family, alpha), share in zip(candidates, shares, strict=True):
            if share > 0:
                for group in fits.fitted(family, alpha):
                    groups.append((share / n_restarts, group))
        # The heaviest first: whoever reads stops early.
        groups.sort(key=lambda pair: -pair[0])
        table = [
            {
                "basis": family.basis,
                "n_members": family.n_members,
                "pool": family.pool,
                "gate": family.gate,
                "alpha": alpha,
                self._loss_name: float(loss),
                "weight": float(share),
            }
            for (family, alpha), share, loss in zip(candidates, shares, losses, strict=True)
        ]
        return self._assembled(groups, table)

    _loss_name = "log_loss"

    def _fuser(self, *args):
        """What fuses the groups that are found."""
        return GatedGroups(*args)

    def _assembled(self, groups, table):
        """The groups as one flock on one basis, without what does not matter."""
        basis, at = Basis.plain(self._rows.n_features), {"features": 0}
        for _, group in groups:
            for name in (group.family.basis, group.family.gate):
                if name not in at:
                    at[name] = basis.n_columns
                    basis = basis.union(self._bases[name])

        def on_union(values, name):
            """Values (..., n_columns) of one basis, on the columns of all."""
            wide = np.zeros((*values.shape[:-1], basis.n_columns), dtype=values.dtype)
            n_features = basis.n_features
            special = values.shape[-1] - n_features
            wide[..., :n_features] = values[..., :n_features]
            wide[..., at[name] : at[name] + special] = values[..., n_features:]
            return wide

        coef, intercept, columns, gate, gate_intercept, n_iter, history = ([] for _ in range(7))
        for _, group in groups:
            name, gate_name = group.family.basis, group.family.gate
            mean, scale, usable = self._moments[name]
            natural = group.theta * usable / scale
            coef.append(on_union(natural, name))
            intercept.append(group.intercept - natural @ mean)
            columns.append(on_union(group.support & usable, name))
            mean, scale, usable = self._moments[gate_name]
            natural = group.gate * usable / scale
            gate.append(on_union(natural, gate_name))
            gate_intercept.append(group.gate_intercept - natural @ mean)
            grown = group.grown or [(group.n_iter, None)]
            n_iter += [steps for steps, _ in grown]
            history += [past for _, past in grown]
        sizes = [len(part) for part in coef]
        weights = np.array([weight for weight, _ in groups])
        fuser = self._fuser(
            basis,
            np.concatenate(gate),
            np.concatenate(gate_intercept),
            sizes,
            [group.family.pool for _, group in groups],
            weights / weights.sum(),
            self._classes,
        )
        center, scale = np.zeros(basis.n_columns), np.ones(basis.n_columns)
        for name in at:
            for whole, part in ((center, self._moments[name][0]), (scale, self._moments[name][1])):
                known = on_union(np.ones(len(part), dtype=bool), name)
                whole[known] = on_union(part, name)[known]
        kept = self._asked(fuser)
        columns = np.concatenate(columns)[kept]
        seen = columns.any(axis=0) | (fuser.coef[kept] != 0).any(axis=0)
        fuser.basis, places = basis.only(seen)
        group_of = np.repeat(np.arange(len(sizes)), sizes)[kept]
        fuser.coef, fuser.intercept = fuser.coef[kept][:, places], fuser.intercept[kept]
        fuser.sizes = np.bincount(group_of, minlength=len(sizes)).tolist()
        return Flock(
            fuser.basis,
            np.concatenate(coef)[kept][:, :, places],
            np.concatenate(intercept)[kept],
            fuser.basis.features_of(columns[:, places]),
            center[places],
            scale[places],
            self._importance(fuser),
            fuser,
            np.array(n_iter)[kept],
            [history[member] for member in kept],
            table,
        )

    def _asked(self, fuser):
        """The members that are asked at all: at least the most important of each group."""
        asked = self._importance(fuser)
        kept = asked >= _LEAST_IMPORTANCE
        ends = np.cumsum(fuser.sizes)
        for size, end in zip(fuser.sizes, ends, strict=True):
            kept[end - size + np.argmax(asked[end - size : end])] = True
        return np.flatnonzero(kept)

    def _importance(self, fuser):
        """How much each member is asked, over all rows."""
        asked, weight = self._rows.sum(
            SearchBlock.importance,
            fuser.basis,
            fuser.coef,
            fuser.intercept,
            fuser.sizes,
            fuser.weights,
        )
        return asked / weight


class FlockSearch(RowsSearch):
    """One search, over one table that is here.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, D)
    codes, weight : ndarrays of shape (n,)
    classes : ndarray of shape (C,)
    beside : array, optional
        Where what is climbed shall live, if not here.
    **how
        As for `RowsSearch`.
    """

    def __init__(self, X, codes, weight, classes, beside=None, **how):
        block = SearchBlock(X, codes, weight, 0, len(classes), beside)
        super().__init__(SearchInMemory(block), classes, **how)
