"""The paper's two ensembles and its baseline, for many training sets as one stack of runs.

Each training set is two runs of a stack: one with p_lambda = 0, the paper's {Theta}, and one
with 0.01, its {Theta, Lambda}. Both start from the same draws, so that they differ by what is
compared and by nothing else. The first member of {Theta} is the baseline: one classifier on all
features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from covey._core.algorithm1.rows import TrainingSettings, in_memory
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.design import Design
from covey._core.moments import moments
from covey._core.softmax_linear import class_blocks, linear_logits
from reproduction.data import Table

# Rows and the codes of their classes.
Rows = tuple[np.ndarray, np.ndarray]

N_MEMBERS = 20
FLIP_PROBABILITIES = (0.0, 0.01)
KINDS = ("theta", "both")
FUSIONS = ("oracle", "equal")
# How K is tuned, which the paper does not say, by the end of a quantity's name: for each fusion
# scheme on its own or once, under g_EW, for both; of sizes that are equally good the fewest
# members or the most.
K_RULES = {
    "": "own K, fewest of equals",
    "_most": "own K, most of equals",
    "_one": "one K, fewest of equals",
    "_one_most": "one K, most of equals",
}


@dataclass(frozen=True)
class Constants:
    """The constants that the paper calls "empirically set"; by default those of ``paper()``."""

    # The gain in weighted accuracy below which a member ends.
    thr: float = -0.002
    # The step, in units of C / lambda_max(Z'Z).
    eta: float = 1.5
    # The most steps of a member.
    max_iter: int = 200

    @property
    def text(self) -> str:
        return f"thr={self.thr:g} eta={self.eta:g}"

    def settings(self) -> TrainingSettings:
        return TrainingSettings(
            learning_rate="constant" if self.eta == 1.5 else 1.0,
            tol=self.thr,
            patience=None,
            max_iter=self.max_iter,
            init_scale=0.5,
            acceptance="greedy",
            temperature=0.01,
            fit_intercept=True,
        )


@dataclass
class Grown:
    """Members of one ensemble, in the units of X."""

    coef: np.ndarray  # (K, C, D)
    intercept: np.ndarray  # (K, C)
    support: np.ndarray  # (K, D), bool
    n_iter: np.ndarray  # (K,)


def grow(
    X: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    training: list[np.ndarray],
    constants: Constants,
    *,
    seed: int,
    runs: list[int],
    n_members: int = N_MEMBERS,
) -> list[dict[str, Grown]]:
    """Grow both ensembles on each of several training sets, given by their rows.

    ``runs`` are the numbers of the training sets, of which draws are a function. Returned is for
    each training set a `Grown` by kind, "theta" and "both".
    """
    used = np.unique(np.concatenate(training))
    order = used[np.argsort(codes[used], kind="stable")]
    position = np.full(len(X), -1)
    position[order] = np.arange(len(order))
    columns = np.ascontiguousarray(X[order].T)
    blocks = class_blocks(np.bincount(codes[order], minlength=n_classes))
    weight = np.zeros((len(training), len(order)))
    mean, scale = np.empty((2, len(training), len(columns)))
    for number, rows in enumerate(training):
        weight[number, position[rows]] = 1.0
        mean[number], scale[number] = moments(columns, weight[number])
        if constants.eta != 1.5:
            # A row's weight multiplies its gradient: this is eta, one for each training set.
            weight[number] *= constants.eta * n_classes / _curvature(X[rows])
    # A column that is constant in a training set is divided by infinity, so that it is zero.
    scale[scale == 0] = np.inf
    usable = np.isfinite(scale).any(axis=0)
    units = np.where(usable, np.cumsum(usable) - 1, -1)
    twice = np.repeat(np.arange(len(training)), 2)
    settings = constants.settings()
    trainer = StackTrainer(
        in_memory(Design(columns, mean[twice], scale[twice]), blocks, weight[twice], settings),
        settings,
        seed=seed,
        runs=[runs[number] for number in twice],
        flip_probability=np.tile(FLIP_PROBABILITIES, len(training)),
        unit_of_feature=units,
        usable=usable,
    )
    members = [trainer.grow() for _ in range(n_members)]
    ensembles = []
    for number in range(len(training)):
        kinds = {}
        for offset, kind in enumerate(KINDS):
            run = 2 * number + offset
            coef = np.stack([member.theta[:, run] for member in members]) / scale[number]
            intercept = np.stack([member.intercept[:, run] for member in members])
            kinds[kind] = Grown(
                coef,
                intercept - coef @ mean[number],
                np.stack([member.support[run] for member in members]) & np.isfinite(scale[number]),
                np.array([member.n_iter[run] for member in members]),
            )
        ensembles.append(kinds)
    return ensembles


def grow_on_sets(
    sets: list[Rows], constants: Constants, *, seed: int, runs: list[int]
) -> list[dict[str, Grown]]:
    """Both ensembles on training sets of two classes that share no rows."""
    X = np.concatenate([rows for rows, _ in sets])
    codes = np.concatenate([labels for _, labels in sets])
    ends = np.cumsum([len(labels) for _, labels in sets])
    own = np.split(np.arange(len(X)), ends[:-1])
    return grow(X, codes, 2, own, constants, seed=seed, runs=runs)


def grow_on_splits(
    table: Table,
    splits: list[tuple[np.ndarray, ...]],
    constants: Constants,
    *,
    seed: int,
    runs: list[int],
    n_members: int = N_MEMBERS,
) -> Iterator[tuple[int, Rows, Rows, dict[str, Grown]]]:
    """For each split of a table its run, the rows to tune and to test on, and both ensembles."""
    grown = grow(
        table.X,
        table.codes,
        len(table.classes),
        [training for training, _, _ in splits],
        constants,
        seed=seed,
        runs=runs,
        n_members=n_members,
    )
    for run, (_, tuning, test), ensembles in zip(runs, splits, grown, strict=True):
        tuned_on, tested_on = ((table.X[rows], table.codes[rows]) for rows in (tuning, test))
        yield run, tuned_on, tested_on, ensembles


def _curvature(rows: np.ndarray) -> float:
    """lambda_max(Z'Z) of standardised rows with a column of ones beside them."""
    deviation = rows.std(axis=0)
    varies = deviation > 0
    Z = (rows[:, varies] - rows[:, varies].mean(axis=0)) / deviation[varies]
    # Centred columns are at right angles to the ones, whose share is the number of rows.
    return max(float(np.linalg.eigvalsh(Z.T @ Z)[-1]), float(len(rows)))


@dataclass
class Right:
    """What an ensemble gets right as it grows, as shares of rows; arrays of shape (K,)."""

    member: np.ndarray  # each member alone
    oracle: np.ndarray  # the first k members under g_orc
    equal: np.ndarray  # and under g_EW


def stages(grown: Grown, X: np.ndarray, codes: np.ndarray) -> Right:
    """Accuracies of the first 1, ..., K members (eqs. 4 and 10)."""
    logits = linear_logits(X, grown.coef, grown.intercept)  # (K, C, n)
    right = logits.argmax(axis=1) == codes
    # The product of softmaxes has the mean of the logits: their sum decides.
    fused = np.cumsum(logits, axis=0).argmax(axis=1) == codes
    return Right(
        right.mean(axis=1),
        np.logical_or.accumulate(right, axis=0).mean(axis=1),
        fused.mean(axis=1),
    )


def tuned_sizes(accuracies: np.ndarray) -> tuple[int, int]:
    """K: the fewest and the most members of the highest accuracy where K is tuned.

    >>> tuned_sizes(np.array([0.5, 0.7, 0.6, 0.7]))
    (2, 4)
    """
    best = np.flatnonzero(accuracies > accuracies.max() - 1e-12)
    return int(best[0]) + 1, int(best[-1]) + 1


def under(rule: str, name: str) -> str:
    """What a quantity is called under a rule of `K_RULES`; g_EW has its own K under each.

    >>> under("_one", "oracle_both"), under("_one_most", "equal_both")
    ('oracle_both_one', 'equal_both_most')
    """
    return name + (rule.replace("_one", "") if name.startswith("equal") else rule)


def scores(ensembles: dict[str, Grown], tuning: Rows, test: Rows) -> dict[str, float]:
    """What one training set contributes to a figure or a table.

    Returned are ``baseline``; for each fusion and kind, under each rule for K, the accuracy
    (``equal_both``, ``oracle_both_one_most``; see `under`), and the size that was tuned for it
    alone (``k_equal_both``); for each kind the accuracy of the best member of those that the
    oracle has (``best_both``).
    """
    values = {}
    for kind, grown in ensembles.items():
        tuned, tested = stages(grown, *tuning), stages(grown, *test)
        if kind == "theta":
            values["baseline"] = float(tested.member[0])
        one = tuned_sizes(tuned.equal)
        for fusion in FUSIONS:
            reached = getattr(tested, fusion)
            own = tuned_sizes(getattr(tuned, fusion))
            for rule, size in zip(K_RULES, own + one, strict=True):
                values[under(rule, f"{fusion}_{kind}")] = float(reached[size - 1])
            values[f"k_{fusion}_{kind}"] = own[0]
            if fusion == "oracle":
                values[f"best_{kind}"] = float(tested.member[: own[0]].max())
    return values
