"""Exchanges of features against a literal version, one run and one pair at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from covey._core.basis import Basis
from covey._core.gating.paths import FeatureColumns
from covey._core.search.block import Kind
from covey._core.search.cross_fit import on_host
from covey._core.search.plan import Family
from covey._core.search.splicing import LEAST_GAIN, ONE_OF, TRIES, exchanged
from tests._core.search.test_cross_fit import cross_fit, table  # noqa: F401

PRODUCTS = Basis.products(np.array([False, True, False, False]), np.zeros(4))


def grade(value):
    """Return the same for values that are less than a hundredth apart."""
    return round(np.log(value) / np.log(1.01)) if value > 0 else -np.inf


def literal_exchange(basis, kept, squares, slopes, n_units, most, one_of):
    """The weakest pairs leave, one by one, and the most wanted ones come, one by one."""
    n_members, n_features = kept.shape

    def of_columns(values, member, feature):
        """A column counts if it is the feature's, or its product with one that the member has."""
        total = 0.0
        for column in range(basis.n_columns):
            made_of = {basis.feature[column], basis.partner[column]} - {-1}
            others = made_of - {feature}
            if feature in made_of and all(kept[member, other] for other in others):
                total += values[member, column]
        return total

    def whole(member, feature):
        """Its strength is that of all columns, whether or not they are within reach."""
        return sum(
            squares[member, column]
            for column in range(basis.n_columns)
            if feature in (basis.feature[column], basis.partner[column])
        )

    pairs = [(k, d) for k in range(n_members) for d in range(n_features)]
    inside = [pair for pair in pairs if kept[pair]]
    outside = [pair for pair in pairs if not kept[pair]]
    n_leaving = max(1, n_units * n_members // one_of)
    leaving = sorted(inside, key=lambda pair: grade(whole(*pair)))[:n_leaving]
    found = kept.copy()
    for pair in leaving:
        found[pair] = False
    # Where there are not enough others, some that left come back.
    wanted = sorted(outside, key=lambda pair: -grade(of_columns(slopes, *pair)))
    for pair in [*wanted, *sorted(leaving)]:
        room = found.sum() < n_units * n_members
        if room and found[pair[0]].sum() < min(most, 2 * n_units):
            found[pair] = True
    return found


@pytest.mark.parametrize("basis", [Basis.plain(6), PRODUCTS], ids=["features", "products"])
@pytest.mark.parametrize("n_members", [1, 3])
def test_the_weakest_are_exchanged_for_the_most_wanted(basis, n_members):
    rng = np.random.default_rng(0)
    n_features = basis.n_features
    columns = FeatureColumns(basis, np.arange(n_features), np.ones(basis.n_columns, dtype=bool))
    for n_units in range(1, n_features):
        for most in range(n_units, n_features + 1):
            shape = 4, n_members, basis.n_columns
            # Far enough apart that no two are equal when they are graded.
            squares, slopes = (
                1.3 ** rng.permuted(np.arange(np.prod(shape[1:])) + np.zeros((4, 1)), axis=1)
                for _ in range(2)
            )
            squares, slopes = squares.reshape(shape), slopes.reshape(shape)
            first = columns.strongest(columns.strength(squares), n_units, most)
            one_of = np.array([2, 3, 6, 1 << 30])
            found = exchanged(columns, first, squares, slopes, n_units, most, one_of)
            for run, kept in enumerate(found):
                how = squares[run], slopes[run], n_units, most, one_of[run]
                assert_array_equal(kept, literal_exchange(basis, first[run], *how))


@pytest.mark.parametrize("seed", range(5))
def test_rounding_does_not_decide_who_is_exchanged(seed):
    rng = np.random.default_rng(seed)
    columns = FeatureColumns(Basis.plain(8), np.arange(8), np.ones(8, dtype=bool))
    # Many are equal.
    squares, slopes = 1.01 ** rng.integers(-2, 3, (2, 1, 3, 8))
    kept = columns.strongest(rng.random((1, 3, 8)), 4, 8)
    rounded = [
        values * (1 + 1e-9 * rng.standard_normal(kept.shape)) for values in (squares, slopes)
    ]
    one_of = np.array([3])
    expected = exchanged(columns, kept, squares, slopes, 4, 8, one_of)
    assert_array_equal(exchanged(columns, kept, *rounded, 4, 8, one_of), expected)


def softmax(logits, axis):
    odds = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return odds / odds.sum(axis=axis, keepdims=True)


class Literal:
    """One run of gated members on features, step by step."""

    def __init__(self, table, family, alpha):  # noqa: F811
        columns, self.codes, weight, _ = table
        self.X, self.share = columns.T, weight / weight.sum()
        self.family, self.alpha, self.rows = family, alpha, np.arange(len(weight))

    def true_and_gates(self, parts):
        theta, intercept, gate, gate_intercept = parts
        p = softmax(np.einsum("nd,kcd->nkc", self.X, theta) + intercept, 2)
        return p, p[self.rows, :, self.codes], softmax(self.X @ gate.T + gate_intercept, 1)

    def value(self, parts):
        _, true, gates = self.true_and_gates(parts)
        squares = np.sum(parts[0] ** 2) + np.sum(parts[2] ** 2)
        return -self.share @ np.log(np.sum(gates * true, axis=1)) + self.alpha / 2 * squares

    def slopes(self, parts):
        p, true, gates = self.true_and_gates(parts)
        answers = gates * true / np.sum(gates * true, axis=1, keepdims=True)
        apart = answers[:, :, None] * (np.eye(3)[self.codes][:, None] - p)
        by_theta = np.einsum("n,nkc,nd->kcd", self.share, apart, self.X)
        return by_theta, np.einsum("n,nk,nd->kd", self.share, answers - gates, self.X)

    def spliced(self, parts, kept, gate_kept, size, refitted):
        """Exchange a third, a sixth or one, and keep what lowers the objective."""
        value, step, plain, n_accepted = self.value(parts), 0, Basis.plain(4), 0
        for _ in range(TRIES):
            if step == len(ONE_OF):
                break
            how = size, 4, ONE_OF[step]
            by_theta, by_gate = self.slopes(parts)
            squares = np.sum((parts[0] - parts[0].mean(axis=1, keepdims=True)) ** 2, axis=1)
            new = literal_exchange(plain, kept, squares, np.sum(by_theta**2, axis=1), *how)
            squares = np.sum((parts[2] - parts[2].mean(axis=0)) ** 2, axis=0)[None]
            wanted = np.sum(by_gate**2, axis=0)[None]
            gate_new = literal_exchange(plain, gate_kept, squares, wanted, *how)
            ended = refitted(parts, new, gate_new)
            if self.value(ended) < (1 - LEAST_GAIN) * value:
                value, step, n_accepted = self.value(ended), 0, n_accepted + 1
                parts, kept, gate_kept = ended, new, gate_new
            else:
                step += 1
        return parts, kept, n_accepted


@pytest.mark.parametrize("n_members", [1, 3])
def test_a_stack_is_spliced_as_each_run_alone(table, n_members):  # noqa: F811
    family, n_runs, size = Family("features", n_members, (1e-2,)), 4, 2
    fits, alpha = cross_fit(table, n_restarts=n_runs, sizes=(4, 2)), np.full(n_runs, 1e-2)
    kind, runs = (
        Kind("features", "features", "linear", folds=False, single=False),
        np.arange(n_runs),
    )
    rng = np.random.default_rng(0)
    # Subsets that are drawn leave much to exchange.
    members, gates = rng.random((n_runs, n_members, 4)), rng.random((n_runs, 1, 4))
    columns = fits._columns["features"]
    kept = columns.strongest(members, size, 4), columns.strongest(gates, size, 4)
    (theta, *others), _ = fits._start(family, runs, alpha, 4)
    theta = theta + 0.1 * rng.normal(size=theta.shape)

    def refitted(which, parts, kept):
        of = runs[which]
        start, support, gate_support = fits._within(family, parts, kept)
        found, _, value = fits._optimum(kind, of, alpha[of], start, support, gate_support, 15)
        return on_host(found), support, value

    parts, support, value = refitted(runs, (theta, *others), kept)
    found, support, n_iter = fits._spliced(
        family, kind, runs, alpha, size, kept, parts, support, value
    )
    literal, n_accepted = Literal(table, family, 1e-2), []
    for run in runs:
        own = tuple(part[run] for part in parts)
        assert literal.value(own) == pytest.approx(value[run])

        def alone(parts, kept, gate_kept, run=run):
            of_stack = tuple(part[None] for part in parts)
            ended, _, _ = refitted(np.array([run]), of_stack, (kept[None], gate_kept[None]))
            return tuple(part[0] for part in ended)

        expected, subset, accepted = literal.spliced(own, kept[0][run], kept[1][run], size, alone)
        assert_array_equal(support[run], subset)
        for part, wanted in zip(found, expected, strict=True):
            assert_allclose(part[run], wanted, atol=1e-6)
        assert literal.value(expected) <= value[run]
        n_accepted.append(accepted)
    assert max(n_accepted) > 0
    assert (n_iter > 0).all()


def test_only_flocks_with_a_limit_are_spliced(table):  # noqa: F811
    family = Family("features", 3, (1e-2,))
    assert cross_fit(table, sizes=(4, 2))._splices(family, 2)
    assert not cross_fit(table, sizes=(4, 2), most_terms=7)._splices(family, 2)  # nobody asks
    assert not cross_fit(table, sizes=(4, 2), most_terms=np.inf)._splices(family, 2)
    assert cross_fit(table, sizes=(4, 2), most_terms=np.inf, most_members=3)._splices(family, 2)
    assert not cross_fit(table, sizes=(4, 2), parts=[])._splices(family, 2)
